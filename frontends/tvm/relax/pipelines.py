"""Pipelines of passes by name: `relax.get_pipeline`, `relax.register_pipeline`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ....core.errors import OptionError
from ....module import Module
from ..target.target import Target, TargetLike
from ..transform import Runnable, Sequential
from .transform import FuseOps, FuseTIR, LegalizeOps, LiftTransformParams
from .tuning import MetaScheduleApplyDatabase, MetaScheduleTuneIRMod

PipelineLike: TypeAlias = "str | Runnable"
"""A pipeline: its name, or a pass."""
BUILDING = ("default", "default_build")
"""The pipelines that `relax.build` runs itself."""


def _zero() -> Runnable:
    return Sequential([FuseOps(), FuseTIR()], name="zero")


def _tuning(
    total_trials: int,
    target: TargetLike | None = None,
    work_dir: str = "tuning_logs",
    cpu_weight_prepack: bool = False,
    **options: Any,
) -> Runnable:
    """Replaces operators by kernels, tunes these and applies the schedules that were found. target: by default the
    current one.  cpu_weight_prepack: whether operations on weights alone become a function `NAME_transform_params`,
    as of `LiftTransformParams`.  options: `max_trials_per_task`."""
    passes = [
        _zero(),
        LegalizeOps(),
        MetaScheduleTuneIRMod({}, work_dir, total_trials, **options),
        MetaScheduleApplyDatabase(work_dir),
        *([LiftTransformParams()] if cpu_weight_prepack else []),
    ]
    if target is None:
        return Sequential(passes, name="static_shape_tuning")

    def run(mod: Module) -> Module:
        with Target(target):
            return Sequential(passes, name="static_shape_tuning")(mod)

    return run


def zero_pipeline(*, enable_to_non_dataflow: bool = False) -> Runnable:
    """The pipeline "zero". enable_to_non_dataflow: ignored, dataflow regions have no effect on kernels."""
    return _zero()


def default_build_pipeline() -> Runnable:
    """The pipeline "default_build"."""
    return get_pipeline("default_build")


static_shape_tuning_pipeline = _tuning

_PIPELINES: dict[str, Callable[..., Runnable]] = {
    "zero": _zero,
    "static_shape_tuning": _tuning,
    **dict.fromkeys(BUILDING, LegalizeOps),
}


def register_pipeline(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of a function that returns a pass, the pipeline of a name. OptionError for a known name."""
    if name in _PIPELINES:
        raise OptionError(f"pipeline {name!r} is known already")

    def register(create: Callable[..., Any]) -> Callable[..., Any]:
        _PIPELINES[name] = create
        return create

    return register


def get_pipeline(name: str = "zero", **options: Any) -> Runnable:
    """The passes of a pipeline as one pass: "zero" fuses operators and replaces them by functions of `tir`, "default"
    and "default_build" replace each operator by one, "static_shape_tuning" tunes kernels (`total_trials=64`).

    options: of the function of the pipeline. OptionError for an unknown pipeline or option.
    """
    if name not in _PIPELINES:
        raise OptionError(f"pipeline {name!r}, expected one of {', '.join(_PIPELINES)}")
    try:
        return _PIPELINES[name](**options)
    except TypeError as error:
        raise OptionError(f"pipeline {name!r} with options {list(options)}: {error}") from None


def get_default_pipeline(target: object = None) -> Runnable:
    """The pipeline "default", for every target."""
    return get_pipeline("default")
