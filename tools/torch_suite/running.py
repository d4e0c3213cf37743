"""The errors of a model by each route from PyTorch to native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...backends.graph import GraphExecutor, build_graph
from ...frontends.torch import from_torch
from ...frontends.torch.library import torch
from .models import Case

ROUTES = ("from_torch", "torch.compile")
ROUNDING = "PyTorch"
"""The route of PyTorch's own results, which are compared with those in float64."""
TOLERANCE = 1e-4
"""The greatest error of a model that PyTorch itself computes more precisely."""


def measure_all(case: Case) -> dict[str, float | str | None]:
    """The errors of a model by each route; if one is greater than `TOLERANCE`, also that of PyTorch by `ROUNDING`,
    which is None else."""
    errors: dict[str, float | str | None] = {route: measure(case, route) for route in ROUTES}
    is_great = any(isinstance(error, float) and error > TOLERANCE for error in errors.values())
    return errors | {ROUNDING: _rounding(case) if is_great else None}


def measure(case: Case, route: str) -> float | str:
    """The greatest difference from PyTorch's outputs, relative to the greatest element of the output; the error of a
    model that does not run."""
    torch.manual_seed(0)
    model, inputs = case.make()
    with torch.no_grad():
        expected = _tensors(model(**inputs))
        try:
            actual = _run_export(model, inputs) if route == "from_torch" else _run_compile(model, inputs)
        except Exception as error:
            cause = getattr(error, "inner_exception", error)  # of an error of PyTorch about the backend
            return f"{type(cause).__name__}: {str(cause).strip().splitlines()[0]}"
    return max(_difference(a, b) for a, b in zip(actual, expected, strict=True))


def _rounding(case: Case) -> float:
    """The greatest difference of PyTorch's outputs from those that it computes in float64, relative as of `measure`."""
    torch.manual_seed(0)
    model, inputs = case.make()
    with torch.no_grad():
        rounded = _tensors(model(**inputs))
        wide = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()}
        exact = _tensors(model.double()(**wide))
    return max(_difference(a.astype(b.dtype), b) for a, b in zip(rounded, exact, strict=True))


def _difference(actual: Any, expected: Any) -> float:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise TypeError(f"{actual.dtype} of {actual.shape}, expected {expected.dtype} of {expected.shape}")
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), np.finfo("float32").tiny))


def _run_export(model: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    executor = GraphExecutor(build_graph(from_torch(model, (), inputs)))
    executor.run(**{name: tensor.numpy() for name, tensor in inputs.items()})
    return [executor.get_output(n) for n in range(executor.num_outputs)]


def _run_compile(model: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    return _tensors(torch.compile(model, backend="stepwell", fullgraph=True)(**inputs))


def _tensors(outputs: Any) -> list[Any]:
    """The tensors of a result as arrays, in order."""
    leaves = torch.utils._pytree.tree_leaves(outputs)  # pyright: ignore[reportPrivateUsage]
    return [leaf.numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]
