"""Observers of passes: `tvm.ir.instrument`, `tvm.instrument`."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from ..transform import PassInfo, PassInstrument
from .module import IRModule


def pass_instrument(pi_cls: type | None = None) -> Any:
    """The decorator of classes whose methods are events of `PassInstrument`: `@pass_instrument class Print: ...`."""

    def create(cls: type) -> type:
        return type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})

    return create if pi_cls is None else create(pi_cls)


class PassTimingInstrument(PassInstrument):
    """Measures the time of each pass. `render()` is a table of the passes in order, in milliseconds."""

    def __init__(self) -> None:
        self._times: list[tuple[int, str, float]] = []
        self._open: list[tuple[int, float]] = []

    def enter_pass_ctx(self) -> None:
        self._times.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._open.append((len(self._times), perf_counter()))
        self._times.append((len(self._open) - 1, info.name, 0.0))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        index, start = self._open.pop()
        depth, name, _ = self._times[index]
        self._times[index] = (depth, name, perf_counter() - start)

    def render(self) -> str:
        """A line for each pass, inner passes indented: its name and its time."""
        return "".join(f"{'  ' * depth}{name}: {seconds * 1e3:.3f} ms\n" for depth, name, seconds in self._times)


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before Running Pass: {info.name}\n{mod}")


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After Running Pass: {info.name}\n{mod}")


class PassPrintingInstrument(PassInstrument):
    """Prints the module before and after passes. print_before_pass_names, print_after_pass_names: of these passes."""

    def __init__(self, print_before_pass_names: Sequence[str] = (), print_after_pass_names: Sequence[str] = ()):
        self.print_before_pass_names = tuple(print_before_pass_names)
        self.print_after_pass_names = tuple(print_after_pass_names)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.print_before_pass_names:
            print(f"Print IR before: {info.name}\n{mod}")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if info.name in self.print_after_pass_names:
            print(f"Print IR after: {info.name}\n{mod}")


__all__ = [
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]
