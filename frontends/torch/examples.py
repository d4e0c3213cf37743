"""Example inputs by shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .library import torch
from .tensors import torch_dtype

_EXTENT = 8
"""The example of a dynamic extent."""


def example_inputs(types: Sequence[tuple[Sequence[int | str], str]]) -> tuple[tuple[Any, ...], Any]:
    """Tensors of zeros, and their dynamic sizes for `torch.export.export` (None without any).

    types: the shape and the data type of each tensor; a dynamic size is a name.
    """
    shapes = [shape for shape, _ in types]
    names = dict.fromkeys(size for shape in shapes for size in shape if isinstance(size, str))
    dims = {name: torch.export.Dim(name) for name in names}
    dynamic = tuple({axis: dims[size] for axis, size in enumerate(shape) if isinstance(size, str)} for shape in shapes)
    examples = tuple(
        torch.zeros([_EXTENT if isinstance(size, str) else size for size in shape], dtype=torch_dtype(dtype))
        for shape, dtype in types
    )
    return examples, dynamic if names else None
