"""Operators on tensors, each defined once: its formula as tensor expressions, its attributes, a reference in numpy, and
how it may be fused. What graphs, models and TVM's `topi` have of an operator follows from that.
"""

from . import activations, broadcast, math, nn, normalization, reduction, transform, windows
from .definition import OPERATORS, Attribute, Operator, Pattern, UnknownOperatorError, operator, operator_of

__all__ = [
    "OPERATORS",
    "Attribute",
    "Operator",
    "Pattern",
    "UnknownOperatorError",
    "activations",
    "broadcast",
    "math",
    "nn",
    "normalization",
    "operator",
    "operator_of",
    "reduction",
    "transform",
    "windows",
]
