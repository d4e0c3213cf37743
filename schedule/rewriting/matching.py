"""Comparison of the statements of a block with those of the description of a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...analysis.index import Analyzer
from ...analysis.names import buffer_name
from ...analysis.scopes import statements
from ...core.dtypes import dtype_of
from ...core.errors import ScheduleError
from ...dialects.tir import AccessOp, Axis, BlockOp, ForOp, IfOp, InitOp, LoadOp, Mixed, StoreOp, TirBuilder
from ..intrinsics import TensorIntrin, block_of, body_of, buffers_of, init_of

Region = list[tuple[Mixed, Mixed]]


def match_intrinsic(block: BlockOp, intrin: TensorIntrin) -> dict[SSAValue, AccessOp]:
    """The access of a block that each buffer of the description of an intrinsic stands for.

    ScheduleError, with the statements, unless the block computes what the description does: the same loops, blocks and
    stores in the same order, on elements at the same positions of the accessed regions; products and sums may have
    their operands in another order. The init of the block must match if the description has one.
    """
    matching = _Matching(block, intrin)
    init = init_of(intrin.description)
    if init is not None:
        if block.init is None:
            raise ScheduleError(f"tensor intrinsic {intrin.name!r} has an init, the block has none", [block])
        matching.statements(statements(init.body.block), statements(block.init.body.block))
    ours = [op for op in statements(block.body.block) if not isinstance(op, InitOp)]
    matching.statements(body_of(intrin.description), ours)
    missing = [buffer_name(buffer) for buffer in buffers_of(intrin.description) if buffer not in matching.accesses]
    if missing:
        raise ScheduleError(f"tensor intrinsic {intrin.name!r}: the description does not use {', '.join(missing)}")
    return matching.accesses


_UNIT = ("spatial", 0, 1)


def _domain(axis: Axis) -> tuple[str, Mixed, Mixed]:
    """The kind, the first value and the number of values of an axis."""
    return axis.kind, axis.low, axis.extent


_COMMUTATIVE = (arith.AddfOp, arith.AddiOp, arith.MulfOp, arith.MuliOp)


class _Matching:
    """A comparison of descriptions with statements. values: the value of the program for each value of the description.
    accesses: the access of the block for each buffer of the description.
    """

    def __init__(self, block: BlockOp, intrin: TensorIntrin):
        self.block = block
        self.name = intrin.name
        self.values: dict[SSAValue, SSAValue] = {}
        self.accesses: dict[SSAValue, AccessOp] = {}
        around = block_of(intrin.description)
        self.zeros = set(around.variables) if around is not None else set[SSAValue]()

    def _refuse(self, what: str, op: Operation) -> ScheduleError:
        return ScheduleError(f"tensor intrinsic {self.name!r} does not match: {what}", {op: "here"})

    def statements(self, described: Sequence[Operation], ours: Sequence[Operation]) -> None:
        if len(described) != len(ours):
            raise self._refuse(f"{len(ours)} statements, expected {len(described)}", ours[0] if ours else self.block)
        for one, other in zip(described, ours, strict=True):
            one = self._without_unit_loops(one, other)
            if type(one) is not type(other):
                raise self._refuse(f"{other.name}, expected {one.name}", other)
            self._statement(one, other)

    def _without_unit_loops(self, described: Operation, ours: Operation) -> Operation:
        """The statement in the loops of one iteration of a description that are absent in the program."""
        while isinstance(described, ForOp) and described.mixed_bounds[:2] == (0, 1):
            inside = statements(described.body.block)
            if len(inside) != 1 or (isinstance(ours, ForOp) and ours.mixed_bounds[:2] == (0, 1)):
                break
            self.zeros.add(described.variable)
            (described,) = inside
        return described

    def _statement(self, described: Operation, ours: Operation) -> None:
        match described, ours:
            case ForOp(), ForOp():
                if described.mixed_bounds != ours.mixed_bounds:
                    low, extent, *_ = described.mixed_bounds
                    raise self._refuse(f"a loop of other bounds, expected the extent {extent} from {low}", ours)
                self.values[described.variable] = ours.variable
                self.statements(statements(described.body.block), statements(ours.body.block))
            case BlockOp(), BlockOp():
                self._block(described, ours)
            case StoreOp(), StoreOp():
                self._access(described, ours)
                if not self._is_same(described.value, ours.value):
                    raise self._refuse("another value is stored", ours)
            case IfOp(), IfOp():
                if not self._is_same(described.condition, ours.condition):
                    raise self._refuse("another condition", ours)
                self.statements(statements(described.then.block), statements(ours.then.block))
                self.statements(statements(described.orelse.block), statements(ours.orelse.block))
            case _:
                raise self._refuse(f"{ours.name} is not supported in a description", ours)

    def _block(self, described: BlockOp, ours: BlockOp) -> None:
        pairs = [list(zip(block.axes, block.variables, strict=True)) for block in (described, ours)]
        if len(pairs[1]) < len(pairs[0]):  # axes of one value may be absent in the program
            self.zeros.update(variable for axis, variable in pairs[0] if _domain(axis) == _UNIT)
            pairs = [[pair for pair in each if _domain(pair[0]) != _UNIT] for each in pairs]
        axes = [[_domain(axis) for axis, _ in each] for each in pairs]
        if axes[0] != axes[1]:
            raise self._refuse(f"axes {axes[1]}, expected {axes[0]}", ours)
        if described.init is not None or ours.init is not None or ours.predicate is not None:
            raise self._refuse("a block with an init or a predicate inside", ours)
        for (one, variable), (other, own) in zip(*pairs, strict=True):
            if not self._is_same(one.binding, other.binding):
                raise self._refuse("an axis is bound to another value", ours)
            self.values[variable] = own
        self.statements(statements(described.body.block), statements(ours.body.block))

    # Accesses

    def _access(self, described: StoreOp | LoadOp, ours: StoreOp | LoadOp) -> None:
        if not self._is_same_element(described, ours):
            raise self._refuse(f"another element of {buffer_name(ours.buffer)} is accessed", ours)

    def _is_same_element(self, described: StoreOp | LoadOp, ours: StoreOp | LoadOp) -> bool:
        if described.predicate is not None or ours.predicate is not None:
            return False
        access = self.accesses.get(described.buffer)
        known = access is not None
        access = access or self._access_of(described.buffer, ours.buffer)
        if access is None or access.buffer is not ours.buffer:
            return False
        dropped = len(ours.indices) - len(described.indices)
        for n, (index, (low, _)) in enumerate(zip(ours.indices, access.region, strict=True)):
            relative = None if n < dropped else described.indices[n - dropped]
            if not self._is_at(relative, low, index):
                return False
        if not known:
            self.accesses[described.buffer] = access
        return True

    def _access_of(self, described: SSAValue, ours: SSAValue) -> AccessOp | None:
        """The access of the block to a buffer, if its region has the shape of the buffer of the description."""
        type, own = described.type, ours.type
        assert isinstance(type, MemRefType)
        assert isinstance(own, MemRefType)
        shape = list(type.get_shape())  # pyright: ignore[reportUnknownMemberType]
        for access in self.block.accesses:
            extents = [extent for _, extent in access.region]
            dropped = len(extents) - len(shape)
            fits = dropped >= 0 and extents[dropped:] == shape and all(extent == 1 for extent in extents[:dropped])
            if access.buffer is ours and fits and type.element_type == own.element_type:
                return access
        return None

    # Values

    def _is_same(self, described: SSAValue, ours: SSAValue) -> bool:
        """Whether a value of the description is a value of the program; the accesses stay if not."""
        before = dict(self.accesses)
        if self._matches(described, ours):
            return True
        self.accesses = before
        return False

    def _matches(self, described: SSAValue, ours: SSAValue) -> bool:
        if described in self.values:
            return self.values[described] is ours
        if isinstance(described.type, IntegerType) and isinstance(ours.type, IntegerType) and self._is_index(described):
            return self._is_at(described, 0, ours)
        one, other = described.owner, ours.owner
        if not isinstance(one, Operation) or type(one) is not type(other) or described.type != ours.type:
            return False
        assert isinstance(other, Operation)
        if isinstance(one, LoadOp) and isinstance(other, LoadOp):
            return self._is_same_element(one, other)
        if one.regions or one.properties != other.properties or len(one.operands) != len(other.operands):
            return False
        if all(self._is_same(*pair) for pair in zip(one.operands, other.operands, strict=True)):
            return True
        return isinstance(one, _COMMUTATIVE) and all(
            self._is_same(*pair) for pair in zip(one.operands, reversed(other.operands), strict=True)
        )

    def _is_index(self, value: SSAValue) -> bool:
        """Whether a value of the description is computed from loops, axes and numbers alone."""
        if value in self.values or value in self.zeros:
            return True
        owner = value.owner
        if not isinstance(owner, Operation) or owner.regions or isinstance(owner, LoadOp):
            return False
        return is_side_effect_free(owner) and all(map(self._is_index, owner.operands))

    def _is_at(self, relative: SSAValue | None, low: Mixed, index: SSAValue) -> bool:
        """Whether an index of the program is `low` plus an index of the description, by default 0."""
        with _temporary_ops() as builder:
            try:
                own = builder.const(0, dtype_of(index.type)) if relative is None else self._copy(relative, builder)
            except KeyError:
                return False
            own = builder.cast(own, dtype_of(index.type))
            base = builder.cast(builder.value(low, dtype_of(index.type)), dtype_of(index.type))
            return Analyzer().same(builder.binary("add", base, own), index)

    def _copy(self, value: SSAValue, builder: TirBuilder) -> SSAValue:
        """A copy of an expression of the description in the program. KeyError for a value from elsewhere."""
        if value in self.values:
            return self.values[value]
        if value in self.zeros:
            return builder.const(0, dtype_of(value.type))
        owner = value.owner
        if isinstance(owner, Block) or owner.regions or not is_side_effect_free(owner):
            raise KeyError(value)
        copy = owner.clone_without_regions()
        copy.operands = [self._copy(operand, builder) for operand in owner.operands]
        return builder.insert(copy).results[owner.results.index(value)]  # pyright: ignore[reportArgumentType]


@contextmanager
def _temporary_ops() -> Generator[TirBuilder]:
    """A builder of ops outside of the program, which are erased in the end."""
    block = Block()
    try:
        yield TirBuilder(block)
    finally:
        for op in reversed(list(block.ops)):
            block.erase_op(op)
