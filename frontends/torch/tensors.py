"""Tensors of PyTorch as arrays, without copies."""

from __future__ import annotations

from typing import Any

from ...core.dtypes import numpy_dtype
from ..models.errors import ModelUnsupportedError
from ..models.types import Array
from ..models.values import require_dtype
from .library import torch

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
