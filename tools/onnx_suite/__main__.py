"""`python -m stepwell.tools.onnx_suite`: runs the node tests of ONNX, and prints a report or writes it into a page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import onnx

from .cases import KINDS, OnnxCase, fold_shapes, load_cases
from .outcomes import Outcomes
from .peers import PEERS
from .report import MODES, report, write_report
from .running import CaseOutcome, Prepare, run_attempt, run_cases

_MODES: dict[str, Callable[[OnnxCase], OnnxCase]] = {"given": lambda case: case, "folded": fold_shapes}


def main(args: Sequence[str] | None = None) -> None:
    """Runs the suite with `args`, by default the command line."""
    options = _parser().parse_args(args)
    kinds = options.kind or ["inference"]
    cases = [case for case in load_cases() if case.kind in kinds and options.only in f"{case.name} {case.op}"]
    prepare = PEERS[options.peer]()
    for case in cases[:1]:
        run_attempt(case, prepare)  # imports modules, which the processes of cases inherit
    with Outcomes(options.results) as known:
        results = {mode: _run(mode, cases, prepare, options, known) for mode in options.mode or MODES}
    text = f"Run by {options.peer}, with the cases of onnx {onnx.__version__}.\n\n{report(results)}"
    if options.write is None:
        print(text)
    else:
        write_report(options.write, text)


def _run(
    mode: str, cases: Sequence[OnnxCase], prepare: Prepare, options: argparse.Namespace, known: Outcomes
) -> list[tuple[OnnxCase, CaseOutcome]]:
    """The outcomes of the cases in a mode. A case that is the same in another mode, and one of an earlier run with the
    same file of results, is not run again."""
    start = time.monotonic()
    left: list[OnnxCase] = []
    for case in cases:
        changed = _MODES[mode](case)
        if changed is case and known.get("given", case) is not None:
            known.add(mode, case, known["given", case])
        elif known.get(mode, case) is None:
            left.append(changed)
    for case, outcome in run_cases(left, prepare, workers=options.jobs, limit=options.limit):
        known.add(mode, case, outcome)
    done = [(case, known[mode, case]) for case in cases]
    passed = sum(outcome.result == "pass" for _, outcome in done)
    print(f"{MODES[mode]}: {passed} of {len(done)} pass, {time.monotonic() - start:.0f} s", file=sys.stderr)
    return done


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m stepwell.tools.onnx_suite", description="ONNX's node tests.")
    parser.add_argument("-k", dest="only", default="", metavar="TEXT", help="only cases with TEXT in name or operator")
    parser.add_argument("-j", dest="jobs", type=int, default=1, metavar="N", help="cases at a time")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of the cases (default: inference)")
    parser.add_argument("--mode", action="append", choices=MODES, help="default: both")
    parser.add_argument("--peer", choices=PEERS, default="stepwell", help="what runs the models")
    parser.add_argument("--limit", type=float, default=20.0, metavar="SECONDS", help="for each case")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="keep outcomes, and leave out the cases of an earlier run"
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the report between the marks of a page")
    return parser


if __name__ == "__main__":
    main()
