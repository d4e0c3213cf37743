"""Loops: the words that create them, and the statements `for` and `while`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation, Region, SSAValue

from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, int_fits, mlir_type, promote
from ...dialects.tir import ForOp, Mixed, Operand, WhileOp, YieldOp
from . import syntax
from .arithmetic import binary, is_zero
from .context import ElaborationContext
from .dispatch import evaluate, run_statements, runs
from .expressions import bind_pattern, call_word
from .jumps import LoopWithJumps, jumps_of
from .quoting import quote
from .values import Loop, Loops, UpperBound, Value, Word, describe_value
from .vocabulary import path_of, word

_INT32 = DType("int", 32)


def _loop_reader(kind: str) -> Callable[..., Value]:
    def read(
        context: ElaborationContext,
        span: Span,
        start: Value,
        stop: Value = None,
        annotations: Value = None,
        step: Value = 1,
    ) -> Value:
        return Loops((_loop(context, span, start, stop, kind, step, annotations=annotations),))

    return read


def _loop(
    context: ElaborationContext, span: Span, start: Value, stop: Value, kind: str, step: Value = 1,
    thread: str | None = None, annotations: Value = None,
) -> Loop:  # fmt: skip
    if annotations is not None and not isinstance(annotations, dict):
        raise span.error(f"expected a dictionary of annotations, got {describe_value(annotations)}")
    stride = context.index(1 if step is None else step, span)
    if not isinstance(stride, SSAValue) and stride <= 0:
        return _descending_loop(context, span, start, stop, kind, int(stride), annotations)
    if isinstance(stop, UpperBound):
        return Loop(context.index(start, span), stop.extent, kind, stride, thread, annotations)
    if stop is None:
        return Loop(0, context.index(start, span), kind, stride, thread, annotations)
    low, high = context.index(start, span), context.index(stop, span)
    extent = high if is_zero(low) else context.index(binary(context, "-", high, low, span), span)
    return Loop(low, extent, kind, stride, thread, annotations)


def _descending_loop(
    context: ElaborationContext, span: Span, start: Value, stop: Value, kind: str, step: int, annotations: Value
) -> Loop:  # fmt: skip
    """A loop over `start, start + step, ...` above `stop`, for a negative step."""
    if step == 0:
        raise span.error("step 0 of a loop, expected a positive or negative one")
    first, end = (0, start) if stop is None else (start, stop)
    low = context.index(first, span)
    if isinstance(low, SSAValue) and isinstance(low.owner, Operation):
        low = context.locate(span).let("start", low)
    if isinstance(end, UpperBound):
        distance = end.extent
    else:
        high = context.index(end, span)
        distance = context.index(binary(context, "-", high, low, span), span)
    if isinstance(distance, SSAValue):
        biased = binary(context, "+", distance, step + 1, span)
        count = context.index(binary(context, "//", biased, step, span), span)
    else:
        count = len(range(0, int(distance), step))
    return Loop(0, count, kind, annotations=annotations, descent=(low, -step))


for _word, _kind in {
    "serial": "serial", "parallel": "parallel", "vectorized": "vectorized", "unroll": "unrolled",
    "unrolled": "unrolled",
}.items():  # fmt: skip
    word(_word)(_loop_reader(_kind))


@word("thread_binding")
def _thread_binding(
    context: ElaborationContext,
    span: Span,
    start: Value,
    stop: Value = None,
    thread: Value = None,
    annotations: Value = None,
) -> Value:
    if isinstance(stop, str) and thread is None:
        stop, thread = None, stop
    if thread is None:
        raise span.error("T.thread_binding: missing argument 'thread'")
    tag = context.string(thread, span, "the thread axis")
    return Loops((_loop(context, span, start, stop, "thread_binding", 1, tag, annotations),))


@word("grid")
def _grid(context: ElaborationContext, span: Span, *extents: Value) -> Value:
    if not extents:
        raise span.error("T.grid: expected an extent")
    return Loops(tuple(_grid_loop(context, extent, span) for extent in extents), grid=True)


def _grid_loop(context: ElaborationContext, extent: Value, span: Span) -> Loop:
    if isinstance(extent, tuple | list) and len(extent) == 2:
        return _loop(context, span, extent[0], extent[1], "serial")
    return Loop(0, context.index(extent, span))


def range_loops(context: ElaborationContext, span: Span, *bounds: Value, annotations: Value = None) -> Loops:
    """The loop of `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
    if not 1 <= len(bounds) <= 3:
        raise span.error(f"range takes 1 to 3 arguments, got {len(bounds)}")
    start, stop = bounds[0], bounds[1] if len(bounds) > 1 else None
    step = bounds[2] if len(bounds) == 3 else 1
    return Loops((_loop(context, span, start, stop, "serial", step, annotations=annotations),))


@runs(syntax.For)
def _for(context: ElaborationContext, node: syntax.For) -> None:
    jumps = _jumps_of_loop(context, node.body)
    value = _iterable(context, node.iterable)
    if not isinstance(value, Loops):
        raise node.iterable.span.error(f"expected loops (range, T.serial, T.grid, ...), got {describe_value(value)}")
    names = _loop_names(node.target, len(value.loops))
    if jumps is not None and jumps.breaks and not _is_ordered(value):
        raise jumps.breaks[0].span.error("break takes a single loop whose iterations run in order")
    with context.emit_into():
        variables = [_open_loop(context, *part, node.span) for part in zip(value.loops, names, strict=True)]
        is_one = isinstance(node.target, syntax.Name) and len(variables) == 1
        bind_pattern(context, node.target, variables[0] if is_one else variables)
        if jumps is None:
            run_statements(context, node.body)
        else:
            jumps.run(guarded=True)


def _is_ordered(loops: Loops) -> bool:
    return len(loops.loops) == 1 and loops.loops[0].kind in ("serial", "unrolled")


def _iterable(context: ElaborationContext, node: syntax.Expr) -> Value:
    """The iterable of a `for`; `range(x, x + 4)` and `T.serial(x, x + 4)` have extent 4 by their syntax, for any x."""
    match node:
        case syntax.Call(args=(low, syntax.Binary(op="+", lhs=lhs, rhs=rhs), *rest)) if syntax.equal_syntax(low, lhs):
            function = evaluate(context, node.func)
        case _:
            return evaluate(context, node)
    if not isinstance(function, Word) or path_of(function) not in _COUNTING:
        return evaluate(context, node)
    start = evaluate(context, low)
    stop = UpperBound(context.index(evaluate(context, rhs), rhs.span))
    arguments = [start, stop, *(evaluate(context, item) for item in rest)]
    keywords = {keyword.name or "": evaluate(context, keyword.value) for keyword in node.keywords}
    return call_word(context, function, node.span, arguments, keywords)


_COUNTING = ("range", "serial", "parallel", "vectorized", "unroll", "unrolled", "thread_binding")


def _loop_names(target: syntax.Expr, count: int) -> list[str]:
    """The names of `count` loops. A single name, or a starred name, covers all remaining loops, numbered from 0."""
    targets = target.items if isinstance(target, syntax.Tuple | syntax.List) else (syntax.Starred(target.span, target),)
    spare = count - sum(not isinstance(item, syntax.Starred) for item in targets)
    names: list[str] = []
    for item in targets:
        name = item.value if isinstance(item, syntax.Starred) else item
        if not isinstance(name, syntax.Name):
            raise item.span.error("expected the name of a loop variable")
        if name is item or (name is target and count == 1):
            names.append(name.id)
        else:
            names.extend(f"{name.id}_{i}" for i in range(spare))
    if len(names) != count:
        raise target.span.error(f"expected {count} loop variables, got {len(names)}")
    if len(set(names)) != len(names):
        raise target.span.error("two loop variables have the same name")
    return names


def _open_loop(context: ElaborationContext, loop: Loop, name: str, span: Span) -> Value:
    """Emits a loop and moves the insertion point into it; returns the loop variable, or its value if the loop counts
    down.
    """
    dtype = loop_dtype(loop, span)
    low, extent, step = (cast_bound(context, bound, dtype, span) for bound in (loop.low, loop.extent, loop.step))
    notes = None if loop.annotations is None else context.attributes(loop.annotations, span)
    op = ForOp(name, low, extent, mlir_type(dtype), kind=loop.kind, step=step, thread=loop.thread, annotations=notes)
    context.locate(span).insert(op)
    context.enter(op.body.block, span)
    if loop.descent is None:
        return op.variable
    first, distance = loop.descent
    past = op.variable if distance == 1 else binary(context, "*", op.variable, distance, span)
    return quote(context, binary(context, "-", first, past, span))


def loop_dtype(loop: Loop, span: Span) -> DType:
    """The data type of a loop variable, from its bounds; Python integers are int32 if they fit."""
    result: DType | None = None
    for bound in (loop.low, loop.extent, loop.step):
        if isinstance(bound, SSAValue):
            dtype = dtype_of(bound.type)
            result = dtype if result is None else promote(result, dtype)
    if result is not None:
        return result
    last = int(loop.low) + int(loop.extent)  # pyright: ignore[reportArgumentType]
    if int_fits(last, _INT32) and int_fits(int(loop.low), _INT32):  # pyright: ignore[reportArgumentType]
        return _INT32
    if not int_fits(last, DType("int", 64)):
        raise span.error(f"{last} does not fit int64")
    return DType("int", 64)


def cast_bound(context: ElaborationContext, operand: Operand, dtype: DType, span: Span) -> Mixed:
    """A bound of a loop in the data type of its variable; a constant is a Python integer."""
    number = context.int_or_value(operand, span)
    return number if isinstance(number, int) else context.locate(span).cast(number, dtype)


@runs(syntax.While)
def _while(context: ElaborationContext, node: syntax.While) -> None:
    jumps = _jumps_of_loop(context, node.body)
    if jumps is None:
        open_while(context, node.test, node.span, lambda: run_statements(context, node.body))
        return
    open_while(context, node.test, node.span, lambda: jumps.run(guarded=False), jumps.condition)


def open_while(
    context: ElaborationContext,
    test: syntax.Expr,
    span: Span,
    body: Callable[[], None],
    extend: Callable[[Callable[[], SSAValue], Span], SSAValue] = lambda test, _: test(),
) -> None:
    """Emits a `while` loop. extend: the condition of the loop, from the function that evaluates its test."""
    condition, inner = Block(), Block()
    with context.emit_into(condition):
        value = extend(lambda: context.truth(evaluate(context, test), test.span), span)
        context.locate(span).insert(YieldOp(value))
    op = WhileOp(Region(condition), Region(inner))
    context.locate(span).insert(op)
    with context.emit_into(inner):
        body()


def _jumps_of_loop(context: ElaborationContext, body: syntax.Body) -> LoopWithJumps | None:
    """The elaboration of the body of a loop about to be opened, if the body contains jumps."""
    # lazy: frames may lie in loops, and loops in frames
    from .statements import enter_with

    return LoopWithJumps(context, body, enter_with) if any(jumps_of(body)) else None
