"""Checks matrix operations of warps on a GPU against numpy, and measures a product of matrices on tensor cores.

    python benchmarks/tensor_cores.py               # 20 s on a GPU
    python benchmarks/tensor_cores.py --emulated    # a smoke test: a small product, on the CPU

Products of small integers are exact in every data type, so they must be equal. The product that is measured has no
software pipeline: its loads wait for the products before them. If torch is installed, its product is measured as well.
"""

import argparse
import importlib
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import stepwell
from stepwell import DeviceError, PluginError, nd
from stepwell.core.dtypes import numpy_dtype

PRODUCT = """
@T.prim_func
def main(A: T.Buffer(({n}, {n}), "{dtype}"), B: T.Buffer(({n}, {n}), "{dtype}"), C: T.Buffer(({n}, {n}), "{sums}")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{sums}")
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{sums}") * T.cast(B[vk, vj], "{sums}")
"""


@dataclass(frozen=True)
class Case:
    """A product of factors and sums of some data types. words: their names in the names of intrinsics."""

    dtype: str
    sums: str
    words: tuple[str, str]


CASES = (
    Case("float16", "float32", ("f16", "f32")),
    Case("bfloat16", "float32", ("bf16", "f32")),
    Case("int8", "int32", ("s8", "s32")),
)
SIZE = 16
"""The rows and columns of a fragment."""


def schedule(case: Case, n: int, warps: tuple[int, int], tiles: tuple[int, int], steps: int) -> stepwell.Schedule:
    """A schedule of a product of n x n matrices. warps: of a block, along rows and columns.  tiles: fragments of sums
    of a warp.  steps: fragments of factors in shared memory at a time.
    """
    sch = stepwell.Schedule(stepwell.parse_tvmscript(PRODUCT.format(n=n, dtype=case.dtype, sums=case.sums)))
    block = sch.get_block("C")
    copies = []
    for number, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        shared = sch.cache_read(block, number, "shared")
        copies.append((shared, sch.cache_read(block, number, scope)))
    store = sch.cache_write(block, 0, "wmma.accumulator")
    i, j, k = sch.get_loops(block)
    block_i, warp_i, tile_i, i = sch.split(i, [None, warps[0], tiles[0], SIZE])
    block_j, warp_j, tile_j, j = sch.split(j, [None, warps[1], tiles[1], SIZE])
    k_0, k_1, k = sch.split(k, [None, steps, SIZE])
    sch.reorder(block_i, block_j, warp_i, warp_j, k_0, k_1, tile_i, tile_j, i, j, k)
    for loop, axis in (
        (block_i, "blockIdx.y"),
        (block_j, "blockIdx.x"),
        (warp_i, "threadIdx.y"),
        (warp_j, "threadIdx.z"),
    ):
        sch.bind(loop, axis)
    vector = 16 // numpy_dtype(case.dtype).itemsize
    for shared, fragment in copies:
        sch.compute_at(fragment, k_1)
        sch.compute_at(shared, k_0)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        _, y, z, x, lanes = sch.split(fused, [None, *warps, 32, vector])
        for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
            sch.bind(loop, axis)
        sch.vectorize(lanes)
        sch.storage_align(shared, 0, -2, 32, 16)
    sch.reverse_compute_at(store, warp_j)
    init = sch.decompose_reduction(block, k_0)
    factor, sums = case.words
    sch.tensorize(sch.get_loops(init)[-2], f"wmma_fill_16x16x16_{sums}")
    for target, name in (
        (copies[0][1], f"wmma_load_16x16x16_{factor}_a_shared"),
        (copies[1][1], f"wmma_load_16x16x16_{factor}_b_shared"),
        (store, f"wmma_store_16x16x16_{sums}_global"),
    ):
        (rows, row), (columns, column) = (sch.split(loop, [None, SIZE]) for loop in sch.get_loops(target)[-2:])
        sch.reorder(rows, columns, row, column)
        sch.unroll(rows)
        sch.unroll(columns)
        sch.tensorize(row, name)
    for loop in (tile_i, tile_j):
        sch.unroll(loop)
    sch.tensorize(i, f"wmma_sync_16x16x16_{factor}{factor}{sums}")
    return sch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulated", action="store_true", help="small, on the CPU")
    options = parser.parse_args()
    device = stepwell.cuda_emulated() if options.emulated else stepwell.cuda()
    target = "cuda-emulated" if options.emulated else "cuda"
    try:
        _ = device.driver
    except (DeviceError, PluginError) as error:
        print(f"not measured: {error}")
        sys.exit(0)
    check(device, target, 64 if options.emulated else 512)
    if not options.emulated:
        measure(device, target, 4096)


def check(device: stepwell.Device, target: str, n: int) -> None:
    """Compares products with numpy's."""
    rng = np.random.default_rng(0)
    for case in CASES:
        a, b = (rng.integers(-2, 3, (n, n)).astype(numpy_dtype(case.dtype)) for _ in range(2))
        c = nd.empty((n, n), case.sums, device)
        stepwell.build(schedule(case, n, (2, 2), (1, 2), 2).mod, target=target)(
            nd.array(a, device), nd.array(b, device), c
        )
        expected = a.astype(np.float64) @ b.astype(np.float64)
        if not np.array_equal(c.numpy().astype(np.float64), expected):
            sys.exit(f"{case.dtype}: the product of {n} differs from numpy's")
        print(f"{case.dtype} with sums of {case.sums}: equal to numpy")


def measure(device: stepwell.Device, target: str, n: int) -> None:
    """Prints the TFLOP/s of a product of float16."""
    rng = np.random.default_rng(0)
    arrays = [nd.array(rng.random((n, n)).astype("float16"), device) for _ in range(2)]
    c = nd.empty((n, n), "float32", device)
    work = 2 * n**3 / 1e12
    for warps, tiles in (((2, 2), (4, 4)), ((4, 2), (2, 4)), ((2, 2), (2, 4))):
        lib = stepwell.build(schedule(CASES[0], n, warps, tiles, 2).mod, target=target)
        seconds = lib["main"].time_evaluator(number=10, repeat=5)(*arrays, c).median
        print(f"float16, {n}, {warps} warps of {tiles} tiles: {seconds * 1e3:.3f} ms, {work / seconds:.1f} TFLOP/s")
    torch = _torch()
    if torch is not None:
        x, y = (torch.rand(n, n, dtype=torch.float16, device="cuda") for _ in range(2))
        for _ in range(3):
            x @ y
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(10):
            x @ y
        end.record()
        torch.cuda.synchronize()
        seconds = start.elapsed_time(end) / 1e4
        print(f"torch: {seconds * 1e3:.3f} ms, {work / seconds:.1f} TFLOP/s")


def _torch() -> Any:
    """The module torch with a GPU, None if there is none."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


if __name__ == "__main__":
    main()
