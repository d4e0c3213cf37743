"""What the real TVM 0.27 refuses of what we allow."""

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


def test_tvm_refuses_every_legal_case(tvm_python: Path) -> None:
    cases = {
        case.name: (parse_tvmscript(case.legal).script("0.27"), case.steps.replace("get_block", "get_sblock"))
        for case in CASES
    }
    process = subprocess.run(
        [tvm_python, "-c", TRY], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    answers = json.loads(process.stdout)
    assert [name for name, error in answers.items() if error is None] == []
    assert set(answers) == set(cases)
