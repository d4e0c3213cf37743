"""Types of graphs with refined parameters."""

import numpy as np
import pytest

from stepwell import Module, PassError, parse_mlir
from stepwell.backends.interpreter import interpret
from stepwell.operators.relay import FuncOp, shape_of, tensor_type
from stepwell.transforms.relay.infer_types import refine_parameters

TEXT = """
relay.func @main("x" %x: tensor<?x4xf32, #relay.sizes<"n">>, "y" %y: tensor<?xf32, #relay.sizes<"m">>) {
  %0 = relay.transpose(%x) : (tensor<?x4xf32, #relay.sizes<"n">>) -> tensor<4x?xf32, #relay.sizes<"n">>
  %1 = relay.concatenate(%0, %0) {axis = 1} : (tensor<4x?xf32, #relay.sizes<"n">>, tensor<4x?xf32, #relay.sizes<"n">>) -> tensor<4x?xf32, #relay.sizes<"2 * n">>
  %2 = relay.exp(%y) : (tensor<?xf32, #relay.sizes<"m">>) -> tensor<?xf32, #relay.sizes<"m">>
  relay.return %1 : tensor<4x?xf32, #relay.sizes<"2 * n">>, %2 : tensor<?xf32, #relay.sizes<"m">>
}
"""  # noqa: E501


def main_of(module: Module) -> FuncOp:
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    return func


def test_what_is_computed_of_a_refined_parameter_has_its_sizes() -> None:
    module = parse_mlir(TEXT)
    func = main_of(module)
    last = list(func.body.block.ops)[2]
    refine_parameters(func, {"x": tensor_type((3, 4), "float32")})
    module.verify()
    assert [shape_of(value) for value in func.return_values] == [(4, 6), ("m",)]
    assert func.return_values[1] is last.results[0]
    first, _ = interpret(module, "main", [np.zeros((3, 4), "float32"), np.zeros(2, "float32")])
    assert first.shape == (4, 6)


def test_what_cannot_be_computed_of_a_refined_parameter_is_refused() -> None:
    func = main_of(parse_mlir(TEXT))
    with pytest.raises(PassError, match=r"transpose: axis|concatenate"):
        refine_parameters(func, {"x": tensor_type((), "float32")})
