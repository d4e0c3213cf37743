"""The pass `relay-plan-memory`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...core.dtypes import numpy_dtype
from ...core.remarks import PassRemarks
from ...core.sizes import align_up, byte_count, check_size
from ...dialects.attributes import UNSHARED_WORKSPACE, WORKSPACE, WORKSPACE_OFFSETS
from ...operators.relay import CallOp, FuncOp, IfOp, OperatorOp, ReturnOp, YieldOp, dtype_of_tensor, shape_of
from .graphs import graphs_of

_remarks = PassRemarks("relay-plan-memory")

ALIGNMENT = 64
"""The alignment of tensors in the workspace, in bytes."""


class RelayPlanMemoryPass(ModulePass):
    """Assigns each intermediate tensor an offset in one workspace, shared between tensors of disjoint lifetimes.

    Two tensors may share memory if the last read of one precedes the computation of the other. The largest tensors are
    placed first, each at the lowest offset that is free during its lifetime. Tensors of dynamic size, and tensors in
    branches, are not planned; tensors of 2**63 bytes or more in all are an error. Attributes of the function state the
    size of the workspace, with and without sharing.

    Before
        %0 = relay.call @fused_exp(%x) : (tensor<8xf32>) -> tensor<8xf32>

    After
        %0 = relay.call @fused_exp(%x) attributes {offsets = [0]} : (tensor<8xf32>) -> tensor<8xf32>

    Must hold before: functions call primitive functions (`relay-fuse-operators`).

    Gone after: nothing.
    """

    name = "relay-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            _plan(func)
            if _remarks.are_collected:
                _report_others(func)


def offsets_of(op: Operation) -> list[int | None]:
    """The offset of each result of a call in the workspace, in bytes; None for results without a plan."""
    planned = op.attributes.get(WORKSPACE_OFFSETS)
    if not isinstance(planned, ArrayAttr):
        return [None] * len(op.results)
    numbers = [each.value.data for each in planned.data if isinstance(each, IntegerAttr)]
    return [None if number < 0 else number for number in numbers]


def workspace_of(func: FuncOp, attribute: str = WORKSPACE) -> int:
    """The size of the workspace of a function in bytes."""
    size = None if func.func_attrs is None else func.func_attrs.data.get(attribute)
    return size.value.data if isinstance(size, IntegerAttr) else 0


@dataclass(eq=False)
class _Tensor:
    """A tensor to be planned.

    first, last: the positions of the op that computes the tensor and of its last reader.  size, offset: in bytes.
    """

    value: SSAValue
    size: int
    first: int
    last: int
    offset: int = -1

    def meets(self, other: _Tensor) -> bool:
        """Whether the lifetimes of both tensors overlap."""
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
            op.attributes[WORKSPACE_OFFSETS] = ArrayAttr([IntegerAttr(offsets.get(r, -1), i64) for r in op.results])
    whole = max((tensor.offset + tensor.size for tensor in tensors), default=0)
    unshared = check_size(sum(tensor.size for tensor in tensors), f"tensors of {func.sym_name.data}, in bytes")
    if tensors:
        _remarks.applied(func, lambda: f"the workspace has {whole} bytes, its tensors have {unshared} bytes in all")
    attributes = {} if func.func_attrs is None else dict(func.func_attrs.data)
    attributes[WORKSPACE] = IntegerAttr(whole, i64)
    attributes[UNSHARED_WORKSPACE] = IntegerAttr(unshared, i64)
    func.func_attrs = DictionaryAttr(attributes)


def _tensors(func: FuncOp) -> list[_Tensor]:
    """The tensors of known size that calls compute and the function does not return."""
    ops = list(func.body.block.ops)
    position = {op: n for n, op in enumerate(ops)}
    returned = set(func.return_values)
    tensors: list[_Tensor] = []
    for n, op in enumerate(ops):
        if isinstance(op, CallOp | IfOp):
            for result in op.outputs:
                size = _bytes(result)
                if result not in returned and size is not None:
                    reads = [position[_in_block(use.operation, func)] for use in result.uses]
                    tensors.append(_Tensor(result, size, n, max(reads, default=n)))
    return tensors


def _report_others(func: FuncOp) -> None:
    """Reports the tensors of a function that have no place in the workspace, except results of the function or of a
    branch, and the operators outside of calls."""
    for op in func.walk():
        if isinstance(op, OperatorOp):
            _remarks.missed(op, lambda: f"{op.name} has no place in the workspace, run relay-fuse-operators first")
        elif isinstance(op, CallOp | IfOp):
            for n, result in enumerate(op.outputs):
                reason = "it is in a branch" if op.parent is not func.body.block else "its size is dynamic"
                is_result = any(isinstance(use.operation, ReturnOp | YieldOp) for use in result.uses)
                if not is_result and (op.parent is not func.body.block or _bytes(result) is None):
                    _remarks.missed(op, lambda: f"result {n} has no place in the workspace: {reason}")


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
    size = byte_count(known, numpy_dtype(dtype_of_tensor(value)).itemsize)
    return align_up(max(size, 1), ALIGNMENT)


def _lowest(tensor: _Tensor, others: list[_Tensor]) -> int:
    """The lowest offset at which a tensor overlaps none of `others`."""
    start = 0
    for other in sorted(others, key=lambda other: other.offset):
        if start + tensor.size <= other.offset:
            break
        start = max(start, other.offset + other.size)
    return start
