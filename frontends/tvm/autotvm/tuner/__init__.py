"""Searches for fast configurations: `tvm.autotvm.tuner`."""

from __future__ import annotations

from ...absent import report_absent
from . import callback, ga_tuner, index_based_tuner, tuner, xgboost_tuner
from .ga_tuner import GATuner
from .index_based_tuner import GridSearchTuner, RandomTuner
from .tuner import Tuner
from .xgboost_tuner import XGBTuner

__getattr__ = report_absent("tvm.autotvm.tuner")

__all__ = [
    "GATuner", "GridSearchTuner", "RandomTuner", "Tuner", "XGBTuner", "callback", "ga_tuner", "index_based_tuner",
    "tuner", "xgboost_tuner",
]  # fmt: skip
