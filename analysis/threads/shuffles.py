"""Shuffles: exchanges of values between the lanes of a warp (`T.tvm_warp_shuffle`, `_up`, `_down`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.gpu import SHUFFLE_WIDTHS, WARP_SIZE
from ...dialects.tir import CallIntrinOp, ForOp, HandleType, Mixed, TirBuilder, constant_value
from ..scopes import ancestors
from .axes import THREAD_AXES, BoundLoop, bound_loop_range, is_thread_loop, thread_axis_of
from .registers import is_product_of_values

MODES = {"tvm_warp_shuffle": "idx", "tvm_warp_shuffle_up": "up", "tvm_warp_shuffle_down": "down"}
"""The mode of each builtin: the source lane is given by its index (`idx`) or by the distance to it (`up`, `down`)."""
ACTIVE_MASK = "tvm_warp_activemask"
"""The builtin that returns the mask of active lanes: a number with all bits set, because all lanes are active."""
ALL_LANES = 2**32 - 1


@dataclass(frozen=True)
class Shuffle:
    """The operands of a shuffle.

    mode: `idx`, `up` or `down`.  value: the value of each lane.  lane: the index of the source lane, or the distance to
    it.  width: the number of lanes that exchange values among themselves, a power of two.
    """

    mode: str
    value: SSAValue
    lane: SSAValue
    width: int


def is_shuffle(op: Operation) -> bool:
    """Whether an op is a shuffle."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data in MODES


def is_exchange(op: Operation) -> bool:
    """Whether the lanes of a warp exchange values by an op: a shuffle, or a product of matrices in their registers."""
    return is_shuffle(op) or is_product_of_values(op)


def is_active_mask(op: Operation) -> bool:
    """Whether an op is a query of the active lanes."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data == ACTIVE_MASK


def shuffle_of(op: CallIntrinOp) -> Shuffle:
    """The operands of a shuffle. UnsupportedError if a warp does not support them."""
    name = op.intrinsic.data
    if len(op.args) != 5 or op.result is None:
        raise _error(op, f"T.{name} takes a mask, a value, a lane, a width and the size of a warp, got {len(op.args)}")
    _, value, lane, width, size = op.args
    if isinstance(value.type, VectorType | HandleType) or value.type != op.result.type:
        raise _error(op, f"T.{name} exchanges scalars, got {value.type} for {op.result.type}")
    number = constant_value(width)
    if not isinstance(number, int) or number not in SHUFFLE_WIDTHS:
        raise _error(
            op, f"T.{name}: the width must be one of {', '.join(map(str, SHUFFLE_WIDTHS))}, got {_text(width)}"
        )
    if constant_value(size) != WARP_SIZE:
        raise _error(op, f"T.{name}: a warp has {WARP_SIZE} lanes, got {_text(size)}")
    return Shuffle(MODES[name], value, lane, number)


def _text(value: SSAValue) -> str:
    number = constant_value(value)
    return "a value that is not known" if number is None else str(number)


def _error(op: Operation, message: str) -> UnsupportedError:
    return UnsupportedError(f"{where(op)}{message}")


def shuffle_down(builder: TirBuilder, value: SSAValue, distance: int) -> SSAValue:
    """Builds a shuffle that returns the value of the lane `distance` lanes later in the warp; the lane's own value past
    the end of the warp."""
    numbers = [builder.const(n, "int32") for n in (distance, WARP_SIZE, WARP_SIZE)]
    args = [builder.const(ALL_LANES, "uint32"), value, *numbers]
    result = builder.insert(CallIntrinOp("tvm_warp_shuffle_down", args, value.type)).result
    assert result is not None
    return result


def check_convergence(op: Operation, extents: Mapping[str, Mixed]) -> None:
    """Raises UnsupportedError unless all threads of a thread block execute a shuffle at the same time.

    extents: the number of threads in a thread block, by axis.  Each statement is in loops of its own over threads
    (`tir-distribute-threads`).
    """
    around, mine = list(ancestors(op)), list[BoundLoop]()
    for outer in around:
        if not is_thread_loop(outer):
            break
        mine.append(outer)
    whole = {
        thread_axis_of(loop) for loop in mine if bound_loop_range(loop) == (0, extents[thread_axis_of(loop) or ""])
    }
    missing = [axis for axis in THREAD_AXES if extents.get(axis, 1) != 1 and axis not in whole]
    if missing or any(map(is_thread_loop, around[len(mine) :])):
        some = f" (fewer of {', '.join(missing)})" if missing else ""
        raise _error(op, f"lanes exchange values where not all threads of the block come{some}")


def is_reached_together(op: Operation, extents: Mapping[str, Mixed]) -> bool:
    """Whether all threads of a thread block execute an op at the same time, in loops of constant bounds inside of the
    loops over threads. extents: as of `check_convergence`."""
    while (outer := op.parent_op()) is not None and not is_thread_loop(outer):
        if not isinstance(outer, ForOp) or not all(isinstance(bound, int) for bound in outer.mixed_bounds):
            return False
        op = outer
    try:
        check_convergence(op, extents)
    except UnsupportedError:
        return False
    return True
