"""Default schedules of whole functions: the order of rules and blocks, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from ...analysis.scopes import child_blocks
from ...analysis.threads.axes import thread_axis_of
from ...core.errors import ScheduleError
from ...dialects.attributes import HOST_FUNCTION, is_true
from ...dialects.schedule import TraceOp
from ...dialects.tir import FuncOp
from ...module import Module
from .. import Schedule
from ..handles import BlockRV
from ..trace import Trace
from .convolution import convolution
from .elementwise import elementwise_rule
from .fallback import one_thread, outer_loops, parallel_loops
from .gemm import gemm_rule
from .gemv import gemv
from .inline import inline_producers
from .kernel import Kernel, block_of, handle_of, is_in_kernel, kernel_around
from .normalization import normalization
from .reduction import reduction_by_blocks, reduction_rule
from .results import Applied, Declined, DeclineError, Rule, decline_unless
from .scopes import share_between_kernels
from .single_thread import host_reads_memory, names_loaded_values, run_by_one_thread
from .transpose import transpose_rule

RULES: Mapping[str, Rule] = {
    "gemm": gemm_rule,
    "convolution": convolution,
    "gemv": gemv,
    "normalization": normalization,
    "reduction by blocks": reduction_by_blocks,
    "reduction": reduction_rule,
    "transpose": transpose_rule,
    "elementwise": elementwise_rule,
    "parallel loops": parallel_loops,
    "outer loops": outer_loops,
    "one thread": one_thread,
}
"""The rules by name, in the order in which they are tried."""


@dataclass(frozen=True)
class FunctionSchedule:
    """The schedule of a function.

    function: its name.  trace: the primitives.  applied: the rule that scheduled each block.  declined: the rules tried
    before, and the reasons of their refusals.  alone: the number of statements without a block that one thread runs; no
    primitive does this.
    """

    function: str
    trace: Trace
    applied: tuple[Applied, ...]
    declined: tuple[Declined, ...]
    alone: int = 0


@dataclass(frozen=True)
class GpuSchedules:
    """A module with its default schedules.

    mod: the scheduled module.  functions: the schedules by function; without functions that were bound to blocks or
    threads before, which stay as they are.
    """

    mod: Module
    functions: Mapping[str, FunctionSchedule]

    @property
    def trace(self) -> Trace:
        """The primitives of all functions, for `Schedule.replay` on the original module."""
        whole = TraceOp()
        for function in self.functions.values():
            copy = function.trace.op.clone()
            for op in list(copy.body.block.ops):
                op.detach()
                whole.body.block.add_op(op)
        return Trace(whole)

    @property
    def applied(self) -> list[Applied]:
        """The rule that scheduled each block."""
        return [each for function in self.functions.values() for each in function.applied]

    @property
    def declined(self) -> list[Declined]:
        """The rules tried before on each block, and the reasons of their refusals."""
        return [each for function in self.functions.values() for each in function.declined]

    def __str__(self) -> str:
        return "\n".join(_lines(self.functions))


def _lines(functions: Mapping[str, FunctionSchedule]) -> Iterator[str]:
    for name, schedule in functions.items():
        yield f"{name}:"
        yield from (f"  {each}" for each in schedule.applied)
        if schedule.alone:
            yield f"  {schedule.alone} statements without a block: one thread"


def schedule_gpu(mod: Module | ModuleOp) -> GpuSchedules:
    """A copy of a module in which each function runs on a GPU.

    Each `tir.func` without loops bound to blocks or threads gets the schedules of the first rules that apply. `mod`
    itself is unchanged.
    """
    module = (mod if isinstance(mod, Module) else Module(mod)).clone()
    return GpuSchedules(module, schedule_functions(module.op))


def schedule_functions(module: ModuleOp) -> dict[str, FunctionSchedule]:
    """Applies default schedules, in place, to the functions of a module without bound loops; returns the schedules by
    function.

    Functions with the attribute `tir.is_host_func`, which only call functions of the device, are unchanged.
    """
    schedules: dict[str, FunctionSchedule] = {}
    for func in [op for op in module.body.block.ops if isinstance(op, FuncOp)]:
        if not is_true(func.attr(HOST_FUNCTION)) and not any(thread_axis_of(op) is not None for op in func.walk()):
            scheduled, schedule = _schedule_function(func)
            module.body.block.insert_op_before(scheduled, func)
            module.body.block.erase_op(func)
            schedules[schedule.function] = schedule
    return schedules


def _schedule_function(func: FuncOp) -> tuple[FuncOp, FunctionSchedule]:
    search = _Search(func.sym_name.data, Schedule(ModuleOp([func.clone()]), error_render_level="fast"))
    if not names_loaded_values(func):
        search.run()
    scheduled = search.sch.mod.functions[search.function]
    assert isinstance(scheduled, FuncOp)
    scheduled.detach()
    scheduled.location = func.location
    alone = run_by_one_thread(scheduled)
    return scheduled, FunctionSchedule(
        search.function, search.sch.trace.simplified(), tuple(search.applied), tuple(search.declined), alone
    )


@dataclass
class _Search:
    """The search for a rule for each block of a function. left: blocks without an applicable rule."""

    function: str
    sch: Schedule
    applied: list[Applied] = field(default_factory=list[Applied])
    declined: list[Declined] = field(default_factory=list[Declined])
    left: list[BlockRV] = field(default_factory=list[BlockRV])

    def run(self) -> None:
        self.sch = inline_producers(self.sch, self.function)
        while (kernel := self._next()) is not None:
            self._schedule(kernel)
        share_between_kernels(self.sch, self.function)

    def _next(self) -> Kernel | None:
        """The next block outside of kernels: first reductions, whose kernels include other blocks, then all other
        blocks.
        """
        left = [self.sch.get(block) for block in self.left]
        blocks = child_blocks(self.sch.mod.functions[self.function])
        for block in sorted(blocks, key=lambda block: block.init is None):
            if block not in left and not is_in_kernel(block):
                return Kernel(handle_of(self.sch, self.function, block), block)
        return None

    def _schedule(self, kernel: Kernel) -> None:
        """Schedules a block by the first rule that does not decline."""
        for name, rule in RULES.items():
            trial = self.sch.copy()
            block = block_of(trial, kernel.rv)
            try:
                others = rule(trial, Kernel(kernel.rv, block))
                decline_unless(is_in_kernel(block), "it is in no loop over blocks or threads")
                decline_unless(not host_reads_memory(kernel_around(block)), "the host would have to read memory for it")
            except DeclineError as reason:
                self.declined.append(Declined(name, kernel.name, str(reason)))
            except ScheduleError as error:
                self.declined.append(Declined(name, kernel.name, error.reason))
            else:
                self.applied.append(Applied(name, kernel.name, others))
                self.sch = trial
                return
        self.left.append(kernel.rv)
