"""The vectorizing pass of examples/ produces the same program in TVM's form and as a rewrite pattern."""

import runpy
from pathlib import Path

import pytest

import stepwell.frontends.tvm as tvm
from stepwell.tools.testing.equivalence import program_difference
from stepwell.transforms.pipelines import run_pipeline

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_pass_written_both_ways_makes_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "extending" / "stepwell-vectorize"))
    pattern = runpy.run_module("vectorize.inner_loops")["VectorizeInnerLoopsPass"]
    names = runpy.run_path(str(EXAMPLES / "vectorize_tvms_way.py"))
    mod = tvm.lower(names["main"])
    ours = run_pipeline(mod, [pattern()])
    theirs = names["vectorize"](mod)
    assert "T.vectorized(8)" in theirs.script()
    assert program_difference(ours, theirs) is None
