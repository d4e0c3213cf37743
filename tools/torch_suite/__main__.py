"""`python -m stepwell.tools.torch_suite`: compares models in PyTorch and in Stepwell, and prints or writes a table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..marks import write_between_marks
from .models import Case, cases
from .report import MODEL_MARKS, OPERATOR_MARKS, model_lines, operator_lines, passes
from .running import ROUTES, measure_all


def main(args: Sequence[str] | None = None) -> int:
    """Runs the suite with `args`, by default the command line. Returns 1 if a result is wrong or missing."""
    options = _parser().parse_args(args)
    if options.one:
        (case,) = (case for case in cases() if case.title == options.one)
        print(json.dumps(measure_all(case)))
        return 0
    if options.operators:
        write_between_marks(options.operators, *OPERATOR_MARKS, "\n".join(operator_lines()))
        return 0
    chosen = [case for case in cases() if options.only in case.title]
    rows = [(case, _measure_in_process(case, options.limit)) for case in chosen]
    if options.write is None:
        print("\n".join(model_lines(rows)))
    else:
        write_between_marks(options.write, *OPERATOR_MARKS, "\n".join(operator_lines()))
        write_between_marks(options.write, *MODEL_MARKS, "\n".join(model_lines(rows)))
    return int(not all(passes(errors) for _, errors in rows))


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
    parser.add_argument("--limit", type=float, default=1800.0, metavar="SECONDS", help="for each model")
    parser.add_argument("--one", metavar="MODEL", help="measure one model in this process, and print JSON")
    parser.add_argument("--operators", type=Path, metavar="PAGE", help="only write the table of operators of a page")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables of a page")
    return parser


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
