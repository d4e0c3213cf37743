"""Hand-written pages with generated output: the Python code of a page runs, and its output follows the code.

All code blocks in the language `python` on a page run in order in one scope; the next block in another language (`py`
for programs, `text`, `mlir`) is the output. A block `console` is a command of Stepwell, `$ stepwell-opt FILE -p PASS`,
with its output; each page has its own folder for files.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Any

from ..stepwell import main as stepwell
from ..stepwell_opt import main as stepwell_opt

_BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```(?:\n\n```(?P<language>py|text|mlir)\n.*?```)?"
    r"|```console\n\$ (?P<command>.*?)\n.*?```",
    re.DOTALL,
)

_COMMANDS = {"stepwell": stepwell, "stepwell-opt": stepwell_opt}


def run_page(text: str) -> str:
    """The page with the current output of its code. Raises the exceptions of the code; ValueError for output without an
    output block, or an output block without output."""
    scope: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return _BLOCK.sub(lambda block: _run_block(block, scope), text)


def run_section(text: str, title: str) -> str:
    """The page with the current output of the code of one section, whose title is a line `## TITLE`. Errors: as of
    `run_page`; ValueError without the section."""
    before, heading, rest = text.partition(f"\n## {title}\n")
    if not heading:
        raise ValueError(f"no section {title!r}")
    section, next_heading, after = rest.partition("\n## ")
    return before + heading + run_page(section) + next_heading + after


def _run_block(block: re.Match[str], scope: dict[str, Any]) -> str:
    if block["command"] is not None:
        return f"```console\n$ {block['command']}\n{_run_command(block['command'])}```"
    printed = run_code(block["code"], scope)
    if bool(printed) != (block["language"] is not None):
        raise ValueError(f"expected a block with what is printed behind code, and only there:\n{block['code']}")
    source = f"```python\n{block['code']}```"
    return f"{source}\n\n```{block['language']}\n{printed}```" if printed else source


def run_code(code: str, scope: dict[str, Any]) -> str:
    """The output of Python code."""
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "<page>", "exec"), scope)
    return printed.getvalue()


def _run_command(command: str) -> str:
    program, *arguments = shlex.split(command)
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed), suppress(SystemExit):
        _COMMANDS[program](arguments)
    return printed.getvalue()
