"""Mutated and random text yields a program or a diagnostic, and no other outcome."""

from pathlib import Path

import pytest
from hypothesis import settings

from stepwell.tools import fuzz
from stepwell.tools.testing.corpus import programs_of_eras

PROGRAMS = [path.read_text() for path in programs_of_eras()]
_CHUNKS = 20
_PER_CHUNK = settings().max_examples


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_mutated_programs_end_in_a_program_or_a_diagnostic(chunk: int, fuzz_seed: int) -> None:
    first = (fuzz_seed * _CHUNKS + chunk) * _PER_CHUNK
    failures = list(fuzz.run_fuzzer(PROGRAMS, _PER_CHUNK, seed=first))
    assert not failures, "\n\n".join(f"seed {f.seed}\n{f.text}\n{f.error}" for f in failures[:3])


def test_a_seed_makes_the_same_input_again() -> None:
    assert fuzz.make_input(PROGRAMS, 7) == fuzz.make_input(PROGRAMS, 7)
    assert len({fuzz.make_input(PROGRAMS, seed) for seed in range(50)}) > 40


def test_some_inputs_are_programs() -> None:
    """Without valid programs the printer would not be tested."""
    from stepwell.core.errors import ParseError
    from stepwell.frontends.tvmscript import parse_tvmscript

    accepted = 0
    for _, text in fuzz.inputs(PROGRAMS, 100):
        try:
            parse_tvmscript(text)
        except ParseError:
            continue
        accepted += 1
        if accepted == 5:
            return
    pytest.fail(f"{accepted} programs among 100 inputs")


def test_check_tells_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fuzz.check("x = (") is None
    assert fuzz.check(PROGRAMS[0]) is None
    monkeypatch.setattr(fuzz, "parse_tvmscript", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in (fuzz.check("") or "")


def test_the_command_counts_failures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(PROGRAMS[0])
    assert fuzz.main(["--count", "5", "--seed", "3", str(path)]) == 0
    assert capsys.readouterr().out == "5 inputs, 0 failures\n"
