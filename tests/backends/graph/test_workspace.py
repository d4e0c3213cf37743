"""Tensors that share memory."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import ArgumentError, DeviceError, Module, nd, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.core.errors import SizeError
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


def softmaxes(extent: int, count: int = 2) -> Module:
    """A graph whose `count` tensors of `extent` floats are all read at its end."""
    x = relay.var("x", shape=(extent,))
    tensors = [relay.nn.softmax(x * relay.const(float(n))) for n in range(count)]
    return relay.module(relay.Function([x], relay.sum(relay.nn.softmax(sum(tensors[1:], tensors[0])))))


def test_offsets_of_tensors_beyond_two_gibibytes_are_exact() -> None:
    executable = build_graph(softmaxes(2**29), opt_level=0)
    assert executable.workspace >= 2**32
    assert any((offset or 0) >= 2**31 for _, offset in executable.tensors)


def test_tensors_that_no_memory_holds_are_errors() -> None:
    x = np.broadcast_to(np.float32(0), (2**56,))
    with pytest.raises(DeviceError, match=r"workspace: out of memory of cpu: \d+ bytes asked for"):
        GraphExecutor(build_graph(softmaxes(2**56), opt_level=0)).run(x=x)
    with pytest.raises(SizeError, match=r"tensors of main, in bytes: a size of \d+, expected at most \d+"):
        build_graph(softmaxes(2**60, 4), opt_level=0)


def test_inputs_and_outputs_that_no_memory_holds_are_errors() -> None:
    x = relay.var("x", shape=("n",))
    executor = GraphExecutor(build_graph(relay.module(relay.Function([x], x + x))))
    with pytest.raises(DeviceError, match="x: out of memory of cpu: 4611686018427387904 bytes asked for"):
        executor.run(x=np.broadcast_to(np.float32(0), (2**60,)))
    y = relay.var("y", shape=(8,))
    executor = GraphExecutor(build_graph(relay.module(relay.Function([y], relay.tile(y, [2**55])))))
    with pytest.raises(DeviceError, match="output0: out of memory of cpu: 1152921504606846976 bytes asked for"):
        executor.run(y=np.zeros(8, "float32"))


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**62,)])
def test_arrays_of_more_bytes_than_int64_counts_are_errors(shape: tuple[int, ...]) -> None:
    with pytest.raises(SizeError, match="of 4 bytes an element, expected at most 9223372036854775807 bytes"):
        nd.empty(shape)
    with pytest.raises(ArgumentError, match="expected at most 64 extents from 0 on"):
        nd.empty((1,) * 70)
