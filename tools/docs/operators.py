"""docs/operators.md: a table of all operators, generated from their definitions."""

from __future__ import annotations

import inspect

from ...operators import OPERATORS, Attribute, Operator

_HEAD = """\
# Operators

The operators of graphs. Each operator is defined once (`operators/`): its formula as tensor expressions, its
attributes, a reference in numpy for the tests, and its pattern of fusion with other operators. Programs for TVM import
the operators from `tvm.topi`. `python -m stepwell.tools.docs` generates this page from the definitions.

Unless stated otherwise, the operands of an operator have one data type, or are promoted to one as in TVM, and their
shapes broadcast as in numpy. `Axes` denotes one axis, several axes, or None for all axes; negative axes count from the
end. `Window` denotes one number for all spatial dimensions, or one number for each.

| operator | attributes | fusion | description |
|---|---|---|---|
"""


def operators_page() -> str:
    """The text of docs/operators.md."""
    return _HEAD + "".join(map(_row, sorted(OPERATORS.values(), key=lambda each: each.name)))


def _row(operator: Operator) -> str:
    *fixed, last = operator.operands or ("",)
    name = f"`{operator.name}({', '.join([*fixed, f'*{last}' if operator.variadic else last])})`"
    attributes = ", ".join(f"`{_attribute_text(attribute)}`" for attribute in operator.attributes)
    meaning = operator.summary.replace("|", "\\|")
    return f"| {name} | {attributes} | {operator.pattern.name.lower().replace('_', '-')} | {meaning} |\n"


def _attribute_text(attribute: Attribute) -> str:
    default = "" if attribute.default is inspect.Parameter.empty else f" = {attribute.default!r}"
    return f"{attribute.name}: {attribute.type}{default}".replace("|", "\\|")
