"""What `tvm.relay.analysis` has."""

from __future__ import annotations

from ...relay.analysis import free_vars

__all__ = ["free_vars"]
