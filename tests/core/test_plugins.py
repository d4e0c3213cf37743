"""Plugin packages: discovery of their additions, and errors that name a broken package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def python(site: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, input=stdin, capture_output=True, text=True, cwd=site
    )


def test_the_api_knows_dialects_and_passes_of_other_packages(tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop=PLUGIN, shop_parts=PARTS)
    done = python(tmp_path, "-c", USE)
    assert done.stdout == "builtin.module {\n  shop.open\n}\nbuiltin.module {\n}\n", done.stderr


def test_importing_stepwell_imports_no_other_package(tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop="raise ValueError('closed')")
    assert python(tmp_path, "-c", "import stepwell").returncode == 0


BROKEN = [
    ("shop:UNIVERSE", "raise ValueError('closed')", "'shop:UNIVERSE' of the group xdsl.universe cannot be loaded"),
    ("shop:UNIVERSE", "raise ValueError('closed')", "ValueError: closed"),
    ("shop:UNIVERSE", "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("shop:UNIVERS", PLUGIN, "has no attribute 'UNIVERS'"),
    ("shop:UNIVERSE", "UNIVERSE = 3", "is of type int, expected a Universe"),
    ("shop:UNIVERSE", PLUGIN.replace('"shop"', '"tir"'), "two packages of the group xdsl.universe give the same name"),
    ("shop:UNIVERSE", PLUGIN.replace("shop-close", "tir-simplify"), "Duplicate definition of tir-simplify"),
]


@pytest.mark.parametrize(("entry", "module", "message"), BROKEN)
def test_a_broken_package_is_named_by_the_api(tmp_path: Path, entry: str, module: str, message: str) -> None:
    install(tmp_path, entry, shop=module)
    done = python(tmp_path, "-c", "import stepwell; stepwell.parse_mlir('')")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("stepwell.core.errors.PluginError: ")
    assert message in last


def test_a_broken_package_is_a_message_of_stepwell_opt(tmp_path: Path) -> None:
    install(tmp_path, "shop:UNIVERSE", shop="import no_such_module")
    tool = str(Path(sys.executable).with_name("stepwell-opt"))
    done = python(tmp_path, tool, stdin="builtin.module {}")
    assert done.returncode == 1
    assert done.stderr.startswith("error: entry point shop = 'shop:UNIVERSE' of the group xdsl.universe")
    assert "Traceback" not in done.stderr
