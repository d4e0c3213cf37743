"""Writes programs of relax as the TVM of the running Python prints them, with the numbers that TVM computes.

    python tests/peer/relax_record.py FOLDER [--onnx]    # with ONNX's node tests through TVM's importer

For each program `NAME.py`, and for a program that TVM runs `NAME.npz`: the arguments of `main` as `x0, x1, ...`, the
results as `y0, y1, ...`. A module of operators is printed as built, legalised and fused.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm  # pyright: ignore[reportMissingImports]
from tvm import relax  # pyright: ignore[reportMissingImports]
from tvm.relax import op as R  # pyright: ignore[reportMissingImports]
from tvm.relax.frontend import nn  # pyright: ignore[reportMissingImports]

warnings.simplefilter("ignore")

UNARY = (
    "abs acos asin atan ceil cos cosh erf exp floor isfinite isinf isnan log negative round rsqrt sigmoid sign sin sinh"
    " sqrt square tan tanh trunc"
).split()
BINARY = (
    "add subtract multiply divide floor_divide maximum minimum power equal not_equal less less_equal greater"
    " greater_equal atan2 log_add_exp mod floor_mod"
).split()
INTEGER = "bitwise_and bitwise_or bitwise_xor left_shift right_shift floor_divide mod add maximum".split()
REDUCTIONS = "sum mean max min prod variance std argmax argmin median".split()
ACTIVATIONS = "relu relu6 gelu gelu_tanh silu selu softplus leakyrelu".split()


def tensor(shape: Any, dtype: str = "float32") -> Any:
    """The type of a tensor; a string in the shape is the name of a size."""
    return list(shape), dtype


F, INT = "float32", "int32"

Build = Callable[..., Any]
Case = tuple[str, Build, list[Any]]


def operators() -> Iterator[Case]:
    """Operators with their operands."""
    for name in UNARY:
        yield name, getattr(R, name), [tensor([3, 4])]
    for name in BINARY:
        yield name, getattr(R, name), [tensor([3, 4]), tensor([4])]
    for name in INTEGER:
        yield f"{name}_int", getattr(R, name), [tensor([3, 4], INT), tensor([3, 4], INT)]
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, getattr(R, name), [tensor([3], "bool"), tensor([3], "bool")]
    yield "logical_not", R.logical_not, [tensor([3], "bool")]
    yield "bitwise_not", R.bitwise_not, [tensor([3], INT)]
    for name in REDUCTIONS:
        for axis, keep in ((None, False), (1, True)):
            if name != "median" or axis is not None:
                yield (
                    f"{name}_{axis}",
                    lambda x, n=name, a=axis, k=keep: getattr(R, n)(x, axis=a, keepdims=k),
                    [tensor([3, 4])],
                )
    for name in ACTIVATIONS:
        yield name, getattr(R.nn, name), [tensor([3, 4])]
    yield from shapes()
    yield from places()
    yield from networks()
    yield from data_sizes()
    yield from boxes()


def shapes() -> Iterator[Case]:
    x = tensor([2, 3, 4])
    for name, build in {
        "permute": lambda x: R.permute_dims(x, [2, 0, 1]),
        "permute_all": lambda x: R.permute_dims(x),
        "reshape": lambda x: R.reshape(x, (6, 4)),
        "reshape_rest": lambda x: R.reshape(x, (-1, 2)),
        "flatten": R.flatten,
        "expand_dims": lambda x: R.expand_dims(x, [0, 2]),
        "squeeze": lambda x: R.squeeze(R.expand_dims(x, 1), [1]),
        "broadcast_to": lambda x: R.broadcast_to(x, (5, 2, 3, 4)),
        "concat": lambda x: R.concat([x, x], 1),
        "stack": lambda x: R.stack([x, x], 1),
        "split": lambda x: R.split(x, 2, 2)[1],
        "split_at": lambda x: R.split(x, [1, 3], 2)[1],
        "strided_slice": lambda x: R.strided_slice(x, [1, 2], [0, 1], [3, 4], [1, 2]),
        "flip": lambda x: R.flip(x, 1),
        "tile": lambda x: R.tile(x, (2, 1, 2)),
        "repeat": lambda x: R.repeat(x, 2, 1),
        "cumsum": lambda x: R.cumsum(x, 1),
        "cumsum_exclusive": lambda x: R.cumsum(x, 1, exclusive=True),
        "cumprod": lambda x: R.cumprod(x, 1),
        "clip": lambda x: R.clip(x, -0.5, 0.5),
        "astype": lambda x: R.astype(x, "float16"),
        "tril": lambda x: R.tril(x, 1),
        "triu": lambda x: R.triu(x, -1),
        "ones_like": R.ones_like,
        "zeros_like": R.zeros_like,
        "full_like": lambda x: R.full_like(x, relax.const(2.5, F)),
        "argsort": lambda x: R.argsort(x, -1),
        "sort": lambda x: R.sort(x, 1),
        "topk": lambda x: R.topk(x, 2, -1)[0],
        "einsum": lambda x: R.einsum([x, x], "abc,adc->abd"),
        "layout": lambda x: R.nn.pad(x, [0, 0, 1, 2, 0, 0]),
        "square_sum": lambda x: R.sum(R.square(x), [0, 2]),
        "shape": R.shape_of,
        "index_pair": lambda x: R.take(R.take(x, relax.const(1, "int64"), 0), relax.const(0, "int64"), 1),
    }.items():
        yield name, build, [x]
    yield "where", R.where, [tensor([3, 4], "bool"), tensor([3, 4]), tensor([4])]
    yield "take", lambda x, i: R.take(x, i, 1), [tensor([3, 4]), tensor([2, 2], "index")]
    yield "take_flat", lambda x, i: R.take(x, i), [tensor([4]), tensor([3], "index")]
    yield "gather_elements", lambda x, i: R.gather_elements(x, i, 1), [tensor([3, 4]), tensor([3, 2], "index")]
    yield "gather_nd", lambda x, i: R.gather_nd(x, i), [tensor([3, 4]), tensor([2, 1], "index")]
    yield (
        "scatter_elements",
        lambda x, i, u: R.scatter_elements(x, i, u, 1),
        [x2(), tensor([3, 1], "index"), tensor([3, 1])],
    )
    yield (
        "one_hot",
        lambda i: R.one_hot(i, *(relax.prim_value(tvm.tirx.FloatImm(F, n)) for n in (1, 0)), 4),
        [tensor([3], "index")],
    )
    yield "arange", lambda x: R.add(x, R.astype(R.arange(0, 4, 1), F)), [tensor([4])]
    yield "zeros", lambda x: R.add(x, R.zeros((3, 4), F)), [x2()]
    yield "full", lambda x: R.add(x, R.full((3, 4), relax.const(2, F))), [x2()]
    yield "eye", lambda x: R.matmul(x, R.eye(4)), [x2()]
    yield "meshgrid", lambda a, b: R.meshgrid([a, b], "ij")[0], [tensor([3]), tensor([4])]
    yield "outer", R.outer, [tensor([3]), tensor([4])]
    yield "masked_fill", lambda x, m: R.masked_fill(x, m, 1.5), [x2(), tensor([3, 4], "bool")]


def places() -> Iterator[Case]:
    """Operators that read or write elements at positions which other operands state."""
    rows, index = tensor([5, 4]), tensor([2, 1], "index")
    for name in ("update", "add"):
        yield f"scatter_nd_{name}", lambda x, i, u, n=name: R.scatter_nd(x, i, u, n), [rows, index, tensor([2, 4])]
    yield "index_tensor", lambda x, i: R.index_tensor(x, [i]), [rows, tensor([5], "index")]
    yield "reverse_sequence", lambda x, n: R.reverse_sequence(x, n, 1, 0), [rows, tensor([5], INT)]
    yield "bucketize", lambda x, b: R.bucketize(x, R.sort(b), right=True), [rows, tensor([7])]
    yield "collapse_sum_to", lambda x: R.collapse_sum_to(x, (1, 4)), [rows]
    yield "collapse_sum_like", R.collapse_sum_like, [tensor([2, 3, 4]), tensor([3, 1])]
    yield "nll_loss", R.nn.nll_loss, [rows, tensor([5], "index")]
    yield "nll_loss_sum", lambda p, t, w: R.nn.nll_loss(p, t, w, "sum"), [rows, tensor([5], "index"), tensor([4])]


def data_sizes() -> Iterator[Case]:
    """Operators with results of sizes that only data determines."""
    for shape in ([3, 4], [5]):
        yield f"nonzero_{len(shape)}", R.nonzero, [tensor(shape, "index")]
        yield f"unique_{len(shape)}", lambda x: R.unique(x), [tensor(shape, "index")]
    yield "unique_unsorted", lambda x: R.unique(x, False, True, True, True), [tensor([7], "index")]
    yield "unique_axis", lambda x: R.unique(x, True, True, False, True, axis=1), [tensor([2, 9], "index")]
    yield "sums_of_nonzero", lambda x: R.sum(R.nonzero(x), [1]), [tensor([3, 4], "index")]
    yield "to_shape", lambda x, y: R.reshape(y, R.tensor_to_shape(R.add(x, x))), [tensor([2], "two"), tensor([16])]
    bounds = [tensor([2], "index")] * 2
    yield (
        "dynamic_slice",
        lambda x, a, b: R.dynamic_strided_slice(x, a, R.add(a, b), R.ones_like(a)),
        [tensor([6, 7]), *bounds],
    )
    rows = tensor([5, 4])
    pair = [tensor([6], "index"), tensor([6], "index")]
    for accumulate in (False, True):
        yield (
            f"index_put_{accumulate}",
            lambda x, i, j, v, a=accumulate: R.index_put(x, (i, j), v, a),
            [rows, *pair, tensor([6])] if accumulate else [rows, *[tensor([1], "index")] * 2, tensor([1])],
        )
    yield "slice_scatter", lambda x, y: R.slice_scatter(x, y, 1, 5, 2, 0), [rows, tensor([2, 4])]
    yield "slice_scatter_last", lambda x, y: R.slice_scatter(x, y, 0, 2, 1, 1), [rows, tensor([5, 2])]
    for periodic in (False, True):
        yield (
            f"hamming_{periodic}",
            lambda x, p=periodic: R.add(x, R.hamming_window(6, p, 0.54, 0.46, F)),
            [tensor([6])],
        )
    yield "no_grad", lambda x: R.grad.no_grad(R.grad.start_checkpoint(R.grad.end_checkpoint(x))), [rows]
    yield "stop_lift", lambda x: R.add(R.builtin.stop_lift_params(x), x), [rows]


def boxes() -> Iterator[Case]:
    """Operators on regions of images and boxes with scores."""
    many, image = tensor([2, 24, 6], "boxes"), tensor([1, 2, 5, 6])
    yield "valid_counts", lambda x: R.vision.get_valid_counts(x, 0.3), [many]
    yield "valid_counts_any", lambda x: R.vision.get_valid_counts(x, 0.1, -1, 1), [many]

    def suppressed(x: Any, **options: Any) -> Any:
        counts = R.vision.get_valid_counts(x, 0.2)
        return R.vision.non_max_suppression(counts[1], counts[0], counts[2], **options)

    for name, options in {
        "nms": {},
        "nms_force": {"force_suppress": True, "iou_threshold": 0.3},
        "nms_few": {"max_output_size": 3, "top_k": 12},
        "nms_data": {"return_indices": False},
        "nms_bottom": {"return_indices": False, "invalid_to_bottom": True, "id_index": -1},
        "nms_soft": {"soft_nms_sigma": 0.5, "score_threshold": 0.25, "iou_threshold": 0.6},
        "nms_soft_few": {"soft_nms_sigma": 0.3, "max_output_size": 4, "return_indices": False},
    }.items():
        yield name, lambda x, o=options: suppressed(x, **o), [many]
    corners, scores = tensor([2, 12, 4], "corners"), tensor([2, 3, 12])
    limits = relax.const(4, "int64"), relax.const(0.4, F), relax.const(0.3, F)
    yield "nms_all", lambda b, s: R.vision.all_class_non_max_suppression(b, s, *limits), [corners, scores]
    yield (
        "nms_all_rows",
        lambda b, s: R.vision.all_class_non_max_suppression(b, s, *limits, "tensorflow"),
        [corners, scores],
    )
    yield "roi_pool", lambda x, r: R.vision.roi_pool(x, r, (2, 3), 0.5), [image, tensor([4, 5], "regions")]
    operands = [tensor([2, 3, 5]), tensor([2, 20]), tensor([1, 5, 4], "corners")]
    yield "multibox", R.vision.multibox_transform_loc, operands
    yield (
        "multibox_clip",
        lambda c, x, a: R.vision.multibox_transform_loc(c, x, a, True, 0.4, (0.1, 0.1, 0.2, 0.2), False, False),
        operands,
    )


def x2() -> Any:
    return tensor([3, 4])


def networks() -> Iterator[Case]:
    image, weight = tensor([1, 4, 8, 8]), tensor([6, 4, 3, 3])
    for shapes, name in (
        ([[3, 4], [4, 5]], "matmul"),
        ([[2, 3, 4], [2, 4, 5]], "matmul_batch"),
        ([[2, 3, 4], [4, 5]], "matmul_broadcast"),
        ([[4], [4, 5]], "matmul_vector"),
    ):
        yield name, R.matmul, [tensor(shape) for shape in shapes]
    yield "linear", R.linear, [tensor([3, 4]), tensor([5, 4]), tensor([5])]
    yield (
        "matmul_half",
        lambda a, b: R.matmul(a, b, out_dtype=F),
        [tensor([3, 4], "float16"), tensor([4, 5], "float16")],
    )
    for name, options in {
        "conv2d": {},
        "conv2d_strided": {"strides": (2, 2), "padding": (1, 1)},
        "conv2d_dilated": {"dilation": (2, 2), "padding": (2, 2)},
    }.items():
        yield name, lambda x, w, o=options: R.nn.conv2d(x, w, **o), [image, weight]
    yield "conv2d_groups", lambda x, w: R.nn.conv2d(x, w, groups=2), [image, tensor([6, 2, 3, 3])]
    yield (
        "conv2d_nhwc",
        lambda x, w: R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"),
        [tensor([1, 8, 8, 4]), tensor([3, 3, 4, 6])],
    )
    yield "conv1d", lambda x, w: R.nn.conv1d(x, w, padding=1), [tensor([1, 4, 8]), tensor([6, 4, 3])]
    yield "conv3d", lambda x, w: R.nn.conv3d(x, w), [tensor([1, 2, 4, 4, 4]), tensor([3, 2, 2, 2, 2])]
    yield "conv2d_transpose", lambda x, w: R.nn.conv2d_transpose(x, w, strides=(2, 2)), [image, tensor([4, 6, 3, 3])]
    yield "conv1d_transpose", lambda x, w: R.nn.conv1d_transpose(x, w), [tensor([1, 4, 8]), tensor([4, 6, 3])]
    for kind in ("max", "avg"):
        yield f"{kind}_pool2d", lambda x, k=kind: getattr(R.nn, f"{k}_pool2d")(x, (2, 2), (2, 2)), [image]
        yield (
            f"{kind}_pool2d_padded",
            lambda x, k=kind: getattr(R.nn, f"{k}_pool2d")(x, (3, 3), (2, 2), (1, 1)),
            [image],
        )
        yield f"{kind}_pool1d", lambda x, k=kind: getattr(R.nn, f"{k}_pool1d")(x, 2, 2), [tensor([1, 4, 8])]
    yield "adaptive", lambda x: R.nn.adaptive_avg_pool2d(x, (1, 1)), [image]
    yield "adaptive_3", lambda x: R.nn.adaptive_avg_pool2d(x, (3, 3)), [image]
    yield "softmax", lambda x: R.nn.softmax(x, -1), [x2()]
    yield "log_softmax", lambda x: R.nn.log_softmax(x, 1), [x2()]
    rows = tensor([2, 3, 4])
    yield "layer_norm", lambda x, g, b: R.nn.layer_norm(x, g, b, axes=[-1]), [rows, tensor([4]), tensor([4])]
    yield "rms_norm", lambda x, g: R.nn.rms_norm(x, g, axes=[-1]), [rows, tensor([4])]
    yield "group_norm", lambda x, g, b: R.nn.group_norm(x, g, b, 2, 1, [2, 3]), [image, tensor([4]), tensor([4])]
    yield "instance_norm", lambda x, g, b: R.nn.instance_norm(x, g, b, 1, [2, 3]), [image, tensor([4]), tensor([4])]
    channel = [tensor([4]), tensor([4]), tensor([4]), tensor([4], "positive")]
    yield (
        "batch_norm",
        lambda x, g, b, m, v: R.nn.batch_norm(x, g, b, m, v, axis=1, training=False)[0],
        [image, *channel],
    )
    yield "dropout", lambda x: R.nn.dropout(x)[0], [x2()]
    yield "prelu", lambda x, a: R.nn.prelu(x, a, 1), [image, tensor([4])]
    yield "pixel_shuffle", lambda x: R.nn.pixel_shuffle(x, 2), [image]
    yield "batch_flatten", R.nn.batch_flatten, [rows]
    yield "attention", lambda q, k, v: R.nn.attention(q, k, v), [tensor([1, 4, 2, 8])] * 3
    yield "attention_causal", lambda q, k, v: R.nn.attention(q, k, v, causal_mask="TopLeft"), [tensor([1, 4, 2, 8])] * 3
    for method in ("linear", "nearest_neighbor", "cubic"):
        yield f"resize2d_{method}", lambda x, m=method: R.image.resize2d(x, (5, 7), method=m), [image]
    yield "resize3d", lambda x: R.image.resize3d(x, (3, 5, 7)), [tensor([1, 2, 4, 4, 4])]
    yield "affine_grid", lambda x: R.image.affine_grid(x, (5, 7)), [tensor([2, 2, 3])]
    yield "cross_entropy", R.nn.cross_entropy_with_logits, [tensor([3, 4]), tensor([3, 4])]


SYMBOLIC = (
    "exp tanh relu gelu softmax layer_norm rms_norm add maximum sum_1 mean_1 max_1 permute concat clip astype where"
).split()
"""The cases that are printed with a symbolic size too."""


def renamed(shape: Any) -> Any:
    """A shape of which the first extent is a size, if there are two."""
    return ["n", *shape[1:]] if len(shape) > 1 else shape


def build_case(build: Build, operands: list[Any], symbolic: bool) -> tuple[Any, list[Any]]:
    """The module of a case, and arguments."""
    rng, sizes = np.random.default_rng(0), {"n": tvm.tirx.Var("n", "int64")} if symbolic else {}
    params, arguments = [], []
    for n, (shape, kind) in enumerate(operands):
        dtype = _DTYPES.get(kind, kind)
        named = renamed(shape) if symbolic else shape
        params.append(relax.Var(f"x{n}", relax.TensorType([sizes.get(d, d) for d in named], dtype)))
        arguments.append(argument(rng, shape, kind))
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(build(*params)))
        builder.emit_func_output(result)
    return builder.get(), arguments


_DTYPES = {"index": "int64", "two": "int64", **dict.fromkeys(("positive", "boxes", "corners", "regions"), F)}
"""The data types of kinds of arguments."""


def argument(rng: Any, shape: Any, kind: str) -> Any:
    match kind:
        case "bool":
            return rng.integers(0, 2, shape).astype(bool)
        case "index":
            return rng.integers(0, 3, shape).astype("int64")
        case "int32":
            return rng.integers(1, 9, shape).astype("int32")
        case "positive":
            return rng.uniform(0.5, 1, shape).astype(F)
        case "two":
            return np.full(shape, 2, "int64")
        case "corners":
            first = rng.uniform(0, 0.6, (*shape[:-1], 2))
            return np.concatenate([first, first + rng.uniform(0.1, 0.4, first.shape)], -1).astype(F)
        case "boxes":
            kinds, scores = rng.integers(-1, 3, (*shape[:-1], 1)), rng.uniform(0, 1, (*shape[:-1], 1))
            return np.concatenate([kinds, scores, argument(rng, (*shape[:-1], 4), "corners")], -1).astype(F)
        case "regions":
            return np.concatenate([np.zeros((shape[0], 1)), rng.integers(-2, 14, (shape[0], 4))], -1).astype(F)
        case _:
            return rng.uniform(0.1, 0.9, shape).astype(kind)


# Models


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return nn.op.softmax(self.second(nn.op.relu(self.first(x))), -1)


class Block(nn.Module):
    """A block of a transformer with one head."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.last = nn.RMSNorm(8, -1, bias=False), nn.LayerNorm(8)
        self.q, self.k, self.v = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        h = self.norm(x)
        scores = nn.op.matmul(self.q(h), nn.op.permute_dims(self.k(h), [0, 2, 1])) * 0.35
        x = x + nn.op.matmul(nn.op.softmax(scores, -1), self.v(h))
        return x + self.down(nn.op.silu(self.up(self.last(x))))


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2D(3, 4, 3, padding=1), nn.GroupNorm(2, 4)
        self.head = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x: Any) -> Any:
        h = nn.op.relu(self.norm(self.conv(x)))
        return self.head(nn.op.reshape(h, (1, 64)))


def models() -> Iterator[tuple[str, Any, list[Any]]]:
    """Models of TVM's `nn.Module`, with arguments."""
    rng = np.random.default_rng(1)
    for name, model, shape, spec in (
        ("perceptron", Perceptron(), [2, 8], nn.spec.Tensor([2, 8], F)),
        ("perceptron_sizes", Perceptron(), [3, 8], nn.spec.Tensor(["n", 8], F)),
        ("block", Block(), [1, 5, 8], nn.spec.Tensor([1, 5, 8], F)),
        ("block_sizes", Block(), [1, 6, 8], nn.spec.Tensor([1, "n", 8], F)),
        ("images", Images(), [1, 3, 4, 4], nn.spec.Tensor([1, 3, 4, 4], F)),
    ):
        module, weights = model.export_tvm({"forward": {"x": spec}})
        module["main"] = module["forward"].with_attr("global_symbol", "main")
        del module["forward"]
        arrays = [
            rng.uniform(-0.5, 0.5, shape),
            *(rng.uniform(-0.5, 0.5, [int(d) for d in w.shape]) for _, w in weights),
        ]
        yield name, module, [each.astype(F) for each in arrays]


def onnx_models() -> Iterator[tuple[str, Any, list[Any]]]:
    """ONNX's node tests, through TVM's importer."""
    import onnx
    from onnx.backend.test.loader import load_node_model_tests
    from tvm.relax.frontend.onnx import from_onnx  # pyright: ignore[reportMissingImports]

    seen: dict[str, int] = {}
    for test in load_node_model_tests():
        assert test.data_sets
        assert test.model is not None
        inputs = test.data_sets[0][0]
        kinds = {node.op_type for node in test.model.graph.node}
        name = "_".join(sorted(kinds))
        if seen.get(name, 0) >= 2 or any(isinstance(each, list) or each is None for each in inputs):
            continue
        arrays = [
            onnx.numpy_helper.to_array(each) if isinstance(each, onnx.TensorProto) else np.asarray(each)
            for each in inputs
        ]
        if any(array.dtype.kind not in "fiub" for array in arrays):
            continue
        try:
            module = from_onnx(test.model, keep_params_in_input=True)
        except Exception:
            continue
        seen[name] = seen.get(name, 0) + 1
        yield test.name.removeprefix("test_"), module, arrays


# Forms


def fused(module: Any) -> Any:
    """The module with operators fused to kernels."""
    passes = ["LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR", "DeadCodeElimination"]
    return tvm.ir.transform.Sequential([getattr(relax.transform, name)() for name in passes])(module)


def run(module: Any, arguments: list[Any]) -> list[Any] | None:
    """The results of TVM, None if it does not run the module or the results are no arrays."""
    try:
        lowered = relax.transform.DecomposeOpsForInference()(module)
        machine = relax.VirtualMachine(tvm.compile(lowered, target="llvm"), tvm.cpu())
        result = machine["main"](*(tvm.runtime.tensor(each) for each in arguments))
        results = [result] if hasattr(result, "numpy") else list(result)
        return [each.numpy() for each in results]
    except Exception:
        return None


def record(folder: Path, name: str, module: Any, arguments: list[Any]) -> int:
    """Writes the forms of a module. Returns their number."""
    results, count = run(module, arguments), 0
    for form, change in {"": lambda m: m, "_legal": relax.transform.LegalizeOps(), "_fused": fused}.items():
        try:
            text = change(module).script()
        except Exception:
            continue
        count += 1
        (folder / f"{name}{form}.py").write_text(text)
        if results is not None:
            arrays = {f"x{n}": each for n, each in enumerate(arguments)} | {
                f"y{n}": each for n, each in enumerate(results)
            }
            np.savez(folder / f"{name}{form}.npz", **arrays)
    return count


def cases(with_onnx: bool) -> Iterator[tuple[str, Callable[[], tuple[Any, list[Any]]]]]:
    for name, build, operands in operators():
        yield name, lambda b=build, o=operands: build_case(b, o, False)
        if name in SYMBOLIC:
            yield f"{name}_sizes", lambda b=build, o=operands: build_case(b, o, True)
    for made in (models(), onnx_models() if with_onnx else ()):
        for name, module, arguments in made:
            yield name, lambda m=module, a=arguments: (m, a)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--onnx", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, build in cases(options.onnx):
        try:
            count += record(options.folder, name, *build())
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}", file=sys.stderr)
    print(count)


if __name__ == "__main__":
    main()
