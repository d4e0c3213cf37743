"""Kernels of graphs of dynamic sizes."""

import numpy as np
import pytest

from stepwell import relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.core.remarks import collect_remarks
from stepwell.dialects.tir import SymbolOp
from stepwell.module import Module
from stepwell.transforms.pipelines import lower_graph, lower_to_tir


def rows_of_products() -> tuple[Module, np.ndarray]:
    """A graph of products of all rows of a batch of matrices by a constant matrix, and this matrix."""
    weight = np.arange(16 * 48, dtype="float32").reshape(16, 48) % 7 - 3
    x = relay.var("x", shape=("b", "s", 16))
    product = relay.nn.matmul(relay.reshape(x, (-1, 16)), relay.const(weight))
    return relay.module(relay.Function([x], relay.nn.relu(product))), weight


def test_a_product_of_sizes_is_one_size_of_a_kernel() -> None:
    kernels = lower_to_tir(lower_graph(rows_of_products()[0])).function_ops
    (kernel,) = (func for name, func in kernels.items() if "matmul" in name)
    assert [op.var_name.data for op in kernel.walk() if isinstance(op, SymbolOp)] == ["b_s"]
    (reshape,) = (func for name, func in kernels.items() if "reshape" in name)
    assert len([op for op in reshape.walk() if isinstance(op, SymbolOp)]) == 2


def test_loops_over_a_product_of_sizes_are_divided() -> None:
    with collect_remarks() as remarks:
        build_graph(rows_of_products()[0], target="llvm -mcpu=x86-64-v3")
    messages = [each.message for each in remarks if each.pass_name == "tir-partition-loops"]
    assert any("is divided" in message and "b_s" in message for message in messages)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 8), (0, 4)])
def test_products_of_all_rows(shape: tuple[int, int]) -> None:
    module, weight = rows_of_products()
    x = np.arange(np.prod(shape) * 16, dtype="float32").reshape(*shape, 16) % 5 - 2
    executor = GraphExecutor(build_graph(module))
    executor.run(x=x)
    np.testing.assert_array_equal(np.asarray(executor.get_output(0)), np.maximum(x.reshape(-1, 16) @ weight, 0))
