"""Observers of passes: `tvm.instrument`."""

from .ir.instrument import PassInstrument, PassTimingInstrument, PrintAfterAll, PrintBeforeAll, pass_instrument
from .ir.transform import PassInfo

__all__ = ["PassInfo", "PassInstrument", "PassTimingInstrument", "PrintAfterAll", "PrintBeforeAll", "pass_instrument"]
