"""Passes on modules, as `tvm.transform` has them: written as functions, put in a row, and run in a context.

A pass is a callable from modules to modules. Passes of xDSL (`ModulePass`) stand wherever these do, and so do the names
by which `stepwell-opt` finds them. The context says which passes run, shows each to instruments, and adds passes to the
way down (`tir.add_lower_pass`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from xdsl.passes import ModulePass

from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError, PassError
from ...module import Module
from ...transforms.pipelines import parse_passes, run_pipeline
from .ir.module import IRModule

CONFIG = ("tir.add_lower_pass", "tir.disable_vectorize")
"""The options of a context."""
PHASES = 4


@dataclass(frozen=True)
class PassInfo:
    """What is known of a pass: from which level on it runs, its name, and names of passes that run in front of it."""

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
    blocks are resolved, 2 when loops are transformed, 3 when it is cleaned up; `tir.disable_vectorize`: loops are not
    made vectors.
    OptionError for options that are none, and for what is no pass.
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
            if not (isinstance(entry, tuple | list) and len(entry) == 2):  # pyright: ignore[reportUnknownArgumentType]
                raise OptionError(f"tir.add_lower_pass: {entry!r}, expected a phase and a pass")
            if not isinstance(entry[0], int) or entry[0] < 0:
                raise OptionError(f"tir.add_lower_pass: phase {entry[0]!r}, expected a number from 0 on")
            as_passes(entry[1], "tir.add_lower_pass")

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

    def added(self, phase: int) -> list[Runnable]:
        """The passes that users have added behind a phase; the last one takes those of later phases too."""
        entries: list[tuple[int, Any]] = list(self.config.get("tir.add_lower_pass", ()))
        behind = [given for at, given in entries if min(at, PHASES - 1) == phase]
        return [run for given in behind for run in as_passes(given, "tir.add_lower_pass")]

    def runs(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass runs here."""
        if info.name in self.disabled_pass:
            return False
        if info.name in self.required_pass:
            return True
        return info.opt_level <= self.opt_level and all(i.should_run(mod, info) for i in self.instruments)


class Pass:
    """A pass: `mod = a_pass(mod)`. The module that it takes stays as it is.

    If it runs, those that its `info.required` names run in front of it.
    """

    info: PassInfo

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        """The module that it makes."""
        raise NotImplementedError

    def __call__(self, mod: Module) -> IRModule:
        shaped = as_module(mod)
        ctx = PassContext.current()
        if not ctx.runs(shaped, self.info):
            return shaped
        for name in self.info.required:
            shaped = run_passes(shaped, as_passes(name, f"pass {self.info.name}"))
        for instrument in ctx.instruments:
            instrument.run_before_pass(shaped, self.info)
        result = as_module(self.transform_module(shaped, ctx), self.info.name)
        result.verify()
        for instrument in ctx.instruments:
            instrument.run_after_pass(result, self.info)
        return result


class FunctionalPass(Pass):
    """A pass that is a function of a module and the context."""

    def __init__(self, run: Callable[[IRModule, PassContext], Module], info: PassInfo):
        self.info = info
        self._run = run

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        return self._run(mod, ctx)


class XdslPass(Pass):
    """A pass of xDSL, ours or of another package, under its own name."""

    def __init__(self, module_pass: ModulePass):
        self.info = PassInfo(0, module_pass.name)
        self._pass = module_pass

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        return run_pipeline(mod, [self._pass])


Runnable: TypeAlias = Callable[[IRModule], Module]
PassLike: TypeAlias = Runnable | ModulePass | str
"""What stands for a pass, or, as a pipeline such as "tir-resolve-blocks,tir-simplify", for several."""


def as_passes(given: PassLike, what: str) -> list[Runnable]:
    """What runs for something that stands for passes. what: who was given it, for errors.

    OptionError for what is no pass, and for a pipeline that does not read.
    """
    if isinstance(given, str):
        return [XdslPass(each) for each in parse_passes(given)]
    if isinstance(given, ModulePass):
        return [XdslPass(given)]
    if not callable(given) or isinstance(given, type):
        expected = "expected a pass, a function from modules to modules, or a pipeline as text"
        raise OptionError(f"{what}: {given!r}, {expected}")
    return [given]


def run_passes(mod: IRModule, passes: Sequence[Runnable]) -> IRModule:
    """The module that passes make, one after the other."""
    for each in passes:
        mod = as_module(each(mod))
    return mod


class Sequential(Pass):
    """Passes one after the other. OptionError for what is no pass."""

    def __init__(self, passes: Sequence[PassLike], opt_level: int = 0, name: str = "sequential"):
        self.info = PassInfo(opt_level, name)
        self.passes = [run for given in passes for run in as_passes(given, f"passes of {name}")]

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        return run_passes(mod, self.passes)


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
