"""Words of `R` whose attributes are sizes with names: filled tensors, ranges, slices.

An attribute of an operator is a number. So an allocated tensor, whose elements no operator reads, states the shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ...core.dtypes import parse_dtype
from ...expressions.errors import TeError
from ...expressions.expr import SizeVar
from ...expressions.sizes import is_provably_at_least, parse_size
from ..relay import ConstantOp, RelayBuilder, Size, dtype_of_tensor, normal_size, shape_of
from .calls import CallPurePackedOp
from .memory import AllocTensorOp
from .types import shape as shape_type
from .types import tensor
from .values import ShapeOp

Values: TypeAlias = Sequence[SSAValue]


def is_symbolic(value: object) -> bool:
    """Whether a value, or an item of a list, is a size with names."""
    if isinstance(value, list | tuple):
        return any(map(is_symbolic, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, str)


# Sizes


def combine(sign: str, a: Size, b: Size) -> Size:
    """The sum, difference or quotient of two sizes, in normal form."""
    return normal_size(f"({a}) {sign} ({b})")


def _is_at_least(a: Size, b: Size) -> bool:
    """Whether `a` is provably at least `b`."""
    difference = combine("-", a, b)
    if isinstance(difference, int):
        return difference >= 0
    names: dict[str, SizeVar] = {}
    return is_provably_at_least(0, parse_size(difference, lambda name: names.setdefault(name, SizeVar(name))))


def _clamped(size: Size, extent: Size) -> Size:
    """A size in the interval from 0 to an extent."""
    if not _is_at_least(size, 0):
        size = normal_size(f"max({size}, 0)")
    return size if _is_at_least(extent, size) else normal_size(f"min({size}, {extent})")


def _count(start: Size, stop: Size, step: int) -> Size:
    """The number of indices from a size up to another one."""
    length = combine("-", stop, start)
    if not _is_at_least(length, 0):
        length = normal_size(f"max({length}, 0)")
    return length if step == 1 else normal_size(f"({length} + {step - 1}) // {step}")


def sizes_as_tensor(builder: RelayBuilder, sizes: Sequence[Size]) -> SSAValue:
    """The sizes as int64 elements, on the device of their readers."""
    operand, like = builder.insert(ShapeOp(shape_type(sizes))).output, _shaped(builder, [len(sizes)], "int64")
    call = CallPurePackedOp("relax.run.shape_to_tensor", [operand, like], tensor([len(sizes)], "int64"))
    return builder.insert(call).output


def size_value(builder: RelayBuilder, size: Size, dtype: str = "int64") -> SSAValue:
    """A size as a tensor without dimensions."""
    if isinstance(size, int):
        return builder.number(size, dtype)
    vector = sizes_as_tensor(builder, [size])
    return builder.cast(builder.operator("squeeze", vector, axis=[0]), dtype)


def _shaped(builder: RelayBuilder, shape: Sequence[Size], dtype: str) -> SSAValue:
    """A tensor of a shape, with undefined elements."""
    return builder.insert(AllocTensorOp(tensor([normal_size(size) for size in shape], dtype))).output


# Words


def _sizes(shape: Any) -> list[Size]:
    return list(shape) if isinstance(shape, list | tuple) else [shape]  # pyright: ignore[reportUnknownArgumentType]


def filled(name: str) -> Any:
    """The word `zeros` or `ones`."""

    def build(builder: RelayBuilder, shape: Any, dtype: str = "float32") -> Values:
        sizes = _sizes(shape)
        if not is_symbolic(sizes):
            return builder.operators(name, shape=sizes, dtype=dtype)
        return builder.operators(f"{name}_like", _shaped(builder, sizes, dtype))

    return build


def full(builder: RelayBuilder, shape: Any, fill_value: Any, dtype: str | None = None) -> Values:
    """A tensor of a shape, filled with a number or with the element of a tensor."""
    sizes, number = _sizes(shape), fill_value
    if isinstance(fill_value, SSAValue):
        dtype = dtype or dtype_of_tensor(fill_value)
        number = fill_value.owner.number if isinstance(fill_value.owner, ConstantOp) else None
        if number is None:
            return broadcast_to(builder, builder.cast(fill_value, dtype), sizes)
    kind = dtype or "float32"
    if not is_symbolic(sizes):
        return builder.operators("full", fill_value=number, shape=sizes, dtype=kind)
    return builder.operators("full_like", _shaped(builder, sizes, kind), fill_value=number)


def broadcast_to(builder: RelayBuilder, x: SSAValue, shape: Any) -> Values:
    """A tensor broadcast to a shape."""
    sizes = _sizes(shape)
    if not is_symbolic(sizes):
        return builder.operators("broadcast_to", x, shape=sizes)
    return builder.operators("broadcast_to_like", x, _shaped(builder, sizes, dtype_of_tensor(x)))


def arange(builder: RelayBuilder, start: Any, end: Any = None, step: Any = 1, dtype: str | None = None) -> Values:
    """The numbers from `start` up to `end` by `step`."""
    first, stop = (0, start) if end is None else (start, end)
    kind = dtype or ("float32" if any(isinstance(each, float) for each in (first, stop, step)) else "int64")
    if not is_symbolic([first, stop, step]):
        return builder.operators("arange", start=first, stop=stop, step=step, dtype=kind)
    if not isinstance(step, int) or step < 1 or isinstance(first, float) or isinstance(stop, float):
        raise TeError(f"arange: from {first} to {stop} by {step}, expected sizes, and a positive integer as step")
    return [_range(builder, first, _count(first, stop, step), step, kind)]


def _range(builder: RelayBuilder, start: Size, count: Size, step: int, dtype: str) -> SSAValue:
    """The numbers `start + step * i` for each `i` up to `count`."""
    wide = dtype if parse_dtype(dtype).is_float else "int64"
    if isinstance(count, int):
        places = builder.operator("arange", start=0, stop=count, dtype=wide)
    else:
        ones = builder.operator("ones_like", _shaped(builder, [count], wide))
        places = builder.operator("cumsum", ones, axis=0, exclusive=True)
    if step != 1:
        places = builder.operator("multiply", places, builder.number(step, wide))
    if start != 0:
        places = builder.operator("add", places, size_value(builder, start, wide))
    return builder.cast(places, dtype)


def eye(builder: RelayBuilder, n: Size, m: Size | None = None, k: int = 0, dtype: str = "float32") -> Values:
    """Ones on the diagonal `k`, zeros elsewhere."""
    columns = n if m is None else m
    if not is_symbolic([n, columns, k]):
        return builder.operators("eye", rows=n, columns=columns, k=k, dtype=dtype)
    rows, places = (_range(builder, 0, extent, 1, "int64") for extent in (n, columns))
    diagonal = builder.operator("add", builder.operator("expand_dims", rows, axis=1), size_value(builder, k, "int64"))
    return [builder.cast(builder.operator("equal", diagonal, places), dtype)]


def strided_slice(
    builder: RelayBuilder,
    x: SSAValue,
    axes: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    assume_inbound: bool = False,
) -> Values:
    """The elements in ranges of indices along axes. assume_inbound: whether the ranges are inside of the tensor."""
    lists = [list(each) for each in (axes, begin, end)]
    steps = [1] * len(lists[0]) if strides is None else list(strides)
    if not is_symbolic([*lists, steps]):
        given = {} if strides is None else {"strides": steps}
        return builder.operators("strided_slice", x, axes=lists[0], begin=lists[1], end=lists[2], **given)
    if any(len(each) != len(lists[0]) for each in (*lists, steps)):
        raise TeError(f"strided_slice: axes {lists[0]}, begin {lists[1]}, end {lists[2]} and strides {steps}")
    for axis, first, stop, step in zip(*lists, steps, strict=True):
        x = _slice(builder, x, axis, first, stop, step, assume_inbound)
    return [x]


def _slice(
    builder: RelayBuilder, x: SSAValue, axis: Any, first: Any, stop: Any, step: Any, is_inside: bool
) -> SSAValue:
    extents = shape_of(x)
    if not isinstance(axis, int) or not -len(extents) <= axis < len(extents):
        raise TeError(f"strided_slice: axis {axis} of {len(extents)} dimensions")
    if not is_symbolic([first, stop]):
        return builder.operator("strided_slice", x, axes=[axis], begin=[first], end=[stop], strides=[step])
    if not isinstance(step, int) or step < 1:
        raise TeError(f"strided_slice: stride {step} with bounds {first} and {stop}, expected a positive integer")
    extent = extents[axis]
    ends = [combine("+", extent, each) if isinstance(each, int) and each < 0 else each for each in (first, stop)]
    if not is_inside:
        ends = [_clamped(each, extent) for each in ends]
    places = _range(builder, ends[0], _count(*ends, step), step, "int64")
    return builder.operator("take", x, places, axis=axis, mode="clip")


def split(builder: RelayBuilder, x: SSAValue, indices_or_sections: Any, axis: int = 0) -> Values:
    """The parts of a tensor along an axis; of an extent with a name, the parts before the last have equal extents."""
    extents = shape_of(x)
    count = indices_or_sections
    is_known = not -len(extents) <= axis < len(extents) or isinstance(extents[axis], int)
    if is_known and isinstance(count, int) and count > 1:
        count = _cuts(extents, axis, count)
    if is_known and not is_symbolic(count):
        return builder.operators("split", x, indices_or_sections=count, axis=axis)
    if isinstance(count, int):
        part = normal_size(f"({extents[axis]} + {count - 1}) // {count}")
        cuts = [normal_size(f"({part}) * {n}") for n in range(1, count)]
    else:
        cuts = list(count)
    bounds = [0, *cuts, extents[axis]]
    return [strided_slice(builder, x, [axis], [first], [stop])[0] for first, stop in pairwise(bounds)]


def _cuts(extents: Sequence[Size], axis: int, count: int) -> int | list[int]:
    """The number of parts of a known extent, or the ends of parts of which the last one is smaller."""
    extent = extents[axis] if -len(extents) <= axis < len(extents) else 0
    assert isinstance(extent, int)
    part = -(-extent // count)
    is_even = extent % count == 0 or part * (count - 1) > extent
    return count if is_even else [part * n for n in range(1, count)]


def shape_to_tensor(builder: RelayBuilder, shape: Sequence[Size]) -> Values:
    """The sizes of a shape as a tensor."""
    if not is_symbolic(shape):
        return [builder.constant(np.asarray(shape, np.int64), "shape")]
    return [sizes_as_tensor(builder, shape)]


def size(builder: RelayBuilder, x: SSAValue) -> Values:
    """The number of elements."""
    texts = " * ".join(f"({each})" for each in shape_of(x)) or "1"
    return [size_value(builder, normal_size(texts), "int64")]
