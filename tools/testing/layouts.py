"""Parameters whose layout a schedule changes: the arguments of calls, and the positions of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...analysis.index import Analyzer, Lin
from ...analysis.regions.access_regions import buffer_shape
from ...dialects.schedule import BoundMap, ScheduleOp, TransformLayoutOp
from ...dialects.tir import BlockOp, FuncOp, MatchBufferOp, StoreOp, SymbolOp
from ...dialects.tir.functions import integer_sizes
from ...module import Module
from ...schedule import Schedule, Trace
from ...schedule.handles import Size
from ...schedule.rewriting.copies import access_at
from ...schedule.rewriting.index_maps import PadValue
from ...schedule.rewriting.nest import function_of

Array = np.ndarray[Any, Any]

_GARBAGE = 77
_GREATEST = 2**10


@dataclass(frozen=True)
class ParameterLayout:
    """The effect of a `transform_layout` on a parameter.

    shape: the new shape.  sizes: the sizes in it, by value of the program.  pad_value: the value of elements outside
    the image of the map.  is_written: whether the function writes the padding; otherwise the caller does.  sources: for
    each size, the parameter that determines it, with the dimension whose extent it is, or None for an integer.
    """

    function: str
    parameter: str
    map: BoundMap
    shape: tuple[Lin, ...]
    sizes: Mapping[SSAValue, Size]
    pad_value: PadValue | None
    is_written: bool
    sources: Mapping[Size, tuple[str, int | None]]

    def lay_out(
        self, array: Array, is_known: Array, arguments: Mapping[str, Any], *, is_input: bool
    ) -> tuple[Array, Array]:
        """An array in the new layout, and the mask of its defined elements.

        arguments: the arguments of the call in their first layouts, which determine the sizes.  is_input: whether the
        array is an argument of a call, as opposed to a result.
        """
        values = [self._number(value, arguments) for value in self.map.values]
        indices = np.indices(array.shape).reshape(array.ndim, -1)
        rows = [self.map.map.eval(index, values) for index in indices.T.tolist()]
        places = np.array(rows, dtype=int).reshape(-1, len(self.shape))
        numbers = {
            value: Lin(self._number(size, arguments)) for value, size in self.sizes.items() if size in self.sources
        }
        shape = [Analyzer().substitute(extent, numbers).const for extent in self.shape]
        is_padded = self.pad_value is not None and not (is_input and self.is_written)
        placed = (
            self._padding(shape, values).astype(array.dtype) if is_padded else np.full(shape, _GARBAGE, array.dtype)
        )
        known = np.full(shape, is_padded)
        placed[tuple(places.T)] = array.ravel()
        known[tuple(places.T)] = is_known.ravel()
        return placed, known

    def _number(self, value: int | Size, arguments: Mapping[str, Any]) -> int:
        if isinstance(value, int):
            return value
        parameter, dimension = self.sources[value]
        return int(arguments[parameter]) if dimension is None else arguments[parameter].shape[dimension]

    def _padding(self, shape: list[int], values: list[int]) -> Array:
        """An array of padding elements."""
        if not isinstance(self.pad_value, BoundMap):
            return np.full(shape, self.pad_value)
        rows = np.indices(shape).reshape(len(shape), -1).T.tolist()
        return np.array([self.pad_value.map.eval(row, values)[0] for row in rows]).reshape(shape)


def apply_layouts(
    arguments: dict[str, Any], layouts: Iterable[ParameterLayout], *, is_input: bool
) -> dict[str, tuple[Any, Any]]:
    """Arguments of a function by name after changes of layout, each with the mask of its defined elements, which
    excludes undefined padding."""
    result = {name: (value, np.full(np.shape(value), True)) for name, value in arguments.items()}
    for layout in layouts:
        result[layout.parameter] = layout.lay_out(*result[layout.parameter], arguments, is_input=is_input)
    return result


def parameter_layouts(mod: Module, trace: Trace) -> list[ParameterLayout]:
    """The changes of the layouts of parameters in a schedule of `mod`, in order."""
    if not any(isinstance(op, TransformLayoutOp) for op in trace.instructions):
        return []
    schedule = _Watcher(mod, enable_check=False)
    schedule.layouts = []
    schedule.sources = _size_sources(mod)
    trace.apply_to_schedule(schedule)
    return schedule.layouts


class _Watcher(Schedule):
    """A schedule that records changes of the layouts of parameters."""

    layouts: list[ParameterLayout]
    sources: dict[Size, tuple[str, int | None]]

    def _apply(self, op: type[ScheduleOp], arguments: dict[str, Any]) -> Any:
        if op is not TransformLayoutOp:
            return super()._apply(op, arguments)
        block = self._state.resolve(arguments["block"])
        assert isinstance(block, BlockOp)
        func = function_of(block)
        old = access_at(block, arguments["buffer_side"], arguments["buffer_index"]).buffer
        names = [name for name, buffer in _parameter_buffers(func).items() if buffer is old]
        result = super()._apply(op, arguments)
        index_map, pad_value = (self._with_targets(arguments[name]) for name in ("index_map", "pad_value"))
        self.layouts += [_layout(func, name, index_map, pad_value, self.sources) for name in names]
        return result

    def _with_targets(self, value: Any) -> Any:
        """A map whose values are numbers and sizes; any other value unchanged."""
        if not isinstance(value, BoundMap):
            return value
        return BoundMap(value.map, tuple(self._state.values[each] for each in value.values))


def _size_sources(mod: Module) -> dict[Size, tuple[str, int | None]]:
    """The parameter that determines each size, with the dimension whose extent it is, or None for an integer."""
    sources: dict[Size, tuple[str, int | None]] = {}
    for function, func in mod.functions.items():
        assert isinstance(func, FuncOp)
        for name, value in func.params:
            sources[Size(function, name)] = (name, None)
            shape = [op.mixed_shape for use in value.uses if isinstance(op := use.operation, MatchBufferOp)]
            for n, extent in enumerate(shape[0] if shape else []):
                if isinstance(extent, SSAValue) and isinstance(extent.owner, SymbolOp):
                    sources.setdefault(Size(function, extent.owner.var_name.data), (name, n))
    return sources


def _layout(
    func: FuncOp,
    parameter: str,
    index_map: BoundMap,
    pad_value: PadValue | None,
    sources: Mapping[Size, tuple[str, int | None]],
) -> ParameterLayout:
    buffer = _parameter_buffers(func)[parameter]
    analyzer = Analyzer()
    sizes = {value: Size(func.sym_name.data, name) for name, value in integer_sizes(func)}
    for value in sizes:  # small, so that the extents do not wrap
        analyzer.assume_not_negative(-Lin.of(value) + _GREATEST)
        analyzer.assume_not_negative(Lin.of(value) + _GREATEST)
    shape = tuple(analyzer.exact(extent) for extent in buffer_shape(buffer))
    is_written = any(isinstance(use.operation, StoreOp) for use in buffer.uses)
    return ParameterLayout(func.sym_name.data, parameter, index_map, shape, sizes, pad_value, is_written, sources)


def _parameter_buffers(func: FuncOp) -> dict[str, SSAValue]:
    """The buffer of each parameter, or its `match_buffer`."""
    views = {op.source: op.buffer for op in func.body.block.ops if isinstance(op, MatchBufferOp)}
    return {name: views.get(value, value) for name, value in func.params}
