"""`relay-plan-memory`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...core.dtypes import numpy_dtype
from ...dialects.attributes import OFFSETS, UNSHARED, WORKSPACE
from ...operators.relay import CallOp, FuncOp, IfOp, dtype_of_tensor, shape_of
from .graphs import graphs

ALIGNMENT = 64
"""Of tensors in the workspace, in bytes."""


class RelayPlanMemoryPass(ModulePass):
    """Say where in one workspace each tensor is kept that is neither given nor returned.

    Two tensors share memory if one is read for the last time before the other is computed. The largest tensors are
    placed first, each at the lowest address that is free while it lives. Tensors of sizes that are not known, and those
    in branches, are not planned. The function says the size of the workspace, and what it would be without sharing.

    Before
        %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>

    After
        %0 = relay.call @fused_exp(%x) attributes {offsets = [0]} : (tensor<8xf32>) -> tensor<8xf32>

    Must hold before: functions call primitive ones (`relay-fuse-operators`).

    Gone after: nothing.
    """

    name = "relay-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs(op):
            _plan(func)


def offsets_of(op: Operation) -> list[int | None]:
    """Where each result of a call is kept; None for those without a plan."""
    planned = op.attributes.get(OFFSETS)
    if not isinstance(planned, ArrayAttr):
        return [None] * len(op.results)
    numbers = [each.value.data for each in planned.data if isinstance(each, IntegerAttr)]
    return [None if number < 0 else number for number in numbers]


def workspace_of(func: FuncOp, attribute: str = WORKSPACE) -> int:
    """How many bytes of workspace a function needs."""
    found = None if func.func_attrs is None else func.func_attrs.data.get(attribute)
    return found.value.data if isinstance(found, IntegerAttr) else 0


@dataclass(eq=False)
class _Tensor:
    """A tensor to be planned: computed by the op of a number, read last by that of another."""

    value: SSAValue
    size: int
    first: int
    last: int
    offset: int = -1

    def meets(self, other: _Tensor) -> bool:
        """Whether both live at some time."""
        return self.first <= other.last and other.first <= self.last


def _plan(func: FuncOp) -> None:
    tensors = _tensors(func)
    placed: list[_Tensor] = []
    for tensor in sorted(tensors, key=lambda tensor: (-tensor.size, tensor.first)):
        tensor.offset = _lowest(tensor, [other for other in placed if other.meets(tensor)])
        placed.append(tensor)
    offsets = {tensor.value: tensor.offset for tensor in tensors}
    for op in func.body.block.ops:
        if any(result in offsets for result in op.results):
            op.attributes[OFFSETS] = ArrayAttr([IntegerAttr(offsets.get(r, -1), i64) for r in op.results])
    whole = max((tensor.offset + tensor.size for tensor in tensors), default=0)
    said = {} if func.func_attrs is None else dict(func.func_attrs.data)
    said[WORKSPACE] = IntegerAttr(whole, i64)
    said[UNSHARED] = IntegerAttr(sum(tensor.size for tensor in tensors), i64)
    func.func_attrs = DictionaryAttr(said)


def _tensors(func: FuncOp) -> list[_Tensor]:
    """The tensors of known size that calls compute and the function does not return."""
    ops = list(func.body.block.ops)
    place = {op: n for n, op in enumerate(ops)}
    returned = set(func.returned)
    found: list[_Tensor] = []
    for n, op in enumerate(ops):
        if isinstance(op, CallOp | IfOp):
            for result in op.outputs:
                size = _bytes(result)
                if result not in returned and size is not None:
                    reads = [place[_in_block(use.operation, func)] for use in result.uses]
                    found.append(_Tensor(result, size, n, max(reads, default=n)))
    return found


def _in_block(op: Operation, func: FuncOp) -> Operation:
    while op.parent is not func.body.block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _bytes(value: SSAValue) -> int | None:
    shape = shape_of(value)
    known = [size for size in shape if isinstance(size, int)]
    if len(known) < len(shape):
        return None
    size = prod(known) * numpy_dtype(dtype_of_tensor(value)).itemsize
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def _lowest(tensor: _Tensor, others: list[_Tensor]) -> int:
    """The lowest address at which a tensor does not meet others."""
    start = 0
    for other in sorted(others, key=lambda other: other.offset):
        if start + tensor.size <= other.offset:
            break
        start = max(start, other.offset + other.size)
    return start
