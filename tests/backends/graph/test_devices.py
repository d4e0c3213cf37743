"""Graphs on a device: results, placement and copies of tensors, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import stepwell
from stepwell import (
    ArgumentError,
    Device,
    Executable,
    GraphExecutor,
    Module,
    OptionError,
    build_graph,
    nd,
)
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.interpreter import interpret
from stepwell.frontends import relay
from stepwell.frontends import tvm as tvm_api
from stepwell.tools.testing.comparison import assert_near
from stepwell.tools.testing.execution import interpret_graph, run_graph
from stepwell.tools.testing.graphs import RandomGraph, graphs

tvm: Any = tvm_api


# Results


@pytest.mark.parametrize(
    ("model", "shape", "opt_level"),
    [("perceptron", (3, 8), 0), ("images", (2, 3, 8, 8), 2), ("attention", (2, 4, 8), 2)],
)
def test_models_compute_what_they_mean(
    models: Any, target: str, model: str, shape: tuple[int, ...], opt_level: int
) -> None:
    mod = getattr(models, model)()
    executor = GraphExecutor(build_graph(mod, target=target, opt_level=opt_level))
    for _ in range(2):
        x = models.array(*shape)
        executor.run(x=x)
        np.testing.assert_allclose(executor.get_output(0).numpy(), interpret(mod, "main", [x]), rtol=1e-5, atol=1e-6)


def test_the_batch_changes_its_size_between_runs(models: Any, target: str) -> None:
    mod = models.perceptron("n")
    executor = GraphExecutor(build_graph(mod, target=target))
    for rows in (3, 1, 0, 70):
        x = models.array(rows, 8)
        executor.run(x=x)
        assert executor.get_output(0).shape == (rows, 5)
        np.testing.assert_allclose(executor.get_output(0).numpy(), interpret(mod, "main", [x]), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")
@given(graph=graphs(most=5))
@settings(max_examples=max(1, settings().max_examples // 10))
def test_any_graph_computes_what_it_means(graph: RandomGraph) -> None:
    got = run_graph(build_graph(graph.module, target="cuda-emulated", opt_level=1), graph.inputs)
    assert_near(got, interpret_graph(graph.module, graph.inputs), graph.tolerances)


@pytest.mark.parametrize("opt_level", [0, 2])
def test_constants_and_numbers_are_results(target: str, opt_level: int) -> None:
    kept = np.arange(3, dtype="float32")
    body = relay.Tuple([relay.const(2.0) * relay.const(3.0), relay.ones((2, 3), "float32"), relay.const(kept)])
    executor = GraphExecutor(build_graph(relay.module(relay.Function([], body)), target=target, opt_level=opt_level))
    executor.run()
    for n, expected in enumerate((np.float32(6), np.ones((2, 3), "float32"), kept)):
        np.testing.assert_array_equal(executor.get_output(n).numpy(), expected, strict=True)


# Branches


def branches() -> Module:
    """A graph of `flag` and `x` with nested branches on computed conditions, which yield pairs, and a constant
    condition."""
    flag, x = relay.var("flag", shape=(), dtype="bool"), relay.var("x", shape=("n", 4))
    inner = relay.If(relay.sum(x) > relay.const(0.0), relay.Tuple([relay.exp(x), x]), relay.Tuple([x, relay.abs(x)]))
    other = relay.If(relay.const(True), relay.Tuple([x * relay.const(2.0), x]), relay.Tuple([x, x]))
    made = relay.If(flag, inner, other)
    first, second = relay.TupleGetItem(made, 0), relay.TupleGetItem(made, 1)
    return relay.module(relay.Function([flag, x], relay.Tuple([first + second, second])))


@pytest.mark.parametrize("opt_level", [0, 2])
def test_branches_are_taken_as_conditions_on_the_device_say(target: str, tmp_path: Path, opt_level: int) -> None:
    mod = branches()
    build_graph(mod, target=target, opt_level=opt_level).save(tmp_path / "out")
    executor = GraphExecutor(Executable.load(tmp_path / "out"))
    assert "cuMemcpy" not in executor.executable.program.source("cuda")
    for flag, sign, rows in ((True, 1, 3), (True, -1, 3), (False, 1, 3), (False, 1, 0), (True, -1, 1)):
        inputs = [np.asarray(flag), sign * np.ones((rows, 4), "float32")]
        executor.run(flag=inputs[0], x=inputs[1])
        for n, expected in enumerate(interpret_graph(mod, inputs)):
            np.testing.assert_allclose(executor.get_output(n).numpy(), expected, rtol=1e-6)


def test_kernels_of_branches_are_timed_on_the_device(target: str) -> None:
    executor = GraphExecutor(build_graph(branches(), target=target))
    executor.set_input(flag=np.asarray(True), x=np.ones((2, 4), "float32"))
    names = [time.kernel for time in executor.profile(2)]
    assert names[-2:] == ["fused_copy", "fused_add"]
    assert any(name.startswith("fused_sum") for name in names)
    assert "fused_exp" in names
    assert "fused_abs" not in names


def test_branches_are_taken_on_the_current_stream(target: str, device: Device) -> None:
    executor = GraphExecutor(build_graph(branches(), target=target))
    with device.stream() as stream:
        executor.run(flag=np.asarray(True), x=-np.ones((2, 4), "float32"))
        stream.sync()
        np.testing.assert_array_equal(executor.get_output(1).numpy(), np.ones((2, 4)))


# Placement of tensors


@pytest.fixture(scope="module")
def executable(models: Any, target: str) -> Executable:
    return build_graph(models.perceptron(), target=target)


def test_what_is_set_is_copied_and_what_is_read_is_on_the_device(
    models: Any, executable: Executable, device: Device
) -> None:
    executor = GraphExecutor(executable, device)
    x = models.array(3, 8)
    executor.set_input("x", x)
    kept = x.copy()
    x[:] = 0
    held = executor.get_input("x")
    assert isinstance(held, nd.DeviceArray)
    assert held.device == device
    np.testing.assert_array_equal(held.numpy(), kept)
    executor.run()
    first = executor.get_output("output0")
    assert isinstance(first, nd.DeviceArray)
    wanted = first.numpy()
    for same in (nd.array(kept, device), nd.array(kept), kept[::-1][::-1]):
        executor.run(x=np.zeros((3, 8), "float32"))
        assert not np.array_equal(first.numpy(), wanted)
        executor.run(x=same)
        assert executor.get_input("x") is held
        np.testing.assert_array_equal(first.numpy(), wanted)
    into = np.empty((3, 5), "float32")
    assert executor.get_output(0, into) is into
    np.testing.assert_array_equal(into, wanted)
    there = nd.empty((3, 5), "float32", device)
    assert executor.get_output(0, there) is there
    np.testing.assert_array_equal(there.numpy(), wanted)


def test_constants_are_copied_to_the_device_once(
    models: Any, target: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = build_graph(models.perceptron(), target=target)
    copied: list[tuple[int, ...]] = []
    copy_in = type(device.driver).copy_in

    def counting(driver: Any, index: int, address: int, array: Any, stream: int) -> None:
        copied.append(array.shape)
        copy_in(driver, index, address, array, stream)

    monkeypatch.setattr(type(device.driver), "copy_in", counting)
    one, other = GraphExecutor(executable), GraphExecutor(executable, device)
    assert sorted(copied) == [(5, 16), (16,), (16, 8)]
    copied.clear()
    x = models.array(3, 8)
    for executor in (one, other, one):
        executor.run(x=x)
    one.run()
    assert copied == [(3, 8)] * 3
    name = next(name for name, array in executable.constants.items() if array.shape == (5, 16))
    one.set_input(name, np.zeros((5, 16), "float32"))
    one.run()
    other.run()
    np.testing.assert_allclose(one.get_output(0).numpy(), np.full((3, 5), 0.2), rtol=1e-6)
    np.testing.assert_array_equal(other.get_input(name).numpy(), executable.constants[name])
    assert not np.allclose(other.get_output(0).numpy(), 0.2)


def test_graphs_run_on_the_current_stream(models: Any, executable: Executable, device: Device) -> None:
    executor = GraphExecutor(executable)
    x = models.array(3, 8)
    executor.run(x=x)
    expected = executor.get_output(0).numpy()
    executor.run(x=np.zeros_like(x))
    with device.stream() as stream:
        executor.run(x=x)
        stream.sync()
        np.testing.assert_array_equal(executor.get_output(0).numpy(), expected)


def test_kernels_are_timed_one_by_one_on_the_device(models: Any, executable: Executable) -> None:
    executor = GraphExecutor(executable)
    executor.run(x=models.array(3, 8))
    expected = executor.get_output(0).numpy()
    times = executor.profile(number=2)
    assert [time.kernel for time in times] == [
        "fused_nn_dense_nn_bias_add_nn_relu", "fused_nn_dense", "fused_nn_softmax",
    ]  # fmt: skip
    assert [time.shape for time in times] == [(3, 16), (3, 5), (3, 5)]
    assert all(time.seconds > 0 for time in times)
    np.testing.assert_array_equal(executor.get_output(0).numpy(), expected)


@pytest.mark.parametrize("name", ["out", "out.tar"])
def test_graphs_are_saved_with_their_kernels(models: Any, executable: Executable, tmp_path: Path, name: str) -> None:
    executable.save(tmp_path / name)
    loaded = Executable.load(tmp_path / name)
    assert loaded.program.source("cuda") == executable.program.source("cuda")
    x = models.array(3, 8)
    one, other = GraphExecutor(executable), GraphExecutor(loaded)
    for executor in (one, other):
        executor.run(x=x)
    np.testing.assert_array_equal(one.get_output(0).numpy(), other.get_output(0).numpy())


# TVM's API


def test_models_run_as_tvm_runs_them(models: Any, target: str, device: Device, tmp_path: Path) -> None:
    mod, x = models.perceptron(), models.array(3, 8)
    expected = interpret(mod, "main", [x])
    lib = tvm.relay.build(mod, target=target)
    lib.export_library(tmp_path / "lib.tar")
    assert "__global__" in lib.imported_modules[0].get_source()
    for each in (lib, tvm.runtime.load_module(tmp_path / "lib.tar")):
        module = tvm.contrib.graph_executor.GraphModule(each["default"](tvm.device(target, 0)))
        module.set_input("x", tvm.nd.array(x, tvm.device(target, 0)))
        module.run()
        output = module.get_output(0)
        assert output.device == device
        np.testing.assert_allclose(output.numpy(), expected, rtol=1e-5, atol=1e-6)
        on_host = module.get_output(0, tvm.nd.empty((3, 5)))
        np.testing.assert_array_equal(on_host.numpy(), output.numpy())
        module.run(x=np.zeros_like(x))
        np.testing.assert_allclose(output.numpy(), expected, rtol=1e-5, atol=1e-6)  # a copy
        assert module.benchmark(tvm.device(target, 0), repeat=2, number=1).mean > 0


def test_functions_of_python_are_made_of_models(models: Any, target: str, device: Device) -> None:
    mod, x = models.perceptron(), models.array(3, 8)
    made = tvm.relay.create_executor("vm", mod, tvm.device(target, 0), target).evaluate()(x)
    assert made.device == device
    np.testing.assert_allclose(made.numpy(), interpret(mod, "main", [x]), rtol=1e-5, atol=1e-6)


# Refusals


def test_a_graph_runs_where_it_was_compiled_for(models: Any, executable: Executable, device: Device) -> None:
    with pytest.raises(ArgumentError, match=rf"compiled for {device.kind}, expected such a device, got cpu\(0\)"):
        GraphExecutor(executable, stepwell.cpu())
    with pytest.raises(ArgumentError, match=f"compiled for cpu, expected such a device, got {device.kind}"):
        GraphExecutor(build_graph(models.perceptron()), device)
    with pytest.raises(ArgumentError, match="expected one: a graph runs on one device"):
        tvm.relay.build(models.perceptron(), "llvm")["default"](tvm.cpu(), tvm.cpu())


def test_inputs_are_checked(executable: Executable, device: Device) -> None:
    executor = GraphExecutor(executable)
    with pytest.raises(ArgumentError, match=r"x: shape \(3, 7\), expected float32\[3, 8\]"):
        executor.set_input("x", nd.empty((3, 7), "float32", device))
    with pytest.raises(ArgumentError, match="x: int32 of shape"):
        executor.set_input("x", np.zeros((3, 8), "int32"))
    with pytest.raises(ArgumentError, match="inputs x have not been set"):
        executor.run()
    executor.run(x=np.zeros((3, 8), "float32"))
    with pytest.raises(ArgumentError, match=r"output 0: float32 of shape \(5, 3\), expected"):
        executor.get_output(0, np.empty((5, 3), "float32"))


def test_the_emulation_has_no_libraries(models: Any) -> None:
    with pytest.raises(
        OptionError, match=r"unknown option of cuda-emulated 'libs' \(there are checks, fast-math-contract\)"
    ):
        build_graph(models.perceptron(), target="cuda-emulated -libs=cublas")


def test_a_graph_is_compiled_where_there_is_no_gpu(models: Any, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    executable = build_graph(models.perceptron(), target="cuda -arch=sm_80")
    assert {name.split("_kernel")[0] for name in executable.program.usage} == {
        "fused_nn_dense_nn_bias_add_nn_relu", "fused_nn_dense", "fused_nn_softmax",
    }  # fmt: skip
    executable.save(tmp_path / "out")
    assert ".visible .entry" in executable.program.source("ptx")
    if not stepwell.cuda().exist:
        with pytest.raises(stepwell.DeviceError):
            GraphExecutor(Executable.load(tmp_path / "out"))


def test_symbolic_sums_of_no_elements_are_refused_unless_all_results_are_empty(target: str) -> None:
    x = relay.var("x", shape=(4, "n"))
    total = build_graph(relay.module(relay.Function([x], relay.sum(x, axis=1))), target=target)
    assert run_graph(total, [np.ones((4, 3), "float32")])[0].tolist() == [3] * 4
    with pytest.raises(ArgumentError, match="T_sum: no elements along the reduction axis k0, expected at least 1"):
        run_graph(total, [np.ones((4, 0), "float32")])
    softmax = build_graph(relay.module(relay.Function([x], relay.nn.softmax(x))), target=target)
    assert run_graph(softmax, [np.ones((4, 0), "float32")])[0].shape == (4, 0)
