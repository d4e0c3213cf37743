"""The module `tvm.relay.qnn`: operators on quantized integers, and passes on them."""

from __future__ import annotations

from ....relay.qnn import *  # noqa: F403
from ...absent import report_absent
from . import op as op  # as in TVM a package, which replaces the module of the same name
from . import transform

__getattr__ = report_absent("tvm.relay.qnn")

__all__ = ["op", "transform"]
__all__ += [name for name in op.__all__ if name != "legalizations"]
