"""Entry points of the commands. An interrupt of the keyboard ends a command in one line, during its imports too."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module

_INTERRUPTED = 130
"""The exit code of a shell for a process that SIGINT has ended."""


def stepwell() -> None:
    """Runs `stepwell`."""
    _run("stepwell")


def stepwell_opt() -> None:
    """Runs `stepwell-opt`."""
    _run("stepwell_opt")


def stepwell_run() -> None:
    """Runs `stepwell-run`."""
    _run("stepwell_run")


def stepwell_gui() -> None:
    """Runs `stepwell-gui`."""
    _run("stepwell_gui")


def _run(module: str) -> None:
    with report_interrupts():
        import_module(f".{module}", __package__).main()


@contextmanager
def report_interrupts() -> Generator[None]:
    """Reports an interrupt of the keyboard in one line, and exits."""
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
