"""Observers of passes, for the time of a `with` statement: timing, validation, printing, reproducers."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.passes import ModulePass

from ..module import Module


class PassObserver:
    """Callbacks around each pass. Subclasses override the events of interest; errors that they raise end the pipeline.

    Passes and lowerings that a pass or an observer runs itself are not observed.
    """

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        """Called with the module that a pass is about to change."""

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        """Called with the module that a pass has changed, verified if the pipeline verifies. seconds: the duration of
        the pass alone."""

    def after_failure(self, module_pass: ModulePass, error: Exception) -> None:
        """Called with the error of a pass, of the verifier after the pass, or of an observer."""

    def after_stage(self, name: str, seconds: float) -> None:
        """Called after a stage of compilation that is no pass, such as LLVM."""


_observers: ContextVar[tuple[PassObserver, ...]] = ContextVar("stepwell.observers", default=())


def pass_observers() -> tuple[PassObserver, ...]:
    """The observers of the passes that run now, in order; none inside of a pass."""
    return _observers.get()


@contextmanager
def observe_passes(*observers: PassObserver | None) -> Generator[None]:
    """Shows the passes of the body to observers, after those that observe already. None is no observer."""
    with _replace_observers((*_observers.get(), *filter(None, observers))):
        yield


@contextmanager
def observe_nothing() -> Generator[None]:
    """Hides the passes of the body from all observers."""
    with _replace_observers(()):
        yield


@contextmanager
def _replace_observers(observers: Sequence[PassObserver]) -> Generator[None]:
    token = _observers.set(tuple(observers))
    try:
        yield
    finally:
        _observers.reset(token)


@contextmanager
def stage(name: str) -> Generator[None]:
    """Reports the duration of the body, a stage of compilation, to the observers."""
    observers = _observers.get()
    if not observers:
        yield
        return
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    for observer in observers:
        observer.after_stage(name, seconds)
