"""Default schedules of kernels that are equal but for one extent, of which two are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd

from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument
from xdsl.rewriter import Rewriter

from ...analysis.similar_functions import ExtentPlace, factors_by_owner, families
from ...analysis.unscheduled import has_known_shapes, is_graph_kernel, unscheduled_functions
from ...core.cpu import CpuModel
from ...dialects.tir import FuncOp
from ...schedule.cpu.schedules import schedule_functions
from ...schedule.rules.results import FunctionSchedule
from .extents import set_extents

_STEP = 32
"""The divisor of the differences of extents, or of their greatest multiples: sizes of vectors and tiles divide such
extents alike."""


@dataclass(frozen=True)
class _Member:
    """A kernel that is equal to others but for an extent. name: of the kernel."""

    name: str
    extent: int


def schedule_similar_functions(module: ModuleOp, cpu: CpuModel) -> dict[str, FunctionSchedule]:
    """Applies default schedules like `schedule_functions`. The schedule of a kernel of a graph is that of two others,
    which are equal but for an extent below and above its own, if these two have schedules that are equal but for it.
    Else the kernel half-way between the two is searched, and is one of the two for the kernels on either side.

    So the extent is in no decision of theirs: a size or a limit that follows from it would differ, or have it as a
    divisor, and the extents differ in multiples of the sizes of vectors.
    """
    functions = list(unscheduled_functions(module))
    groups = list(_groups(functions))
    later = {each.name for _, *inside, _ in groups for each in inside}
    schedules = schedule_functions(module, cpu, [func for func in functions if func.sym_name.data not in later])
    by_name = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    for group in groups:
        _schedule_between(_Scheduling(module, cpu, by_name, schedules), group)
    return schedules


@dataclass(frozen=True)
class _Scheduling:
    """The functions of a module by name, and the schedules of those that have one."""

    module: ModuleOp
    cpu: CpuModel
    functions: dict[str, FuncOp]
    schedules: dict[str, FunctionSchedule]

    def search(self, name: str) -> None:
        """Applies a default schedule to a function."""
        before = self.functions[name].prev_op
        self.schedules.update(schedule_functions(self.module, self.cpu, [self.functions[name]]))
        scheduled = self.module.body.block.first_op if before is None else before.next_op
        assert isinstance(scheduled, FuncOp)
        self.functions[name] = scheduled

    def reuse(self, name: str, scheduled: FuncOp, places: Sequence[ExtentPlace], extent: int) -> None:
        """Replaces a function by a scheduled function with an extent in some places."""
        func, source = self.functions[name], scheduled.sym_name.data
        self.functions[name] = _with_extent(scheduled, places, extent, func)
        self.module.body.block.insert_op_before(self.functions[name], func)
        self.module.body.block.erase_op(func)
        self.schedules[name] = replace(self.schedules[source], function=name)


def _schedule_between(scheduling: _Scheduling, members: Sequence[_Member]) -> None:
    """Schedules the members of a group between the first and the last, which are scheduled."""
    first, *inside, last = members
    if not inside:
        return
    low = scheduling.functions[first.name]
    family = next(families([low, scheduling.functions[last.name]]), None)
    ends = [first.extent, last.extent]
    if family is not None and family.extents == ends and scheduling.schedules[first.name].applied:
        for each in inside:
            scheduling.reuse(each.name, low, family.places, each.extent)
        return
    middle = len(members) // 2
    scheduling.search(members[middle].name)
    _schedule_between(scheduling, members[: middle + 1])
    _schedule_between(scheduling, members[middle:])


def _groups(functions: Sequence[FuncOp]) -> Iterator[list[_Member]]:
    """The kernels among some functions that are similar to two others, in the order of their extents, between these
    two."""
    for family in families(func for func in functions if is_graph_kernel(func) and has_known_shapes(func)):
        pairs = zip(family.functions, family.extents, strict=True)
        members = sorted((_Member(func.sym_name.data, n) for func, n in pairs), key=lambda member: member.extent)
        first, *others, last = members
        step = _STEP // gcd(_STEP, max(place.factor for place in family.places))
        inside = [each for each in others if first.extent < each.extent < last.extent]
        group = [first, *(each for each in inside if (each.extent - first.extent) % step == 0), last]
        if len(group) > 2 and (last.extent - first.extent) % step == 0:
            yield group


def _with_extent(scheduled: FuncOp, places: Sequence[ExtentPlace], extent: int, func: FuncOp) -> FuncOp:
    """A copy of a scheduled function with an extent in some places, with the name and the location of `func`."""
    copy = scheduled.clone()
    copies = dict(zip(scheduled.walk(), copy.walk(), strict=True))
    for owner, factors in factors_by_owner(places).items():
        if isinstance(owner, BlockArgument):
            argument = copy.body.block.args[owner.index]
            memory = argument.type
            assert isinstance(memory, MemRefType)
            shape = [extent * factors[n] if n in factors else each for n, each in enumerate(memory.get_shape())]
            changed = MemRefType(memory.element_type, shape, memory.layout, memory.memory_space)
            Rewriter.replace_value_with_new_type(argument, changed)
        else:
            changing = copies[owner]
            assert isinstance(changing, type(owner))
            set_extents(changing, factors, lambda n, type, factors=factors: extent * factors[n])
    copy.sym_name = StringAttr(func.sym_name.data)
    copy.location = func.location
    return copy
