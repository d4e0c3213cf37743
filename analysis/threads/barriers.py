"""Barriers: statements at which the threads of a block or warp wait for each other."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ...dialects.tir import CallIntrinOp, ConstOp

SYNC = "tvm_storage_sync"
"""The builtin that synchronizes the threads of a block."""


def is_barrier(op: Operation) -> bool:
    """Whether an op is a barrier of the threads of a block."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data == SYNC


def is_barrier_of_warp(op: Operation) -> bool:
    """Whether an op is a barrier of the threads of a warp only."""
    scope = op.args[0].owner if isinstance(op, CallIntrinOp) and is_barrier(op) and op.args else None
    return isinstance(scope, ConstOp) and scope.value == StringAttr("warp")
