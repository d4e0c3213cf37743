"""All implementations of `tir`."""

from __future__ import annotations

from xdsl.interpreter import register_impls

from .buffers import BufferFunctions
from .calls import CallFunctions
from .control import ControlFunctions
from .functions import TirFunctionFunctions


@register_impls
class TirFunctions(TirFunctionFunctions, CallFunctions, ControlFunctions, BufferFunctions):
    """Loops, blocks and accesses to buffers. packed: the functions for `tir.call_packed`; None for the
    registered ones.
    """
