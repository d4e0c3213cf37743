"""The pass `relay-fuse-attention`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_lowercase

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import parse_dtype
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...operators import Pattern
from ...operators.relay import FuncOp, OperatorOp, RelayBuilder, Size, dtype_of_tensor, shape_of
from .graphs import erase, erase_unused, graphs_of, operator_at, replace
from .outline import Outliner, erase_unused_scalars

_remarks = PassRemarks("relay-fuse-attention")

_PRODUCTS = ("nn.batch_matmul", "einsum")
_DTYPES = ("float32", "float64")
_MOST_OPERATORS = 16
"""The greatest number of operators between the two products."""


@dataclass(frozen=True)
class RelayFuseAttentionPass(ModulePass):
    """Outlines attention into one function: a product of queries and keys, the softmax of its rows, and the product of
    these weights and values.

    Operators on elements and on rows of the scores, as scales and masks, are in the function too. The products have the
    batch dimensions of the softmax: reshapes between them are dropped. The default schedule for processors computes
    tiles of rows (rule `row tiles`), so that no tensor holds all scores.

    least-bytes: the size of the scores up to which the operators stay as they are: their kernels are as fast if a cache
    holds the scores. A dynamic size counts as 1.

    Before
        %s = relay.nn.batch_matmul(%q, %k) : (tensor<4x512x64xf32>, tensor<4x512x64xf32>) -> tensor<4x512x512xf32>
        %w = relay.nn.softmax(%s) {axis = 2} : (tensor<4x512x512xf32>) -> tensor<4x512x512xf32>
        %y = relay.nn.batch_matmul(%w, %v) {transpose_b = false}
            : (tensor<4x512x512xf32>, tensor<4x512x64xf32>) -> tensor<4x512x64xf32>

    After
        relay.func primitive @attention("p0" %p0: tensor<4x512x64xf32>, "p1" %p1: ..., "p2" %p2: ...) {
          %s = relay.nn.batch_matmul(%p0, %p1) ...
          ...
        }
        %y = relay.call @attention(%q, %k, %v) : (...) -> tensor<4x512x64xf32>

    Must hold before: libraries have their operators (`relay-partition`).

    Gone after: nothing.
    """

    name = "relay-fuse-attention"

    least_bytes: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = Outliner(op)
        for func in graphs_of(op):
            for first in list(find_ops(func, OperatorOp)):
                attention = _attention_from(first)
                if attention is not None:
                    self._outline(attention, func, outliner)
            erase_unused_scalars(func)

    def _outline(self, attention: _Attention, func: FuncOp, outliner: Outliner) -> None:
        bytes = attention.scores_bytes()
        if bytes <= self.least_bytes:
            reason = f"{bytes} bytes of scores, expected more than {self.least_bytes}"
            _remarks.missed(attention.first, lambda: reason)
            return
        group = attention.with_common_batch()
        _remarks.applied(group[-1], lambda: f"one kernel computes the {len(group)} operators of an attention")
        outliner.outline(group, func, "attention", primitive=True)


@dataclass(frozen=True)
class _Attention:
    """The operators of an attention.

    first, second: the products.  between: the operators on scores between them, in the order of the block, without
    reshapes.  reshapes: the reshapes of the scores after the first product, and before the second one.
    """

    first: OperatorOp
    second: OperatorOp
    between: Sequence[OperatorOp]
    reshapes: Sequence[OperatorOp]

    def scores_bytes(self) -> int:
        """The size of the scores; a dynamic size counts as 1."""
        scores = self.between[0].outputs[0]
        sizes = [size for size in shape_of(scores) if isinstance(size, int)]
        return prod(sizes) * parse_dtype(dtype_of_tensor(scores)).bytes

    def with_common_batch(self) -> list[OperatorOp]:
        """The operators of the attention, with products that have the batch dimensions of the softmax instead of
        products beside reshapes of scores."""
        first, second = self.first, self.second
        for reshape in self.reshapes:
            if reshape.args[0] is first.outputs[0]:
                first = _replace_product(first, reshape)
            else:
                second = _replace_product(second, reshape)
        group = [first, *self.between, second]
        return [*_reshapes_for(group, [*first.args, second.args[1]]), *group]


def _attention_from(first: OperatorOp) -> _Attention | None:
    """The attention whose first product is an operator; None if the operator is not part of an attention."""
    if not _is_product(first) or dtype_of_tensor(first.outputs[0]) not in _DTYPES:
        return None
    readers = _readers(first)
    if readers is None:
        return None
    second = next(node for node in readers if _is_product(node))
    reshapes = [node for node in readers if node.operator.name == "reshape"]
    between = [node for node in readers if node is not second and node not in reshapes]
    softmax = [node for node in between if node.operator.name == "nn.softmax"]
    if len(softmax) != 1:
        return None
    shape = shape_of(softmax[0].outputs[0])
    is_by_rows = softmax[0].attribute_value("axis") in (-1, len(shape) - 1)
    are_scores = all(node is softmax[0] or _is_on_scores(node, shape) for node in between)
    are_batches = all(_splits_batch(reshape, first, second, shape) for reshape in reshapes)
    return _Attention(first, second, between, reshapes) if is_by_rows and are_scores and are_batches else None


def _is_product(node: OperatorOp) -> bool:
    return node.operator.name in _PRODUCTS and len(node.args) == 2


def _readers(first: OperatorOp) -> list[OperatorOp] | None:
    """The operators that read the result of a product, directly or by way of others, up to the only product of which
    the results are a first operand, in the order of the block; None if others read them."""
    found, seconds, todo = dict[OperatorOp, None](), dict[OperatorOp, None](), [first]
    while todo and len(found) <= _MOST_OPERATORS:
        value = todo.pop().outputs[0]
        for user in [use.operation for use in value.uses]:
            if not isinstance(user, OperatorOp) or user.parent is not first.parent or len(user.outputs) != 1:
                return None
            if _is_product(user):
                if value is not user.args[0] or value is user.args[1]:
                    return None
                seconds[user] = None
            elif user not in found:
                found[user] = None
                todo.append(user)
    if todo or len(seconds) != 1 or first.parent is None:
        return None
    return [op for op in first.parent.ops if isinstance(op, OperatorOp) and (op in found or op in seconds)]


def _is_on_scores(node: OperatorOp, shape: Sequence[Size]) -> bool:
    """Whether an operator computes elements of scores, or of their rows. shape: of the scores."""
    rows = (*shape[:-1], 1)
    result, pattern = shape_of(node.outputs[0]), node.operator.pattern
    return (pattern <= Pattern.BROADCAST and result in (shape, rows)) or (
        pattern == Pattern.COMM_REDUCE and result == rows
    )


def _reshapes_for(group: Sequence[OperatorOp], operands: Sequence[SSAValue]) -> list[OperatorOp]:
    """The reshapes that compute operands for a group of operators alone. Transpositions are kernels of their own: the
    rows of a transposed factor are far from each other, and displace each other from caches."""
    reshapes = dict[OperatorOp, None]()
    for value in operands:
        reshape = operator_at(value, "reshape")
        if reshape is not None and all(use.operation in group for use in value.uses):
            reshapes[reshape] = None
    return list(reshapes)


def _splits_batch(reshape: OperatorOp, first: OperatorOp, second: OperatorOp, shape: Sequence[Size]) -> bool:
    """Whether a reshape is between a product with one batch dimension and scores with several ones, where all operands
    of the product have this batch. shape: of the scores."""
    before, after = reshape.args[0], reshape.outputs[0]
    product, merged, split = (first, before, after) if before is first.outputs[0] else (second, after, before)
    if merged not in (first.outputs[0], second.args[0]) or product.operator.name != "nn.batch_matmul":
        return False
    sizes = [shape_of(value) for value in (merged, *product.args)]
    is_split = shape_of(split) == tuple(shape) and sizes[0][1:] == tuple(shape[-2:])
    is_known = sum(not isinstance(size, int) for size in shape) <= 1
    return is_split and is_known and len({size[0] for size in sizes}) == 1 and not product.attribute_value("out_dtype")


def _replace_product(product: OperatorOp, reshape: OperatorOp) -> OperatorOp:
    """Replaces `nn.batch_matmul` and the reshape of its scores, its result or its first operand, by a product with the
    batch dimensions of the scores, which it returns."""
    builder = RelayBuilder(InsertPoint.before(product), location=product.location)
    are_results = reshape.args[0] is product.outputs[0]
    batch = shape_of(reshape.outputs[0] if are_results else reshape.args[0])[:-2]
    operands = list(product.args)
    a = _split_batch(operands[0], batch, builder) if are_results else reshape.args[0]
    b = _split_batch(operands[1], batch, builder)
    letters = ascii_lowercase[: len(batch)]
    x = "zx" if product.attribute_value("transpose_a") else "xz"
    y = "yz" if product.attribute_value("transpose_b") else "zy"
    new = builder.operator("einsum", a, b, equation=f"{letters}{x},{letters}{y}->{letters}xy")
    if are_results:
        replace(reshape, [new])
        erase(product)
    else:
        replace(product, [_reshape(builder, new, shape_of(product.outputs[0]))])
    for operand in operands:
        erase_unused(operand)
    assert isinstance(new.owner, OperatorOp)
    return new.owner


def _split_batch(value: SSAValue, batch: Sequence[Size], builder: RelayBuilder) -> SSAValue:
    """A batch of matrices with several batch dimensions: the operand of the reshape that merged them, or a reshape."""
    shape = (*batch, *shape_of(value)[-2:])
    merging = operator_at(value, "reshape")
    if merging is not None and shape_of(merging.args[0]) == shape:
        return merging.args[0]
    return _reshape(builder, value, shape)


def _reshape(builder: RelayBuilder, value: SSAValue, shape: Sequence[Size]) -> SSAValue:
    """A reshape to a shape with at most one dynamic size."""
    return builder.operator("reshape", value, newshape=[size if isinstance(size, int) else -1 for size in shape])
