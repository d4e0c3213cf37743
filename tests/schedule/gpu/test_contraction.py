"""Tiled matrix products: their results, and the reads of shared memory by a warp."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from stepwell import Schedule, build, schedule_gpu, te
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.runtime.signature import BufferParameter
from stepwell.operators import OPERATORS
from stepwell.schedule.rules.results import DefaultSchedules

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")
BLOCKS = "stepwell.schedule.gpu.gemm.BLOCKS"


def matmul(
    shape: tuple[int, ...],
    turned: tuple[bool, bool] = (False, False),
    dtype: str = "float32",
    then: Callable[[Any], Any] | None = None,
    first: Callable[[Any], Any] | None = None,
) -> Any:
    """C = A B of shape ([batch,] rows, columns, depth), with operands that may be transposed.

    then: an elementwise operation after the sum.  first: an elementwise operation on A in a block of its own.
    """
    *batch, m, n, k = shape
    a = te.placeholder((*batch, k, m) if turned[0] else (*batch, m, k), dtype, name="A")
    b = te.placeholder((*batch, n, k) if turned[1] else (*batch, k, n), dtype, name="B")
    left = a if first is None else te.compute(a.shape, lambda *i: first(a[i]), name="first")
    r = te.reduce_axis((0, k), "k")

    def element(*indices: Any) -> Any:
        *x, i, j = indices
        p = left[(*x, r, i)] if turned[0] else left[(*x, i, r)]
        return te.sum(p * (b[(*x, j, r)] if turned[1] else b[(*x, r, j)]), axis=r)

    c = te.compute((*batch, m, n), element, name="C")
    d = c if then is None else te.compute(c.shape, lambda *i: then(c[i]), name="D")
    return te.create_prim_func([a, b, d])


def large_tiles(module: Any) -> DefaultSchedules:
    """The default schedule with tiles of up to 128 x 128, usually reserved for results of many tiles."""
    with mock.patch(BLOCKS, 1):
        return schedule_gpu(module)


# Results


def compare(schedule: Callable[[Any], DefaultSchedules], module: Any) -> DefaultSchedules:
    """Schedules a module, and compares the emulated GPU with the oracle; elements are small integers."""
    schedules, rng = schedule(module), np.random.default_rng(0)
    signature = build(module, target="python")["main"].signature
    parameters = [each for each in signature.parameters if isinstance(each, BufferParameter)]
    arrays = [rng.integers(-2, 3, [n or 0 for n in each.shape]).astype(each.dtype) for each in parameters]
    ours, expected = arrays[-1], arrays[-1].copy()
    build(schedules.mod, target="cuda-emulated")(*arrays[:-1], ours)
    build(module, target="python")(*arrays[:-1], expected)
    np.testing.assert_array_equal(ours, expected)
    return schedules


def check(shape: tuple[int, ...], turned: tuple[bool, bool], dtype: str = "float32", **parts: Any) -> DefaultSchedules:
    """Compares a product, scheduled with large tiles."""
    schedules = compare(large_tiles, matmul(shape, turned, dtype, **parts))
    assert [each.rule for each in schedules.applied] == ["gemm"]
    return schedules


sides = st.sampled_from([4, 5, 16, 31, 63, 64, 65, 127, 128, 129, 140])


@emulated
@settings(max_examples=max(1, settings().max_examples // 5), phases=[Phase.explicit, Phase.generate])
@given(
    st.tuples(sides, sides, st.sampled_from([2, 5, 16, 17, 32])),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(["float32", "float64", "float16", "int8"]),
    st.sampled_from([None, "then", "first"]),
)
@example((128, 128, 16), (False, False), "float32", None)
@example((129, 127, 17), (True, True), "float32", "then")
@example((129, 140, 17), (False, True), "float32", "first")
@example((64, 140, 5), (False, True), "float16", "then")
@example((128, 64, 17), (False, True), "float64", None)
def test_products_of_any_size(shape: tuple[int, ...], turned: tuple[bool, bool], dtype: str, part: str | None) -> None:
    parts = {} if part is None else {part: lambda x: x + x}
    check(shape, turned, dtype, **parts)


@emulated
def test_a_batch_of_products() -> None:
    assert "factors=[None, 2, 16, 4]" in str(check((2, 130, 129, 7), (False, True)).trace)


@emulated
def test_two_products_may_share_an_operand() -> None:
    a, b, c = (te.placeholder((64, 64), "float32", name=name) for name in "ABC")
    k = te.reduce_axis((0, 64), "k")
    d = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="D")
    e = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * c[k, j], axis=k), name="E")
    schedules = schedule_gpu(te.create_prim_func([a, b, c, d, e]))
    assert [each.rule for each in schedules.applied] == ["gemm", "gemm"]
    arrays = [np.random.default_rng(n).integers(-2, 3, (64, 64)).astype(np.float32) for n in range(5)]
    build(schedules.mod, target="cuda-emulated")(*arrays)
    np.testing.assert_array_equal(arrays[3], arrays[0] @ arrays[1])
    np.testing.assert_array_equal(arrays[4], arrays[0] @ arrays[2])


def test_a_trace_of_padded_tiles_replays() -> None:
    module = matmul((129, 130, 17), (False, True), then=lambda x: x + 1.0)
    schedules = large_tiles(module)
    trace = str(schedules.trace)
    assert "pad_einsum(block=b0, padding=[128, 128, 16])" in trace
    again = Schedule(module, enable_check=False)
    again.replay(trace)
    assert again.mod.script() == schedules.mod.script()


# Reads of shared memory


def test_tiles_that_are_not_whole_are_guarded_where_they_are_copied() -> None:
    source = cuda_source(large_tiles(matmul((200, 300, 40))).mod)
    steps = source[source.index("// C_update") : source.index("// C_pad")]
    assert "if" not in steps
    assert "<" not in re.sub(r"for \(.*\)", "", steps)


def test_what_is_no_product_is_guarded_where_it_is_summed() -> None:
    """`pad_einsum` cannot determine a padding that contributes 0."""
    a, b = (te.placeholder((130, 17), "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, 17), "k")
    c = te.compute((130, 130), lambda i, j: te.sum(te.abs(a[i, k] - b[j, k]), axis=k), name="C")
    schedules = large_tiles(te.create_prim_func([a, b, c]))
    assert [each.rule for each in schedules.applied] == ["gemm"]
    assert "pad_einsum" not in str(schedules.trace)


@pytest.mark.parametrize("turned", [*product([False, True], repeat=2)])
@pytest.mark.parametrize(("blocks", "size"), [(1, 128), (128, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_warp_reads_shared_memory_without_conflicts(
    monkeypatch: pytest.MonkeyPatch, turned: tuple[bool, bool], blocks: int, size: int, dtype: str
) -> None:
    monkeypatch.setattr(BLOCKS, blocks)
    source = cuda_source(schedule_gpu(matmul((size, size, 32), turned, dtype)).mod)
    bytes = np.dtype(dtype).itemsize
    for buffer in ("A_shared", "B_shared"):
        reads = [*reads_of_a_step(source, buffer, bytes)]
        assert len(reads) == size // 16 * bytes // 16  # the minimum for reads of 16 bytes
        assert [conflicts(each) for each in reads] == [1] * len(reads)


@emulated
@given(
    st.tuples(st.integers(1, 2), *[st.integers(4, 20)] * 2, st.integers(8, 60)),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
)
def test_products_are_summed_in_parts(shape: tuple[int, ...], turned: tuple[bool, bool], follows: bool) -> None:
    then = (lambda c: te.max(c, te.const(0, "float32"))) if follows else None
    with mock.patch("stepwell.schedule.gpu.gemm.STEPS", 4):
        schedules = compare(schedule_gpu, matmul(shape, turned, then=then))
    assert "rfactor" in str(schedules.trace)


@emulated
@given(
    st.integers(1, 2),
    *[st.integers(4, 9)] * 4,
    st.sampled_from([1, 3]),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from([1, 128]),
)
def test_convolutions_have_tiles_of_rows_and_parts(
    batch: int,
    channels: int,
    rows: int,
    columns: int,
    filters: int,
    window: int,
    stride: int,
    follows: bool,
    blocks: int,
) -> None:
    a = te.placeholder((batch, channels, rows, columns), "float32", name="A")
    w = te.placeholder((filters, channels, window, window), "float32", name="W")
    c = OPERATORS["nn.conv2d"].formula(a, w, padding=(window // 2,) * 2, strides=(stride,) * 2)
    d = te.compute(c.shape, lambda *i: te.max(c[i], te.const(0, "float32")), name="D") if follows else c
    settings = {f"gemm.{name}": value for name, value in (("STEPS", 2), ("BLOCKS", blocks))}
    settings |= {"convolution.CHANNELS": 2, "convolution.LEAST_BLOCKS": blocks, "contraction.LEAST_BLOCKS": blocks}
    with ExitStack() as patches:
        for name, value in settings.items():
            patches.enter_context(mock.patch(f"stepwell.schedule.gpu.{name}", value))
        schedules = compare(schedule_gpu, te.create_prim_func([a, w, d]))
    if blocks == 128 and {each.rule for each in schedules.applied} <= {"gemm", "convolution"}:
        assert "rfactor" in str(schedules.trace)


def test_what_conflicts_are() -> None:
    assert conflicts([thread * 16 for thread in range(32)]) == 1
    assert conflicts([thread * 32 for thread in range(32)]) == 2
    assert conflicts([thread % 2 * 512 for thread in range(32)]) == 2
    assert conflicts([0] * 32) == 1


def conflicts(addresses: list[int]) -> int:
    """The maximum number of distinct words requested from a bank at once by a warp whose threads read 16 bytes each: a
    quarter warp at a time, from 32 banks of 4 bytes."""
    worst = 0
    for first in range(0, 32, 8):
        words = {address // 4 + n for address in addresses[first : first + 8] for n in range(4)}
        worst = max(worst, *(sum(word % 32 == bank for word in words) for bank in range(32)))
    return worst


def reads_of_a_step(source: str, buffer: str, bytes: int) -> Iterator[list[int]]:
    """The addresses of 16 bytes at which the threads of the first warp read a buffer in the first step of a sum, one
    list for each read. Raises AssertionError if the reads of a thread do not form contiguous groups of 16 bytes."""
    steps = source[source.index("// C_update") :]
    index = re.search(rf"{buffer}\[(.*?)\]", steps)
    assert index is not None
    loops = {name: int(extent) for name, extent in re.findall(r"for \(int (\w+) = 0; \w+ < (\d+)", steps)}
    used = [name for name in loops if re.search(rf"\b{name}\b", index[1]) and not name.startswith("k")]
    axes = dict(re.findall(r"const int (\w+) = threadIdx\.(\w)", source))
    code = compile(index[1].replace("/", "//"), "index", "eval")
    threads: list[list[int]] = []
    for thread in range(32):
        place = {name: (thread % 16 if axis == "x" else thread // 16) for name, axis in axes.items()} | {"k_1": 0}
        values = (dict(zip(used, each, strict=True)) for each in product(*(range(loops[name]) for name in used)))
        threads.append(sorted(eval(code, {}, place | each) * bytes for each in values))
    lanes = 16 // bytes
    for addresses in threads:
        for first in range(0, len(addresses), lanes):
            assert addresses[first] % 16 == 0
            assert addresses[first : first + lanes] == [*range(addresses[first], addresses[first] + 16, bytes)]
    yield from ([addresses[n] for addresses in threads] for n in range(0, len(threads[0]), lanes))
