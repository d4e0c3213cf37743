"""Schedules as hybrid functions: `tvm.te.hybrid.build` and `tvm.te.hybrid.HybridModule`."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ....core.errors import LoadError, ScheduleError
from ....dialects.attributes import ILLEGAL_SCHEDULE
from ....expressions.expr import Var
from ....expressions.tensor import Tensor
from ...te.schedule import Schedule
from ..driver.build_module import schedule_to_module
from .writing import source_of

_numbers = count()


class HybridModule:
    """A hybrid function with its source. name: that of the function, None before a source is loaded."""

    def __init__(self, src: str | None = None, name: str | None = None):
        """src: the text of one function.  name: its name."""
        self.src_: str | None = None
        self.name = name
        self.func_: Callable[..., Any] | None = None
        if src is not None:
            self._define(src, f"<hybrid function {next(_numbers)}>")

    def __call__(self, *args: Any) -> Any:
        """The result of the function, as of a function with the decorator `script`. LoadError without a source."""
        if self.func_ is None:
            raise LoadError("hybrid module: no function has been loaded")
        return self.func_(*args)

    def get_source(self) -> str | None:
        """The text of the function, or of the file that it was loaded from."""
        return self.src_

    def save(self, path: str) -> None:
        """Writes the text of the function to a file, whose name ends in `.py`. LoadError without a source."""
        if self.src_ is None:
            raise LoadError("hybrid module: no function has been loaded")
        Path(_python_file(path)).write_text(self.src_)

    def load(self, path: str) -> None:
        """Reads the function from a file. LoadError unless it has one function, OSError if there is no file."""
        file = Path(path)
        self._define(file.read_text(), str(file.resolve()))

    def _define(self, text: str, file: str) -> None:
        # lazy: the package imports this module
        from . import script

        try:
            functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        except SyntaxError as error:
            raise LoadError(f"hybrid module: {error}") from None
        if len(functions) != 1:
            raise LoadError(f"hybrid module: {len(functions)} functions, expected one")
        (function,) = functions
        function.decorator_list = []
        names: dict[str, Any] = {}
        exec(compile(ast.Module([function], []), file, "exec"), names)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        self.src_, self.name = text, self.name or function.name
        self.func_ = script(names[function.name])


def _python_file(path: str) -> str:
    return path if path.endswith(".py") else f"{path}.py"


def build(sch: Schedule, inputs: Sequence[Any], outputs: Sequence[Tensor], name: str = "hybrid_func") -> HybridModule:
    """The loops of a schedule as a hybrid function.

    inputs: tensors and variables, the parameters of the function.  outputs: the tensors that it returns.  name: its
    name. Errors as of `tvm.lower`; UnsupportedError for statements and expressions that hybrid functions lack: calls of
    external functions, vectors; ScheduleError for a schedule that would change the results.
    """
    params: list[Tensor | Var] = [*inputs, *outputs]
    function = schedule_to_module(sch, params)["main"]
    if ILLEGAL_SCHEDULE in function.attrs:
        raise ScheduleError(f"hybrid function {name}: {function.attrs[ILLEGAL_SCHEDULE]}")
    source = source_of(function, name, len(inputs))
    return HybridModule(source, name)


__all__ = ["HybridModule", "build"]
