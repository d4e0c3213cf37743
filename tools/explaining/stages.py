"""The stages of a compilation: the program after each pass that changes it, with the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.passes import ModulePass

from ...backends.build import build
from ...backends.passes import apply_passes
from ...core.remarks import Remark
from ...core.target import Target
from ...module import Module
from ...transforms.observers import PassObserver, observe_passes
from ..pass_printing import difference
from .lines import Line, lines_of_assembly, lines_of_llvm, lines_of_module


@dataclass(frozen=True)
class Stage:
    """The program at one point of its compilation. changes: the difference from the stage before, for a pass.
    microseconds: the time of the pass."""

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

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        text = str(module)
        if text == self._text:
            self.idle.append(module_pass.name)
            return
        changes = tuple(difference(self._text, text))
        lines = lines_of_module(module, self.file)
        self.stages.append(Stage(module_pass.name, lines, changes, seconds * 1e6))
        self._text = text


def explain(module: Module, file: str, target: Target, passes: str = "") -> Explanation:
    """Compiles a module for a processor, and returns the stages.

    file: the name of the source in its locations.  passes: a pipeline to apply first. Raises UnsupportedError for a
    target that is no processor, and the errors of `apply_passes` and `build`.
    """
    target.require_processor("the page of `stepwell explain`")
    collector, remarks = _Collector(file), list[Remark]()
    collector.start(module)
    with observe_passes(collector):
        passed = apply_passes(module, passes, remarks=remarks.append) if passes else module
        program = build(passed, replace(target, debug=max(target.debug, 1)), remarks=remarks.append)
    stages = [
        *collector.stages,
        Stage("LLVM IR", lines_of_llvm(program.source("llvm"))),
        Stage("assembly", lines_of_assembly(program.source("asm", annotate=True))),
    ]
    return Explanation(stages, remarks, collector.idle)
