"""Handlers for statements with regions, and for terminators."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, Region, SSAValue

from ...analysis.reducers import jointly_updated_buffers
from ...core.walking import find_ops
from ...dialects.tir import (
    AssertOp,
    AttrOp,
    Axis,
    BlockOp,
    CommReducerOp,
    EvaluateOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    InitOp,
    LaunchThreadOp,
    Mixed,
    PrintOp,
    ReturnOp,
    StoreOp,
    WhileOp,
    YieldOp,
)
from .accesses import add_text
from .aliases import is_concurrent
from .context import unsupported
from .expressions import NOT, OR, TERNARY, PythonExpr, call_text
from .writer import name_in_comment

if TYPE_CHECKING:
    from .functions import FunctionCompiler

_LONGEST_GRID = 4096  # itertools.product keeps every range in memory


# Loops


def _for(f: FunctionCompiler, op: ForOp) -> None:
    thread = op.thread.data if op.thread is not None else None
    if thread is not None and _is_same_thread(f, op, thread, op.variable, *op.mixed_bounds[:2]):
        return
    grid = _grid(op, ends_in_front=is_concurrent if f.context.check else _is_thread_bound)
    if len(grid) > 1:
        _write_grid(f, grid)
        return
    low, extent, step = op.mixed_bounds
    _check_step(f, step)
    with _loop(f, op, op.loop_var.data, op.variable, _range(f, low, extent, step), thread):
        _assume_range(f, op)
        f.emit_block(op.body.block)


def _launch_thread(f: FunctionCompiler, op: LaunchThreadOp) -> None:
    thread = op.thread.data
    if _is_same_thread(f, op, thread, op.variable, 0, op.mixed_extent):
        return
    with _loop(f, op, op.var_name.data, op.variable, _range(f, 0, op.mixed_extent, 1), thread):
        _assume(f, op.variable, 0, op.mixed_extent)
        f.emit_block(op.body.block)


@contextmanager
def _loop(
    f: FunctionCompiler, op: Operation, name: str, variable: SSAValue, values: str, thread: str | None
) -> Generator[None]:
    """Emits a loop; each iteration of a concurrent loop is a strand of its own."""
    w, outer, team, joint = f.writer, f.accesses.strand, f.accesses.team, f.accesses.joint
    tracked = f.context.check and is_concurrent(op)
    run = w.fresh_name("run_of_loop") if tracked else ""
    if tracked:
        w.line(f"{run} = run.races.run()")
    python = w.fresh_name(name)
    w.set(variable, PythonExpr(python))
    with w.loop(f"for {python} in {values}:"):
        if tracked:
            strand = w.fresh_name("strand")
            w.line(f"{strand} = run.races.strand({outer or 0}, {run}, {f.loops[op]}, {python})")
            f.accesses.strand = strand
            is_of_block = thread is not None and thread.startswith("threadIdx")
            f.accesses.team = (team or outer or "0") if is_of_block else None
            if is_of_block:
                f.accesses.threads.append(f.loops[op])
            else:
                f.accesses.joint = _joint_memories(f, op, outer or "0")
        if thread is not None:
            f.threads[thread] = PythonExpr(python)
        yield
        if thread is not None:
            del f.threads[thread]
    if tracked and thread is not None and thread.startswith("threadIdx"):
        f.accesses.threads.pop()
    f.accesses.strand, f.accesses.team, f.accesses.joint = outer, team, joint


def _joint_memories(f: FunctionCompiler, op: Operation, outer: str) -> dict[str, str]:
    """The memories that the iterations of a vectorized loop reduce to jointly, each with the strand that contains the
    loop. outer: the strand around the loop."""
    if not isinstance(op, ForOp) or op.kind.data != "vectorized":
        return {}
    memories = [f.buffers[buffer].memory for buffer in jointly_updated_buffers(op) if buffer in f.buffers]
    return {memory: f.accesses.joint.get(memory, outer) for memory in memories}


def _is_same_thread(
    f: FunctionCompiler, op: ForOp | LaunchThreadOp, thread: str, variable: SSAValue, low: Mixed, extent: Mixed
) -> bool:
    """Emits a loop nested in another loop over the same thread as a condition on that thread; False for other loops."""
    outer = f.threads.get(thread)
    if outer is None:
        return False
    f.writer.set(variable, outer)
    _assume(f, variable, low, extent)
    high = add_text(f.writer.value(low), f.writer.value(extent))
    with f.writer.region(f"if {f.writer.value(low).parenthesized(OR)} <= {outer.text} < {high.parenthesized(OR)}:"):
        f.emit_block(op.body.block)
    return True


def _range(f: FunctionCompiler, low: Mixed, extent: Mixed, step: Mixed) -> str:
    start, length, stride = (f.writer.value(n) for n in (low, extent, step))
    if isinstance(low, int) and isinstance(extent, int):
        stop = PythonExpr(str(low + extent))
    else:
        stop = add_text(start, length)
    if stride.text != "1":
        return f"range({start.text}, {stop.text}, {stride.text})"
    return f"range({stop.text})" if low == 0 else f"range({start.text}, {stop.text})"


def _check_step(f: FunctionCompiler, step: Mixed) -> None:
    if f.context.check and not isinstance(step, int):
        with f.writer.block(f"if {f.writer.value(step).parenthesized(OR)} <= 0:"):
            f.writer.line("fault('the step of a loop is not positive')")


def _assume_range(f: FunctionCompiler, op: ForOp) -> None:
    low, extent, _ = op.mixed_bounds
    _assume(f, op.variable, low, extent)


def _assume(f: FunctionCompiler, variable: SSAValue, low: Mixed, extent: Mixed) -> None:
    first, length = f.ranges.interval_of(low), f.ranges.interval_of(extent)
    below = extent if isinstance(extent, SSAValue) and low == 0 else None
    f.ranges.assume(variable, (first[0], first[1] + max(length[1], 1) - 1), below)


def _is_thread_bound(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.thread is not None


def _grid(op: ForOp, ends_in_front: Callable[[Operation], bool]) -> list[ForOp]:
    """The longest nest of loops with constant bounds that begins with `op`, each the only op in its parent.

    ends_in_front: whether a loop ends the nest before it.
    """
    nest = [op]
    if ends_in_front(op):
        return nest
    while True:
        bounds = nest[-1].mixed_bounds
        if not all(isinstance(n, int) for n in bounds) or bounds[1] > _LONGEST_GRID:  # pyright: ignore[reportOperatorIssue]
            return nest[:-1]
        inner = list(nest[-1].body.block.ops)
        if len(inner) != 1 or not isinstance(inner[0], ForOp) or ends_in_front(inner[0]):
            return nest
        nest.append(inner[0])


def _write_grid(f: FunctionCompiler, nest: list[ForOp]) -> None:
    w = f.writer
    names: list[str] = []
    for op in nest:
        names.append(w.fresh_name(op.loop_var.data))
        w.set(op.variable, PythonExpr(names[-1]))
        _assume_range(f, op)
    ranges = ", ".join(_range(f, *op.mixed_bounds) for op in nest)
    with w.loop(f"for {', '.join(names)} in product({ranges}):"):
        f.emit_block(nest[-1].body.block)


def _while(f: FunctionCompiler, op: WhileOp) -> None:
    w = f.writer
    with w.loop("while True:"):
        f.emit_block(op.condition.block)
        with w.block(f"if not {_yield_value(f, op.condition).parenthesized(NOT)}:"):
            w.line("break")
        w.line("run.another_round()")
        f.emit_block(op.body.block)


# Blocks


def _block(f: FunctionCompiler, op: BlockOp) -> None:
    w = f.writer
    bindings: list[str] = []
    for axis, variable in zip(op.axes, op.variables, strict=True):
        value = w.value(axis.binding)
        f.ranges.assume_equal(variable, axis.binding)
        if value.is_simple:
            w.set(variable, value)
            bindings.append(f"{name_in_comment(axis.name)} = {value.text}")
        else:
            w.bind(variable, value, axis.name)
    w.line(f"# block {name_in_comment(op.block_name.data)}{': ' if bindings else ''}{', '.join(bindings)}")
    if op.predicate is None:
        _instance(f, op)
        return
    with w.region(f"if {w.value(op.predicate).text}:"):
        _instance(f, op)


def _instance(f: FunctionCompiler, op: BlockOp) -> None:
    for axis, variable in zip(op.axes, op.variables, strict=True):
        _check_domain(f, op, axis, variable)
    with _joint_reduction(f, op):
        f.emit_block(op.body.block)


@contextmanager
def _joint_reduction(f: FunctionCompiler, op: BlockOp) -> Generator[None]:
    """A context in which all threads access the memory that the init of a block writes as one strand: a
    joint reduction.
    """
    known, team = f.accesses.joint, f.accesses.team
    if op.init is not None and team is not None:
        stores = [inner for inner in find_ops(op.init, StoreOp) if inner.buffer in f.buffers]
        f.accesses.joint = {**known, **{f.buffers[store.buffer].memory: team for store in stores}}
    yield
    f.accesses.joint = known


def _check_domain(f: FunctionCompiler, op: BlockOp, axis: Axis, variable: SSAValue) -> None:
    """Emits the check of an axis against its domain, unless known ranges prove the bounds."""
    if not f.context.check:
        return
    least, most = f.ranges.interval_of(variable)
    if isinstance(axis.low, int) and isinstance(axis.extent, int):
        if axis.low <= least and most < axis.low + axis.extent:
            return
        end = PythonExpr(str(axis.low + axis.extent))
    else:
        end = add_text(f.writer.value(axis.low), f.writer.value(axis.extent))
        if axis.low == 0 and least >= 0 and f.ranges.upper_bound(variable) is axis.extent:
            return
    low, value = f.writer.value(axis.low), f.writer.value(variable)
    with f.writer.block(f"if not {low.parenthesized(OR)} <= {value.parenthesized(OR)} < {end.parenthesized(OR)}:"):
        what = f"block {op.block_name.data}: axis {axis.name} is outside of its domain"
        f.writer.line(f"fault({what!r})")
    if isinstance(axis.low, int) and isinstance(axis.extent, int):
        inside = max(least, axis.low), min(most, axis.low + axis.extent - 1)
        if inside[0] <= inside[1]:  # else the code is unreachable
            f.ranges.assume(variable, inside)


def _init(f: FunctionCompiler, op: InitOp) -> None:
    block = op.parent_op()
    assert isinstance(block, BlockOp)
    first = [
        f"{f.writer.value(variable).parenthesized(OR)} == {f.writer.value(axis.low).parenthesized(OR)}"
        for axis, variable in zip(block.axes, block.variables, strict=True)
        if axis.kind == "reduce"
    ]
    if not first:
        f.emit_block(op.body.block)
        return
    with f.writer.region(f"if {' and '.join(first)}:"):
        f.emit_block(op.body.block)


# Branches


def _if(f: FunctionCompiler, op: IfOp) -> None:
    with f.writer.region(f"if {f.writer.value(op.condition).text}:"):
        f.emit_block(op.then.block)
    if op.orelse.block.ops:
        with f.writer.region("else:"):
            f.emit_block(op.orelse.block)


def _if_then_else(f: FunctionCompiler, op: IfThenElseOp) -> None:
    w = f.writer
    condition = w.value(op.condition)
    result = w.fresh_name(op.result.name_hint or "t")
    branches: list[tuple[Sequence[Any], PythonExpr]] = []
    for region in op.regions:
        with w.capture() as lines:
            f.emit_block(region.block)
            value = _yield_value(f, region)
        branches.append((lines, value))
    (then_lines, then), (else_lines, orelse) = branches
    if not then_lines and not else_lines:
        parts = (then, condition, orelse)
        text = "{} if {} else {}".format(*(part.parenthesized(TERNARY + 1) for part in parts))
        w.define(op, PythonExpr(text, TERNARY))
        return
    for header, lines, value in ((f"if {condition.text}:", then_lines, then), ("else:", else_lines, orelse)):
        with w.block(header):
            w.paste(list(lines))
            w.line(f"{result} = {value.text}")
    w.set(op.result, PythonExpr(result))


def _yield_value(f: FunctionCompiler, region: Region) -> PythonExpr:
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return f.writer.value(last.value)


def _attr(f: FunctionCompiler, op: AttrOp) -> None:
    f.emit_block(op.body.block)


def _comm_reducer(_f: FunctionCompiler, op: CommReducerOp) -> None:
    raise unsupported(op, "only a block with T.init states a reduction that can be run")


# Statements


def _assert(f: FunctionCompiler, op: AssertOp) -> None:
    with f.writer.block(f"if not {f.writer.value(op.condition).parenthesized(NOT)}:"):
        values = [f.writer.value(value) for value in op.values]
        f.writer.line(call_text("failed", repr(op.kind_name), repr(op.message.data), *values).text)


def _print(f: FunctionCompiler, op: PrintOp) -> None:
    f.writer.line(call_text("print_line", repr(op.message.data), *map(f.writer.value, op.values)).text)


def _return(f: FunctionCompiler, op: ReturnOp) -> None:
    value = "None" if op.value is None else f.writer.value(op.value).text
    f.writer.line(f"return ({value},)" if f.writer.is_nested else f"return {value}")


def _evaluate(f: FunctionCompiler, op: EvaluateOp) -> None:
    """Emits nothing: ops with effects are emitted on their own."""


HANDLERS: dict[type[Operation], Callable[[FunctionCompiler, Any], None]] = {
    ForOp: _for,
    LaunchThreadOp: _launch_thread,
    WhileOp: _while,
    BlockOp: _block,
    InitOp: _init,
    IfOp: _if,
    IfThenElseOp: _if_then_else,
    AttrOp: _attr,
    CommReducerOp: _comm_reducer,
    AssertOp: _assert,
    PrintOp: _print,
    ReturnOp: _return,
    EvaluateOp: _evaluate,
}
