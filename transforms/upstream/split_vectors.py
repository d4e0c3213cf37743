"""The pass `split-vectors`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.remarks import PassRemarks

_remarks = PassRemarks("split-vectors")


@dataclass(frozen=True)
class SplitVectorsPass(ModulePass):
    """Splits wide vectors into vectors whose numbers of lanes are powers of two.

    A vector of 48 lanes becomes one of 32 lanes and one of 16. LLVM would widen it to 64 lanes, so that values that fit
    into the registers no longer do. Loads, stores, operators on lanes, masks, reductions and accesses of single lanes
    are split; the operands of other ops are joined again.

    whole: the greatest number of lanes of a vector that is not split; the floats of the widest register.

    Before
        %x = vector.load %A[%i] : memref<48xf32>, vector<48xf32>
        %y = arith.addf %x, %x : vector<48xf32>

    After
        %x = vector.load %A[%i] : memref<48xf32>, vector<32xf32>
        %c32 = arith.constant 32 : index
        %j = arith.addi %i, %c32 : index
        %x_1 = vector.load %A[%j] : memref<48xf32>, vector<16xf32>
        %y = arith.addf %x, %x : vector<32xf32>
        %y_1 = arith.addf %x_1, %x_1 : vector<16xf32>

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "split-vectors"

    whole: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        splitter = _Splitter(self.whole)
        for inner in list(op.walk()):
            if any(splitter.layout(value.type) for value in (*inner.operands, *inner.results)):
                splitter.visit(inner)
        splitter.finish()


@dataclass(frozen=True)
class _Part:
    """A part of a vector: its first lane, and its number of lanes."""

    start: int
    lanes: int


@cache
def _layout(type: Attribute, whole: int) -> tuple[_Part, ...]:
    """The parts of a vector type, none for a type that is not split."""
    if not isinstance(type, VectorType) or type.get_num_dims() != 1 or type.get_num_scalable_dims():
        return ()
    (count,) = type.get_shape()
    if count <= whole or count & (count - 1) == 0:
        return ()
    parts: list[_Part] = []
    start = 0
    while start < count:
        lanes = 1 << ((count - start).bit_length() - 1)
        parts.append(_Part(start, lanes))
        start += lanes
    return tuple(parts)


def _narrow(type: Attribute, lanes: int) -> Attribute:
    """A vector type with other lanes; any other type itself."""
    return VectorType(type.element_type, [lanes]) if isinstance(type, VectorType) else type


class _Splitter:
    """The parts of the vectors of a module. The ops are visited in the order of the text: operands precede uses."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._values: dict[SSAValue, list[SSAValue]] = {}
        self._joined: dict[SSAValue, SSAValue] = {}
        self._replaced: list[Operation] = []
        self._point: InsertPoint | None = None
        self._op: Operation | None = None

    def layout(self, type: Attribute) -> tuple[_Part, ...]:
        """The parts of a vector type, none for a type that is not split."""
        return _layout(type, self._whole)

    def visit(self, op: Operation) -> None:
        """Inserts ops on parts before `op`, or joins its operands."""
        self._op, self._point = op, InsertPoint.before(op)
        rule = _elementwise if _is_elementwise(op) else _RULES.get(type(op))
        if rule is not None and rule(self, op):
            self._replaced.append(op)
            _remarks.applied(op, lambda: f"{op.name} on {self._lengths(op)}")
            return
        _remarks.missed(op, lambda: f"{op.name} needs whole vectors, {self._lengths(op)}")
        for n, operand in enumerate(op.operands):
            if operand in self._values and operand.owner in self._replaced:
                op.operands[n] = self._join(operand)

    def _lengths(self, op: Operation) -> str:
        """The lanes of the vectors of an op, and of their parts."""
        types = dict.fromkeys(value.type for value in (*op.operands, *op.results) if self.layout(value.type))
        return ", ".join(
            f"{_lanes(type)} lanes: {' + '.join(str(part.lanes) for part in self.layout(type))}" for type in types
        )

    def finish(self) -> None:
        """Erases the replaced ops."""
        for op in reversed(self._replaced):
            Rewriter.erase_op(op)

    def value(self, op: Operation) -> SSAValue:
        """Inserts an op at its place. Returns its result."""
        self.insert(op)
        return op.results[0]

    def index(self, number: int) -> SSAValue:
        """Inserts a constant."""
        return self.value(arith.ConstantOp(IntegerAttr(number, IndexType())))

    def insert(self, op: Operation) -> None:
        """Inserts an op at its place."""
        assert self._op is not None
        assert self._point is not None
        op.location = self._op.location
        Rewriter.insert_op(op, self._point)

    def parts(self, value: SSAValue) -> list[SSAValue]:
        """The parts of a vector; the value itself, for each part, if it is no vector."""
        return self._values[value] if value in self._values else self._cut(value)

    def define(self, value: SSAValue, parts: Sequence[SSAValue]) -> None:
        """States the parts of a result of a replaced op."""
        self._values[value] = list(parts)
        for part in parts:
            part.name_hint = part.name_hint or value.name_hint

    def _cut(self, value: SSAValue) -> list[SSAValue]:
        """Cuts a vector into parts where it is defined."""
        owner, here = value.owner, self._point
        self._point = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        parts = [
            self.value(_shuffle(value, value, range(part.start, part.start + part.lanes)))
            for part in self.layout(value.type)
        ]
        self._point = here
        self.define(value, parts)
        return self._values[value]

    def _join(self, value: SSAValue) -> SSAValue:
        """The vector of the parts of a result, joined where they are defined."""
        if value not in self._joined:
            assert isinstance(value.owner, Operation)
            here, self._point = self._point, InsertPoint.before(value.owner)
            whole, *rest = self._values[value]
            lanes = _lanes(whole.type)
            for part in rest:
                lanes += _lanes(part.type)
                whole = self.value(_shuffle(whole, part, range(lanes)))
            self._point = here
            self._joined[value] = whole
        return self._joined[value]


def _lanes(type: Attribute) -> int:
    return cast("VectorType[Attribute]", type).get_shape()[0]


def _shuffle(first: SSAValue, second: SSAValue, lanes: Sequence[int]) -> vector.ShuffleOp:
    """Selects lanes of two vectors, counted through both."""
    type = VectorType(cast("VectorType[Attribute]", first.type).element_type, [len(lanes)])
    return vector.ShuffleOp(first, second, DenseArrayBase.from_list(i64, list(lanes)), result_type=type)


# Rules: each inserts the ops of the parts, and returns whether it has done so

Rule = Callable[[_Splitter, Any], bool]


def _is_elementwise(op: Operation) -> bool:
    """Whether an op computes each lane from the same lane of its operands."""
    if op.dialect_name() not in ("arith", "math") and not isinstance(op, vector.FMAOp):
        return False
    shapes = {value.type.shape for value in (*op.operands, *op.results) if isinstance(value.type, VectorType)}
    return len(shapes) == 1 and bool(op.operands)


def _elementwise(s: _Splitter, op: Operation) -> bool:
    parts = s.layout(op.results[0].type)
    operands = [s.parts(v) if isinstance(v.type, VectorType) else [v] * len(parts) for v in op.operands]
    s.define(
        op.results[0],
        [s.value(_copy(op, [values[n] for values in operands], part.lanes)) for n, part in enumerate(parts)],
    )
    return True


def _copy(op: Operation, operands: Sequence[SSAValue], lanes: int) -> Operation:
    """An op like `op`, with other operands and vectors of other lanes as results."""
    return type(op).create(
        operands=operands,
        result_types=[_narrow(result.type, lanes) for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )


def _constant(s: _Splitter, op: arith.ConstantOp) -> bool:
    values = op.value
    if not isinstance(values, DenseIntOrFPElementsAttr):
        return False
    lanes = values.get_values()
    parts = [
        arith.ConstantOp(
            DenseIntOrFPElementsAttr.from_list(
                cast(Any, _narrow(op.result.type, part.lanes)), lanes[part.start : part.start + part.lanes]
            )
        )
        for part in s.layout(op.result.type)
    ]
    s.define(op.result, [s.value(part) for part in parts])
    return True


def _broadcast(s: _Splitter, op: vector.BroadcastOp) -> bool:
    if isinstance(op.source.type, VectorType):
        return False
    s.define(op.vector, [s.value(_copy(op, [op.source], part.lanes)) for part in s.layout(op.vector.type)])
    return True


def _access(s: _Splitter, op: vector.LoadOp | vector.StoreOp | vector.MaskedLoadOp | vector.MaskedStoreOp) -> bool:
    """Loads or stores the lanes of each part, from its first lane on."""
    type = next(value.type for value in (*op.results, *op.operands) if isinstance(value.type, VectorType))
    copies: list[Operation] = []
    for n, part in enumerate(s.layout(type)):
        operands = [s.parts(value)[n] if isinstance(value.type, VectorType) else value for value in op.operands]
        last = list(op.operands).index(op.base) + len(op.indices)
        if part.start:
            operands[last] = s.value(arith.AddiOp(operands[last], s.index(part.start)))
        copies.append(_copy(op, operands, part.lanes))
        s.insert(copies[-1])
    if op.results:
        s.define(op.results[0], [copy.results[0] for copy in copies])
    return True


def _mask(s: _Splitter, op: vector.CreateMaskOp) -> bool:
    """The lanes of a part are counted from its first lane; a negative number of lanes is none."""
    (count,) = op.mask_dim_sizes
    parts: list[SSAValue] = []
    for part in s.layout(op.mask_vector.type):
        rest = s.value(arith.SubiOp(count, s.index(part.start))) if part.start else count
        parts.append(s.value(_copy(op, [rest], part.lanes)))
    s.define(op.mask_vector, parts)
    return True


def _reduction(s: _Splitter, op: vector.ReductionOp) -> bool:
    """Reduces the parts in order; the result of one is the start of the next."""
    result = op.acc
    for part in s.parts(op.vector):
        result = s.value(_copy(op, [part] if result is None else [part, result], 0))
    assert result is not None
    op.dest.replace_all_uses_with(result)
    return True


def _extract(s: _Splitter, op: vector.ExtractOp) -> bool:
    place = _place(s, op, op.vector)
    if place is None:
        return False
    n, lane = place
    op.result.replace_all_uses_with(s.value(vector.ExtractOp(s.parts(op.vector)[n], [lane], op.result.type)))
    return True


def _insert(s: _Splitter, op: vector.InsertOp) -> bool:
    place = _place(s, op, op.dest)
    if place is None:
        return False
    n, lane = place
    parts = list(s.parts(op.dest))
    parts[n] = s.value(vector.InsertOp(op.source, parts[n], [lane]))
    s.define(op.result, parts)
    return True


def _place(s: _Splitter, op: vector.ExtractOp | vector.InsertOp, whole: SSAValue) -> tuple[int, int] | None:
    """The number of the part that contains the lane of an op, and the number of the lane in the part; None if the lane
    is not known."""
    position = op.static_position.get_values()
    if op.dynamic_position or len(position) != 1:
        return None
    lane, parts = int(position[0]), s.layout(whole.type)
    n = max(n for n, part in enumerate(parts) if part.start <= lane)
    return n, lane - parts[n].start


_RULES: dict[type[Operation], Rule] = {
    arith.ConstantOp: _constant,
    vector.BroadcastOp: _broadcast,
    vector.LoadOp: _access,
    vector.StoreOp: _access,
    vector.MaskedLoadOp: _access,
    vector.MaskedStoreOp: _access,
    vector.CreateMaskOp: _mask,
    vector.ReductionOp: _reduction,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
}
