"""Lowering of the `scf` dialect and `cf.assert`: loops and branches with phis.

`scf.parallel` runs in order. A loop tests its bound before the first iteration and then at the end of each; stepping an
`index` past the bound does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import cf, scf
from xdsl.ir import Attribute, Block

from ...dialects.attributes import ABOUT_ARGUMENT
from ..runtime.signature import Failure
from .function import FunctionEmitter, Lowerings, Value, unsupported
from .types import constant, register_type

Body = Callable[[str, list[Value]], list[str]]
"""Emits the body of a loop, given the induction variable and the carried values; returns the components of the next
values.
"""


def loop(
    f: FunctionEmitter,
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
    inside, after = f.label("loop"), f.label("done")
    before = f.current
    _enter(f, kind, bounds, inside, after)
    f.start(inside)
    variable, phi_line = f.fresh(hint), f.reserve()
    carried, phis = f.phis(types, [(before, initial)])
    with f.stack_scope():
        last = body(variable, carried)
    next_index = f.op(f"add {'nsw ' if kind == 'i64' else ''}{kind} {variable}, {step}")
    again = f.op(f"icmp slt {kind} {next_index}, {upper}")
    f.fill(phi_line, f"{variable} = phi {kind} [ {lower}, %{before} ], [ {next_index}, %{f.current} ]")
    f.close_phis(phis, f.current, last)
    latch = f.current
    f.branch_if(again, inside, after)
    f.start(after)
    results, phis = f.phis(types, [(before, initial), (latch, last)])
    f.close_phis(phis)
    return results


def _enter(f: FunctionEmitter, kind: str, bounds: tuple[str, str, str], inside: str, after: str) -> None:
    """Branches to the loop or past it. Both edges are emitted even for constant bounds, so each phi has two edges
    always.
    """
    lower, upper = constant(bounds[0]), constant(bounds[1])
    if lower is not None and upper is not None:
        f.branch_if("true" if lower < upper else "false", inside, after)
    else:
        f.branch_if(f.op(f"icmp slt {kind} {bounds[0]}, {bounds[1]}"), inside, after)


def _for(f: FunctionEmitter, op: scf.ForOp) -> None:
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
        loop(
            f,
            register_type(op.lb.type),
            (lower, upper, step),
            types,
            f.all_components(op.iter_args),
            body,
            variable.name_hint,
        ),
    )


def _bind_all(f: FunctionEmitter, values: Sequence[object], to: Sequence[Value]) -> None:
    for value, bound in zip(values, to, strict=True):
        f.bind(value, bound)  # pyright: ignore[reportArgumentType]


def _walk(f: FunctionEmitter, block: Block) -> list[str]:
    """Emits `block`; returns the components of the operands of its `scf.yield`."""
    f.walk(block)
    assert block.last_op is not None
    return f.all_components(block.last_op.operands)


def _parallel(f: FunctionEmitter, op: scf.ParallelOp) -> None:
    if op.initVals:
        raise unsupported(op, "reductions are not supported, use loop-carried values")
    bounds = list(zip(f.operands(op.lowerBound), f.operands(op.upperBound), f.operands(op.step), strict=True))
    _nest(f, op, bounds, 0)


def _nest(f: FunctionEmitter, op: scf.ParallelOp, bounds: list[tuple[str, str, str]], axis: int) -> None:
    if axis == len(bounds):
        f.walk(op.body.block)
        return
    variable = op.body.block.args[axis]

    def body(index: str, _: list[Value]) -> list[str]:
        f.bind(variable, index)
        _nest(f, op, bounds, axis + 1)
        return []

    loop(f, "i64", bounds[axis], [], [], body, variable.name_hint)


def _if(f: FunctionEmitter, op: scf.IfOp) -> None:
    then, otherwise, join = f.label("then"), f.label("else"), f.label("join")
    blocks = [op.true_region.block, *op.false_region.blocks]
    f.branch_if(f.operand(op.cond), then, otherwise if len(blocks) == 2 else join)
    edges: list[tuple[str, list[str]]] = []
    for label, block in zip((then, otherwise), blocks, strict=False):
        f.start(label)
        components = _walk(f, block)
        edges.append((f.current, components))
        f.branch(join)
    f.start(join)
    results, phis = f.phis([result.type for result in op.output], edges)
    f.close_phis(phis)
    _bind_all(f, op.output, results)


def _while(f: FunctionEmitter, op: scf.WhileOp) -> None:
    header, inside, after = f.label("while"), f.label("do"), f.label("done")
    before, test = op.before_region.block, op.before_region.block.last_op
    assert isinstance(test, scf.ConditionOp)
    entered = f.current
    f.branch(header)
    f.start(header)
    types = [value.type for value in op.arguments]
    carried, phis = f.phis(types, [(entered, f.all_components(op.arguments))])
    _bind_all(f, before.args, carried)
    with f.stack_scope():
        f.walk(before)
    arguments = [f.value(value) for value in test.args]
    f.branch_if(f.operand(test.condition), inside, after)
    f.start(inside)
    _bind_all(f, op.after_region.block.args, arguments)
    with f.stack_scope():
        last = _walk(f, op.after_region.block)
    f.close_phis(phis, f.current, last)
    f.branch(header)
    f.start(after)
    _bind_all(f, op.res, arguments)


def _assert(f: FunctionEmitter, op: cf.AssertOp) -> None:
    about_argument = ABOUT_ARGUMENT in op.attributes
    message = op.msg.data if about_argument else f"assertion failed: {op.msg.data}"
    f.check(f.operand(op.arg), str(f.module.failure(Failure(message, about_argument))))


def _emit_nothing(f: FunctionEmitter, op: object) -> None:
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
