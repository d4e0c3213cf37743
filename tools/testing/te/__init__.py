"""Tensor expressions on which TVM 0.27 and Stepwell must agree.

A case builds its tensors with the functions of a namespace argument, and has a numpy reference. This package requires
only numpy, so that the Python of another compiler can import it too.
"""

from . import elementwise, indexing, naming, operators, reductions, shapes, tensors
from .case import TensorCase

TOPICS = (elementwise, reductions, indexing, operators, shapes, naming, tensors)

CASES: tuple[TensorCase, ...] = tuple(case for topic in TOPICS for case in topic.TABLE.cases)

__all__ = ["CASES", "TensorCase"]
