"""Random programs that print: every back end prints the same lines; iterations that run at the same time, in any
order."""

from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from hypothesis import given

from stepwell.backends.build import build
from stepwell.backends.passes import apply_passes
from stepwell.dialects.tir import ForOp
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import interpreter_results, oracle_results, results
from stepwell.tools.testing.strategies import programs

PASSES = "tir-resolve-blocks,tir-vectorize-loops,tir-simplify,tir-unroll-loops"


def printed(run: Any, *arguments: Any) -> list[str]:
    with redirect_stdout(StringIO()) as output:
        run(*arguments)
    return output.getvalue().splitlines()


@given(program=programs(Features(prints=True)))
def test_all_back_ends_print_the_same_lines(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    expected = printed(oracle_results, module, arguments)
    assert printed(interpreter_results, module, arguments) == expected
    ordered = all(op.kind.data != "parallel" for op in module.op.walk() if isinstance(op, ForOp))
    reread = parse_tvmscript(module.script())
    for variant in (module, apply_passes(module, PASSES), reread):
        lines = printed(results, build(variant)["main"], arguments)
        assert lines == expected if ordered else Counter(lines) == Counter(expected)
