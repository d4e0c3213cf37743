"""Default schedules of whole functions: the order of rules and blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ...analysis.scopes import child_blocks, consumers, producers
from ...analysis.unscheduled import unscheduled_functions
from ...core.cpu import CpuModel
from ...core.walking import find_ops
from ...dialects.attributes import SCHEDULE_RULE
from ...dialects.tir import BlockOp, ForOp, FuncOp
from ...module import Module
from .. import Schedule
from ..handles import BlockRV
from ..rules.independence import is_independent
from ..rules.kernel import Kernel, block_of, handle_of
from ..rules.results import Applied, DefaultSchedules, FunctionSchedule
from ..rules.search import Search
from .contraction import contraction, transposed_factor
from .depthwise import packed_depthwise, packed_depthwise_of_blocks
from .elements import elementwise, transpose
from .epilogues import epilogue
from .nest import Nest
from .packed import packed_convolution, packed_product
from .packed_bytes import packed_convolution_of_bytes, packed_depthwise_of_bytes, packed_product_of_bytes
from .reduction import columns, partial_sums
from .row_tiles import row_tiles
from .rows import rows
from .shared_sums import shared_sums
from .steps import steps
from .threads import loop_nests, threads
from .windows import windows
from .winograd import winograd

Rule: TypeAlias = Callable[[Nest], str]
"""Schedules a block by primitives, and returns the schedule in words.

Raises DeclineError, or ScheduleError of a primitive, for an unsupported block; its steps are then undone.
"""

NamedRule: TypeAlias = Callable[[CpuModel, Schedule, BlockRV], tuple[str, tuple[str, ...]]]
"""Schedules the steps of an operator, of which a block computes the sums. Returns the schedule in words, and the names
of the blocks. Errors: as of `Rule`."""

RULES: Mapping[str, Rule] = {
    "contraction": contraction,
    "windows": windows,
    "columns": columns,
    "partial sums": partial_sums,
    "transpose": transpose,
    "elementwise": elementwise,
}
"""The rules for one block by name, in the order in which they are tried. Before, `NAMED_RULES` schedule
several blocks, or `row tiles`, `rows` and `PREPARATIONS` prepare them; afterwards, `threads` shares their loops."""

NAMED_RULES: Mapping[str, tuple[str, NamedRule]] = {
    "conv2d_winograd": ("winograd", winograd),
    "conv_pack": ("packed convolution", packed_convolution),
    "depthwise_conv_pack": ("packed depthwise convolution", packed_depthwise),
    "depthwise_conv_pack_blocks": ("packed depthwise convolution", packed_depthwise_of_blocks),
    "dense_pack": ("packed product", packed_product),
    "conv_pack_int8": ("packed convolution of bytes", packed_convolution_of_bytes),
    "depthwise_conv_pack_int8": ("packed depthwise convolution of bytes", packed_depthwise_of_bytes),
    "dense_pack_int8": ("packed product of bytes", packed_product_of_bytes),
}
"""The rules for the steps of convolutions and products, with their names, by the annotation `schedule_rule` of the
block of the sums."""

TILED = ("contraction", "windows", "columns")
"""The rules that keep tiles of sums in registers, where an epilogue may read them."""

PREPARATIONS: Mapping[str, Rule] = {"transposed factor": transposed_factor, "shared sums": shared_sums}
"""The rules that prepare a block for others."""


def schedule_cpu(mod: Module | ModuleOp, cpu: CpuModel | str = "host") -> DefaultSchedules:
    """A copy of a module in which each function that nobody has scheduled has a default schedule for a processor.

    cpu: the processor, or its text (`CpuModel.from_text`). docs/cpu.md states which functions stay as they are.
    `mod` itself is unchanged. Raises OptionError for an unknown processor.
    """
    module = (mod if isinstance(mod, Module) else Module(mod)).clone()
    model = CpuModel.from_text(cpu) if isinstance(cpu, str) else cpu
    return DefaultSchedules(module, schedule_functions(module.op, model))


def schedule_functions(
    module: ModuleOp, cpu: CpuModel, functions: Sequence[FuncOp] | None = None
) -> dict[str, FunctionSchedule]:
    """Applies default schedules, in place, to some functions of a module, by default to those that nobody has
    scheduled; returns the schedules by function."""
    schedules: dict[str, FunctionSchedule] = {}
    for func in list(unscheduled_functions(module)) if functions is None else functions:
        with Search.of(func, checked=not is_independent(func)) as search:
            _run(cpu, search)
            schedules[search.function] = search.result()
            search.keeps_original = not search.applied
    return schedules


def _run(cpu: CpuModel, search: Search) -> None:
    blocks = _names_of_blocks(search)
    done = _schedule_by_name(cpu, search)
    if not done:
        blocks = _prepare(cpu, search)
        done = _divide_rows(cpu, search)
    for name in blocks:
        if name not in done:
            done = (*done, *_schedule_with_epilogue(cpu, search, search.sch.get_block(name, search.function)))
    for n in range(len(loop_nests(search.func))):
        _share_loops(search, loop_nests(search.func)[n])


def _schedule_by_name(cpu: CpuModel, search: Search) -> tuple[str, ...]:
    """Schedules the steps of an operator by the rule that the block of its sums names. Returns the names of the blocks;
    none if no block names a rule, or if the rule declines."""
    for block in child_blocks(search.func):
        annotation = block.annotations.data.get(SCHEDULE_RULE) if block.annotations is not None else None
        if isinstance(annotation, StringAttr) and annotation.data in NAMED_RULES:
            rule, schedule = NAMED_RULES[annotation.data]
            sums, name = handle_of(search.sch, search.function, block), block.block_name.data

            def apply() -> Applied:
                text, names = schedule(cpu, search.sch, sums)
                return Applied(rule, name, tuple(each for each in names if each != name), text)

            if search.attempt(rule, name, apply):
                done = (name, *search.applied[-1].with_blocks)
                return (*done, *_apply_epilogue(search, search.sch.get_block(done[-1], search.function), done[-1]))
    return ()


def _names_of_blocks(search: Search) -> list[str]:
    return [block.block_name.data for block in child_blocks(search.func)]


def _prepare(cpu: CpuModel, search: Search) -> list[str]:
    """Moves blocks to common rows or tiles of rows, or transposes factors of products. Returns the names of the blocks
    in the order of their schedules: the copies of factors follow the products, which may move them."""
    blocks = child_blocks(search.func)
    if len(blocks) > 1 and _share_rows(cpu, search, blocks[-1].block_name.data):
        return _names_of_blocks(search)
    names = _names_of_blocks(search)
    sums = [handle_of(search.sch, search.function, block) for block in blocks if block.init is not None]
    for handle in sums:
        _schedule_block(cpu, search, handle, PREPARATIONS)
    return [*names, *(name for name in _names_of_blocks(search) if name not in names)]


def _divide_rows(cpu: CpuModel, search: Search) -> tuple[str, ...]:
    """Applies the rule `steps` to the sums of a function that follow another block. Returns the names of the blocks
    that write the buffers."""
    done = list[str]()
    for block in child_blocks(search.func):
        if block.init is not None and producers(block):
            handle, name = handle_of(search.sch, search.function, block), block.block_name.data

            def apply() -> Applied:
                writer, text = steps(Nest(cpu, search.sch, Kernel(handle, block_of(search.sch, handle))))
                return Applied("steps", writer, (), text)

            if search.attempt("steps", name, apply):
                done.append(search.applied[-1].block)
    return tuple(done)


def _schedule_with_epilogue(cpu: CpuModel, search: Search, handle: BlockRV) -> tuple[str, ...]:
    """Schedules a block, and the block that reads its tiles of sums. Returns the names of the scheduled blocks."""
    name = block_of(search.sch, handle).block_name.data
    if _schedule_block(cpu, search, handle, RULES) not in TILED:
        return (name,)
    return (name, *_apply_epilogue(search, handle, name))


def _apply_epilogue(search: Search, handle: BlockRV, name: str) -> tuple[str, ...]:
    """Moves the block that reads the results of a block in tiles into its loops. Returns the name of the moved block,
    or none. name: of the block before it was scheduled."""
    if not consumers(block_of(search.sch, handle)):
        return ()

    def apply() -> Applied:
        user, text = epilogue(search.sch, search.function, handle)
        return Applied("epilogue", name, (user,), text)

    return search.applied[-1].with_blocks if search.attempt("epilogue", name, apply) else ()


def _schedule_block(cpu: CpuModel, search: Search, handle: BlockRV, rules: Mapping[str, Rule]) -> str:
    """Schedules a block by the first rule that does not decline. Returns the name of the rule, "" without one."""
    nest = None
    for name, rule in rules.items():
        block = block_of(search.sch, handle)
        if nest is None or nest.kernel.block is not block:
            nest = Nest(cpu, search.sch, Kernel(handle, block))
        if search.attempt(name, nest.kernel.name, _apply(name, rule, nest)):
            return name
    return ""


def _apply(name: str, rule: Rule, nest: Nest) -> Callable[[], Applied]:
    block = nest.kernel.name
    return lambda: Applied(name, block, text=rule(nest))


def _share_rows(cpu: CpuModel, search: Search, last: str) -> bool:
    """Applies the rule `row tiles` to the blocks of a function, or `rows` if it declines. last: the name of the last
    block."""

    def tiles() -> Applied:
        names, text = row_tiles(cpu, search.sch, search.function)
        return Applied("row tiles", last, names, text)

    if search.attempt("row tiles", last, tiles):
        return True
    return search.attempt("rows", last, lambda: Applied("rows", last, rows(cpu, search.sch, search.function)))


def _share_loops(search: Search, nest: ForOp) -> None:
    """Applies the rule `threads` to a loop nest."""
    block = next(find_ops(nest, BlockOp)).block_name.data
    search.attempt("threads", block, lambda: Applied("threads", block, text=threads(search.sch, search.function, nest)))
