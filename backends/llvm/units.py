"""The division of LLVM IR into units, modules that are compiled apart from each other, in several threads.

The text of a module defines its symbols as `internal`. In units the symbols are `hidden`: each is defined in one unit,
and declared in the units that use it. Helper functions, which have no state, are copied instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

UNIT_LINES = 1500
"""The number of lines of functions in a unit, at least, except for the last unit. LLVM compiles them in some 0.1 s."""

_SYMBOL = re.compile(r'@(?:"[^"]*"|[A-Za-z0-9$._-]+)')


@dataclass(frozen=True)
class Definition:
    """The definition of a symbol. name: with its `@`.  head, body: the text before and after the linkage.
    declaration: the text of a declaration.
    """

    name: str
    head: str
    body: str
    declaration: str

    @staticmethod
    def of_function(name: str, text: str) -> Definition:
        """The definition of a function, `define internal RESULT NAME(...) ATTRIBUTES {...}`."""
        body = text.removeprefix("define internal ")
        header = body.partition(" {")[0].partition(" !dbg ")[0]
        return Definition(name, "define", body, f"declare hidden {header}")

    @staticmethod
    def of_variable(name: str, kind: str, type: str, value: str, suffix: str = "") -> Definition:
        """The definition of a variable. kind: `global` or `constant`."""
        declaration = f"{name} = external hidden {kind} {type}{suffix}"
        return Definition(name, f"{name} =", f"{kind} {type} {value}{suffix}", declaration)

    def text(self, linkage: str) -> str:
        """The text with a linkage, `internal` or `hidden`."""
        return f"{self.head} {linkage} {self.body}"


@dataclass(frozen=True)
class ModuleText:
    """The parts of the text of a module.

    declarations: of C symbols.  helpers: the text of each helper function, by name with its `@`.  variables, functions:
    of the module.  exports: the definitions of symbols that callers use.  footer: metadata.  outside: the declarations
    of symbols of other parts of the program.  shared: the names of functions and variables
    that other parts use.
    """

    declarations: Sequence[str]
    helpers: Mapping[str, str]
    variables: Sequence[Definition]
    functions: Sequence[Definition]
    exports: Sequence[str]
    footer: str
    outside: Mapping[str, str] = field(default_factory=dict[str, str])
    shared: Collection[str] = ()

    def whole(self) -> str:
        """The text of the module."""
        definitions = [
            each.text("hidden" if each.name in self.shared else "internal")
            for each in (*self.variables, *self.functions)
        ]
        declared = [*self.declarations, *self.outside.values()]
        return self._join(declared, self.helpers.values(), definitions, self.exports)

    def units(self) -> list[str]:
        """The text of each unit, one for a small module. The exports and the variables are in the first unit."""
        parts = _consecutive(self.functions)
        if len(parts) < 2:
            return [self.whole()]
        return [self._unit(part, n == 0) for n, part in enumerate(parts)]

    def _unit(self, functions: Sequence[Definition], first: bool) -> str:
        own = [*(self.variables if first else ()), *functions]
        texts = [*(each.text("hidden") for each in own), *(self.exports if first else ())]
        helpers = self._used_helpers(texts)
        used = _symbols([*texts, *helpers])
        defined = {each.name for each in own}
        others = {each.name: each.declaration for each in (*self.variables, *self.functions)} | dict(self.outside)
        declared = [text for name, text in others.items() if name in used and name not in defined]
        return self._join([*self.declarations, *declared], helpers, texts)

    def _used_helpers(self, texts: Sequence[str]) -> list[str]:
        """The text of each helper function that texts use, directly or through other helpers, and of those that LLVM
        calls on its own."""
        used: dict[str, str] = {}
        todo = [*texts, *(text for text in self.helpers.values() if "@llvm.compiler.used" in text)]
        while todo:
            text = todo.pop()
            for name in _symbols([text]):
                if name in self.helpers and name not in used:
                    used[name] = self.helpers[name]
                    todo.append(self.helpers[name])
        return [text for name, text in self.helpers.items() if name in used]

    def _join(self, lines: Iterable[str], *texts: Iterable[str]) -> str:
        return "\n\n".join(filter(None, ["\n".join(lines), *(text for part in texts for text in part), self.footer]))


def _symbols(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in _SYMBOL.findall(text)}


def _consecutive(functions: Sequence[Definition]) -> list[list[Definition]]:
    """Functions in groups of at least `UNIT_LINES` lines, except for the last, in order."""
    groups: list[list[Definition]] = []
    lines = UNIT_LINES
    for function in functions:
        if lines >= UNIT_LINES:
            groups.append([])
            lines = 0
        groups[-1].append(function)
        lines += function.body.count("\n")
    return groups
