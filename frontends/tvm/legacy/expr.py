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
    Let,
    Load,
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
    Shuffle,
    StringImm,
    Sub,
    UIntImm,
    Var,
)  # fmt: skip

__getattr__ = report_absent("tvm.expr")

Expr = PrimExpr

__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Broadcast", "Call", "Cast", "Div", "Expr", "FloatImm", "IntImm",
    "Let", "Load", "Max", "Min", "Mod", "Mul", "Not", "Or", "PrimExpr", "Ramp", "Reduce", "Select", "Shuffle",
    "StringImm", "Sub", "UIntImm", "Var",
]  # fmt: skip
