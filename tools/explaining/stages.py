"""The stages of a compilation: the program after each pass that changes it, with the changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.passes import ModulePass

from ...backends.build import build
from ...backends.cuda.build import cuda_source
from ...backends.passes import apply_passes
from ...core.errors import UnsupportedError
from ...core.remarks import Remark, report_remarks
from ...core.target import Target
from ...dialects.schedule import ScheduleOp, TraceOp
from ...module import Module, has_programs
from ...schedule import Schedule
from ...schedule.trace import Trace, traces_in_module
from ...transforms.observers import PassObserver, observe_passes
from ...transforms.tir.apply_schedule import ApplySchedulePass
from ..pass_printing import difference
from .lines import Line, lines_of_assembly, lines_of_cuda, lines_of_llvm, lines_of_module


@dataclass(frozen=True)
class Stage:
    """The program at one point of its compilation. changes: the difference from the stage before, for a pass or an
    instruction of a schedule.  microseconds: the time of the pass."""

    name: str
    lines: Sequence[Line]
    changes: Sequence[str] = ()
    microseconds: float | None = None


@dataclass(frozen=True)
class Explanation:
    """A program that has been compiled. idle: the passes that have changed nothing."""

    stages: Sequence[Stage]
    remarks: Sequence[Remark]
    idle: Sequence[str]


@dataclass
class _Collector(PassObserver):
    """Collects the stages of passes. file: the name of the source."""

    file: str
    stages: list[Stage] = field(default_factory=list[Stage])
    idle: list[str] = field(default_factory=list[str])
    _text: str = ""

    def start(self, module: Module) -> None:
        """Adds the program before all passes."""
        self._text = str(module)
        self.stages.append(Stage("input", lines_of_module(module, self.file)))

    def before_pass(self, module_pass: ModulePass, module: Module) -> None:
        if isinstance(module_pass, ApplySchedulePass) and module_pass.seed is None:
            self._add_steps(module.clone(), module_pass.check)

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        if not self._add(module_pass.name, module, seconds * 1e6):
            self.idle.append(module_pass.name)

    def _add_steps(self, module: Module, is_checked: bool) -> None:
        """Adds the program after each instruction of its traces that changes it."""
        traces = traces_in_module(module.op)
        for trace in traces:
            trace.detach()
        schedule = Schedule(module, enable_check=is_checked, error_render_level="fast")
        self._text = str(schedule.mod)
        for trace in traces:
            schedule.replay_instructions(self._observed(trace, schedule))

    def _observed(self, trace: TraceOp, schedule: Schedule) -> Iterator[ScheduleOp]:
        """The instructions of a trace; adds a stage after each, when the next one is requested."""
        read = Trace(trace)
        texts = [line.strip().partition(" : ")[0] for line in read.as_ir().splitlines()[1:-1]]
        for text, instruction in zip(texts, read.instructions, strict=True):
            yield instruction
            self._add(text.replace("schedule.", ""), schedule.mod)

    def _add(self, name: str, module: Module, microseconds: float | None = None) -> bool:
        """Adds a stage if the program has changed; whether it has."""
        text = str(module)
        if text == self._text:
            return False
        changes = tuple(difference(self._text, text))
        self.stages.append(Stage(name, lines_of_module(module, self.file), changes, microseconds))
        self._text = text
        return True


def explanation_of(module: Module, file: str, target: Target, passes: str = "") -> Explanation:
    """Compiles a module for a processor or a GPU, and returns the stages; no GPU and no compiler for GPUs is required.

    file: the name of the source in its locations.  passes: a pipeline to apply first. Raises UnsupportedError for
    programs of relax, and the errors of `apply_passes` and `build`.
    """
    if has_programs(module.op):
        raise UnsupportedError("a module with functions of relax, which a virtual machine executes: `build_relax`")
    collector, remarks = _Collector(file), list[Remark]()
    collector.start(module)
    with observe_passes(collector):
        passed = apply_passes(module, passes, remarks=remarks.append) if passes else module
        emitted = (_emit_native if target.kind == "llvm" else _emit_cuda)(passed, file, target, remarks)
    return Explanation([*collector.stages, *emitted], remarks, collector.idle)


def _emit_native(module: Module, file: str, target: Target, remarks: list[Remark]) -> list[Stage]:
    """Compiles a module for a processor; returns the stages of its code."""
    program = build(module, replace(target, debug=max(target.debug, 1)), remarks=remarks.append)
    return [
        Stage("LLVM IR", lines_of_llvm(program.source("llvm"), file)),
        Stage("assembly", lines_of_assembly(program.source("asm", annotate=True), file)),
    ]


def _emit_cuda(module: Module, file: str, target: Target, remarks: list[Remark]) -> list[Stage]:
    """Lowers a module for a GPU; returns the stage of its kernels."""
    with report_remarks(remarks.append):
        text = cuda_source(module, target, annotate=True)
    return [Stage("CUDA C++", lines_of_cuda(text, file))]
