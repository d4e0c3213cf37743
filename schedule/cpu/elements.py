"""Blocks without sums: operators on elements, and transposes."""

from __future__ import annotations

from collections.abc import Sequence

from .. import Schedule
from ..rules.results import decline_unless
from ..rules.strides import Strides
from .nest import Nest
from .tiles import fill_registers


def elementwise(nest: Nest) -> str:
    """Vectorizes the axis along which stores are contiguous.

    Declines: blocks with a load that is neither contiguous nor invariant along this axis.
    """
    strides = _require_elements(nest)
    vector = _stored_along(nest, strides)
    name = strides.names[vector]
    decline_unless(all(stride[vector] in (0, 1) for stride in strides.read), f"a load is not contiguous along {name}")
    lanes = nest.lanes_along(strides.extents[vector], nest.line_lanes)
    nest.sch.vectorize(nest.sch.split(nest.sch.get_loops(nest.rv)[vector], [None, lanes])[1])
    return f"vectors of {lanes} lanes along {name}"


def transpose(nest: Nest) -> str:
    """Transposes squares of elements in registers, where loads are contiguous along another axis than stores.

    Declines: blocks whose loads are contiguous along the axis of the store, or along several others; small sizes.
    """
    strides = _require_elements(nest)
    vector = _stored_along(nest, strides)
    transposed = [n for n, stride in enumerate(strides.read) if stride[vector] not in (0, 1)]
    decline_unless(transposed, "it loads elements in the order in which it stores them")
    own = range(strides.shared, len(strides.kinds))
    rows = {axis for n in transposed for axis in own if strides.read[n][axis] == 1}
    contiguous = len(rows) == 1 and all(1 in strides.read[n][strides.shared :] for n in transposed)
    decline_unless(contiguous, "its loads are not contiguous along one other axis")
    row = rows.pop()
    is_large = min(strides.extents[row], strides.extents[vector]) >= nest.lanes
    decline_unless(is_large, f"a side of a square has less than {nest.lanes} elements")
    _transpose_squares(nest, row, vector, sorted({strides.sources[n] for n in transposed}))
    names = f"{strides.names[row]} and {strides.names[vector]}"
    return f"squares of {nest.lanes} elements along {names}, transposed in registers"


def _require_elements(nest: Nest) -> Strides:
    """The strides of a block without sums. Raises DeclineError for other blocks."""
    strides = nest.strides
    has_sums = nest.kernel.init is not None or "reduce" in strides.kinds
    decline_unless(not has_sums, "it is a reduction")
    return strides


def _stored_along(nest: Nest, strides: Strides) -> int:
    """The axis along which stores are contiguous. Raises DeclineError for none, or few elements along it."""
    own = range(strides.shared, len(strides.kinds))
    vector = next((n for n in own if strides.written[n] == 1 and nest.lanes_along(strides.extents[n])), None)
    decline_unless(vector is not None, f"no axis of {nest.least_lanes} or more elements is contiguous in the store")
    assert vector is not None
    return vector


def _transpose_squares(nest: Nest, rows: int, columns: int, buffers: Sequence[int]) -> None:
    """Copies a square of each transposed buffer to registers, row by row, and stores its columns."""
    sch: Schedule = nest.sch
    loops = sch.get_loops(nest.rv)
    splits = {n: sch.split(loops[n], [None, nest.lanes]) for n in (rows, columns)}
    outer = [splits[n][0] if n in splits else loop for n, loop in enumerate(loops)]
    inner = [splits[n][1] for n in (rows, columns)]
    sch.reorder(*outer[nest.strides.shared :], *inner)
    for buffer in buffers:
        square = sch.cache_read(nest.rv, buffer, "local", [nest.rv])
        sch.compute_at(square, outer[-1])
        fill_registers(sch, sch.get_loops(square)[-2:])
    fill_registers(sch, inner)
