"""Spaces of schedules: `tvm.meta_schedule.space_generator`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....analysis.scopes import child_blocks
from ....core.errors import OptionError
from ....dialects.tir import BlockOp, FuncOp
from ....module import Module
from ....schedule.cpu.schedules import schedule_cpu
from ....schedule.gpu.schedules import schedule_gpu
from ..absent import report_absent
from ..target.target import Target
from ..tir import SBlockRV, Schedule
from .blocks import exists, target_of_block, text_annotation
from .contextual import Contextual
from .mutator import Mutator
from .postproc import Postproc
from .schedule_rule import ApplyCustomRule, ScheduleRule
from .schedule_rule.apply_custom_rule import SCHEDULE_RULE

if TYPE_CHECKING:
    from .tune_context import TuneContext

__getattr__ = report_absent("tvm.meta_schedule.space_generator")

FROM_TARGET = "from-target"
"""The value of a part of a space that the target determines."""


class SpaceGenerator(Contextual):
    """The schedules of a kernel. Subclasses override `generate_design_space`.

    sch_rules: the rules.  postprocs: the postprocessors of drawn schedules.  mutator_probs: the mutators of measured
    schedules, each with its weight. Each of them is a value, a function that returns it, the name of a kind of target
    ("llvm", "cuda"), or "from-target", the default.  is_random: whether two draws may differ.
    is_legal_for_all_choices: whether a legal schedule stays legal with other random choices.
    """

    is_random = True
    is_legal_for_all_choices = False
    sch_rules: Any = FROM_TARGET
    postprocs: Any = FROM_TARGET
    mutator_probs: Any = FROM_TARGET
    _target: Target | None = None
    _seed: int | None = None

    def __init__(
        self, sch_rules: Any = FROM_TARGET, postprocs: Any = FROM_TARGET, mutator_probs: Any = FROM_TARGET
    ) -> None:
        self.sch_rules = _part(sch_rules, ScheduleRule.create)
        self.postprocs = _part(postprocs, Postproc.create)
        self.mutator_probs = _part(mutator_probs, Mutator.create)

    def generate_design_space(self, mod: Module) -> list[Schedule]:
        """Schedules of the kernel of a module, whose random choices are drawn once."""
        raise NotImplementedError(f"{type(self).__name__} has no method generate_design_space")

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Reads the target of a context before the first schedule."""
        self._target, self._seed = context.target, context.rand_state
        kind = "cuda" if "gpu" in context.target.keys else context.target.kind.name
        if self.postprocs == FROM_TARGET:
            self.postprocs = self.default_postprocs(kind)
        if self.mutator_probs == FROM_TARGET:
            self.mutator_probs = Mutator.create(kind)
        rules: Sequence[Any] = () if self.sch_rules == FROM_TARGET else self.sch_rules
        for part in (*rules, *self.postprocs, *self.mutator_probs):
            part.initialize_with_tune_context(context)
        super().initialize_with_tune_context(context)

    def default_postprocs(self, kind: str) -> list[Postproc]:
        """The postprocessors for a kind of target."""
        return Postproc.create(kind)

    def reseed(self, seed: int) -> None:
        """Sets the seed of the next design space."""
        self._seed = seed

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **named: Any) -> SpaceGenerator:
        """A space in any accepted form: itself, a class, a function without parameters that returns it, a function of a
        schedule, or the names "post-order-apply", "schedule_fn" and "union" with the arguments of the class.
        OptionError for another value."""
        if isinstance(kind, SpaceGenerator):
            return kind
        if isinstance(kind, type) and issubclass(kind, SpaceGenerator):
            return kind(*args, **named)
        classes = {"post-order-apply": PostOrderApply, "schedule_fn": ScheduleFn, "union": SpaceGeneratorUnion}
        if isinstance(kind, str) and kind in classes:
            return classes[kind](*args, **named)
        if callable(kind):
            return ScheduleFn(kind) if inspect.signature(kind).parameters else SpaceGenerator.create(kind())
        raise OptionError(f"space {kind!r}, expected 'post-order-apply', a SpaceGenerator, or a function of a schedule")

    def _schedule(self, mod: Module) -> Schedule:
        """A schedule of a module without transformations."""
        return Schedule(mod, seed=self._seed)


PySpaceGenerator = SpaceGenerator
"""The base class of the spaces of users."""


def _part(value: Any, create: Callable[[str], Any]) -> Any:
    """A part of a space as a list or a dictionary, or "from-target"."""
    if callable(value):
        value = value()
    if value is None or value == FROM_TARGET:
        return FROM_TARGET
    if isinstance(value, str):
        return create(value)
    return dict(value) if isinstance(value, Mapping) else list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


class ScheduleFn(SpaceGenerator):
    """The schedules of a function of users, which takes a schedule, transforms it with random choices
    (`sch.sample_perfect_tile`), and returns it or nothing; or a list of schedules.

    sch_fn: the function.  The others: as of `SpaceGenerator`; rules are ignored, as in TVM.
    """

    def __init__(
        self,
        sch_fn: Callable[[Schedule], Any],
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ):
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: Module) -> list[Schedule]:
        sch = self._schedule(mod)
        result = self.sch_fn(sch)
        if result is None:
            return [sch]
        schedules: list[Any] = list(result) if isinstance(result, list | tuple) else [result]  # pyright: ignore[reportUnknownArgumentType]
        if not all(isinstance(each, Schedule) for each in schedules):
            raise OptionError(
                f"ScheduleFn: the function returns {result!r}, expected a schedule, a list of them or None"
            )
        return schedules


class PostOrderApply(SpaceGenerator):
    """The schedules that rules produce, which are applied to the blocks of a kernel, the last block first; each rule to
    all blocks before the next rule. Without rules the default schedule for the target: docs/cpu.md, docs/gpu.md.

    f_block_filter: a function that selects the blocks.  The others: as of `SpaceGenerator`.
    """

    def __init__(
        self,
        f_block_filter: Callable[[Any], bool] | None = None,
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ):
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.f_block_filter = f_block_filter

    @property
    def is_random(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether there are rules."""
        return self.sch_rules != FROM_TARGET

    @property
    def is_legal_for_all_choices(self) -> bool:
        """Whether all rules are of this package: the sizes of tiles and the loops that they draw keep the results, so
        that one schedule of each kind is checked."""
        package = (__package__ or "") + "."
        return self.is_random and all(type(rule).__module__.startswith(package) for rule in self.sch_rules)

    def default_postprocs(self, kind: str) -> list[Postproc]:
        return super().default_postprocs(kind) if self.is_random else []

    def generate_design_space(self, mod: Module) -> list[Schedule]:
        if not self.is_random:
            return [default_schedule(mod, self._target or Target("llvm"))]
        sch = self._schedule(mod)
        blocks = list(self._blocks(sch))
        schedules = [sch]
        for rule in self.sch_rules:
            schedules = [after for before in reversed(schedules) for after in _apply_rule(rule, before, blocks)]
        return schedules

    def _blocks(self, sch: Schedule) -> list[SBlockRV]:
        """The selected blocks, inner before outer, the root of each function last. OptionError for blocks of the same
        name."""
        found: list[SBlockRV] = []
        for name, function in sch.mod.function_ops.items():
            names = _names(function)
            if len(set(names)) < len(names):
                again = next(each for n, each in enumerate(names) if each in names[:n])
                raise OptionError(f"function {name}: several blocks are called {again}, expected different names")
            blocks = [sch.get_block(each, name) for each in names]
            found += [each for each in blocks if self.f_block_filter is None or self.f_block_filter(sch.get(each))]
        return found


def _names(function: FuncOp) -> list[str]:
    """The names of the blocks of a function, inner before outer, and of its root."""
    names = [op.block_name.data for op in _inner_first(function)]
    return names if "root" in names else [*names, "root"]


def _inner_first(scope: FuncOp | BlockOp) -> Iterator[BlockOp]:
    """The blocks of a function or block in program order, inner before outer."""
    for block in child_blocks(scope):
        yield from _inner_first(block)
        yield block


def _apply_rule(rule: ScheduleRule, sch: Schedule, blocks: Sequence[SBlockRV]) -> list[Schedule]:
    """The schedules that a rule produces for some blocks of a schedule, the last block first.

    A block with a rule of its own is left to `ApplyCustomRule`.
    """
    if not blocks:
        return [sch]
    *rest, block = blocks
    after = [sch]
    if exists(sch, block):
        has_own_rule = text_annotation(target_of_block(sch, block), SCHEDULE_RULE) is not None
        if not has_own_rule or isinstance(rule, ApplyCustomRule):
            after = list(rule.apply(sch, block))
    return [each for other in reversed(after) for each in _apply_rule(rule, other, rest)]


class SpaceGeneratorUnion(SpaceGenerator):
    """The schedules of several spaces.

    space_generators: the spaces.  The others: as of `SpaceGenerator`.
    """

    def __init__(
        self,
        space_generators: Sequence[Any],
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ):
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.space_generators = [SpaceGenerator.create(each) for each in space_generators]

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        for each in self.space_generators:
            each.initialize_with_tune_context(context)

    def reseed(self, seed: int) -> None:
        for each in self.space_generators:
            each.reseed(seed)

    def generate_design_space(self, mod: Module) -> list[Schedule]:
        return [sch for each in self.space_generators for sch in each.generate_design_space(mod)]


def space_of(
    space: Any, sch_rules: Any, postprocs: Any, mutator_probs: Any, blocks: Sequence[str] | None = None
) -> SpaceGenerator:
    """A space in any accepted form, with its parts apart from it, as until v0.9. blocks: the names of the blocks that
    rules schedule, by default all. OptionError for parts of a space that is not "post-order-apply"."""
    whole = SpaceGenerator.create("post-order-apply" if space is None else space)
    parts = {"sch_rules": sch_rules, "postprocs": postprocs, "mutator_probs": mutator_probs}
    given = {name: part for name, part in parts.items() if part is not None}
    if not given and blocks is None:
        return whole
    if not isinstance(whole, PostOrderApply) or whole.is_random:
        raise OptionError(f"{', '.join(given) or 'blocks'}: expected the space 'post-order-apply'")
    return PostOrderApply(None if blocks is None else lambda block: block.name_hint in blocks, **given)


def default_schedule(mod: Module, target: Target) -> Schedule:
    """The kernel of a module with the default schedule for a target."""
    sch = Schedule(mod, enable_check=False)
    with sch.without_checks():
        sch.replay((schedule_gpu(sch.mod) if "gpu" in target.keys else schedule_cpu(sch.mod)).trace)
    return sch


def create(kind: Any = "post-order-apply", *args: Any, **named: Any) -> SpaceGenerator:
    """`SpaceGenerator.create`."""
    return SpaceGenerator.create(kind, *args, **named)


__all__ = ["PostOrderApply", "PySpaceGenerator", "ScheduleFn", "SpaceGenerator", "SpaceGeneratorUnion", "create"]
