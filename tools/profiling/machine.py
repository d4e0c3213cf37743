"""The limits of this machine: arithmetic and memory bandwidth, measured by programs of Stepwell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends.build import build
from ...backends.runtime.memory import empty_array
from ...core.processors import threads
from ...frontends.tvmscript import parse_tvmscript

CONTRACTED = "llvm -fast-math-contract=1"
"""The target with an instruction for a product and a sum."""
_LANES = (4, 8, 16)
"""The floats of a register, of Neon, AVX2 and AVX-512: the fastest vectors are those of this processor."""
_SUMS = 12
"""The vectors of sums: more than multiplications and additions in flight, and with the factors fewer than registers."""
_STEPS = 100_000
_FLOATS = 1 << 25
"""The elements of an array for bandwidth: 128 MiB, more than caches have."""
_REPEATS = 7

_ARITHMETIC = """
@T.prim_func
def main(X: T.Buffer(({lanes},), "float32"), Y: T.Buffer(({threads}, {sums}, {lanes}), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for t in T.parallel({threads}):
        S = T.alloc_buffer(({sums}, {lanes}), "float32")
        for u in T.unroll({sums}):
            for i in T.vectorized({lanes}):
                S[u, i] = T.float32(0)
        for _ in range({steps}):
            for u in T.unroll({sums}):
                for i in T.vectorized({lanes}):
                    S[u, i] = S[u, i] * X[i] + X[i]
        for u in T.unroll({sums}):
            for i in T.vectorized({lanes}):
                Y[t, u, i] = S[u, i]
"""
_READ = """
@T.prim_func
def main(X: T.Buffer(({threads}, {part}, 64), "float32"), Y: T.Buffer(({threads}, 64), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for t in T.parallel({threads}):
        S = T.alloc_buffer((64,), "float32")
        for i in T.vectorized(64):
            S[i] = T.float32(0)
        for k in range({part}):
            for i in T.vectorized(64):
                S[i] = S[i] + X[t, k, i]
        for i in T.vectorized(64):
            Y[t, i] = S[i]
"""
_COPY = """
@T.prim_func
def main(X: T.Buffer(({threads}, {part}, 64), "float32"), Y: T.Buffer(({threads}, {part}, 64), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for t in T.parallel({threads}):
        for k in range({part}):
            for i in T.vectorized(64):
                Y[t, k, i] = X[t, k, i]
"""


@dataclass(frozen=True)
class MachineLimits:
    """The limits of a number of threads together. operations: of float32 in a second, with products that are summed in
    one instruction.  bandwidth: the bytes in a second between the processor and memory."""

    threads: int
    operations: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The operations for each byte from which on arithmetic is the limit."""
        return self.operations / self.bandwidth

    def limit(self, intensity: float) -> float:
        """The operations in a second that a kernel with this number of operations for each byte can reach."""
        return min(self.operations, intensity * self.bandwidth)


def measure_limits(count: int) -> MachineLimits:
    """Measures the limits of a number of threads, in some seconds."""
    with threads(count):
        return MachineLimits(count, max(_arithmetic(count, lanes) for lanes in _LANES), _bandwidth(count))


def _arithmetic(count: int, lanes: int) -> float:
    """The operations in a second with vectors of some lanes."""
    text = _ARITHMETIC.format(threads=count, lanes=lanes, sums=_SUMS, steps=_STEPS)
    x, y = np.full(lanes, 0.5, "float32"), np.empty((count, _SUMS, lanes), "float32")
    return 2 * count * _SUMS * lanes * _STEPS / _least_time(text, x, y)


def _bandwidth(count: int) -> float:
    """The bytes in a second: the most of those that are read, and those that are copied."""
    part = _FLOATS // (64 * count)
    x, y = (empty_array((count, part, 64), np.dtype("float32"), "a measurement") for _ in range(2))
    x[...] = 1
    sums = np.empty((count, 64), "float32")
    read = x.nbytes / _least_time(_READ.format(threads=count, part=part), x, sums)
    return max(read, 2 * x.nbytes / _least_time(_COPY.format(threads=count, part=part), x, y))


def _least_time(text: str, *arrays: np.ndarray[Any, Any]) -> float:
    """The least time of a call in seconds: a limit is reached without interruptions."""
    program = build(parse_tvmscript(text), target=CONTRACTED)
    return min(program["main"].time_evaluator(number=1, repeat=_REPEATS)(*arrays).results)
