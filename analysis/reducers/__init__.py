"""Reductions recognised: which commutative, associative operator a block accumulates with.

`match_reducer` looks at the update of a block, `C[f] = op(C[f], g)`. Floats count as associative, as TVM takes them:
what is rounded differs when an order changes, and a NaN may win or lose. Several buffers may be accumulated at once,
each for itself or as the pair of an argmax or argmin.
"""

from .matching import is_commutative_update, match_reducer
from .reducer import Accumulator, Choice, Number, Reducer, init_is_identity, why_not_identity_init

__all__ = [
    "Accumulator",
    "Choice",
    "Number",
    "Reducer",
    "init_is_identity",
    "is_commutative_update",
    "match_reducer",
    "why_not_identity_init",
]
