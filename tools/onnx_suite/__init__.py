"""The backend node tests of ONNX for any runner of models: `python -m stepwell.tools.onnx_suite`."""

from .cases import KINDS, OnnxCase, fold_shapes, load_cases
from .comparison import result_difference
from .report import MODES, Results, report, write_report
from .running import OUTCOMES, CaseOutcome, Prepare, Run, run_cases

__all__ = [
    "KINDS",
    "MODES",
    "OUTCOMES",
    "CaseOutcome",
    "OnnxCase",
    "Prepare",
    "Results",
    "Run",
    "fold_shapes",
    "load_cases",
    "report",
    "result_difference",
    "run_cases",
    "write_report",
]
