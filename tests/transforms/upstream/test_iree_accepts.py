"""The output of `convert-tir-to-scf` is plain MLIR, accepted by another parser."""

import re
import subprocess
from io import StringIO
from pathlib import Path

from xdsl.printer import Printer

from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.corpus import programs_of_schedules, script_programs
from stepwell.transforms.pipelines import Options, lower, run_pipeline
from stepwell.transforms.pipelines.landings import UPSTREAM

FILECHECK = Path(__file__).parents[1] / "filecheck/transforms/convert-tir-to-scf.mlir"


def _generic(module: Module) -> str:
    """The module in generic syntax, because MLIR no longer parses xDSL's `memref.alloc() {alignment = 128}`."""
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module.op)
    return text.getvalue()


def _objections(iree_opt: Path, texts: dict[str, str]) -> dict[str, str]:
    """The errors of `iree-opt` for the modules that it refuses, from a single run for all modules."""
    joined = "\n// -----\n".join(texts.values())
    command = [iree_opt, "--split-input-file", "--allow-unregistered-dialect", "-o", "/dev/null", "-"]
    done = subprocess.run(command, input=joined, capture_output=True, text=True)
    if done.returncode == 0:
        return {}
    starts, line = [], 1
    for name, text in texts.items():
        starts.append((line, name))
        line += text.count("\n") + 2
    found: dict[str, str] = {}
    for number, message in re.findall(r"<stdin>:(\d+):\d+: error: (.*)", done.stderr):
        name = next(n for start, n in reversed(starts) if start <= int(number))
        found.setdefault(name, message)
    return found or {"": done.stderr}


def test_iree_reads_every_lowered_program_of_the_corpus(iree_opt: Path) -> None:
    programs = [*script_programs(), *programs_of_schedules("in"), *programs_of_schedules("out")]
    texts = {p.text: p.name for p in programs}
    lowered = {name: str(lower(parse_tvmscript(text, filename=name))) for text, name in texts.items()}
    assert len(lowered) > 150
    assert _objections(iree_opt, lowered) == {}


def test_iree_reads_what_every_operation_becomes(iree_opt: Path) -> None:
    module = run_pipeline(parse_mlir(FILECHECK.read_text()), UPSTREAM.passes(Options()))
    assert _objections(iree_opt, {"all": _generic(module)}) == {}


def test_iree_objects_to_what_is_wrong(iree_opt: Path) -> None:
    right = "func.func @f() { return }"
    wrong = "func.func @f(%x: ui8) { %y = arith.addi %x, %x : ui8\n return }"
    assert list(_objections(iree_opt, {"right": right, "wrong": wrong, "right too": right})) == ["wrong"]
