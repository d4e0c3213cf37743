"""The effect of passes on stderr: programs before and after passes, and the changes of functions."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import IO

from xdsl.passes import ModulePass

from ..module import Module
from ..transforms.observers import PassObserver

ALL = "all"
"""The name that selects all passes."""
_REST = ""
"""The key of the operations outside of functions."""
_COLORS = {"+": "\033[32m", "-": "\033[31m", "/": "\033[1m"}


@dataclass
class PassPrinter(PassObserver):
    """Prints programs around passes. before, after: the names of the passes before and after which the program is
    printed, or `ALL`.  differences: whether the changes of each pass are printed, function by function.
    """

    before: Collection[str] = ()
    after: Collection[str] = ()
    differences: bool = False
    stream: IO[str] = field(default_factory=lambda: sys.stderr)
    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        if _selects(self.before, module_pass):
            self._show(f"before {module_pass.name}", str(module).splitlines())
        if self.differences:
            self._texts = function_texts(module)

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        del seconds
        if self.differences:
            self._show_changes(module_pass, module)
        if _selects(self.after, module_pass):
            self._show(f"after {module_pass.name}", str(module).splitlines())

    def _show_changes(self, module_pass: ModulePass, module: Module) -> None:
        old, self._texts = self._texts, function_texts(module)
        changed = [name for name in {**old, **self._texts} if old.get(name) != self._texts.get(name)]
        for name in changed:
            lines = list(difference(old.get(name, ""), self._texts.get(name, "")))
            added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
            place = f"@{name}" if name != _REST else "outside of functions"
            self._show(f"{module_pass.name} changes {place}: +{added} -{removed}", lines)
        if not changed:
            self._show(f"{module_pass.name}: no change", [])

    def _show(self, title: str, lines: Collection[str]) -> None:
        colored = is_colored(self.stream)
        for line in (f"//===== {title} =====//", *lines):
            color = _COLORS.get(line[:1], "") if colored else ""
            print(f"{color}{line}\033[0m" if color else line, file=self.stream)


def _selects(names: Collection[str], module_pass: ModulePass) -> bool:
    return module_pass.name in names or ALL in names


def function_texts(module: Module) -> dict[str, str]:
    """The text of each function by name, and of the other operations of a module under an empty name."""
    functions = {op: name for name, op in module.functions.items()}
    texts = {name: str(op) for op, name in functions.items()}
    rest = "\n".join(str(op) for op in module.op.body.block.ops if op not in functions)
    return {**texts, _REST: rest} if rest else texts


def difference(old: str, new: str) -> Iterator[str]:
    """The changed lines between two texts, marked by `+` and `-`, with 3 lines around them; `...` between parts."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
    for n, line in enumerate(lines):
        if line.startswith("@@"):
            if n > 2:
                yield "..."
        elif n > 1:  # after the names of the two files
            yield line


def is_colored(stream: IO[str]) -> bool:
    """Whether text on a stream has colors: on a terminal, unless NO_COLOR is in the environment."""
    return stream.isatty() and "NO_COLOR" not in os.environ
