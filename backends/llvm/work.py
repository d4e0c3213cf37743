"""Upper bounds of the work of functions and loops in upstream MLIR.

An operation on a scalar counts 1, and takes less than a nanosecond. So does an operation on 16 bytes of a vector, if it
is one instruction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, IntegerType, MemRefType, StringAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.keeping import kept_with_argument
from ...dialects.attributes import PACKED, PARALLEL, REPORT_ASSERTION, REPORT_UNDEFINED
from .types import byte_size, element_type_of, lane_count

_SHORT = 8192
"""The work of some 10 microseconds at most."""
_WEIGHED = frozenset((func.CallOp, memref.CopyOp, memref.AllocOp))
_REGISTER = 16
"""The bytes of the vector registers of all processors that have some."""
_OF_REGISTERS = frozenset((
    arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp,
    arith.OrIOp, arith.XOrIOp, arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.BitcastOp, arith.MaximumfOp,
    arith.MinimumfOp, math_dialect.FmaOp, vector.BitcastOp, vector.BroadcastOp, vector.FMAOp, vector.LoadOp,
    vector.StoreOp,
))  # fmt: skip
_OF_FUNCTION, _OF_DIVISION, _OF_ALLOCATION = 64, 8, 512

_DIVISIONS = (
    arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.CeilDivSIOp, arith.CeilDivUIOp,
    arith.FloorDivSIOp, arith.DivfOp,
)  # fmt: skip
_DIALECTS = ("arith", "memref", "vector", "math", "cf", "scf", "builtin", "llvm", "func")

Lookup = Callable[[str], func.FuncOp]


def is_short(function: func.FuncOp, lookup: Lookup) -> bool:
    """Whether a function certainly ends within some 10 microseconds. lookup: the functions it may call, by name."""
    return Work(lookup, _SHORT).of_function(function) <= _SHORT


class Work:
    """The work of functions and blocks, infinite above a limit and without a static bound."""

    def __init__(self, lookup: Lookup, limit: int) -> None:
        """lookup: the functions of the module, by name."""
        self._lookup = lookup
        self._limit = limit
        self._known: dict[str, float] = {}
        self._blocks: dict[Block, float] = {}

    def of_function(self, function: func.FuncOp) -> float:
        """The work of a call."""
        name = function.sym_name.data
        if name not in self._known:
            self._known[name] = math.inf  # of recursive calls
            self._known[name] = math.inf if function.is_declaration else sum(map(self.of_block, function.body.blocks))
        return self._known[name]

    def of_block(self, block: Block) -> float:
        """The work of an execution of a block."""
        if block not in self._blocks:
            self._blocks[block] = self._sum(block)
        return self._blocks[block]

    def _sum(self, block: Block) -> float:
        total = 0.0
        for op in block.ops:
            total += self._of_op(op)
            if total > self._limit:
                return math.inf
        return total

    def outside_of_loops(self, block: Block) -> int:
        """The work of an execution of a block without its long loops, at least 1. A call of infinite work counts an
        eighth of the limit."""
        return max(1, sum(map(self._outside_of_loops, block.ops)))

    def _outside_of_loops(self, op: Operation) -> int:
        work = self._of_op(op)
        if work <= self._limit:
            return int(work)
        match op:
            case scf.ForOp() | scf.WhileOp() | scf.ParallelOp():
                return 0
            case scf.IfOp():
                return max(self.outside_of_loops(block) for region in op.regions for block in region.blocks)
            case _:
                return self._limit // 8

    def _of_op(self, op: Operation) -> float:
        if not op.regions and type(op) not in _WEIGHED:
            return _of_plain(op)
        match op:
            case scf.ForOp():
                count = trip_count(op)
                return 1 if count == 0 else count * (1 + self.of_block(op.body.block))
            case scf.IfOp():
                return 1 + max(sum(map(self.of_block, region.blocks)) for region in op.regions)
            case func.CallOp():
                return self._of_call(op)
            case memref.CopyOp() | memref.AllocOp():
                values = op.operands[:1] if isinstance(op, memref.CopyOp) else op.results
                return _OF_ALLOCATION + _element_count(values[0].type)
            case _:
                return math.inf

    def _of_call(self, op: func.CallOp) -> float:
        if PARALLEL in op.attributes:
            return math.inf  # threads that call Python need the lock of the caller
        callee = self._lookup(op.callee.string_value())
        packed = callee.attributes.get(PACKED)
        if isinstance(packed, StringAttr) and packed.data in (REPORT_ASSERTION, REPORT_UNDEFINED):
            return 0  # ends the function
        return 1 + self.of_function(callee)


def trip_count(op: scf.ForOp) -> float:
    """The trip count of a loop, infinite if it is unknown."""
    lower, upper, step = map(constant_of, (op.lb, op.ub, op.step))
    if lower is None or upper is None or step is None or step <= 0:
        return math.inf
    return max(0, -(-(upper - lower) // step))


def constant_of(value: SSAValue) -> int | None:
    """The value of an integer constant, None of another value."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


@cache
def _of_scalar(kind: type[Operation]) -> float:
    """The work of an operation without regions on scalars, infinite for an operation of an unknown dialect."""
    if kind in _DIVISIONS:
        return _OF_DIVISION
    dialect = kind.name.partition(".")[0]
    if kind is arith.ConstantOp:
        return 0
    return math.inf if dialect not in _DIALECTS else _OF_FUNCTION if dialect == "math" else 1


def _of_plain(op: Operation) -> float:
    """The work of an operation without regions."""
    kind, registers, lanes = type(op), 0, 1
    for value in (*op.operands, *op.results):
        if type(value.type) is VectorType:  # a tenth of the time of `isinstance`
            own = _size_of_vector(value.type)
            lanes, registers = max(lanes, own[0]), max(registers, own[1])
    return registers if registers and kind in _OF_REGISTERS else lanes * _of_scalar(kind)


@kept_with_argument
def _size_of_vector(type: VectorType[Attribute]) -> tuple[int, int]:
    """The numbers of lanes and of registers of a vector; no registers for elements that are no operands of
    instructions."""
    lanes = lane_count(type) or 1
    if not isinstance(element_type_of(type), Float32Type | Float64Type | IntegerType):
        return lanes, 0
    return lanes, -(-byte_size(type) * lanes // _REGISTER)


def _element_count(type: Attribute) -> float:
    if not isinstance(type, MemRefType) or any(extent < 0 for extent in type.get_shape()):
        return math.inf
    return math.prod(type.get_shape())
