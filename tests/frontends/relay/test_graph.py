"""Graphs in Python become functions of the relay dialect, with inferred types."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc

from stepwell.core.errors import OptionError, UnsupportedError
from stepwell.expressions.errors import TeError
from stepwell.frontends import relay
from stepwell.frontends.relay.graph import module_of
from stepwell.module import Module
from stepwell.operators.relay import dtype_of_tensor, shape_of
from stepwell.tools.testing.execution import interpret_graph

X = np.arange(12, dtype="float32").reshape(3, 4) - 5


def params(mod: Module, name: str = "main") -> dict[str, tuple[Any, str]]:
    """The shape and the data type of each parameter."""
    return {param: (shape_of(value), dtype_of_tensor(value)) for param, value in mod.functions[name].params}


def results(mod: Module, *inputs: np.ndarray) -> list[np.ndarray]:
    """The results of the function `main`."""
    return [np.asarray(each) for each in interpret_graph(mod, inputs)]


def run(body: Any, *inputs: np.ndarray, given: list[relay.Var] | None = None) -> list[np.ndarray]:
    """The result of a graph for arrays as the values of its variables."""
    mod = relay.module(relay.Function(relay.free_vars(body) if given is None else given, body))
    mod.verify()
    return results(mod, *inputs)


def function(body: Any) -> relay.Function:
    return relay.Function(relay.free_vars(body), body)


def x(shape: Any = (3, 4), dtype: str = "float32") -> relay.Var:
    return relay.var("x", shape=shape, dtype=dtype)


# Types


def test_a_weight_has_the_type_that_a_convolution_asks_for() -> None:
    y = relay.nn.conv2d(x((1, 8, 9, 9)), relay.var("w"), kernel_size=(3, 5), channels=16, groups=2)
    assert params(relay.module(function(y)))["w"] == ((16, 4, 3, 5), "float32")


def test_a_weight_in_another_layout_has_its_sizes_there() -> None:
    y = relay.nn.conv2d(x((1, 9, 9, 8)), relay.var("w"), kernel_size=3, channels=16, data_layout="NHWC",
                        kernel_layout="HWIO")  # fmt: skip
    assert params(relay.module(function(y)))["w"] == ((3, 3, 8, 16), "float32")


def test_a_transposed_convolution_has_the_channels_of_data_first() -> None:
    y = relay.nn.conv2d_transpose(x((1, 8, 9, 9)), relay.var("w"), kernel_size=(2, 2), channels=6)
    assert params(relay.module(function(y)))["w"] == ((8, 6, 2, 2), "float32")


def test_dense_and_its_bias_have_types() -> None:
    y = relay.nn.bias_add(relay.nn.dense(x(dtype="float16"), relay.var("w"), units=7), relay.var("b"))
    found = params(relay.module(function(y)))
    assert found == {"x": ((3, 4), "float16"), "w": ((7, 4), "float16"), "b": ((7,), "float16")}


def test_batch_norm_says_the_types_of_four_vectors() -> None:
    names = ("gamma", "beta", "mean", "var")
    y = relay.nn.batch_norm(x(), *map(relay.var, names), axis=-1)
    assert isinstance(y, relay.TupleWrapper)
    assert len(y) == 3
    found = params(relay.module(function(y[0])))
    assert found == {"x": ((3, 4), "float32"), **dict.fromkeys(names, ((4,), "float32"))}


def test_a_parameter_without_a_type_stands_where_the_function_has_it() -> None:
    w, data = relay.var("w"), x()
    mod = relay.module(relay.Function([w, data], relay.nn.dense(data, w, units=2)))
    assert list(params(mod)) == ["w", "x"]


def test_a_parameter_that_nothing_reads_stays() -> None:
    assert list(params(relay.module(relay.Function([x(), relay.var("unused", shape=(2,))], x_ := relay.const(1.0))))) \
        == ["x", "unused"]  # fmt: skip
    assert isinstance(x_, relay.Constant)


def test_sizes_that_are_not_known_have_names() -> None:
    data = relay.var("x", shape=("n", 4))
    y = relay.concatenate([data, data], 0)
    (result,) = relay.module(function(y)).functions["main"].return_values
    assert shape_of(result) == ("2 * n", 4)


def test_each_any_is_a_size_of_its_own() -> None:
    (rows, columns), _ = params(relay.module(function(relay.var("x", shape=(relay.Any(), relay.Any())))))["x"]
    assert rows != columns


# Operators on expressions


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda v: v + 1, "float32"),
        (lambda v: 1 + v, "int32"),
        (lambda v: v - 2.5, "float32"),
        (lambda v: 2 - v, "int8"),
        (lambda v: v * 3, "float64"),
        (lambda v: 3 * v, "float32"),
        (lambda v: v / 4, "float32"),
        (lambda v: 4 / (v * v + 1), "float32"),
        (lambda v: -v, "int32"),
        (lambda v: v < 0, "float32"),
        (lambda v: v <= v, "float32"),
        (lambda v: v > 1, "int32"),
        (lambda v: v >= 1, "int32"),
        (lambda v: v.astype("int32"), "float32"),
    ],
)
def test_python_operators_are_those_of_graphs(compute: Callable[[Any], Any], dtype: str) -> None:
    data = X.astype(dtype)
    (got,) = run(compute(x(dtype=dtype)), data)
    np.testing.assert_array_equal(got, compute(data))


def test_a_number_has_the_data_type_of_what_it_stands_beside() -> None:
    (result,) = relay.module(function(x(dtype="float16") + 1)).functions["main"].return_values
    assert dtype_of_tensor(result) == "float16"


def test_constants_have_the_data_types_that_relay_gives_them() -> None:
    assert relay.const(1).data.dtype == "int32"
    assert relay.const(1.5).data.dtype == "float32"
    assert relay.const([1, 2], "float16").data.dtype == "float16"
    assert relay.const(np.zeros(2)).data.dtype == "float64"


def test_an_array_stands_beside_the_module_once() -> None:
    array = np.ones((2, 2), "float32")
    weights = relay.const(array)
    mod = relay.module(relay.Function([], relay.add(weights, relay.multiply(weights, relay.const(array)))))
    assert len(mod.constants) == 1


# Tuples


def test_a_tuple_is_several_results() -> None:
    data = x()
    got = run(relay.Tuple([data + 1, relay.Tuple([data + 2, data + 3])]), X)
    assert len(got) == 3
    np.testing.assert_array_equal(got[2], X + 3)


def test_a_tuple_is_several_parameters() -> None:
    tensor = relay.TensorType((3, 4))
    pair = relay.var("p", relay.TupleType([tensor, relay.TupleType([tensor, tensor])]))
    inner = relay.TupleGetItem(pair, 1)
    body = relay.TupleGetItem(pair, 0) + relay.TupleGetItem(inner, 0) * relay.TupleGetItem(inner, 1)
    mod = relay.module(relay.Function([pair], body))
    assert list(params(mod)) == ["p.0", "p.1.0", "p.1.1"]
    (got,) = results(mod, X, X, X)
    np.testing.assert_array_equal(got, X + X * X)


def test_a_list_of_parts_is_unpacked_and_joined() -> None:
    left, right = relay.split(x(), 2, axis=1)
    (got,) = run(relay.concatenate([right, left], axis=1), X)
    np.testing.assert_array_equal(got, np.concatenate([X[:, 2:], X[:, :2]], 1))
    (same,) = run(relay.concatenate(relay.split(x(), [1, 3], axis=1).astuple(), axis=1), X)
    np.testing.assert_array_equal(same, X)


def test_parts_are_counted_from_the_end_too() -> None:
    parts = relay.split(x(), (1, 2), axis=1)
    assert len(parts) == 3
    np.testing.assert_array_equal(run(parts[-1], X)[0], X[:, 2:])
    with pytest.raises(IndexError, match="value 3 of 3"):
        parts[3]


# Let, if, functions


def test_let_is_computed_once() -> None:
    v = relay.var("v")
    body = relay.Let(v, relay.exp(x()), v + v)
    mod = relay.module(function(body))
    assert str(mod).count("relay.exp") == 1
    np.testing.assert_allclose(results(mod, X)[0], 2 * np.exp(X), 1e-6)


@pytest.mark.parametrize("which", [True, False])
def test_if_computes_one_of_two_graphs(which: bool) -> None:
    data, flag = x(), relay.var("flag", shape=(), dtype="bool")
    shared = data + 1
    body = relay.Tuple([relay.If(flag, shared * 2, relay.Let(v := relay.var("v"), shared, v - 3)), shared])
    got = run(body, np.asarray(which), X, given=[flag, data])
    np.testing.assert_array_equal(got[0], (X + 1) * 2 if which else X - 2)
    np.testing.assert_array_equal(got[1], X + 1)


def test_what_a_branch_computes_is_computed_again_outside() -> None:
    data, flag = x(), relay.var("flag", shape=(), dtype="bool")
    inner = relay.exp(data)
    body = relay.add(relay.If(flag, inner, data), inner)
    np.testing.assert_allclose(run(body, np.asarray(False), X, given=[flag, data])[0], X + np.exp(X), 1e-6)


def test_a_function_is_called() -> None:
    a, b = relay.var("a"), relay.var("b")
    f = relay.Function([a, b], relay.Tuple([a - b, a * b]))
    data = x()
    called = f(data, data + 1)
    got = run(relay.TupleGetItem(called, 0) + relay.TupleGetItem(called, 1), X)
    np.testing.assert_array_equal(got[0], -1 + X * (X + 1))


def test_a_function_sees_what_is_around_it() -> None:
    data, a = x(), relay.var("a")
    (got,) = run(relay.Function([a], a * data)(data + 1), X)
    np.testing.assert_array_equal(got, (X + 1) * X)


def test_a_function_has_a_name_by_let() -> None:
    f, a, data = relay.var("f"), relay.var("a"), x()
    (got,) = run(relay.Let(f, relay.Function([a], a + 1), f(f(data))), X)
    np.testing.assert_array_equal(got, X + 2)


def test_functions_of_a_module_are_called_by_name() -> None:
    tensor = relay.TensorType((3, 4))
    a, pair, data = relay.var("a", tensor), relay.var("p", relay.TupleType([tensor, tensor])), x()
    swap = relay.Function([pair], relay.Tuple([relay.TupleGetItem(pair, 1), relay.TupleGetItem(pair, 0)]))
    swapped = relay.GlobalVar("swap")(relay.Tuple([relay.GlobalVar("double")(data), data]))
    main = relay.Function([data], relay.TupleGetItem(swapped, 0) - relay.TupleGetItem(swapped, 1))
    mod = module_of({"main": main, "double": relay.Function([a], a * 2), "swap": swap})
    mod.verify()
    assert sorted(mod) == ["double", "main", "swap"]
    np.testing.assert_array_equal(results(mod, X)[0], -X)


def test_free_variables_are_in_the_order_of_computation() -> None:
    a, b, c, v = (relay.var(name, shape=(2,)) for name in "abcv")
    body = relay.Let(v, relay.add(b, a), relay.multiply(v, c))
    assert relay.free_vars(body) == [b, a, c]
    assert relay.free_vars(relay.Function([c, b], relay.add(c, relay.add(b, a)))) == [a]


def test_a_graph_is_as_deep_as_a_model() -> None:
    body: Any = x()
    for n in range(5_000):
        body = relay.nn.relu(body) if n % 2 else body + 1
    chain: Any = body
    for n in range(1_000):
        chain = relay.Let(relay.var(f"v{n}"), relay.const(1.0), chain)
    assert [v.name_hint for v in relay.free_vars(chain)] == ["x"]
    mod = relay.module(function(chain))
    mod.verify()
    assert str(mod).count("relay.nn.relu") == 2_500
    (got,) = results(mod, X)
    assert np.isfinite(got).all()
    assert "relu" in repr(body)


# Errors


def test_an_error_is_at_the_line_of_the_operator() -> None:
    wrong: Any = relay.add(x(), relay.var("y", shape=(5,)))
    assert isinstance(wrong.location, FileLineColLoc)
    line = wrong.location.line.data
    with pytest.raises(TeError, match=rf"test_graph.py:{line}: error: add: "):
        relay.module(function(relay.exp(wrong)))


def pair_of(first: Any, second: Any) -> Any:
    return relay.If(relay.var("flag", shape=(), dtype="bool"), first, second)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relay.module(relay.Function([], x() + 1)), "function @main: variable x: it is no parameter"),
        (lambda: relay.module(relay.Function([v := relay.var("v")], v)), "variable v: its type is not known here"),
        (lambda: relay.module(relay.Function([relay.var("v")], x_free())), "the types of v are not said by anything"),
        (lambda: relay.module(relay.Function([relay.Constant(X)], X)), "expected a variable"),  # pyright: ignore[reportArgumentType]
        (lambda: relay.Function([v := x(), v], v), "parameters %x, %x, one of them twice"),
        (lambda: relay.var("v", relay.TensorType(()), shape=(1,)), "variable v: a type and a shape, expected one"),
        (lambda: relay.var("v", shape=(-1,)), "size -1, expected a number from 0 on, a name or an expression"),
        (lambda: relay.var("v", shape=(1,), dtype="float33"), "float33"),
        (lambda: relay.module(function(pair_of(x(), x().astype("int32")))), "branches of types"),
        (lambda: relay.module(function(relay.TupleGetItem(relay.split(x(), 3).astuple(), 3))), "value 3 of 3"),
        (lambda: module_of({"main": relay.Function([v := x()], relay.GlobalVar("main")(v))}), "@main calls itself"),
        (lambda: module_of({"main": relay.Function([v := x()], relay.GlobalVar("f")(v))}), "@f is called, there"),
        (
            lambda: module_of(
                {"main": relay.Function([v := x()], relay.GlobalVar("f")(v)), "f": relay.Function([w := x((1,))], w)}
            ),
            "call of @f with .*expected tensor<1xf32>",
        ),
        (
            lambda: relay.module(function(relay.Function([relay.var("a")], relay.const(1))(x(), x()))),
            "2 arguments, expected 1",
        ),
        (lambda: relay.exp(x())(x()), "Call is called, expected a function"),
        (lambda: relay.add(x(), "y"), "'y', expected an expression"),
        (lambda: relay.module(function(relay.exp(relay.Tuple([x(), x()])))), "2 operands, expected 1"),
        (lambda: relay.If(x(), None, x()), "None, expected an expression"),  # pyright: ignore[reportArgumentType]
        (
            lambda: relay.module(relay.Function([v := x()], relay.If(relay.Tuple([v, v]), v, v))),
            "a condition of several",
        ),
        (lambda: relay.module(relay.Function([v := x()], relay.Tuple([relay.Function([], v)]))), "no operation"),
    ],
)
def test_what_means_nothing_is_an_error(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((OptionError, TeError, UnsupportedError), match=message):
        make()


def x_free() -> Any:
    return relay.const(1.0)


def test_an_inner_function_says_the_type_of_an_untyped_argument() -> None:
    p, w = relay.var("p", shape=(2, 4)), relay.var("w")
    product = relay.Function([p, w], relay.nn.dense(p, w, units=3))
    x, weight = relay.var("x", shape=(2, 4)), relay.var("weight")
    call = relay.FunctionCall(product, [x, weight])
    mod = relay.module(relay.Function([x, weight], relay.FunctionCall(product, [x, weight]) + call))
    (func,) = mod.function_ops.values()
    assert [str(type) for type in func.body.block.arg_types] == ["tensor<2x4xf32>", "tensor<3x4xf32>"]
    typed = relay.Function([p, v := relay.var("v", shape=(3, 4))], relay.nn.dense(p, v))
    other = relay.module(relay.Function([x, weight], relay.FunctionCall(typed, [x, weight])))
    assert str(next(iter(other.function_ops.values())).body.block.arg_types[1]) == "tensor<3x4xf32>"
