"""Tensors that share memory."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from stepwell import Module
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.operators.relay import FuncOp, RelayBuilder, ReturnOp, tensor_type


def test_tensors_of_bytes_go_from_kernel_to_kernel() -> None:
    func = FuncOp("main", [("x", tensor_type((4, 3), "int8"))])
    builder = RelayBuilder(func.body.block)
    value = func.body.block.args[0]
    for axis in (0, 1, 0):
        value = builder.operator("sort", value, axis=axis)
    builder.insert(ReturnOp([value]))
    executor = GraphExecutor(build_graph(Module(ModuleOp([func]))))
    x = np.random.default_rng(0).integers(-9, 9, (4, 3)).astype("int8")
    executor.run(x=x)
    np.testing.assert_array_equal(executor.get_output(0), np.sort(np.sort(np.sort(x, 0), 1), 0))
