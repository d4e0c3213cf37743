"""Folding of scales into the weights of each kind of product, checked on numbers."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import Module, apply_passes
from stepwell.backends.interpreter import interpret
from stepwell.operators.relay import FuncOp, RelayBuilder, ReturnOp, tensor_type

CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "a matrix": ("nn.matmul", (2, 3), (3, 4), (4,), {}),
    "a transpose": ("nn.matmul", (2, 3), (4, 3), (1, 4), {"transpose_b": True}),
    "rows": ("nn.dense", (5, 2, 3), (4, 3), (4,), {}),
    "groups": ("nn.conv1d", (2, 4, 6), (6, 2, 3), (6, 1), {"groups": 2}),
    "a layout": ("nn.conv2d", (1, 4, 5, 3), (2, 2, 3, 4), (4,), {"data_layout": "NHWC", "kernel_layout": "HWIO"}),
    "a volume": ("nn.conv3d", (1, 2, 3, 3, 3), (3, 2, 2, 2, 2), (3, 1, 1, 1), {"padding": 1}),
    "the other way": ("nn.conv2d_transpose", (1, 2, 4, 4), (2, 3, 3, 3), (3, 1, 1), {"strides": 2}),
}


def numbers(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(len(shape)).random(shape, "float32") + 0.5


def graph(
    name: str, x: tuple[int, ...], w: tuple[int, ...], s: tuple[int, ...], said: dict[str, Any], at: str
) -> Module:
    func = FuncOp("main", [("x", tensor_type(x, "float32"))])
    module = Module(ModuleOp([func]))
    build = RelayBuilder(func.body.block, module.constants)
    value: Any = func.params[0][1]
    weight, factors = build.constant(numbers(w), "w"), build.constant(numbers(s), "s")
    if at == "front":
        value = build.operator("multiply", value, factors)
    value = build.operator(name, value, weight, **said)
    if at == "behind":
        value = build.operator("multiply", factors, build.operator("nn.relu", value))
    build.insert(ReturnOp([value]))
    module.verify()
    return module


def check(module: Module, x: tuple[int, ...]) -> None:
    after = apply_passes(module, "relay-fold-scale-axis,relay-fold-constants")
    after.verify()
    assert "relay.multiply" not in str(after)
    assert len(after.constants) == 1
    np.testing.assert_allclose(interpret(after, "main", [numbers(x)]), interpret(module, "main", [numbers(x)]), 1e-5)


@pytest.mark.parametrize("case", CASES)
def test_factors_after_a_product_go_into_its_weights(case: str) -> None:
    name, x, w, s, said = CASES[case]
    check(graph(name, x, w, s, said, "behind"), x)


FRONT: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "a matrix": ("nn.matmul", (3, 2), (3, 4), (3, 1), {"transpose_a": True}),
    "rows": ("nn.dense", (5, 2, 3), (4, 3), (3,), {}),
    "an image": ("nn.conv2d", (1, 2, 4, 4), (3, 2, 3, 3), (1, 2, 1, 1), {"padding": 1}),
    "the other way": ("nn.conv2d_transpose", (1, 2, 4, 4), (2, 3, 3, 3), (2, 1, 1), {"padding": 1}),
}


@pytest.mark.parametrize("case", FRONT)
def test_factors_before_a_product_go_into_its_weights(case: str) -> None:
    name, x, w, s, said = FRONT[case]
    check(graph(name, x, w, s, said, "front"), x)
