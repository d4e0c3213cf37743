"""`tvm.testing.CompareBeforeAfter`."""

import textwrap
from pathlib import Path

from stepwell.tools.docs.tvm_tests import functions, run

TEXT = """
import pytest
import tvm
import tvm.testing
from tvm.script import ir as I, tir as T

N = 4

class Base(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

class TestFunctions(Base):
    def before(A: T.Buffer((N,), "int32")):
        if True:
            A[0] = 42
        else:
            A[0] = 5

    def expected(A: T.Buffer((N,), "int32")):
        A[0] = 42

class TestMethods(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return tvm.tir.transform.Simplify()

    @pytest.fixture
    def before(self):
        @T.prim_func(private=True)
        def func(A: T.Buffer((4,), "int32")):
            A[0] = 40 + 2
        return func

    def expected(self):
        @T.prim_func(private=True)
        def func(A: T.Buffer((4,), "int32")):
            A[0] = 42
        return func

class TestModules(Base):
    class Before:
        def main(A: T.Buffer((4,), "int32")):
            A[0] = 40 + 2

    class Expected:
        def main(A: T.Buffer((4,), "int32")):
            A[0] = 42

class TestErrors(Base):
    @tvm.transform.module_pass(opt_level=0)
    def transform(mod, ctx):
        raise ValueError("no")

    def before(A: T.Buffer((N,), "int32")):
        A[0] = 1

    expected = ValueError

class TestDifferent(Base):
    def before(A: T.Buffer((N,), "int32")):
        A[0] = 1

    def expected(A: T.Buffer((N,), "int32")):
        A[0] = 2
"""


def test_programs_are_compared_after_a_pass(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(textwrap.dedent(TEXT))
    names = functions(tmp_path / "test_some.py")
    assert names[0] == "TestFunctions::test_compare"
    assert len(names) == 5
    found = run(tmp_path, Path("test_some.py"), 60)
    assert {name.partition("::")[0]: outcome.kind for name, outcome in found.items()} == {
        "TestFunctions": "passes",
        "TestMethods": "passes",
        "TestModules": "passes",
        "TestErrors": "passes",
        "TestDifferent": "fails",
    }
