"""Operators on the tensors of modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log as log_of
from typing import Any

from ......core.errors import ArgumentError
from ......module import Module as Program
from ...block_builder import BlockBuilder
from ...calls import call_dps_packed, call_tir, call_tir_inplace
from ...expr import Expr, Tuple, TupleGetItem
from ...struct_info import StructInfo, TupleStructInfo
from .core import Tensor, as_expr, call_word, get_default_dtype, wrap


def _unary(word: str) -> Callable[..., Tensor]:
    def operate(x: Tensor, name: str = "") -> Tensor:
        return call_word(word, x, name=name)

    operate.__doc__ = f"The elements of `relax.op.{word}`."
    return operate


def _binary(word: str) -> Callable[..., Tensor]:
    def operate(a: Tensor, b: Any, name: str = "") -> Tensor:
        return call_word(word, a, b, name=name)

    operate.__doc__ = f"The elements of `relax.op.{word}`."
    return operate


cos = _unary("cos")
erf = _unary("erf")
exp = _unary("exp")
floor = _unary("floor")
log = _unary("log")
negative = _unary("negative")
relu = _unary("nn.relu")
relu6 = _unary("nn.relu6")
rsqrt = _unary("rsqrt")
sigmoid = _unary("sigmoid")
silu = _unary("nn.silu")
sin = _unary("sin")
sqrt = _unary("sqrt")
square = _unary("square")
tanh = _unary("tanh")

add = _binary("add")
divide = _binary("divide")
equal = _binary("equal")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
less = _binary("less")
less_equal = _binary("less_equal")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
not_equal = _binary("not_equal")
power = _binary("power")
subtract = _binary("subtract")
sub, mul, div = subtract, multiply, divide


def gelu(x: Tensor, approximate: str | None = None, name: str = "") -> Tensor:
    """`x * (1 + erf(x / sqrt(2))) / 2`, or its approximation by `tanh`."""
    return call_word("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, name=name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "") -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` is greater than the threshold."""
    return call_word("nn.softplus", x, beta=beta, threshold=threshold, name=name)


def prelu(x: Tensor, alpha: Tensor, name: str = "") -> Tensor:
    """`x` where it is positive, else `alpha * x`; a slope for each index of dimension 1."""
    return call_word("nn.prelu", x, alpha, name=name)


def softmax(x: Tensor, axis: int = -1, name: str = "") -> Tensor:
    """The exponentials along an axis over their sum."""
    return call_word("nn.softmax", x, axis=axis, name=name)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "") -> Tensor:
    """The product of matrices. out_dtype: the data type of the result."""
    return call_word("matmul", a, b, out_dtype=out_dtype, name=name)


def reshape(x: Tensor, shape: Sequence[Any], name: str = "") -> Tensor:
    """The tensor in another shape."""
    return call_word("reshape", x, list(shape), name=name)


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str = "") -> Tensor:
    """The tensor with its dimensions in another order, by default reversed."""
    return call_word("permute_dims", x, axes=None if axes is None else list(axes), name=name)


permute = permute_dims


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "") -> Tensor:
    """The tensor repeated to a shape."""
    return call_word("broadcast_to", x, shape=list(shape), name=name)


def squeeze(x: Tensor, axis: int = -1, name: str = "") -> Tensor:
    """The tensor without a dimension of extent 1."""
    return call_word("squeeze", x, axis=[axis], name=name)


def unsqueeze(x: Tensor, dim: int, name: str = "") -> Tensor:
    """The tensor with a new dimension of extent 1."""
    return call_word("expand_dims", x, axis=[dim], name=name)


def concat(x: Sequence[Tensor], dim: int, name: str = "") -> Tensor:
    """Tensors joined along a dimension."""
    return call_word("concat", list(x), axis=dim, name=name)


def split(ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "") -> tuple[Tensor, ...]:
    """Parts of a tensor along a dimension."""
    parts = call_word("split", ary, indices_or_sections=indices_or_sections, axis=axis, name=name)
    return _fields(parts.expr)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "") -> tuple[Tensor, ...]:
    """Equal parts of a tensor along a dimension."""
    return split(x, chunks, dim, name)


def _fields(expr: Expr) -> tuple[Tensor, ...]:
    info = expr.struct_info
    assert isinstance(info, TupleStructInfo)
    return tuple(wrap(TupleGetItem(expr, n)) for n in range(len(info.fields)))


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "") -> Tensor:
    """Elements by their indices along an axis."""
    return call_word("take", x, indices, axis=axis, name=name)


def where(condition: Tensor, x1: Any, x2: Any, name: str = "") -> Tensor:
    """The elements of `x1` where the condition holds, else of `x2`."""
    return call_word("where", condition, x1, x2, name=name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "") -> Tensor:
    """The tensor with each element repeated along an axis."""
    return call_word("repeat", x, repeats=repeats, axis=axis, name=name)


def astype(x: Tensor, dtype: str, name: str = "") -> Tensor:
    """The tensor in another data type."""
    return x if x.dtype == dtype else call_word("astype", x, dtype=dtype, name=name)


def _reduction(word: str) -> Callable[..., Tensor]:
    def operate(x: Tensor, axis: Any = None, keepdims: bool = False, name: str = "") -> Tensor:
        return call_word(word, x, axis=axis, keepdims=keepdims, name=name)

    operate.__doc__ = f"`relax.op.{word}` along axes, by default all."
    return operate


sum, max, min, mean = (_reduction(word) for word in ("sum", "max", "min", "mean"))


def triu(x: Tensor, diagonal: int = 0, name: str = "") -> Tensor:
    """The elements on and above a diagonal, and zeros below."""
    return call_word("triu", x, k=diagonal, name=name)


def tril(x: Tensor, diagonal: int = 0, name: str = "") -> Tensor:
    """The elements on and below a diagonal, and zeros above."""
    return call_word("tril", x, k=diagonal, name=name)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "") -> Tensor:
    """A tensor of zeros."""
    return call_word("zeros", shape=list(shape), dtype=dtype, name=name)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "") -> Tensor:
    """A tensor of ones."""
    return call_word("ones", shape=list(shape), dtype=dtype, name=name)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "") -> Tensor:
    """A tensor filled with a number, or with the tensor of rank 0 `fill_value`."""
    if isinstance(fill_value, Tensor):
        return call_word("broadcast_to", fill_value.astype(dtype), shape=list(shape), name=name)
    number = getattr(fill_value, "value", fill_value)
    return call_word("full", shape=list(shape), fill_value=number, dtype=dtype, name=name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "") -> Tensor:
    """A tensor whose elements nobody may rely on: zeros."""
    return zeros(shape, dtype, name)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = "float32", name: str = "") -> Tensor:
    """The numbers from `start` up to `end`, exclusive; from 0 up to `start` if `end` is missing."""
    first, last = (0, start) if end is None else (start, end)
    return call_word("arange", start=first, end=last, step=step, dtype=dtype or "float32", name=name)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "") -> Tensor:
    """A tensor with elements before and after those of each dimension.

    pad: `[before_0, after_0, before_1, after_1, ...]`."""
    return call_word("nn.pad", x, pad_width=list(pad), pad_mode=mode, pad_value=value, name=name)


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None, name: str = ""
) -> Tensor:
    """The cumulative sums along an axis, by default of all elements in row-major order."""
    options: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    return call_word("cumsum", data, axis=axis, exclusive=bool(exclusive), name=name, **options)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "") -> Tensor:
    """The elements in order along an axis."""
    return call_word("sort", x, axis=axis, descending=descending, name=name)


def argsort(data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "") -> Tensor:
    """The indices that sort the elements along an axis."""
    return call_word("argsort", data, axis=axis, descending=descending, dtype=dtype, name=name)


def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, dtype: str = "int32",
    name: str = "",
) -> Any:  # fmt: skip
    """The `k` greatest, or least, elements along an axis, and their indices. ret_type: "both", "values", "indices"."""
    result = call_word("topk", data, k=k, axis=axis, ret_type=ret_type, largest=largest, dtype=dtype, name=name)
    return _fields(result.expr) if ret_type == "both" else result


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5, channel_axis: int = 1,
    axes: Sequence[int] | None = None, name: str = "",
) -> Tensor:  # fmt: skip
    """Normalization by the mean and the variance of each group of channels along axes, by default those from 2 on."""
    channels = x.shape[channel_axis]
    weight = ones([channels], x.dtype) if weight is None else weight
    bias = zeros([channels], x.dtype) if bias is None else bias
    along = list(range(2, x.ndim)) if axes is None else list(axes)
    return call_word(
        "nn.group_norm", x, weight, bias, num_groups=num_groups, channel_axis=channel_axis, axes=along, epsilon=eps,
        name=name,
    )  # fmt: skip


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool | None = False,
    scale: float | None = None, name: str = "",
) -> Tensor:  # fmt: skip
    """The attention of queries [batch, length, heads, size] to keys and values. attn_mask: added to the scores.

    is_causal: whether a query sees the keys up to its own position only."""
    options = {"causal_mask": "TopLeft" if is_causal else None, "scale": scale}
    if attn_mask is not None:
        return call_word("nn.attention_bias", query, key, value, attn_mask, name=name, **options)
    return call_word("nn.attention", query, key, value, name=name, **options)


def interpolate(
    x: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool | None = None, data_layout: str = "NCHW",
    name: str = "",
) -> Tensor:  # fmt: skip
    """Images in another size.

    size: of the result, or `scale_factor`: by which height and width grow.  mode: "nearest", "bilinear" or "bicubic".
    ArgumentError for recompute_scale_factor and antialias."""
    if recompute_scale_factor is not None or antialias is not None:
        raise ArgumentError("interpolate: recompute_scale_factor and antialias are not supported, expected None")
    if size is None:
        extents = [x.shape[d] for d, letter in enumerate(data_layout) if letter in "HW"]
        factors = scale_factor if isinstance(scale_factor, list | tuple) else [scale_factor] * len(extents)  # pyright: ignore[reportUnknownVariableType]
        size = [int(extent * factor) for extent, factor in zip(extents, factors, strict=True)]  # pyright: ignore[reportUnknownArgumentType]
    is_nearest = mode.startswith("nearest")
    corners = "align_corners" if align_corners else "half_pixel"
    return call_word(
        "image.resize2d", x, size=size, layout=data_layout,
        method="nearest_neighbor" if is_nearest else mode.removeprefix("bi"),
        coordinate_transformation_mode="asymmetric" if is_nearest else corners, name=name,
    )  # fmt: skip


def get_timestep_embedding(
    x: Tensor, embedding_dim: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1, scale: float = 1,
    max_period: int = 10000, name: str = "",
) -> Tensor:  # fmt: skip
    """The sines and cosines of steps [n] at frequencies that fall from 1 to `1 / max_period`, [n, embedding_dim].

    flip_sin_to_cos: whether the cosines are first.  downscale_freq_shift: less frequencies in the quotient of the
    exponent.  scale: of the angles."""
    half = embedding_dim // 2
    exponents = arange(0, half) * (-log_of(max_period) / (half - downscale_freq_shift))
    angles = unsqueeze(x.astype("float32"), 1) * unsqueeze(exp(exponents), 0)
    angles = angles if scale == 1 else angles * scale
    parts = [cos(angles), sin(angles)] if flip_sin_to_cos else [sin(angles), cos(angles)]
    result = concat(parts, -1)
    if embedding_dim % 2:
        result = pad(result, [0, 0, 0, 1])
    return astype(result, get_default_dtype(), name)


def layer_norm(
    x: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    name: str = "",
) -> Tensor:  # fmt: skip
    """Normalization by the mean and the variance along the last dimensions, of which there is one.

    normalized_shape: the extent of the dimension. ArgumentError for several dimensions."""
    sizes = list(normalized_shape) if isinstance(normalized_shape, list | tuple) else [normalized_shape]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if len(sizes) != 1:
        raise ArgumentError(f"layer_norm: dimensions {sizes}, expected one")
    weight = ones(sizes, x.dtype) if weight is None else weight
    bias = zeros(sizes, x.dtype) if bias is None else bias
    return call_word("nn.layer_norm", x, weight, bias, axes=[-1], epsilon=eps, name=name)


def rms_norm(x: Tensor, weight: Tensor, axes: Any = -1, epsilon: float = 1e-5, name: str = "") -> Tensor:
    """Division by the root of the mean of squares along the last dimension."""
    return call_word(
        "nn.rms_norm", x, weight, axes=axes if isinstance(axes, list) else [axes], epsilon=epsilon, name=name
    )


def _biased(result: Tensor, bias: Tensor | None, layout: str) -> Tensor:
    """A convolution plus a number for each channel."""
    if bias is None:
        return result
    return result + (bias if layout.endswith("C") else bias.reshape(1, -1, *[1] * (len(layout) - 2)))


def conv1d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, name: str = "",
) -> Tensor:  # fmt: skip
    """The convolution of signals NCW with weights OIW, and the sum with a bias."""
    result = call_word(
        "nn.conv1d", x, weight, strides=stride, padding=padding, dilation=dilation, groups=groups, name=name
    )
    return _biased(result, bias, "NCW")


def conv3d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, data_layout: str = "NCDHW", name: str = "",
) -> Tensor:  # fmt: skip
    """The convolution of volumes with weights OIDHW, or ODHWI for volumes NDHWC, and the sum with a bias."""
    result = call_word(
        "nn.conv3d", x, weight, strides=stride, padding=padding, dilation=dilation, groups=groups,
        data_layout=data_layout, kernel_layout="OIDHW" if data_layout == "NCDHW" else "ODHWI", name=name,
    )  # fmt: skip
    return _biased(result, bias, data_layout)


def conv1d_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    dilation: Any = 1, groups: int = 1, name: str = "",
) -> Tensor:  # fmt: skip
    """The transposed convolution of signals NCW with weights IOW, and the sum with a bias."""
    result = call_word(
        "nn.conv1d_transpose", x, weight, strides=stride, padding=padding, output_padding=output_padding,
        dilation=dilation, groups=groups, name=name,
    )  # fmt: skip
    return _biased(result, bias, "NCW")


def conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, data_layout: str = "NCHW", name: str = "",
) -> Tensor:  # fmt: skip
    """The convolution of images NCHW with weights OIHW, and the sum with a bias."""
    result = call_word(
        "nn.conv2d", x, weight, strides=stride, padding=padding, dilation=dilation, groups=groups,
        data_layout=data_layout, kernel_layout="OIHW" if data_layout == "NCHW" else "OHWI", name=name,
    )  # fmt: skip
    return _biased(result, bias, data_layout)


# Calls


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """The results of a packed function in destination-passing style. out: tensors that state their types."""
    return _results(call_dps_packed(name, [as_expr(each) for each in args], _infos(out)), out)


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any], name_hint: str, args: Sequence[Any], *, attrs: Any = None
) -> Any:
    """The results of a function of tensor expressions, as a kernel. attrs: ignored, they are hints of TVM's passes."""
    call = _builder("tensor_expr_op").call_te(
        tensor_expr_func, *[as_expr(each) for each in args], primfunc_name_hint=name_hint
    )
    result = wrap(call, name_hint)
    return _fields(result.expr) if isinstance(result.expr.struct_info, TupleStructInfo) else result


def tensor_ir_op(func: Program, name_hint: str, args: Sequence[Any], out: Any) -> Any:
    """The results of a kernel. args: tensors, then numbers.  out: tensors that state the types of the results."""
    kernel = _builder("tensor_ir_op").add_func(func, name_hint)
    tensors = [as_expr(each) for each in args if isinstance(each, Tensor)]
    numbers = [each for each in args if not isinstance(each, Tensor)]
    return _results(call_tir(kernel, tensors, _infos(out), numbers or None), out)


def tensor_ir_inplace_op(
    func: Program, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """The results of a kernel that overwrites arguments. inplace_indices: the position of the argument that each result
    overwrites, -1 for a new tensor. Other arguments as of `tensor_ir_op`."""
    kernel = _builder("tensor_ir_inplace_op").add_func(func, name_hint)
    given: Sequence[Any] = args if isinstance(args, list | tuple) else [args]
    return _results(call_tir_inplace(kernel, as_expr(given), inplace_indices, _infos(out)), out)


def _builder(what: str) -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise ArgumentError(f"{what}: no function is built, expected a call within Module.export_tvm")
    return builder


def _infos(out: Any) -> list[StructInfo]:
    return [each.expr.struct_info for each in (out if isinstance(out, list | tuple) else [out])]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _results(call: Expr, out: Any) -> Any:
    result = wrap(call)
    return _fields(result.expr) if isinstance(out, list | tuple) and len(out) > 1 else result  # pyright: ignore[reportUnknownArgumentType]


def wrap_nested(expr: Expr, name: str) -> Any:
    """The tensor of an expression, or the tensors of a tuple, bound to a name in the function under construction."""
    result = wrap(expr, name)
    is_tuple = isinstance(expr, Tuple) or isinstance(result.expr.struct_info, TupleStructInfo)
    return _fields(result.expr) if is_tuple else result


__all__ = [
    "add", "arange", "argsort", "astype", "broadcast_to", "chunk", "concat", "conv1d", "conv1d_transpose", "conv2d",
    "conv3d", "cos", "cumsum", "div", "divide", "empty", "equal", "erf", "exp", "extern", "floor", "full", "gelu",
    "get_timestep_embedding", "greater", "greater_equal", "group_norm", "interpolate", "layer_norm", "less",
    "less_equal", "log", "matmul", "max", "maximum", "mean", "min", "minimum", "mul", "multiply", "negative",
    "not_equal", "ones", "pad", "permute", "permute_dims", "power", "prelu", "relu", "relu6", "repeat", "reshape",
    "rms_norm", "rsqrt", "scaled_dot_product_attention", "sigmoid", "silu", "sin", "softmax", "softplus", "sort",
    "split", "sqrt", "square", "squeeze", "sub", "subtract", "sum", "take", "tanh", "tensor_expr_op",
    "tensor_ir_inplace_op", "tensor_ir_op", "topk", "tril", "triu", "unsqueeze", "where", "wrap_nested", "zeros",
]  # fmt: skip
