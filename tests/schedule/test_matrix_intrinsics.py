"""Tensor intrinsics of matrix operations: their names, and a product of matrices that a schedule computes by them."""

import numpy as np
import pytest

from stepwell import Schedule, build, parse_tvmscript
from stepwell.backends.cuda.emulation import compiler
from stepwell.core.dtypes import numpy_dtype
from stepwell.core.errors import OptionError, ScheduleError
from stepwell.schedule.intrinsics import tensor_intrin
from stepwell.schedule.matrix_intrinsics import matrix_intrinsic

MATMUL = """
@T.prim_func
def main(A: T.Buffer({a}, "{dtype}"), B: T.Buffer({b}, "{dtype}"), C: T.Buffer({c}, "{sums}")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({sizes}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{sums}")
            C[vi, vj] = C[vi, vj] + {left} * {right}
"""


def _schedule(
    dtype: str, sums: str, word: str, sums_word: str, shape: tuple[int, int, int], trans: bool, count: int
) -> Schedule:
    """A schedule of a product: a warp for each half of the rows, tiles of the inputs in shared memory.

    count: the number of operations along each axis.
    """
    left, right = "A[vi, vk]", "B[vj, vk]" if trans else "B[vk, vj]"
    if dtype != sums:
        left, right = f'T.cast({left}, "{sums}")', f'T.cast({right}, "{sums}")'
    rows, columns, depth = (count * extent for extent in shape)
    shapes = {"a": (rows, depth), "b": (columns, depth) if trans else (depth, columns), "c": (rows, columns)}
    text = MATMUL.format(dtype=dtype, sums=sums, left=left, right=right, sizes=f"{rows}, {columns}, {depth}", **shapes)
    sch = Schedule(parse_tvmscript(text))
    block = sch.get_block("C")
    loads = []
    for n, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        shared = sch.cache_read(block, n, "shared")
        loads.append((shared, sch.cache_read(block, n, scope)))
    store = sch.cache_write(block, 0, "wmma.accumulator")
    m, n, k = shape
    i, j, step = sch.get_loops(block)
    warp, i, ii = sch.split(i, [2, None, m])
    grid, j, jj = sch.split(j, [2, None, n])
    ko, ki, kk = sch.split(step, [2, None, k])
    sch.reorder(grid, warp, ko, ki, i, j, ii, jj, kk)
    sch.bind(grid, "blockIdx.x")
    sch.bind(warp, "threadIdx.y")
    for shared, fragment in loads:
        sch.compute_at(fragment, ki)
        sch.compute_at(shared, ko)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        ty, _, tx = sch.split(fused, [2, None, 32])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.storage_align(shared, 0, -2, 32, 16)
    sch.reverse_compute_at(store, warp)
    init = sch.decompose_reduction(block, ko)
    words = f"{m}x{n}x{k}"
    suffix = "_trans" if trans else ""
    right_tile = (n, k) if trans else (k, n)
    for target, name, tile in (
        (init, f"wmma_fill_{words}_{sums_word}", None),
        (loads[0][1], f"wmma_load_{words}_{word}_a_shared", (m, k)),
        (loads[1][1], f"wmma_load_{words}_{word}_b{suffix}_shared", right_tile),
        (block, f"wmma_sync_{words}_{word}{word}{sums_word}{suffix}", None),
        (store, f"wmma_store_{words}_{sums_word}_global", (m, n)),
    ):
        loops = sch.get_loops(target)
        if tile is not None:
            (i_0, i_1), (j_0, j_1) = (sch.split(loop, [None, n]) for loop, n in zip(loops[-2:], tile, strict=True))
            sch.reorder(i_0, j_0, i_1, j_1)
            sch.tensorize(i_1, name)
        else:
            sch.tensorize(loops[-3 if target is block else -2], name)
    return sch


CASES = [
    ("float16", "float32", "f16", "f32", (16, 16, 16), False, 4),
    ("float16", "float16", "f16", "f16", (32, 8, 16), True, 2),
    ("int8", "int32", "s8", "s32", (8, 32, 16), True, 2),
    ("bfloat16", "float32", "bf16", "f32", (16, 16, 16), True, 2),
]


@pytest.mark.parametrize(("dtype", "sums", "word", "sums_word", "shape", "trans", "count"), CASES)
def test_a_schedule_computes_a_product_by_matrix_operations(
    dtype: str, sums: str, word: str, sums_word: str, shape: tuple[int, int, int], trans: bool, count: int
) -> None:
    sch = _schedule(dtype, sums, word, sums_word, shape, trans, count)
    text = sch.mod.script()
    assert text.count("T.tvm_load_matrix_sync(") == 2
    assert parse_tvmscript(text).script() == text
    rng = np.random.default_rng(0)
    rows, columns, depth = (count * extent for extent in shape)
    sizes = (rows, depth), (columns, depth) if trans else (depth, columns)
    a, b = (rng.integers(-2, 3, size).astype(numpy_dtype(dtype)) for size in sizes)
    wide = np.float64
    expected = a.astype(wide) @ (b.T if trans else b).astype(wide)
    for target in ("python", "cuda-emulated") if compiler() is not None else ("python",):
        c = np.zeros((rows, columns), numpy_dtype(sums))
        build(sch.mod, target=target)(a, b, c)
        np.testing.assert_array_equal(c.astype(wide), expected)


def test_names_of_operations_that_no_tensor_core_has_are_unknown() -> None:
    assert matrix_intrinsic("wmma_sync_16x16x16_f16f16f32") is not None
    for name in ("wmma_sync_16x16x16_f16f16s32", "wmma_sync_16x16x8_f16f16f32", "wmma_load_16x16x16_f32_a_shared"):
        assert matrix_intrinsic(name) is None
        with pytest.raises(OptionError, match=f"no tensor intrinsic '{name}'"):
            tensor_intrin(name)


def test_a_fragment_of_another_shape_does_not_match() -> None:
    sch = _schedule(*CASES[0])
    with pytest.raises(ScheduleError, match="wmma_fill_16x16x16_f16"):
        sch.tensorize(sch.get_block("C_init_o"), "wmma_fill_16x16x16_f16")
