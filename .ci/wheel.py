"""Build sdist and wheel, look into both, install the wheel in a clean venv and run the tools outside the checkout.

Run by a Python that has `build`. The wheel is built from the sdist, so that holds too.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUN_TOOLS = """
import sys
from pathlib import Path
from stepwell.tools.universe import STEPWELL_UNIVERSE as ours
from stepwell.tools.warm_python import WarmPython

python = WarmPython()
def run(tool, *arguments):
    done = python.run(f"{sys.argv[1]}/{tool}", *arguments)
    if done.returncode != 0:
        sys.exit(f"{tool} {' '.join(arguments)}\\n{done.stdout}{done.stderr}")

for load in (*ours.all_dialects.values(), *ours.all_passes.values(), *ours.all_targets.values()):
    load()
Path("empty.mlir").write_text("builtin.module {}")
for name in ours.all_passes:
    for tool in ("stepwell-opt", "xdsl-opt"):
        run(tool, "empty.mlir", "-p", name)
examples = sorted(map(str, Path().glob("*.py")))
for example in examples:
    run("stepwell", "run", example, "--check")
    # What our tool reads, the stock tool prints and sends through one of our passes and targets.
    run("stepwell-opt", example, "-o", "printed.mlir")
    run("xdsl-opt", "-p", "tir-simplify", "printed.mlir", "-o", "simplified.mlir")
    run("xdsl-opt", "-t", "stepwell-llvm", "simplified.mlir")
print(f"wheel: installed alone it runs {len(ours.all_passes)} passes in both tools, and {len(examples)} examples")
"""


def run(*command: str | Path, cwd: Path) -> str:
    """What the command prints; its whole output and exit when it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"wheel: {' '.join(map(str, command))} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def files_of_package() -> set[str]:
    """The files the wheel must hold beside its metadata."""
    patterns = ("*.py", *PROJECT["tool"]["setuptools"]["package-data"]["*"])
    folders = [name.split(".")[1:] for name in PROJECT["tool"]["setuptools"]["packages"]]
    found = [file for folder in folders for pattern in patterns for file in ROOT.joinpath(*folder).glob(pattern)]
    return {f"stepwell/{file.relative_to(ROOT)}" for file in found}


def check_wheel(path: Path) -> None:
    with zipfile.ZipFile(path) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        top_level = {name.split("/")[0] for name in wheel.namelist()}
    expected = files_of_package()
    if held != expected:
        sys.exit(f"wheel: missing {sorted(expected - held)}, too much {sorted(held - expected)}")
    if len(top_level) != 2:
        sys.exit(f"wheel: installs {sorted(top_level)}, expected stepwell and its metadata")


def tracked_files(*options: str) -> set[str]:
    """The files of git, apart from those that only git reads."""
    names = run("git", "ls-files", "-z", *options, cwd=ROOT).split("\0")
    return {name for name in names if name and not name.startswith(".git") and (ROOT / name).is_file()}


def copy_source(to: Path) -> None:
    """Copies the files of git and new files: setuptools writes into the folder, whose files tests read meanwhile."""
    for name in tracked_files("--cached", "--others", "--exclude-standard"):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)


def check_sdist(path: Path) -> None:
    """The sdist holds everything git holds, apart from what only git reads."""
    expected = tracked_files()
    with tarfile.open(path) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    if missing := expected - held:
        sys.exit(f"sdist: missing {sorted(missing)}")


def check_installed(wheel: Path, away: Path) -> None:
    """Our tools, and xDSL's with our passes, run from a clean venv."""
    run(sys.executable, "-m", "venv", "--without-pip", away / "venv", cwd=away)
    bin = away / "venv/bin"
    pip = (sys.executable, "-m", "pip", "--python", bin / "python", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=away)
    for example in (ROOT / "examples").glob("*.py"):
        (away / example.name).write_text(example.read_text())
    print(run(bin / "python", "-c", RUN_TOOLS, bin, cwd=away), end="")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        copy_source(away / "source")
        run(sys.executable, "-m", "build", "--outdir", away / "dist", away / "source", cwd=away)
        (wheel,), (sdist,) = (away / "dist").glob("*.whl"), (away / "dist").glob("*.tar.gz")
        check_wheel(wheel)
        check_sdist(sdist)
        check_installed(wheel, away)


if __name__ == "__main__":
    main()
