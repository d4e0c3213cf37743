"""Printing of statements: loops, blocks, stores, declarations and others, line by line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.dialects.builtin import DictionaryAttr, MemRefType, NoneAttr, StridedLayoutAttr, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ..extensions import statement
from ..tir import (
    AccessOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    AssertOp,
    AttrOp,
    Axis,
    BlockOp,
    BufferOp,
    CallExternOp,
    CallIntrinOp,
    CallOp,
    CallPackedOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    FreePointerOp,
    HandleType,
    IfOp,
    InitOp,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    PrintOp,
    ReinterpretOp,
    ReturnOp,
    StoreOp,
    SymbolOp,
    WhileOp,
    row_major_strides,
    scope_of,
)
from ..tir.tree import computing_ops, depends_on, has_effect, is_expression_op
from .expressions import ExpressionPrinter
from .extensions import operation_call
from .folding import tvmscript_unsupported_error
from .lines import Line, Printed
from .literals import attribute_literal, dictionary_literal, dtype_literal, string_literal, type_text
from .names import Callees, IdentifierScope
from .placement import has_side_effects, values_to_name
from .styles import Style
from .trees import ATOM

_CALLS = (CallOp, CallExternOp, CallPackedOp, CallIntrinOp)
_LOOPS = {
    "serial": "T.serial",
    "parallel": "T.parallel",
    "vectorized": "T.vectorized",
    "unrolled": "T.unroll",
    "thread_binding": "T.thread_binding",
}
_AXIS_LETTERS = {"spatial": "S", "reduce": "R"}

Printer = Callable[["StatementPrinter", Any], None]
PrinterT = TypeVar("PrinterT", bound=Printer)

_PRINTERS: dict[type[Operation], Printer] = {}


def _prints(*ops: type[Operation]) -> Callable[[PrinterT], PrinterT]:
    """Registers the printer of ops."""

    def register(printer: PrinterT) -> PrinterT:
        _PRINTERS.update(dict.fromkeys(ops, printer))
        return printer

    return register


@dataclass
class _Accesses:
    """The `tir.access` ops of a block: the regions of each kind with their ops, and the line to insert them before."""

    line: int
    indent: int
    reads: list[tuple[str, Printed]] = field(default_factory=list[tuple[str, Printed]])
    writes: list[tuple[str, Printed]] = field(default_factory=list[tuple[str, Printed]])


class StatementPrinter:
    """Prints the statements of one function into `lines`.

    separate: loops and block axes that are printed on a line of their own.
    """

    def __init__(
        self,
        style: Style,
        names: IdentifierScope,
        callees: Callees,
        indent: int = 0,
        separate: Collection[Printed] = (),
    ):
        self.style = style
        self.names = names
        self.lines: list[Line] = []
        self.indent = indent
        self.separate = separate
        self.expressions = ExpressionPrinter(style, names, callees, self.emit)
        self._loops: dict[SSAValue, ForOp] = {}
        self._accesses: list[_Accesses] = []
        self._free_pointers: set[SSAValue] = set()

    # Lines

    def emit(self, text: str, *sources: Printed) -> None:
        """Adds a line that prints `sources`."""
        self.lines.append(Line(text, self.indent, [(source, 0, len(text)) for source in sources]))

    @contextmanager
    def suite(self) -> Generator[None]:
        """An indented block with its own scope of names; emits `pass` if the block is empty."""
        self.indent += 1
        start = len(self.lines)
        with self.names.scope():
            yield
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1

    def text(self, value: SSAValue) -> str:
        return self.expressions[value].text

    def mixed_text(self, value: Mixed, type: Attribute) -> str:
        return self.expressions.mixed_expression(value, type).text

    # Blocks of ops

    def block(self, block: Block) -> None:
        """Prints the ops of a block."""
        self.ops(list(block.ops), values_to_name(block))

    def ops(self, ops: Sequence[Operation], named: set[SSAValue]) -> None:
        for op in ops:
            if is_expression_op(op):
                self._expression(op, named)
            elif type(op) in _PRINTERS:
                _PRINTERS[type(op)](self, op)
            elif statement(op) is not None:
                self.emit(operation_call(op, self.expressions.__getitem__).text, op)
            else:
                raise tvmscript_unsupported_error(op)

    def _expression(self, op: Operation, named: set[SSAValue]) -> None:
        (value,) = op.results
        uses = value.uses.get_length()
        if uses == 0:
            if has_side_effects(op):
                self.emit(self.expressions.add(op).text, op)
            return
        expression = self.expressions.add(op)
        single = value.uses.get_length() == 1 and isinstance(value.get_user_of_unique_use(), LetOp)
        if value in named or (expression.is_large(uses) and not single):
            self._let(value, expression.text, None)

    def _let(self, value: SSAValue, text: str, hint: str | None) -> None:
        annotation = self.style.let.format(type_text(value.type, self.style))
        name = self.expressions.define(value, hint)
        self.emit(f"{name}: {annotation} = {text}", value)

    @_prints(LetOp)
    def _let_op(self, op: LetOp) -> None:
        """Prints a let; the annotation of a pointer reinterprets its value."""
        source = op.value
        if isinstance(cast := source.owner, ReinterpretOp) and _are_pointers(cast.value, op.result):
            source = cast.value
        self._let(op.result, self.text(source), op.var_name.data)

    # Loops

    @_prints(ForOp)
    def _for(self, op: ForOp) -> None:
        header = len(self.lines)
        self.emit("for")
        with self.suite():
            loops, rest, named = self._nest(op)
            variables = ", ".join(self.text(loop.variable) for loop in loops)
            text = f"for {variables} in {self._iterator(loops)}:"
            self.lines[header] = Line(text, self.indent - 1, [(loop, 0, len(text)) for loop in loops])
            for loop in loops:
                self._loops[loop.variable] = loop
            self.ops(rest, named)
            for loop in loops:
                del self._loops[loop.variable]

    def _nest(self, op: ForOp) -> tuple[list[ForOp], list[Operation], set[SSAValue]]:
        """The loops from `op` inwards to print as one `T.grid`, the ops of the innermost loop that remain to be
        printed, and the values to name among them.

        Builds the expressions that precede each inner loop.
        """
        loops: list[ForOp] = []
        while True:
            loops.append(op)
            self.expressions.define(op.variable)
            ops, named = list(op.body.block.ops), values_to_name(op.body.block)
            inner = self._only_loop(op, ops)
            if inner is None or named:
                return loops, ops, named
            printed = len(self.lines)
            self.ops(ops[: ops.index(inner)], named)
            rest = ops[ops.index(inner) :]
            if len(self.lines) > printed or self._is_apart(inner, loops):
                return loops, rest, named
            op = inner

    def _is_apart(self, inner: ForOp, loops: list[ForOp]) -> bool:
        """Whether `inner` cannot or must not share a `T.grid` with `loops`."""
        return inner in self.separate or loops[-1] in self.separate or _depends(inner, loops)

    def _only_loop(self, op: ForOp, ops: list[Operation]) -> ForOp | None:
        statements = [o for o in ops if not is_expression_op(o) or has_side_effects(o)]
        match statements:
            case [ForOp() as inner] if _is_plain(op) and _is_plain(inner):
                return inner
            case _:
                return None

    def _iterator(self, loops: list[ForOp]) -> str:
        if len(loops) > 1:
            extents = (self.mixed_text(loop.mixed_bounds[1], loop.variable.type) for loop in loops)
            return f"T.grid({', '.join(extents)})"
        (op,) = loops
        low, extent, step = op.mixed_bounds
        type = op.variable.type
        arguments = [self.expressions.sum(low, extent, type).text]
        if low != 0 or step != 1:
            arguments.insert(0, self.mixed_text(low, type))
        function = _LOOPS[op.kind.data]
        if op.kind.data == "serial" and op.annotations is None:
            function = "range"
        if op.thread is not None:
            arguments.append(f"thread={string_literal(op.thread.data)}")
        if op.annotations is not None:
            arguments.append(f"annotations={self._dictionary(op.annotations)}")
        if step != 1:
            arguments.append(("" if function == "range" else "step=") + self.mixed_text(step, type))
        return f"{function}({', '.join(arguments)})"

    def _dictionary(self, attr: DictionaryAttr) -> str:
        return dictionary_literal(attr.data, self.style)

    @_prints(WhileOp)
    def _while(self, op: WhileOp) -> None:
        with self.names.scope():
            self.emit(f"while {self.expressions.region(op.condition.block).text}:", op)
            with self.suite():
                self.block(op.body.block)

    @_prints(IfOp)
    def _if(self, op: IfOp) -> None:
        self.emit(f"if {self.text(op.condition)}:", op)
        with self.suite():
            self.block(op.then.block)
        if op.orelse.block.ops:
            self.emit("else:")
            with self.suite():
                self.block(op.orelse.block)

    # Blocks

    @_prints(BlockOp)
    def _block(self, op: BlockOp) -> None:
        self.emit(f"with T.{self.style.block}({string_literal(op.block_name.data)}):", op)
        with self.suite():
            self._axes(op)
            if op.predicate is not None and self.expressions.folded_constant(op.predicate) != 1:
                self.emit(f"T.where({self.text(op.predicate)})", op.predicate)
            accesses = _Accesses(len(self.lines), self.indent)
            self._accesses.append(accesses)
            self.block(op.body.block)
            self._accesses.pop()
            self._signature(op, accesses)

    def _signature(self, op: BlockOp, accesses: _Accesses) -> None:
        lines = [
            Line.call_line("T.reads", accesses.reads, accesses.indent),
            Line.call_line("T.writes", accesses.writes, accesses.indent),
        ]
        if op.annotations is not None:
            lines.append(Line(f"T.{self.style.block_attr}({self._dictionary(op.annotations)})", accesses.indent))
        self.lines[accesses.line : accesses.line] = lines

    @_prints(AccessOp)
    def _access(self, op: AccessOp) -> None:
        if not self._accesses:
            raise UnsupportedError("tir.access outside of a tir.block has no form in TVMScript")
        accesses = self._accesses[-1]
        box = self.expressions.box(op.buffer, op.region)
        (accesses.writes if op.is_write else accesses.reads).append((box, op))
        if len(self.lines) > accesses.line:  # the printed lines may define names that the region uses
            accesses.line, accesses.indent = len(self.lines), self.indent

    def _axes(self, op: BlockOp) -> None:
        """Prints the axes; adjacent axes that are bound to loop variables of the same domain share a `T.axis.remap`."""
        bindings = [self.text(axis.binding) for axis in op.axes]
        group: list[int] = []
        for i, axis in enumerate(op.axes):
            if self._has_domain_of_loop(axis, op.variables[i]) and op.variables[i] not in self.separate:
                if axis.binding in [op.axes[n].binding for n in group]:  # the loops of a remap are distinct
                    self._remap(op, group, bindings)
                    group = []
                group.append(i)
                continue
            self._remap(op, group, bindings)
            self._axis(op, i, bindings[i])
            group = []
        self._remap(op, group, bindings)

    def _has_domain_of_loop(self, axis: Axis, variable: SSAValue) -> bool:
        """Whether the axis is bound to a loop variable of the same domain. Ops that compute equal bounds have equal
        texts; two loads of one element may differ."""
        loop = self._loops.get(axis.binding)
        if loop is None or axis.kind not in _AXIS_LETTERS:
            return False
        low, extent, step = loop.mixed_bounds
        if (low, extent, step) == (axis.low, axis.extent, 1):
            return True
        if step != 1 or any(map(_may_differ, (low, extent, axis.low, axis.extent))):
            return False
        return self._domain(low, extent, loop.variable.type) == self._domain(axis.low, axis.extent, variable.type)

    def _domain(self, low: Mixed, extent: Mixed, type: Attribute) -> tuple[str, str]:
        """The texts of the first value and of the end of a domain."""
        return self.mixed_text(low, type), self.expressions.sum(low, extent, type).text

    def _remap(self, op: BlockOp, group: list[int], bindings: list[str]) -> None:
        if len(group) == 1:
            self._axis(op, group[0], bindings[group[0]])
        elif group:
            names = [self.expressions.define(op.variables[i]) for i in group]
            kinds = "".join(_AXIS_LETTERS[op.axes[i].kind] for i in group)
            loops = ", ".join(bindings[i] for i in group)
            variables = (op.variables[i] for i in group)
            self.emit(f'{", ".join(names)} = T.axis.remap("{kinds}", [{loops}])', *variables)

    def _axis(self, op: BlockOp, index: int, binding: str) -> None:
        axis, variable = op.axes[index], op.variables[index]
        low, stop = self._domain(axis.low, axis.extent, variable.type)
        domain = stop if axis.low == 0 else f"({low}, {stop})"
        name = self.expressions.define(variable)
        self.emit(f"{name} = T.axis.{axis.kind}({domain}, {binding})", variable)

    @_prints(InitOp)
    def _init(self, op: InitOp) -> None:
        self.emit("with T.init():", op)
        with self.suite():
            self.block(op.body.block)

    # Buffers and memory

    def buffer_arguments(self, op: BufferOp, data: str | None = None) -> str:
        """The text of the arguments of a buffer declaration, from the shape on."""
        type = op.type
        arguments = [self.expressions.sequence(op.mixed_shape)]
        if (dtype := dtype_literal(type.element_type)) != '"float32"':
            arguments.append(dtype)
        if data is not None:
            arguments.append(f"data={data}")
        implied = any(_is_implied(value) for value in op.offset)
        arguments += self.layout_arguments(type, op.mixed_strides, op.mixed_offset, implied)
        if op.alignment is not None:
            arguments.append(f"align={op.alignment.value.data}")
        if op.offset_factor is not None or implied:
            arguments.append(f"offset_factor={1 if op.offset_factor is None else op.offset_factor.value.data}")
        if op.separators:
            arguments.append(f"axis_separators={list(op.separators)}")
        return ", ".join(arguments)

    def layout_arguments(
        self, type: MemRefType[Attribute], strides: Sequence[Mixed] | None, offset: Mixed, implied: bool = False
    ) -> list[str]:
        """The arguments for strides, offset and scope that differ from the defaults of the parser.

        implied: whether the parser creates the offset.
        """
        arguments: list[str] = []
        if strides is not None and not (offset != 0 and _is_row_major(type, strides)):
            arguments.append(f"strides={self.expressions.sequence(strides)}")
        if offset != 0 and not implied:
            arguments.append(f"elem_offset={self.expressions.mixed_expression(offset).text}")
        if (scope := scope_of(type)) != "global":
            arguments.append(f"scope={string_literal(scope)}")
        return arguments

    @_prints(SymbolOp)
    def _symbol(self, op: SymbolOp) -> None:
        if op.result.first_use is not None and not _is_implied(op.result):  # the parser creates no symbol without uses
            self.emit(f"{self.expressions.define(op.result)} = {type_text(op.result.type, self.style)}()", op)

    @_prints(MatchBufferOp)
    def _match_buffer(self, op: MatchBufferOp) -> None:
        arguments = f"{self.text(op.source)}, {self.buffer_arguments(op)}"
        self.emit(f"{self.expressions.define(op.buffer)} = T.match_buffer({arguments})", op)

    @_prints(MatchRegionOp)
    def _match_region(self, op: MatchRegionOp) -> None:
        arguments = f"{self.expressions.box(op.source, op.region)}, {self.buffer_arguments(op)}"
        self.emit(f"{self.expressions.define(op.buffer)} = T.match_buffer({arguments})", op)

    @_prints(AllocBufferOp)
    def _alloc_buffer(self, op: AllocBufferOp) -> None:
        arguments = self.buffer_arguments(op)
        self.emit(f"{self.expressions.define(op.buffer)} = T.{self.style.alloc_buffer}({arguments})", op)

    @_prints(DeclBufferOp)
    def _decl_buffer(self, op: DeclBufferOp) -> None:
        """Prints a declaration; the first one over a free pointer has no data."""
        if isinstance(op.data.owner, FreePointerOp) and op.data not in self._free_pointers:
            name = self.expressions.define(op.buffer)
            self.emit(f"{name} = T.Buffer({self.buffer_arguments(op)})", op)
            self.expressions.bind(op.data, f"{name}.data")
            self._free_pointers.add(op.data)
            return
        arguments = self.buffer_arguments(op, self.text(op.data))
        self.emit(f"{self.expressions.define(op.buffer)} = T.decl_buffer({arguments})", op)

    @_prints(FreePointerOp)
    def _free_pointer(self, op: FreePointerOp) -> None:
        """Prints nothing: the first buffer over the memory declares it."""
        if not any(isinstance(use.operation, DeclBufferOp) for use in op.pointer.uses):
            raise UnsupportedError("a free pointer without a buffer over it has no form in TVMScript")

    @_prints(AllocateOp)
    def _allocate(self, op: AllocateOp) -> None:
        type = op.pointer.type
        extents = ", ".join(self.mixed_text(e, e.type) if isinstance(e, SSAValue) else str(e) for e in op.mixed_extents)
        if not self.style.has_allocate:
            self._allocate_as_buffer(op, extents)
            return
        arguments = [f"[{extents}]", dtype_literal(type.element), string_literal(type.scope.data)]
        if op.condition is not None:
            arguments.append(f"condition={self.text(op.condition)}")
        if op.annotations is not None:
            arguments.append(f"annotations={self._dictionary(op.annotations)}")
        self.emit(f"{self.expressions.define(op.pointer)} = T.allocate({', '.join(arguments)})", op)

    def _allocate_as_buffer(self, op: AllocateOp, extents: str) -> None:
        if op.condition is not None:
            raise UnsupportedError(f"TVMScript of TVM {self.style.name} has no allocation under a condition")
        type = op.pointer.type
        scope = "" if type.scope.data == "global" else f", scope={string_literal(type.scope.data)}"
        comma = "," if len(op.mixed_extents) == 1 else ""
        name = self.expressions.define(op.pointer)
        notes = "" if op.annotations is None else f", annotations={self._dictionary(op.annotations)}"
        self.emit(f"{name} = T.alloc_buffer(({extents}{comma}), {dtype_literal(type.element)}{scope}{notes})", op)
        self.expressions.bind(op.pointer, f"{name}.data")

    @_prints(AllocateConstOp)
    def _allocate_const(self, op: AllocateConstOp) -> None:
        if not self.style.has_allocate:
            raise UnsupportedError(f"TVMScript of TVM {self.style.name} has no constant arrays (tir.allocate_const)")
        values = ", ".join(_element_text(v, op.value.get_element_type()) for v in op.value.get_values())
        arguments = [f"[{values}]", dtype_literal(op.value.get_element_type()), str(list(op.value.get_shape()))]
        if op.annotations is not None:
            arguments.append(f"annotations={self._dictionary(op.annotations)}")
        self.emit(f"{self.expressions.define(op.pointer)} = T.allocate_const({', '.join(arguments)})", op)

    @_prints(StoreOp)
    def _store(self, op: StoreOp) -> None:
        value = self.text(op.value)
        if not self.expressions.is_conditional(op):
            self.emit(f"{self.expressions.element(op.buffer, op.indices).text} = {value}", op)
        else:
            self.emit(f"{self.text(op.buffer)}.vstore({self.expressions.predicated_arguments(op, value)})", op)

    # Statements whose body is the rest of the enclosing block

    @_prints(AttrOp)
    def _attr(self, op: AttrOp) -> None:
        node = self._node_or_value(op.node, op.node_attr)
        value = self._node_or_value(op.value, op.value_attr)
        frame = f"T.attr({node}, {string_literal(self.style.key(op.key.data))}, {value})"
        if _is_last(op):
            self.emit(frame, op)
            self.block(op.body.block)
            return
        self.emit(f"with {frame}:", op)
        with self.suite():
            self.block(op.body.block)

    def _node_or_value(self, value: SSAValue | None, attr: Attribute | None) -> str:
        if value is not None:
            return self.expressions.argument(value).text
        assert attr is not None
        return attribute_literal(attr, self.style)

    @_prints(LaunchThreadOp)
    def _launch_thread(self, op: LaunchThreadOp) -> None:
        frame = (
            f"T.launch_thread({string_literal(op.thread.data)}, {self.mixed_text(op.mixed_extent, op.variable.type)})"
        )
        if _is_last(op):
            self.emit(f"{self.expressions.define(op.variable)} = {frame}", op)
            self.block(op.body.block)
            return
        with self.names.scope():
            self.emit(f"with {frame} as {self.expressions.define(op.variable)}:", op)
            with self.suite():
                self.block(op.body.block)

    # Other statements

    @_prints(AssertOp)
    def _assert(self, op: AssertOp) -> None:
        parts = [string_literal(part) if isinstance(part, str) else self.text(part) for part in op.parts]
        message = ", ".join(parts)
        if self.style.message_tuples or op.kind is not None or op.values:
            message = f"({string_literal(op.kind_name)}, [{message}])"
        self.emit(f"assert {self.text(op.condition)}, {message}", op)

    @_prints(PrintOp)
    def _print(self, op: PrintOp) -> None:
        arguments = ", ".join([string_literal(op.message.data), *map(self.text, op.values)])
        self.emit(f"T.print({arguments})", op)

    @_prints(EvaluateOp)
    def _evaluate(self, op: EvaluateOp) -> None:
        value = op.value
        text = self.expressions.argument(value).text
        is_call = isinstance(value.owner, _CALLS) and self.expressions[value].precedence == ATOM and "(" in text
        self.emit(text if is_call else f"T.evaluate({text})", op)

    @_prints(*_CALLS)
    def _call(self, op: CallOp | CallExternOp | CallPackedOp | CallIntrinOp) -> None:
        self.emit(self.expressions.call_expression(op).text, op)

    @_prints(ReturnOp)
    def _return(self, op: ReturnOp) -> None:
        if op.value is not None:
            self.emit(self.style.result.format(self.text(op.value)), op)
        elif self.style.has_void_return:
            self.emit("return", op)
        elif not (_is_last(op) and _is_function_body(op)):
            raise UnsupportedError(f"TVMScript of TVM {self.style.name} cannot leave a function early without a result")


def _are_pointers(*values: SSAValue) -> bool:
    """Whether all values are pointers to known types."""
    return all(isinstance(value.type, HandleType) and not isinstance(value.type.element, NoneAttr) for value in values)


def _may_differ(value: Mixed) -> bool:
    """Whether a second evaluation of the expression of `value` may give another result."""
    return isinstance(value, SSAValue) and any(isinstance(op, LoadOp) or has_effect(op) for op in computing_ops(value))


def _is_plain(loop: ForOp) -> bool:
    low, _, step = loop.mixed_bounds
    return loop.kind.data == "serial" and low == 0 and step == 1 and loop.annotations is None


def _is_implied(value: SSAValue) -> bool:
    """Whether the parser creates the symbol `value` itself: the offset of a single buffer with an offset_factor."""
    symbol, use = value.owner, value.first_use
    if not isinstance(symbol, SymbolOp) or use is None or value.has_more_than_one_use() or value.type != i32:
        return False
    return (
        isinstance(use.operation, BufferOp)
        and value in use.operation.offset
        and symbol.var_name.data.endswith("elem_offset")
    )


def _depends(inner: ForOp, loops: list[ForOp]) -> bool:
    """Whether the bounds of `inner` depend on the variables of `loops`."""
    variables = {loop.variable for loop in loops}
    return any(depends_on(bound, variables) for bound in inner.bounds)


def _is_last(op: Operation) -> bool:
    """Whether no op that follows `op` in its block is printed as a statement."""
    following = op.next_op
    while following is not None:
        if not is_expression_op(following) or has_side_effects(following):
            return False
        following = following.next_op
    return True


def _is_row_major(type: MemRefType[Attribute], strides: Sequence[Mixed]) -> bool:
    if not isinstance(type.layout, StridedLayoutAttr) or not all(isinstance(s, int) for s in strides):
        return False
    shape = type.get_shape()
    return all(d >= 0 for d in shape[1:]) and list(strides) == row_major_strides(shape)


def _is_function_body(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and parent.name == "tir.func"


def _element_text(value: Any, type: Attribute) -> str:
    """The text of an element of a constant array."""
    dtype = dtype_of(type)
    return repr(float(value)) if dtype.is_float else str(int(value) % 2 if dtype.is_bool else int(value))
