"""The interpreter, operation by operation, agrees with the oracle. Tensors: test_te.py."""

from typing import Any

from hypothesis import given

from stepwell.backends.interpreter import interpret
from stepwell.backends.oracle import run_oracle
from stepwell.module import Module
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.programs import copy_arguments
from stepwell.tools.testing.strategies import programs

Program = tuple[Module, dict[str, Any]]


@given(program=programs(Features(threads=True, libm=True)))
def test_programs_compute_what_the_oracle_computes(program: Program) -> None:
    mod, arguments = program
    found: list[list[Any]] = []
    for run in (run_oracle, interpret):
        values = copy_arguments(arguments)
        result = run(mod, "main", values)
        found.append([*values, 0 if result is None else result])
    assert all(same(a, b) for a, b in zip(*found, strict=True))
