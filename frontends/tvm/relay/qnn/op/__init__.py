"""The module `tvm.relay.qnn.op`: operators on quantized integers."""

from __future__ import annotations

from .....relay import qnn as operators
from .....relay.qnn import *  # noqa: F403
from ....absent import report_absent
from . import canonicalizations, legalizations

__getattr__ = report_absent("tvm.relay.qnn.op")

__all__ = ["canonicalizations", "legalizations"]
__all__ += [name for name in operators.__all__ if name != "op"]
