"""Programs written for `tvm.relay`: graphs are built, run, timed and rewritten as in TVM."""

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
import stepwell.frontends.tvm as tvm
from stepwell.backends.graph import build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import ArgumentError, ExecutionError, OptionError, UnsupportedError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.contrib import graph_executor
from stepwell.frontends.tvm.contrib import graph_runtime as runtime
from stepwell.frontends.tvm.contrib.debugger import debug_executor
from stepwell.frontends.tvm.relay import testing
from stepwell.frontends.tvm.runtime import vm


def simple_net(batch_size: int = 1, out_channels: int = 16, size: int = 224) -> relay.Function:
    """The network of TVM's tutorial on external libraries, unchanged."""
    data = relay.var("data", relay.TensorType((batch_size, 3, size, size), "float32"))
    weight = relay.var("weight")
    bn_gamma = relay.var("bn_gamma")
    bn_beta = relay.var("bn_beta")
    bn_mmean = relay.var("bn_mean")
    bn_mvar = relay.var("bn_var")
    net = relay.nn.conv2d(data=data, weight=weight, kernel_size=(3, 3), channels=out_channels, padding=(1, 1))
    net = relay.nn.batch_norm(net, bn_gamma, bn_beta, bn_mmean, bn_mvar)[0]
    net = relay.nn.relu(net)
    return relay.Function(relay.ir_pass.free_vars(net), net)


def expected(data: np.ndarray, params: Any) -> np.ndarray:
    """The numpy reference of the network."""
    weight, gamma, beta, mean, var = (
        params[name].numpy()[..., *[None] * (2 if name != "weight" else 0)]
        for name in ("weight", "bn_gamma", "bn_beta", "bn_mean", "bn_var")
    )
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    convolved = np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)
    return np.maximum((convolved - mean) / np.sqrt(var + 1e-5) * gamma + beta, 0)


def small() -> tuple[Any, dict[str, Any], np.ndarray]:
    net, params = testing.create_workload(simple_net(size=8))
    return net, params, np.random.default_rng(0).uniform(-1, 1, (1, 3, 8, 8)).astype("float32")


@pytest.mark.parametrize("target", ["llvm", "llvm -libs=cblas"])
def test_the_tutorial_on_external_libraries_runs(target: str) -> None:
    net, params = testing.create_workload(simple_net())
    known = dict(params)
    graph, lib, params = relay.build_module.build(net, target, params=params)
    ctx = tvm.context(target, 0)
    data = np.random.uniform(-1, 1, size=(1, 3, 224, 224)).astype("float32")
    module = runtime.create(graph, lib, ctx)
    module.set_input(**params)
    module.set_input("data", data)
    module.run()
    out_shape = (1, 16, 224, 224)
    out = module.get_output(0, tvm.nd.empty(out_shape)).asnumpy()
    tvm.testing.assert_allclose(out, expected(data, known), 1e-5, 1e-5)


def test_convolution_norm_and_rectifier_are_one_kernel() -> None:
    net, _, _ = small()
    seen: dict[str, Any] = {}
    executable = build_graph(net, opt_level=1, after=lambda name, mod: seen.setdefault(name, mod.clone()))
    (kernel,) = {step.kernel for step in executable.calls}
    script = seen["convert-te-to-tir"][kernel].script()
    assert script.count("@T.prim_func") == 1
    assert all(name in kernel for name in ("conv2d", "batch_norm", "relu"))
    assert "pad" in script
    assert "T.init" in script
    assert "T.max" in script


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_every_level_computes_the_same(opt_level: int) -> None:
    net, params, data = small()
    with tvm.transform.PassContext(opt_level=opt_level):
        lib = relay.build(net, "llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(data=data)
    tvm.testing.assert_allclose(module.get_output(0), expected(data, params), 1e-5, 1e-5)
    kernels = json.loads(lib.get_graph_json())["nodes"]
    assert len([node for node in kernels if node["op"] == "tvm_op"]) == (1 if opt_level else 3)


def test_parameters_may_be_set_when_it_runs() -> None:
    net, params, data = small()
    lib = relay.build(net)
    assert lib.get_params() == {}
    module = lib["default"](tvm.cpu())
    module.set_input(data=data, **params)
    module.run()
    tvm.testing.assert_allclose(module.get_output(0), expected(data, params), 1e-5, 1e-5)


@pytest.mark.parametrize("target", [None, "llvm", {"kind": "llvm"}, {"cpu": "llvm"}, "llvm -mcpu=x86-64"])
def test_a_target_is_said_in_many_ways(target: Any) -> None:
    x = relay.var("x", shape=(4,))
    module = relay.build(relay.Function([x], x + 1), target)["default"](tvm.cpu())
    module.run(x=np.zeros(4, "float32"))
    assert (module.get_output(0).numpy() == 1).all()


# The parts of a build


def test_the_graph_as_json_says_nodes_shapes_and_places() -> None:
    x = relay.var("x", shape=(4, 4))
    y = relay.nn.softmax(relay.nn.dense(x, relay.const(np.eye(4, dtype="float32"))))
    lib = relay.build(relay.Function([x], relay.Tuple([y, relay.sum(y)])))
    graph = json.loads(lib.graph_json)
    names = [node["name"] for node in graph["nodes"]]
    assert [node["op"] for node in graph["nodes"]].count("null") == len(graph["arg_nodes"]) == 2
    assert names[0] == "x"
    assert len(graph["heads"]) == 2
    attrs = {key: values for key, (_, values) in graph["attrs"].items()}
    assert len(set(map(len, attrs.values()))) == 1
    assert attrs["shape"][0] == [4, 4]
    assert graph["node_row_ptr"][-1] == len(attrs["shape"])
    for node in graph["nodes"]:
        assert all(source < graph["nodes"].index(node) for source, _, _ in node["inputs"])
        if node["op"] == "tvm_op":
            assert callable(lib[node["attrs"]["func_name"]])


def test_a_kernel_is_called_by_its_name() -> None:
    x = relay.var("x", shape=(4,))
    lib = relay.build(relay.Function([x], relay.exp(x) + 1))
    (name,) = [node["attrs"]["func_name"] for node in json.loads(lib.get_graph_json())["nodes"] if "attrs" in node]
    out = np.empty(4, "float32")
    lib[name](np.zeros(4, "float32"), out)
    assert (out == 2).all()
    assert "define" in lib.get_lib().get_source()
    assert "\n" in lib.get_source("asm")
    with pytest.raises(OptionError, match="source format 'c', expected one of ll, s, asm"):
        lib.get_source("c")
    with pytest.raises(OptionError, match="source format 'll', expected c"):
        relay.build(relay.Function([x], relay.exp(x)), target="c").get_source("ll")


def test_outputs_and_inputs_are_copies() -> None:
    x = relay.var("x", shape=(2,))
    module = relay.build(relay.Function([x], relay.Tuple([x + 1, x * 2])))["default"](tvm.cpu())
    assert (module.get_num_inputs(), module.get_num_outputs()) == (1, 2)
    data = np.array([1, 2], "float32")
    module.set_input(0, data)
    data[:] = 7
    module.run()
    first = module.get_output(0)
    module.run(x=tvm.nd.array(np.zeros(2, "float32")))
    assert first.numpy().tolist() == [2, 3]
    assert module.get_output(1).numpy().tolist() == [0, 0]
    assert module.get_input("x").numpy().tolist() == [0, 0]
    assert module.get_input(0, tvm.nd.empty((2,))).numpy().tolist() == [0, 0]


def test_two_executors_of_one_library_do_not_share_arrays() -> None:
    x = relay.var("x", shape=(2,))
    lib = relay.build(relay.Function([x], relay.nn.softmax(x) + 1))
    one, other = lib["default"](tvm.cpu()), lib["default"](tvm.cpu())
    one.run(x=np.zeros(2, "float32"))
    other.run(x=np.array([0, 100], "float32"))
    assert one.get_output(0).numpy().tolist() == [1.5, 1.5]


def test_runs_are_timed() -> None:
    x = relay.var("x", shape=(2,))
    module = graph_executor.GraphModule(relay.build(relay.Function([x], x + 1))["default"](tvm.cpu()))
    result = module.benchmark(tvm.cpu(), repeat=3, number=2, x=np.zeros(2, "float32"))
    assert len(result.results) == 3
    assert 0 < result.min <= result.median <= result.max
    assert result.min <= result.mean <= result.max
    assert result.std >= 0
    assert "mean (ms)" in str(result)
    timed = module.module.time_evaluator("run", tvm.cpu(), number=1, repeat=2, min_repeat_ms=1)()
    assert len(timed.results) == 2
    with pytest.raises(OptionError, match="time_evaluator of 'runs', expected 'run'"):
        module.time_evaluator("runs")


def test_runs_are_timed_with_all_numbers_of_tvm() -> None:
    x = relay.var("x", shape=(2,))
    module = graph_executor.GraphModule(relay.build(relay.Function([x], x + 1))["default"](tvm.cpu()))
    values = np.arange(2, dtype="float32")
    result = module.benchmark(
        tvm.cpu(), func_name="run", repeat=3, number=2, min_repeat_ms=None, limit_zero_time_iterations=10,
        end_to_end=True, cooldown_interval_ms=1, repeats_to_cooldown=2, x=values,
    )  # fmt: skip
    assert len(result.results) == 3
    assert module.get_output(0).numpy().tolist() == [1, 2]
    timed = module.time_evaluator("run", tvm.cpu(), number=1, repeat=2, cache_flush_bytes=1 << 16)()
    assert len(timed.results) == 2
    with pytest.raises(OptionError, match="cooldown_interval_ms: -1, expected a number of at least 0"):
        module.benchmark(cooldown_interval_ms=-1)


# Kernel by kernel


def debugged() -> debug_executor.GraphModuleDebug:
    x = relay.var("x", shape=(2, 3))
    with tvm.transform.PassContext(opt_level=0):
        lib = relay.build(relay.Function([x], relay.nn.softmax(relay.nn.relu(relay.nn.relu(x)))))
    return debug_executor.create(lib.get_graph_json(), lib, tvm.cpu())


def test_the_debugger_measures_kernels() -> None:
    module = debugged()
    report = module.profile(x=np.ones((2, 3), "float32"))
    names = ["fused_nn_relu", "fused_nn_relu", "fused_nn_softmax"]
    assert [call["Name"] for call in report.calls] == names
    assert sum(call["Percent"] for call in report.calls) == pytest.approx(100)
    assert report.configuration == {"Executor": "Graph", "Num threads": stepwell.get_num_threads()}
    assert re.search(r"^fused_nn_relu +2 ", str(report), re.MULTILINE)
    assert len(report.csv().splitlines()) == 4
    assert json.loads(report.json())["calls"] == report.calls
    times = module.run_individual(number=2, repeat=3, min_repeat_ms=0)
    assert [len(each) for each in times] == [3, 3, 3]
    assert all(seconds > 0 for each in times for seconds in each)
    with pytest.raises(OptionError, match=r"collectors: .*, expected none"):
        module.profile(["cycles"])


def test_the_debugger_writes_files(tmp_path: Path) -> None:
    module = debug_executor.GraphModuleDebug(debugged(), dump_root=str(tmp_path))
    module.run(x=np.array([[-1, 0, 2]] * 2, "float32"))
    folder = tmp_path / "_tvmdbg_device_CPU_0"
    assert "nodes" in json.loads((folder / "_tvmdbg_graph_dump.json").read_text())
    arrays = tvm.runtime.load_param_dict_from_file(str(folder / "output_tensors.params"))
    assert arrays["fused_nn_relu____topo-index:0____output-num:0"].numpy().tolist() == [[0, 0, 2]] * 2
    events = json.loads((folder / "_tvmdbg_execution_trace.json").read_text())["traceEvents"]
    assert [event["ph"] for event in events] == ["B", "E"] * 3


def test_the_debugger_shows_results_of_kernels() -> None:
    module = debugged()
    module.set_input("x", np.array([[-1, 0, 2]] * 2, "float32"))
    assert module.debug_get_output("fused_nn_relu").numpy().tolist() == [[0, 0, 2]] * 2
    out = tvm.nd.empty((2, 3))
    assert module.debug_get_output(2, out) is out
    np.testing.assert_array_equal(out.numpy(), module.get_output(0).numpy())
    with pytest.raises(ArgumentError, match="no kernel call 3, there is fused_nn_relu, fused_nn_softmax"):
        module.debug_get_output(3)


# Passes


def kernels_of(func: relay.Function) -> int:
    """The number of functions inside of a function that are kernels."""
    found: list[relay.Function] = []
    relay.analysis.post_order_visit(func, lambda node: found.append(node) if isinstance(node, relay.Function) else None)
    return len([each for each in found if each.attrs.get("Primitive")])


def test_passes_stand_in_a_row() -> None:
    net, params, data = small()
    mod = relay.build_module.bind_params_by_name(net, params)
    seq = tvm.transform.Sequential(
        [
            relay.transform.InferType(),
            relay.transform.SimplifyInference(),
            relay.transform.SimplifyExpr(),
            relay.transform.FoldScaleAxis(),
            relay.transform.FoldConstant(),
            relay.transform.EliminateCommonSubexpr(),
            relay.transform.DeadCodeElimination(),
            relay.transform.FuseOps(fuse_opt_level=2),
        ]
    )
    with tvm.transform.PassContext(opt_level=3):
        fused = seq(mod)
    assert "nn.batch_norm(" in str(mod)
    assert "nn.batch_norm(" not in str(fused)
    assert "rsqrt(" not in str(fused)
    assert kernels_of(fused["main"]) == 1
    np.testing.assert_allclose(interpret(fused, "main", [data]), expected(data, params), 1e-5, 1e-5)


@pytest.mark.parametrize(("level", "kernels"), [(0, 2), (1, 1), (-1, 2)])
def test_operators_are_fused_as_the_level_says(level: int, kernels: int) -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x) + 1))
    with tvm.transform.PassContext(opt_level=0):
        assert kernels_of(relay.transform.FuseOps(level)(mod)["main"]) == kernels


def test_passes_of_a_higher_level_and_disabled_ones_do_not_run() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + relay.const(1.0) * relay.const(2.0)))
    fold = relay.transform.FoldConstant()
    assert fold.info.name == "FoldConstant"
    with tvm.transform.PassContext(opt_level=1):
        assert "multiply(" in str(tvm.transform.Sequential([fold])(mod))
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["FoldConstant"]):
        assert "multiply(" in str(fold(mod))
    assert "multiply(" not in str(fold(mod))


def test_what_is_computed_twice_is_computed_once() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.exp(x) * relay.exp(x))
    with tvm.transform.PassContext(opt_level=3):
        assert str(relay.transform.EliminateCommonSubexpr()(mod)).count("exp(") == 1
    assert str(tvm.transform.Sequential([relay.transform.EliminateCommonSubexpr()])(mod)).count("exp(") == 2


def test_what_moves_nothing_goes() -> None:
    mod = tvm.IRModule.from_expr(relay.transpose(relay.transpose(relay.var("x", shape=(2, 3)))))
    assert "transpose(" not in str(relay.transform.SimplifyExpr()(mod))


def test_a_graph_is_optimized_and_shown() -> None:
    net, params, _ = small()
    mod, constants = relay.optimize(net, "llvm", params)
    assert "nn.batch_norm(" not in str(mod)
    assert constants
    assert all(isinstance(each, tvm.nd.NDArray) for each in constants.values())


def test_an_expression_is_a_module() -> None:
    x = relay.var("x", shape=(2,))
    assert [name for name, _ in tvm.IRModule.from_expr(relay.exp(x)).function_ops["main"].params] == ["x"]


# Executors


@pytest.mark.parametrize("kind", ["graph", "vm", "debug", "aot"])
def test_an_executor_makes_functions_of_python(kind: str) -> None:
    net, params, data = small()
    run = relay.create_executor(kind, net, tvm.cpu(), "llvm", params).evaluate()
    tvm.testing.assert_allclose(run(data), expected(data, params), 1e-5, 1e-5)
    tvm.testing.assert_allclose(run(data=tvm.nd.array(data)), expected(data, params), 1e-5, 1e-5)


def test_an_executor_evaluates_expressions() -> None:
    x = relay.var("x", shape=(2,))
    executor = relay.create_executor()
    one, two = executor.evaluate(relay.Function([x], relay.Tuple([x, x + 1])))(np.zeros(2, "float32"))
    assert (one.numpy().tolist(), two.numpy().tolist()) == ([0, 0], [1, 1])
    assert executor.evaluate(relay.const(2.0) * relay.const(3.0)).numpy() == 6
    assert executor.evaluate(x + 1, binds={"x": np.ones(2, "float32")}).numpy().tolist() == [2, 2]


# Errors


@pytest.fixture(name="module")
def module_of_one_input() -> graph_executor.GraphModule:
    x = relay.var("data", shape=(2, 3))
    return relay.build(relay.Function([x], x + 1))["default"](tvm.cpu())


def test_an_executor_converts_arrays_of_numpy_and_numbers(module: graph_executor.GraphModule) -> None:
    module.set_input("data", [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(module.get_input("data").numpy(), np.arange(1, 7, dtype="float32").reshape(2, 3))


def test_an_array_of_as_many_elements_has_the_shape_of_the_input(module: graph_executor.GraphModule) -> None:
    module.set_input("data", tvm.nd.array(np.arange(6, dtype="float32")))
    np.testing.assert_array_equal(module.get_input(0).numpy(), np.arange(6, dtype="float32").reshape(2, 3))
    with pytest.raises(ArgumentError, match=r"shape \(5,\), expected float32"):
        module.set_input("data", tvm.nd.array(np.arange(5, dtype="float32")))


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.run(),
        lambda m: m.get_input("data"),
        lambda m: m.time_evaluator("run", number=1)(),
        lambda m: debug_executor.GraphModuleDebug(m).debug_get_output(0),
    ],
)
def test_inputs_that_are_not_set_are_zeros(module: graph_executor.GraphModule, use: Callable[[Any], Any]) -> None:
    with pytest.warns(UserWarning, match="inputs data have not been set: they are zeros"):
        use(module)
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.ones((2, 3)))


def test_a_library_has_executors_kernel_by_kernel() -> None:
    x = relay.var("x", shape=(2,))
    library = relay.build(mod=relay.Function([x], x + 1), target="llvm")
    executor = library["debug_create"]("default", tvm.cpu())
    executor.set_input("x", [1, 2])
    assert executor.debug_get_output(0).numpy().tolist() == [2, 3]
    with pytest.raises(OptionError, match="debug_create: graph 'other', expected 'default'"):
        library["debug_create"]("other", tvm.cpu())
    with pytest.raises(TypeError, match="multiple values for argument 'ir_mod'"):
        relay.build(mod=relay.Function([x], x), func=relay.Function([x], x))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda m: m.set_input("dat", np.zeros((2, 3))), ArgumentError, "no input 'dat', did you mean 'data'"),
        (lambda m: m.set_input(1, np.zeros((2, 3))), ArgumentError, "no input 1, there is data"),
        (
            lambda m: m.set_input("data", tvm.nd.array(np.zeros((2, 3)))),
            ArgumentError,
            "float64 of shape .*, expected f",
        ),
        (lambda m: m.run(data=np.zeros((3, 2), "float32")), ArgumentError, r"shape \(3, 2\), expected float32.2, 3."),
        (lambda m: m.get_output(0), ExecutionError, "nothing has been run"),
        (lambda m: m.get_output(1), ArgumentError, "no output 1, there is output0"),
    ],
)
def test_a_wrong_use_of_an_executor_is_an_error(
    module: graph_executor.GraphModule, use: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        use(module)


def graph_of(body: Any) -> relay.Function:
    return relay.Function(relay.ir_pass.free_vars(body), body)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: relay.build(f, params={"y": np.zeros(2)}), ArgumentError, "no parameter 'y'.*has: x"),
        (lambda f: relay.build(f, params={"x": np.zeros(2)}), ArgumentError, "parameter x: tensor<2xf64>, expected"),
        (lambda f: relay.build(f, "cuda -libs=cblas"), OptionError, "library cblas is for llvm, not for cuda"),
        (lambda f: relay.build(f, "lvm"), OptionError, "'lvm', did you mean 'llvm'"),
        (lambda f: relay.create_executor("graf"), OptionError, "executor 'graf', expected one of graph, vm, debug"),
        (lambda f: relay.create_executor().evaluate(), OptionError, "of an executor without a module"),
        (lambda f: relay.create_executor().evaluate(f)(1, 2), ArgumentError, "2 arguments, expected 1: x"),
        (lambda f: relay.transform.FuseOps(-2), OptionError, "FuseOps: level -2, expected one from 0 on"),
        (lambda f: runtime.create("{}", relay.build(f)), OptionError, "the library belongs to another graph"),
    ],
)
def test_a_wrong_use_of_build_is_an_error(
    make: Callable[[relay.Function], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(graph_of(relay.exp(relay.var("x", shape=(2,)))))


def test_an_option_of_the_import_that_there_is_not_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="from_onnx: export_node_renamed_model_path is not supported yet"):
        relay.frontend.from_onnx("model.onnx", export_node_renamed_model_path="renamed.onnx")


def test_a_graph_with_branches_runs_and_has_no_json() -> None:
    flag, x = relay.var("flag", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    lib = relay.build(relay.Function([flag, x], relay.If(flag, x + 1, x * 2)))
    module = lib["default"](tvm.cpu())
    module.run(flag=np.asarray(True), x=np.ones(2, "float32") * 3)
    assert module.get_output(0).numpy().tolist() == [4, 4]
    module.run(flag=np.asarray(False))
    assert module.get_output(0).numpy().tolist() == [6, 6]
    with pytest.raises(UnsupportedError, match="a graph with branches has no form as JSON"):
        lib.get_graph_json()


def test_a_virtual_machine_executes_a_graph() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.Tuple([relay.add(x, y), relay.subtract(x, y)])))
    executable = relay.vm.compile(mod, target="llvm")
    code, lib = executable.save()
    machine = vm.VirtualMachine(vm.Executable.load_exec(code, lib), tvm.cpu())
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32")
    for results in (machine.run(a, b), machine.invoke("main", a, y=b)):
        np.testing.assert_array_equal([each.numpy() for each in results], [a + b, a - b])
    machine.set_input("main", y=a, x=b)
    np.testing.assert_array_equal(machine.run()[1].numpy(), b - a)
    assert machine.get_input_index("y") == 1
    with pytest.raises(ArgumentError, match="3 arguments, expected 2: x, y"):
        machine.run(a, b, b)
    with pytest.raises(ArgumentError, match="function 'f', expected 'main'"):
        machine.invoke("f", a, b)
    with pytest.raises(OptionError, match="belongs to another graph"):
        vm.Executable.load_exec(b"{}", lib)


def test_the_executor_of_the_virtual_machine_has_its_module() -> None:
    x = relay.var("x", shape=("n", 4))
    executor = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    assert "fused_exp" in executor.executable.bytecode
    machine = vm.VirtualMachine(executor.executable, [tvm.cpu()])
    machine.set_input("main", np.ones((2, 4), "float32"))
    assert machine.module.time_evaluator("invoke", tvm.cpu(), number=1, repeat=2)("main").mean > 0
    assert executor.executable.stats.startswith("function main, 0 constants")
    with pytest.raises(OptionError, match="'graph', expected 'vm'"):
        _ = relay.create_executor("graph").executable


def test_of_several_targets_a_graph_has_that_of_the_fallback_device() -> None:
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    for options, source in (({}, "llvm"), ({"relay.fallback_device_type": tvm.cpu().device_type}, "llvm")):
        with (
            tvm.transform.PassContext(config=options),
            pytest.warns(UserWarning, match=f"the graph runs on one device, with the target {source}"),
        ):
            lib = relay.build(mod, target={"cuda": "cuda-emulated", "cpu": "llvm"})
        module = graph_executor.GraphModule(lib["default"](tvm.device("cuda-emulated"), tvm.cpu()))
        module.run(x=np.zeros(4, "float32"))
        np.testing.assert_array_equal(module.get_output(0).numpy(), np.ones(4, "float32"))


def test_a_graph_for_microcontrollers_is_an_archive_of_c(tmp_path: Path) -> None:
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(np.ones(4, "float32")))))
    executor = relay.backend.Executor("aot", {"unpacked-api": True, "interface-api": "c"})
    crt = relay.backend.Runtime("crt")
    lib = relay.build(mod, tvm.target.target.micro("host"), executor=executor, runtime=crt)
    path = tvm.micro.export_model_library_format(lib, tmp_path / "model.tar")
    with tarfile.open(path) as archive:
        files = {each.name: archive.extractfile(each).read() for each in archive}  # pyright: ignore
    assert files["./codegen/host/src/default_lib0.c"].decode() == lib.get_source()
    assert set(json.loads(files["./metadata.json"])["modules"]) == {"default"}
    with pytest.raises(UnsupportedError, match="runtime 'crt', expected 'cpp', or the target 'c'"):
        relay.build(mod, "llvm", runtime=crt)
    with pytest.raises(UnsupportedError, match="of GraphExecutorFactoryModule, expected a graph of the target 'c'"):
        tvm.micro.export_model_library_format(relay.build(mod, "llvm"), tmp_path / "model.tar")


def test_functions_of_an_executor_by_name() -> None:
    x = relay.var("x", shape=(2,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    values = tvm.nd.array(np.zeros(2, "float32"))
    module.module["set_input_zero_copy"](module.module["get_input_index"]("x"), values)
    for value in (0, 1):
        values.copyfrom(np.full(2, value, "float32"))
        module.module["run"]()
        np.testing.assert_allclose(module.module["get_output"](0).numpy(), np.exp([value, value]), rtol=1e-6)
    with pytest.raises(ArgumentError, match="function 'stop' of a graph executor, expected one of get_input, "):
        _ = module.module["stop"]


def test_an_executor_evaluates_a_module() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    result = relay.create_executor("graph").evaluate(mod)(np.zeros(2, "float32"))
    np.testing.assert_array_equal(result.numpy(), [1, 1])


def test_functions_of_a_module_say_the_types_of_their_results() -> None:
    x = relay.var("x", shape=(2, 3))
    func = relay.Function([x], relay.Tuple([relay.nn.relu(x), relay.sum(x, axis=1)]))
    assert func.ret_type is None
    read = tvm.IRModule.from_expr(func)["main"]
    assert [each.concrete_shape for each in read.ret_type.fields] == [(2, 3), (2,)]

    class ToHalf(relay.ExprMutator):
        def visit_var(self, var: Any) -> Any:
            return relay.var("h", shape=(2, 3), dtype="float16")

    assert ToHalf().visit(read).ret_type is None


def test_the_kernel_of_a_function_is_lowered() -> None:
    x = relay.var("x", shape=(4, 8))
    lowered = relay.backend.te_compiler.lower_to_primfunc(relay.Function([x], relay.nn.relu(x + relay.const(1.0))))
    a, b = np.linspace(-4, 4, 32, dtype="float32").reshape(4, 8), np.empty((4, 8), "float32")
    tvm.build(lowered)(a, b)
    np.testing.assert_array_equal(b, np.maximum(a + 1, 0))
    softmax = relay.Function([x], relay.nn.dense(relay.nn.softmax(x), relay.const(np.ones((4, 8), "float32"))))
    with pytest.raises(ArgumentError, match=r"a function of \d kernels .*, expected 1"):
        relay.backend.te_compiler.lower_to_primfunc(softmax)
    other: Any = x
    with pytest.raises(ArgumentError, match="expected a function of a graph"):
        relay.backend.te_compiler.lower_to_primfunc(other)
