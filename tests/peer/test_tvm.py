"""The real TVM 0.27 parses Stepwell's text in TVM's syntax."""

import json
import subprocess
from pathlib import Path

import pytest

from stepwell.core.errors import UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.choices import SeededChoices
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.programs import random_module

pytestmark = pytest.mark.peer

DATA = Path(__file__).parents[1] / "data"

READ = """
import json, sys
from tvm.ir import assert_structural_equal
from tvm.script import from_source

answers = {}
for name, (ours, theirs) in json.load(sys.stdin).items():
    try:
        module = from_source(ours)
        if theirs is not None:
            assert_structural_equal(module, from_source(theirs))
        answers[name] = None, module.script(show_meta=True)
    except Exception as error:
        answers[name] = str(error), ""
json.dump(answers, sys.stdout)
"""


def ask(python: Path, texts: dict[str, tuple[str, str | None]]) -> dict[str, tuple[str | None, str]]:
    """For each text of Stepwell, with the TVM text of its origin: TVM's error or None, and TVM's print of the text."""
    process = subprocess.run([python, "-c", READ], input=json.dumps(texts), capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def objections(answers: dict[str, tuple[str | None, str]]) -> dict[str, str]:
    return {name: objection for name, (objection, _) in answers.items() if objection is not None}


def test_tvm_reads_every_program_of_the_corpus_as_the_one_it_printed(tvm_python: Path):
    theirs = {path.stem: path.read_text() for path in sorted((DATA / "corpus" / "tvmscript").glob("*.tvm.py"))}
    texts: dict[str, tuple[str, str | None]] = {n: (parse_tvmscript(t).script("0.27"), t) for n, t in theirs.items()}
    assert len(texts) == 40
    assert objections(ask(tvm_python, texts)) == {}


def test_tvm_reads_every_scheduled_program_as_the_one_it_printed(tvm_python: Path):
    lines = (DATA / "corpus" / "schedules" / "schedules.jsonl").read_text().splitlines()
    theirs = {f"{i} {kind}": json.loads(line)[kind] for i, line in enumerate(lines) for kind in ("in", "out")}
    texts: dict[str, tuple[str, str | None]] = {n: (parse_tvmscript(t).script("0.27"), t) for n, t in theirs.items()}
    assert len(texts) == 282
    assert objections(ask(tvm_python, texts)) == {}


PRINT = """
import importlib.util, json, sys

texts = {}
for path in sys.stdin.read().split():
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    texts[path] = program.f.script(extra_config={"script.use_pep695": False})
json.dump(texts, sys.stdout)
"""


def test_tvm_prints_what_the_tests_of_macros_say_it_does(tvm_python: Path):
    paths = [str(path) for path in sorted((DATA / "tvmscript" / "python").glob("*.py")) if ".tvm" not in path.name]
    process = subprocess.run(
        [tvm_python, "-c", PRINT], input="\n".join(paths), capture_output=True, text=True, check=True
    )
    texts: dict[str, str] = json.loads(process.stdout)
    assert len(texts) == 55
    for path, text in texts.items():
        stored = Path(path).with_suffix(".tvm.py").read_text()
        assert parse_tvmscript(text).script() == parse_tvmscript(stored).script()


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """The programs of tests/data/printed that the current syntax can express."""
    texts: dict[str, str] = {}
    for path in sorted((DATA / "printed").glob("*.py")):
        module = parse_tvmscript(path.read_text(), filename=path.name)
        try:
            texts[path.stem] = module.script("0.27")
        except UnsupportedError:
            continue
    return texts


def test_tvm_reads_every_kind_of_statement_and_expression(tvm_python: Path, printed: dict[str, str]):
    assert len(printed) > 20
    answers = ask(tvm_python, {name: (text, None) for name, text in printed.items()})
    assert objections(answers) == {}


REWRITTEN = {
    "block_memory",  # local memory has a short form
    "pointers",  # the default data type is omitted
    "while_loop",  # one element of memory becomes a scalar
    "calls",  # a buffer as an argument becomes a stack array; defaults are added
    "control",  # an empty suite becomes T.evaluate(0)
    "loops",  # the same
    "logic",  # TVM omits parentheses that Python requires around compared comparisons
    "math",  # T.abs and T.isinf are spelled out
    "memory",  # local memory has a short form, views of it too
    "scopes",  # an attribute of a number becomes a dictionary
    "functions",  # methods are sorted by name
    "symbols",  # symbolic buffers move into the signature
}
"""Programs that TVM prints in another form."""


def test_tvm_prints_them_as_we_do(tvm_python: Path, printed: dict[str, str]):
    answers = ask(tvm_python, {name: (text, None) for name, text in printed.items() if name not in REWRITTEN})
    assert {name: text for name, (_, text) in answers.items()} == {
        name: text for name, text in printed.items() if name not in REWRITTEN
    }


def test_we_read_what_tvm_makes_of_our_text(tvm_python: Path, printed: dict[str, str]):
    answers = ask(tvm_python, {name: (text, None) for name, text in printed.items()})
    for name, (_, text) in answers.items():
        if name not in REWRITTEN:
            assert parse_tvmscript(text).script("0.27") == printed[name]


ITS_LIMITS = ("Divide by zero", "exceeds range of int", "not supported for")
"""TVM's errors when constant folding in its parser leaves the range of a type, and for `isnan` and `isfinite` of
bfloat16."""
UNREAD = frozenset(("int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"))
"""Data types whose literals TVM's parser does not read, or not all of them: it refuses negative floats of 8 bits."""


def test_tvm_reads_random_programs(tvm_python: Path):
    texts: dict[str, tuple[str, str | None]] = {}
    features = Features(dtypes=tuple(dtype for dtype in Features().dtypes if dtype not in UNREAD))
    for seed in range(200):
        try:
            texts[str(seed)] = random_module(SeededChoices(seed), features).script("0.27"), None
        except UnsupportedError:
            continue
    assert len(texts) > 100
    found = objections(ask(tvm_python, texts))
    assert {name: text for name, text in found.items() if not any(limit in text for limit in ITS_LIMITS)} == {}
    assert len(found) < 25
