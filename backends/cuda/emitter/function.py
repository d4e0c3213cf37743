"""The emission of one C++ function: statements, values, and the choice of variables.

A value with a single use in the same block becomes part of its user's expression, any other a `const` variable. An
expression that reads memory is emitted before the next statement that writes memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from xdsl.dialects import cf, func, gpu, memref, vector
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....core.diagnostics import location_of
from ....core.errors import UnsupportedError
from ....dialects.attributes import BLOCK_NAME
from ...llvm.function import lowering_unsupported
from ...llvm.types import lane_count, layout_of
from .expression import LONG, PRIMARY, CudaExpr, index_arithmetic, integer_literal, variable_expr
from .names import CudaNames
from .types import memory_type, scalar_type

_LONGEST = 100  # characters of an inlined expression

_EFFECTS = (
    memref.StoreOp, memref.AtomicRMWOp, vector.StoreOp, vector.MaskedStoreOp, gpu.BarrierOp, func.CallOp, cf.AssertOp,
)  # fmt: skip


_DECLARATIONS = (memref.AllocaOp, gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BarrierOp)
"""The operations whose text precedes the label comment of the next statement."""


@dataclass(frozen=True)
class CudaBuffer:
    """A memref value: `offset`, `sizes` and `strides` in elements, constants where the type is static."""

    pointer: CudaExpr
    offset: CudaExpr
    sizes: tuple[CudaExpr, ...]
    strides: tuple[CudaExpr, ...]
    const: bool = False
    alignment: int = 1
    """A number of bytes that divides the pointer."""
    parameter: str | None = None
    """The kernel parameter of the pointer, if any: the parameter gets the alignment that accesses require."""
    small: bool = False
    """Whether the memory at the pointer has fewer than 2**31 elements."""


LaneExprs = tuple[CudaExpr, ...]

Value = CudaExpr | LaneExprs | CudaBuffer
"""The lowered form of an SSA value: an expression, an expression per lane, or a buffer."""

UNKNOWN_SIZE = CudaExpr("?", PRIMARY, LONG)
"""An unknown size, of a pointer cast to a buffer."""


class CudaModule(Protocol):
    """The services of the enclosing module that a function emitter requires."""

    def helper(self, name: str) -> str:
        """Adds a helper function to the module, once; returns its name."""
        ...

    def use_type(self, type: str) -> str:
        """Adds the header of a type to the module, if it requires one; returns the type."""
        ...

    def aligned_struct(self, element: str, count: int) -> str:
        """Adds the struct for an access to `count` elements at once; returns its name."""
        ...

    def global_buffer(self, op: memref.GetGlobalOp) -> tuple[str, str, bool]:
        """Adds a global array to the module: its name, the declared type of its elements, and whether it is
        constant.
        """
        ...

    def callee(self, op: func.CallOp) -> tuple[str, gpu.FuncOp | None]:
        """The C++ name of a called function, and the function if it is defined in the module."""
        ...

    def expression(self, op: func.CallOp) -> func.FuncOp | None:
        """The declaration of a called function that is an expression, None for other functions."""
        ...

    def matrix_operation(self, op: func.CallOp) -> list[str]:
        """The name and the layout of a matrix operation that is called, [] for other functions."""
        ...

    def writes(self, value: SSAValue) -> bool:
        """Whether any operation may write through a buffer."""
        ...

    def lowering(self, op: Operation) -> Lowering:
        """The lowering of `op`. Raises UnsupportedError if it is unsupported."""
        ...


Lowering = Callable[["CudaFunctionEmitter", Any], None]
Lowerings = Mapping[type[Operation], Lowering]


def has_effects(op: Operation) -> bool:
    """Whether any operation in `op` writes memory or waits for other threads."""
    return any(isinstance(inner, _EFFECTS) for inner in op.walk())


class CudaFunctionEmitter:
    """The text of a function under construction. Lowerings call `operand`/`lanes`/`buffer`, then `define` or `bind`."""

    def __init__(self, module: CudaModule, names: CudaNames, function: gpu.FuncOp, annotate: bool = False) -> None:
        """annotate: whether lines end with a comment that states their place in the source."""
        self.module = module
        self.names = names
        self.is_kernel = function.kernel is not None
        self.shared_bytes = 0
        """Bytes of static shared memory."""
        self.dynamic_shared_bytes = 0
        self.alignments: dict[str, int] = {}
        """The alignment that accesses require of pointer parameters, by name."""
        self.vector_types: dict[str, str] = {}
        """The types of the variables that hold the results of vector accesses, by name."""
        self.block_size: tuple[int, ...] | None = _sizes(function.known_block_size)
        self.grid_size: tuple[int, ...] | None = _sizes(function.known_grid_size)
        self.lines: list[str] = []
        self._depth = 1
        self._values: dict[SSAValue, Value] = {}
        self._pending: dict[SSAValue, None] = {}
        self._label: str | None = None
        """The name of the `tir` block of the current statement."""
        self._annotate = annotate
        self._comment = ""
        """The comment with the place of the current operation."""

    # text

    def line(self, text: str) -> None:
        """Appends a line."""
        self.lines.append("  " * self._depth + text + self._comment)

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """Emits `head {`, the lines emitted inside, and `}`."""
        self.line(f"{head} {{")
        with self.indent():
            yield
        self.line("}")

    @contextmanager
    def indent(self) -> Generator[None]:
        """Indents by one level, with a scope of names."""
        self._depth += 1
        with self.names.scope():
            yield
        self._depth -= 1

    @contextmanager
    def capture_lines(self) -> Generator[list[str]]:
        """Collects the lines of a block whose head is not known yet, one level deeper."""
        outer, self.lines = self.lines, []
        with self.indent():
            yield self.lines
        self.lines = outer

    def statement(self, text: str) -> None:
        """Appends a statement with an effect, after the pending reads."""
        self.emit_pending_reads()
        self.line(text)

    def emit_pending_reads(self) -> None:
        """Emits the pending reads of memory, before a write."""
        for value in list(self._pending):
            expression = self._values[value]
            assert isinstance(expression, CudaExpr)
            self.bind(value, self.local(expression, value.name_hint))
        self._pending.clear()

    # values

    def bind(self, value: SSAValue, to: Value) -> None:
        self._values[value] = to

    def value(self, value: SSAValue) -> Value:
        self._pending.pop(value, None)
        return self._values[value]

    def operand(self, value: SSAValue) -> CudaExpr:
        """The expression of a scalar or pointer."""
        bound = self.value(value)
        if not isinstance(bound, CudaExpr):
            raise UnsupportedError(f"expected a scalar, got a value of type {value.type}")
        return bound

    def operands(self, values: Iterable[SSAValue]) -> list[CudaExpr]:
        return [self.operand(value) for value in values]

    def lanes(self, value: SSAValue) -> LaneExprs:
        """The expressions of a vector, one per lane."""
        bound = self.value(value)
        if not isinstance(bound, tuple):
            raise UnsupportedError(f"expected a vector, got a value of type {value.type}")
        return bound

    def buffer(self, value: SSAValue) -> CudaBuffer:
        """The buffer of a memref."""
        bound = self.value(value)
        if not isinstance(bound, CudaBuffer):
            raise UnsupportedError(f"expected a buffer, got a value of type {value.type}")
        return bound

    def define(self, value: SSAValue, expression: CudaExpr) -> None:
        """Binds `value` to `expression`: inlined into its single user, or stored in a variable."""
        uses = list(value.uses)
        if expression.simple or not uses:
            self.bind(value, expression)
        elif len(uses) == 1 and _is_in_same_block(value, uses[0].operation) and len(expression.text) <= _LONGEST:
            self.bind(value, expression)
            if expression.reads:
                self._pending[value] = None
        else:
            self.bind(value, self.local(expression, value.name_hint))

    def define_lanes(self, value: SSAValue, lanes: Sequence[CudaExpr]) -> None:
        """Binds `value` to the vector of `lanes`: inlined, or stored in variables."""
        uses = list(value.uses)
        inline = len(uses) == 1 and _is_in_same_block(value, uses[0].operation)

        def settle(lane: int, expression: CudaExpr) -> CudaExpr:
            if expression.simple or not uses or (inline and not expression.reads and len(expression.text) <= _LONGEST):
                return expression
            return self.local(expression, f"{value.name_hint or 't'}_{lane}")

        self.bind(value, tuple(settle(lane, expression) for lane, expression in enumerate(lanes)))

    def define_effect(self, value: SSAValue, expression: CudaExpr) -> None:
        """Binds `value` to the result of a call with effects."""
        self.emit_pending_reads()
        self.bind(value, self.local(expression, value.name_hint))

    def local(self, expression: CudaExpr, hint: str | None) -> CudaExpr:
        """A `const` variable initialized with `expression`."""
        new = self.names.fresh(hint)
        self.line(f"{constant_declaration(self.module.use_type(expression.type))}{new} = {expression.text};")
        return expression.as_variable(new)

    def as_repeatable(self, expression: CudaExpr, hint: str | None = None) -> CudaExpr:
        """An expression for repeated use: `expression` if it is simple, else a variable with its value."""
        return expression if expression.simple else self.local(expression, hint)

    def declare(self, type: str, new: str, initial: CudaExpr | None = None) -> CudaExpr:
        """Declares a variable with a reserved name."""
        start = "" if initial is None else f" = {initial.text}"
        space = "" if type.endswith("*") else " "
        self.line(f"{self.module.use_type(type)}{space}{new}{start};")
        return variable_expr(new, type)

    def helper(self, function: str) -> str:
        return self.module.helper(function)

    # Composite values: the components of a value in loop and branch variables, parameters and arguments

    def component_types(self, type: Attribute) -> list[str]:
        """The C++ types of the components of a value of `type`: the value itself, each lane, or the pointer and the
        dynamic sizes, strides and offset of a memref.
        """
        if not isinstance(type, MemRefType):
            return [scalar_type(type)] * (lane_count(type) or 1)
        layout = layout_of(type)
        return [f"{memory_type(type.element_type)}*"] + [LONG] * (
            layout.shape.count(None) + layout.dynamic_stride_count + (layout.offset is None)
        )

    def components(self, value: SSAValue) -> list[CudaExpr]:
        """The components of `value`, with the types of `component_types`."""
        match self.value(value):
            case CudaExpr() as scalar:
                return [scalar]
            case CudaBuffer() as buffer:
                layout = layout_of(value.type)  # pyright: ignore[reportArgumentType]
                parts = [pointer_without_const(buffer), *_dynamic_parts(buffer.sizes, layout.shape)]
                if not layout.identity:
                    parts += _dynamic_parts(buffer.strides, layout.strides)
                return parts + ([buffer.offset] if layout.offset is None else [])
            case vector:
                return list(vector)

    def assemble(self, type: Attribute, parts: Sequence[CudaExpr]) -> Value:
        """The value of `type` with the components `parts`."""
        if not isinstance(type, MemRefType):
            return parts[0] if lane_count(type) is None else tuple(parts)
        layout, rest = layout_of(type), iter(parts)
        pointer = next(rest)
        sizes = _merge_static(layout.shape, rest)
        strides = contiguous_strides(sizes) if layout.identity else _merge_static(layout.strides, rest)
        offset = next(rest) if layout.offset is None else integer_literal(layout.offset)
        span = element_span(sizes, strides, offset)
        return CudaBuffer(pointer, offset, sizes, strides, small=span is not None and span < 2**31)

    def all_components(self, values: Iterable[SSAValue]) -> list[CudaExpr]:
        return [part for value in values for part in self.components(value)]

    def component_hints(self, value: SSAValue) -> list[str | None]:
        """The name hints of the components of `value`."""
        count = len(self.component_types(value.type))
        return [value.name_hint] if count == 1 else [f"{value.name_hint or 't'}_{n}" for n in range(count)]

    def result_names(self, value: SSAValue) -> list[str]:
        """Fresh names for the components of `value`."""
        return [self.names.fresh(hint) for hint in self.component_hints(value)]

    # walking

    def walk(self, block: Block) -> None:
        """Emits every operation of `block`, with a comment before each statement whose `tir` block
        differs from the previous one.
        """
        outer, start = self._label, len(self.lines)
        for op in block.ops:
            labels = _labels(op)
            (label,) = labels if len(labels) == 1 else (None,)
            if label is not None and label != self._label:
                self.lines.insert(start, f"{'  ' * self._depth}// {' '.join(label.split())}")
            if labels:
                self._label = label
            self._write(op)
            if labels or isinstance(op, _DECLARATIONS):
                start = len(self.lines)
        self._label = outer

    def _write(self, op: Operation) -> None:
        """Emits an operation; errors without a location get the location of the operation."""
        outer = self._comment
        if self._annotate and (location := location_of(op)) is not None:
            self._comment = f"  // {location.file}:{location.line}"
        try:
            self.module.lowering(op)(self, op)
            self._comment = outer
        except UnsupportedError as error:
            if op.regions or str(error).startswith(op.name):
                raise
            raise lowering_unsupported(op, str(error)) from error


def _labels(op: Operation) -> set[str | None]:
    """The names of the `tir` blocks whose effects an operation contains; None for effects outside all blocks."""
    label = op.attributes.get(BLOCK_NAME)
    if isinstance(label, StringAttr):
        return {label.data}
    if op.regions:
        inside = [inner for region in op.regions for block in region.blocks for inner in block.ops]
        return {name for inner in inside for name in _labels(inner)}
    return {None} if isinstance(op, _EFFECTS) and not isinstance(op, gpu.BarrierOp) else set()


def _is_in_same_block(value: SSAValue, user: Operation) -> bool:
    owner = value.owner
    return user.parent is (owner if isinstance(owner, Block) else owner.parent)


def _sizes(attribute: Any) -> tuple[int, ...] | None:
    return None if attribute is None else tuple(attribute.get_values())


def constant_declaration(type: str) -> str:
    """The start of the declaration of a constant of a type."""
    return f"{type} const " if type.endswith("*") else f"const {type} "


def pointer_without_const(buffer: CudaBuffer) -> CudaExpr:
    """The pointer of a buffer, cast to one without `const`."""
    if not buffer.const:
        return buffer.pointer
    type = buffer.pointer.type.removeprefix("const ")
    return CudaExpr(f"const_cast<{type}>({buffer.pointer.text})", PRIMARY, type)


def contiguous_strides(sizes: Sequence[CudaExpr]) -> tuple[CudaExpr, ...]:
    """The strides of a C-contiguous buffer."""
    strides = [integer_literal(1)]
    for size in reversed(sizes[1:]):
        strides.insert(
            0, UNKNOWN_SIZE if UNKNOWN_SIZE in (size, strides[0]) else index_arithmetic("*", strides[0], size)
        )
    return tuple(strides[: len(sizes)])


def element_span(sizes: Sequence[CudaExpr], strides: Sequence[CudaExpr], offset: CudaExpr) -> int | None:
    """The number of elements that a buffer spans, its offset included; None if unknown."""
    total = offset.literal
    for size, stride in zip(sizes, strides, strict=True):
        if total is None or size.literal is None or stride.literal is None:
            return None
        total += max(size.literal - 1, 0) * abs(stride.literal)
    return None if total is None else total + 1


def _dynamic_parts(parts: Sequence[CudaExpr], statics: Sequence[int | None]) -> list[CudaExpr]:
    return [part for part, static in zip(parts, statics, strict=True) if static is None]


def _merge_static(statics: Sequence[int | None], rest: Iterator[CudaExpr]) -> tuple[CudaExpr, ...]:
    return tuple(next(rest) if static is None else integer_literal(static) for static in statics)
