"""docs/extending.md is correct, and its packages work when installed."""

from pathlib import Path

import pytest

from stepwell.tools.docs import extending_page
from stepwell.tools.docs.extending import files_on
from stepwell.tools.docs.packages import Installation, install_packages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/extending.md").read_text()
PACKAGES = ROOT / "examples/extending"
SYMBOLIC = """\
tir.func @main("x" %x: !tir.handle, "y" %y: !tir.handle) {
  %n = tir.symbol "n" : i64
  %X = tir.match_buffer "X" %x dims [%n : i64] : !tir.handle -> memref<?x3xf32>
  %Y = tir.match_buffer "Y" %y dims [%n : i64] : !tir.handle -> memref<?x3xf32>
  poly.eval %X to %Y, [1.0 : f32, 0.5 : f32] : memref<?x3xf32>
}
"""
CALL = """\
import sys
import numpy as np
import stepwell
lib = stepwell.build(stepwell.parse_mlir(sys.argv[1]))
x = np.arange(12, dtype="float32").reshape(4, 3)
y = np.empty_like(x)
lib(x, y)
assert (y == 1 + x / 2).all(), y
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install_packages(PACKAGES, tmp_path_factory.mktemp("extending"))


def output(installed: Installation, *command: str) -> str:
    done = installed.run(*command)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_page_shows_the_files_and_what_is_printed(installed: Installation) -> None:
    assert extending_page(PAGE, PACKAGES, installed) == PAGE, "python -m stepwell.tools.docs makes it anew"


def test_no_folder_of_a_package_is_taken_for_the_package() -> None:
    assert [project for project in PACKAGES.iterdir() if (project / project.name).exists()] == []


def test_the_page_shows_every_file_of_the_packages() -> None:
    kinds = ("*.py", "*.toml", "*.mlir")
    files = [str(file.relative_to(PACKAGES)) for kind in kinds for file in PACKAGES.rglob(kind)]
    assert sorted(files_on(PAGE)) == sorted(files)


@pytest.mark.parametrize(
    "packages",
    [
        pytest.param(["stepwell-vectorize"], marks=pytest.mark.slow),
        ["stepwell-poly", "stepwell-sat", "stepwell-gates"],
    ],
    ids=" ".join,
)
def test_the_tests_of_packages_pass(installed: Installation, packages: list[str]) -> None:
    printed = output(installed, "python", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *packages)
    assert " passed" in printed


def test_stock_xdsl_finds_the_packages_too(installed: Installation) -> None:
    assert "poly.eval" in output(installed, "xdsl-opt", "stepwell-poly/cubic.mlir")
    output(installed, "stepwell-opt", "stepwell-sat/clamped.py", "-o", "clamped.mlir")
    assert "sat.clamp" in output(installed, "xdsl-opt", "clamped.mlir", "-p", "canonicalize")
    passes = "tir-lower-extension-statements,vectorize-inner-loops"
    assert "tir.for vectorized" in output(installed, "xdsl-opt", "stepwell-poly/cubic.mlir", "-p", passes)


def test_the_passes_of_both_packages_lead_down_to_llvm(installed: Installation) -> None:
    passes = "tir-lower-extension-statements,vectorize-inner-loops"
    assert "fmul <8 x float>" in output(
        installed, "stepwell-opt", "stepwell-poly/cubic.mlir", "-p", passes, "-t", "llvm"
    )


def test_sizes_that_are_known_at_the_call_go_down_too(installed: Installation) -> None:
    output(installed, "python", "-c", CALL, SYMBOLIC)


@pytest.mark.parametrize("file", ["stepwell-sat/clamped.py", "stepwell-poly/cubic.mlir"])
def test_programs_run_and_are_validated_without_the_name_of_a_pass(installed: Installation, file: str) -> None:
    printed = output(installed, "stepwell", "run", file, "--check", "--validate")
    assert "llvm: computes what the oracle computes" in printed
    assert "not validated" not in printed


def test_a_package_of_operations_on_numbers_is_small() -> None:
    files = (PACKAGES / "stepwell-sat").rglob("*")
    lines = [line for file in files if file.suffix in (".py", ".toml") for line in file.read_text().splitlines()]
    example = (PACKAGES / "stepwell-sat/clamped.py").read_text().splitlines()
    assert len([line for line in lines if line]) - len([line for line in example if line]) <= 130


def test_the_explorer_shows_the_dialects_of_packages(installed: Installation) -> None:
    pytest.importorskip("textual")
    code = "from pathlib import Path; from stepwell.tools.stepwell_gui import explorer; "
    printed = output(
        installed, "python", "-c", code + "print(explorer(Path('stepwell-sat/clamped.py')).pre_loaded_input_text)"
    )
    assert "sat.clamp" in printed


def test_a_wrong_option_of_the_pass_is_a_message(installed: Installation) -> None:
    done = installed.run("stepwell-opt", "stepwell-vectorize/sums.py", "-p", "vectorize-inner-loops{lanes=0}")
    assert done.returncode == 1
    assert "error: vectorize-inner-loops: lanes is 0, expected a positive number" in done.stdout
    assert "Traceback" not in done.stdout
