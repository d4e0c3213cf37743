"""Validation of passes: the program before and after each pass runs on small inputs, with the same results."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...module import Module
from ...transforms.observers import observe_passes, pass_observers

if TYPE_CHECKING:
    from .validator import PassValidator

VARIABLE = "STEPWELL_VALIDATE"
"""The environment variable that validates the passes of all pipelines if it is 1."""


@contextmanager
def validate_passes(validate: bool | None = None) -> Generator[PassValidator | None]:
    """Validates each pass of the body: raises `FaultyPassError` for the first pass that changes a result.

    validate: whether to validate; None for the value of the environment variable STEPWELL_VALIDATE. Yields the
    validator; None for a body that is not validated.
    """
    if not _is_wanted(validate):
        yield None
        return
    # lazy: the oracle is needed for validation only
    from .validator import PassValidator

    validator = _active_validator()
    if validator is not None:
        yield validator
        return
    validator = PassValidator()
    with observe_passes(validator):
        yield validator


def _is_wanted(validate: bool | None) -> bool:
    return os.environ.get(VARIABLE) == "1" if validate is None else validate


def validation_options(validate: bool | None = None) -> tuple[str, ...]:
    """The options of `stepwell-opt` that validate as `validate_passes(validate)`."""
    return ("--validate",) if _is_wanted(validate) else ()


def validate_rewrite(name: str, before: Module, after: Module) -> None:
    """Validates a rewrite that is no pass of a pipeline, where passes are validated; `name` is that of the rewrite.
    Raises `FaultyPassError` for changed results."""
    validator = _active_validator()
    if validator is not None:
        validator.check(name, before, after)


def _active_validator() -> PassValidator | None:
    if not pass_observers():
        return None
    # lazy: the oracle is needed for validation only
    from .validator import PassValidator

    return next((each for each in pass_observers() if isinstance(each, PassValidator)), None)
