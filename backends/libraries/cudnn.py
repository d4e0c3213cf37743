"""`cudnn`: what it will compute on GPUs. Graphs can be partitioned for it, not yet compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ...core.errors import UnsupportedError
from ...dialects.relay import FuncOp, OperatorOp, dtype_of_tensor
from ...transforms.libraries import Library, LibraryPattern, Pattern, is_op, wildcard
from ...transforms.lowering.types import where

_FLOATS = {"float16", "float32", "float64"}


def _is_of_floats(ops: Sequence[OperatorOp]) -> bool:
    """Whether all tensors are of one type of floats."""
    kinds = {dtype_of_tensor(value) for op in ops for value in (*op.args, *op.outputs)}
    return len(kinds) == 1 and kinds <= _FLOATS


def _is_image(ops: Sequence[OperatorOp]) -> bool:
    """Whether the first operator is on images whose channels stand in front of rows and columns."""
    op = ops[0]
    layouts = {"data_layout": "NCHW", "kernel_layout": "OIHW", "layout": "NCHW"}
    names = {attribute.name for attribute in op.operator.attributes}
    return _is_of_floats(ops) and all(op.value(name) == layouts[name] for name in names & layouts.keys())


def _with_bias_and_relu(pattern: Pattern) -> Pattern:
    with_bias = pattern.optional(lambda x: is_op("nn.bias_add")(x, wildcard()).has_attr({"axis": 1}))
    return with_bias.optional(lambda x: is_op("nn.relu")(x))


def _lower(func: FuncOp) -> NoReturn:
    assert func.compiler is not None
    name, library = func.sym_name.data, func.compiler.data
    raise UnsupportedError(f"{where(func)}function {name} is for {library}: the CUDA stage is to come")


CUDNN = Library(
    "cudnn",
    (
        LibraryPattern(_with_bias_and_relu(is_op("nn.conv2d")(wildcard(), wildcard())), _is_image),
        LibraryPattern(is_op("nn.max_pool2d")(wildcard()), _is_image),
        LibraryPattern(is_op("nn.avg_pool2d")(wildcard()), _is_image),
        LibraryPattern(is_op("nn.softmax")(wildcard()), _is_of_floats),
    ),
    _lower,
    kind="cuda",
)
