"""Expressions of graphs: `tvm.relay.expr`."""

from __future__ import annotations

from ...relay.expr import *  # noqa: F403
from ...relay.functor import bind as bind
from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.expr")
