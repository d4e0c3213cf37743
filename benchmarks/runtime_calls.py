"""The part `calls` of runtime.py: the nanoseconds of a call. The batches of all calls take turns."""

from __future__ import annotations

import argparse
import ctypes
import statistics
import timeit
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

import stepwell
from stepwell import GraphExecutor, build_graph, relay
from stepwell.backends.llvm.compile import compile_native
from stepwell.backends.llvm.engine import NativeModule, Processor
from stepwell.backends.llvm.linking import DISCARD_WORKSPACE, entry_name
from stepwell.transforms.pipelines import lower

TEXT = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle{parameters}):
    T.func_attr({{"tir.noalias": True}}){declarations}
    A = T.match_buffer(a, ({size},), "float32")
    B = T.match_buffer(b, ({size},), "float32")
    C = T.match_buffer(c, ({size},), "float32")
    for i in range({size}):
        C[i] = {value}
"""
BATCH = 0.02  # seconds


def program(size: str = "8", parameters: str = "", declarations: str = "", value: str = "A[i] + B[i]") -> Any:
    text = TEXT.format(size=size, parameters=parameters, declarations=declarations, value=value)
    return stepwell.parse_tvmscript(text)


def ctypes_call(arrays: list[Any]) -> tuple[Callable[[], Any], object]:
    """A call of the entry point by ctypes, with an array of slots that is filled once, and the owner of the code."""
    code, _ = compile_native(lower(program()).op, target=Processor.host(), callables=False)
    native = NativeModule(code.images, [entry_name("main"), DISCARD_WORKSPACE], code.externals, {})
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(native.address(entry_name("main")))
    slots = (ctypes.c_int64 * 3)(*(array.ctypes.data for array in arrays))
    return lambda: entry(slots), (native, slots)


def graph_of_ten_kernels() -> GraphExecutor:
    """An executor of ten operators on 8 elements, without fusion, whose input is set."""
    x = result = relay.var("x", shape=(8,))
    for n in range(10):
        result = relay.tanh(result) if n % 2 else result + x
    executor = GraphExecutor(build_graph(relay.module(relay.Function([x], result)), opt_level=0))
    assert len(executor.executable.calls) == 10
    executor.run(x=np.ones(8, np.float32))
    return executor


def calls(options: argparse.Namespace) -> None:
    """Prints the nanoseconds of calls."""
    a, b, c = (np.ones(8, np.float32) for _ in range(3))
    lib = stepwell.build(program())
    scaled = stepwell.build(program(parameters=", s: T.float32, k: T.int32", value="A[i] * s + T.float32(k)"))["main"]
    symbolic = stepwell.build(program(size="n", declarations="\n    n = T.int32()"))["main"]
    by_ctypes, owner = ctypes_call([a, b, c])
    executor = graph_of_ten_kernels()
    names: dict[str, Any] = {
        "lib": lib, "main": lib["main"], "bound": lib["main"].bind(a, b, c), "scaled": scaled, "symbolic": symbolic,
        "by_ctypes": by_ctypes, "run": executor.run, "np": np, "a": a, "b": b, "c": c,
    }  # fmt: skip
    rows = {
        "main(a, b, c)": "main(a, b, c)",
        "lib(a, b, c)": "lib(a, b, c)",
        'lib["main"](a, b, c)': 'lib["main"](a, b, c)',
        "bound to its arguments": "bound()",
        "with a float and an int": "scaled(a, b, c, 2.0, 3)",
        "with a symbolic extent": "symbolic(a, b, c)",
        "ctypes, slots filled once": "by_ctypes()",
        "a graph of ten kernels": "run()",
        "numpy.add(a, b, out=c)": "np.add(a, b, out=c)",
    }
    print(f"{'call':30}{'ns':>10}")
    print_medians(rows, names, options.runs)
    if find_spec("torch") is not None:
        # lazy: torch is optional, and its import takes a second
        import torch

        torch.set_num_threads(1)
        names |= {"torch": torch, "x": torch.ones(8), "y": torch.ones(8), "z": torch.ones(8)}
        rows = {"tensors of torch (DLPack)": "main(x, y, z)", "torch.add(x, y, out=z)": "torch.add(x, y, out=z)"}
        print_medians({"main(a, b, c) beside torch": "main(a, b, c)", **rows}, names, options.runs)
    del owner


def print_medians(statements: Mapping[str, str], names: dict[str, Any], runs: int) -> None:
    for row, seconds in medians(statements, names, runs).items():
        print(f"{row:30}{seconds * 1e9:10.0f}", flush=True)


def medians(statements: Mapping[str, str], names: dict[str, Any], runs: int) -> dict[str, float]:
    """The median of the seconds of each statement in batches in turn, less those of an empty statement."""
    timers = {row: timeit.Timer(statement, globals=names) for row, statement in {"": "pass", **statements}.items()}
    counts = {row: max(1, int(BATCH / (timer.timeit(100) / 100))) for row, timer in timers.items()}
    times: dict[str, list[float]] = {row: [] for row in timers}
    for _ in range(runs):
        for row, timer in timers.items():
            times[row].append(timer.timeit(counts[row]) / counts[row])
    empty = statistics.median(times.pop(""))
    return {row: statistics.median(each) - empty for row, each in times.items()}
