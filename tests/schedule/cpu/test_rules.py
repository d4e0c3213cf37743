"""Which functions get default schedules, which rule schedules a block, and the sizes of tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from stepwell import Schedule, apply_passes, build, parse_mlir, parse_tvmscript, relay, schedule_cpu, te
from stepwell.analysis import unscheduled
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.core.cpu import CPU_MODELS
from stepwell.core.remarks import Remark, collect_remarks
from stepwell.core.walking import find_ops
from stepwell.dialects.tir import ForOp, IfOp
from stepwell.module import Module
from stepwell.schedule.cpu.tiles import greatest_height, greatest_width
from stepwell.tools.testing.scheduling import check_same_outputs
from stepwell.tools.testing.unscheduled_programs import PROGRAMS, program_text
from stepwell.transforms.pipelines import lower_graph

SIZES = {"m": 48, "n": 96, "k": 40}


@pytest.fixture(autouse=True)
def _no_least_time() -> Iterator[None]:
    with patch.object(unscheduled, "LEAST_TIME", 0):
        yield


def program(name: str, dtype: str = "float32", /, **sizes: int) -> Module:
    return parse_tvmscript(program_text(name, dtype, SIZES | sizes))


def rules_of(name: str) -> dict[str, str]:
    return {each.block: each.rule for each in schedule_cpu(program(name), "avx2").applied if each.rule != "threads"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("product", {"C": "contraction"}),
        ("batched product", {"C": "contraction"}),
        ("convolution", {"C": "contraction"}),
        ("transposed product", {"C": "contraction", "B_global": "transpose"}),
        ("product of a matrix and its transpose", {"C": "contraction", "A_global": "transpose"}),
        ("product of computed elements", {"C": "contraction", "D": "elementwise"}),
        ("product and elements", {"C": "epilogue"}),
        ("channels", {"E": "rows", "P": "steps", "C": "epilogue"}),
        ("blocks of channels", {"C": "contraction"}),
        ("windows", {"C": "windows"}),
        ("columns", {"C": "columns"}),
        ("long rows", {"C": "columns"}),
        ("rows", {"S": "partial sums", "C": "elementwise"}),
        ("transpose", {"C": "transpose"}),
        ("elements in place", {"C": "elementwise"}),
        ("product without an init", {}),
        ("elements that follow from others", {}),
    ],
)
def test_rules(name: str, expected: dict[str, str]) -> None:
    assert rules_of(name) == expected


def test_every_program_has_its_rules() -> None:
    assert {name for name in PROGRAMS if not rules_of(name)} == {
        "product without an init",
        "elements that follow from others",
    }


@pytest.mark.parametrize(("cores", "moved"), [(1, True), (8, False)])
def test_columns_of_a_transposed_factor_are_computed_tile_by_tile(cores: int, moved: bool) -> None:
    schedules = schedule_cpu(program("transposed product"), f"avx2,cores={cores}")
    sch = Schedule(schedules.mod)
    assert schedules.applied[1].text.endswith("copies of columns") == moved
    (around, *_) = sch.get_loops(sch.get_block("B_global"))
    assert (sch.get(around) is sch.get(sch.get_loops(sch.get_block("C_update"))[0])) == moved


def test_columns_of_a_batch_of_one_are_computed_tile_by_tile() -> None:
    x, w = (relay.var(name, shape=(1, 256, 256)) for name in "xw")
    graph = lower_graph(relay.module(relay.Function([x, w], relay.nn.batch_matmul(x, w))))
    kernels = apply_passes(graph, "convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir")
    applied = {each.block: each for each in schedule_cpu(kernels, "avx2,cores=1").applied}
    assert applied["T_batch_matmul"].text.endswith("copies of columns")
    assert applied["p1_global"].rule == "transpose"


def test_tiles_fill_the_registers() -> None:
    tiles = {name: (greatest_height(cpu, greatest_width(cpu)), greatest_width(cpu)) for name, cpu in CPU_MODELS.items()}
    assert tiles == {"sse": (6, 2), "avx": (6, 2), "avx2": (6, 2), "avx512": (8, 3), "neon": (8, 3)}
    for name, (height, width) in tiles.items():
        assert height * width + width + 1 <= CPU_MODELS[name].vector_registers


@pytest.mark.parametrize(
    ("rows", "columns", "vectors"),
    [(2, 512, 8), (3, 512, 7), (4, 512, 6), (6, 512, 4), (8, 512, 3), (2, 64, 4), (2, 4096, 3)],  # the last: 4 MiB
)
def test_few_rows_have_more_vectors(rows: int, columns: int, vectors: int) -> None:
    (applied, *_) = schedule_cpu(program("product", m=rows, n=columns, k=256), "avx512,l2_bytes=2097152").applied
    assert applied.text.endswith(f", {vectors} at a time, {rows} rows along vi")


@pytest.mark.parametrize(
    ("cpu", "dtype", "lanes"),
    [
        ("avx2", "float32", 8),
        ("avx2", "float64", 4),
        ("avx512", "float64", 8),
        ("neon", "float32", 4),
        ("avx2", "int8", 32),
    ],
)
def test_lanes_follow_from_the_elements(cpu: str, dtype: str, lanes: int) -> None:
    loops = [op for op in schedule_cpu(program("product", dtype), cpu).mod.op.walk() if isinstance(op, ForOp)]
    assert {op.mixed_bounds[1] for op in loops if op.kind.data == "vectorized"} == {lanes}


def test_columns_are_copied_for_many_rows_of_a_large_factor() -> None:
    def copies(**sizes: int) -> bool:
        return any(
            "copies of columns" in each.text for each in schedule_cpu(program("product", **sizes), "avx2").applied
        )

    assert copies(m=256, n=256, k=256)
    assert not copies(m=256, n=32, k=32)  # the factor is in the cache
    assert copies(m=16, n=256, k=256)
    assert not copies(m=6, n=256, k=256)  # one tile uses a copy
    assert copies(m=6, n=1024, k=256)  # rows are a page from each other


@pytest.mark.parametrize(
    ("sizes", "cores", "tiles"),
    [
        ({"m": 16, "n": 1024, "k": 256}, 2, 4),
        ({"m": 1024, "n": 1024, "k": 256}, 2, 8),  # rows that exceed the L2 cache
        ({"m": 16, "n": 1024, "k": 256}, 16, 2),  # two groups for each core
        ({"m": 16, "n": 1024, "k": 256}, 64, 1),
        ({"m": 16, "n": 688, "k": 256}, 2, 4),  # 43 tiles
        ({"m": 16, "n": 672, "k": 256}, 2, 3),  # 42 tiles
    ],
)
def test_narrow_tiles_are_copied_in_groups(sizes: dict[str, int], cores: int, tiles: int) -> None:
    (applied, *_) = schedule_cpu(program("product", **sizes), f"avx2,cores={cores}").applied
    assert applied.text.endswith("copies of columns" + (f" for {tiles} tiles" if tiles > 1 else ""))


@pytest.mark.parametrize(
    ("updates", "sizes", "copied"),
    [
        (2, {"m": 64, "n": 128, "k": 64}, True),
        (1, {"m": 64, "n": 128, "k": 64}, False),
        (2, {"m": 56, "n": 128, "k": 64}, False),
        (2, {"m": 16, "n": 1024, "k": 64}, True),  # rows displace each other from the cache
        (2, {"m": 16, "n": 1000, "k": 64}, False),
    ],
)
def test_columns_are_copied_for_fewer_rows_if_sums_are_fast(updates: int, sizes: dict[str, int], copied: bool) -> None:
    (applied, *_) = schedule_cpu(program("product", **sizes), f"avx512,updates_per_cycle={updates}").applied
    assert applied.text.endswith("copies of columns") == copied


@pytest.mark.parametrize(
    ("keys", "cpu", "moved"),
    [
        (512, "avx2", True),
        (520, "avx2", False),  # tiles of 16 columns do not divide the rows
        (512, "avx512", False),  # tiles are not narrow
        (512, "avx2,l1_bytes=1048576", False),  # a cache holds all keys
    ],
)
def test_keys_of_attention_get_the_layout_of_narrow_tiles(keys: int, cpu: str, moved: bool) -> None:
    q, k, v = (relay.var(name, shape=(2, rows, 64)) for name, rows in (("q", 512), ("k", keys), ("v", keys)))
    net = relay.nn.batch_matmul(relay.nn.softmax(relay.nn.batch_matmul(q, k)), v, transpose_b=False)
    fused = apply_passes(relay.module(relay.Function([q, k, v], net)), "relay-infer-types,relay-fuse-attention")
    graph = lower_graph(fused)
    kernels = apply_passes(graph, "convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir")
    texts = [each.text for each in schedule_cpu(kernels, cpu).applied]
    assert any(text.endswith("columns of a tile contiguous") for text in texts) == moved


def test_contiguous_columns_are_not_copied() -> None:
    text = """
    @T.prim_func
    def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((4, 64, 48), "float32"), C: T.Buffer((64, 4, 48))):
        T.func_attr({"tir.noalias": True})
        for i, b, j, k in T.grid(64, 4, 48, 64):
            with T.block("C"):
                vi, vb, vj, vk = T.axis.remap("SSSR", [i, b, j, k])
                with T.init():
                    C[vi, vb, vj] = T.float32(0)
                C[vi, vb, vj] = C[vi, vb, vj] + A[vi, vk] * B[vb, vk, vj]
    """
    applied = {
        columns: schedule_cpu(parse_tvmscript(text.replace("48", str(columns))), "avx512").applied[0].text
        for columns in (48, 96)
    }
    assert "copies" not in applied[48]
    assert applied[96].endswith("copies of columns")


@pytest.mark.parametrize(
    ("updates", "sizes", "tile"),
    [
        (2, {"n": 4, "m": 28}, "14 rows along vx, 2 columns along vo"),
        (2, {"n": 4, "m": 7}, "7 rows along vx, 2 columns along vo"),
        (2, {"n": 3, "m": 28}, "7 rows along vx"),  # an odd number of blocks
        (1, {"n": 4, "m": 28}, "7 rows along vx, 2 summands at a time"),
    ],
)
def test_blocks_of_channels_share_elements_if_sums_are_fast(updates: int, sizes: dict[str, int], tile: str) -> None:
    (applied, *_) = schedule_cpu(program("blocks of channels", **sizes), f"avx512,updates_per_cycle={updates}").applied
    assert applied.text == f"sums in registers, vectors of 16 lanes along vl, {tile}"


@pytest.mark.parametrize(
    ("sizes", "facts", "summands"),
    [
        ({"k": 8, "m": 24}, "", 2),  # of 3 KiB each
        ({"k": 8, "m": 24}, ",l1_bytes=65536", 0),  # all fit into half of the cache
        ({"k": 13, "m": 24}, "", 0),  # a prime number
        ({"k": 8, "m": 7}, "", 0),  # two tiles of rows
        ({"k": 8, "m": 24}, ",cores=8", 0),  # fewer blocks of channels than threads use
    ],
)
def test_weights_stay_in_the_fastest_cache_for_all_rows(sizes: dict[str, int], facts: str, summands: int) -> None:
    original = program("blocks of channels", n=4, **sizes)
    schedules = schedule_cpu(original, f"avx2{facts}")
    text = schedules.applied[0].text
    assert text.endswith(f", {summands} summands at a time") if summands else "summands" not in text
    check_same_outputs(original, schedules.mod, seed=0, target="llvm")


def test_long_rows_are_read_as_they_are_in_memory() -> None:
    def text(**sizes: int) -> str:
        applied, *_ = schedule_cpu(program("long rows", **sizes), "avx2,cores=4").applied
        return applied.text

    assert text(k=8, n=8, m=1) == "sums in the L1 cache, vectors of 8 lanes along vj, 4 rows at a time"
    assert text(k=8, n=128, m=1).endswith(", in 2 parts")  # 4 parts would be shorter than 4 KiB
    assert text(k=8, n=2048, m=1).endswith(", in 9 parts")  # the sums of each fit into half of the L1 cache
    assert text(k=8, n=7, m=8).startswith("sums in registers")


def test_the_rows_of_windows_share_vectors() -> None:
    def text(cpu: str, name: str = "windows", **sizes: int) -> str:
        return next(each.text for each in schedule_cpu(program(name, **sizes), cpu).applied if each.rule == "windows")

    start, end = "sums in registers, vectors of 16 lanes along vx", "along vy, 3 taps along vp unrolled"
    assert text("avx512", m=48, n=96) == f"{start}, 2 at a time, 8 rows {end}"
    assert text("avx512", m=48, n=16) == f"{start}, 16 rows {end}"
    assert text("avx2", m=48, n=96) == f"{start.replace('16', '8')}, 2 at a time, 4 rows {end}"
    assert "2 rows along vy" in text("avx512", m=2, n=96)
    assert "3 taps along vp" in text("avx512", "channels")  # in steps of 2 rows


_STRIDED = """
@T.prim_func
def main(X: T.Buffer((3, {size}, {size}), "{dtype}"), W: T.Buffer((3, {taps}, {taps}), "{dtype}"),
         Y: T.Buffer((3, {result}, {result}), "{dtype}")):
    T.func_attr({{"tir.noalias": True}})
    padded = T.alloc_buffer((3, {size} + 2, {size} + 2), "{dtype}")
    for c, h, w in T.grid(3, {size} + 2, {size} + 2):
        with T.block("padded"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            inside = T.meta_var(1 <= vh and vh < {size} + 1 and 1 <= vw and vw < {size} + 1)
            padded[vc, vh, vw] = T.if_then_else(inside, X[vc, vh - 1, vw - 1], T.Cast("{dtype}", 0))
    for c, h, w, p, q in T.grid(3, {result}, {result}, {taps}, {taps}):
        with T.block("sums"):
            vc, vh, vw, vp, vq = T.axis.remap("SSSRR", [c, h, w, p, q])
            with T.init():
                Y[vc, vh, vw] = T.Cast("{dtype}", 0)
            Y[vc, vh, vw] = Y[vc, vh, vw] + padded[vc, vh * {step} + vp, vw * {step} + vq] * W[vc, vp, vq]
"""


@pytest.mark.parametrize(
    ("size", "taps", "step", "dtype"),
    [(31, 3, 2, "float32"), (37, 5, 2, "float64"), (64, 3, 3, "float32"), (64, 1, 2, "int32"), (48, 2, 4, "float32")],
)
def test_elements_that_windows_read_in_steps_become_adjacent(size: int, taps: int, step: int, dtype: str) -> None:
    result = (size + 2 - taps) // step + 1
    source = parse_tvmscript(_STRIDED.format(size=size, taps=taps, step=step, dtype=dtype, result=result))
    applied = {each.block: each for each in schedule_cpu(source, "avx512").applied if each.rule == "steps"}
    assert applied["padded"].text == f"the elements of a row {step} apart are adjacent for sums"
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (3, size, size)).astype(dtype)
    w = rng.integers(-9, 9, (3, taps, taps)).astype(dtype)
    y = np.zeros((3, result, result), dtype)
    build(source)(x, w, y)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (1, 1), (1, 1)]), (taps, taps), (1, 2))
    np.testing.assert_allclose(y, np.einsum("chwpq,cpq->chw", windows[:, ::step, ::step], w), rtol=1e-6)


def test_windows_and_steps_of_dynamic_sizes() -> None:
    x = relay.var("x", shape=(2, 3, relay.Any(), relay.Any()))
    w = np.arange(2 * 9, dtype="float32").reshape(2, 1, 3, 3)[[0, 1, 0]] - 8
    pooled = relay.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1))
    summed = relay.nn.conv2d(x, relay.const(w), padding=(1, 1), groups=3)
    module = relay.module(relay.Function([x], relay.Tuple([pooled, summed])))
    with collect_remarks() as remarks:
        executor = GraphExecutor(build_graph(module, target="llvm -mcpu=x86-64-v3"))
    messages = [remark.message for remark in remarks if remark.pass_name == "tir-schedule-cpu"]
    assert any("the elements of a row 2 apart are adjacent for pool_max" in message for message in messages)
    assert sum("by the rule windows" in message and "3 taps along" in message for message in messages) == 2
    for sizes in ((7, 7), (31, 64), (65, 9)):  # one program, whose compilation takes seconds
        image = np.random.default_rng(0).integers(-9, 9, (2, 3, *sizes)).astype("float32")
        executor.run(x=image)

        def windows(value: float, image: np.ndarray = image) -> Any:
            padded = np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=value)
            return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))

        np.testing.assert_array_equal(executor.get_output(0), windows(-np.inf)[:, :, ::2, ::2].max((-2, -1)))
        np.testing.assert_array_equal(executor.get_output(1), np.einsum("nchwpq,cpq->nchw", windows(0), w[:, 0]))


@pytest.mark.parametrize(("size", "step"), [(5, 2), (40, 1)])
def test_short_rows_and_windows_without_steps_stay_as_they_are(size: int, step: int) -> None:
    result = (size - 1) // step + 1
    source = parse_tvmscript(_STRIDED.format(size=size, taps=3, step=step, dtype="float32", result=result))
    assert "steps" not in [each.rule for each in schedule_cpu(source, "avx512").applied]


@pytest.mark.parametrize(("rows", "summands"), [(1, 160), (240, 960), (509, 257), (7, 70), (10, 64)])
def test_rows_are_summed_by_lanes_in_checked_functions(rows: int, summands: int) -> None:
    source = parse_tvmscript(f"""
@T.prim_func
def main(X: T.Buffer(({summands},), "float32"), W: T.Buffer(({rows}, {summands}), "float32"),
         Y: T.Buffer(({rows},), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for n, k in T.grid({rows}, {summands}):
        with T.block("sums"):
            vn, vk = T.axis.remap("SR", [n, k])
            with T.init():
                Y[vn] = T.float32(0)
            Y[vn] = Y[vn] + X[vk] * W[vn, vk]
""")
    applied = schedule_cpu(source, "avx512").applied[0]
    assert applied.rule == "partial sums"
    assert ("rows along vn" in applied.text) == (rows > 1 and summands <= 128)
    assert ("vectors of 64 lanes" in applied.text) == (summands > 128)
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-9, 9, shape).astype("float32") for shape in ((summands,), (rows, summands)))
    y = np.zeros(rows, "float32")
    build(source)(x, w, y)
    np.testing.assert_array_equal(y, w @ x)


@pytest.mark.parametrize("cpu", ["sse", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("channels", "groups", "rule"), [(16, 1, ""), (32, 2, ""), (16, 16, "depthwise ")])
def test_packed_convolutions_are_scheduled_for_each_processor(
    cpu: str, dtype: str, channels: int, groups: int, rule: str
) -> None:
    x = relay.var("x", shape=(1, channels, 6, 6), dtype=dtype)
    weight = np.zeros((channels, channels // groups, 3, 3), dtype)
    net = relay.nn.conv2d(x, relay.const(weight), padding=(1, 1), groups=groups)
    graph = lower_graph(relay.module(relay.Function([x], net)), pack=True)
    kernels = apply_passes(graph, "convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir")
    assert f"packed {rule}convolution" in [each.rule for each in schedule_cpu(kernels, cpu).applied]


def test_winograd_computes_no_tile_beyond_a_row() -> None:
    x, weight = relay.var("x", shape=(1, 64, 56, 56)), relay.const(np.zeros((64, 64, 3, 3), "float32"))
    graph = relay.module(relay.Function([x], relay.nn.conv2d(x, weight, padding=1)))
    converted = lower_graph(apply_passes(graph, "relay-convert-convolutions{tile-size=4}"))
    kernels = apply_passes(converted, "convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir")
    schedules = schedule_cpu(kernels, "avx512")
    assert "sums in registers, 64 channels of 4 tiles, 28 tiles at a time" in [each.text for each in schedules.applied]
    loops = apply_passes(schedules.mod, "tir-resolve-blocks,tir-partition-loops,tir-simplify{unit-loops=true}")
    assert not [op for op in loops.op.walk() if isinstance(op, IfOp)]


def test_a_trace_replays_and_declined_rules_leave_no_steps() -> None:
    module = program("elements that follow from others")
    schedules = schedule_cpu(module, "avx2")
    assert not [each for each in schedules.trace.instructions if each.name != "schedule.get_block"]
    module = program("rows")
    schedules = schedule_cpu(module, "avx2")
    again = Schedule(module)
    again.replay(str(schedules.trace))
    assert again.mod.script() == schedules.mod.script()
    assert "C with S: rows" in str(schedules)


def test_rows_of_two_products_are_computed_in_tiles() -> None:
    """If the L2 cache does not hold the intermediate results, and a tile has fewer rows than the matrix."""

    def applied(cpu: str, **sizes: int) -> list[str]:
        schedules = schedule_cpu(program("products of rows", **sizes), cpu)
        return [str(each) for each in schedules.applied if each.rule in ("row tiles", "epilogue")]

    assert applied("avx2,l2_bytes=16384") == [
        "C with S, E, M, P: row tiles, tiles of 18 rows along vi",
        "S with E: epilogue, in the loop ax1_0",
    ]
    assert applied("avx2,l2_bytes=65536,l1_bytes=65536", m=130, n=130)[0].endswith("tiles of 18 rows along vi")
    assert not any("row tiles" in each for each in applied("avx2,l2_bytes=65536"))


# Functions that stay as they are

PRODUCT = program_text("product", "float32", SIZES)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("for i, j, r in T.grid(m, n, k):", "for r, j, i in T.grid(k, n, m):", "are not the loops around it"),
        ("T.Cast", "T.Cast", ""),
        ('"tir.noalias": True', '"tir.noalias": True, "tir.is_scheduled": True', "has the attribute tir.is_scheduled"),
        (
            "for i, j, r in T.grid(m, n, k):",
            "for i, j in T.grid(m, n):\n      for r in T.unroll(k):",
            "loop r is not serial",
        ),
        (
            "for i, j, r in T.grid(m, n, k):",
            'for i, j in T.grid(m, n):\n      for r in T.serial(k, annotations={"x": 1}):',
            "loop r has annotations",
        ),
    ],
)
def test_the_reason_for_a_function_that_stays_as_it_is(before: str, after: str, reason: str) -> None:
    assert before in PRODUCT
    module = parse_tvmscript(PRODUCT.replace(before, after))
    (func,) = module.functions.values()
    assert reason in (unscheduled.reason_to_keep(func) or "")  # pyright: ignore[reportArgumentType]
    assert bool(schedule_cpu(module).functions) == (not reason)


STRIDED = PRODUCT.replace('"tir.noalias": True', '"tir.noalias": False').replace(
    'A = T.match_buffer(a, (m, k,), "float32")', 'A = T.match_buffer(a, (m, k), "float32", strides=(2 * k, 1))'
)
OVERLAP = "its buffers may overlap, since it lacks the attribute tir.noalias, and are not all contiguous"


def test_a_function_whose_strided_buffers_may_overlap_stays_as_it_is() -> None:
    module = parse_tvmscript(STRIDED)
    (func,) = module.functions.values()
    assert unscheduled.reason_to_keep(func) == OVERLAP
    assert not schedule_cpu(module).functions
    assert schedule_cpu(parse_tvmscript(STRIDED.replace('"tir.noalias": False', '"tir.noalias": True'))).functions


def test_a_function_that_a_schedule_has_changed_stays_as_it_is() -> None:
    schedule = Schedule(program("product"))
    schedule.get_loops("C")
    assert schedule_cpu(schedule.mod).functions
    schedule.cache_read("C", 0, "global")  # no loop shows it
    assert not schedule_cpu(schedule.mod).functions
    assert not schedule_cpu(parse_mlir(str(schedule.mod))).functions


def test_scheduled_functions_stay_as_they_are() -> None:
    module = schedule_cpu(program("product")).mod
    assert not schedule_cpu(module).functions
    assert str(apply_passes(module, "tir-schedule-cpu")) == str(module)


@pytest.mark.parametrize(
    ("name", "sizes", "cpu", "parts"),
    [
        ("all elements", {"m": 512, "n": 300}, "avx2,cores=4", 4),
        ("all elements", {"m": 1, "n": 100000}, "avx2,cores=3", 20),
        ("short rows", {"m": 512, "n": 300}, "avx512,cores=2", 2),
        ("short rows", {"m": 128, "n": 1024}, "avx512,cores=64", 32),  # more parts would take longer to add
        ("long rows", {"m": 0, "n": 64, "k": 2553}, "avx2,cores=2", 13),
        ("short rows", {"m": 512, "n": 3000}, "avx512,cores=2", 0),  # each thread has columns of its own
        ("all elements", {"m": 512, "n": 300}, "avx2,cores=1", 0),
        ("all elements", {"m": 4, "n": 30}, "avx2,cores=2", 0),
    ],
)
def test_threads_share_sums_of_few_results(name: str, sizes: dict[str, int], cpu: str, parts: int) -> None:
    schedules = schedule_cpu(program(name, **sizes), cpu)
    assert [each.block for each in schedules.applied if each.rule == "shared sums"] == ["C"] * bool(parts)
    loops = find_ops(schedules.mod.functions["main"], ForOp)
    shared = {loop.mixed_bounds[1] for loop in loops if loop.kind.data == "parallel"}
    assert shared == {parts} if parts else parts not in shared


def test_little_work_is_not_scheduled() -> None:
    with patch.object(unscheduled, "LEAST_TIME", 1000):
        assert not schedule_cpu(program("product", m=4, n=4, k=4)).functions
        assert schedule_cpu(program("product", m=64, n=64, k=64)).functions


def test_build_schedules_unless_it_is_told_not_to() -> None:
    arrays = [np.random.default_rng(0).random(shape, np.float32) for shape in ((48, 40), (40, 96), (48, 96))]
    code: dict[bool, str] = {}
    for schedule in (True, False):
        main = build(program("product"), schedule=schedule)
        code[schedule] = main.source("llvm")
        main(*arrays)
        np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-5)
    assert "<8 x float>" not in code[False]
    assert code[True] != code[False]


def test_functions_of_te_are_scheduled() -> None:
    a, b = (te.placeholder((64, 64), "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, 64), "k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    remarks: list[Remark] = []
    build(te.create_prim_func([a, b, c]), remarks=remarks.append)
    assert any("block C: by the rule contraction" in remark.message for remark in remarks)


def test_a_kept_function_is_reported() -> None:
    remarks: list[Any] = []
    build(parse_tvmscript(STRIDED), remarks=remarks.append)
    assert any(f"function main stays as it is: {OVERLAP}" in remark.message for remark in remarks)


def test_a_function_whose_buffers_may_overlap_has_a_scheduled_version() -> None:
    remarks: list[Remark] = []
    build(parse_tvmscript(PRODUCT.replace('"tir.noalias": True', '"a": 1')), remarks=remarks.append)
    scheduled = [remark for remark in remarks if "block C: by the rule contraction" in remark.message]
    assert [remark.place.function for remark in scheduled] == ["main_disjoint"]
    assert not any("stays as it is" in remark.message for remark in remarks)
