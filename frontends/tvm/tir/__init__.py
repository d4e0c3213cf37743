"""The module `tvm.tir`: expressions and schedules."""

from __future__ import annotations

import typing

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ....core.errors import ScheduleError
from ....dialects.schedule import SamplePerfectTileOp, ScheduleOp
from ....dialects.tir import ForOp, FuncOp
from ....expressions.buffers import Buffer
from ....expressions.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Select,
    SizeVar,
    StringImm,
    Sub,
    const,
)
from ....expressions.extern import call_extern, call_packed
from ....expressions.functions import (
    all,
    any,
    if_then_else,
    max_value,
    min_value,
)
from ....expressions.tensor import CommReducer, ProducerLoad, Reduce
from ....module import Module
from ....schedule import Schedule as _Schedule
from ....schedule.handles import RV, BlockLike, BlockRV, ExprRV, LoopRV
from ....schedule.rewriting.copies import require_block, side_accesses
from ...relay.types import Any_ as Any
from ..absent import report_absent
from ..driver import build
from ..intrinsics import CallEffectKind
from ..ir.module import IRModule, PrimFunc
from ..ir.range import Range
from ..nodes.blocks import Block, BlockRealize, MatchBufferRegion
from ..nodes.declarations import IterVar, Var, decl_buffer, ret
from ..nodes.expr import Broadcast, BufferLoad, BufferRegion, EqualOp, Let, Load, NotEqualOp, Ramp, Shuffle
from ..nodes.expr import Buffer as ProgramBuffer
from ..nodes.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    Store,
    While,
    stmt_list,
    stmt_seq,
)
from . import analysis, functions, functor, generic, ir_builder, stmt_functor, testing, transform
from .builtins import BUILTINS
from .data_layout import BijectiveLayout, Layout, bijective_layout, layout
from .functions import *  # noqa: F403
from .functor import PyStmtExprMutator, PyStmtExprVisitor
from .index_map import IndexMap, with_sizes
from .srefs import StmtSRef, node_of
from .tensor_intrin import TensorIntrin
from .traces import Instruction, InstructionKind, Trace

__getattr__ = report_absent("tvm.tir")


ExprOp = Expr = PrimExpr
"""The base class of operators on expressions, which all expressions have, and the name of v0.27."""
UIntImm = IntImm
"""Constants of unsigned integers, which had a class of their own until v0.6."""
SBlock = Block
SBlockRealize = BlockRealize
SBlockRV = BlockRV
"""Blocks and their handles, as TVM calls them since v0.24."""


class Schedule(_Schedule):
    """A schedule whose `mod` is an `IRModule`; the name of a function alone is `main` there."""

    def __init__(self, mod: Module | FuncOp | ModuleOp, **options: typing.Any):
        """mod: the program, or a function.  options: as of `stepwell.Schedule`."""
        super().__init__(_as_main(mod) if isinstance(mod, PrimFunc) else mod, **options)  # pyright: ignore[reportArgumentType]

    @property
    def mod(self) -> IRModule:
        mod = super().mod
        return IRModule(mod.op, mod.constants)

    @property
    def trace(self) -> Trace:
        """The applied primitives, in order. The trace grows with the schedule."""
        return Trace(self._trace)

    def show(self, style: str = "classic") -> None:
        """Prints the program and the trace, in TVM's form."""
        print(self.mod.script(style))
        print(self.trace)

    def op(self, rv: RV | StmtSRef) -> typing.Any:
        """The current target of a handle: the op of a block or loop, the sampled number, or the name of a size. The op
        of a place. ScheduleError if the program no longer contains the target."""
        return rv.underneath if isinstance(rv, StmtSRef) else super().get(rv)

    def get(self, rv: RV | StmtSRef) -> typing.Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The node of a block or loop, the sampled number, or the name of a size. ScheduleError as of `op`."""
        target = self.op(rv)
        return node_of(target) if isinstance(target, Operation) else target

    def get_sref(self, rv_or_stmt: typing.Any) -> StmtSRef:
        """The place of a block or loop in the program: of a handle, or of a node. ScheduleError as of `op`."""
        op: typing.Any = rv_or_stmt.underneath if isinstance(rv_or_stmt, Stmt) else self.op(rv_or_stmt)
        return StmtSRef(op)

    def _apply(self, op: type[ScheduleOp], arguments: dict[str, typing.Any]) -> typing.Any:
        """A decision of a perfect tile that was made for another extent becomes one for this extent."""
        if op is SamplePerfectTileOp and arguments.get("decision") is not None:
            loop = self._state.values.get(arguments["loop"])
            if isinstance(loop, ForOp) and isinstance(extent := loop.mixed_bounds[1], int):
                arguments = {**arguments, "decision": _perfect_tile(extent, arguments["decision"])}
        return super()._apply(op, arguments)

    def split(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, loop: LoopRV, factors: typing.Any, *arguments: typing.Any, **options: typing.Any
    ) -> list[LoopRV]:
        """Splits a loop, as `stepwell.Schedule` does. Constants among the factors are numbers."""
        return super().split(loop, _plain(factors), *arguments, **options)

    def loop_partition(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, loop: LoopRV, factors: typing.Any, *arguments: typing.Any, **options: typing.Any
    ) -> list[LoopRV]:
        """Divides a loop, as `stepwell.Schedule` does. Constants among the factors are numbers."""
        return super().loop_partition(loop, _plain(factors), *arguments, **options)

    def annotate(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, block_or_loop: BlockLike | LoopRV, ann_key: str, ann_val: typing.Any
    ) -> None:
        """Annotates a block or loop, as `stepwell.Schedule` does. Constants among the values are numbers and texts."""
        super().annotate(block_or_loop, ann_key, _plain(ann_val))

    def blockize(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, target: typing.Any = None, preserve_unit_iters: bool = True, *, loop: LoopRV | None = None
    ) -> BlockRV:
        """The block of a loop or of blocks, as of `stepwell.Schedule`. loop: the target, as TVM called it until v0.9.
        ScheduleError without a target."""
        target = loop if target is None else target
        if target is None:
            raise ScheduleError("blockize: expected a loop, a block or a list of blocks")
        return super().blockize(target, preserve_unit_iters)

    def transform_layout(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, block: BlockLike, *arguments: typing.Any, **options: typing.Any
    ) -> None:
        """Changes the layout of a buffer, as `stepwell.Schedule` does. The buffer may be a number followed by `"read"`
        or `"write"` (`buffer_index`, `buffer_index_type`), as it was until v0.9, or a node that the block accesses.
        Variables in the map are sizes of the program."""
        buffer, *rest = _sided_buffer(arguments, options) or [options.pop("buffer", None)]
        index_map = rest.pop(0) if rest else options.pop("index_map")
        handle, mapping = self._block(block), with_sizes(index_map, self.get_size)
        super().transform_layout(handle, self._side_of(handle, buffer), mapping, *rest, **options)

    def set_axis_separator(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, block: BlockLike, *arguments: typing.Any, **options: typing.Any
    ) -> None:
        """Groups the dimensions of a buffer, as `stepwell.Schedule` does. The buffer may be given as for
        `transform_layout`."""
        buffer, *rest = _sided_buffer(arguments, options) or [options.pop("buffer", None)]
        handle = self._block(block)
        super().set_axis_separator(handle, self._side_of(handle, buffer), *rest, **options)

    def _side_of(self, block: BlockRV, buffer: typing.Any) -> typing.Any:
        """The side and the number of a buffer that is given as a node; another buffer as it is. ScheduleError if the
        block does not access it."""
        if not isinstance(buffer, ProgramBuffer):
            return buffer
        op = require_block(self.op(block))
        for side in ("read", "write"):
            for n, access in enumerate(side_accesses(op, side)):
                if access.buffer is buffer.value:
                    return side, n
        raise ScheduleError(
            f"block {op.block_name.data} does not access this buffer {buffer.name}, expected one of its current buffers"
        )

    def transform_block_layout(self, block: BlockLike, index_map: typing.Any) -> None:
        """Replaces the axes of a block, as `stepwell.Schedule` does."""
        super().transform_block_layout(block, with_sizes(index_map, self.get_size))

    def reindex(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, block: BlockLike, *arguments: typing.Any, **options: typing.Any
    ) -> BlockRV:
        """Copies a buffer to the order of the axes of a block, as `stepwell.Schedule` does. The buffer may be given as
        for `transform_layout`."""
        handle, buffers = self._block(block), _sided_buffer(arguments, options)
        return super().reindex(handle, *(self._side_of(handle, each) for each in buffers), **options)


def _plain(value: typing.Any) -> typing.Any:
    """A value with numbers and texts in place of constants."""
    match value:
        case IntImm(dtype="bool"):
            return bool(value.value)
        case IntImm() | FloatImm() | StringImm():
            return value.value
        case list() | tuple():
            return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {key: _plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _perfect_tile(extent: int, decision: typing.Sequence[int]) -> list[int]:
    """Factors of an extent by a decision that may be of another extent: from the last on, a factor that does not divide
    the rest is the rest; the first is what is left."""
    factors = list(decision)
    for n in range(len(factors) - 1, 0, -1):
        if factors[n] < 1 or extent % factors[n]:
            factors[n] = extent
        extent //= factors[n]
    return [extent, *factors[1:]]


def _as_main(func: PrimFunc) -> IRModule:
    """A module of a function `main`, whose symbol remains the name of the function."""
    (name,) = func.function_ops
    return IRModule(
        {"main": func if name == "main" or "global_symbol" in func.own_attrs else func.with_attr("global_symbol", name)}
    )


def _sided_buffer(arguments: tuple[typing.Any, ...], options: dict[str, typing.Any]) -> tuple[typing.Any, ...]:
    """The arguments after a block, with a number of a buffer and its side as a pair. `options` loses the two."""
    if arguments[:1] and isinstance(arguments[0], int):
        index, rest = arguments[0], arguments[1:]
    elif "buffer_index" in options:
        index, rest = options.pop("buffer_index"), arguments
    else:
        return arguments
    if "buffer_index_type" in options:
        return ((options.pop("buffer_index_type"), index), *rest)
    if rest[:1] not in (("read",), ("write",)):
        raise ScheduleError(f'buffer {index}: expected "read" or "write" after its number')
    return ((rest[0], index), *rest[1:])


__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "Allocate",
    "AllocateConst",
    "And",
    "Any",
    "AssertStmt",
    "AttrStmt",
    "BijectiveLayout",
    "Block",
    "BlockRV",
    "BlockRealize",
    "Broadcast",
    "Buffer",
    "BufferLoad",
    "BufferRealize",
    "BufferRegion",
    "BufferStore",
    "Call",
    "CallEffectKind",
    "Cast",
    "CommReducer",
    "DeclBuffer",
    "Div",
    "EqualOp",
    "Evaluate",
    "ExprOp",
    "ExprRV",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "For",
    "ForKind",
    "IfThenElse",
    "IndexMap",
    "Instruction",
    "InstructionKind",
    "IntImm",
    "IterVar",
    "Layout",
    "Let",
    "LetStmt",
    "Load",
    "LoopRV",
    "MatchBufferRegion",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "NotEqualOp",
    "Or",
    "Prefetch",
    "PrimExpr",
    "PrimFunc",
    "ProducerLoad",
    "ProducerRealize",
    "ProducerStore",
    "PyStmtExprMutator",
    "PyStmtExprVisitor",
    "Ramp",
    "Range",
    "Reduce",
    "SBlockRV",
    "Schedule",
    "ScheduleError",
    "Select",
    "SeqStmt",
    "Shuffle",
    "SizeVar",
    "Stmt",
    "StmtSRef",
    "Store",
    "StringImm",
    "Sub",
    "TensorIntrin",
    "Trace",
    "UIntImm",
    "Var",
    "While",
    "all",
    "analysis",
    "any",
    "bijective_layout",
    "build",
    "call_extern",
    "call_packed",
    "const",
    "decl_buffer",
    "functor",
    "generic",
    "if_then_else",
    "ir_builder",
    "layout",
    "max_value",
    "min_value",
    "ret",
    "stmt_functor",
    "stmt_list",
    "stmt_seq",
    "testing",
    "transform",
]  # fmt: skip
__all__ += [name for name in (*functions.__all__, *BUILTINS) if name not in __all__]
globals().update(BUILTINS)
