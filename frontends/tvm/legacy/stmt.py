"""The module `tvm.stmt` until v0.6: statements."""

from ..tir import Evaluate, For, IfThenElse, LetStmt, Stmt

__all__ = ["Evaluate", "For", "IfThenElse", "LetStmt", "Stmt"]
