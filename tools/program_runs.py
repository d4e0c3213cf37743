"""`stepwell run FILE` on a program: lowers it, runs it on generated inputs, times it, compares it with the oracle."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..analysis.workload import workload_of
from ..backends.build import ORACLE, build, parse_target
from ..backends.llvm.build import build_llvm
from ..backends.oracle import estimated_seconds, run_oracle
from ..backends.passes import apply_passes
from ..backends.validation import validate_passes
from ..backends.validation.comparison import RESULT, copies, differences
from ..backends.validation.inputs import InputGenerator
from ..core.dtypes import dtype_of_numpy
from ..core.errors import OptionError, UnsupportedError
from ..core.printing import no_printing
from ..core.remarks import ignore_remarks
from ..core.target import Target
from ..dialects.tir import FuncOp
from ..module import Module
from ..transforms.timing import report_times
from .programs import check_sizes, entry_of, read_program
from .progress import show_progress
from .remarks import add_remarks_options, report_decisions

ORACLE_LIMIT = 60.0
"""The default of `--oracle-limit`, in seconds."""


def add_options(group: Any) -> list[argparse.Action]:
    """Adds the options of programs to a group of a parser; returns them."""
    add = group.add_argument
    return [
        add("--entry", metavar="NAME", help="the function to run (main, or the only one)"),
        add("--target", help=f"llvm (default), or {ORACLE}, the oracle itself"),
        add("-p", "--passes", metavar="PASSES", help="a pipeline to apply first, as of stepwell-opt"),
        add("--print-landings", action="store_true", help="show the program at every landing"),
        add("--check", action="store_true", help="compare with the oracle; exit with 1 when they differ"),
        add(
            "--oracle-limit", type=float, default=ORACLE_LIMIT, metavar="SECONDS",
            help=f"the estimated time of a call of the oracle that is an error (default {ORACLE_LIMIT:g})",
        ),
        add("--validate", action="store_true", help="run the program before and after each pass on small inputs"),
        add("--sanitize", action="store_true", help="detect undefined behavior in native code, not in the oracle"),
        add("--time-passes", action="store_true", help="show the times of the passes and of LLVM"),
        *add_remarks_options(group),
    ]  # fmt: skip


def run_program(options: argparse.Namespace) -> int:
    """Runs `stepwell run` on a program; returns the exit code."""
    target = _target(options)
    module = read_program(options.file)
    run = _Run.of(module, options)
    if options.check or target == ORACLE:
        run.check_oracle_time(options.oracle_limit)
    show_times = partial(print, file=sys.stderr) if options.time_passes else None
    with report_decisions(options), report_times(show_times), validate_passes(options.validate or None) as validator:
        program, passed = _compile(run.module, target, options)
    if options.validate:
        print(validator, file=sys.stderr)
    print(f"{run.entry}({', '.join(f'{name}: {_describe(value)}' for name, value in run.arguments.items())})")
    expected = run.expected(passed) if options.check else None
    actual = copies(run.arguments)
    result = program[run.entry](*actual.values())
    failures = [] if expected is None else list(differences(expected, {**actual, RESULT: result}))
    for failure in failures:
        print(f"{target}: {failure}")
    if expected is not None and not failures:
        print(f"{target}: computes what the oracle computes")
    elif expected is None:
        print(f"{target}: ran{', nothing undefined' if options.sanitize or target == ORACLE else ''}")
    with no_printing():  # the first call has printed
        seconds = _times(lambda: program[run.entry](*actual.values()), options.repeat)
    print(f"{target}: {_time_text(seconds)}{run.speed(statistics.median(seconds))}")
    return 1 if failures else 0


def _target(options: argparse.Namespace) -> str:
    """The target of the options. OptionError for an unknown target, UnsupportedError for `--sanitize` on a GPU."""
    target = "llvm" if options.target is None else options.target
    parsed = parse_target(target)
    if target == ORACLE:
        return target
    if parsed.kind == "cuda":
        raise UnsupportedError(
            "stepwell run makes arrays in the memory of the processor, expected --target cuda-emulated"
        )
    if options.sanitize:
        parsed.require_processor("sanitize")
    return target


def _compile(module: Module, target: str, options: argparse.Namespace) -> tuple[Any, Module]:
    """The compiled program, and the module after the passes of the options."""
    passed = apply_passes(module, options.passes) if options.passes else module
    if options.print_landings:
        with ignore_remarks():
            print_landings(passed, options.sanitize)
    return build(passed, target=target, sanitize=options.sanitize), passed


@dataclass(frozen=True)
class _Run:
    """A function of a program with arguments, before the passes of the options."""

    module: Module
    entry: str
    generator: InputGenerator
    arguments: Mapping[str, Any]

    @staticmethod
    def of(module: Module, options: argparse.Namespace) -> _Run:
        """The run of the options. Raises OptionError for an unknown size, and the errors of `entry_of`."""
        entry = entry_of(module, options.entry)
        func = module.functions[entry]
        if not isinstance(func, FuncOp):
            raise UnsupportedError(f"{entry}: inputs can be made up for tir functions only, got {func.name}")
        generator = InputGenerator(func, options.seed, dict(options.size))
        check_sizes(generator.sizes, generator.size_names)
        return _Run(module, entry, generator, generator.arguments())

    def check_oracle_time(self, limit: float) -> None:
        """OptionError if the oracle would take longer than a limit in seconds."""
        seconds = self._oracle_seconds()
        if seconds > limit:
            raise OptionError(
                f"{self.entry}: the oracle would take some {seconds:.0f} s, expected at most --oracle-limit {limit:g}: "
                "a larger limit, or smaller sizes"
            )

    def _oracle_seconds(self) -> float:
        functions = {name: op for name, op in self.module.functions.items() if isinstance(op, FuncOp)}
        return estimated_seconds(functions, self.entry, self.generator.size)

    def expected(self, passed: Module) -> dict[str, Any]:
        """The arguments after a call of the oracle, and its result; of the program before the passes, or after them if
        the oracle does not run its operations."""
        try:
            return self._run_oracle(self.module)
        except UnsupportedError:
            if passed is self.module:
                raise
            return self._run_oracle(passed)

    def _run_oracle(self, module: Module) -> dict[str, Any]:
        values = copies(self.arguments)
        with show_progress("oracle", self._oracle_seconds()), no_printing():
            result = run_oracle(module, self.entry, list(values.values()))
        print("oracle: ran, nothing undefined")
        return {**values, RESULT: result}

    def speed(self, seconds: float) -> str:
        """The arithmetic and the traffic with memory in a second, as far as they are known."""
        workload = workload_of(self.generator.func, self.generator.size)
        if workload is None or not seconds:
            return ""
        unit = "GFLOP/s" if self._computes_on_floats() else "Gop/s"
        rates = [(workload.operations, unit), (workload.bytes, "GB/s")]
        return "".join(f", {count / seconds / 1e9:.3g} {unit}" for count, unit in rates if count)

    def _computes_on_floats(self) -> bool:
        arrays = [value for value in self.arguments.values() if isinstance(value, np.ndarray)]
        return any(dtype_of_numpy(array.dtype).is_float for array in arrays)


def print_landings(module: Module, sanitize: bool = False) -> None:
    """Prints the program as TVMScript, after every pass that changes it, and as LLVM IR."""
    last = str(module)

    def show(title: str, text: str) -> None:
        nonlocal last
        if text == last:
            print(f"//===== {title}: no change =====//\n")
            return
        last = text
        print(f"//===== {title} =====//\n{text.strip()}\n")

    has_loops = all(isinstance(op, FuncOp) for op in module.op.body.block.ops)
    if has_loops:
        print(f"//===== tir, as TVMScript =====//\n{module.script()}\n")
    print(f"//===== {'tir' if has_loops else 'the program'} =====//\n{last}\n")
    program = build_llvm(module, Target(), lambda name, left: show(f"after {name}", str(left)), sanitize=sanitize)
    show("LLVM IR", program.source("llvm"))


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{dtype_of_numpy(value.dtype)}[{', '.join(map(str, value.shape))}]"
    return str(value)


def _times(call: Callable[[], Any], repeat: int) -> list[float]:
    """The durations of some calls, in seconds."""
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def _time_text(seconds: list[float]) -> str:
    median, least, most = (1e6 * each for each in (statistics.median(seconds), min(seconds), max(seconds)))
    return f"median {median:.1f} us of {len(seconds)} calls (from {least:.1f} to {most:.1f})"
