"""Random tensors, drawn by numpy in functions that programs call by name: `tvm.contrib.random`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ....core.errors import ArgumentError
from ....expressions.extern import call_packed, extern
from ....expressions.tensor import Tensor
from ..absent import report_absent
from ..nd import NDArray
from ..registry import register_func

__getattr__ = report_absent("tvm.contrib.random")

_generator = [np.random.default_rng()]


def _seed(number: int) -> None:
    _generator[0] = np.random.default_rng(number)


def _randint(low: int, high: int, out: NDArray) -> None:
    out.layout[...] = _generator[0].integers(low, high, out.shape, np.int64)


def _uniform(low: float, high: float, out: NDArray) -> None:
    out.layout[...] = _generator[0].uniform(low, high, out.shape)


def _normal(loc: float, scale: float, out: NDArray) -> None:
    out.layout[...] = _generator[0].normal(loc, scale, out.shape)


def _fill(out: NDArray) -> None:
    """Numbers from 1 to 10, integers from 0 to 9 and truth values, so that sums and quotients of arrays stay finite."""
    dtype = numpy_dtype(out.dtype)
    is_float = out.dtype.startswith(("float", "bfloat"))
    values = _generator[0].uniform(1, 10, out.shape) if is_float else _generator[0].integers(0, 10, out.shape)
    out.copyfrom(values.astype(dtype))


register_func("tvm.contrib.random.seed", _seed, override=True)
register_func("tvm.contrib.random.randint", _randint, override=True)
register_func("tvm.contrib.random.uniform", _uniform, override=True)
register_func("tvm.contrib.random.normal", _normal, override=True)
register_func("tvm.contrib.random.random_fill", _fill, override=True)
register_func("tvm.contrib.random.random_fill_for_measure", _fill, override=True)


def randint(low: int, high: int, size: Sequence[Any], dtype: str = "int32") -> Tensor:
    """Integers from `low` to `high`, `high` excluded. size: the shape. ArgumentError for another data type."""
    if "int" not in dtype:
        raise ArgumentError(f"randint: data type {dtype}, expected integers")
    return _drawn("randint", int(low), int(high), size, dtype)


def uniform(low: float, high: float, size: Sequence[Any]) -> Tensor:
    """Numbers of float32 from `low` to `high`, equally distributed. size: the shape."""
    return _drawn("uniform", float(low), float(high), size, "float32")


def normal(loc: float, scale: float, size: Sequence[Any]) -> Tensor:
    """Normally distributed numbers of float32. loc: their mean.  scale: their standard deviation.  size: the shape."""
    return _drawn("normal", float(loc), float(scale), size, "float32")


def _drawn(name: str, first: float, second: float, size: Sequence[Any], dtype: str) -> Tensor:
    def call(_ins: Any, outs: Any) -> Any:
        return call_packed(f"tvm.contrib.random.{name}", first, second, outs[0])

    return extern(size, [], call, dtype=dtype)


__all__ = ["normal", "randint", "uniform"]
