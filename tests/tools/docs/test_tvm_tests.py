"""The runner of TVM's own tests, and its table."""

from pathlib import Path

import pytest

from stepwell.tools.docs.tvm_tests import (
    BEGIN,
    END,
    Outcome,
    files,
    functions,
    need_of,
    outcome_of,
    page_with,
    run,
    table,
)

TEXT = """
import numpy as np
import pytest
import tvm.testing

m, n = tvm.testing.parameters((1, 2), (3, 4))

def test_passes(target, dev, m, n):
    assert target == "llvm" and dev == tvm.cpu(0) and n == m + 1

@pytest.mark.parametrize("value", [1, 2])
def test_numbers(value):
    tvm.testing.assert_allclose(np.ones(1), np.full(1, value))

class TestOthers:
    width = tvm.testing.parameter(1, 2)

    def test_fails(self, width):
        tvm.relay.no_name

    def test_needs(self):
        import no_such_package

    @tvm.testing.requires_opencl
    def test_skipped(self):
        raise ValueError
"""


def test_each_function_has_an_outcome(tmp_path: Path) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(TEXT)
    (tmp_path / "opencl_texture").mkdir()
    (tmp_path / "opencl_texture" / "test_a.py").write_text("def test_a(): pass\n")
    assert files(tmp_path) == [Path("opencl_texture/test_a.py"), Path("test_some.py")]
    assert need_of(Path("opencl_texture/test_a.py")) == "OpenCL"
    found = run(tmp_path, Path("test_some.py"), 60)
    assert {name: outcome.kind for name, outcome in found.items()} == {
        "test_passes": "passes",
        "test_numbers": "numbers",
        "TestOthers::test_fails": "fails",
        "TestOthers::test_needs": "package",
        "TestOthers::test_skipped": "skipped",
    }
    page = page_with(f"head\n{BEGIN}\nold\n{END}\ntail\n", table({Path("test_some.py"): found}, {"OpenCL": 1}))
    assert page.startswith(f"head\n{BEGIN}\n| file |")
    assert "| `test_some.py` | 33 % | 1 | 1 | 1 | 1 | 1 |" in page
    assert "| 1 | OpenCL |" in page


def test_functions_of_classes_have_their_names(tmp_path: Path) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(TEXT)
    assert functions(path)[2:] == ["TestOthers::test_fails", "TestOthers::test_needs", "TestOthers::test_skipped"]


@pytest.mark.parametrize(
    ("outcome", "text", "expected"),
    [
        ("passed", "", Outcome("passes")),
        ("failed", "E   ModuleNotFoundError: No module named 'torch'", Outcome("package", "torch")),
        ("failed", "E   a.b.TeError: add: no\n", Outcome("fails", "TeError: add: no")),
        ("failed", "E   AssertionError: \nE   Not equal to tolerance", Outcome("numbers", "AssertionError:")),
        ("failed", "E   assert 1 == 2", Outcome("fails", "assert 1 == 2")),
    ],
)
def test_reports_have_kinds(outcome: str, text: str, expected: Outcome) -> None:
    assert outcome_of(outcome, text) == expected
