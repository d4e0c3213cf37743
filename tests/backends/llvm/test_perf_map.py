"""The map of `perf`: the addresses of the functions of native code."""

import os
import platform
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path

import pytest

import stepwell
from stepwell.backends.llvm import perf_map, units
from stepwell.backends.llvm.engine import ObjectCode, Processor
from stepwell.backends.llvm.perf_map import functions_of

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="perf is a tool of Linux")

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.parallel(8):
        A[i] = A[i] + 1.0


@T.prim_func
def other(A: T.Buffer((8,), "float32")):
    A[0] = 2.0
"""


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    path.unlink(missing_ok=True)
    monkeypatch.setenv(perf_map.VARIABLE, "1")
    yield path
    path.unlink(missing_ok=True)


def test_functions_of_an_object_file() -> None:
    text = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\ndefine internal i32 @g(i32 %x) noinline {\n  ret i32 %x\n}\n"
    (image,) = ObjectCode.of([text + "@p = global ptr @g"], Processor.host()).images
    f, g = sorted(functions_of(image), key=lambda each: each.name)
    assert (f.name, g.name) == ("f", "g")
    assert f.section == g.section
    assert f.offset + f.size <= g.offset
    assert g.size > 0


def test_the_functions_of_a_program_are_in_the_map(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_LINES", 1)
    lib = stepwell.build(stepwell.parse_tvmscript(PROGRAM))
    rows = [line.split(" ", 2) for line in file.read_text().splitlines()]
    ranges = {name: range(int(start, 16), int(start, 16) + int(size, 16)) for start, size, name in rows}
    assert {"fn.main", "fn.other", "entry.main", "entry.other"} <= ranges.keys()
    assert lib.source("llvm-optimized").count("ModuleID") == 1
    ordered = sorted((each for each in ranges.values() if each), key=lambda each: each.start)
    assert all(a.stop <= b.start for a, b in pairwise(ordered))


def test_there_is_no_map_without_the_request(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(perf_map.VARIABLE)
    stepwell.build(stepwell.parse_tvmscript(PROGRAM))
    assert not file.exists()
