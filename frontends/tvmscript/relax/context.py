"""State of the elaboration of one function of `relax`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, TupleType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from ....core.diagnostics import Span
from ....core.errors import SizeError
from ....dialects.tir import FuncOp as TirFuncOp
from ....dialects.tir.builder import OpT
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, SizeVar
from ....expressions.sizes import parse_size, size_text
from ....operators.relax import FuncOp, FuncRefOp, ShapeType, TupleGetOp, TupleOp
from ....operators.relax.functions import reference_type
from ....operators.relax.types import known_shape
from ....operators.relay import RelayBuilder, Size
from .. import syntax
from ..context import ElaborationContext, ModuleState, span_location
from ..dispatch import RELAX
from ..values import (
    FunctionRef,
    LocalFunction,
    Metadata,
    NameScope,
    RelaxType,
    RelaxValue,
    Value,
    Word,
    describe_value,
    device_name,
    python_number,
)
from ..vocabulary import call_reader


class RelaxContext(ElaborationContext):
    """The state of the elaboration of one function.

    builder_of_graph: emits at the current insertion point.  sizes: the size variables by name.  outputs: the values
    that `R.output` has named, in the open dataflow region; None outside of one.  stated: the devices in types.
    node_name: the name of the function in the module.
    """

    dialect = RELAX

    def __init__(self, module: ModuleState, scope: NameScope, node: syntax.File | syntax.FunctionDef):
        super().__init__(module, scope, node)
        names = self.scope.names
        names["metadata"] = Metadata()
        for name in module.nodes:
            if self.scope.find(name) is None:
                names[name] = FunctionRef(name)
        self.graph = RelayBuilder(self.block, module.constants)
        self.sizes: dict[str, SizeVar] = {}
        self.outputs: list[str] | None = None
        self.stated: list[tuple[SSAValue, str, Span]] = []
        self.node_name = node.name if isinstance(node, syntax.FunctionDef) else "main"

    # ---- operations

    def at(self, span: Span) -> RelayBuilder:
        """The builder, with its source location set to `span`."""
        self.module.budget.charge("operations", 1, span)
        self.graph.location = span_location(span)
        return self.graph

    def insert(self, op: OpT, span: Span) -> OpT:
        """Inserts an op with the source location of `span`."""
        return self.at(span).insert(op)

    @contextmanager
    def emit_at_end(self, block: Block) -> Generator[None]:
        """Emits at the end of a block, in a name scope of its own."""
        point, self.graph.point = self.graph.point, InsertPoint.at_end(block)
        try:
            with self.open_scope():
                yield
        finally:
            self.graph.point = point

    # ---- values

    def relax_value(self, value: Value, span: Span) -> SSAValue:
        """A value of the program; a Python tuple becomes a tuple."""
        match value:
            case RelaxValue():
                return value.value
            case tuple() | list():
                items = cast("Sequence[Value]", value)
                return self.insert(TupleOp([self.relax_value(item, span) for item in items]), span).output
            case LocalFunction():
                # lazy: values of functions are written by readers of functions
                from .local_functions import closure_of

                return closure_of(self, value, span)
            case FunctionRef():
                return self.insert(FuncRefOp(value.name, reference_type(self.callee(value, span))), span).output
            case _:
                raise span.error(f"expected a value of relax, got {describe_value(value)}")

    def is_kernel(self, function: FunctionRef) -> bool:
        """Whether a name of the module denotes a function of tir."""
        assert self.module.elaborate is not None
        self.module.elaborate(function.name)
        return isinstance(self.module.finished.get(function.name), TirFuncOp)

    def callee(self, function: FunctionRef, span: Span) -> FuncOp:
        """A function of relax of the module."""
        assert self.module.elaborate is not None
        self.module.elaborate(function.name)
        callee = self.module.finished.get(function.name) or self.module.declared.get(function.name)
        if callee is None:
            raise span.error(
                f"the result type of {function.name} must be written (-> R.Tensor(...)), as it calls itself"
            )
        if not isinstance(callee, FuncOp):
            raise span.error(f"{function.name} is a function of tir, expected R.call_tir(cls.{function.name}, ...)")
        return callee

    def fields(self, value: Value, span: Span) -> list[SSAValue]:
        """The items of a tuple of values; of a value that is no tuple, the value alone."""
        if isinstance(value, tuple | list):
            return [self.relax_value(item, span) for item in cast("Sequence[Value]", value)]
        whole = self.relax_value(value, span)
        if not isinstance(whole.type, TupleType):
            return [whole]
        return [self.field(whole, index, span) for index in range(len(whole.type.types.data))]

    def field(self, value: SSAValue, index: int, span: Span) -> SSAValue:
        """A field of a tuple, which is the value itself for the results of one operator."""
        count = len(cast(TupleType, value.type).types.data)
        if not -count <= index < count:
            raise span.error(f"field {index} of a tuple of {count}")
        if isinstance(value.owner, TupleOp) and value.owner.operator is not None:
            return value.owner.values[index]
        return self.insert(TupleGetOp(value, index % count), span).output

    # ---- sizes

    def size_variable(self, name: str) -> SizeVar:
        """The size called `name`, declared on first use."""
        self.graph.size_names.add(name)
        return self.sizes.setdefault(name, SizeVar(name))

    def size(self, value: Value, span: Span) -> Size:
        """A size: a number, an expression of size variables, or its text."""
        try:
            match value:
                case bool():
                    pass
                case int():
                    return value
                case IntegerAttr():
                    return value.value.data
                case PrimExpr():
                    return size_text(value)
                case str():
                    return size_text(parse_size(value, self.size_variable))
                case _:
                    pass
        except (TeError, ValueError, SizeError) as error:
            raise span.error(str(error)) from None
        raise span.error(f"expected a size, got {describe_value(value)}")

    def shape(self, value: Value, span: Span) -> list[Size]:
        """The sizes of a shape: a tuple of sizes, or a shape value whose sizes are known."""
        match value:
            case tuple() | list():
                return [self.size(item, span) for item in cast("Sequence[Value]", value)]
            case RelaxValue() | RelaxType():
                type = value.value.type if isinstance(value, RelaxValue) else value.type
                sizes = known_shape(type) if isinstance(type, ShapeType) else None
                if sizes is not None:
                    return list(sizes)
            case _:
                pass
        raise span.error(f"expected a shape, got {describe_value(value)}")

    # ---- types

    def relax_type(self, value: Value, span: Span) -> Attribute:
        """A type of values; a word such as `R.Object` is a type without arguments."""
        return self.full_type(value, span).type

    def full_type(self, value: Value, span: Span) -> RelaxType:
        """A type of values, and their device, as of `relax_type`."""
        if isinstance(value, RelaxType):
            return value
        if isinstance(value, Word) and value.namespace == "R" and value.path in TYPE_READERS:
            return self.full_type(call_reader(TYPE_READERS[value.path], str(value), self, span, [], {}), span)
        raise span.error(f"expected a type such as R.Tensor((n, 4), 'float32'), got {describe_value(value)}")

    # ---- devices

    def device(self, value: Value, span: Span) -> str:
        """The name of a device of the module, which is given by its name, by its kind, by its position or as itself."""
        names = [each.name for each in self.module.devices]
        given = python_number(value)
        if isinstance(given, str) and given.startswith("vdevice:"):
            number = given.split(":")[1]
            given = int(number) if number.isdecimal() else -1
        if isinstance(given, int) and not isinstance(given, bool):
            name = names[given] if 0 <= given < len(names) else f"vdevice:{given}"
        else:
            name = device_name(given)
        if name is None:
            raise span.error(f"expected a device, got {describe_value(given)}")
        if name not in names:
            raise span.error(f"device {name!r}, expected one of the module: {', '.join(names) or 'none'}")
        return name

    def state_device(self, value: SSAValue, given: Value, span: Span) -> None:
        """Records the device that a type in the program states for a value, which is checked when the function is
        complete."""
        items = cast("Sequence[Value]", given) if isinstance(given, list | tuple) else [given]
        for item in items:
            if isinstance(item, RelaxType) and item.device is not None:
                self.stated.append((value, item.device, span))


TYPE_READERS: dict[str, Any] = {}
"""The readers of words for types."""
