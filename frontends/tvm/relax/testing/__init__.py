"""Helpers of tests and courses: `tvm.relax.testing`."""

from __future__ import annotations

from ...absent import report_absent
from . import ast_printer, nn, relay_translator, vm
from .ast_printer import dump_ast
from .matmul import get_relax_matmul_module
from .nn import *  # noqa: F403
from .relay_translator import from_relay

__getattr__ = report_absent("tvm.relax.testing")

__all__ = ["ast_printer", "dump_ast", "from_relay", "get_relax_matmul_module", "nn", "relay_translator", "vm"]
__all__ += nn.__all__
