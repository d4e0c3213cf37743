"""Weights of products that are transposed or sparse: `SimplifyFCTranspose`, `DenseToSparse`, `Conv2dToSparse`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.errors import OptionError, UnsupportedError
from ....operators.windows import each_dimension, paddings
from ...relay.analysis import free_vars
from ...relay.expr import Call, Constant, Expr, Function, Var, call, operator_name
from ...relay.functor import ExprMutator
from ...relay.types import TensorType

Array = npt.NDArray[Any]

LAYOUTS = {"NCHW": "OIHW", "NHWC": "HWIO"}
"""The layout of the weights for each layout of the images of sparse convolutions."""


class _Replacement(ExprMutator):
    """Replaces calls. replace: the expression for a call, None to keep it."""

    def __init__(self, replace: Callable[[Call], Expr | None]):
        super().__init__()
        self._replace = replace

    def visit_call(self, call: Call) -> Expr:
        new = super().visit_call(call)
        return new if not isinstance(new, Call) else self._replace(new) or new


def _replaced(func: Function, replace: Callable[[Call], Expr | None]) -> Function:
    """A function with other calls. Its parameters are those that it still uses, then the new ones."""
    body = _Replacement(replace).visit(func.body)
    used = free_vars(body)
    kept = [each for each in func.params if each in used]
    return Function([*kept, *(each for each in used if each not in kept)], body, None, func.type_params, func.attrs)


def _tensor_type(var: Var, what: str) -> TensorType:
    if not isinstance(var.type_annotation, TensorType):
        raise OptionError(f"{what}: parameter {var.name_hint!r} of type {var.type_annotation}, expected a tensor")
    return var.type_annotation


# Transposes


def transposed_weight(expr: Any) -> Var | None:
    """The variable of which a call of `nn.dense` takes the transpose as its weight, None for other expressions."""
    if operator_name(expr) != "nn.dense" or operator_name(expr.args[1]) != "transpose":
        return None
    transpose = expr.args[1]
    axes = transpose.attrs.axes
    is_swap = axes is None or [axis % 2 for axis in axes] == [1, 0]
    return transpose.args[0] if is_swap and isinstance(transpose.args[0], Var) else None


def use_transposed_weights(func: Function, names: Sequence[str]) -> Function:
    """A graph in which `nn.dense` takes parameters `NAME.T` in place of transposes. names: the weights to replace."""
    parameters: dict[Var, Var] = {}

    def replace(node: Call) -> Expr | None:
        weight = transposed_weight(node)
        if weight is None or weight.name_hint not in names:
            return None
        kind = _tensor_type(weight, "SimplifyFCTranspose")
        other = Var(f"{weight.name_hint}.T", TensorType(kind.shape[::-1], kind.dtype))
        return node.with_args([node.args[0], parameters.setdefault(weight, other)])

    return _replaced(func, replace)


# Blocks of rows and columns


def blocks_of(matrix: Array, block: Sequence[int]) -> tuple[Array, Array, Array]:
    """A matrix in BSR: the blocks that are not zero, their columns in blocks, and the position of each row of blocks.

    block: the rows and columns of a block. OptionError for a matrix that is not of whole blocks.
    """
    rows, columns = block
    if rows < 1 or columns < 1 or matrix.shape[0] % rows or matrix.shape[1] % columns:
        raise OptionError(f"weight of {list(matrix.shape)}, expected whole blocks of {list(block)}")
    parts = matrix.reshape(matrix.shape[0] // rows, rows, -1, columns).transpose(0, 2, 1, 3)
    is_used = parts.any(axis=(2, 3))
    positions = np.concatenate([[0], np.cumsum(is_used.sum(axis=1))]).astype("int32")
    return np.ascontiguousarray(parts[is_used]), np.nonzero(is_used)[1].astype("int32"), positions


def is_sparse_enough(weight: Array, threshold: float) -> bool:
    """Whether the share of zeros reaches a threshold."""
    return bool(weight.size and 1 - np.count_nonzero(weight) / weight.size >= threshold)


class _SparseWeights:
    """Parameters `NAME.data`, `NAME.indices` and `NAME.indptr` in place of weights.

    names: the weights.  shapes: for each weight the extents of the three parts, in one list.
    """

    def __init__(self, what: str, names: Sequence[Any], shapes: Sequence[Sequence[Any]]):
        if len(names) != len(shapes):
            raise OptionError(f"{what}: {len(names)} names and {len(shapes)} shapes of weights")
        self._what = what
        self._shapes = {str(name): [int(size) for size in shape] for name, shape in zip(names, shapes, strict=True)}
        self._parameters: dict[Var, list[Var]] = {}

    def parameters(self, weight: Any) -> list[Var] | None:
        """The parameters in place of a weight, None for an expression that is none of the weights."""
        if not isinstance(weight, Var) or weight.name_hint not in self._shapes:
            return None
        if weight not in self._parameters:
            *data, count, rows = self._shapes[weight.name_hint]
            types = [TensorType(data, _tensor_type(weight, self._what).dtype), *_index_types(count, rows)]
            names = [f"{weight.name_hint}.{part}" for part in ("data", "indices", "indptr")]
            self._parameters[weight] = [Var(name, type) for name, type in zip(names, types, strict=True)]
        return self._parameters[weight]


def _index_types(count: int, rows: int) -> list[TensorType]:
    return [TensorType([count], "int32"), TensorType([rows], "int32")]


# Products of matrices


def dense_weight(expr: Any) -> Var | None:
    """The weight of `nn.dense` if it is a variable, None for other expressions."""
    is_product = operator_name(expr) == "nn.dense" and isinstance(expr.args[1], Var)
    return expr.args[1] if is_product else None


def use_sparse_weights(func: Function, names: Sequence[Any], shapes: Sequence[Sequence[Any]]) -> Function:
    """A graph in which `nn.sparse_dense` computes the products with some weights. names, shapes: as of
    `_SparseWeights`."""
    weights = _SparseWeights("DenseToSparse", names, shapes)

    def replace(node: Call) -> Expr | None:
        parts = None if dense_weight(node) is None else weights.parameters(node.args[1])
        return None if parts is None else call("nn.sparse_dense", node.args[0], *parts)

    return _replaced(func, replace)


# Convolutions


def convolution_weight(expr: Any, layout: str) -> Expr | None:
    """The weight of a `nn.conv2d` that `nn.sparse_conv2d` computes: of one pixel, in steps of 1, without padding and
    groups. None for other expressions. layout: of the images, one of `LAYOUTS`."""
    if operator_name(expr) != "nn.conv2d":
        return None
    attrs = expr.attrs
    is_plain = (
        attrs.data_layout == layout
        and attrs.kernel_layout == LAYOUTS[layout]
        and attrs.out_layout in ("", layout)
        and attrs.groups == 1
        and each_dimension(attrs.strides, 2, "strides") == [1, 1]
        and not any(map(any, paddings(attrs.padding, 2, "padding")))
    )
    sizes = _window(expr.args[1], attrs.kernel_size, layout)
    return expr.args[1] if is_plain and sizes == [1, 1] else None


def _window(weight: Expr, stated: Any, layout: str) -> list[Any] | None:
    """The size of a window, None if neither the convolution nor its weight states it."""
    if stated is not None:
        return list(each_dimension(stated, 2, "kernel_size"))
    shape = weight.array.shape if isinstance(weight, Constant) else _shape(weight)
    at = LAYOUTS[layout].index("H")
    return None if shape is None else list(shape[at : at + 2])


def _shape(weight: Expr) -> Sequence[Any] | None:
    kind = weight.type_annotation if isinstance(weight, Var) else None
    return kind.shape if isinstance(kind, TensorType) else None


def matrix_of_convolution(weight: Array, layout: str) -> Array:
    """The weights of a convolution of one pixel as a matrix of output channels by input channels."""
    return weight.reshape(weight.shape[:2]) if layout == "NCHW" else weight.reshape(weight.shape[2:]).T


def require_sparse_convolution(what: str, layout: str, kernel_size: int) -> None:
    """OptionError for another layout than those of `LAYOUTS`, UnsupportedError for windows of several pixels."""
    if layout not in LAYOUTS:
        raise OptionError(f"{what}: layout {layout!r}, expected {' or '.join(LAYOUTS)}")
    if kernel_size != 1:
        raise UnsupportedError(f"{what}: sparse convolutions with windows of {kernel_size} are not supported yet")


def use_sparse_convolutions(
    func: Function, names: Sequence[Any], shapes: Sequence[Sequence[Any]], layout: str
) -> Function:
    """A graph in which `nn.sparse_conv2d` computes the convolutions with some weights, those of `convolution_weight`.
    names, shapes: as of `_SparseWeights`."""
    weights = _SparseWeights("Conv2dToSparse", names, shapes)

    def replace(node: Call) -> Expr | None:
        parts = weights.parameters(convolution_weight(node, layout))
        return None if parts is None else call("nn.sparse_conv2d", node.args[0], *parts, layout=layout)

    return _replaced(func, replace)


def make_convolutions_sparse(func: Function, layout: str, block: Sequence[int], threshold: float) -> Function:
    """A graph in which `nn.sparse_conv2d` computes the convolutions with constant weights of float32.

    block: the rows and columns of a block.  threshold: the least share of zeros in the blocks that are left out.
    """

    def replace(node: Call) -> Expr | None:
        weight = convolution_weight(node, layout)
        if not isinstance(weight, Constant) or weight.array.dtype != np.float32:
            return None
        parts = blocks_of(matrix_of_convolution(weight.array, layout), block)
        if weight.array.size == 0 or 1 - parts[0].size / weight.array.size < threshold:
            return None
        return call("nn.sparse_conv2d", node.args[0], *map(Constant, parts), layout=layout)

    return _replaced(func, replace)


def sparse_parameters(name: str, matrix: Array, block: Sequence[int], by_rows: bool = False) -> Mapping[str, Array]:
    """The parameters in place of a weight. by_rows: whether blocks of one column have no axis of columns."""
    data, indices, positions = blocks_of(matrix, block)
    data = data[..., 0] if by_rows and block[1] == 1 else data
    return {f"{name}.data": data, f"{name}.indices": indices, f"{name}.indptr": positions}
