"""Transformations allowed by Stepwell and refused by the real TVM 0.27."""

import json
import subprocess
from pathlib import Path

import pytest

from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.legality import CASES

pytestmark = pytest.mark.peer

TRY = """
import json, sys
from tvm.s_tir import Schedule
from tvm.script import from_source

answers = {}
for name, (text, steps) in json.load(sys.stdin).items():
    *lead, last = steps.splitlines()
    scope = {"sch": Schedule(from_source(text))}
    try:
        exec("\\n".join(lead), scope)
        exec(last, scope)
        answers[name] = None
    except Exception as error:
        answers[name] = type(error).__name__
json.dump(answers, sys.stdout)
"""


def ask(python: Path, cases: dict[str, tuple[str, str]]) -> dict[str, str | None]:
    """For each program with steps: TVM's error for the last step, or None."""
    texts = {
        name: (parse_tvmscript(text).script("0.27"), steps.replace("get_block", "get_sblock"))
        for name, (text, steps) in cases.items()
    }
    process = subprocess.run([python, "-c", TRY], input=json.dumps(texts), capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def test_tvm_refuses_every_legal_case_or_allows_the_illegal_one_too(tvm_python: Path) -> None:
    legal = ask(tvm_python, {case.name: (case.legal, case.steps) for case in CASES})
    assert {name for name, error in legal.items() if error is None} == {
        case.name for case in CASES if case.tvm_allows_both
    }
    trusted = {case.name: (case.illegal, case.illegal_steps or case.steps) for case in CASES if case.tvm_allows_both}
    assert set(ask(tvm_python, trusted).values()) == {None}


def test_there_are_fifteen_that_tvm_refuses() -> None:
    assert sum(not case.tvm_allows_both for case in CASES) >= 15
