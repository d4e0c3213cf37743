"""Operators on quantized integers: `relay.qnn.quantize`, and `relay.qnn.op.quantize` as in Relay."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .operators import functions_in

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The function that builds expressions of the operator `name`."""
else:
    globals().update(functions_in("qnn."))


op = sys.modules[__name__]
