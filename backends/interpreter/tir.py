"""All functions for `tir`."""

from __future__ import annotations

from xdsl.interpreter import register_impls

from .buffers import BufferFunctions
from .calls import CallFunctions
from .control import ControlFunctions
from .functions import FunctionFunctions


@register_impls
class TirFunctions(FunctionFunctions, CallFunctions, ControlFunctions, BufferFunctions):
    """Loops, blocks and accesses of buffers. packed: what `tir.call_packed` finds; None for what is registered."""
