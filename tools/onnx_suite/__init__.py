"""The backend node tests of ONNX for any runner of models: `python -m stepwell.tools.onnx_suite`."""

from .cases import KINDS, Case, folded, load_cases
from .report import MODES, Results, report, write_between_marks
from .running import OUTCOMES, Outcome, Prepare, Run, difference, run_cases

__all__ = [
    "KINDS",
    "MODES",
    "OUTCOMES",
    "Case",
    "Outcome",
    "Prepare",
    "Results",
    "Run",
    "difference",
    "folded",
    "load_cases",
    "report",
    "run_cases",
    "write_between_marks",
]
