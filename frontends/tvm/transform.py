"""Passes on modules, as `tvm.transform` has them: written as functions, put in a row, and run in a context.

A pass is a callable from modules to modules. The context says which passes run, shows each to instruments, and adds
passes to the way down (`tir.add_lower_pass`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError, PassError
from ...module import Module
from .ir.module import IRModule

CONFIG = ("tir.add_lower_pass",)
"""The options of a context."""
PHASES = 4


@dataclass(frozen=True)
class PassInfo:
    """What is known of a pass: from which level on it runs, its name, and passes that have to run in front of it."""

    opt_level: int
    name: str
    required: tuple[str, ...] = ()


class PassInstrument:
    """Is shown passes as they run. Subclasses override what they want to know.

    `should_run` decides; False leaves a pass out, unless it is required.
    """

    def enter_pass_ctx(self) -> None:
        """The context is entered."""

    def exit_pass_ctx(self) -> None:
        """The context is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass should run."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass is about to run."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass has run."""


class PassContext:
    """In which passes run: `with PassContext(opt_level=3, config={...}): ...`.

    opt_level: passes of a higher level are left out.  required_pass: names of passes that run all the same.
    disabled_pass: names of passes that do not run.  instruments: are shown each pass.  config: options;
    `tir.add_lower_pass` is a list of (phase, pass) to run behind the phases of the way down: 0 as it is given, 1 when
    blocks are resolved, 2 when loops are transformed, 3 when it is cleaned up.
    """

    _entered: list[PassContext] = []

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or ())
        self.disabled_pass = list(disabled_pass or ())
        self.instruments = list(instruments or ())
        self.config = dict(config or {})
        for key in self.config:
            if key not in CONFIG:
                raise OptionError(f"no option {key!r}{did_you_mean(key, CONFIG)} (has: {', '.join(CONFIG)})")
        for entry in self.config.get("tir.add_lower_pass", ()):
            if not (isinstance(entry, tuple | list) and len(entry) == 2 and callable(entry[1])):  # pyright: ignore[reportUnknownArgumentType]
                raise OptionError(f"tir.add_lower_pass: {entry!r}, expected a phase and a pass")
            if not isinstance(entry[0], int) or entry[0] < 0:
                raise OptionError(f"tir.add_lower_pass: phase {entry[0]!r}, expected a number from 0 on")

    @staticmethod
    def current() -> PassContext:
        """The innermost context that is entered, or one of defaults."""
        return PassContext._entered[-1] if PassContext._entered else PassContext()

    def __enter__(self) -> Self:
        PassContext._entered.append(self)
        for instrument in self.instruments:
            instrument.enter_pass_ctx()
        return self

    def __exit__(self, *error: object) -> None:
        PassContext._entered.pop()
        for instrument in self.instruments:
            instrument.exit_pass_ctx()

    def added(self, phase: int) -> list[Callable[[IRModule], Module]]:
        """The passes that users have added behind a phase; the last one takes those of later phases too."""
        entries: list[tuple[int, Any]] = list(self.config.get("tir.add_lower_pass", ()))
        return [run for at, run in entries if min(at, PHASES - 1) == phase]

    def runs(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass runs here."""
        if info.name in self.disabled_pass:
            return False
        if info.name in self.required_pass:
            return True
        return info.opt_level <= self.opt_level and all(i.should_run(mod, info) for i in self.instruments)

    @contextmanager
    def running(self, mod: IRModule, info: PassInfo) -> Generator[Callable[[IRModule], None]]:
        """Instruments see a pass: in front of what is inside, and behind it, when they are given its result."""
        for instrument in self.instruments:
            instrument.run_before_pass(mod, info)

        def done(result: IRModule) -> None:
            for instrument in self.instruments:
                instrument.run_after_pass(result, info)

        yield done


class Pass:
    """A pass: `mod = a_pass(mod)`. The module that it takes stays as it is."""

    info: PassInfo

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        """The module that it makes."""
        raise NotImplementedError

    def __call__(self, mod: Module) -> IRModule:
        shaped = as_module(mod)
        ctx = PassContext.current()
        if not ctx.runs(shaped, self.info):
            return shaped
        with ctx.running(shaped, self.info) as done:
            result = as_module(self.transform_module(shaped, ctx), self.info.name)
            result.verify()
            done(result)
        return result


class FunctionalPass(Pass):
    """A pass that is a function of a module and the context."""

    def __init__(self, run: Callable[[IRModule, PassContext], Module], info: PassInfo):
        self.info = info
        self._run = run

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        return self._run(mod, ctx)


class Sequential(Pass):
    """Passes one after the other."""

    def __init__(self, passes: Sequence[Pass], opt_level: int = 0, name: str = "sequential"):
        self.info = PassInfo(opt_level, name)
        self.passes = list(passes)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        for each in self.passes:
            mod = each(mod)
        return mod


def as_module(mod: Module, name: str = "") -> IRModule:
    """A module in TVM's shape. PassError if it is none."""
    if isinstance(mod, IRModule):
        return mod
    if not isinstance(mod, Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PassError(f"{f'pass {name} gives' if name else 'expected a module, got'} {mod!r}")
    return IRModule(mod.op, mod.constants)


def module_pass(
    pass_func: Callable[[IRModule, PassContext], Module] | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """A pass of a function from a module and the context to a module: `@module_pass(opt_level=0)`."""

    def made(function: Callable[[IRModule, PassContext], Module]) -> FunctionalPass:
        return FunctionalPass(function, PassInfo(opt_level, name or function.__name__, tuple(required or ())))

    return made if pass_func is None else made(pass_func)
