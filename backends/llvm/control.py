"""Lowering of the `scf` dialect and `cf.assert`: loops and branches with phis.

`scf.parallel` runs in order. A loop tests its bound before the first iteration and then at the end of each; stepping an
`index` past the bound does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import cf, scf
from xdsl.ir import Attribute, Block

from ...dialects.attributes import ABOUT_ARGUMENT, UNLIKELY
from ..runtime.signature import Failure
from .function import LlvmFunctionEmitter, Lowerings, Value, lowering_unsupported
from .types import constant_value_of_operand, register_type

Body = Callable[[str, list[Value]], list[str]]
"""Emits the body of a loop, given the induction variable and the carried values; returns the components of the next
values.
"""


def emit_loop(
    f: LlvmFunctionEmitter,
    kind: str,
    bounds: tuple[str, str, str],
    types: Sequence[Attribute],
    initial: list[str],
    body: Body,
    hint: str | None = None,
) -> list[Value]:
    """Emits a loop from bounds[0] to below bounds[1] in steps of bounds[2], all of LLVM type `kind`, that carries
    values of `types` with components `initial`. Returns the carried values after the loop.
    """
    lower, upper, step = bounds
    inside, after = f.fresh_label("loop"), f.fresh_label("done")
    before = f.current
    _enter(f, kind, bounds, inside, after)
    f.start_block(inside)
    variable, phi_line = f.fresh_name(hint), f.reserve_line()
    carried, phis = f.phis(types, [(before, initial)])
    with f.stack_scope():
        last = body(variable, carried)
    next_index = f.emit_value(f"add {'nsw ' if kind == 'i64' else ''}{kind} {variable}, {step}")
    again = f.emit_value(f"icmp slt {kind} {next_index}, {upper}")
    f.fill_line(phi_line, f"{variable} = phi {kind} [ {lower}, %{before} ], [ {next_index}, %{f.current} ]")
    f.close_phis(phis, f.current, last)
    latch = f.current
    f.branch_if(again, inside, after)
    f.start_block(after)
    results, phis = f.phis(types, [(before, initial), (latch, last)])
    f.close_phis(phis)
    return results


def _enter(f: LlvmFunctionEmitter, kind: str, bounds: tuple[str, str, str], inside: str, after: str) -> None:
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
        return _walk(f, block)

    lower, upper, step = f.operands((op.lb, op.ub, op.step))
    types = [value.type for value in op.iter_args]
    _bind_all(
        f,
        op.res,
        emit_loop(
            f,
            register_type(op.lb.type),
            (lower, upper, step),
            types,
            f.all_components(op.iter_args),
            body,
            variable.name_hint,
        ),
    )


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

    emit_loop(f, "i64", bounds[axis], [], [], body, variable.name_hint)


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
    with f.stack_scope():
        f.walk(before)
    arguments = [f.value(value) for value in test.args]
    f.branch_if(f.operand(test.condition), inside, after)
    f.start_block(inside)
    _bind_all(f, op.after_region.block.args, arguments)
    with f.stack_scope():
        last = _walk(f, op.after_region.block)
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
