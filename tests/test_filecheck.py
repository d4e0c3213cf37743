"""Runs tests/filecheck through lit, one test per folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILECHECK = Path(__file__).with_name("filecheck")
FILES = [file for suffix in ("mlir", "py") for file in FILECHECK.rglob(f"*.{suffix}") if file.parent.name != "inputs"]
FOLDERS = sorted({file.parent.relative_to(FILECHECK) for file in FILES})
# Under xdist the folders already run in parallel.
JOBS = 1 if "PYTEST_XDIST_WORKER" in os.environ else os.cpu_count()


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_what_the_tools_print_is_what_the_files_say(folder: Path) -> None:
    files = sorted(file for file in FILES if file.parent == FILECHECK / folder)
    lit = Path(sys.executable).with_name("lit")
    done = subprocess.run([lit, "-v", "-q", "-j", str(JOBS), *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
