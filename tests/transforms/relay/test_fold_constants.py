"""Constants stored as arrays of the module."""

from typing import Any

import numpy as np
import pytest

from stepwell import Module, apply_passes, parse_mlir
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import ArgumentError, PassError

TEXT = """
relay.func @main("x" %x: tensor<3xf32>) {
  %0 = relay.constant "a" : tensor<3xf32>
  %1 = relay.constant "b" : tensor<3xf32>
  %2 = relay.add(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = relay.exp(%2) : (tensor<3xf32>) -> tensor<3xf32>
  %4 = relay.multiply(%x, %3) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %5 = relay.multiply(%4, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  relay.return %5 : tensor<3xf32>
}
"""


def module(**constants: Any) -> Module:
    return Module(parse_mlir(TEXT).op, constants)


def numbers(first: float) -> Any:
    return np.arange(first, first + 3, dtype="float32")


def test_arrays_are_computed_and_those_that_are_not_read_any_more_leave() -> None:
    before = module(a=numbers(0), b=numbers(1), other=numbers(2))
    after = apply_passes(before, "relay-fold-constants")
    assert list(after.constants) == ["b", "other", "a_1"]
    np.testing.assert_array_equal(after.constants["a_1"], np.exp(numbers(0) + numbers(1)))
    assert list(before.constants) == ["a", "b", "other"]
    x = numbers(3)
    np.testing.assert_array_equal(interpret(after, "main", [x]), interpret(before, "main", [x]))


def test_an_array_whose_elements_are_all_the_same_is_a_number() -> None:
    after = apply_passes(module(a=numbers(0), b=-numbers(0)), "relay-fold-constants")
    assert "relay.constant 1.0 : tensor<3xf32>" in str(after)
    assert list(after.constants) == ["b"]


def test_what_is_not_beside_the_module_is_not_computed() -> None:
    after = apply_passes(module(b=numbers(0)), "relay-fold-constants")
    assert str(after) == str(parse_mlir(TEXT))
    with pytest.raises(ArgumentError, match=r'no array "a" stands beside the module'):
        interpret(after, "main", [numbers(0)])


def test_an_array_of_another_type_is_refused() -> None:
    broken = module(a=np.zeros(3, "float64"), b=numbers(0))
    with pytest.raises(PassError, match=r"constant 'a': an array float64\[3\], expected tensor<3xf32>"):
        apply_passes(broken, "relay-fold-constants")


def test_dead_code_takes_its_arrays_along() -> None:
    text = TEXT.replace("relay.return %5", "relay.return %x")
    before = Module(parse_mlir(text).op, {"a": numbers(0), "b": numbers(1)})
    assert apply_passes(before, "relay-eliminate-dead-code").constants == {}


def test_cse_merges_equal_constants_and_operators() -> None:
    text = TEXT.replace('"b"', '"a"').replace("relay.multiply(%4, %1)", "relay.multiply(%4, %0)")
    after = apply_passes(Module(parse_mlir(text).op, {"a": numbers(0)}), "cse")
    assert str(after).count("relay.constant") == 1


@pytest.mark.parametrize(
    ("operator", "type", "expected"),
    [
        ("relay.reshape(%0) {newshape = [6]}", "tensor<6xf32>", np.arange(6)),
        ("relay.transpose(%0)", "tensor<3x2xf32>", np.arange(6).reshape(2, 3).T),
    ],
)
def test_a_view_of_an_array_is_copied(operator: str, type: str, expected: Any) -> None:
    text = f"""
    relay.func @main() {{
      %0 = relay.constant "a" : tensor<2x3xf32>
      %1 = {operator} : (tensor<2x3xf32>) -> {type}
      relay.return %1 : {type}
    }}
    """
    array = np.arange(6, dtype="float32").reshape(2, 3)
    (folded,) = apply_passes(Module(parse_mlir(text).op, {"a": array}), "relay-fold-constants").constants.values()
    np.testing.assert_array_equal(folded, expected)
    assert folded.flags.c_contiguous
    assert not np.may_share_memory(folded, array)
