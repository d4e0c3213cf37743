"""Compiled functions and graphs as modules of PyTorch: `tvm.contrib.torch`, `tvm.contrib.dlpack`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stepwell import ArgumentError, OptionError, UnsupportedError  # noqa: E402
from stepwell.frontends import tvm  # noqa: E402
from stepwell.frontends.tvm import te  # noqa: E402
from stepwell.frontends.tvm.contrib import dlpack  # noqa: E402
from stepwell.frontends.tvm.contrib import torch as contrib  # noqa: E402
from stepwell.frontends.tvm.relay.building import GraphExecutorFactoryModule  # noqa: E402
from stepwell.frontends.tvm.script import tir as T  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit")  # PyTorch about itself, in categories that vary


def scaled(factor: float, count: int = 8) -> Any:
    a = te.placeholder((count,), name="A")
    return te.create_prim_func([a, te.compute((count,), lambda i: a[i] * factor, name="B")])


@T.prim_func
def increments(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")) -> None:  # pyright: ignore
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] + T.float32(1)


def test_a_function_is_a_module_that_writes_its_outputs() -> None:
    x, y = torch.arange(8, dtype=torch.float32), torch.zeros(8)
    module = contrib.as_torch(increments)
    assert isinstance(module, torch.nn.Module)
    assert "def increments" in module.script()
    module(x, y)
    torch.testing.assert_close(y, x + 1)
    double = contrib.as_torch(scaled)(2.0)
    double.tune(max_trials_global=2)
    double(x, y)
    torch.testing.assert_close(y, x * 2)
    with pytest.raises(ArgumentError, match="as_torch: int, expected a function"):
        contrib.as_torch(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match="shape"):
        module(x, torch.zeros(7))


def test_a_trace_does_not_record_results() -> None:
    module = contrib.as_torch(increments)
    with pytest.raises(UnsupportedError, match="in a trace of PyTorch"):
        torch.jit.trace(module, (torch.zeros(8), torch.zeros(8)))


def test_a_model_is_optimized_saved_and_loaded(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5))
    model.eval().requires_grad_(False)
    image = torch.randn(1, 3, 8, 8)
    optimized = contrib.optimize_torch(model, image)
    torch.testing.assert_close(optimized(image), model(image), atol=1e-5, rtol=1e-5)
    strided = torch.randn(1, 8, 8, 3).permute(0, 3, 1, 2)
    torch.testing.assert_close(optimized(strided), model(strided), atol=1e-5, rtol=1e-5)
    torch.save(optimized, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    torch.testing.assert_close(loaded(image), model(image), atol=1e-5, rtol=1e-5)
    with pytest.raises(ArgumentError, match="expected"):
        optimized(torch.randn(1, 3, 9, 8))


def test_functions_with_several_outputs_and_measured_schedules() -> None:
    def parts(x: Any, y: Any) -> Any:
        return x @ y, torch.relu(x)

    x, y = torch.randn(4, 8), torch.randn(8, 3)
    optimized = contrib.optimize_torch(parts, (x, y), max_trials_global=4, num_trials_per_iter=2)
    for mine, theirs in zip(optimized(x, y), parts(x, y), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_a_compiled_model_is_in_its_folder(tmp_path: Path) -> None:
    model = torch.nn.Linear(6, 4).eval().requires_grad_(False)
    option = {
        "input_infos": [("x", (2, 6))],
        "target": "llvm",
        "export_dir": str(tmp_path / "compiled"),
        "tuning_n_trials": 0,
        "num_outputs": 1,
    }
    x = torch.randn(2, 6)
    module = contrib.compile(torch.jit.trace(model, x), option)
    torch.testing.assert_close(module(x), model(x))
    assert isinstance(tvm.runtime.load_module(tmp_path / "compiled" / "mod.tar"), GraphExecutorFactoryModule)
    with pytest.raises(OptionError, match="compile: options target, expected input_infos"):
        contrib.compile(model, {"target": "llvm"})
    with pytest.raises(OptionError, match="options input_infos, speed, expected"):
        contrib.compile(model, {"input_infos": [("x", (2, 6))], "speed": 2})


def test_functions_of_tensors_by_dlpack() -> None:
    main = tvm.build(increments)["increments"]
    x, y = torch.arange(8, dtype=torch.float32), torch.zeros(8)
    dlpack.to_pytorch_func(main)(x, y)
    torch.testing.assert_close(y, x + 1)
    seen = dlpack.convert_func(lambda *args: args, torch.Tensor, torch.utils.dlpack.to_dlpack)(x, 3)
    assert seen[1] == 3
    np.testing.assert_array_equal(seen[0].numpy(), x.numpy())


def test_absent_names_say_what_to_use() -> None:
    with pytest.raises(UnsupportedError, match=r"VMModule is absent in Stepwell: tvm\.contrib\.torch\.optimize_torch"):
        contrib.VMModule(1, 1)
