"""Random modules compute the results of PyTorch by each route to native code."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given

torch = pytest.importorskip("torch")

from stepwell.backends.graph import build_graph  # noqa: E402
from stepwell.frontends.torch import ModelUnsupportedError, from_torch  # noqa: E402
from stepwell.tools.testing.execution import interpret_graph, run_graph  # noqa: E402
from stepwell.tools.testing.torch_programs import RandomProgram, torch_programs  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch about itself


def assert_near(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    for got, want in zip(actual, expected, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        scale = max(float(np.abs(want).max(initial=0)), 1.0)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5 * scale)


def arrays(tensors: Sequence[Any]) -> list[Any]:
    return [tensor.numpy() for tensor in tensors]


@given(program=torch_programs())
def test_an_imported_module_computes_the_results_of_torch(program: RandomProgram) -> None:
    module = from_torch(program.module, program.inputs)
    assert_near(interpret_graph(module, arrays(program.inputs)), arrays(program.expected))
    assert_near(run_graph(build_graph(module), arrays(program.inputs)), arrays(program.expected))


@given(program=torch_programs())
def test_a_module_of_dynamic_sizes_computes_the_results_of_torch(program: RandomProgram) -> None:
    """PyTorch decides which sizes stay dynamic."""
    dynamic = [dict.fromkeys(range(tensor.ndim), torch.export.Dim.AUTO) for tensor in program.inputs]
    try:
        module = from_torch(program.module, program.inputs, dynamic_shapes=tuple(dynamic))
    except ModelUnsupportedError:  # sizes whose equality only a run knows
        return
    assert_near(interpret_graph(module, arrays(program.inputs)), arrays(program.expected))


@given(program=torch_programs())
def test_a_compiled_module_computes_the_results_of_torch(program: RandomProgram) -> None:
    torch.compiler.reset()
    with torch.no_grad():
        actual = torch.compile(program.module, backend="stepwell", fullgraph=True)(*program.inputs)
    assert_near(arrays(actual), arrays(program.expected))


@given(program=torch_programs())
def test_a_traced_module_computes_the_results_of_torch(program: RandomProgram) -> None:
    script = torch.jit.trace(program.module, program.inputs, check_trace=False)
    module = from_torch(script, program.inputs)
    assert_near(interpret_graph(module, arrays(program.inputs)), arrays(program.expected))
