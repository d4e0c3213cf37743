"""The name of `tvm.relay.analysis` up to v0.5."""

from __future__ import annotations

from ...relay.analysis import free_vars

__all__ = ["free_vars"]
