"""`apply_passes`: pipelines of passes as text, applied to a copy of a module."""

from __future__ import annotations

from ..core.remarks import RemarkReceiver, report_remarks
from ..module import Module
from ..transforms.pipelines import AfterPass, parse_passes, run_pipeline
from ..transforms.reproducers import leave_reproducers
from ..transforms.statistics import StatisticsReceiver, report_statistics
from ..transforms.timing import TimesReceiver, report_times
from .validation import validate_passes, validation_options


def apply_passes(
    mod: Module,
    spec: str,
    after: AfterPass | None = None,
    *,
    validate: bool | None = None,
    times: TimesReceiver | None = None,
    remarks: RemarkReceiver | None = None,
    statistics: StatisticsReceiver | None = None,
) -> Module:
    """Applies a pipeline, such as `tir-resolve-blocks,tir-simplify{unit-loops=true}`, to a copy of `mod`.

    Passes are Stepwell's, xDSL's and those of other packages, in the syntax of `stepwell-opt -p`. The module is
    verified after each pass.

    validate: whether the program before and after each pass runs on small inputs, which must have the same results
    (docs/workbench.md#validation); None for the value of the environment variable STEPWELL_VALIDATE.
    after: is called with the name of each pass and the module after it.  times: is called at the end with the times of
    the passes, as `print`.  remarks: is called with each decision of the passes.  statistics: is called at the end with
    the numbers of the decisions of each pass, as `print`.
    A fault of a pass leaves a reproducer (docs/workbench.md#reproducers), whose path is a note of the error.
    Raises `OptionError` for a malformed pipeline, `PassError` for a pass that refuses the module,
    `FaultyPassError` for a pass that fails, leaves an invalid module or changes a result.
    """
    passes = parse_passes(spec)

    def repeat() -> None:
        with validate_passes(validate):
            run_pipeline(mod, passes, verify=True)

    with leave_reproducers(repeat, validation_options(validate)):
        with report_remarks(remarks), report_statistics(statistics), report_times(times), validate_passes(validate):
            return run_pipeline(mod, passes, after, verify=True)
