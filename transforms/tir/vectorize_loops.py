"""The pass `tir-vectorize-loops`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer
from ...analysis.lanes import LaneBuilder, NotVectorizable, free_values
from ...analysis.private import uses_of_private_memory
from ...core.dtypes import dtype_of, element_byte_size, int_fits
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.tir import (
    AssertOp,
    AttrOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    HandleType,
    IfOp,
    LetOp,
    LoadOp,
    Mixed,
    ReturnOp,
    StoreOp,
    TirBuilder,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.tree import has_effect, is_expression_op, is_pure_expression, treeify
from .column_vectors import vectorize_columns
from .lane_reductions import LaneReduction, lane_reductions

_remarks = PassRemarks("tir-vectorize-loops")
_NO_VECTORS = "none of its statements becomes vectors"

PARTIAL_VECTORS = 4
"""The vectors of partial results in a loop over vectors: as many additions as a processor has in flight."""


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
      registers, unless an unrolled loop around reads them all: their rows are then transposed by shuffles;
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

    A loop whose number of iterations is unknown, or more than `max-lanes`, becomes a loop over whole vectors, of
    `vector-bytes` bytes of the widest accessed elements; with a reduction, of four times as many lanes, because a
    processor starts four additions in the time of one. The rest of the iterations is a narrower vector where their
    number is known, else the active lanes of a mask (`masks`), else a serial loop. If no statement becomes vectors, the
    whole loop becomes serial, as it does where `vector-bytes` is 0 and where the body contains a `return`. Inner loops
    are vectorized first.

    max-lanes: the maximum number of lanes of a vector.  vector-bytes: the size of the vectors of a loop with an unknown
    or greater number of iterations; 0 for a serial loop.  masks: whether the processor loads and stores the lanes of a
    mask by an instruction.  reductions: whether lanes reduce.

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
    vector_bytes: int = 64
    masks: bool = False
    reductions: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in reversed(list(op.walk())):  # inner ones first
            if isinstance(loop, ForOp) and loop.kind.data == "vectorized":
                self._vectorize(loop)

    def _vectorize(self, loop: ForOp) -> None:
        low, extent, step = loop.mixed_bounds
        count = len(range(0, extent, step)) if isinstance(extent, int) and isinstance(step, int) else None
        if _is_left(loop):
            _make_serial(loop, "its body contains a return")
            return
        if count is None or count > self.max_lanes:
            if not self._divide(loop, count):
                return
        elif count > 1 and (outer := vectorize_columns(loop)) is not None:
            _remarks.applied(
                loop, lambda: f"loop {loop.loop_var.data} becomes vectors of {count} lanes, transposed rows"
            )
            loop = outer
        elif count > 1:
            treeify(loop)
            assert isinstance(step, int)
            vectorizer = _Vectorizer(loop, self._reductions(loop, count))
            vectorizer.emit(low, count)
            vectorizer.finish(count)
        elif count == 1:
            _inline(loop, TirBuilder(InsertPoint.before(loop), loop.location), low)
        loop.detach()
        loop.erase()

    def _reductions(self, loop: ForOp, lanes: int) -> list[LaneReduction]:
        return lane_reductions(loop, lanes) if self.reductions else []

    def _divide(self, loop: ForOp, count: int | None) -> bool:
        """Emits a loop over whole vectors, and the other iterations, before a loop. Returns whether statements become
        vectors; else the loop becomes serial. count: the number of iterations, None if it is unknown."""
        lanes = self._lanes_of_chunks(loop)
        if lanes < 2 or (count is None and loop.mixed_bounds[2] != 1):
            number = "is not constant" if count is None else f"is {count}, max-lanes is {self.max_lanes}"
            _make_serial(loop, f"its number of iterations {number}")
            return False
        treeify(loop)
        reductions = self._reductions(loop, min(lanes * PARTIAL_VECTORS, self.max_lanes))
        if reductions:
            lanes = min(lanes * PARTIAL_VECTORS, self.max_lanes)
        vectorizer = _Vectorizer(loop, reductions)
        chunks = _Chunks(loop, lanes)
        main = chunks.emit_loop()
        vectorizer.emit(main.variable, lanes, main.body.block)
        if not vectorizer.has_vectors(lanes):
            vectorizer.discard()
            _make_serial(loop, _NO_VECTORS)
            return False
        vectorizer.finish(lanes, chunks.emit_rest(vectorizer, self.masks))
        return True

    def _lanes_of_chunks(self, loop: ForOp) -> int:
        """The number of lanes of the vectors of a loop with an unknown or great number of iterations; 0 for none."""
        sizes = [_element_size(op) for op in find_ops(loop, LoadOp, StoreOp)]
        lanes = min(self.vector_bytes // max(sizes, default=1), self.max_lanes)
        return lanes if int_fits(lanes * PARTIAL_VECTORS, dtype_of(loop.variable.type)) else 0


def _element_size(access: LoadOp | StoreOp) -> int:
    return element_byte_size(memref_type(access.buffer).element_type)


class _Chunks:
    """The division of the iterations of a loop into chunks of a number of lanes, and a rest. The step is 1, or all
    bounds are numbers."""

    def __init__(self, loop: ForOp, lanes: int):
        self._loop, self._lanes = loop, lanes
        self._builder = b = TirBuilder(InsertPoint.before(loop), loop.location)
        self._low, self._extent, step = loop.mixed_bounds
        assert isinstance(step, int)
        self._stride = lanes * step
        self._whole: Mixed
        if isinstance(self._extent, int):
            self._whole = self._extent // self._stride * self._stride
        else:  # a negative extent is one of no iterations
            self._whole = b.mul(b.binary("floordiv", b.binary("max", self._extent, 0), lanes), lanes)

    def emit_loop(self) -> ForOp:
        """Emits a loop without a body over the first iterations of whole chunks."""
        return self._builder.insert(self._loop.without_statements(self._low, self._whole, self._stride, kind="serial"))

    def emit_rest(self, vectorizer: _Vectorizer, masks: bool) -> str:
        """Emits the iterations after the whole chunks. Returns their form in words. masks: whether they may be the
        active lanes of a mask."""
        b, low = self._builder, self._low
        if isinstance(self._extent, int) and isinstance(self._whole, int):
            step = self._stride // self._lanes
            count = len(range(self._whole, self._extent, step))
            first = low + self._whole if isinstance(low, int) else b.add(low, self._whole)
            if count > 1:
                vectorizer.emit(first, count)
            elif count:
                vectorizer.emit_serial(first, step)
            return f"; {count} iterations remain" if count else ""
        if Analyzer().is_multiple(self._extent, self._lanes):
            return ""
        first, rest = b.add(low, self._whole), b.sub(self._extent, self._whole)
        if masks:
            b.insert(branch := IfOp(b.binary("gt", rest, 0)))
            try:
                with b.at(branch.then.block):
                    lanes = b.ramp(b.const(0, "int32"), 1, self._lanes)
                    mask = b.binary("lt", lanes, b.broadcast(b.cast(rest, "int32"), self._lanes))
                vectorizer.emit(first, self._lanes, branch.then.block, mask)
            except NotVectorizable:
                branch.detach()
                branch.erase()
            else:
                return "; the rest of the iterations are lanes of a mask"
        vectorizer.emit_serial(first, rest)
        return "; the rest of the iterations is a serial loop"


def _make_serial(loop: ForOp, reason: str) -> None:
    _remarks.missed(loop, lambda: f"loop {loop.loop_var.data} stays scalar: {reason}")
    loop.kind = StringAttr("serial")


def _is_left(loop: ForOp) -> bool:
    return any(find_ops(loop, ReturnOp))


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
    """The vectorization of one loop: some of its iterations at a time become lanes. The vectors precede the loop.

    low, extent: the bounds of these iterations, which have the step of the loop.
    """

    def __init__(self, loop: ForOp, reductions: Sequence[LaneReduction]):
        self.loop, self.reductions = loop, reductions
        self.builder = TirBuilder(InsertPoint.before(loop), loop.location)
        self.start = loop.prev_op
        """The op before the vectors."""
        self.statements = _statements(loop.body.block)
        self.serial_loops: list[ForOp] = []
        self.together = self._statements_together()
        self.low, self.extent, _ = loop.mixed_bounds

    def _statements_together(self) -> list[tuple[int, int]]:
        """The first and last of statements that must stay together in one serial loop."""
        effects = {op for s in self.statements for op in s.walk() if type(op) is AssertOp or has_effect(op)}
        private = "each iteration has memory of its own"
        together = [(ops, private) for ops in uses_of_private_memory(self.loop)]
        together.append((effects, "calls and assertions run in the order of the iterations"))
        spans = [(span, reason) for ops, reason in together if (span := _span(self.statements, ops))]
        for (first, last), reason in spans:
            for statement in self.statements[first : last + 1]:
                self._keep(statement, reason)
        return [span for span, _ in spans]

    def emit(self, low: Mixed, count: int, block: Block | None = None, mask: SSAValue | None = None) -> None:
        """Emits the statements for some iterations, as lanes.

        low: the value of the variable in the first iteration.  count: the number of lanes.  block: where to emit, by
        default before the loop.  mask: the active lanes, one or more; None for all. NotVectorizable where a mask is
        given and a statement cannot be vectorized.
        """
        step = self.loop.mixed_bounds[2]
        assert isinstance(step, int)
        self.low, self.extent = low, count * step
        self.lanes = LaneBuilder(self.builder, self.loop, count, low, mask)
        for reduction in self.reductions:
            self.lanes.partial.update(dict.fromkeys(reduction.accesses, reduction.results))
        with self.builder.at(InsertPoint.before(self.loop) if block is None else block):
            self._sequence(self.statements, self.together)

    def emit_serial(self, low: Mixed, extent: Mixed) -> None:
        """Emits the statements for some iterations, in a serial loop before the loop."""
        self.low, self.extent = low, extent
        self._serial(self.statements)

    def finish(self, lanes: int, rest: str = "") -> None:
        """Combines the partial results of reductions after the vectors, and reports the vectors. rest: the form of the
        iterations after the last whole vector."""
        _drop_unused(self.start, self.loop)
        block = self.loop.parent
        assert block is not None
        for reduction in self.reductions:
            if reduction.finish(block.first_op if self.start is None else self.start.next_op):
                _remarks.applied(self.loop, lambda reduction=reduction: str(reduction))
        name = self.loop.loop_var.data
        if not _remarks.are_collected:
            return
        if self.has_vectors(lanes):
            _remarks.applied(self.loop, lambda: f"loop {name} becomes vectors of {lanes} lanes{rest}")
        else:
            _remarks.missed(self.loop, lambda: f"loop {name} stays scalar: {_NO_VECTORS}")

    def discard(self) -> None:
        """Erases the emitted ops."""
        while (op := self.loop.prev_op) is not self.start:
            assert op is not None
            op.detach()
            op.erase(safe_erase=False)

    def has_vectors(self, lanes: int) -> bool:
        """Whether an emitted op, outside of the serial loops, stores a vector of a number of lanes."""
        op = self.loop.prev_op
        while op is not None and op is not self.start:
            for inner in op.walk():
                if _stores_lanes(inner, lanes) and not any(each.is_ancestor(inner) for each in self.serial_loops):
                    return True
            op = op.prev_op
        return False

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
        name, type, step = self.loop.loop_var.data, self.loop.variable.type, self.loop.mixed_bounds[2]
        loop = ForOp(name, self.low, self.extent, type, step=step, annotations=self.loop.annotations)
        loop.attributes = dict(self.loop.attributes)
        loop.location = self.loop.location
        self._insert(loop)
        self.serial_loops.append(loop)
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
        loop = op.without_statements(low, extent, step)
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
