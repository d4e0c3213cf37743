"""Build sdist and wheel, look into both, install the wheel in a clean venv and run the tools outside the checkout.

Run by a Python that has `build`. The wheel is built from the sdist, so that holds too.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LIST_PASSES = """
from stepwell.tools.universe import STEPWELL_UNIVERSE as ours
for load in (*ours.all_dialects.values(), *ours.all_passes.values(), *ours.all_targets.values()):
    load()
print(*ours.all_passes)
"""


def run(*command: str | Path, cwd: Path, stdin: str = "") -> str:
    """What the command prints; its whole output and exit when it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, input=stdin, capture_output=True, text=True)
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


def check_sdist(path: Path) -> None:
    """The sdist holds everything git holds, apart from what only git reads."""
    tracked = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    expected = {name for name in tracked if name and not name.startswith(".git") and (ROOT / name).is_file()}
    with tarfile.open(path) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    if missing := expected - held:
        sys.exit(f"sdist: missing {sorted(missing)}")


def check_installed(wheel: Path, away: Path) -> None:
    """Our tools, and xDSL's with our passes, run from a clean venv."""
    run(sys.executable, "-m", "venv", away / "venv", cwd=away)
    bin = away / "venv/bin"
    run(bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=away)
    passes = run(bin / "python", "-c", LIST_PASSES, cwd=away).split()
    for name in passes:
        for tool in ("stepwell-opt", "xdsl-opt"):
            run(bin / tool, "-p", name, cwd=away, stdin="builtin.module {}")
    examples = sorted((ROOT / "examples").glob("*.py"))
    for example in examples:
        copy = away / example.name
        copy.write_text(example.read_text())
        run(bin / "stepwell", "run", copy, "--check", cwd=away)
        # What our tool reads, the stock tool prints and sends through one of our passes and targets.
        printed = run(bin / "stepwell-opt", copy, cwd=away)
        simplified = run(bin / "xdsl-opt", "-p", "tir-simplify", cwd=away, stdin=printed)
        run(bin / "xdsl-opt", "-t", "stepwell-llvm", cwd=away, stdin=simplified)
    print(f"wheel: installed alone it runs {len(passes)} passes in both tools, and {len(examples)} examples")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        away = Path(folder)
        run(sys.executable, "-m", "build", "--outdir", away / "dist", ROOT, cwd=ROOT)
        (wheel,), (sdist,) = (away / "dist").glob("*.whl"), (away / "dist").glob("*.tar.gz")
        check_wheel(wheel)
        check_sdist(sdist)
        check_installed(wheel, away)


if __name__ == "__main__":
    main()
