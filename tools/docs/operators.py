"""docs/operators.md: a table of all operators, made from their definitions."""

from __future__ import annotations

import inspect

from ...operators import OPERATORS, Attribute, Operator

_HEAD = """\
# Operators

What graphs are made of. Each operator is defined once (`operators/`): its formula as tensor expressions, its
attributes, a reference in numpy that the tests hold it to, and how it may be fused with those around it. TVM's programs
find them in `tvm.topi`. `python -m stepwell.tools.docs` makes this page from the definitions.

Operands of one operator have one data type where nothing else is said, and are promoted as TVM promotes them otherwise;
shapes go together as numpy's do. `Axes` is a number, several, or None for all, negative ones counted from the end.

| operator | attributes | fused as | |
|---|---|---|---|
"""


def operators_page() -> str:
    """The page."""
    return _HEAD + "".join(map(_row, sorted(OPERATORS.values(), key=lambda each: each.name)))


def _row(operator: Operator) -> str:
    operands = ", ".join(operator.operands)
    name = f"`{operator.name}({'*' if operator.variadic else ''}{operands})`"
    attributes = ", ".join(f"`{_said(attribute)}`" for attribute in operator.attributes)
    meaning = operator.summary.replace("|", "\\|")
    return f"| {name} | {attributes} | {operator.pattern.name.lower().replace('_', '-')} | {meaning} |\n"


def _said(attribute: Attribute) -> str:
    default = "" if attribute.default is inspect.Parameter.empty else f" = {attribute.default!r}"
    return f"{attribute.name}: {attribute.type}{default}".replace("|", "\\|")
