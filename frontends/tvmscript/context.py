"""State of the elaboration of one function: names, the insertion point, and the conversion of values to IR."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DictionaryAttr,
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core import dtypes
from ...core.diagnostics import SourceFile, Span, did_you_mean
from ...core.dtypes import DType, dtype_of, mlir_type, parse_dtype
from ...core.errors import ParseError
from ...core.identifiers import is_encodable
from ...dialects.tir import HandleType, Mixed, Operand, RampOp, SymbolOp, TirBuilder
from ...dialects.tir.annotations import annotation_key, annotation_value
from ...dialects.tir.builder import OpT, constant_value
from . import pytime, syntax
from .budget import Budget
from .dispatch import TIR, evaluate
from .quoting import copy_quoted
from .values import (
    BlockState,
    BufferValue,
    Deferred,
    Element,
    Lazy,
    Macro,
    NameScope,
    PendingCall,
    PointerAllocation,
    Quoted,
    SliceIndex,
    TypeAnnotation,
    Value,
    Variable,
    VirtualDevice,
    Word,
    describe_value,
)
from .vocabulary import is_dtype, path_of

MAX_DEPTH = 64
"""The maximum nesting depth of macro and lambda calls."""
MAX_NEST = 100
"""The maximum number of ops around the body of a statement. Python itself allows 100 levels of indentation."""
_MAX_NOTES = 8
MAX_LANES = 65535  # TVM stores the number of lanes in 16 bits
NUMBERS = (bool, int, float)


@dataclass
class ModuleState:
    """The functions of a module under elaboration, by name: the finished functions, and the syntax nodes of all.

    budget: the work left to the module.  has_call_sites: whether locations of ops have call sites.
    is_current_dialect: whether the text uses the names of TVM v0.24 or later, in which T.alloc_buffer is the former
    T.allocate.  macros: the macros of the class.  sources: the source files of macros.  calls: the number of calls of
    each macro so far, by its definition.  constants: the arrays of the module.
    devices: its devices.  attrs: its attributes.  elaborate: elaborates a function by name, unless it is finished or
    under elaboration.
    """

    budget: Budget
    has_call_sites: bool = False
    is_current_dialect: bool = False
    macros: dict[str, Macro] = field(default_factory=dict)
    sources: dict[SourceFile, None] = field(default_factory=dict)
    calls: Counter[int] = field(default_factory=Counter)
    nodes: dict[str, syntax.FunctionDef] = field(default_factory=dict)
    finished: dict[str, Operation] = field(default_factory=dict)
    declared: dict[str, Operation] = field(default_factory=dict)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    devices: list[VirtualDevice] = field(default_factory=list)
    attrs: dict[str, Attribute] = field(default_factory=dict)
    elaborate: Callable[[str], None] | None = None


@lru_cache(maxsize=1024)
def _location(file: str, line: int, column: int) -> LocationAttr:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def span_location(span: Span) -> LocationAttr:
    return _location(span.source.name, span.file_line, span.file_column)


class _Builder(TirBuilder):
    """A builder that charges each op to the budget. span: the source of the ops that follow.

    calls: the macro and lambda calls under expansion.
    """

    def __init__(self, block: Block, budget: Budget, span: Span, calls: Sequence[Any]):
        super().__init__(block, span_location(span))
        self._budget = budget
        self._calls = calls
        self.span = span

    def insert(self, op: OpT) -> OpT:
        self._budget.charge("operations of macros and lambdas" if self._calls else "operations", 1, self.span)
        return super().insert(op)


class ElaborationContext:
    """The state of the elaboration of one function.

    block: the function's body.  builder: emits at the current insertion point.  scope: the visible names.  blocks: the
    open blocks, innermost last.  function_attrs: the attributes set by `T.func_attr`.  memories: the allocations of
    pointers.  realized: the buffers whose memory `T.realize` provides.  templates: ops of quoted expressions, of which
    only copies are used.  calls: the macro and lambda calls under expansion, innermost last.  block_suffix: the suffix
    of block names in a macro that is called more than once.
    """

    dialect = TIR

    def __init__(self, module: ModuleState, scope: NameScope, node: syntax.File | syntax.FunctionDef):
        self.module = module
        self.node = node
        self.root_scope = self.scope = NameScope(scope)
        self.block = Block()
        self.param_names: list[str] = []
        self.calls: list[tuple[str, Span]] = []
        self.builder = _Builder(self.block, module.budget, node.span, self.calls)
        self.blocks: list[BlockState] = []
        self.branches: list[Any] = []
        self.function_attrs: dict[str, Attribute] | None = None
        self.memories: dict[SSAValue, PointerAllocation] = {}
        self.views: dict[tuple[SSAValue, DType], BufferValue] = {}
        self.buffers: dict[SSAValue, BufferValue] = {}
        self.namers: dict[SSAValue, Callable[[str], None]] = {}
        self.realized: list[BufferValue] = []
        self.symbols: list[tuple[SymbolOp, Variable]] = []
        self.matched: dict[SSAValue, BufferValue] = {}
        self.result_type: Attribute | None = None
        self.returns_nothing = False
        self.resolving: set[str] = set()
        self.templates: dict[Operation, None] = {}
        self.called_from: LocationAttr | None = None
        self.explained: ParseError | None = None
        self.block_suffix = ""

    # ---- locations and names

    def locate(self, span: Span) -> TirBuilder:
        """The builder, with its source location set to `span`."""
        location = span_location(span)
        self.builder.span = span
        self.builder.location = location if self.called_from is None else CallSiteLoc(location, self.called_from)
        return self.builder

    @contextmanager
    def emit_into(self, block: Block | None = None, scope: NameScope | None = None) -> Generator[None]:
        """Emits at the end of `block` (by default at the current insertion point), in a name scope of its own."""
        with self.open_scope(scope), self.builder.at(self.builder.point if block is None else block):
            yield

    def enter(self, body: Block, span: Span) -> None:
        """Moves the insertion point to the body of an op that a statement opens; bounds the nest."""
        self._check_depth(body, span)
        self.builder.point = InsertPoint.at_end(body)

    def emit_branch(self, body: Block, span: Span) -> AbstractContextManager[None]:
        """`emit_into` a branch of an op that a statement opens; bounds the nest."""
        self._check_depth(body, span)
        return self.emit_into(body)

    def _check_depth(self, body: Block, span: Span) -> None:
        depth, op = 0, body.parent_op()
        while op is not None:
            depth, op = depth + 1, op.parent_op()
        if depth > MAX_NEST:
            raise span.error(f"statements are nested more than {MAX_NEST} deep")

    @contextmanager
    def open_scope(self, scope: NameScope | None = None, parameters: bool = False) -> Generator[None]:
        """Opens a name scope in `scope` (by default in the current scope); frames opened inside stay open."""
        saved = self.scope
        self.scope = NameScope(self.scope if scope is None else scope, parameters=parameters)
        try:
            yield
        finally:
            self.scope = saved

    @contextmanager
    def emit_before(self, state: BlockState) -> Generator[None]:
        """Emits before an open block, with the names visible there."""
        saved, point = self.scope, self.builder.point
        self.scope, self.builder.point = self._names_outside(state), state.point
        try:
            yield
        finally:
            self.scope, self.builder.point = saved, point

    def _names_outside(self, state: BlockState) -> NameScope:
        """The names visible before a block, and the arguments of macros called inside the block."""
        arguments: dict[str, Value] = {}
        scope: NameScope | None = self.scope
        while scope is not None and scope is not state.outside:
            if scope.parameters:
                arguments = {**scope.names, **arguments}
            scope = scope.parent
        if scope is None:
            return self.scope  # in a hygienic macro, where the block's names are not visible
        return NameScope(state.outside, arguments) if arguments else state.outside

    @contextmanager
    def expansion(self, what: str, span: Span) -> Generator[None]:
        """Tracks a macro or lambda call: bounds the nesting, and adds the call sites to errors."""
        if len(self.calls) >= MAX_DEPTH:
            raise span.error(f"macros and lambdas are nested more than {MAX_DEPTH} deep")
        saved = self.called_from
        self.module.has_call_sites = True
        here = span_location(span)
        self.calls.append((what, span))
        self.called_from = here if saved is None else CallSiteLoc(here, saved)
        try:
            yield
        except ParseError as error:
            raise self._explain(error) from error.__cause__
        except RecursionError:
            raise span.error("macros and lambdas are nested too deeply") from None
        finally:
            self.calls.pop()
            self.called_from = saved

    def _explain(self, error: ParseError) -> ParseError:
        """The error with notes for the calls that led to its location, innermost first."""
        if error is self.explained:
            return error
        self.explained = error.with_notes(call_notes(self.calls[::-1]))
        return self.explained

    def lookup(self, name: str, span: Span) -> Value:
        scope = self.scope.find(name)
        if scope is None:
            known = self.scope.all_names() if len(name) > 1 else []
            hint = self._scope_hint(name) or did_you_mean(name, known)
            raise span.error(f"undefined name {name!r}{hint}")
        return self.resolve(name, scope.names[name], span)

    def resolve(self, name: str, value: Value, span: Span) -> Value:
        """The value of a name; evaluates lazy and deferred values."""
        if isinstance(value, Lazy):
            return self._evaluate_lazily(name, value, span)
        if isinstance(value, Deferred):
            return value.run(self, span)
        return value

    def _evaluate_lazily(self, name: str, value: Lazy, span: Span) -> Value:
        if name in self.resolving:
            raise span.error(f"{name!r} is defined by itself")
        saved, self.scope = self.scope, value.scope
        self.resolving.add(name)
        try:
            return evaluate(self, value.node)
        finally:
            self.scope = saved
            self.resolving.remove(name)

    def _scope_hint(self, name: str) -> str:
        if self.blocks and self.scope is self.blocks[-1].outside:
            return " before the block, where bindings and the predicate are computed"
        if name == "print":
            return ", T.print prints values of the program"
        return ""

    def name_value(self, key: SSAValue, name: str) -> None:
        """Names a value without a name after the variable assigned from the value."""
        if (namer := self.namers.get(key)) is not None:
            namer(name)
            del self.namers[key]

    def names_of_values(self) -> dict[SSAValue, str]:
        """The names of the function's parameters and of the axes of open blocks, whose ops do not exist yet."""
        names: dict[SSAValue, str] = dict(zip(self.block.args, self.param_names, strict=True))
        for state in self.blocks:
            names.update({arg: axis.name for arg, axis in zip(state.body.args, state.axes, strict=True) if axis.name})
        return names

    # ---- values of Python

    def charge(self, span: Span, *values: Value) -> None:
        """Charges a traversal of Python values to the budget of the module."""
        for value in values:
            self.module.budget.charge_value(value, span)

    def is_python(self, value: Value, span: Span) -> bool:
        """Whether a value consists of Python values only, which the caller may traverse."""
        self.charge(span, value)
        return pytime.is_python(value)

    # ---- conversion of values to IR

    def operand(self, value: Value, span: Span) -> Operand:
        """An SSA value, or a Python number, which takes its data type from the other operand."""
        match value:
            case SSAValue():
                return value
            case bool() | int() | float():
                return value
            case Element():
                return self.load(value)
            case Variable():
                return self.variable(value)
            case Quoted():
                return copy_quoted(self, value, span)
            case PendingCall():
                return self._result(value)
            case np.generic():
                return value.item()
            case _:
                raise span.error(f"expected an expression, got {describe_value(value)}")

    def expr(self, value: Value, span: Span, dtype: DType | None = None) -> SSAValue:
        """An SSA value; a literal gets the data type `dtype`, by default the default type of the literal."""
        operand = self.operand(value, span)
        if isinstance(operand, SSAValue):
            return operand
        try:
            return self.locate(span).value(operand) if dtype is None else self.builder.const(operand, dtype)
        except ValueError as error:
            raise span.error(str(error)) from None

    def number(self, value: Value, span: Span, dtype: DType | None = None) -> SSAValue:
        """A scalar or vector value; pointers are rejected."""
        result = self.expr(value, span, dtype)
        if isinstance(result.type, HandleType):
            raise span.error("expected a number, got a pointer")
        return result

    def condition(self, value: Value, span: Span) -> SSAValue:
        """A value of type bool."""
        result = self.number(value, span)
        if not dtype_of(result.type).is_bool:
            raise span.error(f"expected a condition of type bool, got {dtype_of(result.type)}")
        return result

    def truth(self, value: Value, span: Span) -> SSAValue:
        """The condition of an `if` or a `while`: a bool, or whether an integer differs from 0."""
        result = self.number(value, span)
        dtype = dtype_of(result.type)
        if dtype.is_int and not dtype.is_bool and dtype.lanes == 1:
            return self.locate(span).binary("ne", result, 0)
        return self.condition(result, span)

    def index(self, value: Value, span: Span) -> Operand:
        """A scalar integer; a constant may be a Python integer."""
        operand = self.operand(value, span)
        if isinstance(operand, float):
            raise span.error(f"expected an integer, got {operand}")
        if isinstance(operand, SSAValue):
            if isinstance(operand.type, HandleType) or not (dtype := dtype_of(operand.type)).is_int or dtype.lanes != 1:
                raise span.error(f"expected an integer, got a value of type {spell_type(operand.type)}")
            return operand
        return int(operand)

    def int_or_value(self, value: Value, span: Span) -> Mixed:
        """An integer: a Python integer if constant, else an SSA value."""
        operand = self.index(value, span)
        if isinstance(operand, SSAValue):
            known = constant_value(operand)
            return operand if known is None else int(known)
        if not dtypes.int_fits(int(operand), DType("int", 64)):
            raise span.error(f"{operand} does not fit int64")
        return int(operand)

    def integer(self, value: Value, span: Span, what: str) -> int:
        """A constant integer."""
        number = self.int_or_value(value, span)
        if isinstance(number, SSAValue):
            raise span.error(f"expected a known integer for {what}")
        return number

    def lanes(self, value: Value, span: Span) -> int:
        lanes = self.integer(value, span, "the number of lanes")
        if not 1 <= lanes <= MAX_LANES:
            raise span.error(f"{lanes} lanes, expected 1 to {MAX_LANES}")
        return lanes

    def string(self, value: Value, span: Span, what: str) -> str:
        if not isinstance(value, str):
            raise span.error(f"expected a string for {what}, got {describe_value(value)}")
        if not is_encodable(value):
            raise span.error(f"expected a text for {what}, got half of a surrogate pair")
        return value

    def buffer(self, value: Value, span: Span, what: str = "a buffer") -> BufferValue:
        if isinstance(value, BufferValue):
            return value
        raise span.error(f"expected {what}, got {describe_value(value)}")

    def pointer(self, value: Value, span: Span) -> SSAValue:
        result = self.expr(value, span)
        if not isinstance(result.type, HandleType):
            raise span.error(f"expected a pointer, got a value of type {spell_type(result.type)}")
        return result

    def variable(self, variable: Variable) -> SSAValue:
        """The value of a variable; a variable never assigned is a symbolic size, bound when the function is called."""
        if variable.value is None:
            if isinstance(variable.type, HandleType):
                raise variable.span.error("this pointer never gets a value")
            op = SymbolOp(variable.name or "n", variable.type)
            position = bisect_right(
                self.symbols, _source_position(variable), key=lambda symbol: _source_position(symbol[1])
            )
            point = InsertPoint.at_start(self.block)
            if position > 0:
                point = InsertPoint.after(self.symbols[position - 1][0])
            with self.builder.at(point):
                variable.value = self.locate(variable.span).insert(op).result
            self.symbols.insert(position, (op, variable))
        return variable.value

    def replace_symbol(self, variable: Variable, value: SSAValue) -> None:
        """Replaces the symbolic size that a variable denotes by a value."""
        for op, other in self.symbols:
            if other is variable:
                op.result.replace_all_uses_with(value)
                op.detach()
                op.erase()
        self.symbols = [symbol for symbol in self.symbols if symbol[1] is not variable]
        variable.value = value

    @staticmethod
    def _result(call: PendingCall) -> SSAValue:
        result = call.insert(True)
        if result is None:
            raise call.span.error("this call has no result")
        return result

    # ---- types

    def type(self, value: Value, span: Span) -> Attribute:
        """A scalar, vector or pointer type from its name as a string, a word, or a numpy type."""
        match value:
            case TypeAnnotation():
                return value.type
            case DType():
                return mlir_type(value)
            case str():
                name = value
            case Word() if is_dtype(path_of(value)):
                name = path_of(value)
            case _:
                name = _numpy_name(value)
        if name is None:
            raise span.error(f"expected a data type, got {describe_value(value)}")
        if name == "handle":
            return HandleType()
        try:
            dtype = parse_dtype(name)
        except ValueError as error:
            raise span.error(str(error)) from None
        if dtype.lanes > MAX_LANES:
            raise span.error(f"{dtype.lanes} lanes, expected 1 to {MAX_LANES}")
        return mlir_type(dtype)

    def dtype(self, value: Value, span: Span) -> DType:
        type = self.type(value, span)
        if isinstance(type, HandleType):
            raise span.error("expected a data type, got handle")
        return dtype_of(type)

    # ---- elements

    def load(self, element: Element, predicate: SSAValue | None = None) -> SSAValue:
        """The value of an element, or a vector of elements along the last dimension."""
        indices = self.vector_indices(element)
        return self.locate(element.span).load(element.buffer.value, indices, predicate)

    def store(self, element: Element, value: Value, span: Span, predicate: SSAValue | None = None) -> None:
        indices = self.vector_indices(element)
        operand = self.operand(value, span)
        if isinstance(operand, SSAValue) and isinstance(operand.type, HandleType):
            raise span.error("a pointer cannot be stored into a buffer of numbers")
        try:
            self.locate(element.span).store(operand, element.buffer.value, indices, predicate)
        except ValueError as error:
            raise span.error(str(error)) from None

    def vector_indices(self, element: Element) -> list[SSAValue]:
        """The indices of a load or store, some of them vectors; a slice, of the last dimension only, is a ramp."""
        self.check_rank(element)
        last = len(element.indices) - 1
        result: list[SSAValue] = []
        for i, index in enumerate(element.indices):
            if isinstance(index, SliceIndex):
                index = self._ramp(index, element.span) if i == last else self._only_element(index, element.span)
            value = self.expr(index, element.span)
            result.append(value)
        if len({lanes for value in result if (lanes := dtype_of(value.type).lanes) != 1}) > 1:
            raise element.span.error("vectors of indices have different numbers of lanes")
        return result

    def check_rank(self, element: Element) -> None:
        buffer, count = element.buffer, len(element.indices)
        if count != len(buffer.shape):
            plural = "index" if count == 1 else "indices"
            raise element.span.error(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, got {count} {plural}")

    def _only_element(self, box: SliceIndex, span: Span) -> Operand:
        if box.extent != 1:
            raise span.error("only the last index of a load or store can be a slice")
        return self.operand(box.low, span)

    def _ramp(self, box: SliceIndex, span: Span) -> Operand:
        start, size = self.operand(box.low, span), self.operand(box.extent, span)
        extent = constant_value(size) if isinstance(size, SSAValue) else size
        if extent is None:
            raise span.error("the number of elements of this slice must be known")
        lanes = -(-int(extent) // box.step)
        if lanes == 1:
            return start
        if not 1 <= lanes <= MAX_LANES:
            raise span.error(f"a slice of {lanes} elements, expected 1 to {MAX_LANES}")
        low, step = self.locate(span).promote_values(start, box.step)
        return self.builder.insert(RampOp(low, step, lanes)).result

    # ---- attributes

    def attribute(self, value: Value, span: Span) -> Attribute:
        """A value as an attribute of a function, a block or a loop."""
        match value:
            case Attribute():
                return value
            case bool() | int() | float() | str():
                try:
                    return annotation_value(value)
                except ValueError as error:
                    raise span.error(str(error)) from None
            case None:
                return NoneAttr()
            case list() | tuple():
                self.charge(span, value)
                return ArrayAttr([self.attribute(item, span) for item in cast("list[Value]", value)])
            case dict():
                return self.attributes(value, span)
            case Quoted():
                return self._constant_attribute(value.value, span)
            case SSAValue():
                return self._constant_attribute(value, span)
            case Word() if is_dtype(path_of(value)):
                return StringAttr(path_of(value))
            case np.generic():
                return self.attribute(value.item(), span)
            case _:
                raise span.error(f"expected a constant, got {describe_value(value)}")

    def attributes(self, value: Value, span: Span) -> DictionaryAttr:
        """A dictionary attribute; keys of TVM v0.24 are mapped to their former names."""
        if not isinstance(value, dict):
            raise span.error(f"expected a dictionary, got {describe_value(value)}")
        self.charge(span, value)
        entries = cast("dict[Value, Value]", value)
        return DictionaryAttr(
            {annotation_key(self.string(k, span, "a key")): self.attribute(v, span) for k, v in entries.items()}
        )

    def _constant_attribute(self, value: SSAValue, span: Span) -> Attribute:
        known = constant_value(value)
        if known is None:
            raise span.error("expected a constant, got an expression")
        type = cast(Any, value.type)
        return FloatAttr(known, type) if isinstance(known, float) else IntegerAttr(known, type)


def call_notes(calls: Sequence[tuple[str, Span]]) -> list[str]:
    """Notes of an error for the enclosing calls, innermost first; abridged if they are many."""
    notes = [span.render(f"in this call of {what}", "note") for what, span in calls]
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES // 2 : 1 - _MAX_NOTES // 2] = [f"({len(notes) - _MAX_NOTES + 1} more calls)"]
    return notes


def _source_position(variable: Variable) -> tuple[int, int]:
    """The source position of a variable, by which symbolic sizes are ordered regardless of their first use."""
    return variable.span.line, variable.span.column


def _numpy_name(value: Value) -> str | None:
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    return None


def spell_type(type: Attribute) -> str:
    """The spelling of a type in messages."""
    return "handle" if isinstance(type, HandleType) else dtype_of(type).name
