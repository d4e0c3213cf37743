"""Compares Winograd's algorithm with direct convolutions, and both with the estimate that chooses between them.

    python benchmarks/convolutions.py [--runs N] [--filter REGEX]

Each case is a convolution of 3 by 3 with constant weights, bias and relu, on one thread: direct, with tiles of 2, and
with tiles of 4. The three take turns in batches of some milliseconds. The columns are the median of the direct times;
for each size of tiles the estimated gain, the median of the gains of paired batches, and the error, the largest
difference from the direct result divided by the largest result; the choice of the estimate, the fastest algorithm,
and the loss by the choice, the ratio of their times.
"""

from __future__ import annotations

import argparse
import re
import statistics
from typing import Any

import numpy as np
from measuring import machine, median_ratio, relative_error, time_of_batch

from stepwell import Module, apply_passes, relay, threads
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.core.remarks import collect_remarks
from stepwell.frontends.relay.parameters import bind_parameters

TARGET = "llvm -fast-math-contract=1"
BATCH = 0.01
"""The seconds of a batch of calls."""
CASES = [
    # images, input channels, height, width, output channels
    (1, 64, 56, 56, 64), (1, 128, 28, 28, 128), (1, 256, 14, 14, 256), (1, 512, 7, 7, 512), (1, 64, 112, 112, 64),
    (1, 32, 56, 56, 32), (1, 16, 56, 56, 16), (1, 8, 112, 112, 8), (1, 32, 16, 16, 32), (4, 256, 14, 14, 256),
    (32, 64, 7, 7, 64), (16, 16, 8, 8, 32), (1, 31, 53, 53, 37), (1, 192, 13, 13, 384), (1, 512, 28, 28, 512),
]  # fmt: skip


def module_of(case: tuple[int, ...]) -> tuple[Module, Any]:
    """A convolution with bias and relu, and an image."""
    images, inputs, height, width, outputs = case
    choose = np.random.default_rng(0)
    weight, bias, image = (
        choose.normal(size=shape).astype("float32")
        for shape in ((outputs, inputs, 3, 3), (outputs,), (images, inputs, height, width))
    )
    net = relay.nn.conv2d(relay.var("x", shape=image.shape), relay.var("w", shape=weight.shape), padding=(1, 1))
    net = relay.nn.relu(relay.nn.bias_add(net, relay.var("b", shape=bias.shape)))
    module = relay.module(relay.Function(relay.free_vars(net), net))
    return bind_parameters(module, {"w": weight, "b": bias}), image


def estimated_gain(module: Module, tile: int) -> tuple[Module, float]:
    """A convolution by Winograd's algorithm with tiles of a size, and its estimated gain."""
    with collect_remarks() as remarks:
        converted = apply_passes(module, f"relay-convert-convolutions{{tile-size={tile}}}")
    (remark,) = remarks
    found = re.search(r"estimated ([\d.]+)", remark.message)
    assert found is not None
    return converted, float(found[1])


def chosen_tile(module: Module) -> int:
    """The size of tiles that the estimate chooses; 0 for a direct convolution."""
    text = str(apply_passes(module, "relay-convert-convolutions"))
    return 0 if "winograd" not in text else 2 if "tile_size = 2" in text else 4


def executor_of(module: Module, image: Any) -> GraphExecutor:
    executor = GraphExecutor(build_graph(module, target=TARGET, winograd=False))
    executor.run(x=image)
    return executor


def measure(case: tuple[int, ...], runs: int) -> str:
    """The row of a case."""
    module, image = module_of(case)
    converted = [estimated_gain(module, tile) for tile in (2, 4)]
    chosen = chosen_tile(module)
    executors = [executor_of(each, image) for each in (module, *(each for each, _ in converted))]
    times: list[list[float]] = [[], [], []]
    for _ in range(runs):
        for executor, taken in zip(executors, times, strict=True):
            taken.append(time_of_batch(executor.run, BATCH))
    gains = [1.0, *(median_ratio(taken, times[0]) for taken in times[1:])]
    outputs = [executor.get_output(0) for executor in executors]
    columns = [
        f"{estimate:10.2f}{gain:10.2f}{relative_error(output, outputs[0]):10.1e}"
        for (_, estimate), gain, output in zip(converted, gains[1:], outputs[1:], strict=True)
    ]
    fastest = (0, 2, 4)[gains.index(max(gains))]
    loss = max(gains) / gains[(0, 2, 4).index(chosen)]
    name = "x".join(map(str, case))
    return f"{name:20}{statistics.median(times[0]) * 1e6:10.0f}{''.join(columns)}{chosen:8}{fastest:8}{loss:8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--filter", default="", help="a regular expression for cases, as 1x64x56")
    options = parser.parse_args()
    print(f"# {machine()}")
    print(f"{'n, c, h, w, k':20}{'direct us':>10}{'2: est.':>10}{'gain':>10}{'error':>10}", end="")
    print(f"{'4: est.':>10}{'gain':>10}{'error':>10}{'chosen':>8}{'fastest':>8}{'loss':>8}")
    with threads(1):
        for case in CASES:
            if re.search(options.filter, "x".join(map(str, case))):
                print(measure(case, options.runs), flush=True)


if __name__ == "__main__":
    main()
