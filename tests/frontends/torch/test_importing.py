"""Imported programs and modules: names, sizes, weights, and errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stepwell import ArgumentError, Module  # noqa: E402
from stepwell.backends.graph import GraphExecutor, build_graph  # noqa: E402
from stepwell.frontends.torch import ModelUnsupportedError, from_torch, torch_parameters  # noqa: E402
from stepwell.operators.relay import FuncOp, shape_of  # noqa: E402
from stepwell.tools.testing.execution import run_graph  # noqa: E402

Dim = torch.export.Dim
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore:.*:FutureWarning")  # of PyTorch about itself


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return {"logits": self.layers(x) + self.shift, "hidden": [x * 2]}


class Apply(nn.Module):
    """The module of a function."""

    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def entry(module: Module) -> FuncOp:
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    return func


def parameters(module: Module) -> dict[str, tuple[Any, ...]]:
    """The shape of each parameter by name."""
    return {name: tuple(shape_of(value)) for name, value in entry(module).params}


def imported(function: Any, *args: Any, **options: Any) -> Module:
    return from_torch(Apply(function).eval(), args, **options)


def check(module: Any, *args: Any, **options: Any) -> None:
    """Asserts that a compiled module agrees with PyTorch."""
    executable = build_graph(from_torch(module, args, **options))
    expected = torch.utils._pytree.tree_leaves(module(*args))
    for got, want in zip(run_graph(executable, [each.numpy() for each in args]), expected, strict=True):
        np.testing.assert_allclose(got, want.detach().numpy(), 1e-5, 1e-6)


def test_a_module_and_its_program_are_the_same_graph() -> None:
    model, x = Classifier().eval(), torch.randn(2, 4)
    program = torch.export.export(model, (x,))
    assert str(from_torch(program)) == str(from_torch(model, (x,)))
    assert parameters(from_torch(program)) == {"x": (2, 4)}
    check(model, x)


def test_outputs_have_the_names_of_their_places() -> None:
    executor = GraphExecutor(build_graph(from_torch(Classifier().eval(), (torch.randn(2, 4),))))
    executor.run(x=np.ones((2, 4), "float32"))
    assert [output.name for output in executor.executable.outputs] == ["logits", "hidden.0"]


def test_weights_have_their_names_and_are_not_copied() -> None:
    model = Classifier().eval()
    constants = from_torch(model, (torch.randn(2, 4),)).constants
    assert {"layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias", "shift"} <= set(constants)
    assert np.shares_memory(constants["layers.0.weight"], model.layers[0].weight.detach().numpy())


def test_weights_as_parameters() -> None:
    model, x = Classifier().eval(), torch.randn(2, 4)
    module = from_torch(model, (x,), keep_parameters=True)
    weights = torch_parameters(model)
    assert list(parameters(module)) == ["x", *weights]
    assert torch_parameters(torch.export.export(model, (x,))).keys() == weights.keys()
    executor = GraphExecutor(build_graph(module))
    executor.run(x=x.numpy(), **weights)
    np.testing.assert_allclose(executor.get_output(0), model(x)["logits"].detach().numpy(), 1e-5, 1e-6)


def test_keyword_arguments() -> None:
    module = from_torch(Apply(lambda x, scale: x * scale).eval(), (torch.ones(2),), {"scale": torch.ones(2)})
    assert len(parameters(module)) == 2


def test_numbers_among_the_arguments_are_constants() -> None:
    module = imported(lambda x, factor: x * factor, torch.ones(2), 3)
    assert len(parameters(module)) == 1


def test_a_buffer_that_the_model_changes_is_a_parameter_and_a_result() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count.add_(1)
            return x + self.count

    module = from_torch(Counter().eval(), (torch.ones(2),))
    assert list(parameters(module)) == ["x", "count"]
    executor = GraphExecutor(build_graph(module))
    executor.run(x=np.ones(2, "float32"), count=np.float32(4))
    assert [executor.get_output(n).tolist() for n in range(2)] == [[6, 6], 5]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "uint8", "bool"])
def test_data_types(dtype: str) -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("constant", torch.tensor([0, 1, 1]).to(getattr(torch, dtype)))

        def forward(self, x: Any) -> Any:
            return torch.cat([x, self.constant])

    model = Constant().eval()
    module = from_torch(model, (model.constant.clone(),))
    array = module.constants["constant"]
    assert array.dtype.name == dtype
    assert run_graph(build_graph(module), [array])[0].tolist() == [0, 1, 1, 0, 1, 1]


# Dynamic sizes


def test_dynamic_sizes_keep_their_names() -> None:
    x = torch.randn(2, 5, 4)
    model = Apply(lambda x: (x.reshape(x.shape[0], -1), x.sum(1), torch.cat([x, x], 1))).eval()
    shapes = ({0: Dim("batch"), 1: Dim("length", max=64)},)
    module = from_torch(model, (x,), dynamic_shapes=(shapes,))
    assert parameters(module) == {"args_0": ("batch", "length", 4)}
    executable = build_graph(module)
    for batch, length in ((2, 5), (3, 1), (1, 7)):
        x = torch.randn(batch, length, 4)
        for got, want in zip(run_graph(executable, [x.numpy()]), model(x), strict=True):
            np.testing.assert_allclose(got, want.numpy(), 1e-5, 1e-6)


def test_bounds_of_dynamic_sizes_are_checked() -> None:
    shapes = (({0: Dim("n", min=2, max=8)},),)
    executable = build_graph(imported(lambda x: x + 1, torch.ones(4), dynamic_shapes=shapes))
    with pytest.raises(ArgumentError, match="n"):
        run_graph(executable, [np.ones(9, "float32")])


def test_a_variance_along_a_dynamic_size() -> None:
    model = Apply(lambda x: x.var(0)).eval()
    executable = build_graph(from_torch(model, (torch.randn(4, 3),), dynamic_shapes=(({0: Dim("n")},),)))
    x = torch.randn(9, 3)
    np.testing.assert_allclose(run_graph(executable, [x.numpy()])[0], model(x).numpy(), 1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.mm(x.view(-1, 4), torch.eye(4)).view(x.shape[0], x.shape[1], 4),
        lambda x: x.permute(2, 0, 1).reshape(4, -1).view(4, x.shape[0], x.shape[1]) + 1,
        lambda x: x.flatten().view(x.shape[0], x.shape[1], 2, 2),
    ],
)
def test_a_product_of_dynamic_sizes_is_split(function: Any) -> None:
    model = Apply(function).eval()
    shapes = (({0: Dim("b", min=1), 1: Dim("n", min=1)},),)
    executable = build_graph(from_torch(model, (torch.randn(2, 5, 4),), dynamic_shapes=shapes))
    for b, n in ((3, 2), (1, 7)):
        x = torch.randn(b, n, 4)
        np.testing.assert_allclose(run_graph(executable, [x.numpy()])[0], model(x).numpy(), 1e-6)


# Errors


def test_operators_without_an_importer_are_listed_with_their_places() -> None:
    class Decompose(nn.Module):
        def forward(self, x: Any) -> Any:
            factor = torch.linalg.cholesky_ex(x)[0]
            return factor + torch.linalg.qr(x)[0]

    place = rf"{Path(__file__).name}:\d+, in forward: "
    with pytest.raises(ModelUnsupportedError, match="operators that are not supported: ") as caught:
        from_torch(Decompose().eval(), (torch.eye(3),))
    caught.match(rf"aten\.linalg_cholesky_ex\.default at .*{place}factor = torch")
    caught.match(rf"aten\.linalg_qr\.default at .*{place}return factor")
    caught.match(r"expected one of the \d+ operators of docs/torch.md")


def test_an_unsupported_argument_is_named_with_its_place() -> None:
    with pytest.raises(ModelUnsupportedError, match=rf"aten\.\w+\.\w+ at .*{Path(__file__).name}:\d+.*: the indices"):
        imported(lambda x: nn.functional.adaptive_max_pool2d(x, 2, return_indices=True), torch.ones(1, 1, 4, 4))


def test_tensors_of_complex_numbers_are_rejected() -> None:
    with pytest.raises(ModelUnsupportedError, match="input 'args_0': tensors of complex64 are not supported"):
        imported(lambda x: x * 2, torch.ones(3, dtype=torch.complex64))


@pytest.mark.parametrize(
    ("model", "args", "options", "error"),
    [
        (lambda x: x, (), {}, "a function, expected an ExportedProgram or a torch.nn.Module"),
        (nn.ReLU().eval(), (), {}, r"a module without example inputs, expected from_torch\(module, \(input, ...\)\)"),
        (nn.ReLU(), (torch.ones(2),), {}, "a module in training mode, expected one in evaluation mode"),
        (
            torch.export.export(nn.ReLU().eval(), (torch.ones(2),)),
            (torch.ones(2),),
            {},
            "an ExportedProgram has its inputs and shapes, expected no example inputs",
        ),
    ],
)
def test_other_models_are_rejected(model: Any, args: Any, options: Any, error: str) -> None:
    with pytest.raises(ArgumentError, match=error):
        from_torch(model, args, **options)


def test_sparse_weights_are_rejected() -> None:
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.eye(2).to_sparse())

        def forward(self, x: Any) -> Any:
            return torch.sparse.mm(self.weight, x)

    with pytest.raises(ModelUnsupportedError, match="sparse"):
        from_torch(Sparse().eval(), (torch.ones(2, 2),))
