"""Compares the time of matrix products with generated code, with `-libs=cblas` and with numpy, on one thread.

The three run in turn on the same arrays; the table shows medians.

    python benchmarks/blas.py [--runs N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("STEPWELL", "OMP", "OPENBLAS")}

import numpy as np
from measuring import machine, times_in_turn

from stepwell.backends.graph import build_graph
from stepwell.frontends import relay

SIZES = ((1, 4096, 4096), (128, 1024, 1024), (512, 512, 512))
"""The rows of the data, the length of the sums, the rows of the weights."""


def _compile(m: int, k: int, n: int, target: str, arrays: list[Any]) -> Callable[[], Any]:
    x, w = relay.var("x", shape=(m, k)), relay.var("w", shape=(n, k))
    mod = relay.module(relay.Function([x, w], relay.nn.dense(x, w)))
    return build_graph(mod, target=target).program["main"].bind(*arrays)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=30, help="how often to run each")
    options = arguments.parse_args()
    print(f"# {machine()}")
    print(
        f"# stepwell {version('stepwell')}, scipy-openblas32 {version('scipy-openblas32')}, numpy {np.__version__}; "
        + " ".join(sys.argv)
    )
    print(f"{'dense m x k x n':18}{'own us':>12}{'cblas us':>12}{'numpy us':>12}{'own/cblas':>12}{'cblas/numpy':>13}")
    for m, k, n in SIZES:
        choose = np.random.default_rng(0)
        x, w, out = choose.random((m, k), "float32"), choose.random((n, k), "float32"), np.empty((m, n), "float32")
        calls = [_compile(m, k, n, target, [x, w, out]) for target in ("llvm", "llvm -libs=cblas")]
        times = times_in_turn([*calls, lambda x=x, w=w, out=out: np.matmul(x, w.T, out=out)], options.runs)
        own, blas, peer = map(statistics.median, times)
        print(
            f"{f'{m} x {k} x {n}':18}{own * 1e6:12.1f}{blas * 1e6:12.1f}{peer * 1e6:12.1f}"
            f"{own / blas:12.2f}{blas / peer:13.2f}"
        )


if __name__ == "__main__":
    main()
