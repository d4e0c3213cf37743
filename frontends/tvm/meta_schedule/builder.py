"""Builds of kernels that are measured: `tvm.meta_schedule.builder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....core.errors import OptionError
from ....module import Module
from .. import driver
from ..absent import report_absent
from ..contrib.utils import lasting_folder
from ..registry import get_global_func
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


PyBuilder = Builder
"""The base class of builders of users."""


@dataclass(frozen=True)
class LocalBuilder(Builder):
    """Builds kernels in this process, by default as `tvm.build`.

    f_build: a function of a module, a target and parameters that returns a built module, or its name in the registry.
    f_export: a function of a built module that returns the path of its file, or its name.  initializer: a function that
    is called before.  The numbers are ignored. OptionError for an unknown name.
    """

    max_workers: int | None = None
    timeout_sec: float = 30.0
    f_build: Callable[[Module, Target, Any], Any] | str | None = None
    f_export: Callable[[Any], str] | str | None = None
    initializer: Callable[[], Any] | None = None

    def __post_init__(self) -> None:
        if self.initializer is not None:
            self.initializer()
        for given in (self.f_build, self.f_export):
            _function_of(given)

    @property
    def is_default(self) -> bool:
        """Whether kernels are built as by `tvm.build`."""
        return self.f_build is None and self.f_export is None

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        return [self._build(each) for each in build_inputs]

    def _build(self, request: BuilderInput) -> BuilderResult:
        build, export = _function_of(self.f_build) or _build, _function_of(self.f_export) or _export
        try:
            path = export(build(request.mod, request.target, request.params))
        except Exception as error:  # functions of users
            message = f"LocalBuilder: An exception occurred\n{type(error).__name__}: {error}"
            return BuilderResult(None, message)
        return BuilderResult(str(path), None)


def _function_of(given: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    """The function of a name of the registry, or as it is given. OptionError for an unknown name."""
    if not isinstance(given, str):
        return given
    found = get_global_func(given, allow_missing=True)
    if found is None:
        raise OptionError(f"LocalBuilder: no function {given!r} is registered, expected one of tvm.register_func")
    return found


def _build(mod: Module, target: Target, params: Any) -> Any:
    return driver.build(mod, target=target)


def _export(built: Any) -> str:
    path = str(lasting_folder() / "kernel.tar")
    built.export_library(path)
    return path


__all__ = ["Builder", "BuilderInput", "BuilderResult", "LocalBuilder", "PyBuilder"]
