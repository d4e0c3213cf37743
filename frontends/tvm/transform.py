"""Passes on modules, as in `tvm.transform`: created from functions, composed in sequences, and run in a context.

A pass is a callable from modules to modules. xDSL passes, and their names in `stepwell-opt`, are
accepted wherever these are. The context selects the passes that run, shows each to instruments, and adds passes to the
lowering (`tir.add_lower_pass`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from xdsl.passes import ModulePass as CompilerPass

from ...backends.validation import validate_passes, validate_rewrite
from ...core.diagnostics import did_you_mean
from ...core.errors import OptionError, PassError
from ...module import Module
from ...transforms.pipelines import parse_passes, run_pipeline
from .absent import report_absent
from .ir.module import IRModule

__getattr__ = report_absent("tvm.transform")

LOWERING = ("tir.add_lower_pass", "tir.disable_vectorize")
"""The configuration options that change the lowering."""
_LIBRARIES = "clml cmsisnn cutlass dnnl ethos-n ethos-u mrvl tensorrt verilator vitis_ai".split()
"""Code generators of TVM that are absent, whose options have no effect."""
CONFIG = (
    *LOWERING,
    "cuda.kernels_output_dir",
    "ir.enable_si_builder",
    "relax.FuseOps.max_depth",
    "relax.backend.use_cuda_graph",
    "relax.fallback_device_type",
    "relax.lift_transform_params.consume_params",
    "relax.transform.apply_legalize_ops",
    "relay.FuseOps.link_params",
    "relay.FuseOps.max_depth",
    "relay.ToMixedPrecision.keep_orig_output_dtype",
    "relay.backend.disable_memory_plan",
    "relay.backend.tir_converter",
    "relay.backend.use_auto_scheduler",
    "relay.backend.use_meta_schedule",
    "relay.backend.use_meta_schedule_dispatch",
    "relay.collage.byoc_fusion_style",
    "relay.collage.byoc_max_depth",
    "relay.collage.tvm_max_depth",
    "relay.fallback_device_type",
    "relay.frontend.fill_span",
    "relay.remove_standalone_reshapes.enable",
    "te.keep_schedule_record",
    "testing.immutable_module",
    "tir.HoistExpression",
    "tir.HoistIfThenElse",
    "tir.InjectDoubleBuffer",
    "tir.InjectSoftwarePipeline",
    "tir.LoopPartition",
    "tir.ReduceBranchingThroughOvercompute",
    "tir.RemoveNoOp",
    "tir.Simplify",
    "tir.StmtSimplify",
    "tir.UnrollLoop",
    "tir.debug_keep_trivial_loop",
    "tir.detect_global_barrier",
    "tir.disable_assert",
    "tir.disable_cse_tir",
    "tir.disable_storage_rewrite",
    "tir.enable_buffer_level_predication",
    "tir.enable_debug",
    "tir.enable_equiv_terms_in_cse_tir",
    "tir.enable_fast_math",
    "tir.experimental_dma_bypass_cache",
    "tir.instr_siblings",
    "tir.instrument_bound_checkers",
    "tir.instrument_lwp",
    "tir.is_entry_func",
    "tir.ldg32",
    "tir.lwp_disable_func_prof",
    "tir.lwp_max_depth",
    "tir.lwp_min_height",
    "tir.merge_static_smem",
    "tir.noalias",
    "tir.ptx_ldg32",
    "tir.reset_start_id",
    "tir.use_async_copy",
    "tir.usmp.algorithm",
    "tir.usmp.custom_algorithm",
    "tir.usmp.enable",
    "tir.usmp.use_workspace_io",
    "tir.vtcm_capacity",
    *(f"{landing}.ext.{name}.options" for landing in ("relax", "relay") for name in _LIBRARIES),
)
"""The configuration options of a context. Those outside of `LOWERING` select optimizations, which Stepwell's passes
decide by themselves; they change no result. The names `tirx` and `s_tir` of v0.24 and later stand for `tir`.
"""
_LATER = ("tirx.s_tir.", "tirx.", "s_tir.")
PHASES = 4


def _option(key: str) -> str:
    """The name of a configuration option until v0.23."""
    prefix = next((each for each in _LATER if key.startswith(each)), None)
    return key if prefix is None else f"tir.{key.removeprefix(prefix)}"


@dataclass(frozen=True)
class PassInfo:
    """The metadata of a pass: its minimum optimization level, its name, and the names of required earlier passes."""

    opt_level: int
    name: str
    required: tuple[str, ...] = ()


class PassInstrument:
    """Callbacks around the execution of passes. Subclasses override the events of interest.

    `should_run` returns whether a pass runs; a required pass runs regardless.
    """

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is exited."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether a pass should run."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called before a pass runs."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called after a pass has run."""


class _Trace(PassInstrument):
    """Calls a function before and after each pass."""

    def __init__(self, function: Callable[[IRModule, PassInfo, bool], object]):
        self._function = function

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._function(mod, info, True)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._function(mod, info, False)


class PassContext:
    """The context in which passes run: `with PassContext(opt_level=3, config={...}): ...`.

    opt_level: passes of a sequence that have a higher level are skipped; a pass that is called alone runs.
    required_pass: names of passes that run regardless. disabled_pass: names of passes that do not run.
    instruments: observers of each pass.  config: options; `tir.add_lower_pass` is a list of (phase, pass) to run after
    the phases of the lowering: 0 for the input program, 1 after blocks are resolved,
    2 after loops are transformed, 3 after the final simplification; `tir.disable_vectorize`: loops are not vectorized.
    validate: whether each pass is validated: the program before and after it runs on small inputs
    (docs/workbench.md#validation); None for the value of the environment variable STEPWELL_VALIDATE.
    trace: a function that is called before and after each pass with the module, the pass's `PassInfo`, and whether the
    pass has yet to run, as in v0.7. OptionError for an unknown option, and for an invalid pass.
    """

    _entered: list[PassContext] = []

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
        validate: bool | None = None,
        trace: Callable[[IRModule, PassInfo, bool], object] | None = None,
    ):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or ())
        self.disabled_pass = list(disabled_pass or ())
        self.instruments = [*(instruments or ()), *([] if trace is None else [_Trace(trace)])]
        self.config = {_option(key): value for key, value in (config or {}).items()}
        self.validate = validate
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
        """The innermost entered context, or the context of all passes outside of one, which has the defaults."""
        if not PassContext._entered:
            PassContext._entered.append(PassContext())
        return PassContext._entered[-1]

    def __enter__(self) -> Self:
        self._enter_instruments()
        PassContext._entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        PassContext._entered.pop()
        self._exit_instruments()

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Replaces the observers of the entered context: the old ones leave it, the new ones enter it."""
        self._exit_instruments()
        self.instruments = list(instruments or ())
        self._enter_instruments()

    def _enter_instruments(self) -> None:
        """Enters all observers. If one raises an exception, those before it exit, and the context has none any more."""
        for n, instrument in enumerate(self.instruments):
            try:
                instrument.enter_pass_ctx()
            except Exception:
                self.instruments = self.instruments[:n]
                self._exit_instruments()
                self.instruments = []
                raise

    def _exit_instruments(self) -> None:
        """Exits all observers. If one raises an exception, those after it do not exit, and the context has none any
        more."""
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except Exception:
            self.instruments = []
            raise

    @property
    def changes_lowering(self) -> bool:
        """Whether the context adds passes to the lowering, removes some, or observes them."""
        options = [self.config.get(key) for key in LOWERING]
        return bool(any(options) or self.instruments or self.disabled_pass)

    def added_passes(self, phase: int) -> list[Runnable]:
        """The passes that users have added after a phase; the last phase also takes the passes of later phases."""
        entries: list[tuple[int, Any]] = list(self.config.get("tir.add_lower_pass", ()))
        passes = [entry for at, entry in entries if min(at, PHASES - 1) == phase]
        return [run for entry in passes for run in as_passes(entry, "tir.add_lower_pass")]

    def should_run_pass(self, info: PassInfo) -> bool:
        """Whether a pass of a sequence runs in this context."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    def allows_pass(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether no observer prevents a pass that is not required, and that the context does not disable."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or all(each.should_run(mod, info) for each in self.instruments)


class Pass:
    """A pass: `mod = a_pass(mod)`. The input module is not modified.

    If the pass runs, the passes named by `info.required` run before it.
    """

    info: PassInfo

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        """The transformed module."""
        raise NotImplementedError

    def __call__(self, mod: Module) -> IRModule:
        shaped = as_module(mod)
        ctx = PassContext.current()
        if not ctx.allows_pass(shaped, self.info):
            return shaped
        for name in self.info.required:
            shaped = run_passes(shaped, as_passes(name, f"pass {self.info.name}"))
        for instrument in ctx.instruments:
            instrument.run_before_pass(shaped, self.info)
        with validate_passes(ctx.validate):
            result = as_module(self.transform_module(shaped, ctx), self.info.name)
            result.verify()
            if isinstance(self, FunctionalPass):
                validate_rewrite(self.info.name, shaped, result)
        for instrument in ctx.instruments:
            instrument.run_after_pass(result, self.info)
        return result


class FunctionalPass(Pass):
    """A pass defined by a function of a module and the context."""

    def __init__(self, run: Callable[[IRModule, PassContext], Module], info: PassInfo):
        self.info = info
        self._run = run

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        return self._run(mod, ctx)


def no_change(name: str, opt_level: int = 0) -> FunctionalPass:
    """A pass of TVM that leaves a module as it is, since a build does its work."""
    return FunctionalPass(lambda mod, ctx: mod, PassInfo(opt_level, name))


ModulePass = FunctionalPass
"""The type of passes, as TVM's users ask for it: all of them transform modules."""


class XdslPass(Pass):
    """An xDSL pass, from this or another package, under its own name."""

    def __init__(self, module_pass: CompilerPass):
        self.info = PassInfo(0, module_pass.name)
        self._pass = module_pass

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        return run_pipeline(mod, [self._pass])


Runnable: TypeAlias = Callable[[IRModule], Module]
PassLike: TypeAlias = Runnable | CompilerPass | str
"""A pass in any accepted form: a callable, an xDSL pass, or a pipeline as text, "tir-resolve-blocks,tir-simplify"."""


def as_passes(given: PassLike, what: str) -> list[Runnable]:
    """The callables of a pass or pipeline in any accepted form. what: the origin of `given`, for errors.

    OptionError for an invalid pass, and for a pipeline that does not parse.
    """
    if isinstance(given, str):
        return [XdslPass(each) for each in parse_passes(given)]
    if isinstance(given, CompilerPass):
        return [XdslPass(given)]
    if not callable(given) or isinstance(given, type):
        expected = "expected a pass, a function from modules to modules, or a pipeline as text"
        raise OptionError(f"{what}: {given!r}, {expected}")
    return [given]


def run_passes(mod: IRModule, passes: Sequence[Runnable]) -> IRModule:
    """The module after running `passes` in order."""
    for each in passes:
        mod = as_module(each(mod))
    return mod


class Sequential(Pass):
    """A sequence of passes. OptionError for an invalid pass."""

    def __init__(self, passes: Sequence[PassLike], opt_level: int = 0, name: str = "sequential"):
        self.info = PassInfo(opt_level, name)
        self.passes = [run for entry in passes for run in as_passes(entry, f"passes of {name}")]

    def transform_module(self, mod: IRModule, ctx: PassContext) -> Module:
        chosen = [each for each in self.passes if not isinstance(each, Pass) or ctx.should_run_pass(each.info)]
        return run_passes(mod, chosen)


def as_module(mod: Module, name: str = "") -> IRModule:
    """A module as an `IRModule`. PassError for any other value."""
    if isinstance(mod, IRModule):
        return mod
    if not isinstance(mod, Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PassError(f"{f'pass {name} gives' if name else 'expected a module, got'} {mod!r}")
    return IRModule(mod.op, mod.constants)


def module_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """A pass from a function of a module and the context that returns a module: `@module_pass(opt_level=0)`. For a
    class with such a method `transform_module` a class of passes.
    """
    return define_pass(pass_func, "transform_module", lambda transform: transform, (opt_level, name, required))


Transform: TypeAlias = Callable[..., Any]


def define_pass(
    defined: Any,
    method: str,
    on_module: Callable[[Transform], Transform],
    info: tuple[int, str | None, Sequence[str] | None],
) -> Any:
    """The pass of a function, or the class of passes of a class with a method; None for `defined` makes a decorator.

    on_module: converts the function or method to one of a module and the context.  info: the optimization level, the
    name, and the required passes. OptionError for a class without the method.
    """
    opt_level, name, required = info

    def create(function: Any) -> Any:
        own = PassInfo(opt_level, name or function.__name__, tuple(required or ()))
        if not isinstance(function, type):
            return FunctionalPass(on_module(function), own)
        if not hasattr(function, method):
            raise OptionError(f"class {function.__name__} has no method {method}, expected one that transforms")
        return _class_of_passes(function, own, lambda each: on_module(getattr(each, method)))

    return create if defined is None else create(defined)


def _class_of_passes(cls: type, info: PassInfo, transform_of: Callable[[Any], Transform]) -> type:
    """A class of passes with the constructor and the attributes of `cls`, which transforms modules."""

    class ClassPass(FunctionalPass):
        def __init__(self, *args: Any, **named: Any):
            self._inner = cls(*args, **named)
            super().__init__(transform_of(self._inner), info)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["_inner"], name)

    ClassPass.__name__, ClassPass.__qualname__, ClassPass.__doc__ = cls.__name__, cls.__qualname__, cls.__doc__
    return ClassPass


def PrintIR(header: str | bool = "", show_meta_data: bool = False) -> FunctionalPass:
    """A pass that prints the module. header: a line before it.  show_meta_data: ignored; constants are no part of the
    text. Until v0.6 it was the first argument."""

    def show(mod: IRModule, ctx: PassContext) -> Module:
        print(f"{header}\n{mod}" if isinstance(header, str) and header else mod)
        return mod

    return FunctionalPass(show, PassInfo(0, "PrintIR"))
