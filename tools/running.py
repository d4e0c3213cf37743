"""`stepwell run OUT`: runs a saved compiled graph on given or generated inputs, and times it."""

from __future__ import annotations

import argparse
import statistics
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..backends.graph import Executable, GraphExecutor
from ..backends.graph.inputs import UnknownSizeError, complete_inputs, size_names
from ..backends.graph.profile import thread_count
from ..core.array_files import read_arrays, write_arrays
from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError
from ..core.processors import get_num_threads, threads
from .programs import check_sizes

Array: TypeAlias = npt.NDArray[Any]


def run_saved(options: argparse.Namespace) -> int:
    """Runs `stepwell run` on a folder or tar; returns the exit code."""
    executable = Executable.load(options.file)
    executor = GraphExecutor(executable)
    for name, array in graph_inputs(executable, options).items():
        executor.set_input(name, array)
        print(f"{name}: {_describe(array)}")
    executor.run()
    outputs = {spec.name: np.asarray(executor.get_output(n)) for n, spec in enumerate(executable.outputs)}
    for name, array in outputs.items():
        print(f"{name}: {_describe(array)}")
    if options.output is not None:
        write_arrays(options.output, outputs)
    for count in _threads(options):
        with threads(count):
            prefix = f"{thread_count(count)}: " if options.threads else ""
            print(prefix + _time(executor, options.repeat, options.number))
    if options.profile:
        print(_profile(executor, options))
    return 0


def _describe(array: Array) -> str:
    name = f"{array.dtype}{list(array.shape)}"
    return f"{name} from {array.min()} to {array.max()}" if array.size else name


# Inputs


def graph_inputs(executable: Executable, options: argparse.Namespace) -> dict[str, Array]:
    """An array for each input, from the file or generated. OptionError or ArgumentError for unsuitable arrays."""
    specs = {spec.name: spec for spec in executable.inputs}
    arrays = read_arrays(options.inputs) if options.inputs is not None else {}
    for name in arrays:
        if name not in specs:
            known = ", ".join(specs) or "none"
            raise OptionError(f"{options.inputs}: no input {name!r}{did_you_mean(name, specs)}, there is {known}")
    missing = [name for name in specs if name not in arrays]
    if options.inputs is not None and missing and options.fill is None:
        expected = ", ".join(f"{name}: {specs[name]}" for name in missing)
        raise OptionError(f"{options.inputs}: inputs are missing, expected {expected} (or --fill)")
    sizes = dict(options.size)
    check_sizes(sizes, {name for spec in specs.values() for name in size_names(spec)})
    try:
        return complete_inputs(executable.inputs, arrays, options.fill or "random", sizes, options.seed)
    except UnknownSizeError as error:
        raise OptionError(f"{error}: --size {error.name}=N") from None


# Times


def _time(executor: GraphExecutor, repeat: int, number: int) -> str:
    times = [executor.clock(executor.run, number) / number * 1e6 for _ in range(repeat)]
    spread = statistics.pstdev(times)
    return (
        f"median {statistics.median(times):.1f} us of {repeat} times {number} "
        f"(mean {statistics.fmean(times):.1f}, std {spread:.1f}, from {min(times):.1f} to {max(times):.1f})"
    )


def _threads(options: argparse.Namespace) -> list[int]:
    """The numbers of threads of the measurements."""
    return options.threads or [get_num_threads()]


def _profile(executor: GraphExecutor, options: argparse.Namespace) -> str:
    """A table of the kernels, in the order of their first calls, with a column for each number of threads."""
    first, *others = (executor.profile(options.repeat, count) for count in _threads(options))
    return first.table(*others)
