"""Compares programs with default schedules for processors with numpy and torch.

The programs are TVMScript without a schedule, and operators of `relay`. Stepwell and its peers run in turn, in one
process for each number of threads, on the same arrays; the table shows the medians of their times, and the median of
the ratios of paired runs to the fastest peer (above 1, Stepwell is ahead). Peers that are not installed are omitted.

    python benchmarks/cpu.py [--runs N] [--threads 1,2] [--only NAME,...]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import Call, describe_package, environment_of, machine, median_ratio, times_in_turn

import stepwell
from stepwell import relay
from stepwell.core.cpu import host_cpu

TARGET = "llvm -fast-math-contract=1"
PAUSE = 0.05
"""The seconds in which the threads of a peer fall asleep."""


@dataclass(frozen=True)
class Case:
    """A computation.

    shapes, result: of the inputs and of the output.  ours: binds our program to them.  numpy, torch: the calls of the
    peers on the same memory.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    ours: Callable[..., Call]
    numpy: Callable[..., Any]
    torch: Callable[..., Any]


def _script(text: str) -> Callable[..., Call]:
    def bind(*arrays: Any) -> Call:
        return stepwell.build(stepwell.parse_tvmscript(text), target=TARGET)["main"].bind(*arrays)

    return bind


def _graph(build: Callable[..., Any]) -> Callable[..., Call]:
    def bind(*arrays: Any) -> Call:
        inputs = [relay.var(f"x{n}", shape=array.shape) for n, array in enumerate(arrays[:-1])]
        module = relay.module(relay.Function(inputs, build(*inputs)))
        graph = stepwell.build_graph(module, target=TARGET)
        workspace = [np.empty(graph.workspace, "uint8")] if graph.workspace else []
        return graph.program["main"].bind(*arrays, *workspace)

    return bind


def _product(rows: int, columns: int, length: int, *, is_known: bool = True) -> Case:
    """is_known: whether the program has the number of rows; otherwise the call has it."""
    extent = str(rows) if is_known else "n"
    text = f"""
@T.prim_func
def main(a: T.handle, B: T.Buffer(({length}, {columns}), "float32"), c: T.handle):
    T.func_attr({{"tir.noalias": True}})
    n = T.int64()
    A = T.match_buffer(a, ({extent}, {length}), "float32")
    C = T.match_buffer(c, ({extent}, {columns}), "float32")
    for i, j, k in T.grid({extent}, {columns}, {length}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    return Case(
        f"matmul {'' if is_known else 'n='}{rows}x{columns}x{length}",
        ((rows, length), (length, columns)),
        (rows, columns),
        _script(text),
        lambda a, b, out: np.matmul(a, b, out=out),
        lambda torch, a, b, out: torch.matmul(a, b, out=out),
    )


def _attention(heads: int, rows: int, width: int) -> Case:
    """The attention of a number of heads, with as many keys as queries."""

    def of_relay(q: Any, k: Any, v: Any) -> Any:
        scores = relay.nn.batch_matmul(q, k) * relay.const(width**-0.5)
        return relay.nn.batch_matmul(relay.nn.softmax(scores), v, transpose_b=False)

    def of_numpy(q: Any, k: Any, v: Any, out: Any) -> None:
        scores = np.matmul(q, k.transpose(0, 2, 1)) * np.float32(width**-0.5)
        np.exp(scores - scores.max(2, keepdims=True), out=scores)
        np.matmul(scores / scores.sum(2, keepdims=True), v, out=out)

    def of_torch(torch: Any, q: Any, k: Any, v: Any, out: Any) -> None:
        operands = (each.unsqueeze(0) for each in (q, k, v))  # of rank 4, for its kernel of attention
        out.copy_(torch.nn.functional.scaled_dot_product_attention(*operands)[0])

    shape = heads, rows, width
    return Case(f"attention {heads}x{rows}x{width}", (shape,) * 3, shape, _graph(of_relay), of_numpy, of_torch)


def _softmax_of_numpy(x: Any, out: Any) -> None:
    np.subtract(x, x.max(1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(1, keepdims=True), out=out)


def _relu_of_numpy(a: Any, b: Any, c: Any, out: Any) -> None:
    np.multiply(a, b, out=out)
    np.add(out, c, out=out)
    np.maximum(out, 0, out=out)


def _cases() -> Iterator[Case]:
    for size in (64, 256, 512, 1024, 2048):
        yield _product(size, size, size)
    for sizes in ((127, 255, 511), (1000, 300, 700), (1, 1024, 1024), (16, 1024, 1024), (1024, 16, 1024)):
        yield _product(*sizes)
    for rows in (1, 2, 7, 100):
        yield _product(rows, 512, 512, is_known=False)
    yield Case(
        "batch_matmul 16x128x128x64",
        ((16, 128, 64), (16, 128, 64)),
        (16, 128, 128),
        _graph(relay.nn.batch_matmul),
        lambda a, b, out: np.matmul(a, b.transpose(0, 2, 1), out=out),
        lambda torch, a, b, out: torch.bmm(a, b.transpose(1, 2), out=out),
    )
    for rows in (128, 512, 1024, 2048):
        yield _attention(8, rows, 64)
    yield Case(
        "softmax 4096x1024",
        ((4096, 1024),),
        (4096, 1024),
        _graph(lambda x: relay.nn.softmax(x, axis=1)),
        _softmax_of_numpy,
        lambda torch, x, out: torch.softmax(x, 1, out=out),
    )
    yield Case(
        "relu(a*b+c) 1M",
        ((1 << 20,),) * 3,
        (1 << 20,),
        _graph(lambda a, b, c: relay.nn.relu(a * b + c)),
        _relu_of_numpy,
        lambda torch, a, b, c, out: torch.relu_(torch.addcmul(c, a, b, out=out)),
    )
    for axis, name in ((1, "rows"), (0, "columns")):
        yield Case(
            f"sum of {name} 1024x1024",
            ((1024, 1024),),
            (1024,),
            _graph(lambda x, axis=axis: relay.sum(x, axis=axis)),
            lambda x, out, axis=axis: np.sum(x, axis=axis, out=out),
            lambda torch, x, out, axis=axis: torch.sum(x, axis, out=out),
        )
    yield Case(
        "transpose 2048",
        ((2048, 2048),),
        (2048, 2048),
        _graph(lambda x: relay.transpose(x)),
        lambda x, out: np.copyto(out, x.T),
        lambda torch, x, out: out.copy_(x.T),
    )


def _peers(case: Case, arrays: list[Any], threads: int) -> dict[str, Call]:
    peers: dict[str, Call] = {"numpy": lambda: case.numpy(*arrays)}
    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(array) for array in arrays]
        peers["torch"] = lambda: case.torch(torch, *tensors)
    return peers


def _compare(case: Case, runs: int, threads: int) -> str:
    """The line of a case, after a comparison of the results."""
    random = np.random.default_rng(0)
    arrays = [random.uniform(0, 1, shape).astype(np.float32) for shape in (*case.shapes, case.result)]
    ours, peers = case.ours(*arrays), _peers(case, arrays, threads)
    ours()
    result = arrays[-1].copy()
    peers["numpy"]()
    np.testing.assert_allclose(result, arrays[-1], rtol=1e-3, atol=1e-5)
    taken, *others = times_in_turn([ours, *peers.values()], runs, PAUSE if threads > 1 else 0.0)
    ratios = {name: median_ratio(taken, each) for name, each in zip(peers, others, strict=True)}
    best = min(ratios, key=ratios.__getitem__)
    peer = statistics.median(others[list(peers).index(best)])
    columns = f"{statistics.median(taken) * 1e6:12.1f} | {best} | {peer * 1e6:12.1f} | {ratios[best]:8.2f} |"
    return f"| {case.name} | {threads} | {columns}"


def _print_table(options: argparse.Namespace) -> None:
    """Prints the head of the table, and the rows of a new process for each number of threads."""
    print(f"{machine()}; {host_cpu()}")
    print(f"\n{', '.join(map(describe_package, ('stepwell', 'numpy', 'torch')))}; `{' '.join(sys.argv)}`\n")
    print("| case | threads | ours us | best peer | peer us | ratio |\n|---|--:|--:|---|--:|--:|", flush=True)
    for threads in options.threads.split(","):
        arguments = [sys.executable, __file__, "--child", threads, "--runs", str(options.runs), "--only", options.only]
        subprocess.run(arguments, env=os.environ | environment_of(int(threads)), check=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=30, help="how often to run each")
    arguments.add_argument("--threads", default="1,2", help="the numbers of threads")
    arguments.add_argument("--only", default="", help="the beginnings of names of cases, separated by commas")
    arguments.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child is None:
        _print_table(options)
        return
    for case in _cases():
        if case.name.startswith(tuple(options.only.split(","))):
            print(_compare(case, options.runs, options.child), flush=True)


if __name__ == "__main__":
    main()
