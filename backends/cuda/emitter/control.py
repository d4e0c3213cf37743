"""Lowering of the `scf` dialect and `cf.assert`: C++ loops and branches.

A carried value of a loop is a variable, assigned at the end of each iteration. A branch with one result and no
statements is a conditional expression. `scf.parallel` runs in order. A failed assertion traps.

A loop variable of type `index` is `int` if its bounds are, and stepping past the upper bound cannot overflow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, SSAValue

from ....core.intervals import signed_range
from ...llvm.types import lane_count
from .expression import INT, LONG, CudaExpr, common_type, negate_condition, select, variable_expr
from .function import CudaFunctionEmitter, Lowerings, has_effects, lowering_unsupported
from .types import is_index, scalar_type

_LONGEST = 40  # characters of a bound in the head of a loop


def _loop_bound(f: CudaFunctionEmitter, value: SSAValue, hint: str) -> CudaExpr:
    bound = f.operand(value)
    return f.local(bound, value.name_hint or hint) if bound.reads or len(bound.text) > _LONGEST else bound


def _loop_type(bounds: Sequence[CudaExpr], value: SSAValue) -> str:
    if not is_index(value.type):
        return scalar_type(value.type)
    lower, upper, step = bounds
    last = upper.bounds[1] + step.bounds[1] - 1
    steps_fit = step.literal == 1 or last <= signed_range(32)[1]
    return INT if steps_fit and common_type(lower.type, upper.type, step.type) == INT else LONG


def _bounds(
    f: CudaFunctionEmitter, lower: SSAValue, upper: SSAValue, step: SSAValue
) -> tuple[CudaExpr, CudaExpr, CudaExpr]:
    """The lower bound, upper bound and step of a loop. Nontrivial bounds are stored in variables before the loop."""
    return f.operand(lower), _loop_bound(f, upper, "end"), _loop_bound(f, step, "step")


def _head(
    f: CudaFunctionEmitter, variable: SSAValue, bounds: tuple[CudaExpr, CudaExpr, CudaExpr]
) -> tuple[str, CudaExpr]:
    """The head of a loop, and its variable as an expression. Must be called where the loop is emitted: the name of the
    variable is valid in its body.
    """
    lower, upper, step = bounds
    type = _loop_type(bounds, variable)
    low = lower.bounds[0]
    new = f.names.fresh(variable.name_hint or "i")
    index = variable_expr(new, type, (low, max(low, upper.bounds[1] - 1)), gcd(lower.multiple, step.multiple))
    increment = f"++{new}" if step.literal == 1 else f"{new} += {step.parenthesized(3)}"
    head = f"for ({type} {new} = {lower.text}; {new} < {upper.parenthesized(11)}; {increment})"
    return head, replace(index, range=_widen_constant(index.range))


def _widen_constant(range: tuple[int, int] | None) -> tuple[int, int] | None:
    """Widens the range of a constant loop variable, so the variable is not folded to a literal."""
    return None if range is None else (range[0], max(range[1], range[0] + 1))


def _for(f: CudaFunctionEmitter, op: scf.ForOp) -> None:
    variable, *arguments = op.body.block.args
    carried = _carry(f, arguments, op.iter_args, op.res)
    if has_effects(op):
        f.emit_pending_reads()
    bounds = _bounds(f, op.lb, op.ub, op.step)
    with f.names.scope():
        head, index = _head(f, variable, bounds)
        with f.block(head):
            f.bind(variable, index)
            _bind_all(f, arguments, carried)
            f.walk(op.body.block)
            _assign(f, carried, _yield_components(f, op.body.block))
    _bind_all(f, op.res, carried)


def _carry(
    f: CudaFunctionEmitter, arguments: Sequence[BlockArgument], initial: Sequence[SSAValue], results: Sequence[SSAValue]
) -> list[list[CudaExpr]]:
    """Declares a variable for each component of the carried values of a loop."""
    carried: list[list[CudaExpr]] = []
    for argument, start, result in zip(arguments, initial, results, strict=True):
        parts = [part.wide or part for part in f.components(start)]
        source = argument if argument.name_hint is not None else result
        types = f.component_types(start.type)
        carried.append(
            [f.declare(*each) for each in zip(types, f.result_names(source), parts, strict=True)]
        )  # fmt: skip
    return carried


def _bind_all(f: CudaFunctionEmitter, values: Sequence[SSAValue], parts: Sequence[Sequence[CudaExpr]]) -> None:
    for value, components in zip(values, parts, strict=True):
        f.bind(value, f.assemble(value.type, components))


def _yield_components(f: CudaFunctionEmitter, block: Block) -> list[CudaExpr]:
    """The components of the operands of the terminator of `block`."""
    assert block.last_op is not None
    return f.all_components(block.last_op.operands)


def _assign(f: CudaFunctionEmitter, carried: Sequence[Sequence[CudaExpr]], values: Sequence[CudaExpr]) -> None:
    """Assigns all variables at once: a value that depends on a variable assigned earlier is first stored
    in a temporary.
    """
    variables = [variable for parts in carried for variable in parts]
    values = [
        value.wide or value if variable.type == LONG else value
        for variable, value in zip(variables, values, strict=True)
    ]
    for n, value in enumerate(values):
        if any(_mentions(value, variable) for variable in variables[:n]):
            values[n] = f.local(value, "next")
    for variable, value in zip(variables, values, strict=True):
        if variable.text != value.text:
            f.line(f"{variable.text} = {value.text};")


def _mentions(value: CudaExpr, variable: CudaExpr) -> bool:
    return re.search(rf"\b{re.escape(variable.text)}\b", value.text) is not None


def _parallel(f: CudaFunctionEmitter, op: scf.ParallelOp) -> None:
    if op.initVals:
        raise lowering_unsupported(op, "reductions are not supported, use loop-carried values")
    if has_effects(op):
        f.emit_pending_reads()
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    _nest(f, op, bounds, 0)


def _nest(
    f: CudaFunctionEmitter, op: scf.ParallelOp, bounds: list[tuple[SSAValue, SSAValue, SSAValue]], axis: int
) -> None:
    if axis == len(bounds):
        f.walk(op.body.block)
        return
    numbers = _bounds(f, *bounds[axis])
    with f.names.scope():
        head, index = _head(f, op.body.block.args[axis], numbers)
        with f.block(head):
            f.bind(op.body.block.args[axis], index)
            _nest(f, op, bounds, axis + 1)


def _if(f: CudaFunctionEmitter, op: scf.IfOp) -> None:
    condition = f.operand(op.cond)
    if has_effects(op):
        if condition.reads:
            condition = f.local(condition, op.cond.name_hint or "condition")
        f.emit_pending_reads()
    names = [f.result_names(result) for result in op.output]
    branches: list[tuple[list[str], list[CudaExpr]]] = []
    for block in (op.true_region.block, *op.false_region.blocks):
        with f.capture_lines() as lines:
            f.walk(block)
            branches.append((lines, _yield_components(f, block)))
    if len(branches) == 2 and not any(lines for lines, _ in branches) and len(branches[0][1]) == 1:
        f.names.release(names[0][0])
        _emit_conditional(f, op.output[0], condition, branches[0][1][0], branches[1][1][0])
    else:
        _emit_branches(f, op, condition, names, branches)


def _emit_conditional(
    f: CudaFunctionEmitter, result: SSAValue, condition: CudaExpr, then: CudaExpr, otherwise: CudaExpr
) -> None:
    chosen = select(condition, then, otherwise)
    if isinstance(result.type, MemRefType):
        f.bind(result, f.assemble(result.type, [f.local(chosen, result.name_hint)]))
    elif lane_count(result.type) is not None:
        f.define_lanes(result, [chosen])
    else:
        f.define(result, chosen)


def _emit_branches(
    f: CudaFunctionEmitter,
    op: scf.IfOp,
    condition: CudaExpr,
    names: Sequence[Sequence[str]],
    branches: Sequence[tuple[list[str], list[CudaExpr]]],
) -> None:
    components = iter(list(zip(*(parts for _, parts in branches), strict=True)))
    results: list[list[CudaExpr]] = []
    for result, texts in zip(op.output, names, strict=True):
        types = [
            common_type(*(part.type for part in next(components)))
            if is_index(result.type)
            else (next(components), type)[1]
            for type in f.component_types(result.type)
        ]
        results.append([f.declare(type, text) for type, text in zip(types, texts, strict=True)])
    for n, (lines, parts) in enumerate(branches):
        if n == 1 and not lines and not parts:
            break
        f.line(f"if ({condition.text}) {{" if n == 0 else "} else {")
        f.lines += lines
        with f.indent():
            _assign(f, results, parts)
    f.line("}")
    _bind_all(f, op.output, results)


def _while(f: CudaFunctionEmitter, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    test = before.last_op
    assert isinstance(test, scf.ConditionOp)
    carried = _carry(f, before.args, op.arguments, before.args)
    if has_effects(op):
        f.emit_pending_reads()
    results = [
        [f.declare(*each) for each in zip(f.component_types(result.type), f.result_names(result), strict=True)]
        for result in _new_results(op, test)
    ]
    _bind_all(f, before.args, carried)
    with f.capture_lines() as lines:
        f.walk(before)
        condition = f.operand(test.condition)
        arguments = [f.components(value) for value in test.args]
        simple = not f.lines and not results and not condition.reads
        if not simple:
            _assign(f, results, [part for value, parts in zip(test.args, arguments, strict=True)
                                 if _is_new(op, value) for part in parts])  # fmt: skip
            f.line(f"if ({negate_condition(condition).text}) {{")
            f.line("  break;")
            f.line("}")
        new_results = iter(results)
        arguments = [
            next(new_results) if _is_new(op, value) else parts
            for value, parts in zip(test.args, arguments, strict=True)
        ]
        _bind_all(f, after.args, arguments)
        f.walk(after)
        _assign(f, carried, _yield_components(f, after))
    f.line(f"while ({condition.text}) {{" if simple else "while (true) {")
    f.lines += lines
    f.line("}")
    _bind_all(f, op.res, arguments)


def _is_new(op: scf.WhileOp, value: SSAValue) -> bool:
    """Whether a result of a loop is computed in its test, rather than a carried variable."""
    return not (isinstance(value, BlockArgument) and value.owner is op.before_region.block)


def _new_results(op: scf.WhileOp, test: scf.ConditionOp) -> list[SSAValue]:
    return [result for result, value in zip(op.res, test.args, strict=True) if _is_new(op, value)]


def _assert(f: CudaFunctionEmitter, op: cf.AssertOp) -> None:
    condition = f.operand(op.arg)
    f.emit_pending_reads()
    with f.block(f"if ({negate_condition(condition).text})"):
        f.line("__trap();")


def _emit_nothing(f: CudaFunctionEmitter, op: object) -> None:
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
