"""Statements with regions: loops and branches; returns from functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, cf, llvm, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....analysis.threads.axes import is_virtual_thread_loop
from ....core.assertions import UNDEFINED_BEHAVIOR
from ....core.diagnostics import unsupported_op_error
from ....core.dtypes import dtype_of
from ....core.walking import find_ops
from ....dialects.attributes import (
    ABOUT_ARGUMENT,
    GRAIN,
    LEAST_PER_THREAD,
    REPORT_ASSERTION,
    REPORT_UNDEFINED,
    UNLIKELY,
)
from ....dialects.tir import (
    AssertOp,
    AttrOp,
    CommReducerOp,
    EvaluateOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    ReturnOp,
    WhileOp,
    YieldOp,
)
from .memory import constant_string
from .types import BOOL, INDEX, POINTER, element_dtype_name, lower_type
from .writer import Handlers, UpstreamWriter

_Outcome: TypeAlias = tuple[SSAValue, SSAValue | None]
"""Whether the function has returned, as a bool value, and its result if it has one."""


def _body(w: UpstreamWriter, block: Block, ops: Iterable[Operation], *, parallel: bool = False) -> None:
    """Lowers the statements `ops` into `block`, and adds the terminator."""
    with w.inside(block):
        if parallel:
            with w.own_stack(block):
                w.statements(ops)
        else:
            w.statements(ops)
        w.end(scf.ReduceOp if parallel else scf.YieldOp)


# Loops


def _bounds(w: UpstreamWriter, op: ForOp) -> list[SSAValue]:
    low, extent, step = op.mixed_bounds
    lower = w.index_of(low)
    upper = w.add(lower, w.index_of(extent))
    return [w.index(n) for n in (lower, upper, w.index_of(step))]


def _for(w: UpstreamWriter, op: ForOp) -> None:
    if op.thread is not None and not is_virtual_thread_loop(op):
        raise unsupported_op_error(
            op, f"target llvm has no threads: loop {op.loop_var.data} is bound to {op.thread.data}"
        )
    parallel = op.kind.data == "parallel"
    bounds = _bounds(w, op)
    block = Block(arg_types=[INDEX])
    block.args[0].name_hint = op.variable.name_hint
    w.indices[op.variable] = block.args[0]
    _body(w, block, op.body.block.ops, parallel=parallel)
    if parallel:
        loop = w.insert(scf.ParallelOp([bounds[0]], [bounds[1]], [bounds[2]], Region(block)))
        for name, attribute in (("grain", GRAIN), ("least_per_thread", LEAST_PER_THREAD)):
            if (number := _annotation(op, name)) is not None:
                loop.attributes[attribute] = number
    else:
        w.make(scf.ForOp, bounds, regions=[Region(block)])


def _annotation(op: ForOp, name: str) -> IntegerAttr | None:
    """An annotation of a loop that is a positive number."""
    number = None if op.annotations is None else op.annotations.data.get(name)
    if number is not None and not (isinstance(number, IntegerAttr) and number.value.data > 0):
        raise unsupported_op_error(
            op, f"annotation {name} of loop {op.loop_var.data}: expected a positive integer, got {number}"
        )
    return None if number is None else IntegerAttr(number.value.data, i64)


def _while(w: UpstreamWriter, op: WhileOp) -> None:
    before, after = Block(), Block()
    with w.inside(before):
        *computed, last = op.condition.block.ops
        assert isinstance(last, YieldOp)
        w.statements(computed)
        w.end(scf.ConditionOp, w.value(last.value))
    _body(w, after, op.body.block.ops)
    w.make(scf.WhileOp, [], regions=[Region(before), Region(after)])


# Branches


def _if(w: UpstreamWriter, op: IfOp) -> None:
    condition = w.value(op.condition)
    then, orelse = Block(), Region()
    _body(w, then, op.then.block.ops)
    if op.orelse.block.ops:
        block = Block()
        _body(w, block, op.orelse.block.ops)
        orelse = Region(block)
    w.make(scf.IfOp, [condition], regions=[Region(then), orelse])


def _if_then_else(w: UpstreamWriter, op: IfThenElseOp) -> None:
    condition = w.value(op.condition)
    blocks = [_yielding(w, region.block) for region in op.regions]
    types = [lower_type(op.result.type)]
    result = w.make(scf.IfOp, [condition], types, regions=[Region(b) for b in blocks])
    w.bind(op.result, result.results[0])


def _yielding(w: UpstreamWriter, source: Block) -> Block:
    block = Block()
    with w.inside(block):
        *computed, last = source.ops
        assert isinstance(last, YieldOp)
        w.statements(computed)
        w.end(scf.YieldOp, w.value(last.value))
    return block


def _attr(w: UpstreamWriter, op: AttrOp) -> None:
    """Lowers the body; attributes of nodes have no meaning here."""
    w.statements(op.body.block.ops)


def _comm_reducer(_w: UpstreamWriter, op: CommReducerOp) -> None:
    raise unsupported_op_error(op, "only a block with T.init states a reduction that can be lowered")


# Ends


def _assert(w: UpstreamWriter, op: AssertOp) -> None:
    if w.launched is None and (op.values or op.kind_name == UNDEFINED_BEHAVIOR):
        _report(w, op)
    else:
        emit_check(w, w.value(op.condition), op.message.data, argument=ABOUT_ARGUMENT in op.attributes)


def _report(w: UpstreamWriter, op: AssertOp) -> None:
    """Emits an assertion that passes its values to the runtime where it fails; all of its code is in that branch."""
    failed = w.op(arith.XOrIOp, w.value(op.condition), w.constant(1, BOOL))
    block = Block()
    with w.inside(block):
        values = [constant_string(w, op.message.data), *(w.value(value) for value in op.values)]
        dtypes = ["handle", *(element_dtype_name(value.type) for value in op.values)]
        name = REPORT_UNDEFINED if op.kind_name == UNDEFINED_BEHAVIOR else REPORT_ASSERTION
        callee = w.module.declare_packed(name, [value.type for value in values], dtypes, [], [])
        w.module.call_named(w, callee, values, [])
        emit_check(w, w.constant(0, BOOL), op.message.data)
        w.end(scf.YieldOp)
    branch = w.make(scf.IfOp, [failed], regions=[Region(block), Region()])
    branch.attributes[UNLIKELY] = UnitAttr()


def emit_check(w: UpstreamWriter, condition: SSAValue, message: str, *, argument: bool = False) -> None:
    """Emits an assertion of `condition`, with a message. argument: whether it checks arguments of the caller."""
    op = w.make(cf.AssertOp, [condition], properties={"msg": StringAttr(message)})
    if argument:
        op.attributes[ABOUT_ARGUMENT] = UnitAttr()


def _evaluate(w: UpstreamWriter, op: EvaluateOp) -> None:
    """Emits nothing: the value has been computed where it is defined."""


def _return(_w: UpstreamWriter, op: ReturnOp) -> None:
    raise unsupported_op_error(op, "return is supported only where the function would end anyway, not inside a loop")


def returns(op: Operation) -> bool:
    """Whether `op` contains a tir.return."""
    return any(find_ops(op, ReturnOp))


def _ends(ops: Iterable[Operation]) -> bool | None:
    """Whether statements return from the function always (True), never (False), or sometimes (None)."""
    result: bool | None = False
    for op in ops:
        match op:
            case ReturnOp():
                return True
            case IfOp() if returns(op):
                both = {_ends(region.block.ops) for region in op.regions}
                if both == {True}:
                    return True
                result = None
            case AttrOp() if returns(op):
                inner = _ends(op.body.block.ops)
                if inner is True:
                    return True
                result = None if inner is None else result
            case _:
                pass
    return result


def finish(w: UpstreamWriter, ops: Sequence[Operation]) -> SSAValue | None:
    """Lowers the last statements of a function; returns its result if it has one.

    The rest of a function after a branch that returns is moved into the other branch. Where both branches return
    sometimes, a flag states whether the function has returned.
    """
    for n, op in enumerate(ops):
        w.location = op.location
        if isinstance(op, ReturnOp):
            return _result(w, op)
        rest = ops[n + 1 :]
        if isinstance(op, AttrOp) and returns(op):
            return finish(w, [*op.body.block.ops, *rest])
        if isinstance(op, IfOp) and returns(op):
            if True in {_ends(region.block.ops) for region in op.regions}:
                return _final_if(w, op, rest)
            left, value = _attempt_if(w, op)
            return choose(w, left, lambda: value, lambda rest=rest: finish(w, rest))
        w.statements([op])
    if w.function.result_type is not None:
        name = w.function.sym_name.data
        raise unsupported_op_error(
            w.function, f"function {name} must return {w.function.result_type}, but may end without"
        )
    return None


def _result(w: UpstreamWriter, op: ReturnOp) -> SSAValue | None:
    return None if op.value is None else w.value(op.value)


def _result_types(w: UpstreamWriter) -> list[Attribute]:
    type = w.function.result_type
    return [] if type is None else [lower_type(type)]


def _final_if(w: UpstreamWriter, op: IfOp, rest: Sequence[Operation]) -> SSAValue | None:
    """Lowers a branch one side of which always returns."""
    condition = w.value(op.condition)
    blocks = [_block(w, lambda r=region: finish(w, [*r.block.ops, *rest])) for region in op.regions]
    w.location = op.location
    return _optional(w.make(scf.IfOp, [condition], _result_types(w), regions=[Region(b) for b in blocks]))


def choose(
    w: UpstreamWriter,
    condition: SSAValue,
    then: Callable[[], SSAValue | None],
    orelse: Callable[[], SSAValue | None],
) -> SSAValue | None:
    """Lowers a branch with the rest of a function on both sides; returns the result of the function if it has one."""
    blocks = [_block(w, then), _block(w, orelse)]
    return _optional(w.make(scf.IfOp, [condition], _result_types(w), regions=[Region(b) for b in blocks]))


def _block(w: UpstreamWriter, build: Callable[[], SSAValue | None]) -> Block:
    block = Block()
    with w.inside(block):
        value = build()
        w.end(scf.YieldOp, *([] if value is None else [value]))
    return block


def _optional(op: Operation) -> SSAValue | None:
    return op.results[0] if op.results else None


def _attempt_if(w: UpstreamWriter, op: IfOp) -> _Outcome:
    """Lowers a branch that may return from the function."""
    condition = w.value(op.condition)
    then, orelse = (list(region.block.ops) for region in op.regions)
    return _either(w, condition, lambda: _attempt(w, then), lambda: _attempt(w, orelse))


def _either(w: UpstreamWriter, condition: SSAValue, *builds: Callable[[], _Outcome]) -> _Outcome:
    """Emits a conditional between two outcomes."""
    location = w.location
    regions: list[Region] = []
    for build in builds:
        block = Block()
        with w.inside(block):
            left, value = build()
            w.end(scf.YieldOp, left, *([] if value is None else [value]))
        regions.append(Region(block))
    w.location = location
    results = w.make(scf.IfOp, [condition], [BOOL, *_result_types(w)], regions=regions).results
    return results[0], results[1] if len(results) == 2 else None


def _attempt(w: UpstreamWriter, ops: Sequence[Operation]) -> _Outcome:
    """Lowers statements that may return from the function."""
    for n, op in enumerate(ops):
        w.location = op.location
        if isinstance(op, ReturnOp):
            return w.constant(1, BOOL), _result(w, op)
        rest = ops[n + 1 :]
        if isinstance(op, AttrOp) and returns(op):
            return _attempt(w, [*op.body.block.ops, *rest])
        if isinstance(op, IfOp) and returns(op):
            left, value = _attempt_if(w, op)
            if not rest:
                return left, value
            return _either(w, left, lambda: (w.constant(1, BOOL), value), lambda: _attempt(w, rest))
        w.statements([op])
    return w.constant(0, BOOL), _any_result(w)


def _any_result(w: UpstreamWriter) -> SSAValue | None:
    """An arbitrary result, which is never used."""
    types = _result_types(w)
    if not types:
        return None
    if types[0] == POINTER:
        return w.make(llvm.ZeroOp, [], types).res
    return w.constant(0.0 if dtype_of(types[0]).is_float else 0, types[0])


HANDLERS: Handlers = {
    ForOp: _for,
    WhileOp: _while,
    IfOp: _if,
    IfThenElseOp: _if_then_else,
    AttrOp: _attr,
    CommReducerOp: _comm_reducer,
    AssertOp: _assert,
    EvaluateOp: _evaluate,
    ReturnOp: _return,
}
