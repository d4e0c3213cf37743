"""Tensor expressions: operators defined by an expression for each element, under TVM's names.

A = te.placeholder((m, k), name="A")
B = te.placeholder((k, n), name="B")
r = te.reduce_axis((0, k), name="r")
C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
func = te.create_prim_func([A, B, C])
"""

from __future__ import annotations

from ...schedule.rewriting.index_maps import AXIS_SEPARATOR
from . import names
from .apply_schedule import apply_schedule
from .names import *  # noqa: F403
from .prim_func import create_prim_func, create_te_func

__all__ = ["AXIS_SEPARATOR", "apply_schedule", "create_prim_func", "create_te_func"]
__all__ += names.__all__
