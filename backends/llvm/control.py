"""Lowering of the `scf` dialect and `cf.assert`: loops and branches with phis.

`scf.parallel` runs in order. A loop tests its bound before the first iteration and then at the end of each; stepping an
`index` past the bound does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, inf

from xdsl.dialects import arith, cf, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, SSAValue

from ...analysis.sums import TILE_BYTES, updated_bytes
from ...dialects.attributes import ABOUT_ARGUMENT, UNLIKELY
from ..runtime.signature import Failure
from .function import LlvmFunctionEmitter, Lowerings, Value, lowering_unsupported
from .polls import POLL_WORK, spend
from .types import constant_value_of_operand, register_type
from .work import constant_of, trip_count

Body = Callable[[str, list[Value]], list[str]]
"""Emits the body of a loop, given the induction variable and the carried values; returns the components of the next
values.
"""
Iteration = Callable[[str, list[Value]], tuple[list[str], str]]
"""As `Body`; returns the next value of the induction variable, too."""
_LITTLE_WORK = 64
"""The work of an iteration that is small beside a poll, at most."""
_LEAST_PART = 8
"""The number of iterations of a part of a long loop, at least."""
_ROW_WORK = 2**26
"""The work of a row between polls, at most, some 50 ms: the rest of a longer row is a loop over parts."""
_LIGHT_WORK = 256
"""The work of an iteration of a row, at most: the code of a row contains it twice."""


def emit_loop(
    f: LlvmFunctionEmitter,
    kind: str,
    bounds: tuple[str, str, str],
    types: Sequence[Attribute],
    initial: list[str],
    body: Body,
    hint: str | None = None,
    *,
    work: float,
    cost: int = 1,
    is_row: bool = False,
    is_tile: bool = False,
) -> list[Value]:
    """Emits a loop from bounds[0] to below bounds[1] in steps of bounds[2], all of LLVM type `kind`, that carries
    values of `types` with components `initial`. Returns the carried values after the loop.

    work: of an iteration, perhaps infinite.  cost: the work of an iteration that its loops do not subtract from the
    budget.  is_row: whether the loop polls after all its iterations, up to `_ROW_WORK`, not meanwhile.
    is_tile: whether LLVM keeps the loop as it is, without several iterations at a time, at a multiple of 32 bytes.
    """
    loop = _Loop(f, kind, types, hint, ", !llvm.loop !3" if is_tile else "")
    trips, step = _trip_count(bounds), constant_value_of_operand(bounds[2])
    if trips == 0 or min(trips, 2 * _maximum(kind)) * work <= POLL_WORK:
        return loop.emit(bounds, initial, body)
    iterations = 0 if step is None else min(POLL_WORK // work, _maximum(kind) // step)
    if step is not None and is_row and iterations >= _LEAST_PART:
        return _emit_row(loop, (bounds[0], bounds[1], step), initial, body, int(iterations), work)
    if step is not None and iterations >= _LEAST_PART:
        return _emit_in_parts(loop, (bounds[0], bounds[1], step), initial, body, int(iterations), work, trips)

    def body_with_poll(variable: str, carried: list[Value]) -> list[str]:
        with f.long_loop():
            last = body(variable, carried)
        if cost:
            spend(f, str(cost if work == inf else int(work)))
        return last

    return loop.emit(bounds, initial, body_with_poll)


def _emit_row(
    loop: _Loop, bounds: tuple[str, str, int], initial: list[str], body: Body, iterations: int, work: float
) -> list[Value]:
    """Emits a loop that polls after its iterations, or after the first `_ROW_WORK` of its work. A loop over parts of
    `iterations` iterations, rarely executed, follows the poll."""
    f = loop.f
    lower, upper, step = bounds
    end = _end_of_row(f, loop.kind, bounds, max(iterations, int(_ROW_WORK // work)) * step)
    first = f.all_parts(loop.types, loop.emit((lower, end, str(step)), initial, body))
    edges: list[tuple[str, list[str]]] = []

    def rest() -> None:
        f.branch_if(f.emit_value(f"icmp slt {loop.kind} {end}, {upper}"), rest_label, whole_label, ", !prof !2")
        f.start_block(rest_label)
        last = _emit_in_parts(loop, (end, upper, step), first, body, iterations, work, inf)
        edges.append((f.current, f.all_parts(loop.types, last)))
        f.branch(joined)
        f.start_block(whole_label)

    rest_label, whole_label, joined = f.fresh_label("rest"), f.fresh_label("whole"), f.fresh_label("joined")
    spend(f, _work_of_row(f, loop.kind, (lower, end, str(step)), work), None if end == upper else rest)
    edges.append((f.current, first))
    f.branch(joined)
    f.start_block(joined)
    results, phis = f.phis(loop.types, edges)
    f.close_phis(phis)
    return results


def _end_of_row(f: LlvmFunctionEmitter, kind: str, bounds: tuple[str, str, int], extent: int) -> str:
    """The upper bound of a row, at most `extent` above the lower bound."""
    lower, upper, _ = bounds
    if extent > _maximum(kind):
        return upper  # at most twice the extent
    if lower == "0":
        return f.emit_value(f.intrinsic("smin", kind, [(kind, upper), (kind, str(extent))]))
    distance = f.emit_value(f"sub {kind} {upper}, {lower}")
    positive = f.emit_value(f"icmp slt {kind} {lower}, {upper}")
    long = f.emit_value(f"icmp ugt {kind} {distance}, {extent}")
    is_longer = f.emit_value(f"and i1 {positive}, {long}")
    limited = f.emit_value(f"add {kind} {lower}, {extent}")
    return f.emit_value(f"select i1 {is_longer}, {kind} {limited}, {kind} {upper}")


def _emit_in_parts(
    loop: _Loop,
    bounds: tuple[str, str, int],
    initial: list[str],
    body: Body,
    iterations: int,
    work: float,
    trips: float,
) -> list[Value]:
    """Emits a loop as a loop over parts of at most `iterations` iterations, with a poll after each part."""
    f, kind = loop.f, loop.kind
    lower, upper, step = bounds
    extent = _equal_part(trips, iterations) * step

    def part(first: str, carried: list[Value]) -> tuple[list[str], str]:
        length = str(extent or iterations * step)
        if not extent:
            rest = f.emit_value(f"sub {kind} {upper}, {first}")
            length = f.emit_value(f.intrinsic("umin", kind, [(kind, rest), (kind, length)]))
        end = f.emit_value(f"add {_nsw(kind)}{kind} {first}, {length}")
        results = loop.emit((first, end, str(step)), f.all_parts(loop.types, carried), body)
        wide = length if kind == "i64" or extent else f.emit_value(f"zext {kind} {length} to i64")
        spend(f, f.multiply(wide, str(max(1, ceil(work / step)))))
        return f.all_parts(loop.types, results), end

    return loop.emit_iterations((lower, upper), initial, part)


def _work_of_row(f: LlvmFunctionEmitter, kind: str, bounds: tuple[str, str, str], work: float) -> str:
    """The work of a loop whose iterations have finite work, at least 1 and at most about the square of the budget."""
    lower, upper, _ = bounds
    distance = upper if lower == "0" else f.emit_value(f"sub {kind} {upper}, {lower}")
    if kind != "i64":
        distance = f.emit_value(f"sext {kind} {distance} to i64")
    positive = f.emit_value(f.intrinsic("smax", "i64", [("i64", distance), ("i64", "1")]))
    limited = f.emit_value(f.intrinsic("smin", "i64", [("i64", positive), ("i64", str(POLL_WORK))]))
    step = constant_value_of_operand(bounds[2]) or 1
    return f.multiply(limited, str(max(1, ceil(work / step))))


def _equal_part(trips: float, most: int) -> int:
    """The number of iterations of each of several equal parts, at most `most` and hardly less; 0 without one."""
    if trips == inf:
        return 0
    parts = -(-int(trips) // most)
    return next((int(trips) // n for n in range(parts, parts + 64) if trips % n == 0), 0)


class _Loop:
    """A loop to emit. types: of the carried values.  hint: the name of the induction variable.  suffix: of the branch
    at its end."""

    def __init__(
        self, f: LlvmFunctionEmitter, kind: str, types: Sequence[Attribute], hint: str | None, suffix: str
    ) -> None:
        self.f = f
        self.kind = kind
        self.types = types
        self.hint = hint
        self.suffix = suffix

    def emit(self, bounds: tuple[str, str, str], initial: list[str], body: Body) -> list[Value]:
        """Emits the loop with constant steps."""
        lower, upper, step = bounds

        def iteration(variable: str, carried: list[Value]) -> tuple[list[str], str]:
            last = body(variable, carried)
            return last, self.f.emit_value(f"add {_nsw(self.kind)}{self.kind} {variable}, {step}")

        return self.emit_iterations((lower, upper), initial, iteration)

    def emit_iterations(self, bounds: tuple[str, str], initial: list[str], iteration: Iteration) -> list[Value]:
        """Emits the loop while its variable is below bounds[1]. Returns the carried values after the loop."""
        f, kind = self.f, self.kind
        lower, upper = bounds
        inside, after = f.fresh_label("loop"), f.fresh_label("done")
        before, place = f.current, f.reserve_line()
        _enter(f, kind, bounds, inside, after)
        with f.loop_body(place):
            f.start_block(inside)
            variable, phi_line = f.fresh_name(self.hint), f.reserve_line()
            carried, phis = f.phis(self.types, [(before, initial)])
            with f.stack_scope():
                last, next_index = iteration(variable, carried)
            again = f.emit_value(f"icmp slt {kind} {next_index}, {upper}")
            f.fill_line(phi_line, f"{variable} = phi {kind} [ {lower}, %{before} ], [ {next_index}, %{f.current} ]")
            f.close_phis(phis, f.current, last)
            latch = f.current
            f.branch_if(again, inside, after, self.suffix)
        f.start_block(after)
        results, phis = f.phis(self.types, [(before, initial), (latch, last)])
        f.close_phis(phis)
        return results


def _nsw(kind: str) -> str:
    return "nsw " if kind == "i64" else ""


def _maximum(kind: str) -> int:
    """The largest integer of a type."""
    return 2 ** (int(kind[1:]) - 1) - 1


def _trip_count(bounds: tuple[str, str, str]) -> float:
    """The trip count, infinite if it is unknown."""
    lower, upper, step = map(constant_value_of_operand, bounds)
    if lower is None or upper is None or step is None or step <= 0:
        return inf
    return max(0, -(-(upper - lower) // step))


def _enter(f: LlvmFunctionEmitter, kind: str, bounds: tuple[str, str], inside: str, after: str) -> None:
    """Branches to the loop or past it. Both edges are emitted even for constant bounds, so each phi has two edges
    always.
    """
    lower, upper = constant_value_of_operand(bounds[0]), constant_value_of_operand(bounds[1])
    if lower is not None and upper is not None:
        f.branch_if("true" if lower < upper else "false", inside, after)
    else:
        f.branch_if(f.emit_value(f"icmp slt {kind} {bounds[0]}, {bounds[1]}"), inside, after)


def _for(f: LlvmFunctionEmitter, op: scf.ForOp) -> None:
    block = op.body.block
    variable, *arguments = block.args

    def body(index: str, carried: list[Value]) -> list[str]:
        f.bind(variable, index)
        _bind_all(f, arguments, carried)
        with f.loop_scope(op, variable.name_hint, index, kind):
            return _walk(f, block)

    kind = register_type(op.lb.type)
    lower, upper, step = f.operands((op.lb, op.ub, op.step))
    types = [value.type for value in op.iter_args]
    _bind_all(
        f,
        op.res,
        emit_loop(
            f,
            kind,
            (lower, upper, step),
            types,
            f.all_components(op.iter_args),
            body,
            variable.name_hint,
            work=1 + f.module.work.of_block(block),
            cost=_cost(f, block),
            is_row=f.is_in_long_loop and _is_row(f, op),
            is_tile=updated_bytes(block) >= TILE_BYTES,
        ),
    )


def _cost(f: LlvmFunctionEmitter, block: Block) -> int:
    """The work of an iteration that its loops do not subtract from the budget; 0 for little work besides such loops."""
    cost = f.module.work.outside_of_loops(block)
    if cost > _LITTLE_WORK:
        return cost
    return 0 if any(isinstance(op, scf.ForOp) and _is_row(f, op) for op in block.ops) else cost


def _is_row(f: LlvmFunctionEmitter, op: scf.ForOp) -> bool:
    """Whether a long loop has light iterations, and a trip count that depends on sizes of buffers and 32-bit integers
    alone, as the loop over a row of a matrix."""
    work = 1 + f.module.work.of_block(op.body.block)
    return (
        work <= _LIGHT_WORK
        and trip_count(op) * work > POLL_WORK
        and constant_of(op.step) is not None
        and all(map(_is_size, (op.lb, op.ub)))
        and not any(isinstance(each, memref.AllocaOp | memref.AllocOp) for each in op.body.walk())
    )


def _is_size(value: SSAValue) -> bool:
    """Whether an `index` is computed from constants, sizes of buffers, 32-bit integers and variables of loops alone."""
    owner = value.owner
    match owner:
        case Block():
            return isinstance(value.type, IndexType)
        case memref.DimOp() | arith.ConstantOp():
            return True
        case _ if isinstance(value.type, IntegerType) and value.type.width.data <= 32:
            return True
        case _:
            return owner.name.startswith("arith.") and all(map(_is_size, owner.operands))


def _bind_all(f: LlvmFunctionEmitter, values: Sequence[object], to: Sequence[Value]) -> None:
    for value, bound in zip(values, to, strict=True):
        f.bind(value, bound)  # pyright: ignore[reportArgumentType]


def _walk(f: LlvmFunctionEmitter, block: Block) -> list[str]:
    """Emits `block`; returns the components of the operands of its `scf.yield`."""
    f.walk(block)
    assert block.last_op is not None
    return f.all_components(block.last_op.operands)


def _parallel(f: LlvmFunctionEmitter, op: scf.ParallelOp) -> None:
    if op.initVals:
        raise lowering_unsupported(op, "reductions are not supported, use loop-carried values")
    bounds = list(zip(f.operands(op.lowerBound), f.operands(op.upperBound), f.operands(op.step), strict=True))
    _nest(f, op, bounds, 0)


def _nest(f: LlvmFunctionEmitter, op: scf.ParallelOp, bounds: list[tuple[str, str, str]], axis: int) -> None:
    if axis == len(bounds):
        f.walk(op.body.block)
        return
    variable = op.body.block.args[axis]

    def body(index: str, _: list[Value]) -> list[str]:
        f.bind(variable, index)
        _nest(f, op, bounds, axis + 1)
        return []

    work = f.module.work.of_block(op.body.block)
    for inner in bounds[axis + 1 :]:
        work = 1 + work * max(1, _trip_count(inner))
    cost = f.module.work.outside_of_loops(op.body.block) if axis + 1 == len(bounds) else 1
    emit_loop(f, "i64", bounds[axis], [], [], body, variable.name_hint, work=1 + work, cost=cost)


def _if(f: LlvmFunctionEmitter, op: scf.IfOp) -> None:
    then, otherwise, join = f.fresh_label("then"), f.fresh_label("else"), f.fresh_label("join")
    blocks = [op.true_region.block, *op.false_region.blocks]
    weights = ", !prof !2" if UNLIKELY in op.attributes else ""
    f.branch_if(f.operand(op.cond), then, otherwise if len(blocks) == 2 else join, weights)
    edges: list[tuple[str, list[str]]] = []
    for label, block in zip((then, otherwise), blocks, strict=False):
        f.start_block(label)
        components = _walk(f, block)
        edges.append((f.current, components))
        f.branch(join)
    f.start_block(join)
    results, phis = f.phis([result.type for result in op.output], edges)
    f.close_phis(phis)
    _bind_all(f, op.output, results)


def _while(f: LlvmFunctionEmitter, op: scf.WhileOp) -> None:
    header, inside, after = f.fresh_label("while"), f.fresh_label("do"), f.fresh_label("done")
    before, test = op.before_region.block, op.before_region.block.last_op
    assert isinstance(test, scf.ConditionOp)
    entered = f.current
    f.branch(header)
    f.start_block(header)
    types = [value.type for value in op.arguments]
    carried, phis = f.phis(types, [(entered, f.all_components(op.arguments))])
    _bind_all(f, before.args, carried)
    with f.stack_scope(), f.long_loop():
        f.walk(before)
    arguments = [f.value(value) for value in test.args]
    f.branch_if(f.operand(test.condition), inside, after)
    f.start_block(inside)
    _bind_all(f, op.after_region.block.args, arguments)
    with f.stack_scope(), f.long_loop():
        last = _walk(f, op.after_region.block)
    work = f.module.work
    spend(f, str(work.outside_of_loops(before) + work.outside_of_loops(op.after_region.block)))
    f.close_phis(phis, f.current, last)
    f.branch(header)
    f.start_block(after)
    _bind_all(f, op.res, arguments)


def _assert(f: LlvmFunctionEmitter, op: cf.AssertOp) -> None:
    about_argument = ABOUT_ARGUMENT in op.attributes
    message = op.msg.data if about_argument else f"assertion failed: {op.msg.data}"
    f.check(f.operand(op.arg), str(f.module.failure(Failure(message, about_argument))))


def _emit_nothing(f: LlvmFunctionEmitter, op: object) -> None:
    """Emits nothing for a terminator: the enclosing operation reads its operands."""


LOWERINGS: Lowerings = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    scf.ParallelOp: _parallel,
    scf.YieldOp: _emit_nothing,
    scf.ConditionOp: _emit_nothing,
    scf.ReduceOp: _emit_nothing,
    cf.AssertOp: _assert,
}
