"""Import of models from other frameworks: `tvm.relax.frontend`."""

from __future__ import annotations

from . import torch
from .graphs import detach_params

__all__ = ["detach_params", "torch"]
