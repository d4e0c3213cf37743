"""Workloads to test searches for schedules with: `tvm.testing.auto_scheduler`."""

from __future__ import annotations

from typing import Any, TypeAlias

from ....expressions.functions import indexdiv, indexmod
from ....expressions.tensor import Tensor
from .. import auto_scheduler, te, topi
from ..absent import report_absent
from ..auto_scheduler import ComputeDAG
from ..auto_scheduler.loop_state import State
from ..topi.winograd_util import winograd_transform_matrices

__getattr__ = report_absent("tvm.testing.auto_scheduler")

Tensors: TypeAlias = "list[Tensor]"


def _product(a: Tensor, b: Tensor, name: str, **options: Any) -> Tensor:
    """A product of matrices. options: of `te.compute`."""
    k = te.reduce_axis((0, a.shape[1]), name="k")
    shape = (a.shape[0], b.shape[1])
    return te.compute(shape, lambda i, j: te.sum(a[i][k] * b[k][j], axis=[k]), name=name, **options)


def _squares(size: int, *names: str) -> Tensors:
    """Square matrices."""
    return [te.placeholder((size, size), "float32", name) for name in names]


@auto_scheduler.register_workload
def matmul_auto_scheduler_test(N: int, M: int, K: int) -> Tensors:
    """A product of matrices, N by K and K by M, whose second factor may have any layout."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    return [a, b, _product(a, b, "C", attrs={"layout_free_placeholders": [b]})]


@auto_scheduler.register_workload("matmul_auto_scheduler_test_rename_1")
def matmul_auto_scheduler_test_rename_0(N: int, M: int, K: int) -> Tensors:
    """A product of matrices, N by K and K by M, under another name than that of the function."""
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    return [a, b, _product(a, b, "C")]


@auto_scheduler.register_workload
def double_matmul_auto_scheduler_test(N: int) -> Tensors:
    """A product of three matrices."""
    a, b, c = _squares(N, "A", "B", "C")
    return [a, b, c, _product(_product(a, b, "D"), c, "E")]


@auto_scheduler.register_workload
def parallel_matmul_auto_scheduler_test(N: int) -> Tensors:
    """Two products of matrices with the same first factor."""
    a, b, c = _squares(N, "A", "B", "C")
    return [a, b, c, _product(a, b, "D"), _product(a, c, "E")]


@auto_scheduler.register_workload
def conv2d_nchw_bn_relu_auto_scheduler_test(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int, strides: int, padding: int, dilation: int = 1
) -> Tensors:
    """A convolution with a bias, a scale, an offset and a rectifier, each a stage."""
    data = te.placeholder((N, CI, H, W), name="Data")
    kernel = te.placeholder((CO, CI, kernel_size, kernel_size), name="Kernel")
    bias, scale, offset = (te.placeholder((CO, 1, 1), name=name) for name in ("Bias", "Bn_scale", "Bn_offset"))
    height, width = ((n + 2 * padding - (kernel_size - 1) * dilation - 1) // strides + 1 for n in (H, W))
    shape = (N, CO, height, width)
    conv = topi.nn.conv2d_nchw(data, kernel, strides, padding, dilation)
    biased = te.compute(shape, lambda i, j, k, m: conv[i, j, k, m] + bias[j, 0, 0], name="Bias_add")
    scaled = te.compute(shape, lambda i, j, k, m: biased[i, j, k, m] * scale[j, 0, 0], name="Bn_mul")
    moved = te.compute(shape, lambda i, j, k, m: scaled[i, j, k, m] + offset[j, 0, 0], name="Bn_add")
    return [data, kernel, bias, offset, scale, topi.nn.relu(moved)]


@auto_scheduler.register_workload
def max_pool2d_auto_scheduler_test(N: int, H: int, W: int, CI: int, padding: int) -> Tensors:
    """The maxima of windows of 2 by 2."""
    data = te.placeholder((N, CI, H, W), name="Data")
    return [data, topi.nn.pool2d(data, [2, 2], [1, 1], [1, 1], [padding] * 4, "max")]


@auto_scheduler.register_workload
def min_nm_auto_scheduler_test(N: int, M: int) -> Tensors:
    """The minima of the rows of a matrix."""
    a = te.placeholder((N, M), name="A")
    return [a, topi.min(a, axis=-1)]


@auto_scheduler.register_workload
def softmax_nm_auto_scheduler_test(N: int, M: int) -> Tensors:
    """The softmax of the rows of a matrix."""
    a = te.placeholder((N, M), name="A")
    return [a, topi.nn.softmax(a, axis=1)]


@auto_scheduler.register_workload
def softmax_abcd_auto_scheduler_test(a: int, b: int, c: int, d: int) -> Tensors:
    """The softmax along the last of four dimensions."""
    data = te.placeholder((a, b, c, d), name="A")
    return [data, topi.nn.softmax(data, axis=-1)]


@auto_scheduler.register_workload
def invalid_compute_definition() -> Tensors:
    """A sum whose two axes have one name, which is no workload."""
    a = te.placeholder((10, 10), name="A")
    first, second = te.reduce_axis((0, 2), name="r1"), te.reduce_axis((0, 2), name="r1")
    return [a, te.compute((10,), lambda i: te.sum(a[i][first + second], axis=[first, second]), name="B")]


@auto_scheduler.register_workload
def zero_rank_reduce_auto_scheduler_test(N: int) -> Tensors:
    """The sum of a vector, without dimensions."""
    a, k = te.placeholder((N,), name="A"), te.reduce_axis((0, N), name="k")
    return [a, te.compute((), lambda: te.sum(a[k], k), name="B")]


@auto_scheduler.register_workload
def zero_rank_compute_auto_scheduler_test(N: int) -> Tensors:
    """The first element of a vector, without dimensions."""
    a = te.placeholder((N,), name="A")
    return [a, te.compute((), lambda: a[0], name="B")]


_UNROLLED = "auto_scheduler_simplify_const_tensor_indices"
"""The attribute of a stage with the names of loops over constant tensors."""


@auto_scheduler.register_workload
def conv2d_winograd_nhwc_auto_scheduler_test(
    N: int, H: int, W: int, CI: int, CO: int, kernel_size: int = 3, stride: int = 1, padding: Any = 0, dilation: int = 1
) -> Tensors:
    """A convolution by Winograd's algorithm in tiles of 4 by 4, of a transformed weight. Strides and dilations are 1,
    other arguments are ignored."""
    tile = 4
    size = tile + kernel_size - 1
    data = te.placeholder((N, H, W, CI), name="inputs")
    top, left, _, _ = topi.nn.get_pad_tuple(padding, (kernel_size, kernel_size))
    padded = topi.nn.pad(data, (0, top, left, 0), (0, top, left, 0), name="data_pad")
    height, width = H + 2 * top - kernel_size + 1, W + 2 * left - kernel_size + 1
    rows, columns = -(-height // tile), -(-width // tile)
    count = N * rows * columns
    a, b, _ = winograd_transform_matrices(tile, kernel_size, "float32")
    weight = te.placeholder((size, size, CI, CO), data.dtype, "weight")

    def pixel(eps: Any, nu: Any, p: Any, ci: Any) -> Any:
        y = indexmod(indexdiv(p, columns), rows) * tile + eps
        return padded[indexdiv(p, rows * columns)][y][indexmod(p, columns) * tile + nu][ci]

    tiles = te.compute((size, size, count, CI), pixel, name="input_tile")
    values = _transform(tiles, b, size, "data_pack", ("eps", "nu", "p", "ci"))
    k = te.reduce_axis((0, CI), name="ci")
    products = te.compute(
        (size, size, count, CO),
        lambda eps, nu, p, co: te.sum(values[eps][nu][p][k] * weight[eps][nu][k][co], axis=[k]),
        name="bgemm",
    )
    results = _transform(products, a, tile, "inverse", ("vh", "vw", "p", "co"))

    def element(n: Any, h: Any, w: Any, co: Any) -> Any:
        place = n * rows * columns + indexdiv(h, tile) * columns + indexdiv(w, tile)
        return results[indexmod(h, tile), indexmod(w, tile), place, co]

    return [data, weight, te.compute((N, height, width, CO), element, name="conv2d_winograd")]


def _transform(tiles: Tensor, matrix: Tensor, size: int, name: str, axes: tuple[str, str, str, str]) -> Tensor:
    """The products of a transposed matrix, the tiles and the matrix. tiles: the first two dimensions are those of a
    tile.  size: of the results.  axes: the names of the loops."""
    inner = tiles.shape[0]
    r_a, r_b = (te.reduce_axis((0, inner), each) for each in ("r_a", "r_b"))

    def element(i: Any, j: Any, p: Any, c: Any) -> Any:
        return te.sum(tiles[r_a][r_b][p][c] * matrix[r_a][i] * matrix[r_b][j], axis=[r_a, r_b])

    shape = (size, size, tiles.shape[2], tiles.shape[3])
    attributes = {_UNROLLED: [*axes[:2], "r_a", "r_b"]}
    return te.compute(shape, element, name=name, attrs=attributes, varargs_names=list(axes))


def get_tiled_matmul() -> tuple[ComputeDAG, State]:
    """The product of two matrices of 512 by 512, and a state of its tensors with four levels of tiles."""
    tensors = matmul_auto_scheduler_test(512, 512, 512)
    product = tensors[-1]
    dag = ComputeDAG(tensors)
    state = dag.get_init_state()
    y = state.split(product, state[product].iters[0], [4, 8, 8])
    x = state.split(product, state[product].iters[4], [8, 4, 4])
    loops = [loop for pair in zip(y, x, strict=True) for loop in pair]
    state.reorder(product, [*loops, state[product].iters[8]])
    return dag, state


__all__ = [
    "conv2d_nchw_bn_relu_auto_scheduler_test", "conv2d_winograd_nhwc_auto_scheduler_test",
    "double_matmul_auto_scheduler_test", "get_tiled_matmul", "invalid_compute_definition",
    "matmul_auto_scheduler_test", "matmul_auto_scheduler_test_rename_0", "max_pool2d_auto_scheduler_test",
    "min_nm_auto_scheduler_test", "parallel_matmul_auto_scheduler_test", "softmax_abcd_auto_scheduler_test",
    "softmax_nm_auto_scheduler_test", "zero_rank_compute_auto_scheduler_test", "zero_rank_reduce_auto_scheduler_test",
]  # fmt: skip
