"""The module `tvm.tir.analysis`: facts about functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import MemRefType

from ....analysis.work import function_nanoseconds
from ....core.dtypes import dtype_of
from ....core.errors import StepwellError
from ....core.walking import find_ops
from ....dialects.tir import AllocateOp, AllocBufferOp, ForOp, FuncOp, scope_of
from ....expressions.expr import Call, FloatImm, IntImm, PrimExpr, StringImm, Var
from ....module import Module
from ..ir.module import PrimFunc
from ..nodes.functor import post_order_visit
from ..nodes.stmt import For, LetStmt, Stmt
