"""`torch.compile(backend="stepwell")`."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stepwell import OptionError  # noqa: E402
from stepwell.frontends.torch.tensors import array_of_tensor  # noqa: E402
from stepwell.tools.torch_backend import CompiledGraph, compile_graph  # noqa: E402

nn = torch.nn
CompileError = torch._dynamo.exc.BackendCompilerFailed


@pytest.fixture(autouse=True)
def fresh_compiler() -> None:
    torch.compiler.reset()


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, backend="stepwell", fullgraph=True, options=options or None)


def check(model: Any, *args: Any, **options: Any) -> None:
    with torch.inference_mode():
        torch.testing.assert_close(compiled(model, **options)(*args), model(*args))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Any) -> Any:
        return x + self.norm(self.conv(x)).relu()


def test_the_backend_is_found_by_name() -> None:
    assert "stepwell" in torch.compiler.list_backends()


@pytest.mark.parametrize("freeze", [False, True])
def test_a_model(freeze: bool) -> None:
    check(Residual().eval(), torch.randn(2, 3, 5, 5), freeze=freeze)


def test_structures_of_results_and_arguments() -> None:
    def function(x: Any, more: Any, factor: int) -> Any:
        return {"sum": x + more["y"], "rest": (x * factor, None, 3)}

    x = torch.ones(2, 3)
    with torch.inference_mode():
        got = compiled(function)(x, {"y": x}, 2)
    assert got["rest"][1:] == (None, 3)
    torch.testing.assert_close((got["sum"], got["rest"][0]), (2 * x, 2 * x))


def test_changed_weights_are_read() -> None:
    model, x = nn.Linear(3, 2).eval(), torch.ones(1, 3)
    run = compiled(model)
    with torch.inference_mode():
        run(x)
        model.weight.zero_()
        torch.testing.assert_close(run(x), model.bias[None])


def test_arguments_and_buffers_that_change() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.count += x
            x.mul_(2)
            return self.count * 1

    model, x = Counter().eval(), torch.ones(2)
    run = compiled(model)
    with torch.no_grad():
        assert run(x).tolist() == [1, 1]
        assert run(x).tolist() == [3, 3]
    assert x.tolist() == [4, 4]
    assert model.count.tolist() == [3, 3]


def test_dynamic_sizes_are_compiled_once() -> None:
    run = torch.compile(lambda x: x.softmax(-1).sum(0), backend="stepwell", fullgraph=True, dynamic=True)
    counts: list[int] = []
    for length in (3, 5, 8):
        x = torch.randn(length, 4)
        with torch.inference_mode():
            torch.testing.assert_close(run(x), x.softmax(-1).sum(0))
        counts.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert len(set(counts)) == 1


def test_inputs_that_are_not_contiguous_and_views() -> None:
    x = torch.randn(4, 3)
    check(lambda x: x + 1, x.T)
    check(lambda x: x * 2, x[::2, 1:])
    check(lambda x: (x.T, x[1:] + 0), x)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool"])
def test_data_types(dtype: str) -> None:
    check(lambda x: torch.where(x > 0, x, x), torch.tensor([0, 1, 1]).to(getattr(torch, dtype)))


def test_inputs_and_outputs_are_not_copied() -> None:
    seen: list[Any] = []

    def record(arrays: Any, allocate: Any) -> dict[str, int]:
        seen.extend(arrays)
        seen.append(allocate(Spec, (2,)))
        return {}

    class Spec:
        dtype = "float32"

    x = torch.ones(2)
    function: Any = record
    (output,) = CompiledGraph(function, [0], {}, {})([x])
    assert np.shares_memory(seen[0], x.numpy())
    assert np.shares_memory(seen[1], array_of_tensor(output))


# Errors


def test_training_is_refused() -> None:
    with pytest.raises(
        CompileError, match=r"a graph with gradients, expected inference: call the model in torch.no_gr"
    ):
        compiled(nn.Linear(2, 2))(torch.ones(1, 2))


def test_unsupported_operators_are_named() -> None:
    with pytest.raises(CompileError, match=r"not supported: aten\.rand\.default"), torch.no_grad():
        compiled(torch.bernoulli)(torch.ones(2))


def test_other_options_are_refused() -> None:
    with pytest.raises(OptionError, match="options fold, expected freeze, opt_level, target"):
        compile_graph(None, (), options={"fold": 1})


def test_a_frozen_parameter_must_not_change() -> None:
    class Changing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.weight.add_(1)
            return x + self.weight

    with pytest.raises(CompileError, match="the model changes one of its parameters"), torch.no_grad():
        compiled(Changing().eval(), freeze=True)(torch.ones(2))
