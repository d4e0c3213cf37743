"""Patterns of operators: matches, their order and their bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.ir import SSAValue

from stepwell.frontends import relay as graphs_in_python
from stepwell.operators import UnknownOperatorError
from stepwell.transforms.relay.libraries import GraphPattern, is_constant, is_op, is_var, wildcard
from stepwell.transforms.relay.libraries.patterns import operators_in

relay: Any = graphs_in_python  # its functions are created at import

X, W, B = relay.var("x", shape=("n", 8)), relay.var("w", shape=(4, 8)), relay.var("b", shape=(4,))
DENSE = is_op("nn.dense")(wildcard(), wildcard())


def value_of(expr: Any) -> SSAValue:
    mod = relay.module(relay.Function([X, W, B], expr))
    (func,) = mod.functions.values()
    return func.return_values[0]


def matched(pattern: GraphPattern, expr: Any) -> list[list[str]]:
    """The operators of each match at the result of an expression."""
    return [sorted(op.operator.name for op in operators_in(found)) for found in pattern.matches(value_of(expr))]


def test_an_operator_matches_by_name_and_operands() -> None:
    dense = relay.nn.dense(X, W)
    assert matched(DENSE, dense) == [["nn.dense"]]
    assert matched(is_op("nn.dense"), dense) == [["nn.dense"]]
    assert matched(is_op("nn.relu")(DENSE), relay.nn.relu(dense)) == [["nn.dense", "nn.relu"]]
    assert matched(is_op("nn.relu")(wildcard()), relay.nn.relu(dense)) == [["nn.relu"]]
    assert matched(DENSE, relay.nn.relu(dense)) == []
    assert matched(is_op("nn.dense")(wildcard()), dense) == []


def test_options_and_alternatives_come_in_the_order_in_which_they_are_written() -> None:
    both = DENSE.optional(lambda x: is_op("nn.bias_add")(x, wildcard())).optional(lambda x: is_op("nn.relu")(x))
    dense = relay.nn.dense(X, W)
    assert matched(both, relay.nn.relu(relay.nn.bias_add(dense, B))) == [["nn.bias_add", "nn.dense", "nn.relu"]]
    assert matched(both, relay.nn.relu(dense)) == [["nn.dense", "nn.relu"]]
    assert matched(both, dense) == [["nn.dense"]]
    either = is_op("nn.relu")(DENSE | wildcard())
    assert matched(either, relay.nn.relu(dense)) == [["nn.dense", "nn.relu"], ["nn.relu"]]
    assert matched(is_op("nn.relu")(wildcard() | DENSE), relay.nn.relu(dense)) == [["nn.relu"], ["nn.dense", "nn.relu"]]


def test_a_pattern_in_two_places_is_the_same_tensor() -> None:
    same = wildcard()
    square = is_op("multiply")(same, same)
    assert matched(square, relay.multiply(X, X)) == [["multiply"], ["multiply"]]  # in both orders
    assert matched(square, relay.multiply(X, relay.exp(X))) == []
    inner = is_op("exp")(wildcard())
    assert matched(is_op("subtract")(inner, inner), relay.subtract(relay.exp(X), relay.exp(X))) == []


def test_sums_and_products_match_in_any_order() -> None:
    pattern = is_op("add")(is_op("exp")(wildcard()), wildcard())
    assert matched(pattern, relay.add(X, relay.exp(X))) == [["add", "exp"]]
    pattern = is_op("subtract")(is_op("exp")(wildcard()), wildcard())
    assert matched(pattern, relay.subtract(X, relay.exp(X))) == []


CONDITIONS: dict[str, tuple[Callable[[GraphPattern], GraphPattern], Any, bool]] = {
    "an attribute": (lambda p: p.has_attr({"axis": -1}), relay.nn.softmax(X), True),
    "another value": (lambda p: p.has_attr({"axis": 0}), relay.nn.softmax(X), False),
    "an attribute that is not there": (lambda p: p.has_attr({"alpha": 0}), relay.nn.softmax(X), False),
    "no operator": (lambda p: p.has_attr({"axis": -1}), X, False),
    "a data type": (lambda p: p.has_dtype("float32", "float64"), X, True),
    "another data type": (lambda p: p.has_dtype("float16"), X, False),
    "a shape": (lambda p: p.has_shape(("n", 8)), X, True),
    "another shape": (lambda p: p.has_shape((1, 8)), X, False),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_hold_or_do_not(name: str) -> None:
    make, expr, expected = CONDITIONS[name]
    assert bool(list(make(wildcard()).matches(value_of(expr)))) == expected


def test_constants_and_parameters_are_told_apart() -> None:
    array = relay.const(np.ones((4, 8), "float32"))
    assert matched(is_op("nn.dense")(is_var(), is_constant()), relay.nn.dense(X, array)) == [["nn.dense"]]
    assert matched(is_op("nn.dense")(is_var(), is_constant()), relay.nn.dense(X, W)) == []
    assert matched(is_op("nn.dense")(is_var(), is_var()), relay.nn.dense(relay.exp(X), W)) == []


def test_an_unknown_operator_is_an_error() -> None:
    with pytest.raises(UnknownOperatorError, match=r"no operator 'nn\.dens', did you mean 'nn\.dense'"):
        is_op("nn.dens")
