"""`tvm.topi`: names and arguments of TVM v0.16."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, UnsupportedError
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import te, topi

X = np.arange(12, dtype="float32").reshape(3, 4)


def run(made: Any, *inputs: tuple[Any, np.ndarray]) -> np.ndarray:
    out = tvm.nd.empty([int(extent) for extent in made.shape], made.dtype)
    tvm.build(te.create_prim_func([*(tensor for tensor, _ in inputs), made]))(*(array for _, array in inputs), out)
    return out.numpy()


def given() -> tuple[Any, np.ndarray]:
    return te.placeholder((3, 4), name="A"), X


def test_a_chain_of_operators() -> None:
    A = given()
    made = topi.sum(topi.exp(topi.subtract(A[0], topi.max(A[0], axis=1, keepdims=True))), axis=-1)
    np.testing.assert_allclose(run(made, A), np.exp(X - X.max(1, keepdims=True)).sum(1), 1e-6)


def test_operators_on_elements_are_expressions() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: topi.power(a[i] - i, 2) + topi.maximum(a[i], 1.0), name="B")
    function = tvm.build(te.create_schedule(b.op), [a, b])
    values = np.arange(4, dtype=np.float32) * 3
    result = np.zeros_like(values)
    function(values, result)
    np.testing.assert_array_equal(result, (values - np.arange(4)) ** 2 + np.maximum(values, 1))


def test_lists_of_tensors() -> None:
    A = given()
    np.testing.assert_array_equal(run(topi.concatenate([A[0], A[0]], axis=1), A), np.concatenate([X, X], 1))
    np.testing.assert_array_equal(run(topi.stack((A[0], A[0]), 1), A), np.stack([X, X], 1))
    np.testing.assert_array_equal(run(topi.split(A[0], [1], 1)[1], A), X[:, 1:])


def test_places_and_parts() -> None:
    A = given()
    np.testing.assert_array_equal(run(topi.argmax(A[0], 1, True), A), X.argmax(1, keepdims=True))
    np.testing.assert_array_equal(run(topi.argmin(A[0], 0), A), X.argmin(0))
    np.testing.assert_array_equal(run(topi.flip(A[0]), A), X[::-1])
    np.testing.assert_array_equal(run(topi.strided_slice(A[0], [0, 1], [3, 4], [2, 2]), A), X[0:3:2, 1:4:2])
    sized = topi.strided_slice(A[0], [1, 1], [-1, 2], slice_mode="size")
    np.testing.assert_array_equal(run(sized, A), X[1:, 1:3])
    np.testing.assert_array_equal(run(topi.cast(A[0], "int32"), A), X.astype("int32"))


def test_elements_that_are_taken() -> None:
    indices = te.placeholder((2,), "int64", name="I")
    A = given()
    made = run(topi.take(A[0], indices, 0), A, (indices, np.array([2, 9])))
    np.testing.assert_array_equal(made, X[[2, 2]])


def test_coordinates_and_windows() -> None:
    A = given()
    rows, columns = (te.placeholder((2,), "int32", name=name) for name in "IJ")
    places = (rows, np.array([2, 0], "int32")), (columns, np.array([1, 3], "int32"))
    np.testing.assert_array_equal(run(topi.adv_index(A[0], [rows, columns]), A, *places), X[[2, 0], [1, 3]])
    np.testing.assert_array_equal(run(topi.meshgrid([rows, columns], "ij")[1], *places), [[1, 3], [1, 3]])
    dense = run(topi.sparse_to_dense(rows, [4], columns, 7), *places)
    np.testing.assert_array_equal(dense, [3, 7, 1, 7])
    diagonal = te.placeholder((3,), name="D"), np.array([8, 9, 7], "float32")
    made = run(topi.matrix_set_diag(A[0], diagonal[0], 1), A, diagonal)
    np.testing.assert_array_equal(made, topi.testing.matrix_set_diag(X, diagonal[1], 1))
    assert made[1, 2] == 9
    np.testing.assert_array_equal(run(topi.sliding_window(A[0], 1, [2], [2]), A), X.reshape(3, 2, 2))
    weight = te.placeholder((1, 2, 2), name="W"), np.ones((1, 2, 2), "float32")
    image = te.placeholder((1, 1, 3, 4), name="A"), X[None, None]
    made = run(topi.image.dilation2d_nchw(image[0], weight[0], 1, 0, 1), image, weight)
    np.testing.assert_array_equal(made[0, 0], X[1:, 1:] + 1)


def test_regions_and_boxes_of_images() -> None:
    image = te.placeholder((1, 1, 3, 4), name="A"), X[None, None]
    rois = te.placeholder((1, 5), name="R"), np.array([[0, 0, 0, 3, 2]], "float32")
    pooled = run(topi.vision.rcnn.roi_pool_nchw(image[0], rois[0], 1, 1.0), image, rois)
    assert pooled.item() == X.max()
    first = run(topi.vision.roi_align_nchw(image[0], rois[0], (2, 2), 1.0, b"avg", 2), image, rois)
    moved = te.placeholder((1, 3, 4, 1), name="A"), X[None, ..., None]
    last = run(topi.vision.roi_align_nhwc(moved[0], rois[0], (2, 2), 1.0, "avg", 2), moved, rois)
    np.testing.assert_array_equal(last, np.moveaxis(first, 1, -1))
    boxes = run(topi.vision.ssd.multibox_prior(image[0], sizes=(1.0, 0.5)), image)
    assert boxes.shape == (1, 24, 4)
    assert boxes[0, 0].tolist() == pytest.approx([0.125 - 0.5 * 3 / 4, 1 / 6 - 0.5, 0.125 + 0.5 * 3 / 4, 1 / 6 + 0.5])
    deep = te.placeholder((1, 4, 2, 2), name="A"), np.arange(16, dtype="float32").reshape(1, 4, 2, 2)
    made = run(topi.vision.reorg(deep[0], 2), deep)
    np.testing.assert_array_equal(made.ravel(), [0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15])
    with pytest.raises(UnsupportedError, match="sample_ratio -1, expected a positive one"):
        topi.vision.roi_align_nchw(image[0], rois[0], 2, 1.0, "avg")
    with pytest.raises(AttributeError, match=r"expected relay.vision.non_max_suppression"):
        _ = topi.vision.non_max_suppression


def test_products_and_shapes() -> None:
    A, B = given(), (te.placeholder((3, 4), name="B"), X[::-1].copy())
    np.testing.assert_array_equal(run(topi.matmul(A[0], B[0], True), A, B), X.T @ X[::-1])
    np.testing.assert_array_equal(run(topi.tensordot(A[0], B[0], [1, 1]), A, B), X @ X[::-1].T)
    np.testing.assert_array_equal(run(topi.tensordot(A[0], B[0], [[0, 1], [0, 1]]), A, B), np.vdot(X, X[::-1]))
    T = te.placeholder((4, 2), name="T"), np.ones((4, 2), "float32")
    np.testing.assert_array_equal(run(topi.tensordot(A[0], T[0], 1), A, T), X @ T[1])
    np.testing.assert_array_equal(run(topi.layout_transform(A[0], "AB", "BA"), A), X.T)
    np.testing.assert_array_equal(run(topi.shape(A[0], "int64"), A), [3, 4])
    assert run(topi.ndarray_size(A[0]), A).item() == 12
    np.testing.assert_array_equal(run(topi.reinterpret(A[0], "int32"), A), X.view("int32"))


def test_what_is_not_there_says_so() -> None:
    A, counts = te.placeholder((3, 4)), te.placeholder((3,), "int32")
    with pytest.raises(UnsupportedError, match="argsort with valid_count is not supported yet"):
        topi.argsort(A, counts)
    with pytest.raises(UnsupportedError, match="slice_mode 'x', expected 'end' or 'size'"):
        topi.strided_slice(A, [0], [1], slice_mode="x")


def test_a_small_network() -> None:
    image = te.placeholder((1, 2, 6, 6), name="image"), np.random.default_rng(0).random((1, 2, 6, 6), "float32")
    kernel = te.placeholder((3, 2, 3, 3), name="kernel"), np.random.default_rng(1).random((3, 2, 3, 3), "float32")
    weight = te.placeholder((4, 27), name="weight"), np.random.default_rng(2).random((4, 27), "float32")
    bias = te.placeholder((4,), name="bias"), np.random.default_rng(3).random(4, "float32")
    seen = topi.nn.relu(topi.nn.conv2d(image[0], kernel[0], 1, 1, 1))
    small = topi.nn.pool2d(seen, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    made = topi.nn.softmax(topi.nn.dense(topi.reshape(small, [1, -1]), weight[0], bias[0]))
    x = np.pad(image[1], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    seen_numbers = np.maximum(np.einsum("ncyxab,ocab->noyx", windows, kernel[1]), 0)
    pooled = seen_numbers.reshape(1, 3, 3, 2, 3, 2).max((3, 5)).reshape(1, -1)
    scores = np.exp(pooled @ weight[1].T + bias[1] - (pooled @ weight[1].T + bias[1]).max())
    np.testing.assert_allclose(run(made, image, kernel, weight, bias), scores / scores.sum(), 1e-4)


def test_layouts_and_pools() -> None:
    image = te.placeholder((1, 5, 5, 2), name="image"), np.arange(50, dtype="float32").reshape(1, 5, 5, 2)
    whole = run(topi.nn.global_pool(image[0], "avg", "NHWC"), image)
    np.testing.assert_allclose(whole, image[1].mean((1, 2), keepdims=True))
    # the result of torch.nn.functional.avg_pool2d: the last windows are truncated, and padding counts as 0
    parts = run(topi.nn.pool2d(image[0], 2, 2, 1, 0, "avg", True, "NHWC"), image)
    assert parts.shape == (1, 3, 3, 2)
    assert parts[0, 2, 2].tolist() == [48, 49]
    assert run(topi.nn.pool2d(image[0], 2, 3, 1, 1, "avg", True, "NHWC"), image)[0, 0, 0].tolist() == [0, 0.25]
    assert run(topi.nn.pool2d(image[0], 2, 3, 1, 1, "avg", True, "NHWC", False), image)[0, 0, 0].tolist() == [0, 1]
    with pytest.raises(OptionError, match="pool_type 'sum', expected 'max' or 'avg'"):
        topi.nn.pool2d(image[0], 2, 2, 1, 0, "sum", layout="NHWC")


def test_tensors_of_numbers() -> None:
    A = given()
    np.testing.assert_array_equal(run(topi.full((2, 3), "int8", 7)), np.full((2, 3), 7, "int8"))
    np.testing.assert_array_equal(run(topi.full_like(A[0], 7), A), np.full_like(X, 7))
    np.testing.assert_array_equal(run(topi.arange(5)), np.arange(5, dtype="float32"))
    np.testing.assert_array_equal(run(topi.arange(5, 1, -2, "int64")), [5, 3])
    np.testing.assert_array_equal(run(topi.trilu(A[0], 1, False), A), np.tril(X, 1))


def test_padding() -> None:
    A = given()
    made = topi.nn.pad(A[0], [1, 0], [2, 1], 3.0)
    assert made.op.name == "PadInput"
    np.testing.assert_array_equal(run(made, A), np.pad(X, [(1, 2), (0, 1)], constant_values=3))
    made = topi.nn.mirror_pad(A[0], [1, 2], mode="REFLECT", name="mirrored")
    assert made.op.name == "mirrored"
    np.testing.assert_array_equal(run(made, A), np.pad(X, [(1, 1), (2, 2)], "reflect"))
    with pytest.raises(OptionError, match=r"pad_before \[1, 2\] and pad_after \[1\], expected one number each"):
        topi.nn.pad(A[0], [1, 2], [1])
    np.testing.assert_array_equal(run(topi.nn.flatten(A[0]), A), X)


def test_norms() -> None:
    rng = np.random.default_rng(0)
    image = te.placeholder((2, 4, 3, 5), name="image"), rng.random((2, 4, 3, 5), "float32")
    rows = [(te.placeholder((4,), name=f"v{n}"), rng.random(4, "float32")) for n in range(4)]
    gamma, beta, _, variance = rows
    x, (g, b, m, v) = image[1], (each[1].reshape(1, 4, 1, 1) for each in rows)

    def normal(data: np.ndarray, *axes: int) -> np.ndarray:
        return (data - data.mean(axes, keepdims=True)) / np.sqrt(data.var(axes, keepdims=True) + 1e-5)

    five: Any = [image[0], *(each[0] for each in rows)]
    made = topi.nn.batch_norm(*five)
    np.testing.assert_allclose(run(made[0], image, *rows), (x - m) / np.sqrt(v + 1e-5) * g + b, 1e-5, 1e-5)
    np.testing.assert_array_equal(run(made[2], variance), variance[1])
    plain = topi.nn.batch_norm(*five, epsilon=0.5, center=False, scale=False)[0]
    np.testing.assert_allclose(run(plain, image, *rows), (x - m) / np.sqrt(v + 0.5), 1e-5, 1e-5)
    moving = topi.nn.batch_norm(*five, training=True, momentum=0.25)
    np.testing.assert_allclose(run(moving[0], image, *rows[:2]), normal(x, 0, 2, 3) * g + b, 1e-4, 1e-5)
    expected = 0.75 * variance[1] + 0.25 * image[1].var((0, 2, 3))
    np.testing.assert_allclose(run(moving[2], image, variance), expected, 1e-5, 1e-5)

    whole = topi.nn.layer_norm(image[0], gamma[0], None, [1])
    np.testing.assert_allclose(run(whole, image, gamma), normal(x, 1) * g, 1e-5, 1e-5)
    each = topi.nn.instance_norm(image[0], gamma[0], beta[0], 1, [2, 3])
    np.testing.assert_allclose(run(each, image, gamma, beta), normal(x, 2, 3) * g + b, 1e-5, 1e-5)
    halves = normal(x.reshape(2, 2, 2, 3, 5), 2, 3, 4).reshape(x.shape)
    made = topi.nn.group_norm(image[0], gamma[0], beta[0], 2, 1, [2, 3])
    np.testing.assert_allclose(run(made, image, gamma, beta), halves * g + b, 1e-5, 1e-5)
    squares = np.pad(x, [(0, 0), (1, 1), (0, 0), (0, 0)]) ** 2
    around = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    made = topi.nn.lrn(image[0], 3, 1, 0.5, 0.75, 1)
    np.testing.assert_allclose(run(made, image), x / (1 + 0.5 / 3 * around) ** 0.75, 1e-5)
    made = topi.nn.rms_norm(image[0], gamma[0], [1])
    np.testing.assert_allclose(run(made, image, gamma), x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * g, 1e-5)
    made = topi.nn.l2_normalize(image[0], 1e-9, [1])
    np.testing.assert_allclose(run(made, image), x / np.sqrt((x * x).sum(1, keepdims=True)), 1e-5)
    np.testing.assert_array_equal(run(topi.nn.prelu(image[0], gamma[0]), image, gamma), x)


def test_transposed_convolutions() -> None:
    image = te.placeholder((1, 4, 3, 3), name="image"), np.random.default_rng(0).random((1, 4, 3, 3), "float32")
    kernel = te.placeholder((4, 2, 2, 2), name="kernel"), np.random.default_rng(1).random((4, 2, 2, 2), "float32")
    made = run(topi.nn.conv2d_transpose_nchw(image[0], kernel[0], (2, 2), 0, "float32", (0, 0)), image, kernel)
    blocks = np.einsum("ncyx,coab->noyaxb", image[1], kernel[1]).reshape(1, 2, 6, 6)
    np.testing.assert_allclose(made, blocks, 1e-5)
    args = image[0], kernel[0], (2, 2), 0, "float32", (0, 0), 2
    grouped = run(topi.nn.group_conv2d_transpose_nchw(*args), image, kernel)
    parts = np.einsum("ngcyx,gcoab->ngoyaxb", image[1].reshape(1, 2, 2, 3, 3), kernel[1].reshape(2, 2, 2, 2, 2))
    np.testing.assert_allclose(grouped, parts.reshape(1, 4, 6, 6), 1e-5)


def test_images_of_other_sizes() -> None:
    image = te.placeholder((1, 1, 2, 2), name="image"), np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    corners = topi.image.resize2d(image[0], [0.0] * 4, (3, 3), "NCHW", "linear", "align_corners")
    assert run(corners, image)[0, 0].tolist() == [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]]
    twice = image[1].repeat(2, 2).repeat(2, 3)
    np.testing.assert_array_equal(run(topi.nn.upsampling(image[0], 2, 2), image), twice)
    assert run(topi.nn.adaptive_pool(image[0], 1, "avg"), image).item() == 1.5
    assert run(topi.nn.space_to_depth(image[0], 2), image).ravel().tolist() == [0, 1, 2, 3]
    with pytest.raises(OptionError, match="pool_type 'sum', expected 'max' or 'avg'"):
        topi.nn.adaptive_pool(image[0], 1, "sum")


def test_places_in_tensors() -> None:
    A = given()
    rows = te.placeholder((2, 4), "int64", name="I"), np.array([[2, 0, 1, -1], [0, 0, 1, 2]])
    np.testing.assert_array_equal(run(topi.gather(A[0], 0, rows[0]), A, rows), np.take_along_axis(X, rows[1], 0))
    places = te.placeholder((2, 3), "int64", name="I"), np.array([[2, 0, 1], [3, 1, 1]])
    np.testing.assert_array_equal(run(topi.gather_nd(A[0], places[0]), A, places), X[[2, 0, 1], [3, 1, 1]])
    columns = te.placeholder((3, 2), "int32", name="I"), np.array([[0, 3], [1, 1], [2, 0]], "int32")
    np.testing.assert_array_equal(
        run(topi.take(A[0], columns[0], 1, 1), A, columns), np.take_along_axis(X, columns[1].astype("int64"), 1)
    )
    updates = te.placeholder((2, 4), name="U"), np.ones((2, 4), "float32")
    expected = X.copy()
    np.add.at(expected, (rows[1], np.arange(4)), updates[1])
    made = topi.scatter_elements(A[0], rows[0], updates[0], 0, "add")
    np.testing.assert_array_equal(run(made, A, rows, updates), expected)
    elements = te.placeholder((3,), name="U"), np.array([7, 8, 9], "float32")
    expected = X.copy()
    expected[2, 3], expected[0, 1], expected[1, 1] = elements[1]
    np.testing.assert_array_equal(
        run(topi.scatter_nd(A[0], places[0], elements[0], "update"), A, places, elements), expected
    )
    lengths = te.placeholder((3,), "int32", name="L"), np.array([0, 2, 4], "int32")
    turned = np.stack([X[0], X[1, [1, 0, 2, 3]], X[2, ::-1]])
    np.testing.assert_array_equal(run(topi.reverse_sequence(A[0], lengths[0]), A, lengths), turned)
    valid = np.where(np.arange(4) < lengths[1][:, None], X, np.float32(-1))
    np.testing.assert_array_equal(run(topi.sequence_mask(A[0], lengths[0], -1, 1), A, lengths), valid)


def test_orders_and_sums_so_far() -> None:
    A = te.placeholder((3, 4), name="A"), np.sin(X * 5)
    np.testing.assert_array_equal(run(topi.sort(A[0], 0), A), np.sort(A[1], 0))
    places = topi.argsort(A[0])
    assert places.dtype == "float32"
    np.testing.assert_array_equal(run(places, A), np.argsort(A[1], -1))
    values, indices = topi.topk(A[0], 2)
    assert indices.dtype == "int64"
    np.testing.assert_array_equal(run(values, A), -np.sort(-A[1], -1)[:, :2])
    np.testing.assert_array_equal(run(indices, A), np.argsort(-A[1], -1)[:, :2])
    line = te.placeholder((4,), name="S"), np.array([-1, 0, 0.25, 1], "float32")
    np.testing.assert_array_equal(run(topi.searchsorted(line[0], A[0]), line, A), np.searchsorted(line[1], A[1]))
    np.testing.assert_allclose(run(topi.cumsum(A[0], 1), A), np.cumsum(A[1], 1), 1e-5)
    exclusive = np.concatenate([np.ones((1, 4)), np.cumprod(A[1], 0)[:-1]])
    np.testing.assert_allclose(run(topi.cumprod(A[0], 0, exclusive=True), A), exclusive, 1e-5)
    np.testing.assert_allclose(run(topi.einsum("ij,kj->ik", A[0], A[0]), A), A[1] @ A[1].T, 1e-5)


def in_rows(matrix: np.ndarray) -> list[np.ndarray]:
    """The elements, columns and positions of the rows of a matrix in CSR."""
    rows, columns = np.nonzero(matrix)
    starts = np.cumsum([0, *np.count_nonzero(matrix, axis=1)])
    return [matrix[rows, columns], columns.astype("int32"), starts.astype("int32")]


MATRIX = np.array([[0, 2, 0, 0], [0, 0, 0, 0], [1, 0, 3, 4]], "float32")
SPARSE = [(te.placeholder(part.shape, part.dtype.name, "s"), part) for part in in_rows(MATRIX)]


def test_products_with_matrices_in_rows() -> None:
    data, weight = given(), (te.placeholder((4, 5), name="W"), np.arange(20, dtype="float32").reshape(4, 5))
    parts: Any = [tensor for tensor, _ in SPARSE]
    np.testing.assert_allclose(
        run(topi.nn.sparse_dense(data[0], parts[0], parts[1], parts[2]), data, *SPARSE), X @ MATRIX.T
    )
    np.testing.assert_allclose(run(topi.nn.sparse_dense_sp_rhs(data[0], *parts), data, *SPARSE), X @ MATRIX.T)
    np.testing.assert_allclose(
        run(topi.nn.sparse_dense_sp_lhs(parts[0], parts[1], parts[2], data[0]), data, *SPARSE), MATRIX @ X.T
    )
    np.testing.assert_allclose(run(topi.nn.sparse_add(data[0], *parts), data, *SPARSE), X + MATRIX)
    held = tvm.contrib.sparse.placeholder((3, 4), 4, name="h")
    held.data, held.indices, held.indptr = parts
    c = (te.placeholder((3,), name="c"), np.array([1, 2, 3], "float32"))
    made = topi.sparse.csrmm(held, weight[0], c[0])
    np.testing.assert_allclose(run(made, weight, c, *SPARSE), MATRIX @ weight[1] + c[1][:, None])
    v = (te.placeholder((4, 1), name="v"), weight[1][:, :1].copy())
    np.testing.assert_allclose(run(topi.sparse.csrmv(held, v[0]), v, *SPARSE), MATRIX @ v[1])
    np.testing.assert_allclose(run(topi.sparse.dense(data[0], held, c[0]), data, c, *SPARSE), X @ MATRIX.T + c[1])
    np.testing.assert_allclose(run(topi.sparse.dense(held, data[0]), data, *SPARSE), MATRIX @ X.T)
    whole = tvm.contrib.sparse.array(MATRIX)
    np.testing.assert_array_equal(whole.numpy(), MATRIX)
    np.testing.assert_array_equal(whole.indptr.numpy(), SPARSE[2][1])


def test_products_with_matrices_in_blocks_have_the_names_of_their_inputs() -> None:
    blocks = np.arange(1, 13, dtype="float32").reshape(3, 2, 2)
    parts = [blocks, np.array([1, 0, 1], "int32"), np.array([0, 1, 3, 3], "int32")]
    matrix = np.zeros((6, 4), "float32")
    for row, column, block in zip([0, 1, 1], parts[1], blocks, strict=True):
        matrix[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = block
    data, sparse = given(), [(te.placeholder(part.shape, part.dtype.name, "s"), part) for part in parts]
    tensors: Any = [tensor for tensor, _ in sparse]
    made: Any = topi.nn.sparse_dense(topi.nn.relu(data[0]), tensors[0], tensors[1], tensors[2])
    np.testing.assert_allclose(run(made, data, *sparse), X @ matrix.T)
    assert [made.op.tag, made.op.input_tensors[0].op.tag] == [
        "sparse_dense_sp_rhs_bsrmm",
        "sparse_dense_sp_rhs_bsrmm_block",
    ]
    named = topi.nn.try_get_sparse_input([data[0], *tensors, made])
    assert named[tensors[2]] == "sparse_dense_bsr_6_4_2_2_3_4_W_indptr"
    assert topi.nn.try_get_sparse_input([data[0], topi.nn.relu(data[0])]) == {}
    pixels = (te.placeholder((1, 4, 2, 1), name="P"), X[:2, :].reshape(1, 4, 2, 1))
    conv = topi.nn.sparse_conv2d(pixels[0], *tensors, layout="NCHW")
    np.testing.assert_allclose(run(conv, pixels, *sparse), np.einsum("nkhw,ck->nchw", pixels[1], matrix))
    with pytest.raises(TeError, match="kernel_size 3, expected 1"):
        topi.nn.sparse_conv2d(pixels[0], *tensors, layout="NCHW", kernel_size=3)


@pytest.mark.parametrize("options", ["", "bias", "projection reverse", "peephole layout"])
def test_a_recurrent_layer_is_a_scan(options: str) -> None:
    rng, hidden, states = np.random.default_rng(0), 4, 2 if "projection" in options else 4
    shapes: dict[str, tuple[int, ...]] = {"Xs": (5, 2, 3), "Wi": (4 * hidden, 3), "Wh": (4 * hidden, states)}
    if "bias" in options:
        shapes |= {"Bi": (4 * hidden,), "Bh": (4 * hidden,), "h_init": (2, states), "c_init": (2, hidden)}
    if "projection" in options:
        shapes |= {"proj": (states, hidden)}
    if "peephole" in options:
        shapes |= dict.fromkeys(("p_i", "p_f", "p_o"), (2, hidden))
    arrays = {name: rng.normal(size=shape).astype("float32") for name, shape in shapes.items()}
    tensors = {name: te.placeholder(shape, name=name) for name, shape in shapes.items()}
    said: Any = {"reverse": "reverse" in options, "weight_layout": "GOIF" if "layout" in options else "IFGO"}
    made = topi.nn.lstm(**tensors, **said)
    expected = topi.testing.lstm_python(**arrays, **said)
    results = [np.zeros(each.shape, "float32") for each in expected]
    tvm.build(te.create_schedule([each.op for each in made]), [*tensors.values(), *made])(*arrays.values(), *results)
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-6)


def test_a_recurrent_layer_has_four_gates() -> None:
    x, w = te.placeholder((2, 1, 3)), te.placeholder((6, 3))
    with pytest.raises(TeError, match="weight_layout 'IFO', expected an order of IFGO"):
        topi.nn.lstm(x, w, w, weight_layout="IFO")
    with pytest.raises(TeError, match="weights of 6 rows, expected a known multiple of 4"):
        topi.nn.lstm(x, w, w)


def test_the_last_window_of_a_pool_may_begin_in_the_padding() -> None:
    data = te.placeholder((1, 2, 31, 31), name="data")
    for result in (
        topi.nn.pool2d(data, (3, 3), (3, 3), (1, 1), (2, 1, 2, 1), "max", ceil_mode=True),
        topi.nn.pool(data, (3, 3), (3, 3), (2, 1), "max", ceil_mode=True),
    ):
        assert topi.utils.get_const_tuple(result.shape) == (1, 2, 12, 11)


def test_arguments_by_the_names_of_topi() -> None:
    A = given()
    for made, expected in (
        (topi.transpose(a=A[0], axes=[1, 0]), X.T),
        (topi.reshape(a=A[0], newshape=(4, 3)), X.reshape(4, 3)),
        (topi.squeeze(a=topi.expand_dims(a=A[0], axis=0)), X),
        (topi.full_like(x=A[0], fill_value=2.0), np.full_like(X, 2)),
        (topi.right_shift(x=topi.cast(x=A[0], dtype="int32"), n=1), X.astype("int32") >> 1),
        (topi.nn.relu(x=topi.negative(x=A[0])), np.zeros_like(X)),
        (topi.collapse_sum(A[0], target_shape=(1, 4)), X.sum(0, keepdims=True)),
        (topi.split(ary=A[0], indices_or_sections=2, axis=1)[1], X[:, 2:]),
        (topi.stack(a=[A[0], A[0]]), np.stack([X, X])),
    ):
        np.testing.assert_array_equal(run(made, A), expected)


def test_a_tensor_with_new_axes_and_new_parts() -> None:
    A, v = given(), (te.placeholder((3, 1), name="v"), -np.ones((3, 1), "float32"))
    like = te.placeholder((3, 2, 4), name="like")
    np.testing.assert_array_equal(run(topi.expand_like(A[0], like, [1]), A), X[:, None].repeat(2, 1))
    places = [np.array(each, "int32") for each in ([2, 3], [-1, 0], [-1, -2])]
    tensors = [te.placeholder((2,), "int32", name=name) for name in ("begin", "end", "strides")]
    v = (te.placeholder((3, 2), name="v"), np.arange(6, dtype="float32").reshape(3, 2) - 10)
    made = topi.strided_set(A[0], v[0], *tensors)
    expected = X.copy()
    expected[::-1, 3:0:-2] = v[1]
    np.testing.assert_array_equal(run(made, A, v, *zip(tensors, places, strict=True)), expected)
    with pytest.raises(TeError, match="2 axes and 2 new ones, expected 3 together"):
        topi.expand_like(A[0], like, [0, 1])


def test_constants_as_tensors() -> None:
    matrix = np.array([[1, 2, 3], [4, 5, 6]], "float32")
    np.testing.assert_array_equal(run(topi.utils.const_matrix(matrix)), matrix)
    np.testing.assert_array_equal(run(topi.utils.const_vector([3, 1])), [3, 1])
    np.testing.assert_array_equal(run(topi.eye(n=3, m=4, k=1)), np.eye(3, 4, 1))
    assert topi.utils.get_max_power2_factor(48) == 16
    assert topi.utils.get_max_power2_factor(48, 8) == 8
    assert topi.utils.swap([1, 2, 3], 0) == [3, 2, 1]
    assert topi.utils.is_empty_shape((2, 0))
    assert topi.utils.get_float_tuple([te.const(1.5)]) == (1.5,)
