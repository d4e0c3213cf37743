"""Operators outside of primitive functions are an error of the passes that lower graphs: none drops them."""

import pytest

from stepwell import UnsupportedError, apply_passes, parse_mlir

GRAPH = """\
relay.func @main("x" %x: tensor<4xf32>) {
  %0 = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.nn.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %1 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("name", ["convert-relay-to-te", "convert-relay-to-tir"])
def test_operators_outside_of_primitive_functions_are_an_error(name: str) -> None:
    message = r"p:2:3: error: relay\.exp, relay\.nn\.relu outside of primitive functions: relay-fuse-operators"
    with pytest.raises(UnsupportedError, match=message):
        apply_passes(parse_mlir(GRAPH, filename="p"), name)
