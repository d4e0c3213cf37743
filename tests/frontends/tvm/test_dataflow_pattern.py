"""Patterns of expressions, and rewrites."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.dataflow_pattern import (
    DFPattern,
    DFPatternCallback,
    has_attr,
    is_constant,
    is_expr,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)

x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
ones = relay.const(np.ones((2, 3), "float32"))
anything = wildcard()
MATCHES = {
    "a call": (is_op("nn.relu")(wildcard()), relay.nn.relu(x), True),
    "another operator": (is_op("nn.relu")(wildcard()), relay.exp(x), False),
    "any operands": (is_op("add")(None), x + y, True),
    "the same operand twice": (anything * anything, x * x, True),
    "two operands for one pattern": (anything * anything, x * y, False),
    "operands in the other order": (is_constant() + is_var("x"), x + ones, True),
    "no other order": (is_constant() - is_var("x"), x - ones, False),
    "a name": (is_var("y"), x, False),
    "alternatives": (is_var("y") | is_op("exp")(is_var("x")), relay.exp(x), True),
    "an option that is there": (is_op("exp")(wildcard()).optional(is_op("nn.relu")), relay.nn.relu(relay.exp(x)), True),
    "an option that is not": (is_op("exp")(wildcard()).optional(is_op("nn.relu")), relay.exp(x), True),
    "an expression": (is_expr(x), x, True),
    "a tuple": (is_tuple([is_var("x"), wildcard()]), relay.Tuple([x, y]), True),
    "a tuple of another size": (is_tuple([is_var("x")]), relay.Tuple([x, y]), False),
    "a field": (is_tuple_get_item(is_tuple(), 1), relay.TupleGetItem(relay.Tuple([x, y]), 1), True),
    "another field": (is_tuple_get_item(is_tuple(), 0), relay.TupleGetItem(relay.Tuple([x, y]), 1), False),
    "attributes": (has_attr({"axes": [1, 0]}), relay.transpose(x, (1, 0)), True),
    "other attributes": (is_op("transpose")(wildcard()).has_attr({"axes": [0, 1]}), relay.transpose(x, (1, 0)), False),
}


@pytest.mark.parametrize("name", MATCHES)
def test_patterns_match(name: str) -> None:
    pattern, expr, expected = MATCHES[name]
    assert pattern.match(expr) is expected


def test_types_are_those_of_a_module() -> None:
    body = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))["main"].body
    assert is_op("nn.relu")(wildcard().has_dtype("float32")).match(body)
    assert wildcard().has_shape((2, 3)).match(body)
    assert not wildcard().has_shape((3, 2)).match(body)
    assert wildcard().has_type(relay.TensorType((2, 3), "float32")).match(body)
    assert wildcard().has_dtype("float32").match(relay.exp(x))
    assert not wildcard().has_dtype("float32").match(relay.exp(relay.var("untyped")))


class NegationOfDifference(DFPatternCallback):
    """-(a - b) is b - a."""

    def __init__(self, rewrite_once: bool = False) -> None:
        super().__init__(rewrite_once=rewrite_once)
        self.a, self.b = wildcard(), wildcard()
        self.pattern = is_op("negative")(self.a - self.b)

    def callback(self, pre: relay.Expr, post: relay.Expr, node_map: Mapping[DFPattern, list[Any]]) -> relay.Expr:
        return relay.subtract(node_map[self.b][0], node_map[self.a][0])


def test_every_place_is_rewritten() -> None:
    inner = relay.negative(relay.subtract(x, y))
    func = relay.Function([x, y], relay.negative(inner - ones) * relay.exp(inner))
    mod = tvm.IRModule.from_expr(func)
    new = rewrite(NegationOfDifference(), mod["main"])
    after = tvm.IRModule.from_expr(new)
    assert "relay.negative" not in str(after)
    values = [np.arange(6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32") * 3]
    results = [relay.create_executor("graph", mod=m).evaluate()(*values).numpy() for m in (mod, after)]
    np.testing.assert_allclose(*results, rtol=1e-5)


class Endless(DFPatternCallback):
    """a - b is b - a."""

    def __init__(self, rewrite_once: bool) -> None:
        super().__init__(rewrite_once=rewrite_once)
        self.a, self.b = wildcard(), wildcard()
        self.pattern = self.a - self.b

    def callback(self, pre: relay.Expr, post: relay.Expr, node_map: Mapping[DFPattern, list[Any]]) -> relay.Expr:
        return relay.subtract(node_map[self.b][0], node_map[self.a][0])


def test_rewrites_end() -> None:
    once = rewrite(Endless(rewrite_once=True), x - y)
    assert (is_var("y") - is_var("x")).match(once)
    with pytest.raises(OptionError, match="still match after 100 rounds"):
        rewrite(Endless(rewrite_once=False), x - y)


def test_unknown_operators_are_errors() -> None:
    with pytest.raises(OptionError, match=r"no operator .nn\.no"):
        is_op("nn.no")
