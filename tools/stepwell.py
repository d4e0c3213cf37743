"""`stepwell run FILE`: lowers a program, runs it, and checks it against the oracle; or runs a compiled graph.

`stepwell compile MODEL -o OUT` compiles a graph (`compiling.py`); `stepwell cache` shows the cache (`caching.py`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.build import build
from ..backends.llvm.build import build_llvm
from ..backends.oracle import run_oracle
from ..core.dtypes import dtype_of_numpy
from ..core.errors import OptionError, PluginError, UnsupportedError
from ..core.target import Target
from ..dialects.tir import FuncOp
from ..module import Module
from . import caching, compiling
from .caching import cache_command
from .compiling import compile_command
from .inputs import InputGenerator, strided_copy
from .profiling import command as profiling
from .programs import entry_of, read_program, refuse_options
from .remarks import add_remarks_option, complete_remarks_option, remark_printer
from .running import FILLS, run_saved
from .stepwell_opt import report_user_errors

TOLERANCES = {"float16": (2e-2, 2e-2), "bfloat16": (4e-2, 4e-2), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-12)}
"""rtol and atol between native code and the oracle, whose rounding of libm functions differs; integers are exact."""


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell` with `args`, by default the command line; exits with 1 on a user error or a failed check."""
    sys.setrecursionlimit(20_000)
    options = _parser().parse_args(complete_remarks_option(args))
    with report_user_errors():
        sys.exit(options.command(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stepwell", description="tensor programs, landing by landing")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    compile_ = commands.add_parser("compile", help="compile a model to native code in a folder or .tar")
    compile_.set_defaults(command=compile_command)
    compiling.add_options(compile_)
    run = commands.add_parser("run", help="run a program, or what `compile` has made, and time it")
    run.set_defaults(command=run_command)
    run.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py), MLIR (.mlir), or a compiled graph")
    run.add_argument("--seed", type=int, default=0, help="of the made-up inputs")
    run.add_argument("--size", type=_size, action="append", default=[], metavar="NAME=N", help="a symbolic size")
    run.add_argument("--repeat", type=_positive, default=20, help="timed calls (default 20)")
    programs = run.add_argument_group("programs: parsed, lowered, built, run on made-up inputs")
    add = programs.add_argument
    of_programs = [
        add("--entry", metavar="NAME", help="the function to run (main, or the only one)"),
        add("--target", help="llvm (default) or python, the oracle itself"),
        add("--print-landings", action="store_true", help="show the program at every landing"),
        add("--check", action="store_true", help="compare with the oracle; exit with 1 when they differ"),
        add("--sanitize", action="store_true", help="detect undefined behavior in native code, not in the oracle"),
        add_remarks_option(programs),
    ]
    graphs = run.add_argument_group("compiled graphs: a folder, or a file that ends in .tar")
    add = graphs.add_argument
    of_graphs = [
        add("-i", "--inputs", type=Path, metavar="FILE.npz", help="arrays by the names of inputs"),
        add("--fill", choices=FILLS, help="what inputs hold that are not given"),
        add("-o", "--output", type=Path, metavar="FILE.npz", help="where to write the outputs"),
        add("--number", type=_positive, default=1, help="runs in each timed call (default 1)"),
        add("--profile", action="store_true", help="show how long each kernel takes"),
        add("--threads", type=_counts, metavar="N,...", help="the numbers of threads to measure with"),
    ]
    run.set_defaults(of_programs=of_programs, of_graphs=of_graphs)
    profile = commands.add_parser("profile", help="compare the kernels of a program with the limits of this machine")
    profile.set_defaults(command=profiling.profile_command)
    profiling.add_options(profile, _size, _counts)
    cache = commands.add_parser("cache", help="show or clear the cache of compiled programs")
    cache.set_defaults(command=cache_command)
    caching.add_options(cache)
    _add_fuzz(commands)
    return parser


def _add_fuzz(commands: Any) -> None:
    """Adds the command `fuzz`; without hypothesis, the command says how to install it."""
    fuzz = commands.add_parser("fuzz", help="search for programs that are compiled wrongly")
    try:
        from .fuzzing import command  # lazy: needs hypothesis, which is an extra
    except ModuleNotFoundError as error:
        if error.name not in ("hypothesis", "onnx"):
            raise
        fuzz.set_defaults(command=partial(_refuse_fuzz, error.name))
        return
    command.add_options(fuzz)
    fuzz.set_defaults(command=command.fuzz_command)


def _refuse_fuzz(package: str, options: argparse.Namespace) -> int:
    del options
    raise PluginError(f"stepwell fuzz needs the package {package}: pip install 'stepwell[fuzz]'")


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier() or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected NAME=N, got {text!r}")
    return name, int(number)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


def _counts(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def run_command(options: argparse.Namespace) -> int:
    """Runs the `run` command; returns the exit code."""
    if options.file.is_dir() or options.file.suffix == ".tar":
        refuse_options(options, options.of_programs, "programs, and this is a compiled graph")
        return run_saved(options)
    if options.file.suffix == ".onnx":
        raise OptionError(f"{options.file}: a model is compiled first: stepwell compile {options.file} -o FOLDER")
    refuse_options(options, options.of_graphs, "compiled graphs (stepwell compile)")
    return _run_program(options, options.target or "llvm")


def _run_program(options: argparse.Namespace, target: str) -> int:
    module = read_program(options.file)
    entry = entry_of(module, options.entry)
    func = module.functions[entry]
    if not isinstance(func, FuncOp):
        raise UnsupportedError(f"{entry}: inputs can be made up for tir functions only, got {func.name}")
    if options.print_landings:
        print_landings(module, options.sanitize)
    arguments = InputGenerator(func, options.seed, dict(options.size)).arguments()
    print(f"{entry}({', '.join(f'{name}: {_describe(value)}' for name, value in arguments.items())})")

    is_compared = options.check or not options.sanitize
    expected = _run_oracle(module, entry, arguments) if is_compared else None
    library = build(module, target=target, sanitize=options.sanitize, remarks=remark_printer(options.remarks))
    actual = _copies(arguments)
    result = library[entry](*actual.values())
    failures = [] if expected is None else _differences(expected, {**actual, "the result": result})
    for failure in failures:
        print(f"{target}: {failure}")
    if not failures:
        print(f"{target}: {'ran, nothing undefined' if expected is None else 'computes what the oracle computes'}")
    _time(target, lambda: library[entry](*actual.values()), options.repeat)
    return 1 if failures and options.check else 0


def _run_oracle(module: Module, entry: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments after a call of the oracle, and its result."""
    expected = _copies(arguments)
    result = run_oracle(module, entry, list(expected.values()))
    print("oracle: ran, nothing undefined")
    return {**expected, "the result": result}


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

    print(f"//===== tir, as TVMScript =====//\n{module.script()}\n")
    print(f"//===== tir =====//\n{last}\n")
    program = build_llvm(module, Target(), lambda name, left: show(f"after {name}", str(left)), sanitize=sanitize)
    show("LLVM IR", program.source("llvm"))


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{dtype_of_numpy(value.dtype)}[{', '.join(map(str, value.shape))}]"
    return str(value)


def _copies(arguments: dict[str, Any]) -> dict[str, Any]:
    """Copies of the arguments; arrays keep their strides."""

    def copy(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return strided_copy(value, [s // value.itemsize for s in value.strides])

    return {name: copy(value) for name, value in arguments.items()}


def _differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """A line for each value that differs from the expected value."""
    lines: list[str] = []
    for name, want in expected.items():
        got = actual[name]
        if want is None and got is None:
            continue
        a, b = np.asarray(want), np.asarray(got)
        dtype = dtype_of_numpy(a.dtype)
        wide = np.float64 if dtype.is_float else a.dtype
        rtol, atol = TOLERANCES.get(dtype.name, (0, 0))
        close = np.isclose(b.astype(wide), a.astype(wide), rtol=rtol, atol=atol, equal_nan=dtype.is_float)
        if not close.all():
            at = tuple(int(i) for i in np.argwhere(~close)[0])
            wrong = f"{int((~close).sum())} of {close.size} elements differ"
            lines.append(f"{name}: {wrong}, first at {list(at)}: expected {a[at]}, got {b[at]}")
    return lines


def _time(target: str, call: Callable[[], Any], repeat: int) -> None:
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    median, least, most = statistics.median(times), min(times), max(times)
    print(f"{target}: median {median:.1f} us of {repeat} calls (from {least:.1f} to {most:.1f})")
