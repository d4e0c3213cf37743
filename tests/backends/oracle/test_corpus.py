"""The oracle computes the outputs recorded by a real compiler for its programs."""

from typing import Any

import pytest

from stepwell.backends.oracle import run_oracle
from stepwell.dialects.tir import FuncOp
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.corpus import CorpusProgram, corpus, programs_of_schedules, script_programs

pytestmark = pytest.mark.skipif(corpus() is None, reason="the corpus is not there")


def _cases(programs: list[CorpusProgram]) -> Any:
    return pytest.mark.parametrize("program", programs, ids=lambda p: p.name)


def _check(program: CorpusProgram) -> None:
    """Runs a program with uninitialized outputs, so that a read before a write is detected."""
    module = parse_tvmscript(program.text, filename=f"{program.name}.py")
    (entry,) = module.functions
    func = module.functions[entry]
    assert isinstance(func, FuncOp)
    names = [name for name, _ in func.params]
    outputs = [names[i] for i in program.problem.output_positions()]
    arguments = program.problem.arguments()
    run_oracle(module, entry, arguments, uninitialized=outputs)
    program.problem.check(arguments)


@_cases(script_programs("classic"))
def test_a_script_in_classic_syntax_computes_the_recorded_outputs(program: CorpusProgram) -> None:
    _check(program)


@_cases(script_programs("tvm"))
def test_a_script_in_todays_syntax_computes_the_recorded_outputs(program: CorpusProgram) -> None:
    _check(program)


@_cases(programs_of_schedules("in"))
def test_a_program_computes_the_recorded_outputs_before_its_schedule(program: CorpusProgram) -> None:
    _check(program)


@_cases([p for p in programs_of_schedules("out") if p.right])
def test_a_scheduled_program_computes_the_recorded_outputs(program: CorpusProgram) -> None:
    _check(program)
