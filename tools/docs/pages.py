"""Pages that people write and a program completes: their Python runs, and what it prints stands behind it.

A block of code in the language `python` is run, all of a page in one scope and in order; the block behind it in another
language (`py` for programs, `text`, `mlir`) is what it prints. A block `console` is a command of ours, `$ stepwell-opt
FILE -p PASS`, with what it prints; files are in a folder of their own.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Any

from ..stepwell_opt import main as stepwell_opt

_BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```(?:\n\n```(?P<language>py|text|mlir)\n.*?```)?"
    r"|```console\n\$ (?P<command>.*?)\n.*?```",
    re.DOTALL,
)

_COMMANDS = {"stepwell-opt": stepwell_opt}


def run_page(text: str) -> str:
    """A page with what its code prints now. Whatever the code raises and does not catch is raised; ValueError if code
    prints and no block is behind it, or the other way round."""
    scope: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return _BLOCK.sub(lambda block: _run_block(block, scope), text)


def _run_block(block: re.Match[str], scope: dict[str, Any]) -> str:
    if block["command"] is not None:
        return f"```console\n$ {block['command']}\n{_run_command(block['command'])}```"
    printed = run_code(block["code"], scope)
    if bool(printed) != (block["language"] is not None):
        raise ValueError(f"expected a block with what is printed behind code, and only there:\n{block['code']}")
    source = f"```python\n{block['code']}```"
    return f"{source}\n\n```{block['language']}\n{printed}```" if printed else source


def run_code(code: str, scope: dict[str, Any]) -> str:
    """What Python code prints."""
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
