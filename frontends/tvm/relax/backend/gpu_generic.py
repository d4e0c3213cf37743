"""The passes for GPUs by phase: `tvm.relax.backend.gpu_generic`."""

from ...absent import report_absent
from . import phases
from .phases import *  # noqa: F403

__getattr__ = report_absent("tvm.relax.backend.gpu_generic")

__all__: list[str] = []
__all__ += phases.__all__
