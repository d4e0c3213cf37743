"""`stepwell-gui`: the initial view, the effect of clicks, and the message without its extra."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepwell.tools.stepwell_gui import explorer, main

needs_textual = pytest.mark.skipif(find_spec("textual") is None, reason="the extra `gui` is not installed")

SCRIPT = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + 1.0
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(SCRIPT)
    return tmp_path / "program.py"


def use(app, steps: Callable[..., Awaitable[None]]) -> None:
    """Runs an application without a terminal, applies steps, and exits."""

    async def session() -> None:
        async with app.run_test() as pilot:
            await pilot.pause()
            await steps(pilot)

    asyncio.run(session())


@needs_textual
def test_tvmscript_opens_as_mlir_and_passes_apply(script: Path) -> None:
    app = explorer(script, "tir-resolve-blocks,convert-tir-to-scf")

    async def look(pilot) -> None:
        assert 'tir.block "A"' in app.input_text_area.text
        assert "scf.for" in app.output_text_area.text
        assert app.get_query_string() == f"stepwell-opt {script} -p 'tir-resolve-blocks,convert-tir-to-scf'"

    use(app, look)


@needs_textual
def test_our_passes_and_those_of_xdsl_can_be_chosen(script: Path) -> None:
    app = explorer(script)

    async def choose(pilot) -> None:
        labels = {str(node.label): node for node in app.passes_tree.root.children}
        assert {"tir-resolve-blocks", "tir-simplify", "canonicalize", "cse"} <= labels.keys()
        app.passes_tree.select_node(labels["tir-resolve-blocks"])
        await pilot.pause()
        assert [p.name for p in app.pass_pipeline] == ["tir-resolve-blocks"]
        assert "tir.block" not in app.output_text_area.text
        assert "tir.for" in app.output_text_area.text

    use(app, choose)


@needs_textual
def test_the_passes_that_change_a_program_are_found(script: Path) -> None:
    app = explorer(script)

    async def condense(pilot) -> None:
        await pilot.click("#condense_button")
        await pilot.pause()
        names = [str(p) for p in app.available_pass_list]
        assert "tir-resolve-blocks" in names
        assert "convert-scf-to-cf" not in names

    use(app, condense)


@needs_textual
def test_files_are_loaded_in_both_languages(script: Path) -> None:
    app = explorer()

    async def load(pilot) -> None:
        app.show_file(str(script))
        await pilot.pause()
        assert 'tir.block "A"' in app.output_text_area.text
        mlir = script.with_suffix(".mlir")
        mlir.write_text("builtin.module {}")
        app.show_file(str(mlir))
        await pilot.pause()
        assert app.input_text_area.text == "builtin.module {}"
        assert app.current_file_path == str(mlir)
        app.show_file(None)
        assert app.current_file_path == str(mlir)

    use(app, load)


@needs_textual
def test_the_button_asks_for_a_file_once(script: Path) -> None:
    app = explorer(script)

    async def press(pilot) -> None:
        before = len(app.screen_stack)
        await pilot.click("#load_file_button")
        await pilot.pause()
        assert len(app.screen_stack) == before + 1

    use(app, press)


@needs_textual
def test_a_file_that_is_wrong_shows_why(script: Path) -> None:
    app = explorer()
    script.write_text(SCRIPT.replace("A[vi] +", "B[vi] +"))

    async def load(pilot) -> None:
        app.show_file(str(script))
        await pilot.pause()
        assert "error: undefined name 'B'" in app.input_text_area.text
        app.show_file(str(script.with_name("missing.mlir")))
        await pilot.pause()
        assert "No such file" in app.input_text_area.text

    use(app, load)


@needs_textual
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["missing.py"], "No such file"),
        (["program.py", "-p", "no-such-pass"], "no-such-pass"),
        (["wrong.py"], "error: undefined name 'B'"),
    ],
)
def test_a_mistake_is_a_message_and_exit_code_1(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    script.with_name("wrong.py").write_text(SCRIPT.replace("A[vi] +", "B[vi] +"))
    monkeypatch.chdir(script.parent)
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 1
    assert message in capsys.readouterr().err


def test_without_the_extra_the_message_says_what_to_install() -> None:
    hide = "import sys; sys.modules['textual'] = None; from stepwell.tools.stepwell_gui import main; main([])"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: stepwell-gui needs packages that are not installed")
    assert "pip install 'stepwell[gui]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_extra() -> None:
    hide = "import sys; sys.modules['textual'] = None; from stepwell.tools.stepwell_gui import main; main(['--help'])"
    done = subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--passes" in done.stdout
