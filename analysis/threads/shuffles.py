"""Shuffles: the lanes of a warp exchange values (`T.tvm_warp_shuffle`, `_up`, `_down`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.gpu import WARP, WARP_PARTS
from ...dialects.tir import CallIntrinOp, HandleType, Mixed, TirBuilder, constant_value
from ..scopes import ancestors
from .axes import THREAD_AXES, BoundLoop, axis_of, is_thread_loop, range_of

MODES = {"tvm_warp_shuffle": "idx", "tvm_warp_shuffle_up": "up", "tvm_warp_shuffle_down": "down"}
"""The builtins, and how each says from which lane a value comes: by its number, or by the distance to it."""
ACTIVE_MASK = "tvm_warp_activemask"
"""The builtin that names the lanes which are there. All of them are, so it is a number with all bits set."""
ALL_LANES = 2**32 - 1


@dataclass(frozen=True)
class Shuffle:
    """What a shuffle asks for.

    mode: `idx`, `up` or `down`.  value: what each lane brings.  lane: the number of the lane whose value it gets, or
    the distance to it.  width: so many lanes exchange values among themselves, a power of two.
    """

    mode: str
    value: SSAValue
    lane: SSAValue
    width: int


def is_shuffle(op: Operation) -> bool:
    """Whether lanes exchange values there."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data in MODES


def is_active_mask(op: Operation) -> bool:
    """Whether the lanes that are there are named."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data == ACTIVE_MASK


def shuffle_of(op: CallIntrinOp) -> Shuffle:
    """What a shuffle asks for. UnsupportedError if that is not what a warp can do."""
    name = op.intrinsic.data
    if len(op.args) != 5 or op.result is None:
        raise _wrong(op, f"T.{name} takes a mask, a value, a lane, a width and the size of a warp, got {len(op.args)}")
    _, value, lane, width, size = op.args
    if isinstance(value.type, VectorType | HandleType) or value.type != op.result.type:
        raise _wrong(op, f"T.{name} exchanges scalars, got {value.type} for {op.result.type}")
    number = constant_value(width)
    if not isinstance(number, int) or number not in WARP_PARTS:
        raise _wrong(op, f"T.{name}: the width must be one of {', '.join(map(str, WARP_PARTS))}, got {_text(width)}")
    if constant_value(size) != WARP:
        raise _wrong(op, f"T.{name}: a warp has {WARP} lanes, got {_text(size)}")
    return Shuffle(MODES[name], value, lane, number)


def _text(value: SSAValue) -> str:
    number = constant_value(value)
    return "a value that is not known" if number is None else str(number)


def _wrong(op: Operation, message: str) -> UnsupportedError:
    return UnsupportedError(f"{where(op)}{message}")


def shuffle_down(builder: TirBuilder, value: SSAValue, distance: int) -> SSAValue:
    """What the lane has that is some lanes behind in its warp; the lane's own where the warp ends before."""
    numbers = [builder.const(n, "int32") for n in (distance, WARP, WARP)]
    args = [builder.const(ALL_LANES, "uint32"), value, *numbers]
    result = builder.insert(CallIntrinOp("tvm_warp_shuffle_down", args, value.type)).result
    assert result is not None
    return result


def check_all_come(op: Operation, extents: Mapping[str, Mixed]) -> None:
    """UnsupportedError unless all threads of a block come to a shuffle at the same time.

    extents: how many threads a block has, by axis.  Each statement is in loops of its own over threads
    (`tir-distribute-threads`).
    """
    around, mine = list(ancestors(op)), list[BoundLoop]()
    for outer in around:
        if not is_thread_loop(outer):
            break
        mine.append(outer)
    whole = {axis_of(loop) for loop in mine if range_of(loop) == (0, extents[axis_of(loop) or ""])}
    missing = [axis for axis in THREAD_AXES if extents.get(axis, 1) != 1 and axis not in whole]
    if missing or any(map(is_thread_loop, around[len(mine) :])):
        some = f" (fewer of {', '.join(missing)})" if missing else ""
        raise _wrong(op, f"lanes exchange values where not all threads of the block come{some}")
