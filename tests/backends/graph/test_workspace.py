"""Tensors that share memory."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import ArgumentError, DeviceError, Module, nd, relay
from stepwell.backends.graph import GraphExecutor, Workspace, build_graph
from stepwell.backends.graph.steps import Step
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


def test_reshaped_tensors_are_views() -> None:
    x = relay.var("x", shape=(4, 6))
    y = relay.reshape(relay.nn.softmax(x), (1, 24))
    z = relay.reshape(relay.squeeze(relay.nn.softmax(y), [0]), (2, 12))
    executable = build_graph(relay.module(relay.Function([x], relay.Tuple([relay.nn.softmax(z), y]))))
    kernels = ["fused_nn_softmax", "fused_reshape", "fused_nn_softmax_1", "fused_nn_softmax_2"]
    assert [step.kernel for step in executable.steps if isinstance(step, Step)] == kernels
    assert not [name for name in executable.program.functions if "squeeze" in name]
    executor, argument = GraphExecutor(executable), np.random.default_rng(0).normal(size=(4, 6)).astype("float32")
    executor.run(x=argument)
    rows = softmax(argument).reshape(1, 24)
    np.testing.assert_allclose(executor.get_output(1), rows, rtol=1e-6)
    np.testing.assert_allclose(executor.get_output(0), softmax(softmax(rows).reshape(2, 12)), rtol=1e-6)


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


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


# Shared by executors


def test_executors_share_a_workspace_of_the_largest_size() -> None:
    shared = Workspace()
    extents = [64, 4096, 256]
    executors = [GraphExecutor(build_graph(softmaxes(extent), opt_level=0), workspace=shared) for extent in extents]
    assert shared.size == max(executor.executable.workspace for executor in executors) > 0
    inputs = [np.random.default_rng(0).normal(size=extent).astype("float32") for extent in extents]
    for _ in range(2):
        for executor, x in zip(executors, inputs, strict=True):
            executor.run(x=x)
    for executor, x in zip(executors, inputs, strict=True):
        alone = GraphExecutor(executor.executable)
        alone.run(x=x)
        np.testing.assert_array_equal(executor.get_output(0), alone.get_output(0))
        assert [time.kernel for time in executor.profile(1)] == [time.kernel for time in alone.profile(1)]


def test_a_workspace_that_grows_after_a_run_is_used_by_the_next_run() -> None:
    shared = Workspace()
    small = GraphExecutor(build_graph(softmaxes(8), opt_level=0), workspace=shared)
    x = np.arange(8, dtype="float32")
    small.run(x=x)
    expected = np.array(small.get_output(0))
    before = shared.part(0, (shared.size,), "uint8").layout
    large = GraphExecutor(build_graph(softmaxes(512), opt_level=0), workspace=shared)
    assert shared.size > before.size
    before[:] = 255
    small.run()
    np.testing.assert_array_equal(small.get_output(0), expected)
    assert (before == 255).all()
    del large


def test_threads_take_turns_in_a_workspace() -> None:
    shared = Workspace()
    executors = [GraphExecutor(build_graph(softmaxes(2048 + n), opt_level=0), workspace=shared) for n in range(3)]
    inputs = [np.random.default_rng(n).normal(size=2048 + n).astype("float32") for n in range(3)]
    expected: list[np.ndarray] = []
    for executor, x in zip(executors, inputs, strict=True):
        executor.run(x=x)
        expected.append(np.array(executor.get_output(0)))

    def work(n: int) -> list[np.ndarray]:
        results: list[np.ndarray] = []
        for _ in range(50):
            executors[n].run()
            results.append(np.array(executors[n].get_output(0)))
        return results

    with ThreadPoolExecutor(3) as threads:
        for n, results in enumerate(threads.map(work, range(3))):
            for result in results:
                np.testing.assert_array_equal(result, expected[n])


def test_a_workspace_lives_on_the_device_of_its_executors() -> None:
    x = relay.var("x", shape=(8,))
    executable = build_graph(relay.module(relay.Function([x], x + x)), target="cuda-emulated")
    with pytest.raises(ArgumentError, match=r"workspace: one on cpu\(0\), expected one on cuda_emulated\(0\)"):
        GraphExecutor(executable, workspace=Workspace())
    shared = Workspace(executable.device())
    executors = [GraphExecutor(executable, workspace=shared) for _ in range(2)]
    for n, executor in enumerate(executors):
        executor.run(x=np.full(8, n, "float32"))
    assert [executor.get_output(0).numpy()[0] for executor in executors] == [0, 2]


def test_a_workspace_without_memory_stays_as_it_is() -> None:
    shared = Workspace()
    small = GraphExecutor(build_graph(softmaxes(64), opt_level=0), workspace=shared)
    size = shared.size
    with pytest.raises(DeviceError, match="workspace: out of memory of cpu"):
        GraphExecutor(build_graph(softmaxes(2**56), opt_level=0), workspace=shared)
    assert shared.size == size
    small.run(x=np.zeros(64, "float32"))


def test_the_memory_of_a_workspace_is_freed_with_its_executors() -> None:
    executor = GraphExecutor(build_graph(softmaxes(64), opt_level=0))
    memory = weakref.ref(executor.workspace.part(0, (64,), "uint8").layout.base)
    del executor
    gc.collect()
    assert memory() is None
