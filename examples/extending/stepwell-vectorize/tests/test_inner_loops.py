"""`vectorize-inner-loops`: the choice of loops, and the equality of results."""

from typing import Any

import pytest
from hypothesis import given, settings

import stepwell
from stepwell.frontends.tvm import lower
from stepwell.frontends.tvm.transform import PassContext
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.programs import copy_arguments
from stepwell.tools.testing.strategies import programs

STORE = """
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in T.{kind}({extent}):
        A[i] = {value}
"""


@pytest.mark.parametrize(
    ("kind", "extent", "value", "vectors"),
    [
        ("serial", 16, "A[i] + 1.0", 1),
        ("serial", 12, "A[i] + 1.0", 0),  # not a multiple of 8
        ("parallel", 16, "A[i] + 1.0", 0),  # not serial
        ("serial", 8, "A[i + 8] + 1.0", 1),
        ("serial", 8, "A[7 - i] + 1.0", 0),  # an iteration reads an element that another iteration writes
    ],
)
def test_loops_with_independent_iterations_become_vectors(kind: str, extent: int, value: str, vectors: int) -> None:
    mod = stepwell.parse_tvmscript(STORE.format(kind=kind, extent=extent, value=value))
    assert stepwell.apply_passes(mod, "vectorize-inner-loops").script().count("T.vectorized") == vectors


def test_the_pass_runs_in_the_lowering_of_tvm() -> None:
    mod = stepwell.parse_tvmscript(STORE.format(kind="serial", extent=16, value="A[i] + 1.0"))
    with PassContext(config={"tir.add_lower_pass": [(1, "vectorize-inner-loops")]}):
        assert "T.Broadcast" in lower(mod).script()


@given(programs())
@settings(deadline=None, max_examples=10)
def test_no_result_changes(program: tuple[stepwell.Module, dict[str, Any]]) -> None:
    mod, arguments = program
    after = stepwell.apply_passes(mod, "vectorize-inner-loops{lanes=2}")
    after.verify()
    results: list[list[Any]] = []
    for variant in (mod, after):
        values = copy_arguments(arguments)
        stepwell.build(variant, target="python")["main"](*values)
        results.append(values)
    for got, expected in zip(*results, strict=True):
        assert same(got, expected)
