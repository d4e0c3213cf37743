"""Programs of TVM tutorials, with only the import lines changed: they run and print the output of the tutorial in
current syntax."""

import runpy
from pathlib import Path

import pytest

import stepwell
from stepwell import PluginError
from stepwell.backends.cuda.emulation import compiler

ARTICLES = Path(__file__).parents[2] / "data" / "articles"


@pytest.mark.parametrize("name", sorted(file.stem for file in ARTICLES.glob("*.py")))
def test_an_article_prints_what_it_shows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "cuda" in name and compiler() is None:
        pytest.skip("needs g++ and binutils")
    runpy.run_path(str(ARTICLES / f"{name}.py"))
    assert capsys.readouterr().out == (ARTICLES / f"{name}.txt").read_text()


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(file.stem for file in ARTICLES.glob("*_cuda.py")))
def test_an_article_on_a_gpu(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    try:
        _ = stepwell.cuda().driver
    except (stepwell.DeviceError, PluginError) as error:
        pytest.skip(str(error))
    program = tmp_path / "article.py"
    program.write_text((ARTICLES / f"{name}.py").read_text().replace("cuda-emulated", "cuda"))
    runpy.run_path(str(program))
    shown = (ARTICLES / f"{name}.txt").read_text().replace("cuda_emulated", "cuda")
    assert capsys.readouterr().out == shown
