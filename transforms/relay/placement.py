"""The placement of tensors in one memory, shared between tensors of disjoint lifetimes: of graphs and of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...core.sizes import align_up, check_size
from ...dialects.attributes import UNSHARED_WORKSPACE, VIEW, WORKSPACE, WORKSPACE_OFFSETS
from ...operators import relax
from ...operators.relay import FuncOp, dtype_of_tensor, shape_of
from ...operators.relay.bounds import greatest_byte_count

ALIGNMENT = 64
"""The alignment of tensors in the memory, in bytes."""


def offsets_of(op: Operation) -> list[int | None]:
    """The offset of each result of a call in the memory of its function, in bytes; None for results without a plan."""
    planned = op.attributes.get(WORKSPACE_OFFSETS)
    if not isinstance(planned, ArrayAttr):
        return [None] * len(op.results)
    numbers = [each.value.data for each in planned.data if isinstance(each, IntegerAttr)]
    return [None if number < 0 else number for number in numbers]


def offset_of(result: SSAValue) -> int | None:
    """The offset of a result of an operation in the memory of its function, in bytes; None without a plan."""
    assert isinstance(result, OpResult)
    return offsets_of(result.op)[result.index]


def workspace_of(func: FuncOp | relax.FuncOp, attribute: str = WORKSPACE) -> int:
    """The size of the memory of a function in bytes."""
    size = None if func.func_attrs is None else func.func_attrs.data.get(attribute)
    return size.value.data if isinstance(size, IntegerAttr) else 0


def planned_bytes(value: SSAValue, bounds: Mapping[str, int]) -> int | None:
    """The bytes that a tensor occupies in the memory, at the upper bounds of its sizes; None if a size has none."""
    size = greatest_byte_count(shape_of(value), dtype_of_tensor(value), bounds)
    return None if size is None else align_up(max(size, 1), ALIGNMENT)


def lifetimes(block: Block, values: Iterable[SSAValue]) -> list[tuple[SSAValue, int, int]]:
    """The lifetimes of results of operations in a block: each with the positions of its operation and of the last one
    that reads it, in its regions too."""
    position = {op: n for n, op in enumerate(block.ops)}
    found: list[tuple[SSAValue, int, int]] = []
    for value in values:
        assert isinstance(value.owner, Operation)
        first = position[value.owner]
        last = max((position[_in_block(use.operation, block)] for use in value.uses), default=first)
        found.append((value, first, last))
    return found


def _in_block(op: Operation, block: Block) -> Operation:
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


@dataclass(eq=False)
class _Tensor:
    """A tensor to be placed, with its views.

    first, last: the positions of the op that computes the tensor, and of the last reader of the tensor or a view.
    size, offset: in bytes.  device: in whose memory it is.
    """

    value: SSAValue
    size: int
    first: int
    last: int
    device: str | None = None
    offset: int = -1
    views: list[SSAValue] = field(default_factory=list[SSAValue])

    def meets(self, other: _Tensor) -> bool:
        """Whether the lifetimes of both tensors overlap, in one memory."""
        return self.device == other.device and self.first <= other.last and other.first <= self.last


def plan_function(
    func: FuncOp | relax.FuncOp,
    values: Iterable[SSAValue],
    sources: Mapping[SSAValue, SSAValue] | None = None,
    device_of: Callable[[SSAValue], str | None] = lambda _: None,
) -> None:
    """Places results of operations in the body of a function in its memory, those with an upper bound of their bytes.

    Attributes of the operations state the offsets and the views, attributes of the function the size of the memory,
    with and without sharing. Raises SizeError for 2**63 bytes or more.

    device_of: the device of a result. Each device has a memory, and the function states the largest size.

    values: the results, in the order of the operations.  sources: those of `values` that have the elements of another
    tensor in the same order, with that tensor, which precedes; where it has a place, they are views of it.
    """
    tensors = _tensors(func, values, sources or {}, device_of)
    placed: list[_Tensor] = []
    for tensor in sorted(tensors, key=lambda tensor: (-tensor.size, tensor.first)):
        tensor.offset = _lowest(tensor, [other for other in placed if other.meets(tensor)])
        placed.append(tensor)
    views = {view for tensor in tensors for view in tensor.views}
    offsets = {value: tensor.offset for tensor in tensors for value in (tensor.value, *tensor.views)}
    for op in func.body.block.ops:
        if any(result in offsets for result in op.results):
            op.attributes[WORKSPACE_OFFSETS] = ArrayAttr([IntegerAttr(offsets.get(r, -1), i64) for r in op.results])
        if any(result in views for result in op.results):
            op.attributes[VIEW] = UnitAttr()
    whole = max((tensor.offset + tensor.size for tensor in tensors), default=0)
    unshared = check_size(sum(tensor.size for tensor in tensors), f"tensors of {func.sym_name.data}, in bytes")
    attributes = {} if func.func_attrs is None else dict(func.func_attrs.data)
    attributes[WORKSPACE] = IntegerAttr(whole, i64)
    attributes[UNSHARED_WORKSPACE] = IntegerAttr(unshared, i64)
    func.func_attrs = DictionaryAttr(attributes)


def _tensors(
    func: FuncOp | relax.FuncOp,
    values: Iterable[SSAValue],
    sources: Mapping[SSAValue, SSAValue],
    device_of: Callable[[SSAValue], str | None],
) -> list[_Tensor]:
    bounds = func.size_bounds
    sizes = {value: size for value in values if (size := planned_bytes(value, bounds)) is not None}
    tensors = dict[SSAValue, _Tensor]()
    for value, first, last in lifetimes(func.body.block, sizes):
        viewed = tensors.get(sources[value]) if value in sources else None
        if viewed is None:
            tensors[value] = _Tensor(value, sizes[value], first, last, device_of(value))
        else:
            viewed.views.append(value)
            viewed.size, viewed.last = max(viewed.size, sizes[value]), max(viewed.last, last)
            tensors[value] = viewed
    return list(dict.fromkeys(tensors.values()))


def _lowest(tensor: _Tensor, others: list[_Tensor]) -> int:
    """The lowest offset at which a tensor overlaps none of `others`."""
    start = 0
    for other in sorted(others, key=lambda other: other.offset):
        if start + tensor.size <= other.offset:
            break
        start = max(start, other.offset + other.size)
    return start
