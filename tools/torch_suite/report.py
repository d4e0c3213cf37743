"""The tables of docs/torch.md: models with their errors, and supported operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...frontends.torch import IMPORTERS
from .models import Case
from .running import ROUNDING, ROUTES, TOLERANCE

MODEL_MARKS = ("<!-- suite: made by `make torch-suite` -->", "<!-- end of suite -->")
OPERATOR_MARKS = ("<!-- operators: made by `make torch-suite` -->", "<!-- end of operators -->")


def passes(errors: Mapping[str, float | str | None]) -> bool:
    """Whether each result of a model is near PyTorch's: within `TOLERANCE`, or within twice the error of PyTorch, by
    which two results of its precision may differ."""
    return all(_is_small(errors[route], errors.get(ROUNDING)) for route in ROUTES)


def _is_small(error: float | str | None, rounding: float | str | None) -> bool:
    limit = max(TOLERANCE, 2 * rounding if isinstance(rounding, float) else 0.0)
    return isinstance(error, float) and error <= limit


def model_lines(rows: Iterable[tuple[Case, Mapping[str, float | str | None]]]) -> list[str]:
    """The lines of the table of models: the greatest error of each by each route, and of PyTorch where one is great."""
    columns = (*ROUTES, ROUNDING)
    head = f"| package | model | {' | '.join(f'`{route}`' for route in ROUTES)} | {ROUNDING} in float32 |"
    lines = [head, f"|{' --- |' * (2 + len(columns))}"]
    for case, errors in rows:
        texts = [_text(errors[route], errors.get(ROUNDING)) for route in ROUTES]
        own = errors.get(ROUNDING)
        texts.append(f"{own:.1e}" if isinstance(own, float) else "")
        lines.append(f"| {case.package} | {case.name} | {' | '.join(texts)} |")
    return lines


def _text(error: float | str | None, rounding: float | str | None) -> str:
    if not isinstance(error, float):
        return str(error)
    return f"{error:.1e}" if _is_small(error, rounding) else f"**{error:.1e}**"


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
