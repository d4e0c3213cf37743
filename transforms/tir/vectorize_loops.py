"""The pass `tir-vectorize-loops`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.lanes import LaneBuilder, NotVectorizable, free_values
from ...analysis.private import uses_of_private_memory
from ...core.dtypes import dtype_of
from ...core.remarks import PassRemarks
from ...dialects.tir import (
    AssertOp,
    AttrOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    HandleType,
    IfOp,
    LetOp,
    Mixed,
    ReturnOp,
    StoreOp,
    TirBuilder,
)
from ...dialects.tir.tree import has_effect, is_expression_op, is_pure_expression, treeify
from .lane_reductions import LaneReduction, lane_reductions

_remarks = PassRemarks("tir-vectorize-loops")


@dataclass(frozen=True)
class TirVectorizeLoopsPass(ModulePass):
    """Vectorizes each `vectorized` loop: its iterations become the lanes of vectors.

    The loop variable becomes a ramp, and values that depend on it become vectors, as do the indices of loads and
    stores: elements that are contiguous in memory are accessed as a vector, others one by one, as columns, diagonals
    and elements at loaded indices. Lanes that store to one element do so in their order. A branch or a lazy choice on
    lanes becomes predicates of the accesses in it: inactive lanes access no memory. Inner loops that are uniform over
    the lanes stay around the vectors. Statements that cannot be vectorized become a serial loop, which contains only
    these statements:

    - stores of all lanes to one element that are no reduction, and columns of buffers of scope `local`, which are in
      registers;
    - calls, assertions, `while`, threads, inner loops with different bounds for each lane;
    - operators on vectors that depend on the variable;
    - branches and lazy choices on lanes that contain such statements, or expressions that must not be computed for
      inactive lanes: divisions and shifts by unknown amounts;
    - memory that is private to an iteration, unless each iteration uses only its own elements.

    A reduction, `C[f] = op(C[f], g)` with the same element in all lanes, has a partial result in each lane, which
    starts with the identity of the operator; the mark `vectorized` is the permission to reorder its updates. The lanes
    are combined by halves and with the element, once: after the loop, or after the outermost serial loop around it that
    accesses the memory of the element in no other way. Each execution of an inner loop combines its lanes where a loop
    around it uses the element, or may use it by another buffer (without `tir.noalias`). Where an execution of the loop
    need not reach the update, the lanes also record whether they have reached it, because the element is accessed only
    then. Floats of less than 16 bits are reduced in order, as are elements that a loop inside selects, and reductions
    in another vectorized loop.

    The whole loop becomes serial where the trip count is unknown or more than `max-lanes`, or where the body contains a
    `return`. Inner loops are vectorized first.

    max-lanes: the maximum number of lanes of a vector.  reductions: whether lanes reduce.

    Before
        tir.for vectorized "i" %i : i32 in [0 +: 8] {
          %a = tir.load %A[%i] : memref<8xf32>
          %b = arith.addf %a, %x : f32
          tir.store %b, %B[%i] : memref<8xf32>
        }

    After
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %r = tir.ramp %zero, %one : vector<8xi32>
        %a = tir.load %A[%r] : memref<8xf32>
        %xs = vector.broadcast %x : f32 to vector<8xf32>
        %b = arith.addf %a, %xs : vector<8xf32>
        ...
        tir.store %b, %B[%r2] : memref<8xf32>

    Must hold before: no tir.block, whose axes and regions describe one iteration (`tir-resolve-blocks`).

    Gone after: vectorized loops.
    """

    name = "tir-vectorize-loops"

    max_lanes: int = 256
    reductions: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in reversed(list(op.walk())):  # inner ones first
            if isinstance(loop, ForOp) and loop.kind.data == "vectorized":
                self._vectorize(loop)

    def _vectorize(self, loop: ForOp) -> None:
        low, extent, step = loop.mixed_bounds
        if not isinstance(extent, int) or not isinstance(step, int):
            _make_serial(loop, "its number of iterations is not constant")
            return
        lanes = len(range(0, extent, step))
        if lanes > self.max_lanes:
            _make_serial(loop, f"it has {lanes} iterations, max-lanes is {self.max_lanes}")
            return
        if _is_left(loop):
            _make_serial(loop, "its body contains a return")
            return
        if lanes > 1:
            treeify(loop)
            _Vectorizer(loop, lanes, step, lane_reductions(loop, lanes) if self.reductions else []).run()
        elif lanes == 1:
            _inline(loop, TirBuilder(InsertPoint.before(loop), loop.location), low)
        loop.detach()
        loop.erase()


def _make_serial(loop: ForOp, reason: str) -> None:
    _remarks.missed(loop, lambda: f"loop {loop.loop_var.data} stays scalar: {reason}")
    loop.kind = StringAttr("serial")


def _is_left(loop: ForOp) -> bool:
    return any(isinstance(op, ReturnOp) for op in loop.walk())


def _inline(loop: ForOp, builder: TirBuilder, low: Mixed) -> None:
    """Clones the body of a loop of one iteration before the loop."""
    variable = builder.const(low, dtype_of(loop.variable.type)) if isinstance(low, int) else low
    values: dict[SSAValue, SSAValue] = {loop.variable: variable}
    block = loop.parent
    assert block is not None
    for inner in loop.body.block.ops:
        block.insert_op_before(inner.clone(values), loop)


@dataclass(frozen=True)
class _Statement:
    """A statement, the last of `ops`, with the expression ops that compute its operands."""

    ops: list[Operation]

    def walk(self) -> Iterator[Operation]:
        for op in self.ops:
            yield from op.walk()


def _statements(block: Block) -> list[_Statement]:
    result: list[_Statement] = []
    ops: list[Operation] = []
    for op in block.ops:
        ops.append(op)
        if not is_expression_op(op):
            result.append(_Statement(ops))
            ops = []
    if ops:
        result.append(_Statement(ops))
    return result


class _Vectorizer:
    """The vectorization of one loop. The vectors precede the loop."""

    def __init__(self, loop: ForOp, lanes: int, step: int, reductions: Sequence[LaneReduction]):
        self.loop, self.reductions = loop, reductions
        self.builder = TirBuilder(InsertPoint.before(loop), loop.location)
        self.lanes = LaneBuilder(self.builder, loop, lanes, step)
        for reduction in reductions:
            self.lanes.partial.update(dict.fromkeys(reduction.accesses, reduction.results))

    def run(self) -> None:
        """Emits the vectorized statements."""
        start = self.loop.prev_op
        statements = _statements(self.loop.body.block)
        effects = {op for s in statements for op in s.walk() if isinstance(op, AssertOp) or has_effect(op)}
        private = "each iteration has memory of its own"
        together = [(ops, private) for ops in uses_of_private_memory(self.loop, self.lanes.count)]
        together.append((effects, "calls and assertions run in the order of the iterations"))
        spans = [(span, reason) for ops, reason in together if (span := _span(statements, ops))]
        for (first, last), reason in spans:
            for statement in statements[first : last + 1]:
                self._keep(statement, reason)
        self._sequence(statements, [span for span, _ in spans])
        _drop_unused(start, self.loop)
        self._combine(start)
        if _remarks.are_collected:
            self._report(start)

    def _combine(self, start: Operation | None) -> None:
        """Combines the partial results of reductions after the vectors. start: the op before the vectors."""
        block = self.loop.parent
        assert block is not None
        for reduction in self.reductions:
            if reduction.finish(block.first_op if start is None else start.next_op):
                _remarks.applied(self.loop, lambda reduction=reduction: str(reduction))

    def _report(self, start: Operation | None) -> None:
        """Reports whether one of the ops between `start` and the loop stores vectors."""
        lanes, name = self.lanes.count, self.loop.loop_var.data
        op = self.loop.prev_op
        while op is not None and op is not start:
            if any(_stores_lanes(inner, lanes) for inner in op.walk()):
                _remarks.applied(self.loop, lambda: f"loop {name} becomes vectors of {lanes} lanes")
                return
            op = op.prev_op
        _remarks.missed(self.loop, lambda: f"loop {name} stays scalar: none of its statements becomes vectors")

    # Sequences

    def _sequence(self, statements: Sequence[_Statement], spans: Iterable[tuple[int, int]] = ()) -> None:
        """Emits statements in order. spans: (first, last), inclusive, of statements that must stay together in one
        serial loop.
        """
        whole = {n for first, last in spans for n in range(first, last + 1)}
        pieces = [None if n in whole else self._piece(s) for n, s in enumerate(statements)]
        serial = [(n, n) for n, piece in enumerate(pieces) if piece is None]
        ends = dict(_close([*spans, *serial], self._uses(statements)))
        if ends and self.lanes.mask is not None:
            _erase(pieces)
            raise NotVectorizable("a statement of a branch on lanes is not vectorizable")
        last = -1
        for n, piece in enumerate(pieces):
            if n in ends:
                last = ends[n]
                self._serial(statements[n : last + 1])
            if n > last and piece is not None:
                self._move(piece)
        _erase(pieces)

    def _uses(self, statements: Sequence[_Statement]) -> list[tuple[int, int, bool]]:
        """Uses between statements: (definition, user, whether a serial loop can recompute the value)."""
        at = {op: n for n, s in enumerate(statements) for op in s.ops}
        return [
            (at[value.owner], n, self.lanes.is_repeatable(value))
            for n, statement in enumerate(statements)
            for op in statement.ops
            for value in free_values(op)
            if isinstance(value.owner, Operation) and at.get(value.owner, n) != n
        ]

    def _piece(self, statement: _Statement) -> Block | None:
        """A block with the vectorized form of a statement; None if it cannot be vectorized."""
        piece = Block()
        try:
            with self.builder.at(piece):
                for op in statement.ops:
                    self._op(op)
        except NotVectorizable as error:
            _erase([piece])
            self._keep(statement, str(error))
            return None
        return piece

    def _keep(self, statement: _Statement, reason: str) -> None:
        """Reports a statement that stays in a serial loop."""
        name = self.loop.loop_var.data
        _remarks.missed(statement.ops[-1], lambda: f"a statement stays in a serial loop {name}: {reason}")

    def _move(self, piece: Block) -> None:
        for op in list(piece.ops):
            op.detach()
            self._insert(op)

    # Serial loops

    def _serial(self, statements: Sequence[_Statement]) -> None:
        """Emits a serial loop over the iterations, with some statements."""
        low, extent, step = self.loop.mixed_bounds
        loop = ForOp(
            self.loop.loop_var.data, low, extent, self.loop.variable.type, step=step, annotations=self.loop.annotations
        )
        loop.attributes = dict(self.loop.attributes)
        loop.location = self.loop.location
        self._insert(loop)
        values: dict[SSAValue, SSAValue] = {self.loop.variable: loop.variable}
        ops = [op for s in statements for op in s.ops]
        inside = set(ops)
        with self.builder.at(loop.body.block):
            for op in ops:
                for value in free_values(op):
                    if value.owner not in inside:
                        self._repeat(value, values)
                self._insert(op.clone(values))

    def _repeat(self, value: SSAValue, values: dict[SSAValue, SSAValue]) -> None:
        """Maps `value`, defined before the serial loop being emitted, to its value in one iteration, in `values`."""
        if value in values or not self.lanes.is_inside(value):
            return
        known = self.lanes.scalar(value)
        if known is not None:
            values[value] = known
            return
        op = value.owner
        if not isinstance(op, Operation) or not self.lanes.is_repeatable(value):
            raise NotVectorizable("a value cannot be computed again in one iteration")
        for operand in free_values(op):
            self._repeat(operand, values)
        self._insert(op.clone(values))

    def _insert(self, op: Operation) -> None:
        """Inserts `op` with its source location."""
        self.builder.location = op.location
        self.builder.insert(op)

    # Statements as lanes

    def _op(self, op: Operation) -> None:
        self.builder.location = op.location
        match op:
            case ForOp():
                self._for(op)
            case IfOp():
                self._if(op)
            case AttrOp():
                self._attr(op)
            case StoreOp():
                self.lanes.store(op)
            case LetOp():
                self.lanes.let(op)
            case DeclBufferOp():
                self.lanes.declare(op)
            case EvaluateOp() if not isinstance(op.value.type, HandleType):
                self.builder.insert(EvaluateOp(self.lanes.value(op.value)))
            case _ if is_expression_op(op):
                self.lanes.expression(op)
            case _:
                raise NotVectorizable(f"{op.name} has no form on lanes")

    def _body(self, source: Block, target: Block) -> None:
        with self.builder.at(target):
            self._sequence(_statements(source))

    def _for(self, op: ForOp) -> None:
        """Emits a loop that is uniform over the lanes."""
        if op.kind.data == "thread_binding":
            raise NotVectorizable("it contains a loop over threads")
        bounds: list[Mixed] = [b if isinstance(b, int) else self.lanes.uniform(b) for b in op.mixed_bounds]
        low, extent, step = bounds
        loop = ForOp(
            op.loop_var.data,
            low,
            extent,
            op.variable.type,
            kind=op.kind.data,
            step=step,
            annotations=op.annotations,
        )
        loop.attributes = dict(op.attributes)
        self.lanes.define(op.variable, self.builder.insert(loop).variable)
        self._body(op.body.block, loop.body.block)

    def _if(self, op: IfOp) -> None:
        condition = self.lanes.scalar(op.condition)
        if condition is None:
            for region, holds in ((op.then, True), (op.orelse, False)):
                if region.block.ops:
                    with self.lanes.restrict_mask(op.condition, holds):
                        self._sequence(_statements(region.block))
            return
        branch = IfOp(condition)
        branch.attributes = dict(op.attributes)
        self.builder.insert(branch)
        self._body(op.then.block, branch.then.block)
        self._body(op.orelse.block, branch.orelse.block)

    def _attr(self, op: AttrOp) -> None:
        node = op.node_attr if op.node is None else self.lanes.uniform(op.node)
        value = op.value_attr if op.value is None else self.lanes.uniform(op.value)
        assert node is not None
        assert value is not None
        attr = AttrOp(op.key.data, node, value)
        attr.attributes = dict(op.attributes)
        self.builder.insert(attr)
        self._body(op.body.block, attr.body.block)


def _close(spans: Iterable[tuple[int, int]], uses: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int]]:
    """Extends spans of statements until no statement uses a value that is available only inside another span.

    uses: the definition, a later user, and whether a serial loop can recompute the value.
    """
    result = _merge(spans)
    while True:
        grown = list(result)
        for first, last in result:
            for a, b, available in uses:
                computed, used = first <= a <= last, first <= b <= last
                if computed != used and (computed or not available):
                    grown.append((min(a, first), max(b, last)))
        if (grown := _merge(grown)) == result:
            return result
        result = grown


def _merge(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, with overlapping spans merged."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if result and first <= result[-1][1]:
            result[-1] = result[-1][0], max(last, result[-1][1])
        else:
            result.append((first, last))
    return result


def _span(statements: Sequence[_Statement], ops: set[Operation]) -> tuple[int, int] | None:
    """The first and last of the statements that contain one of `ops`."""
    holding = [n for n, s in enumerate(statements) if any(op in ops for op in s.walk())]
    return (holding[0], holding[-1]) if holding else None


def _erase(pieces: Iterable[Block | None]) -> None:
    """Erases the remaining ops of blocks."""
    for piece in pieces:
        if piece is not None:
            piece.erase(safe_erase=False)


def _stores_lanes(op: Operation, lanes: int) -> bool:
    """Whether an op stores a vector of a number of lanes."""
    return isinstance(op, StoreOp) and isinstance(op.value.type, VectorType) and op.value.type.get_shape() == (lanes,)


def _drop_unused(start: Operation | None, end: Operation) -> None:
    """Erases pure ops without uses between two ops."""
    op = end.prev_op
    while op is not None and op is not start:
        before = op.prev_op
        for inner in reversed(list(op.walk())):
            if is_pure_expression(inner) and all(r.first_use is None for r in inner.results):
                inner.detach()
                inner.erase()
        op = before
