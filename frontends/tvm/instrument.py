"""Observers of passes: `tvm.instrument`."""

from .absent import report_absent
from .ir.instrument import PassInstrument, PassTimingInstrument, PrintAfterAll, PrintBeforeAll, pass_instrument
from .ir.transform import PassInfo

__getattr__ = report_absent("tvm.instrument")

__all__ = ["PassInfo", "PassInstrument", "PassTimingInstrument", "PrintAfterAll", "PrintBeforeAll", "pass_instrument"]
