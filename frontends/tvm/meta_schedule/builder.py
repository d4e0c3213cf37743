"""Builds of kernels that are measured: `tvm.meta_schedule.builder`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....core.errors import OptionError, StepwellError
from ....module import Module
from .. import driver
from ..absent import report_absent
from ..contrib.utils import lasting_folder
from ..target.target import Target

__getattr__ = report_absent("tvm.meta_schedule.builder")


@dataclass(frozen=True)
class BuilderInput:
    """A kernel to build. params: ignored."""

    mod: Module
    target: Target
    params: Any = None


@dataclass(frozen=True)
class BuilderResult:
    """A built kernel. artifact_path: its file, None after an error.  error_msg: the error, None without one."""

    artifact_path: str | None
    error_msg: str | None


class Builder:
    """The base class of builders."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Builds kernels, each to a file of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no method build")

    @staticmethod
    def create(kind: Any = "local", *args: Any, **named: Any) -> Builder:
        """A builder in any accepted form: itself, or "local". OptionError for another value."""
        if isinstance(kind, Builder):
            return kind
        if kind == "local":
            return LocalBuilder(*args, **named)
        raise OptionError(f"builder {kind!r}, expected 'local' or a Builder")


@dataclass(frozen=True)
class LocalBuilder(Builder):
    """Builds kernels in this process, as `tvm.build`. The numbers are ignored, and so are functions of users."""

    max_workers: int | None = None
    timeout_sec: float = 30.0
    f_build: Any = None
    f_export: Any = None
    initializer: Any = None

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        return [_build(each) for each in build_inputs]


def _build(request: BuilderInput) -> BuilderResult:
    try:
        path = lasting_folder() / "kernel.so"
        driver.build(request.mod, target=request.target).export_library(str(path))
    except StepwellError as error:
        return BuilderResult(None, f"{type(error).__name__}: {error}")
    return BuilderResult(str(path), None)


__all__ = ["Builder", "BuilderInput", "BuilderResult", "LocalBuilder"]
