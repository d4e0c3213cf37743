"""Pipelines of passes on kernels: `tvm.tir.pipeline`, from v0.24 on `tvm.s_tir.pipeline`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import OptionError
from ..absent import report_absent
from ..transform import FunctionalPass, no_change

__getattr__ = report_absent("tvm.tir.pipeline")


def default_tir_pipeline() -> FunctionalPass:
    """Leaves a module as it is: `tvm.build` lowers kernels."""
    return no_change("default_tir_pipeline")


default_s_tir_pipeline = default_tir_pipeline


def finalize_host_passes() -> FunctionalPass:
    """Leaves a module as it is: `tvm.build` lowers the code of the host."""
    return no_change("finalize_host_passes")


def finalize_device_passes() -> FunctionalPass:
    """Leaves a module as it is: `tvm.build` lowers the code of devices."""
    return no_change("finalize_device_passes")


_PIPELINES: dict[str, Callable[..., Any]] = {"default": default_tir_pipeline, "s_tir": default_tir_pipeline}


def get_tir_pipeline(name: str = "default", **options: Any) -> Any:
    """The pipeline of a name. OptionError for an unknown one."""
    if name not in _PIPELINES:
        raise OptionError(f"pipeline {name!r}, expected one of {', '.join(_PIPELINES)}")
    return _PIPELINES[name](**options)


def get_default_tir_pipeline(target: object = None) -> FunctionalPass:
    """The pipeline "default", for every target."""
    return default_tir_pipeline()


__all__ = [
    "default_s_tir_pipeline", "default_tir_pipeline", "finalize_device_passes", "finalize_host_passes",
    "get_default_tir_pipeline", "get_tir_pipeline",
]  # fmt: skip
