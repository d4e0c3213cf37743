"""The placement of tensors in one memory, shared between tensors of disjoint lifetimes: of graphs and of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...core.dtypes import numpy_dtype
from ...core.sizes import align_up, check_size
from ...dialects.attributes import (
    DYNAMIC_OFFSETS,
    DYNAMIC_WORKSPACES,
    UNSHARED_WORKSPACE,
    VIEW,
    WORKSPACE,
    WORKSPACE_OFFSETS,
)
from ...expressions.sizes import size_factors
from ...operators import relax
from ...operators.relay import FuncOp, SizeScope, dtype_of_tensor, shape_of
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


@dataclass(frozen=True)
class DynamicPlace:
    """The place of a tensor in a dynamic workspace. workspace: its number.  offset: in products of its sizes."""

    workspace: int
    offset: int


def dynamic_places_of(op: Operation) -> list[DynamicPlace | None]:
    """The place of each result of a call in the dynamic workspaces of its function; None for results without a plan."""
    planned = op.attributes.get(DYNAMIC_OFFSETS)
    if not isinstance(planned, ArrayAttr):
        return [None] * len(op.results)
    pairs = [[number.value.data for number in each] for each in planned.data if isinstance(each, ArrayAttr)]
    return [DynamicPlace(*pair) if pair else None for pair in pairs]


@dataclass(frozen=True)
class DynamicWorkspace:
    """A memory whose size in bytes is the product of a number and sizes."""

    number: int
    sizes: tuple[str, ...]


def dynamic_workspaces_of(func: FuncOp) -> list[DynamicWorkspace]:
    """The dynamic workspaces of a function."""
    planned = None if func.func_attrs is None else func.func_attrs.data.get(DYNAMIC_WORKSPACES)
    if not isinstance(planned, ArrayAttr):
        return []
    found = [(number, sizes) for number, *sizes in (each.data for each in planned.data)]
    return [DynamicWorkspace(number.value.data, tuple(each.data for each in sizes)) for number, sizes in found]


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
    size, offset: in bytes, or in products of `unit`, the dynamic sizes.  device: in whose memory it is.
    """

    value: SSAValue
    size: int
    first: int
    last: int
    device: str | None = None
    unit: tuple[str, ...] = ()
    offset: int = -1
    views: list[SSAValue] = field(default_factory=list[SSAValue])

    def meets(self, other: _Tensor) -> bool:
        """Whether the lifetimes of both tensors overlap, in one memory."""
        is_one_memory = (self.device, self.unit) == (other.device, other.unit)
        return is_one_memory and self.first <= other.last and other.first <= self.last


def plan_function(
    func: FuncOp | relax.FuncOp,
    values: Iterable[SSAValue],
    sources: Mapping[SSAValue, SSAValue] | None = None,
    device_of: Callable[[SSAValue], str | None] = lambda _: None,
    *,
    dynamic: bool = False,
) -> None:
    """Places results of operations in the body of a function in its memory, those with an upper bound of their bytes.

    Attributes of the operations state the offsets and the views, attributes of the function the size of the memory,
    with and without sharing. Raises SizeError for 2**63 bytes or more.

    device_of: the device of a result. Each device has a memory, and the function states the largest size.

    values: the results, in the order of the operations.  sources: those of `values` that have the elements of another
    tensor in the same order, with that tensor, which precedes; where it has a place, they are views of it.

    dynamic: whether tensors without an upper bound are placed in dynamic workspaces. Tensors are in one workspace if
    their bytes are multiples of one product of sizes, so that the numbers of these multiples are placed like bytes.
    """
    tensors = _tensors(func, values, sources or {}, device_of, dynamic)
    placed: list[_Tensor] = []
    for tensor in sorted(tensors, key=lambda tensor: (-tensor.size, tensor.first)):
        tensor.offset = _lowest(tensor, [other for other in placed if other.meets(tensor)])
        placed.append(tensor)
    views = {view for tensor in tensors for view in tensor.views}
    units = list(dict.fromkeys(tensor.unit for tensor in tensors if tensor.unit))
    offsets, places = dict[SSAValue, int](), dict[SSAValue, list[int]]()
    for tensor in tensors:
        for value in (tensor.value, *tensor.views):
            if tensor.unit:
                places[value] = [units.index(tensor.unit), tensor.offset]
            else:
                offsets[value] = tensor.offset
    for op in func.body.block.ops:
        if any(result in offsets for result in op.results):
            op.attributes[WORKSPACE_OFFSETS] = ArrayAttr([IntegerAttr(offsets.get(r, -1), i64) for r in op.results])
        if any(result in places for result in op.results):
            pairs = [places.get(result, []) for result in op.results]
            op.attributes[DYNAMIC_OFFSETS] = ArrayAttr([_numbers(pair) for pair in pairs])
        if any(result in views for result in op.results):
            op.attributes[VIEW] = UnitAttr()
    static = [tensor for tensor in tensors if not tensor.unit]
    unshared = check_size(sum(tensor.size for tensor in static), f"tensors of {func.sym_name.data}, in bytes")
    attributes = {} if func.func_attrs is None else dict(func.func_attrs.data)
    attributes[WORKSPACE] = IntegerAttr(_end(static), i64)
    attributes[UNSHARED_WORKSPACE] = IntegerAttr(unshared, i64)
    if units:
        ends = [_end(tensor for tensor in tensors if tensor.unit == unit) for unit in units]
        attributes[DYNAMIC_WORKSPACES] = ArrayAttr(
            ArrayAttr([IntegerAttr(end, i64), *map(StringAttr, unit)]) for end, unit in zip(ends, units, strict=True)
        )
    func.func_attrs = DictionaryAttr(attributes)


def _numbers(numbers: Iterable[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(number, i64) for number in numbers])


def _end(tensors: Iterable[_Tensor]) -> int:
    """The end of the last of some tensors."""
    return max((tensor.offset + tensor.size for tensor in tensors), default=0)


def _tensors(
    func: FuncOp | relax.FuncOp,
    values: Iterable[SSAValue],
    sources: Mapping[SSAValue, SSAValue],
    device_of: Callable[[SSAValue], str | None],
    dynamic: bool,
) -> list[_Tensor]:
    bounds = func.size_bounds
    sizes = dict[SSAValue, tuple[int, tuple[str, ...]]]()
    for value in values:
        if (size := planned_bytes(value, bounds)) is not None:
            sizes[value] = size, ()
        elif dynamic:
            sizes[value] = _dynamic_bytes(value)
    tensors = dict[SSAValue, _Tensor]()
    for value, first, last in lifetimes(func.body.block, sizes):
        size, unit = sizes[value]
        viewed = tensors.get(sources[value]) if value in sources else None
        if viewed is None or viewed.unit != unit:
            tensors[value] = _Tensor(value, size, first, last, device_of(value), unit)
        else:
            viewed.views.append(value)
            viewed.size, viewed.last = max(viewed.size, size), max(viewed.last, last)
            tensors[value] = viewed
    return list(dict.fromkeys(tensors.values()))


def _dynamic_bytes(value: SSAValue) -> tuple[int, tuple[str, ...]]:
    """The bytes that a tensor occupies in a dynamic workspace, as a number and the sizes it is multiplied by."""
    scope, number, unit = SizeScope(), numpy_dtype(dtype_of_tensor(value)).itemsize, list[str]()
    for size in shape_of(value):
        factor, sizes = (size, ()) if isinstance(size, int) else size_factors(scope(size))
        number *= factor
        unit += sizes
    return align_up(max(number, 1), ALIGNMENT), tuple(sorted(unit))


def _lowest(tensor: _Tensor, others: list[_Tensor]) -> int:
    """The lowest offset at which a tensor overlaps none of `others`."""
    start = 0
    for other in sorted(others, key=lambda other: other.offset):
        if start + tensor.size <= other.offset:
            break
        start = max(start, other.offset + other.size)
    return start
