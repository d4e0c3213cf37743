"""The JSON that the real TVM 0.27 writes is read as the programs that it printed."""

import json
import subprocess
from pathlib import Path

import pytest

from stepwell.core.errors import StepwellError
from stepwell.frontends import tvm
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.choices import SeededChoices
from stepwell.tools.testing.computations import random_computation

pytestmark = pytest.mark.peer

DATA = Path(__file__).parents[1] / "data"

SAVE = """
import json, sys
import tvm
from tvm.script import from_source

answers = {}
for name, text in json.load(sys.stdin).items():
    try:
        mod = from_source(text)
        answers[name] = mod.script(show_meta=True), tvm.ir.save_json(mod)
    except Exception:  # a limit of TVM (test_tvm.py)
        continue
json.dump(answers, sys.stdout)
"""


def check_reads(python: Path, texts: dict[str, str]) -> None:
    """Compares the modules that TVM saves with those that it prints, for its own text of each. TVM reads most texts."""
    process = subprocess.run([python, "-c", SAVE], input=json.dumps(texts), capture_output=True, text=True, check=True)
    answers = json.loads(process.stdout)
    assert len(answers) > 0.7 * len(texts)
    differences: dict[str, str] = {}
    for name, (script, saved) in answers.items():
        try:
            read, printed = tvm.ir.load_json(saved), parse_tvmscript(script)
        except StepwellError as error:
            differences[name] = str(error)[:600]
            continue
        if read.script() != printed.script() and not tvm.ir.structural_equal(read, tvm.IRModule(printed.op)):
            differences[name] = f"{read.script()}\n{printed.script()}"
    assert differences == {}


def test_the_programs_of_the_corpus_are_read(tvm_python: Path) -> None:
    texts = {path.stem: path.read_text() for path in sorted((DATA / "corpus" / "tvmscript").glob("*.tvm.py"))}
    assert len(texts) == 40
    check_reads(tvm_python, texts)


def test_the_scheduled_programs_are_read(tvm_python: Path) -> None:
    lines = (DATA / "corpus" / "schedules" / "schedules.jsonl").read_text().splitlines()
    texts = {f"{i} {kind}": json.loads(line)[kind] for i, line in enumerate(lines) for kind in ("in", "out")}
    assert len(texts) == 282
    check_reads(tvm_python, texts)


@pytest.mark.fuzz
def test_random_computations_are_read(tvm_python: Path, fuzz_seed: int) -> None:
    seeds = range(fuzz_seed * 100, fuzz_seed * 100 + 100)
    check_reads(tvm_python, {str(seed): random_computation(SeededChoices(seed)).script("0.27") for seed in seeds})
