"""Plugin packages: discovery of their additions, and errors that name a broken package."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from stepwell.tools.warm_python import WarmPython

PLUGIN = """\
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from xdsl.universe import Universe
UNIVERSE = Universe(
    all_dialects={"shop": partial(resolve_name, "shop_parts:Shop")},
    all_passes={"shop-close": partial(resolve_name, "shop_parts:ShopClosePass")},
)
"""
PARTS = """\
from dataclasses import dataclass
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.passes import ModulePass

@irdl_op_definition
class OpenOp(IRDLOperation):
    name = "shop.open"
    assembly_format = "attr-dict"

Shop = Dialect("shop", [OpenOp])

@dataclass(frozen=True)
class ShopClosePass(ModulePass):
    name = "shop-close"

    def apply(self, ctx, op):
        for inner in list(op.body.block.ops):
            inner.detach()
"""
USE = """\
import stepwell
mod = stepwell.parse_mlir("shop.open")
print(mod)
print(stepwell.apply_passes(mod, "shop-close"))
"""


def install(site: Path, entry: str, **modules: str) -> None:
    """Writes modules, and the metadata that pip would write for a package whose universe is at `entry`."""
    metadata = site / "shop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[xdsl.universe]\nshop = {entry}\n")
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)


Python: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def in_site(warm_python: WarmPython) -> Python:
    """`in_site(site, *arguments)`: runs Python with the packages of a folder."""
    return lambda site, *arguments: warm_python.run(*arguments, cwd=site, environment={"PYTHONPATH": str(site)})


def python(site: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, input=stdin, capture_output=True, text=True, cwd=site
    )


def test_the_api_knows_dialects_and_passes_of_other_packages(in_site: Python, tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop=PLUGIN, shop_parts=PARTS)
    done = in_site(tmp_path, "-c", USE)
    assert done.stdout == "builtin.module {\n  shop.open\n}\nbuiltin.module {\n}\n", done.stderr


def test_importing_stepwell_imports_no_other_package(tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop="raise ValueError('closed')")
    assert python(tmp_path, "-c", "import stepwell").returncode == 0


BROKEN = [
    ("shop:UNIVERSE", "raise ValueError('closed')", "cannot be loaded: ValueError: closed"),
    ("shop:UNIVERSE", "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("shop:UNIVERS", PLUGIN, "has no attribute 'UNIVERS'"),
    ("shop:UNIVERSE", "UNIVERSE = 3", "is of type int, expected a Universe"),
    ("shop:UNIVERSE", PLUGIN.replace('"shop"', '"tir"'), "defines the dialect tir, which another package defines too"),
    ("shop:UNIVERSE", PLUGIN.replace("shop-close", "tir-simplify"), "defines the pass tir-simplify, which another"),
]


@pytest.mark.parametrize(("entry", "module", "message"), BROKEN)
def test_a_broken_package_is_named_and_left_out_by_the_api(
    in_site: Python, tmp_path: Path, entry: str, module: str, message: str
) -> None:
    install(tmp_path, entry, shop=module)
    done = in_site(
        tmp_path,
        "-c",
        "import stepwell; print(stepwell.apply_passes(stepwell.parse_mlir('builtin.module {}'), 'tir-simplify'))",
    )
    assert done.stdout == "builtin.module {\n}\n"
    (warning, *_) = (line for line in done.stderr.splitlines() if "PluginWarning: " in line)
    assert f"PluginWarning: package shop (entry point shop = {entry!r} of the group xdsl.universe)" in warning
    assert message in warning
    assert warning.endswith("; it is left out")


@pytest.mark.parametrize("tool", ["stepwell-opt", "stepwell-run", "stepwell"])
def test_a_broken_package_is_one_line_of_a_tool(in_site: Python, tmp_path: Path, tool: str) -> None:
    install(tmp_path, "shop:UNIVERSE", shop="import no_such_module")
    program = tmp_path / "program.mlir"
    program.write_text("tir.func @main() {\n}")
    arguments = ["run", str(program)] if tool == "stepwell" else [str(program)]
    done = in_site(tmp_path, str(Path(sys.executable).with_name(tool)), *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "warning: package shop (entry point shop = 'shop:UNIVERSE' of the group xdsl.universe) cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'; it is left out\n"
    )


PARTS_BROKEN = "raise KeyError('till')"
FAULT = "of package shop cannot be loaded: KeyError: 'till'"


def test_a_dialect_that_cannot_be_imported_stops_programs_that_use_it_alone(tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop=PLUGIN, shop_parts=PARTS_BROKEN)
    tool = str(Path(sys.executable).with_name("stepwell-opt"))
    done = python(tmp_path, tool, stdin="builtin.module {}")
    assert (done.returncode, done.stderr) == (0, "")
    done = python(tmp_path, tool, stdin="shop.open")
    assert (done.returncode, done.stderr) == (1, f"error: dialect shop {FAULT}\n")


def test_a_pass_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop=PLUGIN, shop_parts=PARTS_BROKEN)
    done = python(tmp_path, str(Path(sys.executable).with_name("stepwell-opt")), "-p", "shop-close", stdin="")
    assert (done.returncode, done.stderr) == (1, f"error: pass shop-close {FAULT}\n")
    done = python(tmp_path, "-c", USE.replace("shop.open", "builtin.module {}"))
    assert done.stderr.splitlines()[-1] == f"stepwell.core.errors.PluginError: pass shop-close {FAULT}"


def test_the_explorer_leaves_out_parts_that_cannot_be_imported(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    install(tmp_path, "shop:UNIVERSE", shop=PLUGIN, shop_parts=PARTS_BROKEN)
    show = "from stepwell.tools.stepwell_gui import explorer; print('tir-simplify' in str(explorer().all_passes))"
    done = python(tmp_path, "-W", "always", "-c", show)
    assert done.stdout == "True\n", done.stderr
    assert f"dialect shop {FAULT}; it is left out" in done.stderr
    assert f"pass shop-close {FAULT}; it is left out" in done.stderr
