"""Each rule on its program: applicability, effect, and reasons to decline."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import Schedule, apply_passes, build, parse_tvmscript, schedule_gpu, te
from stepwell.backends.cuda.build import cuda_source
from stepwell.backends.cuda.emulation import compiler
from stepwell.dialects.tir import ForOp
from stepwell.operators import OPERATORS
from stepwell.schedule.gpu import RULES
from stepwell.schedule.rules.results import DefaultSchedules
from stepwell.transforms.pipelines import lower_launches

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.random(shape, np.float32)


def function(*shapes: tuple[int, ...], computes: Callable[..., Any]) -> tuple[Any, list[np.ndarray]]:
    """A function of inputs of the given shapes, and arrays for all its parameters."""
    inputs = [te.placeholder(shape, "float32", name=f"A{n}") for n, shape in enumerate(shapes)]
    output = computes(*inputs)
    arrays = [*(numbers(*shape) for shape in shapes), np.zeros([int(n) for n in output.shape], np.float32)]
    return te.create_prim_func([*inputs, output]), arrays


def matmul(a: Any, b: Any) -> Any:
    k = te.reduce_axis((0, int(a.shape[1])), "k")
    return te.compute((int(a.shape[0]), int(b.shape[1])), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def row_sum(a: Any) -> Any:
    k = te.reduce_axis((0, int(a.shape[1])), "k")
    return te.compute((int(a.shape[0]),), lambda i: te.sum(a[i, k], axis=k), name="S")


def reasons(schedules: DefaultSchedules) -> dict[str, str]:
    """The reason of each rule that declined, for programs of one block."""
    return {each.rule: each.reason for each in schedules.declined}


def threads_of(schedules: DefaultSchedules) -> tuple[Any, ...]:
    """The number of threads of a thread block, by axis, in a program of one kernel."""
    bound: dict[str, set[Any]] = {}
    for op in schedules.mod.op.walk():
        if isinstance(op, ForOp) and op.thread is not None and op.thread.data.startswith("threadIdx"):
            bound.setdefault(op.thread.data, set()).add(op.mixed_bounds[1])
    return tuple(*zip(*(bound[axis] for axis in sorted(bound)), strict=True))


# Effects of rules


def test_a_chain_of_elementwise_blocks_is_one_kernel(run: Any, rules: Any) -> None:
    def computes(a: Any) -> Any:
        b = te.compute((40, 30), lambda i, j: te.exp(a[i, j]), name="B")
        c = te.compute((40, 30), lambda i, j: b[i, j] * 2.0, name="C")
        return te.compute((40, 30), lambda i, j: c[i, j] + a[i, j], name="D")

    schedules = run(*_flat(function((40, 30), computes=computes)))
    assert rules(schedules) == {"D": "elementwise"}
    assert (
        str(schedules.trace)
        == """\
def apply_trace(sch: stepwell.Schedule) -> None:
  b0 = sch.get_block(name="B", func_name="main")
  sch.compute_inline(block=b0)
  b1 = sch.get_block(name="C", func_name="main")
  sch.compute_inline(block=b1)
  b2 = sch.get_block(name="D", func_name="main")
  l3, l4 = sch.get_loops(block=b2)
  l5 = sch.fuse(l3, l4, preserve_unit_iters=True)
  l6, l7 = sch.split(loop=l5, factors=[None, 256], preserve_unit_iters=True, disable_predication=False)
  sch.bind(loop=l6, thread_axis="blockIdx.x")
  sch.bind(loop=l7, thread_axis="threadIdx.x")"""
    )


def test_a_transpose_goes_through_shared_memory(run: Any, rules: Any) -> None:
    made = function((70, 33), computes=lambda a: te.compute((33, 70), lambda i, j: a[j, i], name="B"))
    schedules = run(*_flat(made))
    assert rules(schedules) == {"B": "transpose"}
    copy = 'cache_read(block=b0, read_buffer_index=0, storage_scope="shared", consumer_blocks=[b0])'
    assert copy in str(schedules.trace)


def test_a_matrix_product_is_tiles(run: Any, rules: Any) -> None:
    schedules = run(*_flat(function((70, 40), (40, 66), computes=matmul)))
    assert rules(schedules) == {"C": "gemm"}
    trace = str(schedules.trace)
    assert "pad_einsum(block=b0, padding=[64, 64, 16])" in trace
    assert len(re.findall(r'set_scope\(.*"shared"', trace)) == 2
    assert "factors=[None, 16, 4]" in trace
    assert "decompose_reduction" in trace


@pytest.mark.parametrize(("blocks", "own"), [(128, "16, 4"), (2, "2, 16, 4")])
def test_whole_tiles_are_copied_in_vectors(
    run: Any, rules: Any, monkeypatch: pytest.MonkeyPatch, blocks: int, own: str
) -> None:
    monkeypatch.setattr("stepwell.schedule.gpu.gemm.BLOCKS", blocks)
    schedules = run(*_flat(function((256, 32), (32, 128), computes=matmul)))
    assert rules(schedules) == {"C": "gemm"}
    assert f"factors=[None, {own}]" in str(schedules.trace)
    source = cuda_source(schedules.mod)
    assert len(re.findall(r"const float4 \w+ = \*reinterpret_cast<const float4\*>\(&[AC]", source)) == 3


def test_whole_tiles_of_halves(run: Any, rules: Any) -> None:
    a, b = (te.placeholder(shape, "float16", name) for shape, name in (((64, 32), "A"), ((32, 64), "B")))
    k = te.reduce_axis((0, 32), "k")
    c = te.compute((64, 64), lambda i, j: te.sum((a[i, k] * b[k, j]).astype("float32"), axis=k), name="C")
    arrays = [RANDOM.random((64, 32)).astype(np.float16), RANDOM.random((32, 64)).astype(np.float16)]
    schedules = run(te.create_prim_func([a, b, c]), *arrays, np.zeros((64, 64), np.float32))
    assert rules(schedules) == {"C": "gemm"}
    assert "sw_half_4" in cuda_source(schedules.mod)


def test_what_follows_a_product_is_done_in_registers(run: Any) -> None:
    def computes(a: Any, b: Any, bias: Any) -> Any:
        c = matmul(a, b)
        d = te.compute(c.shape, lambda i, j: c[i, j] + bias[j], name="D")
        return te.compute(c.shape, lambda i, j: te.max(d[i, j], te.const(0.0, "float32")), name="relu")

    schedules = run(*_flat(function((20, 9), (9, 31), (31,), computes=computes)))
    assert [str(each) for each in schedules.applied] == ["C with relu: gemm"]


def test_a_batch_of_half_products(run: Any, rules: Any) -> None:
    a, b = te.placeholder((3, 17, 8), "float16", "A"), te.placeholder((3, 8, 9), "float16", "B")
    c = OPERATORS["nn.batch_matmul"].formula(a, b, transpose_b=False)
    arrays = [RANDOM.random(shape).astype(np.float16) for shape in ((3, 17, 8), (3, 8, 9), (3, 17, 9))]
    schedules = schedule_gpu(te.create_prim_func([a, b, c]))
    assert set(rules(schedules).values()) == {"gemm"}
    build(schedules.mod, target="cuda-emulated")(*arrays)
    np.testing.assert_allclose(arrays[2], arrays[0].astype(np.float32) @ arrays[1].astype(np.float32), rtol=1e-2)


@pytest.mark.parametrize("channels", [3, 8])
def test_a_convolution_shares_its_image(run: Any, rules: Any, channels: int) -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS["nn.conv2d"].formula(image, weights, strides=(2, 1), padding=(1, 1))

    schedules = run(*_flat(function((1, channels, 9, 8), (6, channels, 3, 3), computes=computes)))
    assert rules(schedules) == {"conv2d": "convolution"}
    assert "set_scope" in str(schedules.trace)  # the padded image is computed in shared memory


def test_columns_of_an_image_are_whole_tiles(run: Any, rules: Any) -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS["nn.conv2d"].formula(image, weights, padding=(1, 1))

    schedules = run(*_flat(function((1, 3, 4, 28), (8, 3, 3, 3), computes=computes)))
    assert rules(schedules) == {"conv2d": "convolution"}
    assert "factors=[None, 14, 2]" in str(schedules.trace)
    source = cuda_source(schedules.mod)
    assert "if" not in source[source.index("// conv2d_update") : source.index("// conv2d_local")]


@pytest.mark.parametrize(("window", "depth"), [(3, 8), (7, 4), (11, 2), (15, 1)])
def test_as_many_channels_are_shared_as_there_is_room_for(rules: Any, window: int, depth: int) -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS["nn.conv2d"].formula(image, weights, padding=(window // 2, window // 2))

    made, _ = function((1, 16, 32, 32), (64, 16, window, window), computes=computes)
    schedules = schedule_gpu(made)
    assert rules(schedules) == {"conv2d": "convolution"}
    assert f"factors=[None, {depth}]" in str(schedules.trace)
    build(schedules.mod, target="cuda-emulated")


def test_a_window_that_shared_memory_has_no_room_for() -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS["nn.conv2d"].formula(image, weights)

    made, _ = function((1, 2, 67, 67), (64, 2, 64, 64), computes=computes)
    schedules = schedule_gpu(made)
    reason = reasons(schedules)["convolution"]
    assert reason.startswith("its window and one channel take ")


@pytest.mark.parametrize(
    ("image", "weights", "attributes"),
    [
        ((1, 2, 40, 40), (64, 2, 24, 24), {}),  # a large window
        ((1, 9, 33, 16), (3, 3, 4, 96), {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": 4}),
        ((1, 31, 96), (4, 48, 96), {"data_layout": "NWC", "kernel_layout": "WIO", "groups": 2}),  # in parts of groups
        ((1, 16, 15, 15), (96, 16, 4, 4), {"dilation": (3, 3)}),
    ],
)
def test_tiles_are_as_small_as_shared_memory(
    rules: Any, image: tuple[int, ...], weights: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS[f"nn.conv{len(image.shape) - 2}d"].formula(image, weights, **attributes)

    made, _ = function(image, weights, computes=computes)
    schedules = schedule_gpu(made)
    assert "convolution" in rules(schedules).values()
    lower_launches(schedules.mod)


def test_an_image_read_in_steps_is_shared(run: Any, rules: Any) -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS["nn.conv2d"].formula(image, weights, strides=(2, 2), data_layout="NHWC", kernel_layout="HWIO")

    schedules = run(*_flat(function((1, 8, 9, 16), (1, 1, 16, 8), computes=computes)))
    assert rules(schedules) == {"conv2d": "convolution"}


def test_a_matrix_times_a_vector_is_rows_for_several_threads(run: Any, rules: Any) -> None:
    def computes(a: Any, x: Any) -> Any:
        k = te.reduce_axis((0, 100), "k")
        return te.compute((10,), lambda i: te.sum(a[i, k] * x[k], axis=k), name="y")

    schedules = run(*_flat(function((10, 100), (100,), computes=computes)))
    assert rules(schedules) == {"y": "gemv"}
    assert 'thread_axis="threadIdx.y"' in str(schedules.trace)


def test_a_reduction_of_many_steps_is_divided_among_threads(run: Any, rules: Any) -> None:
    schedules = run(*_flat(function((5, 300), computes=row_sum)))
    assert rules(schedules) == {"S": "reduction"}
    trace = str(schedules.trace)
    assert "rfactor" not in trace
    assert trace.endswith('sch.bind(loop=l4, thread_axis="threadIdx.x")')


@pytest.mark.parametrize(("shape", "parts"), [((16500,), 4), ((3, 33000), 8)])
def test_several_blocks_share_a_long_sum(run: Any, rules: Any, shape: tuple[int, ...], parts: int) -> None:
    def computes(a: Any) -> Any:
        return OPERATORS["sum"].formula(a, axis=len(shape) - 1)

    module, arrays = function(shape, computes=computes)
    schedules = run(module, *arrays)
    assert rules(schedules) == {"T_sum": "reduction by blocks"}
    assert f"factors=[{parts}, None]" in str(schedules.trace)
    again = Schedule(module)
    again.replay(str(schedules.trace))
    assert again.mod.script() == schedules.mod.script()


@pytest.mark.parametrize(
    ("shape", "axis", "threads"),
    [
        ((64, 200), 0, (32, 8)),
        ((33, 5), 0, (5, 32)),
        ((3, 40, 50), 1, (32, 8)),
        ((2, 6, 7, 9), (1, 2), (9, 16)),
        ((40, 1, 33), (0, 1), (32, 8)),
    ],
)
def test_neighbouring_columns_are_read_by_neighbouring_threads(
    run: Any, rules: Any, shape: tuple[int, ...], axis: Any, threads: tuple[int, int]
) -> None:
    schedules = run(*_flat(function(shape, computes=lambda a: OPERATORS["sum"].formula(a, axis=axis))))
    assert rules(schedules) == {"T_sum": "reduction"}
    assert threads_of(schedules) == threads


@pytest.mark.parametrize("shape", [(4200, 6), (700, 33)])
def test_several_blocks_share_long_columns(run: Any, rules: Any, shape: tuple[int, int]) -> None:
    module, arrays = function(shape, computes=lambda a: OPERATORS["sum"].formula(a, axis=0))
    schedules = run(module, *arrays)
    assert rules(schedules) == {"T_sum": "reduction by blocks"}
    again = Schedule(module)
    again.replay(str(schedules.trace))
    assert again.mod.script() == schedules.mod.script()


def test_a_vector_times_a_matrix_is_summed_in_columns(run: Any, rules: Any) -> None:
    def computes(x: Any, a: Any) -> Any:
        k = te.reduce_axis((0, 50), "k")
        return te.compute((70,), lambda j: te.sum(x[k] * a[k, j], axis=k), name="Y")

    schedules = run(*_flat(function((50,), (50, 70), computes=computes)))
    assert rules(schedules) == {"Y": "reduction"}
    assert reasons(schedules)["gemv"] == "neighbours in memory belong to different results"
    assert 'thread_axis="threadIdx.y"' in str(schedules.trace)


def test_places_of_maxima_in_columns(rules: Any) -> None:
    a = te.placeholder((60, 40), "int8", "A")
    module = te.create_prim_func([a, b := OPERATORS["argmax"].formula(a, axis=0)])
    schedules = schedule_gpu(module)
    assert rules(schedules)["argmax_red_temp"] == "reduction"
    numbers, places = RANDOM.integers(-9, 9, (60, 40)).astype(np.int8), np.zeros(40, b.dtype)
    build(schedules.mod, target="cuda-emulated")(numbers, places)
    np.testing.assert_array_equal(places, numbers.argmax(0))


def test_several_blocks_share_an_argmax(rules: Any) -> None:
    a = te.placeholder((2, 17000), "int8", "A")
    module = te.create_prim_func([a, b := OPERATORS["argmax"].formula(a, axis=1)])
    schedules = schedule_gpu(module)
    assert rules(schedules)["argmax_red_temp"] == "reduction by blocks"
    numbers = RANDOM.integers(-9, 9, (2, 17000)).astype(np.int8)
    numbers[0, 9999] = numbers[1, 5] = numbers[1, 12000] = 100
    places = np.zeros(2, b.dtype)
    build(schedules.mod, target="cuda-emulated")(numbers, places)
    np.testing.assert_array_equal(places, [9999, 5])


def test_few_long_rows_are_normalized_by_several_kernels(run: Any, rules: Any) -> None:
    def computes(a: Any) -> Any:
        return OPERATORS["nn.softmax"].formula(a)

    schedules = run(*_flat(function((1, 16400), computes=computes)))
    assert [*rules(schedules).values()] == ["reduction by blocks", "reduction by blocks", "elementwise"]
    assert reasons(schedules)["normalization"] == "it is no reduction"
    assert str(next(d for d in schedules.declined if d.rule == "normalization")) == (
        "T_max: not normalization: its rows are few, and so long that several blocks do each"
    )


def test_a_sum_of_everything_is_one_block(run: Any, rules: Any) -> None:
    def computes(a: Any) -> Any:
        i, j = te.reduce_axis((0, 20), "i"), te.reduce_axis((0, 30), "j")
        return te.compute((), lambda: te.sum(a[i, j], axis=[i, j]), name="S")

    schedules = run(*_flat(function((20, 30), computes=computes)))
    assert rules(schedules) == {"S": "reduction"}


@pytest.mark.parametrize(
    ("operator", "shape", "axis", "threads"),
    [
        ("nn.softmax", (40, 70), 0, (32, 8)),
        pytest.param("nn.softmax", (2, 33, 5, 7), 1, (7, 32), marks=pytest.mark.slow),
        pytest.param("nn.softmax", (2, 33, 3, 40), 1, (32, 8), marks=pytest.mark.slow),
        ("nn.softmax", (50, 3), 0, (3, 32)),
        ("nn.log_softmax", (40, 70), 1, (64,)),
    ],
)
def test_a_softmax_is_one_kernel(
    run: Any, operator: str, shape: tuple[int, ...], axis: int, threads: tuple[int, ...]
) -> None:
    def computes(a: Any) -> Any:
        return OPERATORS[operator].formula(a, axis=axis)

    schedules = run(*_flat(function(shape, computes=computes)))
    assert threads_of(schedules) == threads
    sizes = re.findall(r"__shared__ .*\[(\d+)\]", cuda_source(schedules.mod))
    assert max(map(int, sizes)) <= math.prod(threads)
    assert [each.rule for each in schedules.applied] == ["normalization"]
    assert len(schedules.applied[0].with_blocks) == 2


# Declined rules


def test_rules_say_why_they_decline() -> None:
    made, _ = function((8, 8), computes=lambda a: te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B"))
    assert reasons(schedule_gpu(made)) == {
        "gemm": "it is no reduction",
        "convolution": "it is no reduction",
        "gemv": "it is no reduction",
        "normalization": "it is no reduction",
        "reduction by blocks": "it is no reduction",
        "reduction": "it is no reduction",
        "thread per result": "it is no reduction",
        "transpose": "it reads in the order in which it writes",
    }


def test_a_small_product_is_no_tile() -> None:
    made, _ = function((3, 5), (5, 40), computes=matmul)
    found = reasons(schedule_gpu(made))
    assert found["gemm"] == "a side has less than 4"
    assert found["gemv"] == "both have an axis of the result for themselves"


def test_a_short_sum_is_done_by_one_thread_each(run: Any, rules: Any) -> None:
    schedules = run(*_flat(function((50, 4), computes=row_sum)))
    assert rules(schedules) == {"S": "thread per result"}
    assert reasons(schedules)["reduction"] == "it has 4 steps, less than 32"


def test_each_of_very_many_columns_is_done_by_one_thread() -> None:
    def computes(a: Any) -> Any:
        return OPERATORS["sum"].formula(a, axis=1)

    made, _ = function((2**10, 64, 2**7), computes=computes)
    assert reasons(schedule_gpu(made))["reduction"] == "a thread for each result is as good"


def test_what_threads_cannot_reduce_together_goes_to_another_rule(run: Any, rules: Any) -> None:
    module = parse_tvmscript("""
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), S: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 64):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                for n in range(2):
                    S[vi] = T.float32(n)
            S[vi] = S[vi] + A[vi, vk]
""")
    schedules = run(module, numbers(8, 64), numbers(8))
    reason = "threads cannot reduce together: its init does more than to store to S"
    assert reasons(schedules)["reduction"] == reason
    assert rules(schedules) == {"S": "thread per result"}


def test_a_depthwise_convolution_is_no_product(run: Any, rules: Any) -> None:
    def computes(image: Any, weights: Any) -> Any:
        return OPERATORS["nn.conv2d"].formula(image, weights, groups=4)

    schedules = run(*_flat(function((1, 4, 6, 6), (4, 1, 3, 3), computes=computes)))
    assert rules(schedules) == {"conv2d": "thread per result"}
    assert reasons(schedules)["convolution"]


def test_the_consumer_of_a_short_sum_is_in_its_thread(run: Any) -> None:
    def computes(a: Any) -> Any:
        s = row_sum(a)
        return te.compute(s.shape, lambda i: te.exp(s[i]), name="E")

    schedules = run(*_flat(function((50, 4), computes=computes)))
    assert [str(each) for each in schedules.applied] == ["S with E: thread per result"]
    assert cuda_source(schedules.mod).count("__global__") == 1


def test_a_product_that_another_one_reads_is_not_moved(run: Any) -> None:
    """The epilogue overwrites elements that other tiles of the product have yet to read."""
    module = parse_tvmscript("""
@T.prim_func
def main(A: T.Buffer((40, 40), "float32"), B: T.Buffer((40, 40), "float32")):
    C = T.alloc_buffer((40, 40))
    for i, j, k in T.grid(40, 40, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(40, 40):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = C[vi, vj] * T.float32(2)
""")
    schedules = run(module, numbers(40, 40), numbers(40, 40))
    assert [str(each) for each in schedules.applied] == ["C: gemm", "A: elementwise"]


# Whole programs


def test_a_trace_replays_to_the_same_program() -> None:
    module, _ = function((70, 40), (40, 66), computes=matmul)
    schedules = schedule_gpu(module)
    again = Schedule(module, enable_check=False)
    again.replay(str(schedules.trace))
    assert again.mod.script() == schedules.mod.script()


def test_the_pass_does_what_the_function_does() -> None:
    module, _ = function((40, 30), computes=lambda a: te.compute((40, 30), lambda i, j: a[i, j] + 1.0, name="B"))
    assert apply_passes(module, "tir-schedule-gpu").script() == schedule_gpu(module).mod.script()


def test_what_is_bound_stays_as_it_is() -> None:
    module, _ = function((40,), computes=lambda a: te.compute((40,), lambda i: a[i] + 1.0, name="B"))
    sch = Schedule(module)
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    schedules = schedule_gpu(sch.mod)
    assert schedules.mod.script() == sch.mod.script()
    assert not schedules.functions


def test_schedules_print() -> None:
    module, _ = function((5, 300), computes=row_sum)
    schedules = schedule_gpu(module)
    assert str(schedules) == "main:\n  S: reduction"
    assert str(schedules.declined[0]) == "S: not gemm: it reads 1 elements for each step, expected two"


def test_the_page_has_every_rule() -> None:
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs/gpu.md").read_text().partition("## Default schedules")[2]
    assert re.findall(r"^\| ([a-z ]+) \|", text, re.MULTILINE)[1:] == [*RULES]


def _flat(made: tuple[Any, list[np.ndarray]]) -> list[Any]:
    module, arrays = made
    return [module, *arrays]
