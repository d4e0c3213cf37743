"""What `tvm.relay.ir_pass` had until v0.5, and `tvm.relay.analysis` has now."""

from __future__ import annotations

from ...relay.analysis import free_vars

__all__ = ["free_vars"]
