"""The module `tvm.relay.qnn.op.legalizations`: functions of arrays that quantized operators approximate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....absent import report_absent

__getattr__ = report_absent("tvm.relay.qnn.op.legalizations")


def hardswish_func(x: Any) -> Any:
    """The hard Swish function `x * min(max(x + 3, 0), 6) / 6` of each element of an array."""
    return x * np.clip(x + 3.0, 0.0, 6.0) / 6.0


__all__ = ["hardswish_func"]
