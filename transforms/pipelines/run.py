"""Application of passes, one after another, to a module."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeAlias

from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ...core.collection import rare_collection
from ...core.errors import PassError, StepwellError
from ...dialects import mlir_context
from ...module import Module

AfterPass: TypeAlias = Callable[[str, Module], None]
"""A callback after each pass, with the name of the pass and the resulting module."""


def run_pipeline(mod: Module, passes: Iterable[ModulePass], after: AfterPass | None = None) -> Module:
    """Applies `passes` to a copy of `mod` and returns the result.

    With the environment variable STEPWELL_VERIFY set to 1, the verifier runs after each pass.
    Raises `PassError` for a pass that fails with an error that is not a `StepwellError`.
    """
    with rare_collection():
        mod = mod.clone()
        run_in_place(mod, passes, after)
    return mod


def run_in_place(mod: Module, passes: Iterable[ModulePass], after: AfterPass | None = None) -> None:
    """Applies `passes` to `mod` itself. Options and errors are those of `run_pipeline`."""
    context = mlir_context()
    for module_pass in passes:
        try:
            module_pass.apply(context, mod.op)
        except StepwellError:
            raise
        except DiagnosticException as error:
            raise PassError(str(error)) from error
        except Exception as error:
            raise PassError(f"pass {module_pass.name} failed: {type(error).__name__}: {error}") from error
        if os.environ.get("STEPWELL_VERIFY") == "1":
            mod.verify()
        if after is not None:
            after(module_pass.name, mod)
