"""Default schedules of kernels that are equal but for one extent, of which two are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument
from xdsl.rewriter import Rewriter

from ...analysis.similar_functions import ExtentPlace, extents_by_owner, families
from ...analysis.unscheduled import is_graph_kernel, unscheduled_functions
from ...core.cpu import CpuModel
from ...dialects.tir import FuncOp
from ...schedule.cpu.schedules import schedule_functions
from ...schedule.rules.results import FunctionSchedule
from .extents import set_extents

_STEP = 32
"""The divisor of the differences of extents: sizes of vectors and tiles divide such extents alike."""


@dataclass(frozen=True)
class _Between:
    """Kernels that are equal but for one extent, which lies between those of two others.

    first, last: the names of the kernels with the least and the greatest extent.  extents: of the others, in order.
    """

    first: str
    last: str
    ends: tuple[int, int]
    functions: Sequence[FuncOp]
    extents: Sequence[int]


def schedule_similar_functions(module: ModuleOp, cpu: CpuModel) -> dict[str, FunctionSchedule]:
    """Applies default schedules like `schedule_functions`. The schedule of a kernel of a graph is that of two others,
    which are equal but for an extent below and above its own, if these two have schedules that are equal but for it.

    So the extent is in no decision of theirs: a size or a limit that follows from it would differ, or have it as a
    divisor, and the extents differ in multiples of the sizes of vectors.
    """
    functions = list(unscheduled_functions(module))
    groups = list(_groups(functions))
    later = {func for group in groups for func in group.functions}
    schedules = schedule_functions(module, cpu, [func for func in functions if func not in later])
    by_name = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    for group in groups:
        ends = [by_name[group.first], by_name[group.last]]
        family = next(families(ends), None)
        if family is None or tuple(family.extents) != group.ends or not schedules[group.first].applied:
            schedules |= schedule_functions(module, cpu, group.functions)
            continue
        for func, extent in zip(group.functions, group.extents, strict=True):
            name = func.sym_name.data
            module.body.block.insert_op_before(_with_extent(ends[0], family.places, extent, func), func)
            module.body.block.erase_op(func)
            schedules[name] = replace(schedules[group.first], function=name)
    return schedules


def _groups(functions: Sequence[FuncOp]) -> Iterator[_Between]:
    """The kernels among some functions that are similar to two others."""
    for family in families(func for func in functions if _has_known_shapes(func)):
        members = sorted(zip(family.extents, family.functions, strict=True), key=lambda member: member[0])
        (low, first), *others, (high, last) = members
        inside = [(extent, func) for extent, func in others if low < extent < high and (extent - low) % _STEP == 0]
        if inside and (high - low) % _STEP == 0:
            names = first.sym_name.data, last.sym_name.data
            yield _Between(*names, (low, high), [func for _, func in inside], [extent for extent, _ in inside])


def _has_known_shapes(func: FuncOp) -> bool:
    return is_graph_kernel(func) and all(isinstance(value.type, MemRefType) for _, value in func.params)


def _with_extent(scheduled: FuncOp, places: Sequence[ExtentPlace], extent: int, func: FuncOp) -> FuncOp:
    """A copy of a scheduled function with an extent in some places, with the name and the location of `func`."""
    copy = scheduled.clone()
    copies = dict(zip(scheduled.walk(), copy.walk(), strict=True))
    for owner, numbers in extents_by_owner(places).items():
        if isinstance(owner, BlockArgument):
            argument = copy.body.block.args[owner.index]
            memory = argument.type
            assert isinstance(memory, MemRefType)
            shape = [extent if n in numbers else each for n, each in enumerate(memory.get_shape())]
            changed = MemRefType(memory.element_type, shape, memory.layout, memory.memory_space)
            Rewriter.replace_value_with_new_type(argument, changed)
        else:
            changing = copies[owner]
            assert isinstance(changing, type(owner))
            set_extents(changing, numbers, lambda _: extent)
    copy.sym_name = StringAttr(func.sym_name.data)
    copy.location = func.location
    return copy
