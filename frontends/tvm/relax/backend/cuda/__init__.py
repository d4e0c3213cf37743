"""Patterns of NVIDIA's libraries, and the passes for GPUs by phase."""

from __future__ import annotations

from ....absent import report_absent
from .. import phases
from ..phases import *  # noqa: F403
from . import cublas, cudnn

__getattr__ = report_absent("tvm.relax.backend.cuda")

__all__ = ["cublas", "cudnn"]
__all__ += phases.__all__
