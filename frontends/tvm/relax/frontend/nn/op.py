"""Operators on the tensors of modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ......core.errors import ArgumentError
from ......module import Module as Program
from ...block_builder import BlockBuilder
from ...calls import call_dps_packed, call_tir
from ...expr import Expr, Tuple, TupleGetItem
from ...struct_info import StructInfo, TupleStructInfo
from .core import Tensor, as_expr, call_word, wrap


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


def conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, data_layout: str = "NCHW", name: str = "",
) -> Tensor:  # fmt: skip
    """The convolution of images NCHW with weights OIHW, and the sum with a bias."""
    result = call_word(
        "nn.conv2d", x, weight, strides=stride, padding=padding, dilation=dilation, groups=groups,
        data_layout=data_layout, kernel_layout="OIHW" if data_layout == "NCHW" else "OHWI", name=name,
    )  # fmt: skip
    if bias is None:
        return result
    return result + (bias.reshape(1, -1, 1, 1) if data_layout == "NCHW" else bias)


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
    "add",
    "astype",
    "broadcast_to",
    "chunk",
    "concat",
    "conv2d",
    "cos",
    "div",
    "divide",
    "equal",
    "erf",
    "exp",
    "extern",
    "gelu",
    "greater",
    "greater_equal",
    "layer_norm",
    "less",
    "less_equal",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mul",
    "multiply",
    "negative",
    "not_equal",
    "ones",
    "permute",
    "permute_dims",
    "power",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "rms_norm",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "softmax",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "sub",
    "subtract",
    "sum",
    "take",
    "tanh",
    "tensor_expr_op",
    "tensor_ir_op",
    "tril",
    "triu",
    "unsqueeze",
    "where",
    "wrap_nested",
    "zeros",
]
