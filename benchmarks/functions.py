"""Compares the formulas of `expand-math` with calls of the C library and with numpy, on 1M elements and one thread.

Each function runs in a loop over vectors that fill a register, as arithmetic and as a call for each element, and as the
function of numpy; all run in turn, and the table shows medians.

    python benchmarks/functions.py [--runs N] [--type f32|f64] [--target PROCESSOR] [--lanes N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import describe_package, machine, times_in_turn
from xdsl.context import Context

from stepwell.backends.llvm.compile import compile_module
from stepwell.backends.llvm.engine import Processor
from stepwell.backends.runtime.program import CompiledFunction
from stepwell.core.cpu import cpu_of
from stepwell.core.target import Target
from stepwell.tools.testing.functions import elementwise_program
from stepwell.transforms.upstream.expand_math import ExpandMathPass

FUNCTIONS: dict[str, tuple[float, float, Callable[..., Any] | None]] = {
    "exp": (-10, 10, np.exp), "exp2": (-10, 10, np.exp2), "expm1": (-10, 10, np.expm1), "sinh": (-10, 10, np.sinh),
    "cosh": (-10, 10, np.cosh), "tanh": (-4, 4, np.tanh), "log": (0.001, 1000, np.log), "log2": (0.001, 1000, np.log2),
    "log10": (0.001, 1000, np.log10), "log1p": (-0.9, 1000, np.log1p), "sin": (-10, 10, np.sin),
    "cos": (-10, 10, np.cos), "tan": (-10, 10, np.tan), "asin": (-1, 1, np.arcsin), "acos": (-1, 1, np.arccos),
    "atan": (-10, 10, np.arctan), "atan2": (-5, 5, np.arctan2), "asinh": (-10, 10, np.arcsinh),
    "acosh": (1, 20, np.arccosh), "atanh": (-1, 1, np.arctanh), "cbrt": (-100, 100, np.cbrt),
    "powf": (0.01, 10, np.power), "erf": (-3, 3, None),
}  # fmt: skip
"""The interval of the arguments, and the function of numpy, by the name of the operation."""

OF_TWO = ("atan2", "powf")
SIZE = 1 << 20


def program(name: str, kind: str, lanes: int, target: Target, expand: bool) -> CompiledFunction:
    module = elementwise_program(name, kind, lanes, 2 if name in OF_TWO else 1)
    if expand:
        ExpandMathPass(fma=cpu_of(target).fma).apply(Context(), module.op)
    return compile_module(module.op, target=Processor.of(target))["main"]


def compare(name: str, kind: str, lanes: int, target: Target, runs: int) -> list[float]:
    """The medians of the times of the formula, of the C library and of numpy, in milliseconds."""
    low, high, of_numpy = FUNCTIONS[name]
    rng, dtype = np.random.default_rng(0), {"f32": np.float32, "f64": np.float64}[kind]
    arrays = [rng.uniform(low, high, SIZE).astype(dtype) for _ in range(2 if name in OF_TWO else 1)]
    out = np.empty(SIZE, dtype)
    formula, library = (program(name, kind, lanes, target, expand).bind(*arrays, out) for expand in (True, False))
    calls = [formula, library]
    if of_numpy is not None:
        calls.append(lambda: of_numpy(*arrays, out=out))
    return [statistics.median(times) * 1e3 for times in times_in_turn(calls, runs)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=20, help="how often to run each")
    arguments.add_argument("--type", choices=("f32", "f64"), default="f64")
    arguments.add_argument("--target", help="the name of a processor of LLVM, by default the host")
    arguments.add_argument("--lanes", type=int, help="of a vector, by default those of a register of 512 bits")
    options = arguments.parse_args()
    target = Target(mcpu=options.target or "")
    lanes = options.lanes or (16 if options.type == "f32" else 8)
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, ('stepwell', 'numpy')))}; {' '.join(sys.argv)}")
    print(f"{'function':10}{'formula ms':>12}{'C library ms':>14}{'numpy ms':>10}{'to C':>8}{'to numpy':>10}")
    for name in FUNCTIONS:
        formula, library, *others = compare(name, options.type, lanes, target, options.runs)
        line = f"{name:10}{formula:12.2f}{library:14.2f}"
        numpy, ratio = (f"{others[0]:.2f}", f"{others[0] / formula:.2f}") if others else ("", "")
        print(f"{line}{numpy:>10}{library / formula:8.1f}{ratio:>10}", flush=True)


if __name__ == "__main__":
    main()
