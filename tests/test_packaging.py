"""pyproject.toml compared with the folders, and the effect of the installed package on xDSL's tools."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from xdsl.universe import XDSL_UNIVERSE, Universe

from stepwell.tools.universe import STEPWELL_UNIVERSE

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_INSTALLED = {"benchmarks", "build", "dist", "docs", "examples", "tests", "typings"}
# The packages that `import stepwell` may import: the core dependencies and their own imports.
CORE = {"immutabledict", "islpy", "lark", "llvmlite", "ml_dtypes", "numpy", "ordered_set", "typing_extensions", "xdsl"}


def _source_folders() -> set[Path]:
    """The folders with Python source, relative to the root."""
    tops = (path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
    files = (file for top in tops if top.name not in NOT_INSTALLED for file in top.rglob("*.py"))
    return {file.parent.relative_to(ROOT) for file in files}


def _run(*command: str | Path, stdin: str = "") -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_folder_of_source_is_a_listed_package() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    folders = {".".join(("stepwell", *folder.parts)) for folder in _source_folders()}
    assert sorted({"stepwell", *folders}) == listed


@pytest.mark.parametrize("package", PROJECT["tool"]["setuptools"]["packages"])
def test_every_package_has_a_documented_init(package: str) -> None:
    init = ROOT.joinpath(*package.split(".")[1:], "__init__.py")
    assert init.read_text().startswith('"""')


def test_the_root_holds_no_python_file_that_does_not_belong_in_the_wheel() -> None:
    assert {file.name for file in ROOT.glob("*.py")} <= {"__init__.py", "module.py", "script.py"}


@pytest.mark.parametrize("kind", ["all_dialects", "all_passes", "all_targets"])
def test_no_exported_name_exists_upstream(kind: str) -> None:
    assert not getattr(STEPWELL_UNIVERSE, kind).keys() & getattr(XDSL_UNIVERSE, kind).keys()


@pytest.mark.parametrize("kind", ["all_dialects", "all_passes", "all_targets"])
def test_every_exported_name_loads_and_says_so_itself(kind: str) -> None:
    for name, load in getattr(STEPWELL_UNIVERSE, kind).items():
        assert load().name == name


def test_the_universe_is_found_by_xdsl() -> None:
    assert "stepwell" in {plugin.name for plugin in entry_points(group="xdsl.universe")}
    everything = Universe.get_multiverse()
    assert STEPWELL_UNIVERSE.all_passes.keys() <= everything.all_passes.keys()
    assert STEPWELL_UNIVERSE.all_targets.keys() <= everything.all_targets.keys()


def test_stock_xdsl_opt_lists_every_pass_and_target() -> None:
    shown = re.sub(r"\s", "", _run(Path(sys.executable).with_name("xdsl-opt"), "--help"))
    for name in (*STEPWELL_UNIVERSE.all_passes, *STEPWELL_UNIVERSE.all_targets):
        assert name in shown


@pytest.mark.parametrize("name", STEPWELL_UNIVERSE.all_passes)
def test_every_pass_leaves_an_empty_module_alone(name: str) -> None:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    module = ModuleOp([])
    STEPWELL_UNIVERSE.all_passes[name]()().apply(Context(), module)
    assert not module.ops


def test_importing_the_package_needs_only_the_core_dependencies() -> None:
    listing = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    before = set(_run(sys.executable, "-c", listing).split())
    after = set(_run(sys.executable, "-c", f"import stepwell, stepwell.tools.universe; {listing}").split())
    third_party = {name for name in after - before if not name.startswith("_")} - sys.stdlib_module_names
    assert third_party <= {"stepwell", *CORE}


def test_pre_commit_runs_the_tools_of_the_lint_extra() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    ruff = next(req for req in PROJECT["project"]["optional-dependencies"]["lint"] if req.startswith("ruff"))
    assert ruff in hooks


def test_every_make_target_the_documents_name_exists() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for text in documents for name in re.findall(r"(?:`|^    )make ([a-z-]+)", text.read_text(), re.M)}
    assert named
    assert named <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
