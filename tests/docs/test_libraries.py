"""docs/libraries.md is correct, and its library works when installed."""

from pathlib import Path

import pytest

from stepwell.core.plugins import library_names
from stepwell.tools.docs import extending_page
from stepwell.tools.docs.extending import files_on
from stepwell.tools.docs.packages import Installation, install_packages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/libraries.md").read_text()
PACKAGES = ROOT / "examples/external_library"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install_packages(PACKAGES, tmp_path_factory.mktemp("external_library"))


def test_the_page_shows_the_files_and_what_is_printed(installed: Installation) -> None:
    assert extending_page(PAGE, PACKAGES, installed) == PAGE, "python -m stepwell.tools.docs makes it anew"


def test_the_page_shows_every_file_of_python_and_metadata() -> None:
    files = [str(file.relative_to(PACKAGES)) for kind in ("*.py", "*.toml") for file in PACKAGES.rglob(kind)]
    assert sorted(files_on(PAGE)) == sorted(files)


def test_the_page_names_every_library_that_there_is() -> None:
    assert [name for name in library_names() if f"| `{name}` |" not in PAGE] == []


def test_the_tests_of_the_package_pass(installed: Installation) -> None:
    done = installed.run("python", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "stepwell-rows")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_a_name_that_is_nearly_right_is_corrected(installed: Installation) -> None:
    done = installed.run("stepwell-opt", "stepwell-rows/attention.mlir", "-p", "relay-partition{libraries=row}")
    assert done.returncode == 1
    assert "unknown library 'row', did you mean 'rows'? (there are cblas, cublas, cudnn, rows)" in done.stdout
    assert "Traceback" not in done.stdout
