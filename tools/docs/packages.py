"""Installation of example packages as by their users, to show and test them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..warm_python import WarmPython

_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
_OFFLINE = ("--no-index", "--no-build-isolation", "--no-deps")
_TOOLS = ("stepwell", "stepwell-opt", "stepwell-run", "xdsl-opt")


@dataclass(frozen=True)
class Installation:
    """A copy of a folder of packages, the directory of their installation, and a Python that finds them."""

    folder: Path
    site: Path
    python: WarmPython

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs `python` or a tool of Stepwell in the folder, with the packages installed; stderr goes to stdout.

        ValueError for any other program.
        """
        program, *arguments = command
        if program not in ("python", *_TOOLS):
            raise ValueError(f"cannot run {program!r} (can: python, {', '.join(_TOOLS)})")
        code = arguments if program == "python" else [str(Path(sys.executable).with_name(program)), *arguments]
        return self.python.run(*code, cwd=self.folder, errors_to_output=True)


def install_packages(packages: Path, into: Path) -> Installation:
    """Copies a folder of packages, builds each package and installs it, all below `into`. The network is not used.

    RuntimeError with the output of pip for a package that does not build; requires setuptools 77 beside pip.
    """
    folder, site = into / "packages", into / "site"
    shutil.copytree(packages, folder, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info", ".*"))
    _install(sorted(file.parent for file in folder.glob("*/pyproject.toml")), site)
    python = WarmPython({"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"})
    return Installation(folder, site, python)


def _install(projects: Sequence[Path], site: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:  # the build writes next to the source
        sources = [str(shutil.copytree(project, Path(scratch) / project.name)) for project in projects]
        command = (sys.executable, *_PIP, *_OFFLINE, "--target", str(site), *sources)
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        names = ", ".join(project.name for project in projects)
        raise RuntimeError(f"pip cannot install {names}:\n{done.stdout}{done.stderr}")
