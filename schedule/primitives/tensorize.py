"""Tensorization: a block computed by a tensor intrinsic."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...analysis.names import buffer_name
from ...analysis.scopes import statements
from ...core.errors import OptionError, ScheduleError
from ...dialects.schedule import TensorizeOp
from ...dialects.tir import (
    AccessOp,
    BlockOp,
    ForOp,
    FuncOp,
    InitOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    SymbolOp,
    scope_of,
)
from ...dialects.tir.tree import treeify, with_expressions
from ..handles import BlockLike, LoopRV
from ..intrinsics import TensorIntrin, block_of, body_of, buffers_of, init_of, tensor_intrin
from ..recorder import Recorder
from ..rewriting.matching import match_intrinsic
from ..rewriting.nest import function_of, set_annotation
from ..state import State, applies
from .blockize import blockize


class TensorizePrimitives(Recorder):
    """The primitive that replaces statements by a tensor intrinsic."""

    def tensorize(
        self, block_or_loop: BlockLike | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True
    ) -> None:
        """Replace the statements of a block, or of a loop turned into a block, by those of a tensor intrinsic.

            for i_0 in range(4):                    for i_0 in range(4):
                for i_1 in range(16):                   with T.block("B_o"):
                    with T.block("B"):      ->              vi_o = T.axis.spatial(4, i_0)
                        vi = T.axis.spatial(                A_1 = T.match_buffer(A[vi_o * 16:vi_o * 16 + 16], (16,))
                            64, i_0 * 16 + i_1)             B_1 = T.match_buffer(B[vi_o * 16:vi_o * 16 + 16], (16,))
                        B[vi] = A[vi] * 2.0                 T.call_extern("int32", "twice", B_1.data, A_1.data)

        block_or_loop: a loop is turned into a block first, as by `blockize`.  tensor_intrin: the name of an intrinsic
        that `register_tensor_intrin` has registered.  preserve_unit_iters: as of `blockize`.
        The block gets the annotations of the block around the implementation, except for keys that it has already.
        An init of the block stays, and runs before the first step, unless the description has an init too.
        Legal if the statements are those of the description of the intrinsic, on regions of the shapes of its buffers,
        whose elements are accessed at the same positions. ScheduleError with the first statement that differs if not.
        `register_tensor_intrin` runs implementation and description in the oracle, and rejects other results; for an
        implementation that calls functions, their equality is the statement of the user.
        """
        where = block_or_loop if isinstance(block_or_loop, LoopRV) else self._block(block_or_loop)
        self.record(
            TensorizeOp, block_or_loop=where, tensor_intrin=tensor_intrin, preserve_unit_iters=preserve_unit_iters
        )


@applies(TensorizeOp)
def tensorize(
    state: State, block_or_loop: BlockOp | ForOp | FuncOp, tensor_intrin: str, preserve_unit_iters: bool
) -> None:
    if isinstance(block_or_loop, FuncOp):
        raise ScheduleError("expected a loop or a block, not the root block")
    intrin = _intrinsic(tensor_intrin)
    block = block_or_loop
    if isinstance(block, ForOp):
        block = blockize(state, [block], preserve_unit_iters)
    accesses = match_intrinsic(block, intrin)
    with state.changing(check=False):
        _replace_statements(block, intrin, accesses)
        treeify(function_of(block))


def _intrinsic(name: str) -> TensorIntrin:
    try:
        return tensor_intrin(name)
    except OptionError as error:
        raise ScheduleError(str(error)) from None


def _replace_statements(block: BlockOp, intrin: TensorIntrin, accesses: dict[SSAValue, AccessOp]) -> None:
    """Replaces the statements of a block by those of the implementation, on views of the accessed regions."""
    body = block.body.block
    for op in reversed(statements(body)):
        if not isinstance(op, InitOp) or init_of(intrin.description) is not None:
            for each in reversed(with_expressions(op)):
                each.detach()
                each.erase()
    values = _symbols(function_of(block), intrin)
    last: Operation = block.accesses[-1]
    pairs = zip(buffers_of(intrin.description), buffers_of(intrin.implementation), strict=True)
    for described, buffer in pairs:
        view = _view(buffer, accesses[described], values)
        body.insert_op_after(view, last)
        values[buffer], last = view.buffer, view
    for op in body_of(intrin.implementation):
        for each in with_expressions(op):
            body.add_op(each.clone(value_mapper=values))
    _annotate(block, block_of(intrin.implementation))


def _annotate(block: BlockOp, implementation: BlockOp | None) -> None:
    """Adds the annotations of the block of an implementation that a block lacks."""
    if implementation is None or implementation.annotations is None:
        return
    known = {} if block.annotations is None else block.annotations.data
    for key, value in implementation.annotations.data.items():
        if key not in known:
            set_annotation(block, key, value)


def _symbols(function: FuncOp, intrin: TensorIntrin) -> dict[SSAValue, SSAValue]:
    """New symbols of a function for those of the implementation: strides and offsets of its buffers."""
    values: dict[SSAValue, SSAValue] = {}
    first = function.body.block.first_op
    assert first is not None
    for op in intrin.implementation.body.block.ops:
        if isinstance(op, SymbolOp):
            copy = SymbolOp(op.var_name.data, op.result.type)
            function.body.block.insert_op_before(copy, first)
            values[op.result] = copy.result
    return values


def _view(buffer: SSAValue, access: AccessOp, values: dict[SSAValue, SSAValue]) -> MatchRegionOp:
    """A view of the region of an access in the layout of a buffer of the implementation."""
    type, source = buffer.type, access.buffer.type
    assert isinstance(type, MemRefType)
    assert isinstance(source, MemRefType)
    if scope_of(type) != scope_of(source):  # pyright: ignore[reportUnknownArgumentType]
        raise ScheduleError(
            f"buffer {buffer_name(access.buffer)} is in memory {scope_of(source)!r}, the implementation expects "  # pyright: ignore[reportUnknownArgumentType]
            f"{scope_of(type)!r} for {buffer_name(buffer)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    op = buffer.owner
    if not isinstance(op, MatchBufferOp):
        return MatchRegionOp(buffer_name(buffer), access.buffer, access.region, list(type.get_shape()))  # pyright: ignore[reportUnknownMemberType]
    strides = None if op.mixed_strides is None else [_value(stride, values) for stride in op.mixed_strides]
    return MatchRegionOp(
        op.buffer_name.data,
        access.buffer,
        access.region,
        op.mixed_shape,
        strides=strides,
        offset=_value(op.mixed_offset, values),
        axis_separators=[each + len(access.region) - len(op.mixed_shape) for each in op.separators],
    )


def _value(number: Mixed, values: dict[SSAValue, SSAValue]) -> Mixed:
    return values[number] if isinstance(number, SSAValue) else number
