"""Default schedules of whole functions: the order of rules and blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ...analysis.scopes import child_blocks
from ...analysis.threads.axes import is_in_kernel, thread_axis_of
from ...dialects.attributes import HOST_FUNCTION, is_true
from ...dialects.tir import FuncOp
from ...module import Module
from .. import Schedule
from ..handles import BlockRV
from ..rules.kernel import Kernel, block_of, handle_of
from ..rules.results import Applied, DefaultSchedules, FunctionSchedule, decline_unless
from ..rules.search import Search
from .convolution import convolution
from .elementwise import elementwise_rule
from .fallback import one_thread, outer_loops, parallel_loops
from .gemm import gemm_rule
from .gemv import gemv
from .inline import inline_producers
from .normalization import normalization
from .reduction import reduction_by_blocks, reduction_rule
from .scopes import kernel_around, share_between_kernels
from .single_thread import host_reads_memory, names_loaded_values, run_by_one_thread
from .thread_per_result import thread_per_result
from .transpose import transpose_rule

Rule: TypeAlias = Callable[[Schedule, Kernel], "tuple[str, ...]"]
"""Schedules a block by primitives, and returns the names of other blocks that it has moved into the same kernel.

Raises DeclineError, or ScheduleError of a primitive, for an unsupported block; its steps are then undone.
"""

RULES: Mapping[str, Rule] = {
    "gemm": gemm_rule,
    "convolution": convolution,
    "gemv": gemv,
    "normalization": normalization,
    "reduction by blocks": reduction_by_blocks,
    "reduction": reduction_rule,
    "thread per result": thread_per_result,
    "transpose": transpose_rule,
    "elementwise": elementwise_rule,
    "parallel loops": parallel_loops,
    "outer loops": outer_loops,
    "one thread": one_thread,
}
"""The rules by name, in the order in which they are tried."""


def schedule_gpu(mod: Module | ModuleOp) -> DefaultSchedules:
    """A copy of a module in which each function runs on a GPU.

    Each `tir.func` without loops bound to blocks or threads gets the schedules of the first rules that apply. `mod`
    itself is unchanged.
    """
    module = (mod if isinstance(mod, Module) else Module(mod)).clone()
    return DefaultSchedules(module, schedule_functions(module.op))


def schedule_functions(module: ModuleOp) -> dict[str, FunctionSchedule]:
    """Applies default schedules, in place, to the functions of a module without bound loops; returns the schedules by
    function.

    Functions with the attribute `tir.is_host_func`, which only call functions of the device, are unchanged.
    """
    schedules: dict[str, FunctionSchedule] = {}
    for func in [op for op in module.body.block.ops if isinstance(op, FuncOp)]:
        if not is_true(func.attr(HOST_FUNCTION)) and not any(thread_axis_of(op) is not None for op in func.walk()):
            schedule = _schedule_function(func)
            schedules[schedule.function] = schedule
    return schedules


def _schedule_function(func: FuncOp) -> FunctionSchedule:
    with Search.of(func) as search:
        if not names_loaded_values(func):
            search.sch = inline_producers(search.sch, search.function)
            _schedule_blocks(search)
            share_between_kernels(search.sch, search.function)
        return search.result(run_by_one_thread(search.func))


def _schedule_blocks(search: Search) -> None:
    """Schedules each block by the first rule that does not decline."""
    left: list[BlockRV] = []
    while (kernel := _next(search, left)) is not None:
        if not any(search.attempt(name, kernel.name, _run(search, name, rule, kernel)) for name, rule in RULES.items()):
            left.append(kernel.rv)


def _next(search: Search, left: Sequence[BlockRV]) -> Kernel | None:
    """The next block outside of kernels: first reductions, whose kernels include other blocks, then all other blocks.

    left: blocks without an applicable rule.
    """
    without = [search.sch.get(block) for block in left]
    for block in sorted(child_blocks(search.func), key=lambda block: block.init is None):
        if block not in without and not is_in_kernel(block):
            return Kernel(handle_of(search.sch, search.function, block), block)
    return None


def _run(search: Search, name: str, rule: Rule, kernel: Kernel) -> Callable[[], Applied]:
    block_name = kernel.name

    def run() -> Applied:
        block = block_of(search.sch, kernel.rv)
        others = rule(search.sch, Kernel(kernel.rv, block))
        decline_unless(is_in_kernel(block), "it is in no loop over blocks or threads")
        decline_unless(not host_reads_memory(kernel_around(block)), "the host would have to read memory for it")
        return Applied(name, block_name, others)

    return run
