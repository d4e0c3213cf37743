"""Iterator maps: bindings of axes as digits of loops, and their inverses.

    domain = iteration_domain(analyzer, loops, predicate)
    mapping = detect(analyzer, domain, bindings)      # vi = i_0*4 + i_1, or the reason why it has no such form
    invert(analyzer, mapping, values)                 # i_0 = vi//4, i_1 = vi%4
    divide(analyzer, mapping, inner_loop_variables)   # outer i_0, inner i_1 of 4
    why_not_bijective(analyzer, domain, bindings, box)

A loop variable counts from its `low` in steps; a digit of it is `number // lower % extent`. Bindings that are sums of
digits in a mixed radix (each digit's factor is at least the range of the lower digits) are invertible. Where this form
does not decide a property, isl does.
"""

from .detect import detect
from .domains import iteration_domain, iteration_variable, predicate_constraints
from .inverse import Division, divide_bindings, invert, make_factors_positive, split_constraints
from .questions import BindingBox, box_of_values, why_not_bijective, why_not_injective, why_not_onto
from .terms import DigitSource, Domain, DomainVar, Fused, IterMap, IterSplit, IterSum, assume_nonempty, lin_text

__all__ = [
    "BindingBox",
    "DigitSource",
    "Division",
    "Domain",
    "DomainVar",
    "Fused",
    "IterMap",
    "IterSplit",
    "IterSum",
    "assume_nonempty",
    "box_of_values",
    "detect",
    "divide_bindings",
    "invert",
    "iteration_domain",
    "iteration_variable",
    "lin_text",
    "make_factors_positive",
    "predicate_constraints",
    "split_constraints",
    "why_not_bijective",
    "why_not_injective",
    "why_not_onto",
]
