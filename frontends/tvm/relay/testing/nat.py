"""The module `tvm.relay.testing.nat`: natural numbers as values of the data type of `nat.rly`."""

from __future__ import annotations

from typing import Any

from ..interpreter import ConstructorValue
from ..prelude import Prelude


def add_nat_definitions(prelude: Prelude) -> None:
    """Adds the data type and the functions of `nat.rly` to the module of a prelude, as in v0.6."""
    prelude.mod.import_from_std("nat.rly")


def count(prelude: Prelude, n: ConstructorValue) -> int:
    """The number of a value."""
    successor = prelude.mod.get_type("nat")[2]
    number = 0
    while n.tag == successor.tag:
        number, n = number + 1, n.fields[0]
    return number


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """The value of a number."""
    _, zero, successor = prelude.mod.get_type("nat")
    value = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        value = ConstructorValue(successor.tag, [value], successor)
    return value


def make_nat_expr(prelude: Prelude, n: int) -> Any:
    """The expression of a number."""
    _, zero, successor = prelude.mod.get_type("nat")
    expr = zero()
    for _ in range(n):
        expr = successor(expr)
    return expr


__all__ = ["add_nat_definitions", "count", "make_nat_expr", "make_nat_value"]
