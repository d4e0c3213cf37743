"""Spaces of schedules: `tvm.meta_schedule.space_generator`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import OptionError
from ....schedule.cpu.schedules import schedule_cpu
from ....schedule.gpu.schedules import schedule_gpu
from ..absent import report_absent
from ..ir.module import IRModule
from ..target.target import Target
from ..tir import Schedule

__getattr__ = report_absent("tvm.meta_schedule.space_generator")


class SpaceGenerator:
    """The schedules of a kernel. is_random: whether two draws may differ."""

    is_random = True

    def draw(self, sch: Schedule, target: Target) -> Schedule:
        """A schedule of the kernel of `sch`, which may be changed."""
        raise NotImplementedError(f"{type(self).__name__} has no method draw")

    @staticmethod
    def create(kind: Any) -> SpaceGenerator:
        """A space in any accepted form: itself, a function of a schedule, or the name "post-order-apply". OptionError
        for another value."""
        if isinstance(kind, SpaceGenerator):
            return kind
        if kind == "post-order-apply":
            return PostOrderApply()
        if callable(kind):
            return ScheduleFn(kind)
        raise OptionError(f"space {kind!r}, expected 'post-order-apply', a SpaceGenerator, or a function of a schedule")


class ScheduleFn(SpaceGenerator):
    """The schedules of a function of users, which takes a schedule, transforms it with random choices
    (`sch.sample_perfect_tile`), and returns it or nothing; or a list of schedules, of which the first counts."""

    def __init__(self, sch_fn: Callable[[Schedule], Any], *_parts: Any, **_named: Any):
        """sch_fn: the function. TVM's rules, postprocessors and mutators are ignored."""
        self.sch_fn = sch_fn

    def draw(self, sch: Schedule, target: Target) -> Schedule:
        result = self.sch_fn(sch)
        if isinstance(result, list | tuple):
            result = result[0] if result else None  # pyright: ignore[reportUnknownVariableType]
        return sch if result is None else result  # pyright: ignore[reportUnknownVariableType]


class PostOrderApply(SpaceGenerator):
    """The default schedule for the target: docs/cpu.md, docs/gpu.md."""

    is_random = False

    def __init__(self, *_parts: Any, **_named: Any):
        """TVM's rules, postprocessors and mutators are ignored."""

    def draw(self, sch: Schedule, target: Target) -> Schedule:
        mod = sch.mod
        found = schedule_gpu(mod) if "gpu" in target.keys else schedule_cpu(mod)
        with sch.without_checks():
            sch.replay(found.trace)
        return sch


def default_schedule(mod: IRModule, target: Target) -> Schedule:
    """The kernel of a module with the default schedule for a target."""
    return PostOrderApply().draw(Schedule(mod, enable_check=False), target)


__all__ = ["PostOrderApply", "ScheduleFn", "SpaceGenerator"]
