"""Relay's text, printed and read again."""

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends import relay
from stepwell.frontends.relay.parsing import RelayTextError, parse_expr, parse_functions
from stepwell.frontends.relay.text import print_expr


def network() -> relay.Function:
    x, w = relay.var("x", shape=("n", 4)), relay.var("w", shape=(3, 4))
    product = relay.nn.relu(relay.nn.dense(x, w, units=3))
    parts = relay.split(product, 3, axis=1)
    joined = relay.concatenate([parts[0], relay.const(np.ones((1, 1), "float32")) + parts[2]], axis=1)
    return relay.Function([x, w], joined)


def test_printed_text_is_read_as_the_same_expression() -> None:
    func = network()
    again = parse_expr(print_expr(func))
    assert tvm.ir.structural_equal(func, again)
    assert "concatenate((%" in print_expr(func)


def test_a_module_is_printed_and_read() -> None:
    mod = tvm.IRModule.from_expr(network())
    text = mod.astext()
    assert text.startswith('#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 4), float32], ')
    assert "/* ty=Tensor[(n, 3), float32] */" in text
    again = tvm.relay.fromtext(text)
    assert tvm.ir.structural_equal(mod["main"], again["main"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("-42i16", -42), ("2147483648", 2**31), ("--10", 10), ("3f64", 3.0), ("True", True), ("1e-1f", np.float32(0.1))],
)
def test_numbers_have_suffixes(text: str, value: float) -> None:
    assert parse_expr(text).data.item() == value


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 1 * 2 == 3", "(1 + (1 * 2)) == 3"),
        ("%0 = 1; (%0, %0)", "%3 = 1; (%3, %3)"),
        ("let %a = 1; %a /* ty */ // a comment", "let %b = 1; %b"),
        ("fn (%x: int32) { if (True) { %x } else { negative(%x) } }", "fn (%y: int32) { if (True) {%y} else {-%y} }"),
        ("free_var %x: Tensor[(?,), int8]; exp(%x)", "free_var %y: Tensor[(?,), int8]; exp(%y)"),
    ],
)
def test_texts_of_equal_expressions(text: str, same: str) -> None:
    assert tvm.ir.structural_equal(parse_expr(text), parse_expr(same), map_free_vars=True)
    assert not tvm.ir.structural_equal(parse_expr(text), parse_expr("()"))


def test_functions_of_a_module_call_each_other() -> None:
    functions = parse_functions("def @f(%x: int32) { %x + 1 }\ndef @main(%x: int32) -> int32 { @f(%x) }")
    run = tvm.relay.create_executor("graph", tvm.IRModule(functions)).evaluate()
    assert run(np.array(2, "int32")).numpy() == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add(1,\n  ?)", "line 2: unexpected text in"),
        ("add(%x, 1)", "line 1: x is not defined"),
        ("ad(1, 1)", "line 1: no operator 'ad', did you mean 'add'?"),
        ("32768i16", "line 1: number 32768i16, which its data type lacks"),
        ("meta[relay.Constant][0]", "line 1: no meta"),
        ("nn.relu(1, axis=2)", "line 1: nn.relu"),
        ("/* 1", "a comment without end"),
    ],
)
def test_errors_have_a_line(text: str, message: str) -> None:
    with pytest.raises(RelayTextError, match="^" + message.replace("[", r"\[").replace("?", r"\?")):
        parse_expr(text)


def test_expressions_are_equal_up_to_names() -> None:
    x, y, z = (relay.var(name, shape=(2,)) for name in "xyz")
    assert tvm.ir.structural_equal(x + y, y + x, map_free_vars=True)
    assert not tvm.ir.structural_equal(x + y, y + x)
    assert not tvm.ir.structural_equal(x + x, x + z, map_free_vars=True)
    assert not tvm.ir.structural_equal(relay.const([1, 2]), relay.const([1, 3]))
    assert tvm.ir.structural_hash(relay.Function([x], x)) == tvm.ir.structural_hash(relay.Function([y], y))


def test_attributes_of_functions_stay_in_a_module() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.exp(x)).with_attr("global_symbol", "f").with_attr({"Inline": 1})
    assert tvm.IRModule.from_expr(func)["main"].attrs == {"global_symbol": "f", "Inline": 1}
    assert "Inline" not in func.without_attr("Inline").attrs


def test_parameters_of_one_name_are_told_apart() -> None:
    a, b = (relay.var("x", shape=(2,)) for _ in range(2))
    run = tvm.relay.create_executor("graph").evaluate(relay.Function([a, b], relay.subtract(a, b)))
    assert run(np.array([5, 5], "float32"), np.array([1, 2], "float32")).numpy().tolist() == [4, 3]


def test_a_repeated_any_is_another_size() -> None:
    n = relay.Any()
    rows, columns = relay.TensorType([n, n]).shape
    assert rows != columns
    assert relay.TensorType([n]).shape == (rows,)
