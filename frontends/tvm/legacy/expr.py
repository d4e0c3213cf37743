"""The module `tvm.expr` until v0.6: expressions."""

from ..absent import report_absent
from ..tir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Ramp,
    Reduce,
    Select,
    StringImm,
    Sub,
    Var,
)  # fmt: skip

__getattr__ = report_absent("tvm.expr")

Expr = PrimExpr

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Broadcast", "Call", "Cast", "Div", "Expr", "FloatImm", "IntImm",
    "Max", "Min", "Mod", "Mul", "Not", "Or", "PrimExpr", "Ramp", "Reduce", "Select", "StringImm", "Sub", "Var",
]  # fmt: skip
