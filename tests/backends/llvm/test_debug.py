"""Debug information of native code: lines and variables, in LLVM IR, in assembly and in gdb."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.backends.llvm import units
from stepwell.backends.runtime import Program
from stepwell.core.errors import OptionError
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.strategies import programs

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        B[i] = A[i] * 2.0
        for j in range(n):
            B[i] = B[i] + A[j]
"""
CALL = """\
import numpy as np
import stepwell

text = open("program.py").read()
lib = stepwell.build(stepwell.parse_tvmscript(text, filename="program.py"), target="llvm -debug=2")
lib(np.arange(8, dtype="float32"), np.zeros(8, "float32"), 3)
"""
COMMANDS = """\
set breakpoint pending on
break program.py:6
run
print i
print j
print A[2]
print n
continue
print j
"""


def build(text: str, level: int = 1, filename: str = "program.py") -> Program:
    return stepwell.build(stepwell.parse_tvmscript(text, filename=filename), target=f"llvm -debug={level}")


@given(level=st.sampled_from([1, 2]), program=programs(Features()))
def test_code_with_debug_information_computes_the_same(
    level: int, program: tuple[stepwell.Module, dict[str, Any]]
) -> None:
    module, arguments = program
    lib = stepwell.build(module, target=f"llvm -debug={level}")
    assert_same(results(lib["main"], arguments), oracle_results(module, arguments))


def test_instructions_have_the_places_of_statements() -> None:
    text = build(PROGRAM).source("llvm")
    multiplications = re.findall(r"fmul .*!dbg (!\d+)", text)
    assert len(multiplications) == 2  # the function, and its version for buffers that do not overlap
    for multiplication in multiplications:
        assert re.search(rf"^{multiplication} = !DILocation\(line: 4, column: \d+, scope: ", text, re.MULTILINE)
    body = text.partition("i32 @fn.main(")[2].partition("\n}")[0]
    lines = [line for line in body.splitlines()[1:] if line.startswith("  ") and "#dbg" not in line]
    assert [line for line in lines if "!dbg" not in line and "budget" not in line] == []
    assert '!DIFile(filename: "program.py", directory: "' in text


def test_the_assembly_has_the_lines() -> None:
    assert {int(line) for line in re.findall(r"\.loc\t\d+ (\d+) ", build(PROGRAM).source("asm"))} >= {2, 4, 5, 6}


def test_code_without_the_option_has_no_debug_information() -> None:
    lib = stepwell.build(stepwell.parse_tvmscript(PROGRAM))
    assert "!dbg" not in lib.source("llvm")
    assert ".loc" not in lib.source("asm")


def test_the_lines_of_a_macro_are_its_own() -> None:
    text = """\
@T.macro
def twice(A, i):
    A[i] = A[i] * 2.0


@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        twice(A, i)
"""
    source = build(text).source("llvm")
    (multiplication,) = re.findall(r"fmul .*!dbg (!\d+)", source)
    assert f"{multiplication} = !DILocation(line: 3," in source


def test_each_unit_and_each_part_has_its_debug_information(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_LINES", 1)
    two = PROGRAM + PROGRAM.replace("def main", "def other")
    lib = build(two)
    assert len(re.findall(r"^!llvm\.dbg\.cu = ", lib.source("llvm-optimized"), re.MULTILINE)) >= 2
    assert lib.source("asm").count('"program.py"') >= 2


def test_unoptimized_code_keeps_all_statements() -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((1,), "int32")):\n    A[0] = 1\n    A[0] = 2\n'
    assert build(text, 1).source("llvm-optimized").count("store i32") == 1
    assert build(text, 2).source("llvm-optimized").count("store i32") == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("llvm -debug=3", "debug 3, expected 0, 1 or 2"),
        ("llvm -debug=x", "debug 'x', expected a positive number"),
        ("cuda -debug=1", "unknown option of cuda 'debug'"),
    ],
)
def test_other_levels_and_targets_are_refused(target: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        stepwell.build(stepwell.parse_tvmscript(PROGRAM), target=target)


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_stops_at_a_line_of_tvmscript_and_shows_variables(tmp_path: Path) -> None:
    for name, text in (("program.py", PROGRAM), ("call.py", CALL), ("commands", COMMANDS)):
        (tmp_path / name).write_text(text)
    command = ["gdb", "-q", "-batch", "-nx", "-x", "commands", "--args", sys.executable, "call.py"]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False).stdout
    assert re.search(r"hit Breakpoint 1\S*, fn\.main_disjoint \(.*n=3\) at program\.py:6", printed)
    assert "B[i] = B[i] + A[j]" in printed
    assert re.findall(r"^\$\d+ = (.*)$", printed, re.MULTILINE) == ["0", "0", "2", "3", "1"]
