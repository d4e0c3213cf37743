"""`stepwell explain`: the stages of a program, the places of their lines, and the page, also in a browser."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from xdsl.dialects.builtin import UnknownLoc

import stepwell
from stepwell.core.target import Target
from stepwell.tools.explaining.lines import Line, lines_of_assembly, lines_of_llvm, lines_of_module
from stepwell.tools.explaining.stages import explanation_of
from stepwell.tools.stepwell import main

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        B[i] = A[i] * 2.0
        for j in range(n):
            if j < 4:
                B[i] = B[i] + A[j]
"""
CLICKS = """
document.querySelector('#stage0 [data-line="7"]').click();
document.querySelector('#stage2 button').click();
document.querySelectorAll('[data-stage]')[1].click();
document.title = ["lit", "changed", "hidden"].map((name) => document.querySelectorAll("." + name).length).join(" ");
</script></body>"""
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM)
    return Path("program.py")


def page(file: Path, *options: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["explain", str(file), *options])
    assert stop.value.code == 0
    return file.with_suffix(".html").read_text()


class Elements(HTMLParser):
    """The balance of tags, and the texts and lines of the source of all lines of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.lines: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input"):
            self.open.append(tag)
        if dict(attrs).get("class") == "line":
            self.lines.append(("", dict(attrs).get("data-line")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.lines:
            text, line = self.lines[-1]
            self.lines[-1] = text + data, line


def test_the_lines_of_mlir_have_the_places_of_operations_and_of_loops() -> None:
    lines = lines_of_module(stepwell.parse_tvmscript(PROGRAM, filename="program.py"), "program.py")
    found = {line.text.strip(): line.source for line in lines}
    assert found['tir.for serial "i" %i : i32 in [0 +: 8] {'] == 3
    assert found["tir.store %2, %B[%i] : memref<8xf32>"] == 4
    assert found["tir.if %4 {"] == 6
    assert not any("loc(" in line.text for line in lines)


def test_the_lines_of_another_file_have_no_place() -> None:
    lines = lines_of_module(stepwell.parse_tvmscript(PROGRAM, filename="other.py"), "program.py")
    assert {line.source for line in lines} == {None}


def test_a_macro_lights_its_own_lines() -> None:
    text = "@T.macro\ndef m(A):\n    A[0] = 1.0\n\n\n@T.prim_func\ndef main(A: T.Buffer((1,), 'float32')):\n    m(A)\n"
    lines = lines_of_module(stepwell.parse_tvmscript(text, filename="program.py"), "program.py")
    assert [line.source for line in lines if "tir.store" in line.text] == [3]


def test_the_lines_of_llvm_ir_and_assembly() -> None:
    mod = stepwell.parse_tvmscript(PROGRAM, filename="program.py")
    stages = {stage.name: stage.lines for stage in explanation_of(mod, "program.py", Target()).stages}
    texts = [line.text for line in stages["LLVM IR"]]
    assert not any("dbg" in text for text in texts if not text.startswith("define"))
    assert {line.source for line in stages["LLVM IR"] if "fadd" in line.text} == {7}
    assert {line.source for line in stages["assembly"] if "addss" in line.text} == {4, 7}  # x * 2 is x + x
    assert lines_of_assembly("# f: 1 instructions\nf:\n\t# a.py:3: x\n\tretq\n\t# b.py:4: x\n\tnop", "a.py") == [
        Line("# f: 1 instructions"), Line("f:"), Line("        # a.py:3: x", 3), Line("        retq", 3),
        Line("        # b.py:4: x"), Line("        nop"),
    ]  # fmt: skip
    assert lines_of_llvm("define void @f() {\n  ret void\n}\n", "a.py") == []


def test_stages_have_changes_and_other_passes_are_listed() -> None:
    mod = stepwell.parse_tvmscript(PROGRAM, filename="program.py")
    explanation = explanation_of(mod, "program.py", Target(), "tir-resolve-blocks,tir-unroll-loops")
    names = [stage.name for stage in explanation.stages]
    assert names[0] == "input"
    assert names[-3:] == ["convert-tir-to-scf", "LLVM IR", "assembly"]
    assert "tir-resolve-blocks" in explanation.idle
    assert any(line.startswith("+") for line in explanation.stages[-3].changes)
    assert any(remark.pass_name == "tir-partition-loops" for remark in explanation.remarks)


def test_the_page_is_one_file_with_escaped_texts(file: Path) -> None:
    text = page(file)
    elements = Elements(text)
    assert elements.open == []
    assert not re.search(r"https?:|src=|href=", text)
    sources = [(line.partition("@")[2] or line, place) for line, place in elements.lines if place == "7"]
    assert any("if j < 4" in line for line, _ in elements.lines)
    assert len(sources) > 8


def test_graphs_have_stages_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = file.with_name("graph.mlir")
    graph.write_text(
        'relay.func @main("x" %x: tensor<2x3xf32>) {\n'
        "  %0 = relay.nn.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "  relay.return %0 : tensor<2x3xf32>\n}\n"
    )
    text = page(graph)
    assert "<h2>convert-relay-to-te <small>" in text
    assert capsys.readouterr().out.startswith("graph.html: ")


BLOCK = """\
@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("A"):
            vi = T.axis.spatial(64, i)
            A[vi] = A[vi] * 2.0
"""


def scheduled() -> stepwell.Schedule:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(BLOCK, filename="block.py"))
    (i,) = sch.get_loops("A")
    i_0, i_1 = sch.split(i, factors=[None, 16])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch


def test_a_schedule_is_shown_step_by_step_down_to_a_kernel(tmp_path: Path) -> None:
    mod = scheduled().with_trace()
    explanation = explanation_of(mod, "block.py", Target("cuda"), "apply-schedule")
    names = [stage.name for stage in explanation.stages]
    assert names[:4] == [
        "input", "%i_1, %i_2 = split %i, [?, 16]", 'bind %i_1, "blockIdx.x"', 'bind %i_2, "threadIdx.x"',
    ]  # fmt: skip
    assert "apply-schedule" in explanation.idle
    assert all(stage.changes for stage in explanation.stages[1:4])
    assert names[-1] == "CUDA C++"
    (line,) = [line.text.strip() for line in explanation.stages[-1].lines if line.source == 6]
    assert line == "A[vi] = A[vi] * 2.0f;"


def test_a_schedule_that_is_illegal_is_an_error() -> None:
    text = str(scheduled().with_trace()).replace("[?, 16]", "[2, 2]")
    with pytest.raises(stepwell.ScheduleError, match="split: the product of the factors"):
        explanation_of(stepwell.parse_mlir(text), "block.mlir", Target(), "apply-schedule")


def test_the_function_takes_modules_and_schedules(tmp_path: Path) -> None:
    scheduled_module = scheduled().mod
    for program in (scheduled(), scheduled_module):  # no file block.py exists
        stepwell.explain(program, tmp_path / "page.html", target="cuda")
        text = (tmp_path / "page.html").read_text()
        assert "<h1>block.py</h1>" in text
        assert ("for i_0 in T.thread_binding" if program is scheduled_module else "for i in range(64)") in text
        assert ("split %i, [?, 16]" in text) == isinstance(program, stepwell.Schedule)
    with pytest.raises(stepwell.UnsupportedError, match="target python compiles no code"):
        stepwell.explain(scheduled(), tmp_path / "page.html", target="python")


TENSORS = """\
te.func @main {
  %A = te.placeholder "A" [8] : tensor<8xf32>
  %B = te.compute "B" (spatial "i" %i : i32 in [0 +: 8]) : tensor<8xf32> {
    %0 = te.read %A[%i] : tensor<8xf32>
    te.yield %0 : f32
  }
  te.params %A : tensor<8xf32>, %B : tensor<8xf32>
}
"""


def lines_by_source(page: Path) -> dict[str, list[str]]:
    """The texts of the lines of a page for each line of the source, that of the source first."""
    lines: dict[str, list[str]] = {}
    for text, place in Elements(page.read_text()).lines:
        if place is not None:
            lines.setdefault(place, []).append(text.strip())
    return lines


def test_programs_without_locations_get_those_of_their_text(tmp_path: Path) -> None:
    module = stepwell.parse_tvmscript(BLOCK)
    for op in module.op.walk():
        op.location = UnknownLoc()
    schedule = stepwell.Schedule(module)
    schedule.parallel(*schedule.get_loops("A"))
    stepwell.explain(schedule, tmp_path / "page.html")
    (stored,) = [each for each in lines_by_source(tmp_path / "page.html").values() if "A[vi] = A[vi] *" in each[0]]
    assert any(line.startswith("tir.store") for line in stored)
    assert any(line.startswith("store float") for line in stored)
    assert not any("tir.for" in line or "scf.for" in line for line in stored)


def test_a_program_without_tvmscript_is_shown_as_mlir(tmp_path: Path) -> None:
    stepwell.explain(stepwell.parse_mlir(TENSORS, "gone.mlir"), tmp_path / "page.html")
    (read,) = [each for each in lines_by_source(tmp_path / "page.html").values() if "te.read" in each[0]]
    assert any("tir.load" in line for line in read)


def test_the_lines_of_a_macro_of_another_file_have_no_place() -> None:
    scope = stepwell.parse_tvmscript(BLOCK, filename="other.py")
    stages = {stage.name: stage.lines for stage in explanation_of(scope, "block.py", Target()).stages}
    assert {line.source for lines in stages.values() for line in lines} == {None}


def test_the_command_applies_the_schedule_of_a_file(file: Path) -> None:
    Path("scheduled.mlir").write_text(str(scheduled().with_trace()))
    assert "split %i, [?, 16]" in page(Path("scheduled.mlir"), "--target", "cuda")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "python"], "target python compiles no code, expected llvm or cuda"),
        (["-p", "tir-simplfy"], "no pass 'tir-simplfy', did you mean 'tir-simplify'?"),
        (["missing.py"], "unrecognized arguments: missing.py"),
    ],
)
def test_errors(file: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", str(file), *options])
    assert message in capsys.readouterr().err


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_clicks_in_a_browser(file: Path) -> None:
    text = page(file)
    lit = len(re.findall(r'data-line="7"', text))
    Path("clicked.html").write_text(text.replace("</script></body>", CLICKS))
    command = [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*command, Path("clicked.html").absolute().as_uri()], capture_output=True, text=True, timeout=60, check=False
    )
    assert re.findall("<title>(.*)</title>", done.stdout) == [f"{lit} 1 1"]
