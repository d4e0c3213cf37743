"""The interpreter, operation by operation, agrees with the oracle. Tensors: test_te.py."""

from typing import Any

from hypothesis import given

from stepwell.module import Module
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import interpreter_results, oracle_results
from stepwell.tools.testing.strategies import programs

Program = tuple[Module, dict[str, Any]]


@given(program=programs(Features(threads=True, libm=True)))
def test_programs_compute_what_the_oracle_computes(program: Program) -> None:
    module, arguments = program
    assert_same(interpreter_results(module, arguments), oracle_results(module, arguments))
