"""Dominators, attributes and products in patterns, and functions of what a pattern matches."""

import pytest

from stepwell import UnsupportedError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.dataflow_pattern import (
    dominates,
    is_constant,
    is_expr,
    is_op,
    is_tuple_get_item,
    is_var,
    partition,
    wildcard,
)

x, y, w, b = (relay.var(name) for name in ("x", "y", "w", "b"))
CONV_BIAS = is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())
ELEMENTWISE = wildcard().has_attr({"TOpPattern": 0})(wildcard())
DIAMOND = dominates(is_op("nn.conv2d")(wildcard(), wildcard()), ELEMENTWISE, is_op("add")(wildcard(), wildcard()))


def conv_bias(data: relay.Expr, weight: relay.Expr, bias: relay.Expr) -> relay.Expr:
    return relay.nn.bias_add(relay.nn.conv2d(data, weight), bias)


def test_a_dominator_matches_the_expressions_between_a_child_and_one_parent() -> None:
    conv = relay.nn.conv2d(x, w)
    other = relay.nn.conv2d(y, w)
    assert DIAMOND.match(relay.nn.relu(relay.exp(conv)) + relay.tanh(conv))
    assert not DIAMOND.match(relay.nn.relu(conv) + relay.tanh(other))
    assert not DIAMOND.match(relay.nn.relu(conv) + relay.tanh(x))
    assert not DIAMOND.match((conv + conv) + relay.tanh(conv))
    assert not DIAMOND.match(relay.nn.relu(conv) - relay.tanh(conv))


@pytest.mark.parametrize("expr", [x * y / w, x * (y / w), y * x / w, (y / w) * x])
def test_a_product_and_a_quotient_match_in_any_grouping(expr: relay.Expr) -> None:
    for pattern in (is_var("x") * is_var("y") / is_var("w"), is_var("x") * (is_var("y") / is_var("w"))):
        assert pattern.match(expr)
        assert not pattern.match(x * w / y)


def test_constants_of_the_same_value_are_the_same_expression() -> None:
    assert is_expr(relay.const(1.0)).match(relay.const(1.0))
    assert not is_expr(relay.const(1.0)).match(relay.const(1))


def test_attributes_of_functions_are_matched_and_compared() -> None:
    func = relay.Function([x], relay.exp(x))
    marked = func.with_attr("Composite", "exp")
    pattern = wildcard().has_attr({"Composite": "exp"})
    assert pattern.match(marked)
    assert not pattern.match(func)
    assert not tvm.ir.structural_equal(marked, func)
    assert not tvm.ir.structural_equal(marked, func.with_attr("Composite", "log"))
    call = relay.Call(func, [x], attrs=tvm.ir.make_node("DictAttrs", place=3))
    assert wildcard()(wildcard()).has_attr({"place": 3}).match(call)
    with pytest.raises(UnsupportedError, match=r"make_node: 'attrs.Other', expected 'DictAttrs'"):
        tvm.ir.make_node("attrs.Other")


def function(params: list[relay.Var], body: relay.Expr, names: str) -> relay.Function:
    return relay.Function(params, body).with_attr("PartitionedFromPattern", names)


def test_each_match_becomes_a_function_with_the_arguments_in_the_order_of_computation() -> None:
    names = "nn.conv2d_nn.bias_add_"
    inner, outer = (function(own, conv_bias(*own), names) for own in ([relay.var(n) for n in "pqr"] for _ in range(2)))
    got = CONV_BIAS.partition(conv_bias(relay.exp(conv_bias(x, w, b)), y, b))
    assert tvm.ir.structural_equal(got, outer(relay.exp(inner(x, w, b)), y, b))
    again = partition(CONV_BIAS, got, {"Composite": "again"})
    assert tvm.ir.structural_equal(again, got)  # functions of a partition stay whole


def test_constants_of_their_own_pattern_become_part_of_the_function() -> None:
    one = relay.const(1.0)
    expr = relay.exp(x * one)
    own = is_op("exp")(is_op("multiply")(wildcard(), is_constant())).partition(expr)
    assert tvm.ir.structural_equal(own, function([y], relay.exp(y * one), "multiply_exp_")(x))
    lifted = is_op("exp")(is_op("multiply")(wildcard(), wildcard())).partition(expr)
    assert tvm.ir.structural_equal(lifted, function([y, w], relay.exp(y * w), "multiply_exp_")(x, one))


def test_a_match_whose_inner_results_are_needed_elsewhere_stays() -> None:
    pattern = is_op("exp")(is_op("negative")(wildcard()))
    shared = relay.negative(x)
    expr = relay.exp(shared) + shared
    assert pattern.partition(expr) is expr
    assert pattern.partition(relay.exp(relay.negative(x)), check=lambda found: False).op.name == "exp"


def test_an_inner_result_may_be_needed_for_an_argument_of_the_match() -> None:
    inner = x + y
    expr = inner * relay.sigmoid(inner)
    got = ((wildcard() + wildcard()) * wildcard()).partition(expr)
    params = [relay.var(name) for name in "pqr"]
    expected = function(params, (params[0] + params[1]) * params[2], "add_multiply_")
    assert tvm.ir.structural_equal(got, expected(x, y, relay.sigmoid(inner)))


def test_fields_of_tuples_and_dominated_expressions_have_names() -> None:
    field = is_tuple_get_item(is_op("split")(wildcard()), 1).partition(relay.split(x, 2)[1])
    assert field.op.attrs == {"PartitionedFromPattern": "split_TupleGetItem1_"}
    conv = relay.nn.conv2d(x, w)
    diamond = DIAMOND.partition(relay.nn.relu(conv) + relay.tanh(conv))
    assert diamond.op.attrs == {"PartitionedFromPattern": "nn.conv2d_nn.relu_tanh_add_"}
    assert list(diamond.args) == [x, w]


def test_a_wildcard_may_denote_a_pattern_that_contains_it() -> None:
    rest = wildcard()
    pattern = is_op("cast")(rest | is_op("nn.dense")(wildcard(), wildcard()))
    rest.redirect_to(pattern)
    dense = relay.nn.dense(x, w)
    assert pattern.match(dense.astype("int8").astype("int16").astype("int32"))
    assert not pattern.match(relay.exp(dense).astype("int8").astype("int16"))
