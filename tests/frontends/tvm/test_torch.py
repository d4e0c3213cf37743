"""Models of PyTorch as TVM's users import them: `relay.frontend.from_pytorch`, `relax.frontend.torch`."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stepwell import ArgumentError, UnsupportedError  # noqa: E402
from stepwell.frontends import tvm  # noqa: E402
from stepwell.frontends.tvm import relax, relay  # noqa: E402
from stepwell.frontends.tvm.contrib import graph_executor  # noqa: E402
from stepwell.frontends.tvm.relax.frontend import detach_params  # noqa: E402
from stepwell.frontends.tvm.relax.frontend.torch import from_exported_program, from_fx  # noqa: E402

nn = torch.nn
if TYPE_CHECKING:
    from typing import Any as Tensor
else:
    Tensor = torch.Tensor
SHAPE = (1, 3, 8, 8)
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit")  # PyTorch about itself, in categories that vary


@pytest.fixture(scope="module")
def model() -> Any:
    layers = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(144, 5))
    return nn.Sequential(*layers).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def image() -> Any:
    return torch.randn(SHAPE)


@pytest.fixture(scope="module")
def program(model: Any, image: Any) -> Any:
    return torch.export.export(model, (image,))


def run_relay(mod: Any, params: Any, *shapes: tuple[str, Any]) -> np.ndarray[Any, Any]:
    """The first output for inputs by name."""
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    for name, value in shapes:
        module.set_input(name, tvm.nd.array(value.numpy()))
    module.run()
    return module.get_output(0).numpy()


def run_relax(mod: Any, *args: Any) -> Any:
    machine = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    return machine["main"](*args)


def assert_near(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected.numpy(), 1e-4, 1e-5)


# tvm.relay


@pytest.mark.parametrize("convert", ["trace", "script"])
def test_a_model_of_torchscript(model: Any, image: Any, convert: str) -> None:
    script = torch.jit.trace(model, image) if convert == "trace" else torch.jit.script(model)
    mod, params = relay.frontend.from_pytorch(script.eval(), [("input0", SHAPE)])
    assert set(params) == {name for name in model.state_dict() if "num_batches" not in name}
    assert_near(run_relay(mod, params, ("input0", image)), model(image))
    assert np.shares_memory(params["0.weight"].layout, script.state_dict()["0.weight"].numpy())


def test_a_module_and_a_program_of_export(model: Any, image: Any, program: Any) -> None:
    for each in (model, program):
        mod, params = relay.frontend.from_pytorch(each, {"x": SHAPE})
        assert_near(run_relay(mod, params, ("x", image)), model(image))


def test_data_types_of_inputs() -> None:
    class Embed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(10, 4)

        def forward(self, tokens: Any, scale: Any) -> Any:
            return self.table(tokens) * scale

    embed = Embed().eval().requires_grad_(False)
    tokens, scale = torch.tensor([[1, 9, 3]]), torch.tensor(2.0, dtype=torch.float64)
    script = torch.jit.trace(embed, (tokens, scale))
    mod, params = relay.frontend.from_pytorch(script, [("t", ((1, 3), "int64")), ("s", ())], default_dtype="float64")
    assert_near(run_relay(mod, params, ("t", tokens), ("s", scale)), embed(tokens, scale))


def test_unknown_sizes() -> None:
    script = torch.jit.trace(nn.ReLU().eval(), torch.ones(2, 3))
    mod, params = relay.frontend.from_pytorch(script, [("x", (relay.Any(), 3))])
    x = torch.randn(5, 3)
    assert_near(run_relay(mod, params, ("x", x)), x.relu())


def test_branches_of_a_script_on_sizes_are_taken_when_it_is_imported() -> None:
    class Double(nn.Module):
        def forward(self, x):
            if x.dim() == 1:
                return x * 2
            return x

    mod, params = relay.frontend.from_pytorch(torch.jit.script(Double()).eval(), [("x", (3,))])
    assert_near(run_relay(mod, params, ("x", torch.ones(3))), torch.full((3,), 2.0))


@pytest.mark.parametrize("option", ["custom_convert_map", "keep_quantized_weight", "export_renamed_c_graph_path"])
def test_an_option_of_from_pytorch_that_there_is_not_is_an_error(model: Any, option: str) -> None:
    with pytest.raises(UnsupportedError, match=f"from_pytorch: {option} is not supported yet"):
        relay.frontend.from_pytorch(model, [("x", SHAPE)], **{option: "set"})  # pyright: ignore


@pytest.mark.parametrize(
    ("infos", "message"),
    [
        ([SHAPE], r"input \(1, 3, 8, 8\), expected a name with a shape: \('x', \(1, 3\)\)"),
        ([("x", SHAPE), ("x", SHAPE)], "inputs x, x, expected distinct names"),
    ],
)
def test_wrong_inputs_are_an_error(model: Any, infos: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        relay.frontend.from_pytorch(model, infos)


def test_wrong_names_of_inputs_are_an_error(program: Any) -> None:
    with pytest.raises(ArgumentError, match="input names x, y, expected 1 distinct names for input"):
        relay.frontend.from_pytorch(program, [("x", SHAPE), ("y", SHAPE)])


# tvm.relax


def test_a_program_with_parameters(model: Any, image: Any, program: Any) -> None:
    mod, params = detach_params(from_exported_program(program, keep_params_as_input=True))
    assert [name for name, _ in mod.function_ops["main"].params][:2] == ["input", "0.weight"]  # pyright: ignore
    assert_near(run_relax(mod, tvm.nd.array(image.numpy()), *params["main"])[0].numpy(), model(image))
    assert detach_params(mod)[1] == {}


def test_a_program_with_constants(model: Any, image: Any, program: Any) -> None:
    mod = from_exported_program(program, unwrap_unit_return_tuple=True)
    assert_near(run_relax(mod, image.numpy()).numpy(), model(image))
    assert isinstance(run_relax(from_exported_program(program), image.numpy()), tuple)


def test_a_program_without_parameters_has_an_empty_list_of_them() -> None:
    program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    assert detach_params(from_exported_program(program, keep_params_as_input=True))[1] == {"main": []}


def test_a_module_of_fx(model: Any, image: Any) -> None:
    traced = torch.fx.symbolic_trace(model)
    mod, params = detach_params(from_fx(traced, [(SHAPE, "float32")], keep_params_as_input=True))
    assert_near(run_relax(mod, image.numpy(), *params["main"]).numpy(), model(image))
    with pytest.raises(UnsupportedError, match="from_fx: custom_convert_map is not supported yet"):
        from_fx(traced, [(SHAPE, "float32")], custom_convert_map={nn.ReLU: None})


def test_only_programs_have_parameters_to_detach(model: Any) -> None:
    mod, _ = relay.frontend.from_pytorch(model, [("x", SHAPE)])
    assert detach_params(mod)[1] == {}


def test_models_in_training_are_imported_as_in_evaluation(image: Any) -> None:
    layers = nn.Sequential(nn.BatchNorm2d(3), nn.Dropout()).train()
    mod, params = relay.frontend.from_pytorch(layers, [("x", SHAPE)])
    assert layers.training
    assert layers[1].training
    np.testing.assert_allclose(
        run_relay(mod, params, ("x", image)), layers.eval()(image).detach().numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_trace_in_training_mode_is_imported_as_in_evaluation(image: Any) -> None:
    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout()).train()
    traced = torch.jit.trace(layers, image, check_trace=False)
    mod, params = relay.frontend.from_pytorch(traced, [("x", SHAPE)])
    expected = layers.eval()(image).detach().numpy()
    np.testing.assert_allclose(run_relay(mod, params, ("x", image)), expected, rtol=1e-4, atol=1e-5)


class Constant(nn.Module):
    def forward(self) -> Any:
        return torch.ones(2)


def test_a_model_may_have_no_inputs() -> None:
    mod = from_fx(torch.fx.symbolic_trace(Constant()), [])
    assert relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"]().numpy().tolist() == [1, 1]


def test_a_backend_of_torch_compiles_programs(model: Any, image: Any) -> None:
    compiled = torch.compile(model, backend=relax.frontend.torch.relax_dynamo("zero"))
    np.testing.assert_allclose(compiled(image).numpy(), model(image).numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(UnsupportedError, match="custom_convert_map"):
        from_exported_program(None, custom_convert_map={"relu.default": len})


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first(x))
        torch._dynamo.graph_break()
        return self.second(y) + self.second.bias


@pytest.mark.parametrize("keep", [False, True])
def test_graphs_of_a_compiled_model_are_programs(keep: bool) -> None:
    halves, x = Halves().eval(), torch.randn(2, 4)
    mod = relax.frontend.torch.dynamo_capture_subgraphs(halves, x, keep_params_as_input=keep)
    weights: dict[str, Any] = {}
    if keep:
        mod, weights = relax.frontend.detach_params(mod)
        assert [len(weights[name]) for name in ("subgraph_0", "subgraph_1")] == [6, 2]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    value: Any = x.numpy()
    for name in ("subgraph_0", "subgraph_1"):
        found = machine[name](value, *weights.get(name, ()))
        value = found[0] if isinstance(found, list | tuple) else found
    np.testing.assert_allclose(value.numpy(), halves(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def scripted(module: Any, *inputs: Any) -> list[np.ndarray]:
    """The results of a scripted module, after the import."""
    script = torch.jit.script(module.eval())
    infos = [(f"i{n}", tuple(each.shape)) for n, each in enumerate(inputs)]
    mod, params = relay.frontend.from_pytorch(script, infos)
    found = relay.create_executor("graph", mod).evaluate()(*(each.numpy() for each in inputs), **params)
    return [each.numpy() for each in (found if isinstance(found, list | tuple) else [found])]


def test_loops_of_scripts_are_those_of_the_sizes() -> None:
    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Linear(4, 2)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            rows: list[Tensor] = []
            for n in range(x.size(0)):
                rows.append(self.cell(x[n]) * n)
            return torch.stack(rows), rows[-1]

    module, x = Rows(), torch.randn(3, 4)
    for got, wanted in zip(scripted(module, x), module(x), strict=True):
        np.testing.assert_allclose(got, wanted.detach().numpy(), 1e-5, 1e-6)
    script = torch.jit.script(module.eval())
    _, params = relay.frontend.from_pytorch(script, [("x", (3, 4))])
    assert set(params) == {"cell.weight", "cell.bias"}


def test_branches_of_scripts_on_data_are_branches() -> None:
    class Signed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            if bool(x[0, 0] > 0):
                y = self.up(x)
            else:
                y = self.down(x).relu()
            return y * 2

    module = Signed()
    for x in (torch.ones(1, 2), -torch.ones(1, 2)):
        np.testing.assert_allclose(scripted(module, x)[0], module(x).detach().numpy(), 1e-5, 1e-6)


def test_loops_of_scripts_on_data_are_errors() -> None:
    class Grows(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            while bool(x.sum() < 100):
                x = x * 2
            return x

    with pytest.raises(RuntimeError, match="TorchScript interpreter"):
        scripted(Grows(), torch.ones(2))


class _Integers(nn.Module):
    """A model with the operators of quantized networks."""

    def __init__(self) -> None:
        super().__init__()
        ao = torch.ao.quantization
        self.begin, self.end = ao.QuantStub(), ao.DeQuantStub()
        self.first, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()
        self.depth, self.last = nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Linear(8, 5)
        self.sum, self.pair = torch.ao.nn.quantized.FloatFunctional(), torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.first(self.begin(x)))
        y = nn.functional.max_pool2d(self.sum.add(y, self.depth(y)), 2).contiguous()  # hardtanh of QNNPACK needs it
        y = self.pair.cat([y, nn.functional.hardtanh(y, -0.5, 0.5)], 1)
        return self.end(self.last(nn.functional.adaptive_avg_pool2d(y, 1).flatten(1)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("engine", "traces"), [("fbgemm", True), ("qnnpack", True), ("fbgemm", False)])
def test_quantized_models_compute_the_integers_of_pytorch(engine: str, traces: bool) -> None:
    if engine not in torch.backends.quantized.supported_engines:
        pytest.skip(f"PyTorch without {engine}")
    before, torch.backends.quantized.engine = torch.backends.quantized.engine, engine
    try:
        torch.manual_seed(0)
        ao, quantized, x = torch.ao.quantization, _Integers().eval(), torch.randn(4, 3, 6, 6)
        ao.fuse_modules(quantized, [["first", "relu"]], inplace=True)
        quantized.qconfig = ao.get_default_qconfig(engine)
        ao.prepare(quantized, inplace=True)(x)
        ao.convert(quantized, inplace=True)
        script = torch.jit.trace(quantized, x) if traces else torch.jit.script(quantized)
        mod, params = relay.frontend.from_pytorch(script, [("x", tuple(x.shape))])
        later = torch.randn(4, 3, 6, 6)
        found = relay.create_executor("graph", mod).evaluate()(later.numpy(), **params).numpy()
        step = float(quantized.last.scale)
        assert np.abs(found - quantized(later).numpy()).max() < 1.5 * step
    finally:
        torch.backends.quantized.engine = before


@pytest.mark.filterwarnings("ignore")
def test_dynamically_quantized_products() -> None:
    layers = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
    quantized, x = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear}, dtype=torch.qint8), torch.randn(3, 4)
    mod, params = relay.frontend.from_pytorch(torch.jit.trace(quantized, x), [("x", (3, 4))])
    found = relay.create_executor("graph", mod).evaluate()(x.numpy(), **params).numpy()
    np.testing.assert_allclose(found, quantized(x).numpy(), atol=0.02)


def traced(function: Any, *inputs: Any) -> Any:
    """A function of TorchScript."""
    return torch.jit.trace(function, inputs, check_trace=False)


def test_functions_of_torchscript_are_models_without_weights() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    mod, params = relay.frontend.from_pytorch(traced(lambda x: x.reshape(3, 2) + 1, x), [("x", (2, 3))])
    assert params == {}
    assert_near(run_relay(mod, params, ("x", x)), x.reshape(3, 2) + 1)


def test_inputs_have_the_data_types_of_a_trace() -> None:
    x, places = torch.arange(6.0).reshape(2, 3), torch.tensor([1, 0])
    script = traced(lambda x, places: torch.index_select(x, 0, places), x, places)
    mod, params = relay.frontend.from_pytorch(script, [("x", (2, 3)), ("places", (2,))])
    assert [each.type_annotation.dtype for each in mod["main"].params] == ["float32", "int64"]
    assert_near(run_relay(mod, params, ("x", x), ("places", places)), x[[1, 0]])


def test_scripts_may_have_no_inputs() -> None:
    class Numbers(nn.Module):
        def forward(self) -> Tensor:
            return torch.arange(5)

    mod, params = relay.frontend.from_pytorch(torch.jit.trace(Numbers().eval(), ()), [])
    assert_near(run_relay(mod, params), torch.arange(5))


def test_changed_inputs_are_no_results() -> None:
    class Doubling(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x += x
            return x + 1

    mod, params = relay.frontend.from_pytorch(torch.jit.script(Doubling().eval()), [("x", (2,))])
    assert mod["main"].ret_type == relay.TensorType((2,), "float32")
    assert_near(run_relay(mod, params, ("x", torch.ones(2))), torch.full((2,), 3.0))


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_all_elements(name: str) -> None:
    x = torch.tensor([[3.0, -1.0], [2.0, 5.0]])
    mod, params = relay.frontend.from_pytorch(traced(getattr(torch, name), x), [("x", (2, 2))])
    assert_near(run_relay(mod, params, ("x", x)), getattr(torch, name)(x))


def test_masks_select_as_many_elements_as_data_determines() -> None:
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    script = traced(lambda x: (x[x > 1] * 2, torch.nonzero(x), torch.masked_select(x, x < 2)), x)
    mod, params = relay.frontend.from_pytorch(script, [("x", (2, 3))])
    results = relay.create_executor("vm", mod, params=params).evaluate()(x.numpy())
    for actual, expected in zip(results, (x[x > 1] * 2, torch.nonzero(x), x[x < 2]), strict=True):
        assert_near(actual.numpy(), expected)


def test_methods_of_layers_take_tensors_of_torch() -> None:
    nn = relax.frontend.nn
    module = nn.Linear(3, 2)
    types = {"forward": {"x": nn.spec.Tensor((4, 3), "float32")}}
    with pytest.raises(ArgumentError, match="parameter weight has no values"):
        module.jit(types)
    weight, bias, x = torch.randn(2, 3), torch.randn(2), torch.randn(4, 3)
    module.load_state_dict({"weight": weight.numpy(), "bias": bias.numpy()})
    compiled = module.jit(types)
    torch.testing.assert_close(compiled["forward"](x), torch.nn.functional.linear(x, weight, bias))
    shown = module.jit(types, debug=True)
    torch.testing.assert_close(shown["forward"](x), torch.nn.functional.linear(x, weight, bias))
    with pytest.raises(ArgumentError, match="0 arguments, expected those of forward"):
        compiled["forward"]()
    with pytest.raises(ArgumentError, match="no method 'backward', expected one of forward"):
        compiled["backward"]


def test_data_types_of_torch_for_traced_graphs() -> None:
    traced = torch.fx.symbolic_trace(torch.nn.ReLU())
    assert 'R.Tensor((2, 3), dtype="float32")' in from_fx(traced, [((2, 3), torch.float32)]).script()
