"""docs/extending.md: shows the files of examples/extending, and the output of commands with the packages installed.

A block after a line `` `stepwell-poly/cubic.mlir`: `` is the file. A block `console` is a command with its output, as
is a block `python` followed by a block `text`.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from .packages import Installation, install_packages

_FILE = re.compile(r"`(?P<path>[\w./-]+)`:\n\n```(?P<language>\w+)\n(?:(?!```).)*```", re.DOTALL)
_RUN = re.compile(
    r"```console\n\$ (?P<command>[^\n]*)\n(?:(?!```).)*```"
    r"|```python\n(?P<code>(?:(?!```).)*)```\n\n```text\n(?:(?!```).)*```",
    re.DOTALL,
)


def extending_page(text: str, packages: Path, installed: Installation | None = None) -> str:
    """The page with the current files in `packages` and the current output.

    installed: the installed packages; None installs them for this page alone.
    Raises FileNotFoundError for a missing file, RuntimeError for code that fails.
    """
    text = _FILE.sub(lambda block: _file(block, packages), text)
    if installed is not None:
        return _RUN.sub(lambda block: _run(block, installed), text)
    with tempfile.TemporaryDirectory() as folder:
        return extending_page(text, packages, install_packages(packages, Path(folder)))


def files_on(text: str) -> list[str]:
    """The files shown on a page, in order."""
    return [block["path"] for block in _FILE.finditer(text)]


def _file(block: re.Match[str], packages: Path) -> str:
    return f"`{block['path']}`:\n\n```{block['language']}\n{(packages / block['path']).read_text()}```"


def _run(block: re.Match[str], installed: Installation) -> str:
    if block["command"] is not None:
        printed = installed.run(*shlex.split(block["command"])).stdout
        return f"```console\n$ {block['command']}\n{printed}```"
    done = installed.run("python", "-c", block["code"])
    if done.returncode != 0:
        raise RuntimeError(f"{block['code']}\n{done.stdout}")
    return f"```python\n{block['code']}```\n\n```text\n{done.stdout}```"
