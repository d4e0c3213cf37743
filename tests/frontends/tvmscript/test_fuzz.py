"""Mutated and random text yields a program or a diagnostic, and no other outcome."""

from random import Random

import pytest
from hypothesis import settings

from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.fuzzing import mutation
from stepwell.tools.fuzzing.mutation import check_text, mutate
from stepwell.tools.testing.corpus import programs_of_eras

PROGRAMS = [path.read_text() for path in programs_of_eras()]
_CHUNKS = 20
_PER_CHUNK = settings().max_examples


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_mutated_programs_end_in_a_program_or_a_diagnostic(chunk: int, fuzz_seed: int) -> None:
    first = (fuzz_seed * _CHUNKS + chunk) * _PER_CHUNK
    for seed in range(first, first + _PER_CHUNK):
        text = mutate(Random(seed), PROGRAMS)
        try:
            check_text(text)
        except Exception as error:
            error.add_note(f"seed {seed}\n{text}")
            raise


def test_a_seed_makes_the_same_input_again() -> None:
    assert mutate(Random(7), PROGRAMS) == mutate(Random(7), PROGRAMS)
    assert len({mutate(Random(seed), PROGRAMS) for seed in range(50)}) > 40


def test_some_inputs_are_programs() -> None:
    """Without valid programs the printer would not be tested."""
    accepted = 0
    for seed in range(100):
        try:
            parse_tvmscript(mutate(Random(seed), PROGRAMS))
        except ParseError:
            continue
        accepted += 1
        if accepted == 5:
            return
    pytest.fail(f"{accepted} programs among 100 inputs")


def test_a_check_reports_an_error_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    check_text("x = (")
    check_text(PROGRAMS[0])
    monkeypatch.setattr(mutation, "parse_tvmscript", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        check_text("")
