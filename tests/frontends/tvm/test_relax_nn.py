"""Models as modules of layers: `tvm.relax.frontend.nn`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError, OptionError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax.frontend import nn

RNG = np.random.default_rng(0)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 8)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(8, 3, bias=False)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.relu1(self.fc1(x)))

    def both(self, x: Any) -> Any:
        hidden = self.fc1(x)
        return hidden, hidden.reshape(hidden.shape[1], hidden.shape[0]) * 2.0


def run(mod: Any, function: str, x: Any, params: list[tuple[str, nn.Parameter]]) -> tuple[Any, dict[str, Any]]:
    """The result of a function of a program for random parameters, and these by name."""
    values = {name: RNG.standard_normal(param.shape).astype(param.dtype) for name, param in params}
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    return machine[function](x, *values.values()), values


@pytest.mark.parametrize("pipeline", [None, "zero"])
@pytest.mark.parametrize("rows", [4, "n"])
def test_a_model_is_exported(rows: Any, pipeline: str | None) -> None:
    mod, params = Mlp().export_tvm({"forward": {"x": nn.spec.Tensor((rows, 6), "float32")}})
    assert [name for name, _ in params] == ["fc1.weight", "fc1.bias", "fc2.weight"]
    mod = mod if pipeline is None else relax.get_pipeline(pipeline)(mod)
    x = RNG.standard_normal((4, 6)).astype("float32")
    result, values = run(mod, "forward", x, params)
    hidden = np.maximum(x @ values["fc1.weight"].T + values["fc1.bias"], 0)
    np.testing.assert_allclose(result.numpy(), hidden @ values["fc2.weight"].T, rtol=1e-4, atol=1e-5)


def test_functions_take_and_return_the_state_of_input_and_output() -> None:
    spec = {
        "forward": {"x": nn.spec.Tensor((2, 4), "float32")},
        "apart": {"x": nn.spec.Tensor((2, 4), "float32"), "$": {"effect_mode": "none"}},
    }
    mod, params, extern = Affine().export_tvm(spec, debug=True, allow_extern=True)
    assert ([name for name, _ in params], extern) == (["fc.weight", "fc.bias"], [])
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    x, w, b = np.ones((2, 4), "float32"), np.ones((3, 4), "float32"), np.ones(3, "float32")
    states = vm["_initialize_effect"]()
    result, after = vm["forward"](x, *states, w, b)
    assert len(states) == len(after) == 1
    assert (result.numpy() == 5).all()
    assert (vm["apart"](x, w, b).numpy() == 5).all()


class Affine(nn.Module):
    def __init__(self) -> None:
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.fc(x)

    apart = forward


def test_a_method_has_several_results() -> None:
    mod, params = Mlp().export_tvm({"both": {"x": nn.spec.Tensor((4, 6))}})
    x = RNG.standard_normal((4, 6)).astype("float32")
    results, values = run(mod, "both", x, params)
    hidden = x @ values["fc1.weight"].T + values["fc1.bias"]
    np.testing.assert_allclose(results[0].numpy(), hidden, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(results[1].numpy(), 2 * hidden.reshape(8, 4), rtol=1e-4, atol=1e-5)


def test_layers() -> None:
    model = nn.ModuleList([nn.Embedding(10, 4), nn.LayerNorm(4), nn.SiLU(), nn.Identity()])
    mod, params = model.export_tvm({"forward": {"x": nn.spec.Tensor((3,), "int32")}})
    assert [name for name, _ in params] == ["0.weight", "1.weight", "1.bias"]
    x = np.array([1, 9, 0], np.int32)
    result, values = run(mod, "forward", x, params)
    rows = values["0.weight"][x]
    normal = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
    scaled = normal * values["1.weight"] + values["1.bias"]
    np.testing.assert_allclose(result.numpy(), scaled / (1 + np.exp(-scaled)), rtol=1e-4, atol=1e-5)


def test_images() -> None:
    mod, params = nn.Conv2D(3, 2, 1).export_tvm({"forward": {"x": nn.spec.Tensor((1, 3, 4, 4))}})
    x = RNG.standard_normal((1, 3, 4, 4)).astype("float32")
    result, values = run(mod, "forward", x, params)
    expected = np.einsum("nchw,oc->nohw", x, values["weight"][:, :, 0, 0]) + values["bias"][:, None, None]
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_errors() -> None:
    with pytest.raises(ArgumentError, match="Mlp has no method 'prefill'"):
        Mlp().export_tvm({"prefill": {}})
    with pytest.raises(OptionError, match="expected one of zero, static_shape_tuning, default"):
        relax.get_pipeline("other")
    with pytest.raises(OptionError, match=r"'static_shape_tuning' with options .*'total_trials'"):
        relax.get_pipeline("static_shape_tuning")


def applied(function: Any, *arrays: Any) -> list[Any]:
    """The results of a function of tensors for arrays, as a program."""

    class Apply(nn.Module):
        def forward(self, **inputs: Any) -> Any:
            result = function(*inputs.values())
            return result if isinstance(result, tuple) else (result,)

    types = {f"x{n}": nn.spec.Tensor(each.shape, str(each.dtype)) for n, each in enumerate(arrays)}
    mod, _ = Apply().export_tvm({"forward": types})
    return [each.numpy() for each in relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())["forward"](*arrays)]


def floats(values: Any) -> Any:
    return np.array(values, np.float32)


SIGNAL = RNG.standard_normal((2, 4, 9)).astype("float32")
SLOPES = floats([1, 2, 3, 4])
IMAGE = RNG.standard_normal((2, 4, 5, 3)).astype("float32")


@pytest.mark.parametrize(
    ("function", "arrays", "expected"),
    [
        (nn.op.log, [abs(SIGNAL)], np.log(abs(SIGNAL))),
        (nn.op.floor, [SIGNAL], np.floor(SIGNAL)),
        (lambda x: nn.softplus(x, beta=2.0), [SIGNAL], np.log1p(np.exp(2 * SIGNAL)) / 2),
        (nn.prelu, [SIGNAL, SLOPES], np.where(SIGNAL > 0, 1, SLOPES[:, None]) * SIGNAL),
        (lambda x: x + nn.full((9,), 2.0), [SIGNAL], SIGNAL + 2),
        (lambda x: x + nn.op.arange(9), [SIGNAL], SIGNAL + np.arange(9)),
        (lambda x: nn.op.pad(x, [0, 0, 1, 0, 0, 2]), [SIGNAL], np.pad(SIGNAL, [(0, 0), (1, 0), (0, 2)])),
        (lambda x: nn.op.cumsum(x, 1), [SIGNAL], np.cumsum(SIGNAL, 1)),
        (lambda x: nn.op.sort(x, descending=True), [SIGNAL], -np.sort(-SIGNAL)),
        (nn.op.argsort, [SIGNAL], np.argsort(SIGNAL)),
        (lambda x: nn.op.topk(x, 2)[0], [SIGNAL], -np.sort(-SIGNAL)[..., :2]),
        (lambda x: nn.op.interpolate(x, scale_factor=2), [IMAGE], IMAGE.repeat(2, 2).repeat(2, 3)),
    ],
)  # fmt: skip
def test_operators_on_tensors(function: Any, arrays: list[Any], expected: Any) -> None:
    np.testing.assert_allclose(applied(function, *arrays)[0], expected, rtol=1e-4, atol=1e-5)


def test_normalization_and_attention() -> None:
    (found,) = applied(lambda x: nn.op.group_norm(x, 2, None, None), SIGNAL)
    groups = SIGNAL.reshape(2, 2, -1)
    scaled = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, scaled.reshape(SIGNAL.shape), rtol=1e-3, atol=1e-4)
    (found,) = applied(lambda q: nn.op.scaled_dot_product_attention(q, q, q, is_causal=True), IMAGE)
    np.testing.assert_allclose(found[:, 0], IMAGE[:, 0], rtol=1e-4, atol=1e-5)
    (steps,) = applied(lambda x: nn.op.get_timestep_embedding(x, 5), floats([0, 1]))
    np.testing.assert_allclose(steps, [[0, 0, 1, 1, 0], [np.sin(1), 1e-4, np.cos(1), 1, 0]], atol=1e-4)


def test_convolutions_of_signals() -> None:
    model = nn.ModuleDict({"same": nn.Conv1D(4, 6, 3, padding=1), "grown": nn.ConvTranspose1D(6, 2, 2, stride=2)})

    class Both(nn.Module):
        def __init__(self) -> None:
            self.layers = model

        def forward(self, x: Any) -> Any:
            return self.layers["grown"](self.layers["same"](x))

    mod, params = Both().export_tvm({"forward": {"x": nn.spec.Tensor(SIGNAL.shape)}})
    assert [name for name, _ in params][:2] == ["layers.same.weight", "layers.same.bias"]
    result, values = run(mod, "forward", SIGNAL, params)
    padded = np.pad(SIGNAL, [(0, 0), (0, 0), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3, 2)
    weight, bias, grown, last = values.values()
    hidden = np.einsum("ncwk,ock->now", windows, weight) + bias[:, None]
    expected = np.einsum("ncw,cok->nowk", hidden, grown).reshape(2, 2, 18) + last[:, None]
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-3, atol=1e-4)
    volume, params = nn.Conv3D(1, 2, 2).export_tvm({"forward": {"x": nn.spec.Tensor((1, 1, 3, 3, 3))}})
    x = RNG.standard_normal((1, 1, 3, 3, 3)).astype("float32")
    result, values = run(volume, "forward", x, params)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2, 2), (2, 3, 4))
    expected = np.einsum("nczyxijk,ocijk->nozyx", windows, values["weight"]) + values["bias"][:, None, None, None]
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-3, atol=1e-4)


def test_samples_of_the_most_probable_classes() -> None:
    probs = floats([[0.1, 0.4, 0.5], [0.3, 0.3, 0.4]])
    ordered, order = floats([[0.5, 0.4, 0.1], [0.4, 0.3, 0.3]]), np.array([[2, 1, 0], [2, 0, 1]])
    top_p, top_k = floats([[0.6], [0.9]]), np.array([[3], [2]])
    numbers = floats([[0.5], [0.6]])
    (drawn,) = applied(nn.op.sample_top_p_top_k_from_sorted_prob, ordered, order, top_p, top_k, numbers)
    assert drawn.tolist() == [[2], [0]]
    (left,) = applied(nn.renormalize_top_p_top_k_prob, probs, ordered, top_p, top_k)
    np.testing.assert_allclose(left, [[0, 4 / 9, 5 / 9], [0.3, 0.3, 0.4]], rtol=1e-5)
    (drawn,) = applied(nn.multinomial_from_uniform, floats([[0.2, 0.3, 0.5], [0.3, 0.4, 0.3]]), floats([[0.4], [0.9]]))
    assert drawn.tolist() == [[1], [2]]


def test_packed_functions_of_models() -> None:
    tvm.register_func("tests.nn.double", lambda x, out: out.copyfrom(2 * x.numpy()), override=True)
    doubles = nn.ExternModule({"tests.nn.double": lambda x: nn.Tensor.placeholder(x.shape, x.dtype)})
    doubles.load()
    np.testing.assert_allclose(applied(lambda x: doubles["tests.nn.double"](x), SIGNAL)[0], 2 * SIGNAL)
    with pytest.raises(ArgumentError, match="function 'nothing', expected tests"):
        doubles["nothing"]


def test_types_of_arguments_are_objects() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter((2,), "float32")

        def forward(self, x: Any, n: Any) -> Any:
            return nn.op.add(x, self.weight)

    module = Sum()
    raw = {"forward": {"x": nn.spec.Tensor((3, 2)), "n": int, "$": {"param_mode": "packed"}}}
    spec = nn.spec.ModuleSpec.from_raw(raw, module)
    assert str(module.export_tvm(spec)[0]) == str(module.export_tvm(raw)[0])
    assert (spec.method_names, spec.method_specs[0].param_mode) == (["forward"], "packed")
    method = nn.spec.MethodSpec.from_torch([np.zeros((3, 2), "float32"), 4], module.forward)
    assert str(method) == f"MethodSpec(x: {nn.spec.Tensor([3, 2])}, n: {nn.spec.Int()})"
    assert str(module.export_tvm({"forward": method})[0]) == str(
        module.export_tvm({"forward": {"x": nn.spec.Tensor((3, 2)), "n": int}})[0]
    )
    with pytest.raises(OptionError, match="param_mode 'all', expected one of plain, packed, none"):
        nn.spec.MethodSpec(module.forward, [], [], "all")
    with pytest.raises(ArgumentError, match="from_torch: 1 arguments, expected 2: x, n"):
        nn.spec.MethodSpec.from_torch([4], module.forward)


def test_parts_of_modules_are_replaced() -> None:
    seen: list[str] = []

    class Wider(nn.Mutator):
        def visit_module(self, name: str, node: Any) -> Any:
            seen.append(name)
            return nn.Linear(node.in_features, 8) if isinstance(node, nn.Linear) else self.visit(name, node)

        def visit_param(self, name: str, node: Any) -> Any:
            seen.append(name)
            return nn.Parameter((5,), "float32")

    class Model(nn.Module):
        def __init__(self) -> None:
            self.layers = nn.ModuleList([nn.Linear(2, 3), nn.ReLU()])
            self.named = nn.ModuleDict({"last": nn.Linear(3, 4)})
            self.bias = nn.Parameter((3,), "float32")

    model = Wider().visit("", Model())
    assert seen == ["layers.0", "layers.1", "named.last", "bias"]
    assert [model.layers[0].out_features, model.named["last"].out_features, model.bias.shape] == [8, 8, [5]]
