"""Operators on tensors, each defined once: its formula as tensor expressions, its attributes, a reference in numpy, and
how it may be fused. What graphs, models and TVM's `topi` have of an operator follows from that.
"""

from . import (
    activations,
    broadcast,
    convolutions,
    einsum,
    filling,
    grids,
    image,
    indexing,
    math,
    nn,
    normalization,
    padding,
    pools,
    quantization,
    reduction,
    scans,
    sorting,
    transform,
)
from .definition import OPERATORS, Attribute, Operator, Pattern, UnknownOperatorError, operator, operator_of

__all__ = [
    "OPERATORS",
    "Attribute",
    "Operator",
    "Pattern",
    "UnknownOperatorError",
    "activations",
    "broadcast",
    "convolutions",
    "einsum",
    "filling",
    "grids",
    "image",
    "indexing",
    "math",
    "nn",
    "normalization",
    "operator",
    "operator_of",
    "padding",
    "pools",
    "quantization",
    "reduction",
    "scans",
    "sorting",
    "transform",
]
