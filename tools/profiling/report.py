"""The report of a profile as text: the kernels beside the limits of the machine, and the decisions about schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...backends.graph.profile import thread_count
from ...core.tables import text_table
from .kernels import Kernel
from .machine import MachineLimits

_UNKNOWN = "-"
_HEADER = ("kernel", "calls", "share", "us", "Mop", "MB", "Gop/s", "of peak", "GB/s", "of bandwidth", "limit")


def report(kernels: Sequence[Kernel], limits: Sequence[MachineLimits]) -> str:
    """The tables of all numbers of threads, and the decisions about the schedule of each kernel."""
    return "\n\n".join(filter(None, [*(_table(kernels, each) for each in limits), "\n".join(_decisions(kernels))]))


def _table(kernels: Sequence[Kernel], limits: MachineLimits) -> str:
    """A row for each kernel, the slowest first, and a row for all."""
    title = (
        f"{thread_count(limits.threads)}: peak {limits.operations / 1e9:.1f} Gop/s of float32, "
        f"bandwidth {limits.bandwidth / 1e9:.1f} GB/s, ridge {limits.ridge:.1f} op/byte"
    )
    whole = sum(each.seconds[limits.threads] for each in kernels)
    ordered = sorted(kernels, key=lambda each: -each.seconds[limits.threads])
    rows = [_row(each, limits, whole) for each in ordered]
    total = ["all", str(sum(each.calls for each in kernels)), "100.0%", f"{whole * 1e6:.1f}"]
    return f"{title}\n{text_table([_HEADER, *rows, [*total, *[''] * (len(_HEADER) - len(total))]])}"


def _row(kernel: Kernel, limits: MachineLimits, whole: float) -> list[str]:
    seconds = kernel.seconds[limits.threads]
    cells = [kernel.name, str(kernel.calls), f"{seconds / (whole or 1):.1%}", f"{seconds * 1e6:.1f}"]
    work = kernel.workload
    if work is None or not seconds:
        return [*cells, *[_UNKNOWN] * (len(_HEADER) - len(cells))]
    operations, bandwidth = work.operations / seconds, work.bytes / seconds
    return [
        *cells,
        f"{work.operations / 1e6:.2f}",
        f"{work.bytes / 1e6:.2f}",
        f"{operations / 1e9:.1f}",
        f"{operations / limits.operations:.0%}",
        f"{bandwidth / 1e9:.1f}",
        f"{bandwidth / limits.bandwidth:.0%}",
        "arithmetic" if work.intensity > limits.ridge else "memory",
    ]


def _decisions(kernels: Sequence[Kernel]) -> Iterator[str]:
    for kernel in kernels:
        if kernel.decisions:
            yield f"{kernel.name}:"
            yield from (f"  {each.pass_name}: {each.kind}: {each.message}" for each in kernel.decisions)
        else:
            yield f"{kernel.name}: no rule has scheduled it"
