"""The view that rules have of a block and its loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...analysis.scopes import function_around
from ...analysis.unscheduled import is_graph_kernel
from ...core.cpu import CpuModel
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import Kernel, block_of
from ..rules.strides import UNKNOWN, Strides, strides_of

CACHE_LINE = 64
"""The size of a cache line in bytes."""
MOST_IF_DYNAMIC = 8
"""The greatest number of lanes of vectors along a dynamic number of columns."""
LEAST = 4
"""The least number of lanes of a vector, if a register has as many."""


@dataclass(frozen=True)
class Nest:
    """A block to be scheduled for a processor, with the loops around it."""

    cpu: CpuModel
    sch: Schedule
    kernel: Kernel

    @property
    def rv(self) -> BlockRV:
        """The handle of the block."""
        return self.kernel.rv

    @property
    def is_of_graph(self) -> bool:
        """Whether the function is generated from a graph."""
        func = function_around(block_of(self.sch, self.rv))
        return func is not None and is_graph_kernel(func)

    @cached_property
    def strides(self) -> Strides:
        """The strides of the accesses of the block. Raises DeclineError as `strides_of`."""
        return strides_of(self.kernel)

    @cached_property
    def lanes(self) -> int:
        """The number of elements of the block in a vector register."""
        return self.cpu.lanes(self.strides.element_bytes)

    @property
    def line_lanes(self) -> int:
        """The number of elements of the block in a cache line, or in a vector register that is larger: rows without
        reuse are read by whole lines."""
        return max(self.lanes, CACHE_LINE // self.strides.element_bytes)

    @property
    def least_lanes(self) -> int:
        """The least number of lanes of a vector."""
        return min(LEAST, self.lanes)

    def lanes_of_images(self, columns: int) -> int:
        """The greatest number of lanes of vectors along the columns of images. Of a dynamic number of columns, the last
        vector has masks and strides of several loads, which cost more than the vectors that are whole."""
        return min(self.lanes, MOST_IF_DYNAMIC) if columns == UNKNOWN else self.lanes

    def lanes_along(self, extent: int, most: int | None = None) -> int:
        """The number of lanes of vectors along an axis; 0 if no vectors are worthwhile.

        most: the greatest number, by default that of a register. The number of lanes is the greatest that divides the
        extent, if the processor has masks for any number of lanes and needs no more vectors than of `most` lanes; else
        it is `most`, or the whole extent if that is less.
        """
        most = most or self.lanes
        if extent < self.least_lanes:
            return 0
        if extent <= most:
            return extent
        if not self.cpu.masks or self.strides.shared:
            return most
        divisor = next((n for n in range(most, self.least_lanes - 1, -1) if extent % n == 0), 0)
        return divisor if divisor and extent // divisor <= -(-extent // most) else most
