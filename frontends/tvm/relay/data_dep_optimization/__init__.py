"""The module `tvm.relay.data_dep_optimization`: rewrites of graphs by the values of their parameters."""

from __future__ import annotations

from ...absent import report_absent
from . import bsr_conv2d, bsr_dense, simplify_fc_transpose

__getattr__ = report_absent("tvm.relay.data_dep_optimization")

__all__ = ["bsr_conv2d", "bsr_dense", "simplify_fc_transpose"]
