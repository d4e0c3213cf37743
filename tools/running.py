"""`stepwell run OUT`: runs a saved compiled graph on given or generated inputs, and times it."""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..backends.graph import Executable, GraphExecutor, TensorSpec
from ..backends.graph.profile import thread_count
from ..core.diagnostics import did_you_mean
from ..core.dtypes import numpy_dtype, parse_dtype
from ..core.errors import OptionError
from ..core.processors import get_num_threads, threads
from .arrays import read_arrays, write_arrays
from .programs import check_sizes

Array: TypeAlias = npt.NDArray[Any]

FILLS = ("random", "zeros", "ones")
"""The contents of generated inputs. Random: floats are standard normal, integers 0 or 1, since they may be indices."""


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
    sizes = _sizes(executable, dict(options.size))
    arrays = {name: _restore_type(array, specs[name]) for name, array in arrays.items()}
    for name, array in arrays.items():
        specs[name].bind(array, sizes)
    rng = np.random.default_rng(options.seed)
    generated = {name: _fill(specs[name], options.fill or "random", rng, sizes) for name in missing}
    return {name: arrays[name] if name in arrays else generated[name] for name in specs}


def _restore_type(array: Array, spec: TensorSpec) -> Array:
    """An array of a type unknown to files of numpy (`bfloat16`), which contain its bytes."""
    expected = numpy_dtype(spec.dtype)
    is_bytes = array.dtype.kind == "V" and array.dtype.itemsize == expected.itemsize
    return array.view(expected) if is_bytes else array


def _sizes(executable: Executable, sizes: dict[str, int]) -> dict[str, int]:
    known = {name for spec in executable.inputs for name in _names(spec)}
    check_sizes(sizes, known)
    return sizes


def _names(spec: TensorSpec) -> Iterator[str]:
    """The names in the symbolic sizes of a tensor."""
    for size in spec.shape:
        if isinstance(size, str):
            yield from (name for name in re.findall(r"[^\W\d]\w*", size) if name not in ("min", "max"))


def _fill(spec: TensorSpec, fill: str, rng: np.random.Generator, sizes: Mapping[str, int]) -> Array:
    unknown = [name for name in _names(spec) if name not in sizes]
    if unknown:
        raise OptionError(f"input {spec.name}, {spec}: size {unknown[0]} is not known: --size {unknown[0]}=N")
    shape, dtype = spec.concrete(sizes), numpy_dtype(spec.dtype)
    if fill != "random":
        return np.full(shape, fill == "ones", dtype)
    is_float = parse_dtype(spec.dtype).is_float
    return (rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)).astype(dtype)


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
