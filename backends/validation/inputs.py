"""Example arguments for a function: arrays of the required shapes, with harmless values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute, SSAValue

from ...analysis.sizes import SizeValues
from ...core.dtypes import DType, dtype_of, numpy_dtype
from ...core.errors import UnsupportedError
from ...core.walking import find_ops
from ...dialects.tir import (
    DYNAMIC,
    AccessOp,
    BlockOp,
    BufferOp,
    ForOp,
    FuncOp,
    HandleType,
    LoadOp,
    MatchBufferOp,
    Mixed,
    StoreOp,
    SymbolOp,
)
from ..runtime.memory import strided_view

DEFAULT_SIZE = 16
"""The default of a symbolic size or an integer parameter."""


@dataclass
class InputGenerator:
    """A generator of arguments for `func`.

    sizes: symbolic sizes and integer parameters by name.  default_size: of all others.  is_whole: whether floats are
    whole numbers from -4 to 4, whose sums and products have no rounding, and not standard normal.  Integers that may
    become an index are in range of every extent of the function; other integers are 1 to 7, nonzero divisors and valid
    shift counts.
    Raises `UnsupportedError` for a parameter without a possible argument.
    """

    func: FuncOp
    seed: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    default_size: int = DEFAULT_SIZE
    is_whole: bool = False

    def arguments(self) -> dict[str, Any]:
        """An array or a number for each parameter, by name, in order."""
        rng = np.random.default_rng(self.seed)
        views = {op.source: op for op in self.func.body.block.ops if isinstance(op, MatchBufferOp)}
        limit = min((e for e in self._extents() if e > 0), default=self.default_size)
        result: dict[str, Any] = {}
        for name, value in self.func.params:
            view = views.get(value)
            buffer = value if view is None else view.buffer
            if isinstance(buffer.type, MemRefType):
                shape = self._shape(buffer.type) if view is None else [self._number(d) for d in view.mixed_shape]
                bounds = (0, limit) if _feeds_an_index(buffer) else (1, 8)
                array = self._fill(rng, shape, dtype_of(buffer.type.element_type), bounds)
                result[name] = self._with_strides(array, buffer.type, view)
            elif isinstance(value.type, HandleType):
                raise UnsupportedError(f"{self.func.sym_name.data}: cannot make up a pointer for parameter {name}")
            else:
                dtype = dtype_of(value.type)
                number = self._floats(rng, []) if dtype.is_float else self.size(name)
                result[name] = numpy_dtype(dtype).type(number)
        return result

    @property
    def size_names(self) -> list[str]:
        """The names of the symbolic sizes and the integer parameters of the function."""
        parameters = [n for n, v in self.func.params if isinstance(v.type, IntegerType | IndexType)]
        return [*parameters, *(op.var_name.data for op in find_ops(self.func, SymbolOp))]

    def size(self, name: str) -> int:
        """The value of a symbolic size or an integer parameter."""
        return self.sizes.get(name, self.default_size)

    def _extents(self) -> Iterator[int]:
        for op in self.func.walk():
            if isinstance(op, BufferOp):
                yield from (self._number(d) for d in op.mixed_shape)
        for _, value in self.func.params:
            if isinstance(value.type, MemRefType):
                yield from self._shape(value.type)

    def _shape(self, type: MemRefType[Attribute]) -> list[int]:
        return [self.default_size if d == DYNAMIC else d for d in type.get_shape()]

    def _with_strides(
        self, array: np.ndarray[Any, Any], type: MemRefType[Attribute], view: MatchBufferOp | None
    ) -> Any:
        """A copy of `array` with the strides that the type requires."""
        strides = type.get_strides()
        if strides is None or (view is not None and view.mixed_strides is None):
            return array
        compact = [prod(array.shape[i + 1 :]) for i in range(array.ndim)]
        return strided_copy(array, [c if s is None else s for c, s in zip(compact, strides, strict=True)])

    def _fill(
        self, rng: np.random.Generator, shape: list[int], dtype: DType, bounds: tuple[int, int]
    ) -> np.ndarray[Any, Any]:
        if dtype.is_float:
            return np.asarray(self._floats(rng, shape)).astype(numpy_dtype(dtype))
        low, high = (0, 2) if dtype.is_bool else bounds
        return rng.integers(low, high, shape).astype(numpy_dtype(dtype))

    def _floats(self, rng: np.random.Generator, shape: list[int]) -> Any:
        return rng.integers(-4, 5, shape).astype(float) if self.is_whole else rng.standard_normal(shape)

    def _number(self, value: Mixed) -> int:
        """The value of a size: known, given, default, or computed from known sizes."""
        number = SizeValues(self.func, self.size).of(value)
        return self.default_size if number is None else number


def strided_copy(array: np.ndarray[Any, Any], strides: Sequence[int]) -> np.ndarray[Any, Any]:
    """A copy of `array` in its own memory with the given strides, in elements and nonnegative."""
    length = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True)) if array.size else 0
    memory = np.zeros(length, array.dtype)
    copy = strided_view(memory, array.shape, [s * array.itemsize for s in strides])
    copy[...] = array
    return copy


def _feeds_an_index(buffer: SSAValue) -> bool:
    """Whether a value loaded from `buffer` may become an index, a bound, or a part of an index or bound."""
    pending: list[SSAValue] = [use.operation.result for use in buffer.uses if isinstance(use.operation, LoadOp)]
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op = use.operation
            if isinstance(op, StoreOp):
                if op.value is not value:
                    return True
            elif isinstance(op, LoadOp | BlockOp | AccessOp | ForOp | BufferOp):
                return True
            elif op.results:
                pending.extend(op.results)
    return False
