"""Comparisons of design spaces with expected programs: `tvm.meta_schedule.testing.space_generation`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....analysis.index import Analyzer, Lin
from .....core.walking import find_ops
from .....dialects.tir import BlockOp
from .....module import Module
from .....schedule.rewriting.nest import replace_by_sum
from .....transforms.pipelines import run_pipeline
from .....transforms.tir.simplify import TirSimplifyPass
from ....tvmscript import parse_tvmscript
from ...absent import report_absent
from ...ir.comparison import structural_equal
from ...ir.module import IRModule
from ...target.target import Target
from ...tir import Schedule, Trace
from ..schedule_rule import ScheduleRule
from ..space_generator import PostOrderApply
from ..tune_context import TuneContext

__getattr__ = report_absent("tvm.meta_schedule.testing.space_generation")

Decisions = Sequence[tuple[str, Any]]
"""The names of the instructions with random choices, and the choices."""


def get_rules(kind: str, types: type | tuple[type, ...]) -> list[ScheduleRule]:
    """The rules of TVM for a kind of target that are of some types."""
    return [rule for rule in ScheduleRule.create(kind) if isinstance(rule, types)]


def generate_design_space(
    kind: str,
    mod: Module,
    target: Target,
    types: type | tuple[type, ...] | None,
    sch_rules: Sequence[ScheduleRule] | None = None,
) -> list[Schedule]:
    """The schedules that rules produce for a kernel, without postprocessors.

    types: those of the rules of TVM for `kind`, which are used without `sch_rules`.
    """
    rules = get_rules(kind, types or ()) if sch_rules is None else list(sch_rules)
    space = PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    return TuneContext(mod, target=target, space_generator=space, task_name="test").generate_design_space()


def check_sketches(
    mod: Module,
    sketches: Sequence[Schedule],
    expected_mods: Sequence[Module],
    expected_decisions: Sequence[Decisions],
    *,
    debug_mask: str = "all",
) -> None:
    """Raises AssertionError unless the schedules are those that make the expected programs with the expected choices,
    in any order. debug_mask: as of `Schedule`."""
    assert len(sketches) == len(expected_mods) == len(expected_decisions)
    rest = list(sketches)
    for number, (expected, decisions) in enumerate(zip(expected_mods, expected_decisions, strict=True)):
        found = next((each for each in rest if _makes(mod, each, expected, decisions, debug_mask)), None)
        if found is None:
            raise AssertionError(f"no schedule makes the program {number}")
        rest.remove(found)


def _makes(mod: Module, sketch: Schedule, expected: Module, decisions: Decisions, debug_mask: str) -> bool:
    """Whether a schedule with other choices makes a program."""
    chosen: dict[Any, Any] = {}
    for inst in sketch.trace.decisions:
        if len(chosen) < len(decisions) and inst.kind.name == decisions[len(chosen)][0]:
            chosen[inst] = decisions[len(chosen)][1]
    if len(chosen) < len(decisions):
        return False
    sch = Schedule(mod, debug_mask=debug_mask, enable_check=False)
    Trace(sketch.trace.insts, chosen).apply_to_schedule(sch, remove_postproc=True)
    return structural_equal(_normal_form(sch.mod), _normal_form(expected))


def _normal_form(mod: Module) -> Module:
    """A module without symbols, and without loops and axes of one value, with operations in the order of its text."""
    module = mod if isinstance(mod, IRModule) else IRModule({"main": mod})  # pyright: ignore[reportArgumentType]
    functions: dict[str, Any] = dict(module.items())
    unnamed = IRModule({name: func.without_attr("global_symbol") for name, func in functions.items()})
    for block in find_ops(unnamed.op, BlockOp):
        for axis, variable in zip(block.axes, block.variables, strict=True):
            if axis.extent == 1 and isinstance(axis.low, int):
                replace_by_sum(Analyzer(through_lets=False), variable, Lin(axis.low))
    simple = run_pipeline(unnamed, [TirSimplifyPass(unit_loops=True)])
    return parse_tvmscript(simple.script())


def print_sketches(sketches: Sequence[Schedule]) -> None:
    """Prints schedules: their programs, and their random choices."""
    for number, sch in enumerate(sketches):
        print(f"###### {number}")
        sch.mod.show()
        for inst, decision in sch.trace.decisions.items():
            print(f'("{inst.kind.name}", {decision}),')


__all__ = ["check_sketches", "generate_design_space", "get_rules", "print_sketches"]
