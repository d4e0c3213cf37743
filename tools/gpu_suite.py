"""The corpus and every operator on a GPU, emulated or not: `python -m stepwell.tools.gpu_suite`.

Every program of the corpus and samples of every operator run on the emulated GPU, or on a GPU with `--target cuda`, and
are compared with the oracle; programs without thread bindings get default schedules. Prints a line for each: the
outcome, the applied rules, and the seconds for scheduling, building and running. `--compile sm_80 sm_90a` also compiles
the kernels for GPUs, where a warning is a failure, and reports their usage: registers, shared and local memory, spills.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from ..backends.build import build
from ..backends.cuda.emulation import InvalidCudaError
from ..backends.cuda.nvrtc import KernelUsage, compile_cuda
from ..backends.cuda.program import DeviceProgram
from ..backends.devices import Device
from ..backends.devices.nd import array
from ..backends.runtime.program import Program
from ..core.dtypes import dtype_of_numpy
from ..core.errors import StepwellError, UnsupportedError
from ..frontends.tvmscript import parse_tvmscript
from ..module import Module
from ..schedule.gpu import schedule_gpu
from .testing.corpus import programs_of_schedules, script_programs
from .testing.operators import SAMPLES, Sample, program_of

TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-12)}
"""rtol and atol against the oracle, whose order of summation differs; 0.1 for other floats."""
DEVICES = {"cuda-emulated": "cuda_emulated", "cuda": "cuda"}
"""The kind of device of each target."""
CASES_OF_A_PROCESS = 16
"""A process ends after this number of programs: an error in a kernel makes its context unusable for later ones."""


@dataclass(frozen=True)
class GpuCase:
    """A program and its arguments. make: builds both."""

    name: str
    make: Callable[[], tuple[Module, list[np.ndarray[Any, Any]]]]


@dataclass(frozen=True)
class Result:
    """The result of a program. outcome: "right", or the error.  seconds: for the schedule, the rest of the build, and
    the run.  usage: the resources of the kernels, by architecture and kernel."""

    name: str
    outcome: str
    rules: tuple[str, ...] = ()
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)
    usage: Mapping[tuple[str, str], KernelUsage] = field(default_factory=dict[tuple[str, str], KernelUsage])

    def __str__(self) -> str:
        times = " ".join(f"{each:6.2f}" for each in self.seconds)
        kernels = (f"\n    {arch:7} {kernel:28} {used}" for (arch, kernel), used in self.usage.items())
        return f"{self.name:36} {times}  {self.outcome}  {', '.join(self.rules)}{''.join(kernels)}"


def run_suite(case: GpuCase, architectures: Sequence[str] = (), target: str = "cuda-emulated") -> Result:
    """Runs a program, with a default schedule if required, and compares its results with the oracle.

    architectures: of the GPUs for which the kernels are also compiled.
    """
    module, arguments = case.make()
    start = perf_counter()
    try:
        scheduled = schedule_gpu(module)
        rules = tuple(dict.fromkeys(each.rule for each in scheduled.applied))
        rules += ("no block",) * any(function.alone for function in scheduled.functions.values())
        scheduled.mod.verify()
        scheduled_at = perf_counter()
        library = build(scheduled.mod, target=target)
        built_at = perf_counter()
        (name,) = module.functions
        on_device = [array(each, Device(DEVICES[target])) for each in arguments]
        library[name](*on_device)
        got, expected = [each.numpy() for each in on_device], [each.copy() for each in arguments]
        ran_at = perf_counter()
        usage = {key: used for arch in architectures for key, used in _compile(library, arch).items()}
    except UnsupportedError as error:
        return Result(case.name, f"unsupported: {str(error).partition(chr(10))[0]}")
    except StepwellError as error:
        return Result(case.name, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    build(module, target="python")[name](*expected)
    wrong = [n for n, (a, b) in enumerate(zip(got, expected, strict=True)) if not _close(a, b)]
    outcome = f"wrong: argument {wrong[0]}" if wrong else "right"
    return Result(case.name, outcome, rules, (scheduled_at - start, built_at - scheduled_at, ran_at - built_at), usage)


def _compile(program: Program, architecture: str) -> dict[tuple[str, str], KernelUsage]:
    """The resources of the kernels of a program on a GPU. InvalidCudaError also for a warning."""
    assert isinstance(program, DeviceProgram)
    usage: dict[tuple[str, str], KernelUsage] = {}
    for code in program.launcher.code:
        compiled = compile_cuda(code.source, architecture)
        if compiled.log:
            raise InvalidCudaError(f"{architecture}: {compiled.log.splitlines()[0]}")
        usage |= {(architecture, kernel): compiled.usage[kernel] for kernel in sorted(compiled.usage)}
    return usage


def _close(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    dtype = dtype_of_numpy(got.dtype)
    if not dtype.is_float:
        return bool(np.array_equal(got, expected))
    a, b = got.astype(np.float64), expected.astype(np.float64)
    rtol, atol = TOLERANCES.get(got.dtype.name, (0.1, 0.1))
    finite = np.abs(b[np.isfinite(b)])
    return bool(np.allclose(a, b, rtol, atol * max(1.0, float(finite.max(initial=0.0))), equal_nan=True))


def corpus_cases() -> Iterator[GpuCase]:
    """The programs of the corpus."""
    right = [program for program in programs_of_schedules("out") if program.right]
    for program in (*script_programs(), *programs_of_schedules("in"), *right):
        module = parse_tvmscript(program.text, filename=f"{program.name}.py")
        yield GpuCase(program.name, lambda module=module, problem=program.problem: (module, problem.arguments()))


def operator_cases(count: int, names: Sequence[str] = tuple(SAMPLES)) -> Iterator[GpuCase]:
    """A number of samples of each operator."""
    for name in names:
        for number, sample in enumerate(_samples(name, count)):
            yield GpuCase(f"{name} {number}", lambda name=name, sample=sample: _operator(name, sample))


def _samples(name: str, count: int) -> list[Sample]:
    samples: list[Sample] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(SAMPLES[name])
    def draw(sample: Sample) -> None:
        samples.append(sample)

    draw()
    return samples


def _operator(name: str, sample: Sample) -> tuple[Module, list[np.ndarray[Any, Any]]]:
    """A function that computes an operator, and arrays for its operands and results."""
    module, results = program_of(name, sample)
    return module, [*sample.operands, *results]


class _Worker:
    """The cases and their runner in each process: processes inherit both, for neither can be pickled."""

    cases: Sequence[GpuCase]
    run: Callable[[GpuCase], Result]


def _set_up(cases: Sequence[GpuCase], run: Callable[[GpuCase], Result]) -> None:
    _Worker.cases, _Worker.run = cases, staticmethod(run)


def _run_number(number: int) -> Result:
    return _Worker.run(_Worker.cases[number])


def _results(cases: Sequence[GpuCase], run: Callable[[GpuCase], Result], jobs: int) -> Iterator[Result]:
    """The results of cases, computed in `jobs` processes, in order of completion."""
    pool = get_context("fork").Pool(jobs, _set_up, (cases, run), maxtasksperchild=CASES_OF_A_PROCESS)
    with pool:
        yield from pool.imap_unordered(_run_number, range(len(cases)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit code is 1 if a program is wrong, or fails and is not unsupported."""
    parser = argparse.ArgumentParser(
        prog="python -m stepwell.tools.gpu_suite", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("programs", nargs="*", help="parts of names of programs (default: all)")
    parser.add_argument("--samples", type=int, default=3, help="how many samples of each operator (default: 3)")
    parser.add_argument(
        "--compile", nargs="+", default=[], metavar="ARCH", help="compile the kernels for these GPUs too: sm_80 sm_90a"
    )
    parser.add_argument("--target", choices=list(DEVICES), default="cuda-emulated", help="(default: cuda-emulated)")
    parser.add_argument("-j", dest="jobs", type=int, default=1, metavar="N", help="programs at a time")
    options = parser.parse_args(arguments)
    outcomes, usage = Counter[str](), list[KernelUsage]()
    cases = [
        case
        for case in (*corpus_cases(), *operator_cases(options.samples))
        if not options.programs or any(part in case.name for part in options.programs)
    ]
    for result in _results(
        cases, partial(run_suite, architectures=options.compile, target=options.target), options.jobs
    ):
        usage += result.usage.values()
        outcomes[result.outcome.partition(":")[0]] += 1
        print(result, flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    if usage:
        most, spilled = max(each.registers for each in usage), sum(each.spill_stores > 0 for each in usage)
        print(f"{len(usage)} kernels compiled without a warning, at most {most} registers, {spilled} spill")
    return 0 if set(outcomes) <= {"right", "unsupported"} else 1


if __name__ == "__main__":
    sys.exit(main())
