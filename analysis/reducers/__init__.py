"""Recognition of reductions: the commutative, associative operator of the updates of a block.

`match_reducer` analyzes the update of a block, `C[f] = op(C[f], g)`. Floats count as associative, as in TVM: rounding
differs when the order changes, and a NaN may win or lose. Several buffers may be accumulated at once, each separately
or as the pair of an argmax or argmin.
"""

from .loops import is_invariant, jointly_updated_buffers, reductions_of_loop, uses_in
from .matching import is_commutative_update, match_reducer
from .reducer import Accumulator, ArgChoice, Number, Reducer, init_is_identity, why_not_identity_init

__all__ = [
    "Accumulator",
    "ArgChoice",
    "Number",
    "Reducer",
    "init_is_identity",
    "is_commutative_update",
    "is_invariant",
    "jointly_updated_buffers",
    "match_reducer",
    "reductions_of_loop",
    "uses_in",
    "why_not_identity_init",
]
