"""The module `tvm.relay.qnn`: operators on quantized integers, and passes on them."""

from __future__ import annotations

from ...absent import report_absent
from . import op, transform
from .op import *  # noqa: F403

__getattr__ = report_absent("tvm.relay.qnn")

__all__ = ["op", "transform"]
__all__ += [name for name in op.__all__ if name not in ("canonicalizations", "legalizations")]
