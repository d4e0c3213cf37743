"""Compares products and convolutions of quantized integers with ONNX Runtime, on one thread.

    python benchmarks/quantized.py [--rounds N] [--filter REGEX]

Each case is an ONNX model of one operator, `QLinearMatMul` or `QLinearConv`, with constant weights of int8 and data of
uint8. Both tools run in this process, in turn; the columns are the median times, the operations of ours per second, the
median of the ratios of the times in turn (above 1: ours is faster), and the elements that differ. It requires the
packages onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from typing import Any

import numpy as np
import onnxruntime
from measuring import machine
from onnx import TensorProto, helper, numpy_helper

from stepwell import threads
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.frontends.onnx import from_onnx

PRODUCTS = [(512, 512, 512), (128, 768, 3072), (1, 1024, 1024), (33, 100, 50)]
"""Rows, summands and columns."""
CONVOLUTIONS = [
    (64, 56, 64, 3, 1), (256, 14, 256, 3, 1), (512, 7, 512, 3, 1), (64, 56, 256, 1, 1), (256, 28, 512, 1, 1),
    (128, 56, 128, 3, 2), (3, 224, 64, 7, 2), (24, 30, 40, 5, 1), (16, 112, 96, 1, 1), (160, 7, 960, 1, 1),
]  # fmt: skip
"""Input channels, rows of the image, output channels, rows of the window, stride."""
DEPTHWISE = [
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1), (384, 14, 3, 1),
    (576, 14, 3, 2), (960, 7, 3, 1), (120, 28, 5, 1),
]  # fmt: skip
"""Channels, rows of the image, rows of the window, stride."""
CALLS = 5
"""The calls of a batch."""


def parameters(outputs: int) -> dict[str, Any]:
    """The scales and zero points of operands and result. outputs: the number of scales of weights."""
    scales = np.random.default_rng(2).uniform(0.005, 0.02, outputs).astype("float32")
    zeros = {"xz": np.uint8(128), "wz": np.zeros(outputs, "int8"), "yz": np.uint8(120)}
    return {"xs": np.float32(0.02), "ws": scales, "ys": np.float32(0.5), **zeros}


def model(op: str, weight: np.ndarray, shape: tuple[int, ...], outputs: int, **attributes: Any) -> Any:
    """A model of one operator. shape: of the data.  outputs: the rows, or output channels, of the weight."""
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    constants = {"w": weight, **parameters(outputs)}
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def cases() -> dict[str, tuple[Any, tuple[int, ...], int]]:
    """By name a model, the shape of its data, and its operations."""
    choose, made = np.random.default_rng(1), dict[str, tuple[Any, tuple[int, ...], int]]()
    for rows, inner, columns in PRODUCTS:
        weight = choose.integers(-127, 128, (inner, columns)).astype("int8")
        made[f"product {rows}x{inner}x{columns}"] = (
            model("QLinearMatMul", weight, (rows, inner), columns), (rows, inner), 2 * rows * inner * columns,
        )  # fmt: skip
    for inputs, image, outputs, window, stride in CONVOLUTIONS:
        name = f"conv {inputs}x{image}x{image} to {outputs}, {window}x{window}/{stride}"
        made[name] = convolution((inputs, image, outputs, window, stride), 1)
    for channels, image, window, stride in DEPTHWISE:
        name = f"depthwise {channels}x{image}x{image}, {window}x{window}/{stride}"
        made[name] = convolution((channels, image, channels, window, stride), channels)
    return made


def convolution(sizes: tuple[int, ...], groups: int) -> tuple[Any, tuple[int, ...], int]:
    """A model, the shape of its data, and its operations. sizes: as of `CONVOLUTIONS`."""
    inputs, image, outputs, window, stride = sizes
    shape, pad = (1, inputs, image, image), window // 2
    weight = np.random.default_rng(1).integers(-127, 128, (outputs, inputs // groups, window, window)).astype("int8")
    whole = model("QLinearConv", weight, shape, outputs, pads=[pad] * 4, strides=[stride] * 2, group=groups)
    result = (image + 2 * pad - window) // stride + 1
    return whole, shape, 2 * result**2 * outputs * inputs // groups * window**2


def seconds(call: Any) -> float:
    """The time of a call, in a batch of some."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS


def measure(name: str, whole: Any, shape: tuple[int, ...], work: int, rounds: int) -> None:
    """Prints a row of the table."""
    data = np.random.default_rng(0).integers(0, 256, shape).astype("uint8")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
    executor = GraphExecutor(build_graph(from_onnx(whole)))
    executor.run(x=data)
    differ = np.mean(executor.get_output(0) != session.run(None, {"x": data})[0])
    pairs = [(seconds(executor.run), seconds(lambda: session.run(None, {"x": data}))) for _ in range(rounds)]
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    print(f"| {name} | {ours * 1e6:.0f} | {theirs * 1e6:.0f} | {work / ours / 1e9:.0f} | {ratio:.2f} | {differ:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    print(f"{machine()}, onnxruntime {onnxruntime.__version__}\n")
    print("| case | ours, us | ONNX Runtime, us | Gop/s | ratio | differ |\n|---|---|---|---|---|---|")
    with threads(1):
        for name, case in cases().items():
            if re.search(options.filter, name):
                measure(name, *case, options.rounds)


if __name__ == "__main__":
    main()
