"""Compares native code for single kernels with numpy, torch and numba, on one thread.

The programs are operators of `relay` without a schedule, and matrix products in tiles, by the primitives of `Schedule`
or written out in TVMScript. Stepwell and its peers run in turn, in one process, on the same arrays; the table shows the
medians of their times, and the median of the ratios of paired runs to the fastest peer (above 1, Stepwell is ahead).
Peers that are not installed are omitted.

    python benchmarks/codegen.py [--runs N] [--only NAME,...]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("STEPWELL", "OMP", "OPENBLAS", "MKL")}

import numpy as np
from measuring import Call, describe_package, machine, median_ratio, times_in_turn

import stepwell
from stepwell.backends.graph import build_graph
from stepwell.frontends import relay

M = 1 << 20
Calls = tuple[Call, dict[str, Call]]
"""Our call, and the calls of the peers by name."""


@dataclass(frozen=True)
class Case:
    """A kernel. make: returns our call and the calls of the peers, which all compute the same.

    unit, work: the unit of the rate in the table, and the work of one call in this unit, in billions.
    """

    name: str
    unit: str
    work: float
    make: Callable[[], Calls]


def _random(*shape: int, low: float = 0.0, high: float = 1.0) -> Any:
    return np.random.default_rng(0).uniform(low, high, shape).astype(np.float32)


def _graph(build: Callable[..., Any], arrays: list[Any], out: Any) -> Call:
    """The kernel of an expression in relay, bound to arrays."""
    inputs = [relay.var(f"x{n}", shape=array.shape) for n, array in enumerate(arrays)]
    mod = relay.module(relay.Function(inputs, build(*inputs)))
    return build_graph(mod, target=TARGET).program["main"].bind(*arrays, out)


TARGET = "llvm -fast-math-contract=1"


def _torch(function: Callable[..., Any], *arrays: Any) -> dict[str, Call]:
    """The call of a function with torch and tensors on the same memory, if torch is installed."""
    if find_spec("torch") is None:
        return {}
    import torch

    torch.set_num_threads(1)
    tensors = [torch.from_numpy(array) for array in arrays]
    return {"torch": lambda: function(torch, *tensors)}


# Operators


def _relu_of_sum() -> Calls:
    a, b, c, out = (_random(16 * M) for _ in range(4))

    def of_numpy() -> None:
        np.multiply(a, b, out=out)
        np.add(out, c, out=out)
        np.maximum(out, 0, out=out)

    def of_torch(torch: Any, a: Any, b: Any, c: Any, out: Any) -> None:
        torch.addcmul(c, a, b, out=out)
        torch.relu_(out)

    ours = _graph(lambda a, b, c: relay.nn.relu(a * b + c), [a, b, c], out)
    return ours, {"numpy": of_numpy, **_numba_relu(a, b, c, out), **_torch(of_torch, a, b, c, out)}


def _numba_relu(a: Any, b: Any, c: Any, out: Any) -> dict[str, Call]:
    if find_spec("numba") is None:
        return {}
    import numba

    @numba.njit(fastmath=True)
    def kernel(a: Any, b: Any, c: Any, out: Any) -> None:
        for i in range(a.size):
            out[i] = max(a[i] * b[i] + c[i], np.float32(0))

    return {"numba": lambda: kernel(a, b, c, out)}


def _elementwise() -> Calls:
    a, b, out = (_random(1 << 15) for _ in range(3))
    ours = _graph(lambda a, b: a + b, [a, b], out)
    peers = {"numpy": lambda: np.add(a, b, out=out)}
    return ours, peers | _torch(lambda torch, a, b, out: torch.add(a, b, out=out), a, b, out)


def _broadcast() -> Calls:
    a, b, out = _random(256, 256), _random(256), _random(256, 256)
    ours = _graph(lambda a, b: a * b, [a, b], out)
    peers = {"numpy": lambda: np.multiply(a, b, out=out)}
    return ours, peers | _torch(lambda torch, a, b, out: torch.mul(a, b, out=out), a, b, out)


def _reduction(name: str) -> Callable[[], Calls]:
    def make() -> Calls:
        a, out = _random(4 * M), _random(1)[0:1].reshape(())
        reduce = getattr(relay, name)
        ours = _graph(lambda a: reduce(a), [a], out)
        peers = {"numpy": lambda: getattr(np, name)(a)}
        return ours, peers | _torch(lambda torch, a: getattr(torch, name)(a), a)

    return make


def _dot() -> Calls:
    a, b, out = _random(4 * M), _random(4 * M), np.zeros((), np.float32)
    ours = _graph(lambda a, b: relay.sum(a * b), [a, b], out)
    return ours, {"numpy": lambda: np.dot(a, b), **_torch(lambda torch, a, b: torch.dot(a, b), a, b)}


def _function(name: str, low: float, high: float, *, numpy: bool = True) -> Callable[[], Calls]:
    def make() -> Calls:
        a, out = _random(M, low=low, high=high), _random(M)
        ours = _graph(getattr(relay, name), [a], out)
        peers: dict[str, Call] = {"numpy": lambda: getattr(np, name)(a, out=out)} if numpy else {}
        return ours, peers | _torch(lambda torch, a, out: getattr(torch, name)(a, out=out), a, out)

    return make


def _softmax() -> Calls:
    a, out = _random(4096, 1024, low=-4, high=4), _random(4096, 1024)

    def of_numpy() -> None:
        np.subtract(a, a.max(1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(1, keepdims=True), out=out)

    ours = _graph(lambda a: relay.nn.softmax(a, axis=1), [a], out)
    return ours, {"numpy": of_numpy, **_torch(lambda torch, a, out: torch.softmax(a, 1, out=out), a, out)}


def _transpose() -> Calls:
    a, out = _random(2048, 2048), _random(2048, 2048)
    ours = _graph(lambda a: relay.transpose(a), [a], out)
    peers = {"numpy": lambda: np.copyto(out, a.T)}
    return ours, peers | _torch(lambda torch, a, out: out.copy_(a.T), a, out)


# Matrix products


def _product(rows: int, columns: int, length: int) -> stepwell.Module:
    return stepwell.parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {length}), "float32"), B: T.Buffer(({length}, {columns}), "float32"),
         C: T.Buffer(({rows}, {columns}), "float32")):
    for i, j, k in T.grid({rows}, {columns}, {length}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


def _scheduled(rows: int, columns: int, length: int) -> stepwell.Module:
    """The product in tiles of 6 x 64 whose sums stay in registers; the columns of B for a tile are contiguous."""
    height, width = 6, 64
    sch = stepwell.Schedule(_product(rows, columns, length))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_outer, i_inner = sch.split(i, [None, height])
    j_outer, j_inner = sch.split(j, [None, width])
    sch.reorder(j_outer, i_outer, k, i_inner, j_inner)
    tile = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(tile, i_outer)
    panel = sch.cache_read(block, 1, "global")
    sch.compute_at(panel, j_outer)
    init = sch.decompose_reduction(block, k)
    for each in (init, block, tile):
        *_, row, column = sch.get_loops(each)
        parts, lanes = sch.split(column, [None, 16])
        sch.unroll(row)
        sch.unroll(parts)
        sch.vectorize(lanes)
    sch.vectorize(sch.split(sch.get_loops(panel)[-1], [None, 16])[1])
    return sch.mod


def _written(rows: int, columns: int, length: int) -> stepwell.Module:
    """The same tiles, written in TVMScript. Predicates exclude the rows and columns of the last tiles that do not
    exist."""
    return stepwell.parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {length}), "float32"), B: T.Buffer(({length}, {columns}), "float32"),
         C: T.Buffer(({rows}, {columns}), "float32")):
    for j in range({-(-columns // 64)}):
        panel = T.alloc_buffer(({length}, 64))
        for k in range({length}):
            for p in T.unroll(4):
                for v in T.vectorized(16):
                    if j * 64 + p * 16 + v < {columns}:
                        panel[k, p * 16 + v] = B[k, j * 64 + p * 16 + v]
        for i in range({-(-rows // 6)}):
            sums = T.alloc_buffer((6, 64))
            for r in T.unroll(6):
                for p in T.unroll(4):
                    for v in T.vectorized(16):
                        sums[r, p * 16 + v] = 0.0
            for k in range({length}):
                for r in T.unroll(6):
                    for p in T.unroll(4):
                        for v in T.vectorized(16):
                            if i * 6 + r < {rows} and j * 64 + p * 16 + v < {columns}:
                                sums[r, p * 16 + v] += A[i * 6 + r, k] * panel[k, p * 16 + v]
            for r in T.unroll(6):
                for p in T.unroll(4):
                    for v in T.vectorized(16):
                        if i * 6 + r < {rows} and j * 64 + p * 16 + v < {columns}:
                            C[i * 6 + r, j * 64 + p * 16 + v] = sums[r, p * 16 + v]
""")


def _matmul(make: Callable[[int, int, int], stepwell.Module], *sizes: int) -> Callable[[], Calls]:
    def compare() -> Calls:
        rows, columns, length = sizes
        a, b, out = _random(rows, length), _random(length, columns), _random(rows, columns)
        ours = stepwell.build(make(*sizes), target=TARGET)["main"].bind(a, b, out)
        ours()
        np.testing.assert_allclose(out, a @ b, rtol=1e-4)
        return ours, {"numpy": lambda: np.matmul(a, b, out=out)}

    return compare


def _cases() -> Iterator[Case]:
    yield Case("relu(a*b+c) 16M", "GB/s", 16 * M * 16 / 1e9, _relu_of_sum)
    yield Case("a+b 32K", "Gelem/s", (1 << 15) / 1e9, _elementwise)
    yield Case("a*b 256x256 by 256", "Gelem/s", (1 << 16) / 1e9, _broadcast)
    for name in ("sum", "max", "mean"):
        yield Case(f"{name} 4M", "GB/s", 16 * M / 1e9, _reduction(name))
    yield Case("dot 4M", "GB/s", 32 * M / 1e9, _dot)
    for name, low, high in (("exp", -10, 10), ("log", 0.001, 1000), ("tanh", -4, 4), ("sin", -10, 10)):
        yield Case(f"{name} 1M", "Gelem/s", M / 1e9, _function(name, low, high))
    yield Case("erf 1M", "Gelem/s", M / 1e9, _function("erf", -3, 3, numpy=False))
    yield Case("softmax 4096x1024", "Gelem/s", 4 * M / 1e9, _softmax)
    yield Case("transpose 2048", "GB/s", 32 * M / 1e9, _transpose)
    for name, make in (("schedule", _scheduled), ("tiles", _written)):
        for sizes in ((1024, 1024, 1024), (127, 255, 511)):
            text = "x".join(map(str, sizes))
            yield Case(f"{name} {text}", "GFLOP/s", 2 * np.prod(sizes) / 1e9, _matmul(make, *sizes))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=30, help="how often to run each")
    arguments.add_argument("--only", default="", help="the beginnings of names of kernels, separated by commas")
    options = arguments.parse_args()
    print(f"# {machine()}")
    print(f"# {', '.join(map(describe_package, ('stepwell', 'numpy', 'torch', 'numba')))}; {' '.join(sys.argv)}")
    print(f"{'kernel':24}{'ours us':>12}{'rate':>10} {'unit':8}{'best peer':>12}{'peer us':>12}{'ratio':>8}")
    for case in _cases():
        if not case.name.startswith(tuple(options.only.split(","))):
            continue
        ours, peers = case.make()
        taken, *others = times_in_turn([ours, *peers.values()], options.runs)
        time = statistics.median(taken)
        ratios = {name: median_ratio(taken, each) for name, each in zip(peers, others, strict=True)}
        line = f"{case.name:24}{time * 1e6:12.1f}{case.work / time:10.2f} {case.unit:8}"
        if ratios:
            best = min(ratios, key=ratios.__getitem__)
            peer = statistics.median(others[list(peers).index(best)])
            line += f"{best:>12}{peer * 1e6:12.1f}{ratios[best]:8.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
