"""Tensors of PyTorch as arrays, without copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ...core.dtypes import numpy_dtype
from ..models.errors import ModelUnsupportedError
from ..models.types import Array
from ..models.values import require_dtype
from .library import torch

_T = TypeVar("_T")
_CARRIERS = {1: torch.uint8, 2: torch.int16}
"""The integer type in which numpy receives a data type that numpy itself lacks, by the bytes of an element."""


def dtype_name(dtype: Any) -> str:
    """The name of a data type of PyTorch. Raises ModelUnsupportedError for a data type unsupported by Stepwell."""
    return require_dtype(str(dtype).removeprefix("torch."))


def torch_dtype(name: str) -> Any:
    """The data type of PyTorch with a name."""
    return getattr(torch, name)


def array_of_tensor(tensor: Any) -> Array:
    """The elements of a tensor as an array: a view for a tensor on the processor, a copy for another.

    Raises ModelUnsupportedError for a sparse or quantized tensor and for an unsupported data type.
    """
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise ModelUnsupportedError(f"a tensor of layout {tensor.layout}, {tensor.dtype}, which is not supported")
    dtype = dtype_name(tensor.dtype)
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if dtype == "bfloat16" or dtype.startswith("float8"):
        return plain.view(_CARRIERS[plain.element_size()]).numpy().view(numpy_dtype(dtype))
    return plain.numpy()


def call_with_tensors(
    function: Callable[[Sequence[Array], Callable[[Any, tuple[int, ...]], Array]], _T], tensors: Iterable[Any]
) -> tuple[list[Any], _T]:
    """The outputs of a compiled graph as new tensors, and the result of its function, a `GraphFunction`.

    tensors: the inputs, which are read in place; one that is not contiguous is copied. Errors as of the function and
    `array_of_tensor`.
    """
    outputs: list[Any] = []

    def allocate(spec: Any, shape: tuple[int, ...]) -> Array:
        outputs.append(torch.empty(shape, dtype=torch_dtype(spec.dtype)))
        return array_of_tensor(outputs[-1])

    result = function([array_of_tensor(tensor.contiguous()) for tensor in tensors], allocate)
    return outputs, result
