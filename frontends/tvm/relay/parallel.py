"""Products that share an operand as one product: `CombineParallelConv2D`, `CombineParallelDense` and
`CombineParallelBatchMatmul`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from ...relay.expr import Call, Expr, Function, TupleGetItem, operator_name
from ...relay.expr import call as new_call
from ...relay.functor import ExprMutator, post_order

_ALL = 2**31 - 1
"""The end of a slice that takes all elements."""

Combine = Callable[[Sequence[Call]], Sequence[Expr]]
"""A function from calls to the expressions that replace them."""


def combine_products(func: Function, name: str, key: Callable[[Call], Any], least: int, combine: Combine) -> Function:
    """A typed graph whose calls of an operator with the same first operand are combined.

    name: that of the operator.  key: a function to a value that is equal for calls which may be combined, None for
    calls that stay.  least: the number of calls from which they are combined.
    """
    groups: dict[tuple[Expr, Any], list[Call]] = {}

    for node in post_order(func):
        if isinstance(node, Call) and operator_name(node) == name:
            alike = key(node)
            if alike is not None:
                groups.setdefault((node.args[0], alike), []).append(node)
    chosen = [_independent(group) for group in groups.values()]
    return _Combination([group for group in chosen if len(group) >= least], combine).visit(func)


def _independent(group: Sequence[Call]) -> list[Call]:
    """The calls of a group whose operands need no other call of it."""
    kept: list[Call] = []
    for each in group:
        below = {node for arg in each.args for node in post_order(arg)}
        if not any(other in below for other in kept):
            kept.append(each)
    return kept


class _Combination(ExprMutator):
    """Replaces the calls of groups, all calls of a group at once."""

    def __init__(self, groups: Sequence[Sequence[Call]], combine: Combine):
        super().__init__()
        self.groups = {each: group for group in groups for each in group}
        self.combine = combine

    def visit_call(self, call: Call) -> Expr:
        if call not in self.groups:
            return super().visit_call(call)
        group = self.groups[call]
        operands = [Call(each.op, [self.visit(arg) for arg in each.args], each.attrs) for each in group]
        for old, new in zip(group, operands, strict=True):
            new.location, new.known_type = old.location, old.known_type
        self.memo_map.update(zip(group, self.combine(operands), strict=True))
        return self.memo_map[call]


def _slices(value: Expr, axis: int, counts: Sequence[int]) -> list[Expr]:
    """The parts of a value along an axis. counts: their sizes."""
    ends = list(accumulate(counts))
    bounds = zip([0, *ends[:-1]], ends, strict=True)
    front = [0] * axis, [_ALL] * axis
    return [new_call("strided_slice", value, begin=[*front[0], a], end=[*front[1], b]) for a, b in bounds]


# Operators


def convolution_key(call: Call) -> Any:
    """The attributes and the sizes of the weight of a convolution but for the output channels."""
    attrs: Any = call.attrs
    if attrs.groups != 1 or len(attrs.data_layout) != 4 or len(attrs.kernel_layout) != 4:
        return None
    weight = call.args[1].checked_type
    sizes = [size for size, axis in zip(weight.shape, attrs.kernel_layout, strict=True) if axis != "O"]
    others = {name: value for name, value in attrs.items() if name not in ("channels", "kernel_size")}
    return (tuple(sizes), weight.dtype, repr(sorted(others.items())))


def combine_convolutions(calls: Sequence[Call]) -> list[Expr]:
    """A convolution with the output channels of all, and a slice of its result for each."""
    attrs: Any = calls[0].attrs
    axis = attrs.kernel_layout.index("O")
    result_axis = (attrs.out_layout or attrs.data_layout).index("C")
    counts = [each.known_type.shape[result_axis] for each in calls]  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    weight = new_call("concatenate", *(each.args[1] for each in calls), axis=axis)
    said = {**attrs, "channels": sum(counts)}
    whole = Call(calls[0].op, [calls[0].args[0], weight], said)
    return _slices(whole, result_axis, counts)


def _without_units(call: Call) -> dict[str, Any]:
    return {name: value for name, value in call.attrs.items() if name != "units"}


def dense_key_as_batch(call: Call) -> Any:
    """The type of the weight and the attributes of a product."""
    is_matrix = len(call.args[0].checked_type.shape) == 2
    return (call.args[1].checked_type, repr(sorted(_without_units(call).items()))) if is_matrix else None


def dense_key_as_rows(call: Call) -> Any:
    """The number of columns of the weight and the attributes of a product."""
    type = call.args[1].checked_type
    return (type.shape[1], type.dtype, repr(sorted(_without_units(call).items())))


def combine_dense_as_batch(calls: Sequence[Call]) -> list[Expr]:
    """A product of batches of matrices, and a matrix of its result for each."""
    data = new_call("stack", *(each.args[0] for each in calls), axis=0)
    weight = new_call("stack", *(each.args[1] for each in calls), axis=0)
    dtype = calls[0].attrs.out_dtype  # pyright: ignore[reportAttributeAccessIssue]
    whole = new_call("nn.batch_matmul", data, weight, **({"out_dtype": dtype} if dtype else {}))
    parts = new_call("split", whole, indices_or_sections=len(calls))
    return [new_call("squeeze", TupleGetItem(parts, n), axis=[0]) for n in range(len(calls))]


def combine_dense_as_rows(calls: Sequence[Call]) -> list[Expr]:
    """A product with the rows of all weights, and a slice of its result for each."""
    rank = len(calls[0].known_type.shape)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
    counts = [each.args[1].checked_type.shape[0] for each in calls]
    weight = new_call("concatenate", *(each.args[1] for each in calls), axis=0)
    whole = new_call("nn.dense", calls[0].args[0], weight, units=sum(counts), **_without_units(calls[0]))
    return _slices(whole, rank - 1, counts)


def batch_key(call: Call) -> Any:
    """The sizes of the second operand but for its rows, and the attributes of a product of batches."""
    type = call.args[1].checked_type
    attrs: Any = call.attrs
    if attrs.transpose_a or not attrs.transpose_b:
        return None
    return (type.shape[0], type.shape[2], type.dtype, repr(sorted(attrs.items())))


def combine_batches(calls: Sequence[Call]) -> list[Expr]:
    """A product with the rows of all second operands, and a slice of its result for each."""
    counts = [each.args[1].checked_type.shape[1] for each in calls]
    right = new_call("concatenate", *(each.args[1] for each in calls), axis=1)
    whole = Call(calls[0].op, [calls[0].args[0], right], calls[0].attrs)
    return _slices(whole, 2, counts)
