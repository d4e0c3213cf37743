"""The calls between the functions of a module: `tvm.relay.analysis.CallGraph`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core.errors import OptionError
from ...relay.expr import Function, FunctionCall, GlobalVar
from ...relay.functor import post_order
from ..ir.module import IRModule


class CallGraph:
    """The calls between the graphs of a module. Functions are given by name, or as a `GlobalVar`.

    OptionError for an object that is not a module, and for a function that the module lacks.
    """

    def __init__(self, module: IRModule):
        if not isinstance(module, IRModule):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(f"CallGraph of {type(module).__name__}, expected a module")
        self.module = module
        self._calls = {name: called_functions(func) for name, func in module.items()}

    def global_call_count(self, var: str | GlobalVar) -> int:
        """The number of calls of functions of the module in a function."""
        return len(self._calls[self._name(var)])

    def ref_count(self, var: str | GlobalVar) -> int:
        """The number of calls of a function in the module."""
        name = self._name(var)
        return sum(calls.count(name) for calls in self._calls.values())

    def is_recursive(self, var: str | GlobalVar) -> bool:
        """Whether a function calls itself, also through others."""
        name = self._name(var)
        todo, seen = list(self._calls[name]), set[str]()
        while todo:
            top = todo.pop()
            if top not in seen:
                seen.add(top)
                todo += self._calls.get(top, [])
        return name in seen

    def print_var(self, var: str | GlobalVar) -> str:
        """The text of a function: the number of its calls, and the functions that it calls."""
        name = self._name(var)
        head = f"Call graph node: {name} at: #refs = {self.ref_count(name)}"
        return "\n".join([head, *(f"  {name} calls {other}" for other in self._calls[name])]) + "\n"

    def __str__(self) -> str:
        return "CallGraph:\n" + "".join(map(self.print_var, self._calls))

    def _name(self, var: str | GlobalVar) -> str:
        name = var.name_hint if isinstance(var, GlobalVar) else var
        if name not in self._calls:
            raise OptionError(f"CallGraph: function {name!r}, expected one of {', '.join(self._calls)}")
        return name


def called_functions(func: Any) -> list[str]:
    """The names of the functions that a function calls, once for each call."""
    nodes = post_order(func) if isinstance(func, Function) else ()
    callees = [node.op for node in nodes if isinstance(node, FunctionCall)]
    return [callee.name_hint for callee in callees if isinstance(callee, GlobalVar)]


def used_functions(functions: Mapping[str, Function], entries: Sequence[str]) -> set[str]:
    """The names of the functions that some functions call or use as values, also through others; with these."""
    used, todo = set[str](), [name for name in entries if name in functions]
    while todo:
        name = todo.pop()
        if name not in used:
            used.add(name)
            names = [each.name_hint for each in post_order(functions[name]) if isinstance(each, GlobalVar)]
            todo += [each for each in names if each in functions]
    return used
