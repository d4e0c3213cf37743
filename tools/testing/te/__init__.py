"""Tensor expressions that TVM 0.27 and we must agree on.

A case says its tensors with the functions of a namespace that it is given, and what numpy makes of the inputs. This
package needs nothing but numpy, so that the Python of another compiler can import it too.
"""

from . import elementwise, indexing, naming, operators, reductions, shapes, tensors
from .case import Case

TOPICS = (elementwise, reductions, indexing, operators, shapes, naming, tensors)

CASES: tuple[Case, ...] = tuple(case for topic in TOPICS for case in topic.TABLE.cases)

__all__ = ["CASES", "Case"]
