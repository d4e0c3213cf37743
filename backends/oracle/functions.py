"""Compilation of a `tir.func` to the text of a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ...core.dtypes import dtype_of, int_range
from ...dialects.extensions import scalar_operation, statement
from ...dialects.tir import AccessOp, FuncOp, HandleType, MatchBufferOp, Mixed, SymbolOp, element_limit
from .accesses import AccessWriter, PythonBuffer
from .aliases import (
    ParameterWrites,
    aliases_of,
    concurrent_loops_around,
    is_concurrent,
    memory_roots,
    memory_uses,
    reads_or_writes,
)
from .buffers import HANDLERS as BUFFERS
from .buffers import bind_buffer_parameter
from .calls import HANDLERS as CALLS
from .context import OracleContext, unsupported
from .control import HANDLERS as CONTROL
from .expressions import PythonExpr, call_text
from .extensions import emit_statement
from .ranges import OpIntervals
from .values import HANDLERS as VALUES
from .values import emit_computation
from .writer import PythonLine, PythonWriter, dead_ops


class FunctionCompiler:
    """Emits the Python function of a `tir.func`.

    buffers: the buffers by value.  handles: the Python names of handle parameters.  raced: buffers and pointers of
    memory that concurrent iterations may write.  loops: numbers of the concurrent loops. constants: arrays and
    functions that the text refers to, extended by `compile`.
    """

    def __init__(self, func: FuncOp, context: OracleContext, constants: dict[str, Any]):
        self.func, self.context, self.constants = func, context, constants
        self.name = func.sym_name.data
        self.writer = PythonWriter(context.names.values(), dead_ops(func))
        self.ranges = OpIntervals()
        self.accesses = AccessWriter(self.writer, self.ranges, context.check)
        self.buffers: dict[SSAValue, PythonBuffer] = {}
        self.handles: dict[SSAValue, str] = {}
        self.threads: dict[str, PythonExpr] = {}
        self.loops = {op: n for n, op in enumerate((o for o in func.walk() if is_concurrent(o)), 1)}
        self.takes_strand = context.check and self.name in context.concurrent
        self.raced = self._find_raced() if context.check else set[SSAValue]()

    @property
    def strand(self) -> str | None:
        """The text of the current strand, None outside of concurrent loops."""
        return self.accesses.strand

    def compile(self) -> list[PythonLine]:
        """The lines of the function, its header first."""
        w = self.writer
        w.op = self.func
        self.accesses.strand = "strand" if self.takes_strand else None
        params = [self._parameter(name, value) for name, value in self.func.params]
        self._bind_symbols()
        for (name, value), param in zip(self.func.params, params, strict=True):
            if isinstance(value.type, MemRefType):
                bind_buffer_parameter(self, value, name, param)
        self.emit_block(self.func.body.block)
        arguments = ["run", *(["strand"] if self.takes_strand else []), *params]
        return [(0, f"def {self.context.names[self.name]}({', '.join(arguments)}):", self.func), *w.lines]

    def _parameter(self, name: str, value: SSAValue) -> str:
        w = self.writer
        param = w.fresh_name(f"{name}_view" if isinstance(value.type, MemRefType) else name)
        w.set(value, PythonExpr(param))
        if isinstance(value.type, HandleType):
            self.handles[value] = param
            w.set(value, call_text("pointer", param))
        return param

    def _find_raced(self) -> set[SSAValue]:
        writes = ParameterWrites(self.context.functions)
        raced: set[SSAValue] = set()
        for root in memory_roots(self.func):
            owner = root.owner
            around = set(concurrent_loops_around(owner)) if isinstance(owner, Operation) else set[Operation]()
            writing_uses = [u for u in memory_uses(root) if reads_or_writes(u) and writes.use(u)]
            inside = any(set(concurrent_loops_around(u.operation)) - around for u in writing_uses)
            if inside or (self.takes_strand and not isinstance(owner, Operation)):
                raced |= aliases_of(root)
        return raced

    # Symbols

    def _bind_symbols(self) -> None:
        """Binds each symbol to the extent, stride or offset of the first buffer parameter that declares it."""
        order: dict[SSAValue, int] = {value: i for i, (_, value) in enumerate(self.func.params)}
        matches = [op for op in self.func.body.block.ops if isinstance(op, MatchBufferOp)]
        for op in sorted(matches, key=lambda op: order[op.source]):
            self.writer.op = op
            for d, extent in enumerate(op.mixed_shape):
                self._bind_symbol(op, extent, "extent", d)
            for d, stride in enumerate(op.mixed_strides or []):
                self._bind_symbol(op, stride, "stride", d)
            self._bind_symbol(op, op.mixed_offset, "offset_of", None)
            limit = element_limit(op)
            if limit is not None:
                arguments = (self.handles[op.source], repr(op.buffer_name.data), str(limit))
                self.writer.line(call_text("check_elements", *arguments).text)
        self.writer.op = self.func

    def _bind_symbol(self, match: MatchBufferOp, number: Mixed, function: str, dimension: int | None) -> None:
        if isinstance(number, int) or not isinstance(symbol := number.owner, SymbolOp) or self.writer.has_text(number):
            return
        dtype, name = dtype_of(number.type), symbol.var_name.data
        args = [self.handles[match.source]]
        if dimension is not None:
            args += [str(dimension), repr(match.buffer_name.data), repr(name), repr(dtype.name)]
        self.writer.bind(number, call_text(function, *args), name)
        self.ranges.assume(number, (0, int_range(dtype)[1]))

    # Regions

    def emit_block(self, block: Block) -> None:
        """Emits the ops of a block."""
        for op in block.ops:
            if not self.writer.is_dead(op):
                self.emit_op(op)

    def emit_op(self, op: Operation) -> None:
        """Emits an op."""
        if isinstance(op, AccessOp):
            return
        outer, self.writer.op = self.writer.op, op
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif scalar_operation(op) is not None:
            emit_computation(self, op)
        elif (definition := statement(op)) is not None:
            emit_statement(self, op, definition)
        else:
            raise unsupported(op, "the oracle does not run this operation")
        self.writer.op = outer

    def emit_written_view(self, value: SSAValue) -> str:
        """Emits the view of a buffer, all of whose elements a call may write. Returns its name."""
        view = self.writer.fresh_name("view")
        self.writer.line(f"{view} = {self.buffers[value].view().text}")
        if self.strand is not None and value in self.raced:
            self.writer.line(f"write_all(run, {view}, {self.strand})")
        return view


_HANDLERS: dict[type[Operation], Callable[[FunctionCompiler, Any], None]] = {**VALUES, **BUFFERS, **CALLS, **CONTROL}
