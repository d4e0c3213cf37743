"""Functions that a tuner calls after each batch: `tvm.autotvm.tuner.callback`."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ...absent import report_absent
from .. import record
from ..measure import MeasureInput, MeasureResult
from ..utils import format_si_prefix
from .tuner import Tuner, flops_of

__getattr__ = report_absent("tvm.autotvm.tuner.callback")
logger = logging.getLogger("autotvm")
_Callback = Callable[[Any, Sequence[MeasureInput], Sequence[MeasureResult]], None]


def log_to_file(file_out: str | os.PathLike[str] | TextIO, protocol: str = "json") -> _Callback:
    """A callback that adds records to a file, in the format of `autotvm.record.encode`."""

    def log(_tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        pairs = zip(inputs, results, strict=True)
        text = "".join(f"{record.encode(inp, result, protocol)}\n" for inp, result in pairs)
        if isinstance(file_out, str | os.PathLike):
            with Path(file_out).open("a") as file:
                file.write(text)
        else:
            file_out.write(text)

    return log


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> _Callback:
    """A callback that writes the speed, the trials and the seconds as a line that changes, unless all trials are logged
    (`logging.DEBUG`). total: the trials.  prefix: of the line.  si_prefix: of FLOPS.  OptionError for another
    prefix."""
    format_si_prefix(0, si_prefix)
    start, done = time.time(), 0

    def show(tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal done
        done += len(inputs)
        if logger.isEnabledFor(logging.DEBUG):
            return
        flops = max((flops_of(*pair) for pair in zip(inputs, results, strict=True)), default=0.0)
        current, best = (format_si_prefix(each, si_prefix) for each in (flops, tuner.best_flops))
        speed = f"{current:7.2f}/{best:7.2f} {si_prefix}FLOPS"
        end = " Done.\n" if done >= total or not tuner.has_next() else ""
        sys.stdout.write(
            f"\r{prefix} Current/Best: {speed} | Progress: ({done}/{total}) | {time.time() - start:.2f} s{end}"
        )
        sys.stdout.flush()

    return show


class Monitor:
    """A callback that keeps the FLOPS and the time of each trial."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(self, tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        for inp, result in zip(inputs, results, strict=True):
            self.scores.append(flops_of(inp, result))
            self.timestamps.append(result.timestamp)

    def reset(self) -> None:
        """Forgets all trials."""
        self.scores, self.timestamps = [], []

    def trial_scores(self) -> np.ndarray[Any, Any]:
        """The FLOPS of each trial, 0 after an error."""
        return np.array(self.scores)

    def trial_timestamps(self) -> np.ndarray[Any, Any]:
        """The time of each trial."""
        return np.array(self.timestamps)


__all__ = ["Monitor", "log_to_file", "progress_bar"]
