"""`python -m stepwell.tools.torch_suite`: compares models in PyTorch and in Stepwell, and prints or writes a table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..marks import write_between_marks
from .models import Case, cases
from .running import ROUTES, measure

TOLERANCE = 1e-4
MARKS = ("<!-- suite: made by `make torch-suite` -->", "<!-- end of suite -->")


def main(args: Sequence[str] | None = None) -> int:
    """Runs the suite with `args`, by default the command line. Returns 1 if a result is wrong or missing."""
    options = _parser().parse_args(args)
    if options.one:
        (case,) = (case for case in cases() if case.title == options.one)
        print(json.dumps({route: measure(case, route) for route in ROUTES}))
        return 0
    chosen = [case for case in cases() if options.only in case.title]
    rows = [(case, _measure_in_process(case, options.limit)) for case in chosen]
    if options.write is None:
        print("\n".join(table(rows)))
    else:
        write_between_marks(options.write, *MARKS, "\n".join(table(rows)))
    return int(any(not _passes(error) for _, errors in rows for error in errors.values()))


def table(rows: Iterable[tuple[Case, dict[str, float | str]]]) -> list[str]:
    """The lines of the table: the greatest error of each model by each route."""
    lines = ["| package | model | `from_torch` | `torch.compile` |", "| --- | --- | --- | --- |"]
    for case, errors in rows:
        lines.append(f"| {case.package} | {case.name} | {' | '.join(_text(errors[route]) for route in ROUTES)} |")
    return lines


def _passes(error: float | str) -> bool:
    return isinstance(error, float) and error <= TOLERANCE


def _text(error: float | str) -> str:
    if isinstance(error, str):
        return error
    return f"{error:.1e}" if _passes(error) else f"**{error:.1e}**"


def _measure_in_process(case: Case, limit: float) -> dict[str, Any]:
    """The errors of a case, measured in a process of its own. limit: in seconds."""
    command = [sys.executable, "-m", __package__ or "", "--one", case.title]
    errors: dict[str, Any]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
        errors = json.loads(run.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        errors = dict.fromkeys(ROUTES, f"more than {limit:.0f} s")
    except subprocess.CalledProcessError as error:
        errors = dict.fromkeys(ROUTES, (error.stderr.strip().splitlines() or ["crash"])[-1])
    print(case.title, errors, file=sys.stderr, flush=True)
    return errors


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m stepwell.tools.torch_suite", description=__doc__)
    parser.add_argument("-k", dest="only", default="", metavar="TEXT", help="only models with TEXT in the name")
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="for each model")
    parser.add_argument("--one", metavar="MODEL", help="measure one model in this process, and print JSON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the table between the marks of a page")
    return parser


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
