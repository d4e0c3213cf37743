"""Kernels of graphs with default schedules compute the same as numpy, for extents that tiles do not divide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell import Module
from stepwell.backends.graph import build_graph
from stepwell.backends.validation.execution import Program
from stepwell.core.dtypes import dtype_of
from stepwell.core.processors import threads
from stepwell.dialects.tir import ForOp
from stepwell.frontends import relay
from stepwell.schedule.cpu import threads as threads_rule
from stepwell.transforms.pipelines import lower_graph, parse_passes, run_pipeline

SHAPES = [(8, 1), (1, 8), (17, 33), (16, 16), (5, 300), (2, 3)]


@pytest.fixture(autouse=True, params=[1, 3], ids=["one thread", "three threads"])
def count(request: pytest.FixtureRequest) -> Iterator[int]:
    """Kernels by one thread, and by three threads that share each loop that may be shared."""
    if request.param == 1:
        yield 1
        return
    with patch.object(threads_rule, "LEAST_TIME", 0), threads(3):
        yield 3


def run(build: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    inputs = [relay.var(f"x{n}", shape=array.shape) for n, array in enumerate(arrays)]
    library = build_graph(relay.module(relay.Function(inputs, build(*inputs))))
    (output,) = library.outputs
    shape: Any = output.shape
    result = np.full(shape, np.nan, np.float32)
    library.program["main"](*arrays, result)
    return result


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


SHAPED: dict[str, list[tuple[Callable[..., Any], Callable[..., Any], tuple[float, float]]]] = {
    "chains over rows": [
        (lambda x, y: relay.nn.softmax(x, axis=1), lambda x, y: softmax(x, 1), (1e-5, 0)),
        (lambda x, y: relay.nn.softmax(x, axis=0), lambda x, y: softmax(x, 0), (1e-5, 0)),
    ],
    "sums of all, of rows and of columns": [
        (lambda x, y: relay.sum(x), lambda x, y: x.sum(dtype=float), (1e-4, 1e-4)),
        (lambda x, y: relay.max(x, axis=0), lambda x, y: x.max(0), (0, 0)),
        (lambda x, y: relay.max(x, axis=1), lambda x, y: x.max(1), (0, 0)),
        (lambda x, y: relay.sum(x, axis=1), lambda x, y: x.sum(1, dtype=float), (1e-4, 1e-4)),
        (lambda x, y: relay.sum(x, axis=0), lambda x, y: x.sum(0, dtype=float), (1e-4, 1e-4)),
    ],
    "transposes and elements": [
        (lambda x, y: relay.transpose(x), lambda x, y: x.T, (0, 0)),
        (lambda x, y: relay.transpose(x) + y, lambda x, y: x.T + y, (0, 0)),
        (lambda x, y: x * relay.transpose(y) + x, lambda x, y: x * y.T + x, (0, 0)),
    ],
}
"""Functions of a matrix and one of the transposed shape, their results by numpy, relative and absolute error."""


@pytest.mark.parametrize("shape", range(len(SHAPES)), ids=map(str, SHAPES))
@pytest.mark.parametrize("group", SHAPED)
def test_functions_of_matrices(group: str, shape: int, count: int) -> None:
    """Each function of each shape, by one thread or by three: each function and each shape by both."""
    x, y = random(*SHAPES[shape]), random(*SHAPES[shape][::-1])
    for number, (function, expected, errors) in enumerate(SHAPED[group]):
        if (number + shape) % 2 == (count == 3):
            np.testing.assert_allclose(run(function, x, y), expected(x, y), *errors, err_msg=str(number))


def test_rows_are_sorted() -> None:
    """The result is transposed from a buffer that blocks before it read too."""
    x = random(20, 16)
    np.testing.assert_array_equal(run(lambda x: relay.sort(x, axis=1), x), np.sort(x, 1))


PRODUCTS: list[Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = [
    lambda a, b, c: (run(relay.nn.dense, a, b), a.astype(float) @ b.T.astype(float)),
    lambda a, b, c: (
        run(lambda a, b, c: relay.nn.relu(relay.nn.bias_add(relay.nn.dense(a, b), c)), a, b, c),
        np.maximum(a.astype(float) @ b.T.astype(float) + c, 0),
    ),
    lambda a, b, c: (run(relay.nn.matmul, a, np.ascontiguousarray(b.T)), a.astype(float) @ b.T.astype(float)),
    lambda a, b, c: _batch(np.stack([a, 2 * a]), np.stack([b, b + 1])),
    lambda a, b, c: (run(lambda b: relay.nn.dense(b, b), b), b @ b.T),
]
"""Functions of two matrices and a bias: the result of a kernel, and the expected one."""
SIZES = [(3, 1, 1), (16, 16, 16), (21, 49, 5), (21, 40, 33), (9, 250, 40), (17, 200, 300)]


def _batch(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    result = run(lambda x, w: relay.nn.relu(relay.nn.batch_matmul(x, w)), x, w)
    return result, np.maximum(x @ w.transpose(0, 2, 1), 0)


@pytest.mark.parametrize("size", range(len(SIZES)), ids=map(str, SIZES))
def test_products(size: int, count: int) -> None:
    """Each product of each size, by one thread or by three: each product and each size by both."""
    rows, columns, length = SIZES[size]
    a, b, c = random(rows, length), random(columns, length), random(columns)
    for number, product in enumerate(PRODUCTS):
        if (number + size) % 2 == (count == 3):
            result, expected = product(a, b, c)
            np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4, err_msg=str(number))


@pytest.mark.parametrize("length", [64, 100, 128])
def test_the_last_sum_of_a_row_is_of_whole_vectors(length: int) -> None:
    """The zeros precede the sums of lanes, so that no lane is added apart."""
    x, w = relay.var("x", shape=(1, length)), relay.var("w", shape=(64, length))
    graph = build_graph(relay.module(relay.Function([x, w], relay.nn.dense(x, w))))
    widths = {int(width) for width in re.findall(r"<(\d+) x float>", graph.program.source("llvm"))}
    assert all(width & (width - 1) == 0 for width in widths)
    a, b, result = random(1, length), random(64, length), np.empty((1, 64), np.float32)
    graph.program["main"](a, b, result)
    np.testing.assert_allclose(result, a @ b.T, rtol=1e-4, atol=1e-4)


# Threads

KERNELS = "convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir,tir-schedule-cpu"


def shared(*shape: Any, build: Callable[[Any], Any]) -> list[tuple[str, int, int]]:
    """The parallel loops of the kernel of an operator: name, extent or 0, and grain."""
    x = relay.var("x", shape=shape)
    module = lower_graph(relay.module(relay.Function([x], build(x))))
    loops = [op for op in run_pipeline(module, parse_passes(KERNELS)).op.walk() if isinstance(op, ForOp)]
    found: list[tuple[str, int, int]] = []
    for loop in loops:
        extent = loop.mixed_bounds[1]
        if loop.kind.data == "parallel":
            annotations: Any = loop.annotations
            grain = annotations.data["grain"]
            found.append((loop.loop_var.data, extent if isinstance(extent, int) else 0, grain.value.data))
        else:
            assert loop.annotations is None
    return found


@pytest.mark.parametrize("count", [1], indirect=True)
@pytest.mark.parametrize(
    ("shape", "build", "expected"),
    [
        ((64, 64), relay.nn.relu, None),  # a few microseconds
        ((4096, 1024), lambda x: relay.nn.softmax(x), ("ax0", 4096)),  # the rows
        ((2, 3, 256, 256), relay.nn.relu, ("ax2", 256)),  # the outermost loop of many iterations
        ((relay.Any(), 1024), relay.nn.relu, ("ax0", 0)),
        ((1000003,), relay.sum, None),  # one result of a prime number of elements
    ],
)
def test_a_loop_that_takes_long_is_shared(
    shape: tuple[Any, ...], build: Callable[[Any], Any], expected: tuple[str, int] | None
) -> None:
    with patch.object(threads_rule, "LEAST_TIME", 8000):
        loops = shared(*shape, build=build)
        more = {} if expected is None else {grain for *_, grain in shared(*shape, build=lambda x: relay.exp(build(x)))}
    assert [loop[:2] for loop in loops] == ([] if expected is None else [expected])
    # An iteration that takes longer is handed over in smaller parts.
    assert all(1 <= later <= grain for later in more for *_, grain in loops)


@pytest.mark.parametrize("count", [1], indirect=True)
def test_the_shortest_time_of_a_part_limits_its_iterations() -> None:
    with patch.object(threads_rule, "LEAST_TIME", 0):
        assert shared(64, 64, build=relay.nn.relu) == [("ax0", 64, 1)]


# Products of bytes

BYTES = "convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir,tir-schedule-cpu{{cpu={cpu}}}"


@pytest.mark.parametrize("count", [1], indirect=True)
@pytest.mark.parametrize(
    ("cpu", "intrinsic"),
    [
        ("avx512,byte_products=1", "vpdpbusd.512"),
        ("avx2,byte_products=1", "vpdpbusd.256"),
        ("sse,byte_products=1", "vpdpbusd.128"),
        ("avx512", None),
    ],
)
def test_products_of_bytes_by_instructions_of_each_width(cpu: str, intrinsic: str | None) -> None:
    """Kernels compute the same before and after the schedule, in the oracle."""
    image, window = (
        relay.var("x", shape=(1, 5, 6, 7), dtype="uint8"),
        relay.var("w", shape=(2, 2, 2, 2, 64), dtype="int8"),
    )
    data, weight = relay.var("a", shape=(3, 9), dtype="uint8"), relay.var("b", shape=(2, 3, 64), dtype="int8")
    sums = relay.nn.contrib_conv2d_pack_int8(image, window, channels=20, padding=1, pad_value=9, strides=2)
    product = relay.nn.contrib_dense_pack_int8(data, weight, units=20)
    wide, taps = relay.var("x", shape=(1, 2, 5, 31), dtype="uint8"), relay.var("w", shape=(4, 3, 8), dtype="int8")
    own = relay.nn.contrib_depthwise_conv2d_pack_int8(
        wide, taps, channels=4, kernel_size=(3, 5), padding=2, pad_value=9, strides=2
    )
    whole = relay.nn.contrib_conv2d_pack_int8(image, window, channels=32, padding=1, pad_value=9)
    programs = [([image, window], sums), ([data, weight], product), ([wide, taps], own), ([image, window], whole)]
    for operands, result in programs:
        kind = "int8" if result is whole else "int16"
        lowered = lower_graph(relay.module(relay.Function(operands, relay.cast(result, kind))))
        plain, scheduled = (
            run_pipeline(lowered, parse_passes(passes))
            for passes in (BYTES.partition(",tir-")[0], BYTES.format(cpu=f'"{cpu}"'))
        )
        assert (intrinsic is None) == ("call_llvm" not in str(scheduled))
        assert intrinsic is None or intrinsic in str(scheduled)
        (name,) = [name for name in plain.functions if name != "main"]
        results: list[np.ndarray] = []
        for module in (plain, scheduled):
            choose = np.random.default_rng(0)
            kinds = [dtype_of(argument.type.element_type) for argument in module.functions[name].body.block.args]
            shapes = [argument.type.get_shape() for argument in module.functions[name].body.block.args]
            arrays = [choose.integers(-99, 99, s).astype(k.scalar.name) for s, k in zip(shapes, kinds, strict=True)]
            Program.of(Module(ModuleOp([module.functions[name].clone()]))).functions[name](*arrays)
            results.append(arrays[-1])
        np.testing.assert_array_equal(results[0], results[1])
