"""Construction of programs in passes: a nest of loops around one block."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import SSAValue

from ..analysis.regions.access_regions import buffer_shape, infer_accesses
from ..dialects.tir import Axis, TirBuilder


@contextmanager
def each_element(builder: TirBuilder, name: str, buffer: SSAValue) -> Generator[Sequence[SSAValue], None, None]:
    """A block named `name` for each element of a buffer, in loops over its dimensions: a context for its body.

    Yields the indices of the element. The reads and writes of the block are inferred at the end. Sizes may be dynamic.
    """
    shape = buffer_shape(buffer)
    with builder.loops([f"i{d}" for d in range(len(shape))], shape) as loops:
        axes = [Axis(f"v{d}", "spatial", 0, n, i) for d, (n, i) in enumerate(zip(shape, loops, strict=True))]
        with builder.block(name, axes) as block:
            yield block.variables
    infer_accesses(block)
