"""The module `tvm.relay.analysis`."""

from __future__ import annotations

from ...relay.analysis import free_vars

__all__ = ["free_vars"]
