"""Networks to try things with, as `tvm.relay.testing` has them."""

from .init import create_workload

__all__ = ["create_workload"]
