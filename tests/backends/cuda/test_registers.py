"""Products of matrices in the registers of a warp, in the oracle and on the emulated GPU, and their text."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from stepwell import Schedule, UnsupportedError, build, parse_tvmscript
from stepwell.analysis.threads.registers import WarpProduct
from stepwell.backends.cuda import nvrtc
from stepwell.backends.cuda.emulation import compiler
from stepwell.core.dtypes import numpy_dtype
from stepwell.frontends.tvm.tir.tensor_intrin import cuda as intrinsics

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ and binutils")

PROGRAM = """
@T.prim_func
def main(
    A: T.Buffer(({threads}, {na}), "{a}"), B: T.Buffer(({threads}, {nb}), "{b}"), C: T.Buffer(({threads}, {nc}), "{c}")
):
    T.func_attr({{"tir.noalias": True}})
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding({threads}, thread="threadIdx.x"):
            a = T.alloc_buffer(({na},), "{a}", scope="local")
            b = T.alloc_buffer(({nb},), "{b}", scope="local")
            c = T.alloc_buffer(({nc},), "{c}", scope="local")
            for i in range({na}):
                a[i] = A[tx, i]
            for i in range({nb}):
                b[i] = B[tx, i]
            for i in range({nc}):
                c[i] = C[tx, i]
            {statement}
            for i in range({nc}):
                C[tx, i] = c[i]
"""
WORDS = {"float16": "fp16", "bfloat16": "bf16", "tfloat32": "tf32", "float32": "fp32", "float64": "fp64"}


def _text(product: WarpProduct, threads: int = 32, **changes: Any) -> str:
    m, n, k = product.shape
    a, b, c = (str(dtype) for dtype in product.dtypes)
    na, nb, nc = product.counts
    words = [f"m{m}n{n}k{k}", *product.layouts, *(WORDS.get(w, w) for w in (product.left, product.right, product.sums))]
    values = ", ".join(f'"{word}"' for word in words)
    call = f"T.ptx_mma({values}, a.data, 0, b.data, 0, c.data, 0, False)"
    names = {"threads": threads, "a": a, "b": b, "c": c, "na": na, "nb": nb, "nc": nc, "statement": call}
    return PROGRAM.format(**{**names, **changes})


def _places(product: WarpProduct) -> list[tuple[np.ndarray, ...]]:
    """The product, the row and the column of each element of the factors and the sums in registers, as in the figures
    of the PTX ISA, "Matrix Fragments for mma"."""
    lane = np.arange(32)[:, None]
    group, member, zero = lane // 4, lane % 4, np.zeros((32, 1), int)
    a, b, c = (np.arange(n)[None] for n in product.counts)
    match product.shape, product.left:
        case (8, 8, 4), "float16":
            quad, below = lane % 16 // 4, lane // 16 * 4
            left = (member + below, a) if product.layouts[0] == "row" else (a + below, member)
            right = (member, b + below) if product.layouts[1] == "row" else (b, member + below)
            wide = (lane % 2 + c // 2 % 2 * 2 + below, c // 4 * 4 + lane // 2 % 2 * 2 + c % 2)
            sums = (member + below, c) if product.sums == "float16" else wide
            return [np.broadcast_arrays(quad, *pair) for pair in (left, right, sums)]
        case (8, 8, 4), "float64":
            left, right = (group, member + 0 * a), (member, group + 0 * b)
        case (16, 8, 8), "tfloat32":
            left, right = (group + a % 2 * 8, member + a // 2 * 4), (member + b * 4, group)
        case (16, 8, 16), "float16":
            left = (group + np.isin(a, (2, 3, 6, 7)) * 8, member * 2 + a % 2 + (a >= 4) * 8)
            right = (member * 2 + b % 2 + (b >= 2) * 8, group)
        case (16, 8, 8), "bfloat16":
            left, right = (group + (a >= 2) * 8, member * 2 + a % 2), (member * 2 + b, group)
        case (16, 8, 32), "int8" | "uint8":
            left = (group + (a // 4 % 2) * 8, member * 4 + a % 4 + (a >= 8) * 16)
            right = (member * 4 + b % 4 + (b >= 4) * 16, group)
        case _:
            left = (group + (a // 8 % 2) * 8, member * 8 + a % 8 + (a >= 16) * 32)
            right = (member * 8 + b % 8 + (b >= 8) * 32, group)
    sums = (group + c // 2 * 8, member * 2 + c % 2)
    return [np.broadcast_arrays(zero, *pair) for pair in (left, right, sums)]


PRODUCTS = [
    WarpProduct((8, 8, 4), "float16", "float16", "float32", ("col", "row")),
    WarpProduct((8, 8, 4), "float16", "float16", "float16", ("row", "col")),
    WarpProduct((8, 8, 4), "float64", "float64", "float64"),
    WarpProduct((16, 8, 8), "tfloat32", "tfloat32", "float32"),
    WarpProduct((16, 8, 16), "float16", "float16", "float32"),
    WarpProduct((16, 8, 8), "bfloat16", "bfloat16", "float32"),
    WarpProduct((16, 8, 32), "int8", "uint8", "int32"),
    WarpProduct((16, 8, 64), "uint4", "int4", "int32"),
]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_products_have_the_results_of_numpy(product: WarpProduct) -> None:
    rng, dtypes = np.random.default_rng(0), product.dtypes
    registers = [
        rng.integers(0 if dtype.kind == "uint" else -4, 4, (32, n)).astype(numpy_dtype(str(dtype)))
        for dtype, n in zip(dtypes, product.counts, strict=True)
    ]
    m, n, k = product.shape
    places = _places(product)
    matrices = [np.zeros((4, *shape)) for shape in ((m, k), (k, n), (m, n))]
    for matrix, place, values in zip(matrices, places, registers, strict=True):
        matrix[tuple(place)] = values.astype(float)
    expected = (matrices[0] @ matrices[1] + matrices[2])[tuple(places[2])]
    for target in ("python", "cuda-emulated"):
        sums = registers[2].copy()
        build(parse_tvmscript(_text(product)), target=target)(*registers[:2], sums)
        np.testing.assert_array_equal(sums.astype(float), expected)


def test_each_warp_of_a_block_computes_a_product() -> None:
    product = PRODUCTS[4]
    a, b, c = (np.ones((64, n), str(d)) for d, n in zip(product.dtypes, product.counts, strict=True))
    a[32:] = 2
    for target in ("python", "cuda-emulated"):
        sums = c.copy()
        build(parse_tvmscript(_text(product, threads=64)), target=target)(a, b, sums)
        assert sums.tolist() == [[17] * 4] * 32 + [[33] * 4] * 32


def test_kernels_have_the_instruction_of_ptx() -> None:
    if find_spec("cuda") is None and nvrtc._nvcc() is None:
        pytest.skip("no compiler of CUDA")
    for product in (PRODUCTS[1], PRODUCTS[7]):
        text = build(parse_tvmscript(_text(product)), target="cuda-emulated").source("cuda")
        words = product.name.split("_")
        name = ".".join(["mma.sync.aligned", *words, words[3]])
        assert name in text
        assert name in nvrtc.compile_cuda(text, "sm_80").ptx
    values = {"number": 4, "trans": True, "threads": 32, "count": 8, "scope": "shared", "row": "tx"}
    text = build(parse_tvmscript(LOADS.format(**values)), target="cuda-emulated").source("cuda")
    assert "ldmatrix.sync.aligned.m8n8.x4.trans" in nvrtc.compile_cuda(text, "sm_80").ptx


LOADS = """
@T.prim_func
def main(A: T.Buffer(({threads}, 8), "float16"), B: T.Buffer(({threads}, {count}), "float16")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        S = T.alloc_buffer(({threads}, 8), "float16", scope="{scope}")
        for tx in T.thread_binding({threads}, thread="threadIdx.x"):
            r = T.alloc_buffer(({count},), "float16", scope="local")
            for i in range(8):
                S[tx, i] = A[tx, i]
            T.ptx_ldmatrix({trans}, {number}, ".b16", r.data, 0, S.access_ptr("r"), {row} * 8)
            for i in range({count}):
                B[tx, i] = r[i]
"""


@pytest.mark.parametrize(("number", "trans", "threads"), [(1, False, 32), (2, True, 32), (4, True, 64)])
def test_rows_of_matrices_are_divided_among_lanes(number: int, trans: bool, threads: int) -> None:
    values = {"number": number, "trans": trans, "threads": threads, "count": 2 * number}
    a = np.random.default_rng(0).random((threads, 8)).astype(np.float16)
    expected = np.zeros((threads, 2 * number), np.float16)
    for thread in range(threads):
        warp, lane = thread // 32 * 32, thread % 32
        for r in range(number):
            matrix = a[warp + 8 * r : warp + 8 * r + 8]
            part = (matrix.T if trans else matrix)[lane // 4]
            expected[thread, 2 * r : 2 * r + 2] = part[lane % 4 * 2 : lane % 4 * 2 + 2]
    mod = parse_tvmscript(LOADS.format(**values, scope="shared", row="tx"))
    kernel = build(mod, target="cuda-emulated")
    instruction = f"ldmatrix.sync.aligned.m8n8.x{number}{'.trans' * trans}.shared.b16"
    assert instruction in kernel.source("cuda")
    for program in (build(mod, target="python"), kernel):
        b = np.zeros_like(expected)
        program(a, b)
        np.testing.assert_array_equal(b, expected)


def test_matrices_in_other_memory_are_loaded_without_the_instruction() -> None:
    values = {"number": 1, "trans": False, "threads": 32, "count": 2, "scope": "global", "row": "tx"}
    kernel = build(
        parse_tvmscript(LOADS.format(**values).replace("S.access_ptr", "A.access_ptr")), target="cuda-emulated"
    )
    assert "ldmatrix" not in kernel.source("cuda")


def _call(shape: str, dtype: str) -> str:
    return f'T.ptx_mma("{shape}", "row", "col", "{dtype}", "{dtype}", "fp32", a.data, 0, b.data, 0, c.data, 0, False)'


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"statement": "T.ptx_mma(1)"}, "expected 13 or 14 operands, got 1"),
        ({"statement": _call("m16n8k32", "fp16")}, "no product m16n8k32 row col fp16 fp16 fp32"),
        ({"statement": _call("m16n8k16", "bf16")}, "a has elements of float16, expected bfloat16"),
        (
            {"statement": f"if tx < 8:\n                {_call('m16n8k16', 'fp16')}"},
            "lanes exchange values where not all threads of the block come",
        ),
        ({"threads": 16}, "expected a multiple of 32 threads of threadIdx.x, got 16"),
        ({"statement": "T.mma_store(8, 8, C.data, c.data, 0, 8)"}, "sums of 8x8, expected 16x16"),
        ({"statement": 'T.ptx_ldmatrix(False, 3, ".b16", a.data, 0, A.data, 0)'}, "3 matrices of elements of 16 bits"),
    ],
)
def test_operations_that_no_warp_has_are_rejected(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(UnsupportedError, match=expected):
        build(parse_tvmscript(_text(PRODUCTS[4], **changes)), target="cuda-emulated")


MATMUL = """
@T.prim_func
def main(A: T.Buffer((32, 32), "{dtype}"), B: T.Buffer((32, 32), "{dtype}"), C: T.Buffer((32, 32), "{sums}")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{sums}")
            C[vi, vj] = C[vi, vj] + T.cast({left}, "{sums}") * T.cast({right}, "{sums}")
"""


def _tiled(rows: int, columns: int, place):
    """The map of indices to a tile, and to the place of an element of a tile in registers."""
    return lambda i, j: (i // rows, j // columns, *place(i % rows, j % columns))


@pytest.mark.parametrize(
    ("words", "a_trans", "b_trans"), [("f16f16f32", False, False), ("f16f16f32", True, True), ("i8i8i32", False, False)]
)
def test_a_schedule_computes_a_product_in_registers(words: str, a_trans: bool, b_trans: bool) -> None:
    dtype, sums, depth = ("int8", "int32", 32) if words[0] == "i" else ("float16", "float32", 16)
    left, right = "A[vk, vi]" if a_trans else "A[vi, vk]", "B[vj, vk]" if b_trans else "B[vk, vj]"
    sch = Schedule(parse_tvmscript(MATMUL.format(dtype=dtype, sums=sums, left=left, right=right)))
    block = sch.get_block("C")
    names = intrinsics.get_mma_intrin_group("shared", "global", dtype, sums, a_trans, b_trans, False)
    shared = [sch.cache_read(block, n, "shared") for n in range(2)]
    loads = [sch.cache_read(block, n, "warp") for n in range(2)]
    store = sch.cache_write(block, 0, "warp")
    i, j, k = sch.get_loops(block)
    (i, ii), (j, jj), (k, kk) = (sch.split(x, [None, n]) for x, n in ((i, 16), (j, 16), (k, depth)))
    sch.reorder(i, j, k, ii, jj, kk)
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.y")
    for copy, load in zip(shared, loads, strict=True):
        sch.compute_at(load, k)
        sch.compute_at(copy, k)
        _, inner = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 32])
        sch.bind(inner, "threadIdx.x")
    sch.reverse_compute_at(store, j)
    init = sch.decompose_reduction(block, k)
    square, tall = intrinsics.shared_16x16_to_ldmatrix_32x8_layout, intrinsics.shared_32x16_to_ldmatrix_32x16_layout
    maps = [square, square] if depth == 16 else [intrinsics.shared_16x32_to_ldmatrix_32x16_layout, tall]
    tiles = [(depth, 16) if a_trans else (16, depth), (16, depth) if b_trans else (depth, 16)]
    for load, tile, place in zip(loads, tiles, maps, strict=True):
        sch.transform_layout(load, ("write", 0), _tiled(*tile, place))
    sch.transform_layout(store, ("read", 0), _tiled(16, 16, square))
    for load, name in zip(loads, (names["load_a"], names["load_b"]), strict=True):
        sch.tensorize(sch.get_loops(load)[-2], name)
    sch.tensorize(sch.get_loops(block)[-3], names["compute"])
    sch.tensorize(sch.get_loops(init)[-2], names["init"])
    sch.tensorize(sch.get_loops(store)[-2], names["store"])
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (32, 32)).astype(dtype) for _ in range(2))
    c = np.zeros((32, 32), sums)
    build(sch.mod, target="cuda-emulated")(a, b, c)
    wide_a, wide_b = a.astype(float), b.astype(float)
    np.testing.assert_array_equal(c, (wide_a.T if a_trans else wide_a) @ (wide_b.T if b_trans else wide_b))
