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
    with pytest.raises(OptionError, match="expected one of zero, default"):
        relax.get_pipeline("static_shape_tuning")
