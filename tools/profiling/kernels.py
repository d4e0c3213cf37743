"""The kernels of a program or a graph: their times, their workloads, and the rules that scheduled them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...analysis.workload import Workload, workload_of
from ...backends.graph import GraphExecutor
from ...backends.runtime.program import Program
from ...core.cpu import CpuModel
from ...core.processors import threads
from ...core.remarks import Remark, collect_remarks
from ...dialects.tir import FuncOp
from ...module import Module
from ...transforms.pipelines import lower_to_tir
from ...transforms.pipelines.landings import SCHEDULED, TIR, Options
from ...transforms.pipelines.lowering import go_down
from ...transforms.tir.collapse_axes import COLLAPSED


@dataclass(frozen=True)
class Kernel:
    """A kernel of a program.

    name: of its function.  calls: the number of calls in a run.  seconds: the time of all calls of a run, for each
    number of threads.  workload: of all calls together, None if it is unknown.  decisions: the remarks about its
    schedule.
    """

    name: str
    calls: int
    seconds: Mapping[int, float]
    workload: Workload | None
    decisions: tuple[Remark, ...]


def kernels_of_graph(executor: GraphExecutor, cpu: CpuModel, counts: Sequence[int], number: int) -> list[Kernel]:
    """The kernels of a graph, in the order of the first calls. cpu: the processor that the graph is compiled for.
    counts: the numbers of threads.  number: of runs."""
    executable = executor.executable
    profiles = {count: executor.profile(number, count) for count in counts}
    sums = {count: {each.kernel: each.seconds for each in profile.sums()} for count, profile in profiles.items()}
    functions = _functions(executable.graph)
    decisions = _decisions(executable.graph, cpu)
    kernels: list[Kernel] = []
    for each in profiles[counts[0]].sums():
        one = workload_of(functions[each.kernel], executor.sizes.get) if each.kernel in functions else None
        all_calls = None if one is None else Workload(one.operations * each.calls, one.bytes * each.calls)
        seconds = {count: by_kernel[each.kernel] for count, by_kernel in sums.items()}
        kernels.append(Kernel(each.kernel, each.calls, seconds, all_calls, decisions.get(each.kernel, ())))
    return kernels


def kernel_of_program(
    module: Module,
    program: Program,
    entry: str,
    arguments: Sequence[Any],
    symbol: Callable[[str], int | None],
    cpu: CpuModel,
    counts: Sequence[int],
    number: int,
) -> Kernel:
    """A function of a program as a kernel. arguments: of each call.  symbol: the value of a symbol or an integer
    parameter.  cpu, counts, number: as of `kernels_of_graph`."""
    seconds: dict[int, float] = {}
    for count in counts:
        with threads(count):
            results = program[entry].time_evaluator(number=1, repeat=number)(*arguments).results
        seconds[count] = statistics.median(results)
    workload = workload_of(_functions(module)[entry], symbol)
    return Kernel(entry, 1, seconds, workload, _decisions(module, cpu).get(entry, ()))


def _functions(module: Module) -> dict[str, FuncOp]:
    """The functions of a module on the landing of loops, by name."""
    functions = lower_to_tir(module).functions
    return {name: func for name, func in functions.items() if isinstance(func, FuncOp)}


def _decisions(module: Module, cpu: CpuModel) -> dict[str, tuple[Remark, ...]]:
    """The remarks of the passes that schedule functions for a processor, by function; those about a function with
    collapsed axes belong to the kernel that calls it."""
    options = Options(cpu=cpu)
    names = [each.name for each in SCHEDULED.passes(options)]
    with collect_remarks() as remarks:
        go_down(module, (*TIR, SCHEDULED), options)
    decisions: dict[str, list[Remark]] = {}
    for remark in remarks:
        if remark.pass_name in names:
            decisions.setdefault(remark.place.function.removesuffix(COLLAPSED), []).append(remark)
    return {function: tuple(each) for function, each in decisions.items()}
