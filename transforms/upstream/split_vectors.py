"""The pass `split-vectors`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeGuard, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...core.dtypes import element_byte_size, element_type_of, vector_type
from ...core.remarks import PassRemarks
from .allocations import is_in_registers, root_of, users_of

_remarks = PassRemarks("split-vectors")

OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class SplitVectorsPass(ModulePass):
    """Splits wide vectors into vectors whose numbers of lanes are powers of two.

    A vector of 48 lanes becomes one of 32 lanes and one of 16. LLVM would widen it to 64 lanes, so that values that fit
    into the registers no longer do. Loads, stores, operators on lanes, masks, reductions and accesses of single lanes
    are split; the operands of other ops are joined again.

    With `masks`, the last part is the next power of two of lanes, where masks save accesses: 7 lanes become 8, 30 lanes
    16 and 16. Loads and stores of the part have a mask that excludes its dead lanes, whose memory they do not access;
    reductions, divisions of integers by variables, functions that calls or branches compute, and all ops that are not
    split get the lanes without the dead ones. All vectors of a function with a number of lanes are treated alike. Their
    accesses are not masked if one of them

    - is to a buffer that the same outermost loop loads, and stores with masks: a load waits for masked stores to
      adjacent elements;
    - has a mask, an alignment or a cache hint;
    - is as fast in parts of powers of two of lanes: in two parts of more than 32 bytes together, or in any of more than
      64 bytes.

    Buffers in registers have no masked accesses in either case.

    whole: the greatest number of lanes of a vector that is not split; the floats of the widest register.
    masks: whether the processor loads and stores the lanes of a mask by an instruction.

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

    masks: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            registers = _Registers()
            masked = _masked_lanes(function, self.whole, registers) if self.masks else frozenset[int]()
            splitter = _Splitter(self.whole, masked, registers)
            ops = list(function.walk())
            types = {id(value.type): value.type for each in ops for value in (*each.operands, *each.results)}
            split = {type for type in types.values() if splitter.layout(type)}
            if not split:
                continue
            for inner in ops:
                if any(value.type in split for value in (*inner.operands, *inner.results)):
                    splitter.visit(inner)
            splitter.finish()


@dataclass(frozen=True)
class _Part:
    """A part of a vector: its first lane, its number of lanes, and the lanes of the vector that contains them, of which
    the last ones are dead."""

    start: int
    lanes: int
    width: int

    @property
    def dead(self) -> int:
        """The number of dead lanes."""
        return self.width - self.lanes

    def __str__(self) -> str:
        return f"{self.lanes} of {self.width}" if self.dead else str(self.lanes)


@lru_cache(maxsize=4096)
def _layout(count: int, whole: int, is_masked: bool) -> tuple[_Part, ...]:
    """The parts of a vector with a number of lanes, none for a vector that is not split. is_masked: whether the last
    part may be wider than its lanes."""
    if count.bit_count() == 1 or (count <= whole and not is_masked):
        return ()
    parts: list[_Part] = []
    start = 0
    while start < count:
        rest = count - start
        width = 1 << (rest.bit_length() - 1)
        if is_masked and rest < whole and rest != width:
            width *= 2
        parts.append(_Part(start, min(rest, width), width))
        start += width
    return tuple(parts)


def _count(type: Attribute) -> int:
    """The lanes of a vector type with one dimension of a static size, else 1."""
    if not isinstance(type, VectorType) or type.get_num_dims() != 1 or type.get_num_scalable_dims():
        return 1
    return type.get_shape()[0]


# Accesses by masks


_LOADS = frozenset((memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp))
_STORES = frozenset((memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp))
_ACCESSES = _LOADS | _STORES
_LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp)
_REGISTER = 64
"""The bytes of the widest register of a processor with masks."""


def _masked_lanes(function: Operation, whole: int, registers: _Registers) -> frozenset[int]:
    """The numbers of lanes of vectors whose last part is loaded and stored by masks throughout a function."""
    reasons: dict[int, list[tuple[Operation, str | None]]] = {}
    updated: dict[SSAValue, bool] = {}
    for op in function.walk():
        if type(op) in _ACCESSES and not (_is_plain(op) and op.base in registers):
            part = _last_part(op, whole)
            if part.dead:
                reasons.setdefault(part.start + part.lanes, []).append((op, _obstacle(op, part, whole, updated)))
    for accesses in reasons.values():
        for op, reason in accesses:
            if reason is not None:
                _remarks.missed(op, lambda op=op, reason=reason: f"{op.name} is not masked: {reason}")
    return frozenset(count for count, accesses in reasons.items() if all(reason is None for _, reason in accesses))


def _last_part(op: Operation, whole: int) -> _Part:
    """The last part of the vector that an access loads or stores by masks."""
    count = _count(_accessed_type(op))
    return [_Part(0, count, count), *_layout(count, whole, True)][-1]


def _obstacle(op: Operation, part: _Part, whole: int, updated: dict[SSAValue, bool]) -> str | None:
    """The reason against a masked access of the last part of a vector; None without one."""
    if not _is_plain(op):
        return "it has a mask, an alignment or a cache hint"
    root = root_of(op.base)
    if root not in updated:
        updated[root] = _is_updated(root, whole)
    if updated[root]:
        return "the same loop loads and stores the buffer"
    if not _saves_accesses(part.lanes, element_byte_size(element_type_of(_accessed_type(op)))):
        return f"accesses of powers of two of {part.lanes} lanes are as fast"
    return None


def _is_updated(buffer: SSAValue, whole: int) -> bool:
    """Whether a load of a buffer may follow a masked store too closely: both are in the same outermost loop, or in
    none."""
    users = list(users_of(buffer))
    loads = {_outermost_loop(user) for user in users if type(user) in _LOADS}
    stores = {_outermost_loop(user) for user in users if type(user) in _STORES and _last_part(user, whole).dead}
    return bool(loads and stores and (loads & stores or None in loads | stores))


def _outermost_loop(op: Operation) -> Operation | None:
    """The outermost loop around an op in its function."""
    loop = None
    while (parent := op.parent_op()) is not None:
        if isinstance(parent, _LOOPS):
            loop = parent
        op = parent
    return loop


def _accessed_type(op: Operation) -> Attribute:
    """The type of the value that an access loads or stores."""
    if op.results:
        return op.results[0].type
    return (op.value_to_store if isinstance(op, vector.MaskedStoreOp) else op.operands[0]).type


def _is_plain(op: Operation) -> TypeGuard[vector.LoadOp | vector.StoreOp]:
    """Whether an op accesses consecutive elements, without a mask, an alignment or a cache hint."""
    hint = op.properties.get("nontemporal")
    return (
        isinstance(op, vector.LoadOp | vector.StoreOp)
        and "alignment" not in op.attributes
        and (hint is None or not bool(cast(Any, hint)))
    )


class _Registers:
    """The buffers that LLVM keeps in registers, unless masked accesses prevent it; before the pass changes the uses."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, bool] = {}

    def __contains__(self, buffer: SSAValue) -> bool:
        root = root_of(buffer)
        if root not in self._known:
            self._known[root] = isinstance(root.owner, memref.AllocaOp) and is_in_registers(root.owner)
        return self._known[root]


def _saves_accesses(lanes: int, size: int) -> bool:
    """Whether an access by a mask is faster than accesses of powers of two of lanes. size: the bytes of an element.

    Measured on an AMD EPYC 9004: accesses of the widest registers cost more, as most of them touch two cache lines, and
    a part of two registers saves no access.
    """
    return lanes * size <= (_REGISTER // 2 if lanes.bit_count() == 2 else _REGISTER)


def _narrow(type: Attribute, lanes: int) -> Attribute:
    """A vector type with other lanes; any other type itself."""
    return vector_type(type.element_type, lanes) if isinstance(type, VectorType) else type


class _Splitter:
    """The parts of the vectors of a function. The ops are visited in the order of the text: operands precede uses.

    masked: the numbers of lanes whose last part may be wider than its lanes.  registers: the buffers in registers.
    """

    def __init__(self, whole: int, masked: Collection[int], registers: _Registers) -> None:
        self._whole = whole
        self._masked = masked
        self.registers = registers
        self._values: dict[SSAValue, list[SSAValue]] = {}
        self._joined: dict[SSAValue, SSAValue] = {}
        self._replaced: list[Operation] = []
        self._point: InsertPoint | None = None
        self._op: Operation | None = None

    def layout(self, type: Attribute) -> tuple[_Part, ...]:
        """The parts of a vector type, none for a type that is not split."""
        count = _count(type)
        return _layout(count, self._whole, count in self._masked)

    def visit(self, op: Operation) -> None:
        """Inserts ops on parts before `op`, or joins its operands."""
        self._op, self._point = op, InsertPoint.before(op)
        rule = _elementwise if _is_elementwise(op) else _RULES.get(type(op))
        if rule is not None and rule(self, op):
            self._replaced.append(op)
            _remarks.applied(op, lambda: f"{op.name} on {self._lengths(op)}")
            return
        need = "may fail on dead lanes or call functions for them" if _is_elementwise(op) else "needs whole vectors"
        _remarks.missed(op, lambda: f"{op.name} {need}, {self._lengths(op)}")
        for n, operand in enumerate(op.operands):
            if operand in self._values and operand.owner in self._replaced:
                op.operands[n] = self._join(operand)

    def _lengths(self, op: Operation) -> str:
        """The lanes of the vectors of an op, and of their parts."""
        types = dict.fromkeys(value.type for value in (*op.operands, *op.results) if self.layout(value.type))
        return ", ".join(f"{_lanes(type)} lanes: {' + '.join(map(str, self.layout(type)))}" for type in types)

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

    def constant(self, element: Attribute, lanes: Sequence[int]) -> SSAValue:
        """Inserts a constant vector."""
        values = [float(lane) if isinstance(element, AnyFloat) else lane for lane in lanes]
        type = cast(Any, vector_type(element, len(lanes)))
        return self.value(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, cast(Any, values))))

    def narrow(self, value: SSAValue, part: _Part) -> SSAValue:
        """The lanes of a part without dead ones."""
        return self.value(_shuffle(value, value, range(part.lanes))) if part.dead else value

    def widen(self, value: SSAValue, part: _Part) -> SSAValue:
        """The lanes of a part, then dead ones, whose values are undefined."""
        return self.value(_shuffle(value, value, [*range(part.lanes), *[-1] * part.dead]))

    def insert(self, op: OpT) -> OpT:
        """Inserts an op at its place. Returns the op."""
        assert self._op is not None
        assert self._point is not None
        op.location = self._op.location
        Rewriter.insert_op(op, self._point)
        return op

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
            self.value(_shuffle(value, value, [*range(part.start, part.start + part.lanes), *[-1] * part.dead]))
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
            parts = self.layout(value.type)
            whole, *rest = self._values[value]
            if parts[0].dead:
                whole = self.value(_shuffle(whole, whole, range(parts[0].lanes)))
            for layout, part in zip(parts[1:], rest, strict=True):
                whole = self.value(_shuffle(whole, part, range(layout.start + layout.lanes)))
            self._point = here
            self._joined[value] = whole
        return self._joined[value]


def _lanes(type: Attribute) -> int:
    return cast("VectorType[Attribute]", type).get_shape()[0]


def _shuffle(first: SSAValue, second: SSAValue, lanes: Sequence[int]) -> vector.ShuffleOp:
    """Selects lanes of two vectors, counted through both."""
    type = vector_type(cast("VectorType[Attribute]", first.type).element_type, len(lanes))
    return vector.ShuffleOp(first, second, DenseArrayBase.from_list(i64, list(lanes)), result_type=type)


# Rules: each inserts the ops of the parts, and returns whether it has done so

Rule = Callable[[_Splitter, Any], bool]


def _is_elementwise(op: Operation) -> bool:
    """Whether an op computes each lane from the same lane of its operands."""
    if op.dialect_name() not in ("arith", "math") and not isinstance(op, vector.FMAOp):
        return False
    shapes = {value.type.shape for value in (*op.operands, *op.results) if isinstance(value.type, VectorType)}
    return len(shapes) == 1 and bool(op.operands)


_INTEGER_DIVISIONS = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.FloorDivSIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)

_ONE_INSTRUCTION = (
    math.AbsFOp,
    math.AbsIOp,
    math.CeilOp,
    math.CopySignOp,
    math.FloorOp,
    math.FmaOp,
    math.RoundEvenOp,
    math.SqrtOp,
    math.TruncOp,
)
"""Functions that no branch on the lanes computes, and no call for each lane."""


def _ignores_dead_lanes(op: Operation) -> bool:
    """Whether an op on lanes neither fails nor takes longer for undefined lanes."""
    if isinstance(op, _INTEGER_DIVISIONS):
        return _is_safe_divisor(op.operands[1])
    return op.dialect_name() != "math" or isinstance(op, _ONE_INSTRUCTION)


def _is_safe_divisor(value: SSAValue) -> bool:
    """Whether a divisor is a constant with which no division overflows."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        return _is_safe_divisor(owner.source)
    if not isinstance(owner, arith.ConstantOp):
        return False
    if isinstance(owner.value, IntegerAttr):
        return owner.value.value.data not in (0, -1)
    return isinstance(owner.value, DenseIntOrFPElementsAttr) and not {0, -1} & set(owner.value.get_values())


def _elementwise(s: _Splitter, op: Operation) -> bool:
    parts = s.layout(op.results[0].type)
    if any(part.dead for part in parts) and not _ignores_dead_lanes(op):
        return False
    operands = [s.parts(v) if isinstance(v.type, VectorType) else [v] * len(parts) for v in op.operands]
    s.define(
        op.results[0],
        [s.value(_copy(op, [values[n] for values in operands], part.width)) for n, part in enumerate(parts)],
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
    lanes: list[Any] = list(values.get_values())
    parts: list[Operation] = []
    for part in s.layout(op.result.type):
        kept = lanes[part.start : part.start + part.lanes] + [lanes[part.start]] * part.dead
        type = cast(Any, _narrow(op.result.type, part.width))
        parts.append(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, kept)))
    s.define(op.result, [s.value(part) for part in parts])
    return True


def _broadcast(s: _Splitter, op: vector.BroadcastOp) -> bool:
    if isinstance(op.source.type, VectorType):
        return False
    s.define(op.vector, [s.value(_copy(op, [op.source], part.width)) for part in s.layout(op.vector.type)])
    return True


def _access(s: _Splitter, op: vector.LoadOp | vector.StoreOp | vector.MaskedLoadOp | vector.MaskedStoreOp) -> bool:
    """Loads or stores the lanes of each part, from its first lane on."""
    type = _accessed_type(op)
    last = list(op.operands).index(op.base) + len(op.indices)
    results: list[SSAValue] = []
    for n, part in enumerate(s.layout(type)):
        operands = [s.parts(value)[n] if isinstance(value.type, VectorType) else value for value in op.operands]
        if part.start:
            operands[last] = s.value(arith.AddiOp(operands[last], s.index(part.start)))
        results.extend(_access_part(s, op, operands, part))
    if op.results:
        s.define(op.results[0], results)
    return True


def _access_part(s: _Splitter, op: Operation, operands: Sequence[SSAValue], part: _Part) -> Sequence[SSAValue]:
    """Loads or stores a part. The memory of dead lanes is not accessed."""
    if part.dead and cast(Any, op).base in s.registers:
        lanes = [s.narrow(value, part) if isinstance(value.type, VectorType) else value for value in operands]
        access = s.insert(_copy(op, lanes, part.lanes))
        return [s.widen(result, part) for result in access.results]
    return s.insert(_masked(s, op, operands, part) if part.dead else _copy(op, operands, part.width)).results


def _masked(s: _Splitter, op: Operation, operands: Sequence[SSAValue], part: _Part) -> Operation:
    """The access of a part by a mask."""
    mask = s.constant(i1, [1] * part.lanes + [0] * part.dead)
    if isinstance(op, vector.LoadOp):
        base, *indices = operands
        return vector.MaskedLoadOp(base, indices, mask, s.constant(element_type_of(op.result.type), [0] * part.width))
    value, base, *indices = operands
    return vector.MaskedStoreOp(base, indices, mask, value)


def _mask(s: _Splitter, op: vector.CreateMaskOp) -> bool:
    """The lanes of a part are counted from its first lane; a negative number of lanes is none."""
    (count,) = op.mask_dim_sizes
    parts: list[SSAValue] = []
    for part in s.layout(op.mask_vector.type):
        rest = s.value(arith.SubiOp(count, s.index(part.start))) if part.start else count
        parts.append(s.value(_copy(op, [rest], part.width)))
    s.define(op.mask_vector, parts)
    return True


def _reduction(s: _Splitter, op: vector.ReductionOp) -> bool:
    """Reduces the parts in order; the result of one is the start of the next."""
    result = op.acc
    for layout, part in zip(s.layout(op.vector.type), s.parts(op.vector), strict=True):
        lanes = s.narrow(part, layout)
        result = s.value(_copy(op, [lanes] if result is None else [lanes, result], 0))
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
