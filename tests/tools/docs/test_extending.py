"""Pages that show the files of packages, and run commands with the packages installed."""

from pathlib import Path

import pytest

from stepwell.tools.docs import extending_page
from stepwell.tools.docs.packages import Installation, install_packages

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "the-answer"
version = "1.0"

[tool.setuptools]
py-modules = ["answer"]
"""


def write_packages(folder: Path) -> Path:
    project = folder / "packages/the-answer"
    project.mkdir(parents=True)
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "answer.py").write_text("ANSWER = 42\n")
    return folder / "packages"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return write_packages(tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The packages, installed once: an installation takes a second."""
    folder = tmp_path_factory.mktemp("answer")
    return install_packages(write_packages(folder), folder / "into")


def test_files_and_what_is_printed_are_written_down(packages: Path) -> None:
    page = (
        "`the-answer/answer.py`:\n\n```python\nANSWER = 41\n```\n\nSo:\n\n"
        "```python\nimport answer\nprint(answer.ANSWER)\n```\n\n"
        "```text\n41\n```\n\n```console\n$ python -c 'print(1)'\n0\n```\n\n```sh\nnot run\n```\n"
    )
    assert extending_page(page, packages) == page.replace("41", "42").replace("\n0\n", "\n1\n")


def test_building_leaves_nothing_beside_the_source(packages: Path, installed: Installation) -> None:
    source = installed.folder.parent.with_name("packages")
    files = [sorted(file.relative_to(folder) for file in folder.rglob("*")) for folder in (source, packages)]
    assert files[0] == files[1]
    assert sorted(p.name for p in (installed.folder / "the-answer").iterdir()) == ["answer.py", "pyproject.toml"]


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("`the-answer/question.py`:\n\n```python\n```\n", FileNotFoundError),
        ("```python\nraise KeyError\n```\n\n```text\n```\n", RuntimeError),
        ("```console\n$ rm -r .\n```\n", ValueError),
    ],
)
def test_what_cannot_be_shown_is_an_error(
    packages: Path, installed: Installation, page: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        extending_page(page, packages, installed)


def test_a_package_that_cannot_be_built_is_named(packages: Path, tmp_path: Path) -> None:
    (packages / "the-answer/pyproject.toml").write_text("[project")
    with pytest.raises(RuntimeError, match="pip cannot install the-answer"):
        install_packages(packages, tmp_path / "into")
