"""The tables of docs/torch.md: models with their errors, and supported operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...frontends.torch import IMPORTERS
from .models import Case
from .running import ROUTES

TOLERANCE = 1e-4
MODEL_MARKS = ("<!-- suite: made by `make torch-suite` -->", "<!-- end of suite -->")
OPERATOR_MARKS = ("<!-- operators: made by `make torch-suite` -->", "<!-- end of operators -->")


def passes(error: float | str) -> bool:
    """Whether the error of a model is small enough."""
    return isinstance(error, float) and error <= TOLERANCE


def model_lines(rows: Iterable[tuple[Case, Mapping[str, float | str]]]) -> list[str]:
    """The lines of the table of models: the greatest error of each by each route."""
    lines = [f"| package | model | {' | '.join(f'`{route}`' for route in ROUTES)} |", "| --- | --- | --- | --- |"]
    for case, errors in rows:
        lines.append(f"| {case.package} | {case.name} | {' | '.join(_text(errors[route]) for route in ROUTES)} |")
    return lines


def _text(error: float | str) -> str:
    if isinstance(error, str):
        return error
    return f"{error:.1e}" if passes(error) else f"**{error:.1e}**"


def operator_lines() -> list[str]:
    """The lines of the table of operators: those of each module of importers."""
    families: dict[str, set[str]] = {}
    for name, importer in IMPORTERS.items():
        family = importer.__module__.rpartition(".")[2]
        families.setdefault(family, set()).add(name.split(".")[1])
    lines = ["| importers | operators of ATen |", "| --- | --- |"]
    for family, names in sorted(families.items()):
        lines.append(f"| {family} | {', '.join(f'`{name}`' for name in sorted(names))} |")
    return lines
