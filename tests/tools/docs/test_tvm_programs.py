"""The runner of TVM's tutorials, and its table."""

from pathlib import Path

import pytest

from stepwell.tools.docs.tvm_programs import BEGIN, END, Outcome, last_error, outcome_of, page_with, programs, run_all

TEXTS = {
    "v0.7/a/runs.py": "import tvm\nassert tvm.cpu(0)\n",
    "v0.9/b/runs.py": '"""The same program with a text."""\nimport tvm\nassert tvm.cpu(0)\n',
    "v0.9/b/stops.py": "import tvm\ntvm.no_name\n",
    "v0.9/b/text.py": '"""A text."""\n',
    "v0.9/b/needs.py": "import no_such_package\n",
    "v0.9/b/micro_board.py": "raise ValueError\n",
    "v0.10/b/uses_helper.py": "import helper\n",
    "v0.10/b/helper.py": "raise ValueError\n",
}


def test_tutorials_run_and_their_outcomes_are_a_table(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = programs(tmp_path)
    assert Path("v0.10/b/helper.py") not in paths
    outcomes = dict(run_all(tmp_path, [path for path in paths if path.parts[0] != "v0.10"], 60))
    kinds = {path.stem: outcome.kind for path, outcome in outcomes.items()}
    assert kinds == {"runs": "runs", "stops": "stops", "text": "text", "needs": "package", "micro_board": "machine"}
    page = page_with(f"head\n{BEGIN}\nold\n{END}\ntail\n", {**outcomes, Path("v0.10/b/slow.py"): Outcome("tuner")})
    assert page.startswith("head\n")
    assert page.endswith(f"\n{END}\ntail\n")
    assert "| v0.9 | 50 % | 1 | 1 | 0 | 1 | 0 | 1 | 1 |" in page
    assert "| tutorial | v0.7 | v0.9 | v0.10 |" in page
    assert "| `needs` |  | no_such_package |  |" in page
    assert "| `stops` | AttributeError: module 'tvm'" in page


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("ModuleNotFoundError: No module named 'torch'", Outcome("package", "torch")),
        (
            "ModuleNotFoundError: No module named 'tvm.x'",
            Outcome("stops", "ModuleNotFoundError: No module named 'tvm.x'"),
        ),
        ("LoadError: https://example.org/x: <urlopen error>", Outcome("network")),
        ("ImportError: cannot import name 'meta_schedule' from 'tvm' (/a/b.py)", None),
    ],
)
def test_errors_have_kinds(error: str, expected: Outcome | None) -> None:
    outcome = outcome_of(error)
    assert outcome == (expected or Outcome("tuner", "ImportError: cannot import name 'meta_schedule' from 'tvm'"))


def test_the_last_exception_is_the_error() -> None:
    text = "Traceback\nValueError: a\n\nTraceback\na.b.TeError: x.py: error\n  in pass y\n"
    assert last_error(text) == "TeError: x.py: error"
    assert last_error("") == ""
