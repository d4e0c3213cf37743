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
lib = stepwell.build(stepwell.apply_passes(stepwell.parse_mlir(sys.argv[1]), "convert-poly-to-tir"))
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


@pytest.mark.parametrize("package", [pytest.param("stepwell-vectorize", marks=pytest.mark.slow), "stepwell-poly"])
def test_the_tests_of_a_package_pass(installed: Installation, package: str) -> None:
    printed = output(installed, "python", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", package)
    assert " passed" in printed


def test_stock_xdsl_finds_the_packages_too(installed: Installation) -> None:
    assert "poly.eval" in output(installed, "xdsl-opt", "stepwell-poly/cubic.mlir")
    lowered = output(
        installed, "xdsl-opt", "stepwell-poly/cubic.mlir", "-p", "convert-poly-to-tir,vectorize-inner-loops"
    )
    assert "tir.for vectorized" in lowered


def test_the_passes_of_both_packages_lead_down_to_llvm(installed: Installation) -> None:
    passes = "convert-poly-to-tir,vectorize-inner-loops"
    assert "fmul <8 x float>" in output(
        installed, "stepwell-opt", "stepwell-poly/cubic.mlir", "-p", passes, "-t", "llvm"
    )


def test_sizes_that_are_known_at_the_call_go_down_too(installed: Installation) -> None:
    output(installed, "python", "-c", CALL, SYMBOLIC)


def test_an_op_that_was_not_lowered_is_named(installed: Installation) -> None:
    done = installed.run("stepwell-opt", "stepwell-poly/cubic.mlir", "-t", "llvm")
    assert done.returncode == 1
    assert (
        done.stdout == "stepwell-poly/cubic.mlir:2:3: error: poly.eval: no pass of the way down takes this operation: "
        "run one that lowers it first\nin pass convert-tir-to-scf\n"
    )


def test_a_wrong_option_of_the_pass_is_a_message(installed: Installation) -> None:
    done = installed.run("stepwell-opt", "stepwell-vectorize/sums.py", "-p", "vectorize-inner-loops{lanes=0}")
    assert done.returncode == 1
    assert "error: vectorize-inner-loops: lanes is 0, expected a positive number" in done.stdout
    assert "Traceback" not in done.stdout
