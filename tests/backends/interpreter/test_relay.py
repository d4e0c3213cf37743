"""Graphs in xDSL's interpreter."""

from typing import Any

import numpy as np
import pytest

from stepwell import apply_passes, parse_mlir
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import ArgumentError

N = 'tensor<?x4xf32, #relay.sizes<"n">>'
TEXT = f"""
relay.func primitive @k("p0" %p0: {N}) {{
  %0 = relay.concatenate(%p0, %p0) : ({N}, {N}) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
  relay.return %0 : tensor<?x4xf32, #relay.sizes<"2 * n">>
}}
relay.func @main("x" %x: {N}, "y" %y: tensor<?xf32, #relay.sizes<"n + 1">>, "c" %c : tensor<i1>) {{
  %0 = relay.call @k(%x) : ({N}) -> tensor<?x4xf32, #relay.sizes<"2 * n">>
  %1, %2 = relay.if %c : tensor<i1> -> {N}, tensor<i1> {{
    relay.yield %x : {N}, %c : tensor<i1>
  }} else {{
    %3 = relay.negative(%x) : ({N}) -> {N}
    relay.yield %3 : {N}, %c : tensor<i1>
  }}
  relay.return %1 : {N}, %0 : tensor<?x4xf32, #relay.sizes<"2 * n">>
}}
"""
X = np.arange(8, dtype="float32").reshape(2, 4)
Y = np.zeros(3, "float32")
FUSED = "relay-fuse-operators"


@pytest.mark.parametrize(
    "passes", ["cse", FUSED, f"{FUSED},convert-relay-to-te", f"{FUSED},convert-relay-to-te,convert-te-to-tir"]
)
@pytest.mark.parametrize("condition", [True, False])
def test_branches_and_calls_are_run_at_any_landing_of_kernels(passes: str, condition: bool) -> None:
    module = apply_passes(parse_mlir(TEXT), passes)
    chosen, doubled = interpret(module, "main", [X, Y, np.asarray(condition)])
    np.testing.assert_array_equal(chosen, X if condition else -X)
    np.testing.assert_array_equal(doubled, np.concatenate([X, X]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([X, Y], r"main: expected 3 arguments \(x, y, c\), got 2"),
        ([X.T, Y, np.True_], r"main: argument x: expected extent 4 of dimension 1, got 2"),
        ([X, X, np.True_], r"main: argument y: expected float32\[n \+ 1\], got float32\[2, 4\]"),
        ([X, Y[1:], np.True_], r"main: argument y: expected extent 3 \(n \+ 1\) of dimension 0, got 2"),
        ([X.astype("float64"), Y, np.True_], r"main: argument x: expected float32\[n, 4\], got float64\[2, 4\]"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: list[Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        interpret(parse_mlir(TEXT), "main", arguments)


def test_a_number_of_a_large_unsigned_type_is_that_number() -> None:
    constant = "%0 = relay.constant 18446744073709551615 : tensor<2xui64>"
    text = f"relay.func @main() {{ {constant} relay.return %0 : tensor<2xui64> }}"
    np.testing.assert_array_equal(interpret(parse_mlir(text), "main", []), np.full(2, 2**64 - 1, "uint64"))


def test_a_size_that_happens_to_be_1_is_not_squeezed() -> None:
    types = 'tensor<?x1xf32, #relay.sizes<"n">>', 'tensor<?xf32, #relay.sizes<"n">>'
    squeeze = f"%0 = relay.squeeze(%x) : ({types[0]}) -> {types[1]}"
    text = f'relay.func @main("x" %x: {types[0]}) {{ {squeeze} relay.return %0 : {types[1]} }}'
    assert interpret(parse_mlir(text), "main", [np.zeros((1, 1), "float32")]).shape == (1,)
