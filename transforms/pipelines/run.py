"""Application of passes, one after another, to a module."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import TypeAlias

from xdsl.context import Context
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ShrinkException

from ...core.collection import rare_collection
from ...core.errors import FaultyPassError, PassError, StepwellError, VerifyError
from ...core.remarks import ignore_remarks
from ...dialects import mlir_context
from ...module import Module
from ..observers import observe_nothing, pass_observers

AfterPass: TypeAlias = Callable[[str, Module], None]
"""A callback after each pass, with the name of the pass and the resulting module."""


def run_pipeline(
    mod: Module, passes: Iterable[ModulePass], after: AfterPass | None = None, verify: bool = False
) -> Module:
    """Applies `passes` to a copy of `mod` and returns the result.

    verify: whether the verifier runs after each pass; always with the environment variable STEPWELL_VERIFY set to 1.
    Raises `FaultyPassError` for a pass that leaves an invalid module or fails with an error that is not a
    `StepwellError`; all other errors are those of the passes, with the name of the pass in a note.
    """
    with rare_collection():
        mod = mod.clone()
        run_in_place(mod, passes, after, verify)
    return mod


def run_in_place(
    mod: Module,
    passes: Iterable[ModulePass],
    after: AfterPass | None = None,
    verify: bool = False,
    context: Context | None = None,
) -> None:
    """Applies `passes` to `mod` itself. Options and errors are those of `run_pipeline`. context: of the passes; by
    default with all dialects."""
    context = context or mlir_context()
    verify = verify or os.environ.get("STEPWELL_VERIFY") == "1"
    for module_pass in passes:
        try:
            _run_observed(mod, module_pass, context, verify)
        except StepwellError as error:
            for observer in pass_observers():
                observer.after_failure(module_pass, error)
            raise
        if after is not None:
            after(module_pass.name, mod)


def _run_observed(mod: Module, module_pass: ModulePass, context: Context, verify: bool) -> None:
    observers = pass_observers()
    with observe_nothing():
        with ignore_remarks():
            for observer in observers:
                observer.before_pass(module_pass, mod)
        start = time.perf_counter()
        _apply(mod, module_pass, context)
        seconds = time.perf_counter() - start
        if verify:
            try:
                mod.verify()
            except VerifyError as error:
                raise FaultyPassError(f"pass {module_pass.name} leaves an invalid module: {error}") from error
        with ignore_remarks():
            for observer in observers:
                observer.after_pass(module_pass, mod, seconds)


def _apply(mod: Module, module_pass: ModulePass, context: Context) -> None:
    """Applies a pass. Errors of the pass become errors of Stepwell that name it."""
    name = module_pass.name
    try:
        module_pass.apply(context, mod.op)
    except StepwellError as error:
        error.add_note(f"in pass {name}")
        raise
    except DiagnosticException as error:
        refusal = PassError(str(error))
        refusal.add_note(f"in pass {name}")
        raise refusal from error
    except ShrinkException:  # a pass reports to an xDSL reducer
        raise
    except Exception as error:
        raise FaultyPassError(f"pass {name} failed: {type(error).__name__}: {error}") from error
