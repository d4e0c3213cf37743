"""Aliases: the values of a function that refer to a memory, and the uses that write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue, Use

from ...core.dtypes import dtype_of, numpy_dtype
from ...dialects.tir import (
    CONCURRENT_KINDS,
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    AttrOp,
    BufferDataOp,
    CallOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    FuncOp,
    HandleType,
    IfThenElseOp,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    ReinterpretOp,
    StoreOp,
    YieldOp,
)

ALLOCATIONS = (AllocBufferOp, AllocateOp, AllocateConstOp)

_VIEWS = (MatchBufferOp, MatchRegionOp, DeclBufferOp, BufferDataOp, AddressOfOp, AccessPtrOp, LetOp, ReinterpretOp)


def is_concurrent(op: Operation | None) -> bool:
    """Whether `op` is a loop whose iterations may run concurrently."""
    return isinstance(op, LaunchThreadOp) or (isinstance(op, ForOp) and op.kind.data in CONCURRENT_KINDS)


def concurrent_loops_around(op: Operation) -> list[Operation]:
    """The concurrent loops around `op`, innermost first."""
    loops: list[Operation] = []
    parent = op.parent_op()
    while parent is not None:
        if is_concurrent(parent):
            loops.append(parent)
        parent = parent.parent_op()
    return loops


def memory_uses(root: SSAValue) -> list[Use]:
    """Every use of the memory of a pointer or buffer, through all its aliases; without declarations of
    accesses and attributes.
    """
    pending, seen, uses = [root], {root}, list[Use]()
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if isinstance(op, AccessOp | AttrOp | EvaluateOp):
                continue
            uses.append(use)
            for value in _views(op):
                if value not in seen:
                    seen.add(value)
                    pending.append(value)
    return uses


def _views(op: Operation) -> Iterable[SSAValue]:
    """The results of `op` that alias the memory of its operands."""
    match op:
        case YieldOp() if isinstance(parent := op.parent_op(), IfThenElseOp):
            results = parent.results
        case arith.SelectOp() | IfThenElseOp():
            results = op.results
        case _ if isinstance(op, _VIEWS):
            results = op.results
        case _:
            return ()
    return [r for r in results if isinstance(r.type, HandleType | MemRefType)]


def aliases_of(root: SSAValue) -> set[SSAValue]:
    """`root` and its possible aliases."""
    return {root, *(r for use in memory_uses(root) for r in _views(use.operation))}


class ParameterWrites:
    """The parameters that the functions of a module may write."""

    def __init__(self, functions: Mapping[str, FuncOp]):
        self._functions = functions
        self._known: dict[tuple[str, int], bool] = {}

    def parameter(self, func: FuncOp, index: int) -> bool:
        """Whether `func` may write the memory of parameter `index`."""
        key = func.sym_name.data, index
        if key not in self._known:
            self._known[key] = False  # the answer for recursive calls
            self._known[key] = any(self.use(u) for u in memory_uses(func.body.block.args[index]))
        return self._known[key]

    def use(self, use: Use) -> bool:
        """Whether a use of a memory may write it."""
        op = use.operation
        match op:
            case StoreOp():
                return use.index == 1
            case CallOp():
                callee = self._functions.get(op.callee.string_value())
                return callee is None or self.parameter(callee, use.index)
            case LoadOp() | arith.SelectOp() | YieldOp():
                return False
            case _:
                return not isinstance(op, _VIEWS)


def reads_or_writes(use: Use) -> bool:
    """Whether a use accesses the memory, rather than passing it on."""
    return not isinstance(use.operation, (*_VIEWS, arith.SelectOp, YieldOp))


def private_loops(alloc: AllocBufferOp) -> set[Operation]:
    """The concurrent loops that enclose all uses of a buffer but not its allocation: each iteration has a
    buffer of its own.
    """
    common: set[Operation] | None = None
    for use in memory_uses(alloc.buffer):
        around = set(concurrent_loops_around(use.operation))
        common = around if common is None else common & around
    return (common or set()) - set(concurrent_loops_around(alloc))


def has_one_element_size(functions: Iterable[FuncOp]) -> bool:
    """Whether every access to a memory has the element size of its allocation."""
    return all(_keeps_size(op) for func in functions for op in func.walk())


def _keeps_size(op: Operation) -> bool:
    match op:
        case DeclBufferOp():
            return _size(op.data) == _size(op.buffer)
        case AccessPtrOp():
            return _size(op.data) == _size(op.pointer)
        case ReinterpretOp():
            return not isinstance(op.result.type, HandleType)
        case CallOp():
            return not any(isinstance(a.type, HandleType) for a in op.args)
        case _:
            return True


def _size(value: SSAValue) -> int | None:
    """Bytes per element of the memory of a pointer or buffer."""
    type = value.type
    element = (
        type.element if isinstance(type, HandleType) else type.element_type if isinstance(type, MemRefType) else None
    )
    if element is None or isinstance(element, NoneAttr | HandleType):
        return None
    return numpy_dtype(dtype_of(element)).itemsize


def memory_roots(func: FuncOp) -> Iterator[SSAValue]:
    """The sources of the memory that a function accesses: its parameters and allocations."""
    yield from (a for a in func.body.block.args if isinstance(a.type, HandleType | MemRefType))
    for op in func.walk():
        if isinstance(op, ALLOCATIONS):
            yield op.results[0]
