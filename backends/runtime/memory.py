"""numpy arrays on memory owned elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtypes import carrier_dtype


class _Exporter:
    """An object with numpy's array interface: the array keeps it alive, and it keeps `owner` alive."""

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_at(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    *,
    read_only: bool = False,
    owner: object = None,
) -> np.ndarray[Any, Any]:
    """The array of `dtype` at `address`; `strides` in elements, None for C-contiguous. It keeps `owner` alive."""
    if 0 in shape:
        return np.empty(shape, dtype)  # the address points to no element and may be null
    bytes_ = None if strides is None else tuple(stride * dtype.itemsize for stride in strides)
    typestr = carrier_dtype(dtype).str
    interface = {"data": (address, read_only), "shape": shape, "strides": bytes_, "typestr": typestr, "version": 3}
    return np.asarray(_Exporter(owner, interface)).view(dtype)


def strided_view(
    array: np.ndarray[Any, Any], shape: Sequence[int], strides: Sequence[int], writeable: bool = True
) -> np.ndarray[Any, Any]:
    """numpy's `as_strided`, for any data type. strides: in bytes."""
    carried = array.view(carrier_dtype(array.dtype))
    return np.lib.stride_tricks.as_strided(carried, shape, strides, writeable=writeable).view(array.dtype)
