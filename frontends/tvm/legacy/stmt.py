"""The module `tvm.stmt` until v0.6: statements."""

from ..absent import report_absent
from ..tir import Evaluate, For, IfThenElse, LetStmt, Stmt

__getattr__ = report_absent("tvm.stmt")

__all__ = ["Evaluate", "For", "IfThenElse", "LetStmt", "Stmt"]
