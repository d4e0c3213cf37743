"""`stepwell run FILE`: walk a program down, run it, check it against the oracle."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.build import build
from ..backends.oracle import run_oracle
from ..core.dtypes import dtype_of_numpy
from ..core.errors import StepwellError, UnsupportedError
from ..dialects.tir import FuncOp
from ..frontends.mlir import parse_mlir
from ..frontends.tvmscript import parse_tvmscript
from ..module import FunctionNotFoundError, Module
from ..transforms.pipelines import lower
from .inputs import InputGenerator, strided_copy
from .stepwell_opt import mistakes

TOLERANCES = {"float16": (2e-2, 2e-2), "bfloat16": (4e-2, 4e-2), "float32": (1e-4, 1e-5), "float64": (1e-9, 1e-12)}
"""rtol and atol between native code and the oracle, which round libm functions differently; integers are exact."""


def main(args: Sequence[str] | None = None) -> None:
    """Run `stepwell` with `args` (the command line's by default); exits with 1 on a mistake or a failed check."""
    sys.setrecursionlimit(20_000)
    options = _parser().parse_args(args)
    with mistakes():
        sys.exit(options.command(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stepwell", description="tensor programs, landing by landing")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="parse, lower, build and run a program on made-up inputs, and time it")
    run.set_defaults(command=run_command)
    run.add_argument("file", type=Path, metavar="FILE", help="TVMScript (.py) or MLIR (.mlir)")
    run.add_argument("--entry", metavar="NAME", help="the function to run (main, or the only one)")
    run.add_argument("--target", default="llvm", help="llvm (default) or python, the oracle itself")
    run.add_argument("--print-landings", action="store_true", help="show the program at every landing")
    run.add_argument("--check", action="store_true", help="compare with the oracle; exit with 1 when they differ")
    run.add_argument("--seed", type=int, default=0, help="of the made-up inputs")
    run.add_argument("--size", type=_size, action="append", default=[], metavar="NAME=N", help="a symbolic size")
    run.add_argument("--repeat", type=_positive, default=20, help="timed calls (default 20)")
    return parser


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier() or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected NAME=N, got {text!r}")
    return name, int(number)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


def run_command(options: argparse.Namespace) -> int:
    """The `run` command; returns the exit code."""
    module = read_program(options.file)
    entry = _entry(module, options.entry)
    func = module.functions[entry]
    if not isinstance(func, FuncOp):
        raise UnsupportedError(f"{entry}: inputs can be made up for tir functions only, got {func.name}")
    if options.print_landings:
        print_landings(module)
    arguments = InputGenerator(func, options.seed, dict(options.size)).arguments()
    print(f"{entry}({', '.join(f'{name}: {_describe(value)}' for name, value in arguments.items())})")

    expected = _copies(arguments)
    expected_result = run_oracle(module, entry, list(expected.values()))
    print("oracle: ran, nothing undefined")
    library = build(module, target=options.target)
    actual = _copies(arguments)
    result = library[entry](*actual.values())
    failures = _differences({**expected, "the result": expected_result}, {**actual, "the result": result})
    for failure in failures:
        print(f"{options.target}: {failure}")
    if not failures:
        print(f"{options.target}: computes what the oracle computes")
    _time(options.target, lambda: library[entry](*actual.values()), options.repeat)
    return 1 if failures and options.check else 0


def read_program(path: Path) -> Module:
    """The module in a TVMScript or MLIR file. Raises `ParseError`, OSError."""
    text = path.read_text(encoding="utf-8", errors="replace")
    parse = parse_mlir if path.suffix == ".mlir" else parse_tvmscript
    module = parse(text, filename=str(path))
    module.verify()
    return module


def _entry(module: Module, name: str | None) -> str:
    names = list(module.functions)
    if name is None:
        if "main" in names:
            return "main"
        if len(names) == 1:
            return names[0]
        raise StepwellError(f"which function? --entry one of {', '.join(names) or '(there is none)'}")
    if name not in names:
        raise FunctionNotFoundError(f"no function {name!r} (has: {', '.join(names)})")
    return name


def print_landings(module: Module) -> None:
    """Print the program as TVMScript, then behind every pass that changes it, down to LLVM IR."""
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
    lowered = lower(module, after=lambda name, left: show(f"after {name}", str(left)))
    show("LLVM IR", build(lowered).source("llvm"))


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{dtype_of_numpy(value.dtype)}[{', '.join(map(str, value.shape))}]"
    return str(value)


def _copies(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with arrays of their own, laid out as the originals."""

    def copy(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return strided_copy(value, [s // value.itemsize for s in value.strides])

    return {name: copy(value) for name, value in arguments.items()}


def _differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """A line for each value that is not what it should be."""
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
