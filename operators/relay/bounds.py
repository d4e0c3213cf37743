"""Upper bounds of symbolic sizes that a function declares, by which its memory is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Attribute

from ...core.dtypes import numpy_dtype
from ...core.sizes import byte_count
from ...dialects.tir.base import require
from ...expressions.sizes import size_interval
from .types import Size

SIZE_BOUNDS = "tir_var_upper_bound"
"""The name of the function attribute with an upper bound for each of some sizes, as in TVM: `{n = 64}`."""


def size_bounds(attributes: DictionaryAttr | None) -> dict[str, int]:
    """The upper bounds of sizes among the attributes of a function, by name."""
    bounds = None if attributes is None else attributes.data.get(SIZE_BOUNDS)
    if not isinstance(bounds, DictionaryAttr):
        return {}
    return {name: number.value.data for name, number in bounds.data.items() if isinstance(number, IntegerAttr)}


def bounds_attribute(bounds: Mapping[str, int]) -> Attribute:
    """The value of the attribute `SIZE_BOUNDS`."""
    return DictionaryAttr({name: IntegerAttr(number, i64) for name, number in bounds.items()})


def verify_bounds(attributes: DictionaryAttr | None, tag: str) -> None:
    """Raises VerifyException unless the attribute `SIZE_BOUNDS`, if present, has a number from 0 on for each name."""
    bounds = None if attributes is None else attributes.data.get(SIZE_BOUNDS)
    if bounds is None:
        return
    require(isinstance(bounds, DictionaryAttr), f"{tag} {SIZE_BOUNDS} {bounds}, expected a bound for each name")
    assert isinstance(bounds, DictionaryAttr)
    for name, number in bounds.data.items():
        is_bound = isinstance(number, IntegerAttr) and number.value.data >= 0
        require(is_bound, f"{tag} {SIZE_BOUNDS}: {name} = {number}, expected an integer from 0 on")


def greatest_byte_count(shape: Sequence[Size], dtype: str, bounds: Mapping[str, int]) -> int | None:
    """The number of bytes of the largest tensor of a shape; None if a size has no upper bound. Raises SizeError for a
    number that int64 does not hold."""
    extents: list[int] = []
    for size in shape:
        interval = (size, size) if isinstance(size, int) else size_interval(size, bounds)
        if interval is None:
            return None
        extents.append(max(interval[1], 0))
    return byte_count(extents, numpy_dtype(dtype).itemsize)
