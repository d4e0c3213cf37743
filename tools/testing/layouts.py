"""Parameters that a schedule lays out anew: what to call the function with then, and where to look for its results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ...analysis.regions.access_regions import buffer_shape
from ...dialects.schedule import ScheduleOp, TransformLayoutOp
from ...dialects.tir import BlockOp, FuncOp, MatchBufferOp, StoreOp
from ...module import Module
from ...schedule import Schedule, Trace
from ...schedule.rewriting.copies import access_at
from ...schedule.rewriting.nest import function_of

Array = np.ndarray[Any, Any]

_GARBAGE = 77


@dataclass(frozen=True)
class ParameterLayout:
    """What one `transform_layout` did to a parameter.

    shape: the new one, None for extents that are not known.  pad_value: what is held where the map gives no index.
    is_written: whether the function puts it there, and not who calls it.
    """

    function: str
    parameter: str
    map: AffineMap
    shape: tuple[int | None, ...]
    pad_value: int | float | None
    is_written: bool

    def place(self, array: Array, is_known: Array, *, is_input: bool) -> tuple[Array, Array]:
        """An array so laid out, and which of its elements mean something.

        is_input: whether it is what the function is called with, and not what it leaves.
        """
        indices = np.indices(array.shape).reshape(array.ndim, -1)
        rows = [self.map.eval(index, []) for index in indices.T.tolist()]
        places = np.array(rows, dtype=int).reshape(-1, len(self.shape))
        shape = [max(places[:, n], default=-1) + 1 if e is None else e for n, e in enumerate(self.shape)]
        is_padded = self.pad_value is not None and not (is_input and self.is_written)
        placed = np.full(shape, self.pad_value if is_padded else _GARBAGE, array.dtype)
        known = np.full(shape, is_padded)
        placed[tuple(places.T)] = array.ravel()
        known[tuple(places.T)] = is_known.ravel()
        return placed, known


def laid_out(
    arguments: dict[str, Any], layouts: Iterable[ParameterLayout], *, is_input: bool
) -> dict[str, tuple[Any, Any]]:
    """Arguments of a function by name as it takes them behind some changes of layout, with the elements that mean
    something: all of them, but for padding."""
    result = {name: (value, np.full(np.shape(value), True)) for name, value in arguments.items()}
    for layout in layouts:
        result[layout.parameter] = layout.place(*result[layout.parameter], is_input=is_input)
    return result


def parameter_layouts(mod: Module, trace: Trace) -> list[ParameterLayout]:
    """How a schedule of `mod` lays out parameters anew, in order."""
    if not any(isinstance(op, TransformLayoutOp) for op in trace.instructions):
        return []
    schedule = _Watcher(mod, enable_check=False)
    schedule.found = []
    trace.apply_to_schedule(schedule)
    return schedule.found


class _Watcher(Schedule):
    """A schedule that notes how parameters are laid out."""

    found: list[ParameterLayout]

    def _apply(self, op: type[ScheduleOp], arguments: dict[str, Any]) -> Any:
        if op is not TransformLayoutOp:
            return super()._apply(op, arguments)
        block = self._state.resolve(arguments["block"])
        assert isinstance(block, BlockOp)
        func = function_of(block)
        old = access_at(block, arguments["buffer_side"], arguments["buffer_index"]).buffer
        names = [name for name, buffer in _parameter_buffers(func).items() if buffer is old]
        result = super()._apply(op, arguments)
        for name in names:
            self.found.append(_layout(func, name, arguments))
        return result


def _layout(func: FuncOp, parameter: str, arguments: dict[str, Any]) -> ParameterLayout:
    buffer = _parameter_buffers(func)[parameter]
    shape = tuple(extent if isinstance(extent, int) else None for extent in buffer_shape(buffer))
    is_written = any(isinstance(use.operation, StoreOp) for use in buffer.uses)
    index_map, pad_value = arguments["index_map"].data, arguments["pad_value"]
    return ParameterLayout(func.sym_name.data, parameter, index_map, shape, pad_value, is_written)


def _parameter_buffers(func: FuncOp) -> dict[str, SSAValue]:
    """The buffer of each parameter, or the one that `match_buffer` makes of it."""
    views = {op.source: op.buffer for op in func.body.block.ops if isinstance(op, MatchBufferOp)}
    return {name: views.get(value, value) for name, value in func.params}
