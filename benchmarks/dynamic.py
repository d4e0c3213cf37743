"""Compares operators on tensors of dynamic sizes with the same operators compiled for the sizes.

    python benchmarks/dynamic.py [--runs N] [--filter REGEX]

Each case is a graph of `relay` on one thread, with constant weights, compiled for a shape and for a shape with dynamic
extents. The two take turns in batches of some milliseconds. The columns are the medians of the microseconds of a run,
and the median of the ratios of paired batches: how many times the known sizes' time the dynamic sizes take.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import describe_package, machine, median_ratio, time_of_batch

from stepwell import relay, threads
from stepwell.backends.graph import GraphExecutor, build_graph

BATCH = 0.01
"""The seconds of a batch of calls."""
Body = Callable[[Any], Any]
"""The graph of a tensor."""


def constant(*shape: int) -> Any:
    """Random weights."""
    return relay.const(np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32))


def dense(columns: int, inner: int) -> Body:
    """A product with constant weights."""
    return lambda x: relay.nn.dense(x, constant(columns, inner))


def convolution(channels: int, inner: int, size: int, groups: int = 1) -> Body:
    """A convolution with constant weights, whose result has as many pixels."""
    weight = constant(channels, inner // groups, size, size)
    return lambda x: relay.nn.conv2d(x, weight, padding=size // 2, groups=groups)


def pooled(x: Any) -> Any:
    """The maxima of windows of 3 by 3 in steps of 2."""
    return relay.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=1)


def heads(x: Any) -> Any:
    """The heads of attention in one batch."""
    return relay.exp(relay.reshape(relay.exp(x), (-3, 0, 0)))


CASES: dict[str, tuple[tuple[int, ...], str, Body]] = {
    # the shape, a letter for each dimension (`n`: dynamic), and the graph
    **{f"dense {n}x{k} to {m}": ((n, k), "n.", dense(m, k)) for n, k, m in ((1, 768, 3072), (8, 768, 3072))},
    "dense of all rows": ((2, 64, 768), "nn.", lambda x: dense(768, 768)(relay.reshape(x, (-1, 768)))),
    "softmax of rows": ((12, 384, 384), ".n.", relay.nn.softmax),
    "softmax of any length": ((12, 384, 384), ".nn", relay.nn.softmax),
    "layer_norm": ((384, 768), "n.", lambda x: relay.nn.layer_norm(x, constant(768), constant(768))),
    "reshape of heads": ((1, 12, 384, 384), "n.nn", heads),
    "transpose": ((1, 384, 12, 64), ".n..", lambda x: relay.transpose(x, (0, 2, 1, 3))),
    "sum of columns": ((384, 768), "n.", lambda x: relay.sum(x, axis=0)),
    "mean of pixels": ((1, 64, 56, 56), "n...", lambda x: relay.mean(x, axis=(2, 3))),
    **{
        f"{name} of {kind}, {size}x{size}": ((1, 64, size, size), dims, body)
        for kind, dims in (("any number of images", "n..."), ("images of any size", "..nn"))
        for size in (14, 56)
        for name, body in (
            ("conv2d 3x3", convolution(64, 64, 3)),
            ("conv2d 1x1", convolution(64, 64, 1)),
            ("depthwise 3x3", convolution(64, 64, 3, groups=64)),
            ("max_pool2d", pooled),
        )
    },
}


def executor_of(shape: tuple[int | str, ...], body: Body) -> GraphExecutor:
    """The executor of the graph of a tensor `x`."""
    x = relay.var("x", shape=shape)
    return GraphExecutor(build_graph(relay.module(relay.Function([x], body(x)))))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=15, help="the batches of each executor")
    arguments.add_argument("--filter", default="", metavar="REGEX", help="the names of the cases")
    options = arguments.parse_args()
    print(f"# {machine()}")
    print(f"# {describe_package('stepwell')}; benchmarks/dynamic.py --runs {options.runs}")
    print(f"{'case':44}{'known us':>12}{'dynamic us':>12}{'times':>8}")
    with threads(1):
        for name, (shape, dims, body) in CASES.items():
            if re.search(options.filter, name):
                x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
                named = tuple(
                    f"n{d}" if dim == "n" else extent for d, (extent, dim) in enumerate(zip(shape, dims, strict=True))
                )
                known, dynamic = executor_of(shape, body), executor_of(named, body)
                pairs = [
                    [time_of_batch(lambda each=each: each.run(x=x), BATCH) for each in (known, dynamic)]
                    for _ in range(options.runs)
                ]
                ours, other = ([pair[n] for pair in pairs] for n in (0, 1))
                medians = [statistics.median(times) * 1e6 for times in (ours, other)]
                print(f"{name:44}{medians[0]:12.1f}{medians[1]:12.1f}{median_ratio(ours, other):8.2f}", flush=True)


if __name__ == "__main__":
    main()
