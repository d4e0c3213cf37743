"""Outcomes as Markdown: totals, a row for each operator, and the reasons of failures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ..marks import write_between_marks
from .cases import KINDS, OnnxCase
from .running import OUTCOMES, CaseOutcome

MODES = {"given": "as given", "folded": "shapes folded"}

Results: TypeAlias = Mapping[str, Sequence[tuple[OnnxCase, CaseOutcome]]]
"""The cases and their outcomes in each mode."""

_START, _END = "<!-- suite: made by `make onnx-suite` -->", "<!-- end of suite -->"
_NAMES_SHOWN = 3
_SECTIONS = {
    "Expected values that are less exact than the results": {"inexact"},
    "Wrong results": {"wrong"},
    "Unsupported": {"unsupported"},
    "Errors": set(OUTCOMES) - {"pass", "inexact", "wrong", "unsupported"},
}


def report(results: Results) -> str:
    """The section of the page on a run of the suite. An outcome equal to the outcome in an earlier mode is omitted."""
    parts = ["### Totals", _totals(results), "### Operators", _operators(results)]
    for title, wanted in _SECTIONS.items():
        reported: set[tuple[str, CaseOutcome]] = set()
        for mode, pairs in results.items():
            selected = [pair for pair in pairs if pair[1].result in wanted and (pair[0].name, pair[1]) not in reported]
            reported |= {(case.name, outcome) for case, outcome in selected}
            if selected:
                show = _list if wanted <= {"inexact", "wrong"} else _group
                parts += [f"### {title}, {MODES[mode]}", show(selected)]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _totals(results: Results) -> str:
    rows: list[list[object]] = []
    for kind in KINDS:
        for mode, pairs in results.items():
            counts = Counter(outcome.result for case, outcome in pairs if case.kind == kind)
            if counts:
                share = f"{100 * counts['pass'] / counts.total():.1f} %"
                rows.append([kind, MODES[mode], counts.total(), *(counts[name] for name in OUTCOMES), share])
    return _table(["cases", "mode", "number", *OUTCOMES, "share"], rows)


def _operators(results: Results) -> str:
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: {mode: Counter() for mode in results})
    for mode, pairs in results.items():
        for case, outcome in pairs:
            counts[case.op][mode][outcome.result] += 1
    head = ["operator", "cases"]
    for mode in results:
        head += [f"{MODES[mode]}: pass", "inexact", "wrong", "unsupported", "error"]
    return _table(head, (_operator_row(op, counts[op]) for op in sorted(counts)))


def _operator_row(op: str, by_mode: Mapping[str, Counter[str]]) -> list[object]:
    row: list[object] = [op, max(counts.total() for counts in by_mode.values())]
    for counts in by_mode.values():
        named = [counts[name] for name in ("pass", "inexact", "wrong", "unsupported")]
        row += [count or "." for count in (*named, counts.total() - sum(named))]
    return row


def _list(pairs: Sequence[tuple[OnnxCase, CaseOutcome]]) -> str:
    return "\n".join(f"- `{case.name}` ({case.op}): {outcome.detail}" for case, outcome in pairs)


def _group(pairs: Sequence[tuple[OnnxCase, CaseOutcome]]) -> str:
    """The cases by reason, the most frequent reason first."""
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    for case, outcome in pairs:
        names[outcome.result, outcome.detail].append(case.name)
    order = sorted(names, key=lambda key: (-len(names[key]), key))
    return "\n".join(f"- {key[0]}, {len(names[key])}: {key[1]} ({_examples(names[key])})" for key in order)


def _examples(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names)[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown}, ..."


def write_report(page: Path, text: str) -> None:
    """Replaces the report on a page. ValueError if the page has no marks."""
    write_between_marks(page, _START, _END, text)
