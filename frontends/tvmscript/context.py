"""What is known while one function is read: names, the place that is written to, and how values become IR."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
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
from ...core.dtypes import DType, dtype_of, parse_dtype, type_of
from ...core.errors import ParseError
from ...dialects.tir import FuncOp, HandleType, Mixed, Operand, RampOp, SymbolOp, TirBuilder
from ...dialects.tir.annotations import annotation_key, annotation_value
from ...dialects.tir.builder import constant_value
from . import syntax
from .quoting import copy
from .values import (
    BlockState,
    Box,
    Buffer,
    Deferred,
    Element,
    Lazy,
    Macro,
    Memory,
    PendingCall,
    Quoted,
    Scope,
    TypeAnnotation,
    Value,
    Variable,
    Word,
    describe,
)
from .vocabulary import is_dtype, path_of

MAX_DEPTH = 64
"""How deep calls of macros and lambdas may be nested."""
MAX_EXPANSIONS = 20_000
"""How many of them there may be in a module."""
_MAX_NOTES = 8
MAX_LANES = 65535  # TVM keeps the number of lanes in 16 bits
NUMBERS = (bool, int, float)


@dataclass
class ModuleState:
    """The functions of the module being read, by name: those that are finished, and the nodes of all.

    today: the text has today's names, where T.alloc_buffer is what T.allocate was.  macros: those of the class.
    sources: the files that macros came from.  calls: how often each macro was called so far, by its definition.
    expansions, copies: how much macros, lambdas and names of expressions have written so far.
    """

    today: bool = False
    macros: dict[str, Macro] = field(default_factory=dict)
    sources: dict[SourceFile, None] = field(default_factory=dict)
    calls: Counter[int] = field(default_factory=Counter)
    expansions: int = 0
    copies: int = 0
    nodes: dict[str, syntax.FunctionDef] = field(default_factory=dict)
    finished: dict[str, FuncOp] = field(default_factory=dict)


@lru_cache(maxsize=1024)
def _location(file: str, line: int, column: int) -> LocationAttr:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def location_of(span: Span) -> LocationAttr:
    return _location(span.source.name, span.file_line, span.file_column)


class Context:
    """The state of reading one function.

    block: the function's body.  builder: writes at the present place.  scope: the names visible here.  blocks: the open
    blocks, the innermost last.  function_attrs: what `T.func_attr` said.  memories: what is known of pointers.
    templates: ops that only their copies are of use.  calls: of macros and lambdas, those that are being written, the
    innermost last.  block_suffix: what names of blocks end with, for a macro that is called more than once.
    """

    def __init__(self, module: ModuleState, scope: Scope, node: syntax.FunctionDef | None):
        self.module = module
        self.node = node
        self.root_scope = self.scope = Scope(scope)
        self.block = Block()
        self.param_names: list[str] = []
        self.builder = TirBuilder(self.block, None if node is None else location_of(node.span))
        self.blocks: list[BlockState] = []
        self.branches: list[Any] = []
        self.function_attrs: dict[str, Attribute] | None = None
        self.memories: dict[SSAValue, Memory] = {}
        self.views: dict[tuple[SSAValue, DType], Buffer] = {}
        self.buffers: dict[SSAValue, Buffer] = {}
        self.namers: dict[SSAValue, Callable[[str], None]] = {}
        self.symbols: list[tuple[SymbolOp, Variable]] = []
        self.matched: dict[SSAValue, Buffer] = {}
        self.result_type: Attribute | None = None
        self.returns_nothing = False
        self.resolving: set[str] = set()
        self.templates: dict[Operation, None] = {}
        self.calls: list[tuple[str, Span]] = []
        self.called_from: LocationAttr | None = None
        self.explained: ParseError | None = None
        self.block_suffix = ""

    # ---- places and names

    def locate(self, span: Span) -> TirBuilder:
        """The builder, set to mark what it writes with this place."""
        location = location_of(span)
        self.builder.location = location if self.called_from is None else CallSiteLoc(location, self.called_from)
        return self.builder

    @contextmanager
    def nested(self, block: Block | None = None, scope: Scope | None = None) -> Generator[None]:
        """Write at the end of `block` (or on where we are), with a scope of its own for names."""
        with self.scoped(scope), self.builder.at(self.builder.point if block is None else block):
            yield

    @contextmanager
    def scoped(self, scope: Scope | None = None, parameters: bool = False) -> Generator[None]:
        """A scope of its own for names, around it `scope` or the present one; what is opened inside stays open."""
        saved = self.scope
        self.scope = Scope(self.scope if scope is None else scope, parameters=parameters)
        try:
            yield
        finally:
            self.scope = saved

    @contextmanager
    def outside(self, state: BlockState) -> Generator[None]:
        """In front of an open block, with the names that are visible there."""
        saved, point = self.scope, self.builder.point
        self.scope, self.builder.point = self._names_outside(state), state.point
        try:
            yield
        finally:
            self.scope, self.builder.point = saved, point

    def _names_outside(self, state: BlockState) -> Scope:
        """The names visible in front of a block, and the arguments of macros that were called inside of it."""
        arguments: dict[str, Value] = {}
        scope: Scope | None = self.scope
        while scope is not None and scope is not state.outside:
            if scope.parameters:
                arguments = {**scope.names, **arguments}
            scope = scope.parent
        if scope is None:
            return self.scope  # in a hygienic macro, which does not see the block
        return Scope(state.outside, arguments) if arguments else state.outside

    @contextmanager
    def expansion(self, what: str, span: Span) -> Generator[None]:
        """The call of a macro or lambda: they may call each other, but not without end, and errors tell who did."""
        if len(self.calls) >= MAX_DEPTH:
            raise span.error(f"macros and lambdas are nested more than {MAX_DEPTH} deep")
        self.module.expansions += 1
        if self.module.expansions > MAX_EXPANSIONS:
            raise span.error(f"macros and lambdas are called more than {MAX_EXPANSIONS} times")
        saved = self.called_from
        here = location_of(span)
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
        """The error with the calls that led to its place, the innermost first."""
        if error is self.explained:
            return error
        self.explained = error.with_notes(notes_of(self.calls[::-1]))
        return self.explained

    def lookup(self, name: str, span: Span) -> Value:
        scope = self.scope.find(name)
        if scope is None:
            known = self.scope.all_names() if len(name) > 1 else []
            hint = self._where_it_is(name) or did_you_mean(name, known)
            raise span.error(f"undefined name {name!r}{hint}")
        return self.resolve(name, scope.names[name], span)

    def resolve(self, name: str, value: Value, span: Span) -> Value:
        """What a name stands for here, if that was not looked at before."""
        if isinstance(value, Lazy):
            return self._evaluate_lazily(name, value, span)
        if isinstance(value, Deferred):
            return value.run(self, span)
        return value

    def _evaluate_lazily(self, name: str, value: Lazy, span: Span) -> Value:
        from .expressions import evaluate

        if name in self.resolving:
            raise span.error(f"{name!r} is defined by itself")
        saved, self.scope = self.scope, value.scope
        self.resolving.add(name)
        try:
            return evaluate(self, value.node)
        finally:
            self.scope = saved
            self.resolving.remove(name)

    def _where_it_is(self, name: str) -> str:
        if self.blocks and self.scope is self.blocks[-1].outside:
            return " in front of the block, where bindings and the predicate are computed"
        return ""

    def name_value(self, key: SSAValue, name: str) -> None:
        """Give a value that has none yet the name of the variable it is assigned to."""
        if (namer := self.namers.get(key)) is not None:
            namer(name)
            del self.namers[key]

    def names_of_values(self) -> dict[SSAValue, str]:
        """The names of the function's parameters and of the axes of open blocks, whose ops are not made yet."""
        names: dict[SSAValue, str] = dict(zip(self.block.args, self.param_names, strict=True))
        for state in self.blocks:
            names.update({arg: axis.name for arg, axis in zip(state.body.args, state.axes, strict=True) if axis.name})
        return names

    # ---- values into IR

    def operand(self, value: Value, span: Span) -> Operand:
        """A value, or a Python number that takes its type from the operand beside it."""
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
                return copy(self, value, span)
            case PendingCall():
                return self._result(value)
            case np.generic():
                return value.item()
            case _:
                raise span.error(f"expected an expression, got {describe(value)}")

    def expr(self, value: Value, span: Span, dtype: DType | None = None) -> SSAValue:
        """A value; literals are of type `dtype`, or of the type they have alone."""
        operand = self.operand(value, span)
        if isinstance(operand, SSAValue):
            return operand
        try:
            return self.locate(span).value(operand) if dtype is None else self.builder.const(operand, dtype)
        except ValueError as error:
            raise span.error(str(error)) from None

    def number(self, value: Value, span: Span, dtype: DType | None = None) -> SSAValue:
        """A scalar or vector, no pointer."""
        result = self.expr(value, span, dtype)
        if isinstance(result.type, HandleType):
            raise span.error("expected a number, got a pointer")
        return result

    def condition(self, value: Value, span: Span) -> SSAValue:
        """A bool."""
        result = self.number(value, span)
        if not dtype_of(result.type).is_bool:
            raise span.error(f"expected a condition of type bool, got {dtype_of(result.type)}")
        return result

    def index(self, value: Value, span: Span) -> Operand:
        """A scalar integer; known ones may be Python's."""
        operand = self.operand(value, span)
        if isinstance(operand, float):
            raise span.error(f"expected an integer, got {operand}")
        if isinstance(operand, SSAValue):
            if isinstance(operand.type, HandleType) or not (dtype := dtype_of(operand.type)).is_int or dtype.lanes != 1:
                raise span.error(f"expected an integer, got a value of type {spell_type(operand.type)}")
            return operand
        return int(operand)

    def mixed(self, value: Value, span: Span) -> Mixed:
        """An integer: a Python one if it is known, else the value."""
        operand = self.index(value, span)
        if isinstance(operand, SSAValue):
            known = constant_value(operand)
            return operand if known is None else int(known)
        if not dtypes.int_fits(int(operand), DType("int", 64)):
            raise span.error(f"{operand} does not fit int64")
        return int(operand)

    def integer(self, value: Value, span: Span, what: str) -> int:
        """An integer that is known."""
        number = self.mixed(value, span)
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
            raise span.error(f"expected a string for {what}, got {describe(value)}")
        return value

    def buffer(self, value: Value, span: Span, what: str = "a buffer") -> Buffer:
        if isinstance(value, Buffer):
            return value
        raise span.error(f"expected {what}, got {describe(value)}")

    def pointer(self, value: Value, span: Span) -> SSAValue:
        result = self.expr(value, span)
        if not isinstance(result.type, HandleType):
            raise span.error(f"expected a pointer, got a value of type {spell_type(result.type)}")
        return result

    def variable(self, variable: Variable) -> SSAValue:
        """What a variable holds; one that nothing has given a value is a size, bound when the function is called."""
        if variable.value is None:
            if isinstance(variable.type, HandleType):
                raise variable.span.error("this pointer never gets a value")
            op = SymbolOp(variable.name or "n", variable.type)
            position = bisect_right(self.symbols, _place(variable), key=lambda symbol: _place(symbol[1]))
            point = InsertPoint.at_start(self.block)
            if position > 0:
                point = InsertPoint.after(self.symbols[position - 1][0])
            with self.builder.at(point):
                variable.value = self.locate(variable.span).insert(op).result
            self.symbols.insert(position, (op, variable))
        return variable.value

    @staticmethod
    def _result(call: PendingCall) -> SSAValue:
        result = call.insert(True)
        if result is None:
            raise call.span.error("this call has no result")
        return result

    # ---- types

    def type(self, value: Value, span: Span) -> Attribute:
        """A scalar, vector or pointer type from its name, as a string, a word, or one of numpy's."""
        match value:
            case TypeAnnotation():
                return value.type
            case DType():
                return type_of(value)
            case str():
                name = value
            case Word() if is_dtype(path_of(value)):
                name = path_of(value)
            case _:
                name = _numpy_name(value)
        if name is None:
            raise span.error(f"expected a data type, got {describe(value)}")
        if name == "handle":
            return HandleType()
        try:
            dtype = parse_dtype(name)
        except ValueError as error:
            raise span.error(str(error)) from None
        if dtype.lanes > MAX_LANES:
            raise span.error(f"{dtype.lanes} lanes, expected 1 to {MAX_LANES}")
        return type_of(dtype)

    def dtype(self, value: Value, span: Span) -> DType:
        type = self.type(value, span)
        if isinstance(type, HandleType):
            raise span.error("expected a data type, got handle")
        return dtype_of(type)

    # ---- elements

    def load(self, element: Element, predicate: SSAValue | None = None) -> SSAValue:
        """The element's value, or the vector of several along the last dimension."""
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
        """The indices of a load or store: slices become ramps, which only the last dimension can have."""
        self.check_rank(element)
        last = len(element.indices) - 1
        result: list[SSAValue] = []
        for i, index in enumerate(element.indices):
            if isinstance(index, Box):
                index = self._ramp(index, element.span) if i == last else self._only_element(index, element.span)
            value = self.builder.value(self.operand(index, element.span))
            if dtype_of(value.type).lanes != 1 and i != last:
                raise element.span.error("only the last index can be a vector")
            result.append(value)
        return result

    def check_rank(self, element: Element) -> None:
        buffer, count = element.buffer, len(element.indices)
        if count != len(buffer.shape):
            plural = "index" if count == 1 else "indices"
            raise element.span.error(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, got {count} {plural}")

    def _only_element(self, box: Box, span: Span) -> Operand:
        if box.extent != 1:
            raise span.error("only the last index of a load or store can be a slice")
        return self.operand(box.low, span)

    def _ramp(self, box: Box, span: Span) -> Operand:
        start, size = self.operand(box.low, span), self.operand(box.extent, span)
        extent = constant_value(size) if isinstance(size, SSAValue) else size
        if extent is None:
            raise span.error("the number of elements of this slice must be known")
        lanes = -(-int(extent) // box.step)
        if lanes == 1:
            return start
        if not 1 <= lanes <= MAX_LANES:
            raise span.error(f"a slice of {lanes} elements, expected 1 to {MAX_LANES}")
        low, step = self.locate(span).match(start, box.step)
        return self.builder.insert(RampOp(low, step, lanes)).result

    # ---- attributes

    def attribute(self, value: Value, span: Span) -> Attribute:
        """A value as an attribute: of a function, a block, a loop."""
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
                raise span.error(f"expected a constant, got {describe(value)}")

    def attributes(self, value: Value, span: Span) -> DictionaryAttr:
        """A dictionary; keys of today's TVM get the name they had before."""
        if not isinstance(value, dict):
            raise span.error(f"expected a dictionary, got {describe(value)}")
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


def notes_of(calls: Sequence[tuple[str, Span]]) -> list[str]:
    """What the message of an error says of the calls it happened in, the innermost first; of many not all."""
    notes = [span.render(f"in this call of {what}", "note") for what, span in calls]
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES // 2 : 1 - _MAX_NOTES // 2] = [f"({len(notes) - _MAX_NOTES + 1} more calls)"]
    return notes


def _place(variable: Variable) -> tuple[int, int]:
    """Sizes stand in the order they are declared in, whatever uses them first."""
    return variable.span.line, variable.span.column


def _numpy_name(value: Value) -> str | None:
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    return None


def spell_type(type: Attribute) -> str:
    """A type as messages write it."""
    return "handle" if isinstance(type, HandleType) else dtype_of(type).name
