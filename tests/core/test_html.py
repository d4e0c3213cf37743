"""HTML of modules, schedules and compiled programs in notebooks."""

import re
import sys
from html import unescape
from typing import Any

import pytest

import stepwell

PROGRAM = """
@T.prim_func
def main(a: T.handle, B: T.Buffer((4,), "float32"), limit: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = T.if_then_else(vi < limit, A[0, vi] + 1.0, 0.0)
"""


def module() -> stepwell.Module:
    return stepwell.parse_tvmscript(PROGRAM)


def text_of(shown: Any) -> str:
    """The text of the HTML of an object, in which every tag is closed."""
    html = shown._repr_html_()
    opened: list[str] = []
    for slash, tag in re.findall(r"<(/?)(\w+)[^>]*>", html):
        if not slash:
            opened.append(tag)
        else:
            assert opened.pop() == tag
    assert opened == []
    return unescape(re.sub(r"<[^>]*>", "", html))


def test_a_module_is_its_script_in_colors() -> None:
    pytest.importorskip("pygments")
    assert module().script() in text_of(module())
    assert '<span style="color:' in module()._repr_html_().replace(": #", ":#")


def test_a_module_has_its_script_without_pygments_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygments", None)
    assert text_of(module()) == module().script()


def test_a_module_without_a_script_is_mlir() -> None:
    lowered = stepwell.apply_passes(module(), "tir-resolve-blocks,tir-lower-match-buffers,convert-tir-to-scf")
    assert text_of(lowered) == str(lowered)


def test_a_schedule_has_its_program_and_its_trace() -> None:
    schedule = stepwell.Schedule(module())
    schedule.split(schedule.get_loops("B")[0], factors=[None, 2])
    text = text_of(schedule)
    assert schedule.mod.script() in text
    assert f"{len(schedule.trace)} instructions" in text
    assert str(schedule.trace) in text
    assert repr(schedule) == f"<stepwell.Schedule of main, {len(schedule.trace)} instructions>"


def test_a_program_is_a_table_of_functions() -> None:
    text = text_of(stepwell.build(module()))
    assert "A: float32[?, 4], B: float32[4], limit: int32" in text
    assert "sources: llvm, llvm-optimized, asm" in text
