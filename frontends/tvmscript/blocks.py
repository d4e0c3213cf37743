"""Blocks: axes and their bindings, accesses, init."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...analysis.regions.access_regions import infer_accesses
from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, mlir_type, promote
from ...core.errors import PassError
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import (
    AccessOp,
    Axis,
    BlockOp,
    ForOp,
    InitOp,
    LaunchThreadOp,
    Mixed,
    Operand,
)
from ...dialects.tir.tree import is_expression_op
from . import syntax
from .arithmetic import binary
from .buffers import region_of
from .context import ElaborationContext, span_location
from .dispatch import evaluate
from .expressions import evaluate_all, extent_between, items_of
from .quoting import copy_quoted, sweep_templates
from .values import (
    BlockAxis,
    BlockFrame,
    BlockState,
    BufferValue,
    Element,
    InitFrame,
    IntegerRange,
    Quoted,
    Value,
    Word,
    describe_value,
)
from .vocabulary import bind_arguments, form, path_of, word

_INT32 = DType("int", 32)


def _current_block(context: ElaborationContext, what: str, span: Span) -> BlockState:
    if not context.blocks:
        raise span.error(f"{what} belongs into a block (the root of a function has none of its own)")
    return context.blocks[-1]


def _check_first(state: BlockState, what: str, span: Span) -> None:
    if what in state.signature:
        raise span.error(f"{what} is given twice for this block")
    state.signature.add(what)


# ---- block headers


@word("block", "sblock")
def _block(
    context: ElaborationContext, span: Span, *args: Value, name: Value = None, no_realize: Value = False
) -> Value:
    """`T.block("name")`; in v0.8 the extents of the axes may precede the name."""
    rest = list(args)
    axes = None
    if rest and not isinstance(rest[0], str):
        axes = tuple(_old_axis(context, item, span) for item in items_of(context, rest.pop(0), span))
    if rest:
        name = rest.pop(0)
    if rest:
        raise span.error("T.block takes a name")
    text = "" if name is None else context.string(name, span, "the name of a block")
    if text:
        text += context.block_suffix
    if no_realize:
        raise span.error("T.block(no_realize=True) is not supported")
    return BlockFrame(span, text, axes)


def _old_axis(context: ElaborationContext, value: Value, span: Span) -> BlockAxis:
    if isinstance(value, BlockAxis):
        return value
    low, extent = _domain(context, value, span)
    return BlockAxis("spatial", low, extent)


def _old_axis_reader(kind: str) -> Callable[..., Value]:
    def read(context: ElaborationContext, span: Span, begin: Value, end: Value = None) -> Value:
        low, extent = _domain(context, begin if end is None else (begin, end), span)
        return BlockAxis(kind, low, extent)

    return read


for _kind in ("reduce", "scan", "opaque"):
    word(f"{_kind}_axis")(_old_axis_reader(_kind))


def run_block(
    context: ElaborationContext, frame: BlockFrame, target: syntax.Expr | None, body: Callable[[], None]
) -> None:
    """Elaborates `with frame as target: body`."""
    state = BlockState(frame, Block(), context.scope, context.builder.point)
    context.blocks.append(state)
    try:
        with context.emit_into(state.body):
            _open_old_axes(context, state, target)
            body()
    finally:
        context.blocks.pop()
    sweep_templates(context, state.body)
    _finish(context, state)


def _open_old_axes(context: ElaborationContext, state: BlockState, target: syntax.Expr | None) -> None:
    axes, span = state.frame.axes, state.frame.span
    if axes is None:
        if target is not None:
            raise target.span.error("T.block has nothing to bind, its axes come from T.axis")
        return
    match target:
        case None if not axes:
            return
        case syntax.Tuple(items=items) | syntax.List(items=items):
            names = items
        case syntax.Name():
            names = (target,)
        case _:
            raise span.error(f"expected {len(axes)} names for the axes of this block")
    if len(names) != len(axes):
        raise span.error(f"expected {len(axes)} names for the axes of this block, got {len(names)}")
    for name, axis in zip(names, axes, strict=True):
        if not isinstance(name, syntax.Name):
            raise name.span.error("expected the name of an axis")
        with context.emit_before(state):
            dtype = _common_dtype([axis.low, axis.extent])
            low, extent = _cast(context, axis.low, dtype, span), _cast(context, axis.extent, dtype, span)
        variable = _add_axis(context, state, axis.kind, low, extent, None, dtype)
        state.pending.append(variable)
        _bind_axis(context, name.id, variable, name.span)


def _bind_axis(context: ElaborationContext, name: str, variable: SSAValue, span: Span) -> None:
    try:
        context.name_value(variable, name)
    except ValueError as error:
        raise span.error(str(error)) from None
    context.scope.names[name] = variable


def _finish(context: ElaborationContext, state: BlockState) -> None:
    _bind_pending(context, state)
    for i in range(len(state.axes)):
        if not state.axes[i].name:
            state.axes[i] = replace(state.axes[i], name=f"v{i}")
    op = BlockOp(
        state.frame.name,
        state.axes,
        predicate=state.predicate,
        annotations=state.annotations,
        body=Region(state.body),
    )
    context.locate(state.frame.span).insert(op)
    _complete(op, state)


def _complete(op: BlockOp, state: BlockState) -> None:
    missing = [kind for kind in ("reads", "writes") if f"T.{kind}" not in state.signature]
    if not missing:
        return
    try:
        infer_accesses(op, missing)
    except PassError as error:
        raise state.frame.span.error(f"{error}; write T.reads and T.writes") from None


# ---- axes


def _add_axis(
    context: ElaborationContext,
    state: BlockState,
    kind: str,
    low: Mixed,
    extent: Mixed,
    binding: SSAValue | None,
    dtype: DType,
) -> SSAValue:
    position = len(state.axes)
    variable = state.body.insert_arg(mlir_type(dtype), position)
    state.axes.append(Axis("", kind, low, extent, variable if binding is None else binding))

    def rename(name: str) -> None:
        if any(axis.name == name for axis in state.axes):
            raise ValueError(f"this block already has an axis {name!r}")
        state.axes[position] = replace(state.axes[position], name=name)
        set_name_hint(variable, name)

    context.namers[variable] = rename
    return variable


_AXIS_WORDS = {
    "spatial": "spatial", "S": "spatial", "reduce": "reduce", "R": "reduce", "scan": "scan", "opaque": "opaque",
}  # fmt: skip


def _axis_parameters(context: Any, span: Any, dom: Any, binding: Any, dtype: Any = None) -> None:
    """The signature of `T.axis.spatial`."""


@form(*(f"axis.{name}" for name in _AXIS_WORDS))
def _axis(context: ElaborationContext, node: syntax.Call) -> Value:
    path = _path(context, node)
    state = _current_block(context, f"T.{path}", node.span)
    bound = bind_arguments(_axis_parameters, f"T.{path}", node.span, node.args, _keyword_nodes(node)).arguments
    with context.emit_before(state):
        value = context.index(evaluate(context, bound["binding"]), bound["binding"].span)
        low, extent = _written_domain(context, bound["dom"])
        dtype = context.dtype(evaluate(context, bound["dtype"]), node.span) if bound.get("dtype") else _INT32
        type = dtype_of(value.type) if isinstance(value, SSAValue) else _common_dtype([low, extent, dtype])
        binding = context.expr(value, node.span, type)
        bounds = _cast(context, low, type, node.span), _cast(context, extent, type, node.span)
    return _add_axis(context, state, _AXIS_WORDS[path.removeprefix("axis.")], *bounds, binding, type)


def _written_domain(context: ElaborationContext, node: syntax.Expr) -> tuple[Operand, Operand]:
    """The domain (minimum, extent) of an axis; `(x, x + 4)` has extent 4 for any x."""
    if isinstance(node, syntax.Tuple) and len(node.items) == 2:
        begin, end = node.items
        low = context.index(evaluate(context, begin), begin.span)
        return low, extent_between(context, low, begin, end)
    return _domain(context, evaluate(context, node), node.span)


def _domain(context: ElaborationContext, value: Value, span: Span) -> tuple[Operand, Operand]:
    match value:
        case IntegerRange():
            return value.low, value.extent
        case (begin, end):
            low, high = context.index(begin, span), context.index(end, span)
            return low, high if low == 0 else context.index(binary(context, "-", high, low, span), span)
        case tuple() | list():
            raise span.error("expected the extent of the axis, or (begin, end)")
        case _:
            return 0, context.index(value, span)


def _common_dtype(operands: Sequence[Operand | DType]) -> DType:
    """The common integer data type of several operands; Python integers have none of their own."""
    result: DType | None = None
    for operand in operands:
        if isinstance(operand, SSAValue):
            dtype = dtype_of(operand.type)
            result = dtype if result is None else promote(result, dtype)
    if result is not None:
        return result
    return next((x for x in operands if isinstance(x, DType)), _INT32)


def _cast(context: ElaborationContext, operand: Operand, dtype: DType, span: Span) -> Mixed:
    number = context.int_or_value(operand, span)
    return number if isinstance(number, int) else context.locate(span).cast(number, dtype)


def _path(context: ElaborationContext, node: syntax.Call) -> str:
    return path_of(cast(Word, evaluate(context, node.func)))


def _keyword_nodes(node: syntax.Call) -> dict[str, syntax.Expr]:
    if any(keyword.name is None for keyword in node.keywords):
        raise node.span.error("** is not supported here")
    return {keyword.name or "": keyword.value for keyword in node.keywords}


def _remap_parameters(context: Any, span: Any, kinds: Any, bindings: Any, dtype: Any = None) -> None:
    """The signature of `T.axis.remap`."""


@form("axis.remap")
def _remap(context: ElaborationContext, node: syntax.Call) -> Value:
    """`T.axis.remap("SR", [i, k])`: an axis for each loop, over the loop's range."""
    state = _current_block(context, "T.axis.remap", node.span)
    bound = bind_arguments(_remap_parameters, "T.axis.remap", node.span, node.args, _keyword_nodes(node)).arguments
    kinds = context.string(evaluate(context, bound["kinds"]), bound["kinds"].span, "the kinds of the axes")
    with context.emit_before(state):
        loops = items_of(context, evaluate(context, bound["bindings"]), bound["bindings"].span)
        if len(kinds) != len(loops):
            raise node.span.error(f"T.axis.remap: {len(kinds)} kinds for {len(loops)} loops")
        bounds = [_loop_range(context, loop, node.span) for loop in loops]
    _check_distinct(loops, node.span)
    names = {"S": "spatial", "R": "reduce"}
    if unknown := set(kinds) - set(names):
        raise node.span.error(f"T.axis.remap: kind {sorted(unknown)[0]!r}, expected 'S' or 'R'")
    axes = [
        _add_axis(context, state, names[kind], *bound, loop, dtype_of(loop.type))
        for kind, loop, bound in zip(kinds, loops, bounds, strict=True)
    ]
    return axes[0] if len(axes) == 1 else axes


def _check_distinct(loops: Sequence[SSAValue], span: Span) -> None:
    if len(set(loops)) != len(loops):
        raise span.error("T.axis.remap: a loop is bound twice")


def _loop_range(context: ElaborationContext, value: Value, span: Span) -> tuple[Mixed, Mixed]:
    owner = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    if isinstance(owner, ForOp):
        low, extent, step = owner.mixed_bounds
        if step != 1:
            raise span.error("T.axis.remap needs loops of step 1")
        return _copy(context, low, span), _copy(context, extent, span)
    if isinstance(owner, LaunchThreadOp):
        return 0, _copy(context, owner.mixed_extent, span)
    raise span.error(f"T.axis.remap takes loop variables, got {describe_value(value)}")


def _copy(context: ElaborationContext, value: Mixed, span: Span) -> Mixed:
    """A copy of an expression, so that each statement owns its operands."""
    if isinstance(value, int) or not isinstance(value.owner, Operation) or not is_expression_op(value.owner):
        return value
    return copy_quoted(context, Quoted(value), span)


@word("bind")
def _bind(context: ElaborationContext, span: Span, variable: Value, value: Value = None) -> Value:
    """v0.8: the binding of a block axis. v0.24: `x = T.bind(e)` is a let."""
    if value is None:
        return context.expr(variable, span)
    state = _current_block(context, "T.bind", span)
    if not isinstance(variable, SSAValue) or variable not in state.pending:
        raise span.error("T.bind takes an axis of this block that has no binding yet")
    position = next(i for i, arg in enumerate(state.body.args) if arg is variable)
    binding = context.number(value, span, dtype_of(variable.type))
    _hoist_binding(context, state, binding, span)
    if binding.type != variable.type:
        with context.emit_before(state):
            binding = context.locate(span).cast(binding, dtype_of(variable.type))
    state.axes[position] = replace(state.axes[position], binding=binding)
    state.pending.remove(variable)
    return None


def _hoist_binding(context: ElaborationContext, state: BlockState, value: SSAValue, span: Span) -> None:
    """Moves an expression emitted in the block's body before the block."""
    op = value.owner
    if isinstance(op, Block):
        if op is state.body:
            raise span.error("a binding cannot use the block's own axes")
        return
    if op.parent is not state.body:
        return
    for operand in op.operands:
        _hoist_binding(context, state, operand, span)
    op.detach()
    with context.emit_before(state):
        location = op.location
        context.builder.insert(op)
        op.location = location


def _bind_pending(context: ElaborationContext, state: BlockState) -> None:
    """v0.8: binds axes without bindings to the enclosing loops, one to one; without enclosing loops, to new loops."""
    if not state.pending:
        return
    span = state.frame.span
    if len(state.pending) != len(state.axes):
        missing = next(a.name for a, v in zip(state.axes, state.body.args, strict=True) if v in state.pending)
        raise span.error(f"axis {missing!r} of this block has no binding")
    loops = _loops_around(context)
    if not loops:
        loops = _loops_for(context, state)
    if len(loops) != len(state.axes):
        raise span.error(f"{len(state.axes)} axes of this block for {len(loops)} loops around it")
    for i, loop in enumerate(loops):
        with context.emit_before(state):
            dtype = dtype_of(state.body.args[i].type)
            binding = context.locate(span).cast(loop.variable, dtype)
        state.axes[i] = replace(state.axes[i], binding=binding)


def _loops_around(context: ElaborationContext) -> list[ForOp]:
    owner = context.blocks[-1].body if context.blocks else context.block
    loops: list[ForOp] = []
    block: Block | None = context.builder.point.block
    while block is not None and block is not owner:
        op = block.parent_op()
        if isinstance(op, ForOp):
            loops.insert(0, op)
        block = op.parent if op is not None else None
    return loops


def _loops_for(context: ElaborationContext, state: BlockState) -> list[ForOp]:
    loops: list[ForOp] = []
    for i, (axis, variable) in enumerate(zip(state.axes, state.body.args, strict=True)):
        op = ForOp(f"i{i}", axis.low, axis.extent, variable.type)
        loops.append(context.locate(state.frame.span).insert(op))
        context.enter(op.body.block, state.frame.span)
    state.point = context.builder.point
    return loops


# ---- predicate, accesses, annotations, init


@form("where")
def _where(context: ElaborationContext, node: syntax.Call) -> Value:
    state = _current_block(context, "T.where", node.span)
    _check_first(state, "T.where", node.span)
    if len(node.args) != 1 or node.keywords:
        raise node.span.error("T.where takes one condition")
    with context.emit_before(state):
        state.predicate = context.condition(evaluate(context, node.args[0]), node.args[0].span)
    return None


@form("reads", "writes")
def _accesses(context: ElaborationContext, node: syntax.Call) -> Value:
    """`T.reads(A[i], B[0:4])`, `T.reads([A[i], B[0:4]])`."""
    kind = _path(context, node)
    state = _current_block(context, f"T.{kind}", node.span)
    _check_first(state, f"T.{kind}", node.span)
    if node.keywords:
        raise node.span.error(f"T.{kind} takes regions of buffers")
    if context.builder.point.block is not state.body:
        raise node.span.error(f"T.{kind} belongs directly into a block")
    for part in node.args:
        for value in evaluate_all(context, (part,)):
            for item in value if isinstance(value, list | tuple) else [value]:
                _access(context, kind, item, part.span)
    return None


def _access(context: ElaborationContext, kind: str, value: Value, span: Span) -> None:
    if not isinstance(value, Element | BufferValue):
        raise span.error(f"expected a region of a buffer, got {describe_value(value)}")
    buffer = value if isinstance(value, BufferValue) else value.buffer
    region = region_of(context, value)
    context.locate(span).insert(AccessOp(kind, buffer.value, region))


_LAYOUT_FREE = "layout_free_placeholders"
"""An annotation without a meaning here: the buffers of which TVM may change the layout."""


@word("block_attr", "sblock_attr")
def _block_attr(context: ElaborationContext, span: Span, attrs: Value) -> None:
    state = _current_block(context, "T.block_attr", span)
    if isinstance(attrs, dict):
        attrs = {key: value for key, value in cast("dict[Value, Value]", attrs).items() if key != _LAYOUT_FREE}
    entries: dict[str, Attribute] = dict(context.attributes(attrs, span).data)
    if repeated := state.annotations.keys() & entries.keys():
        raise span.error(f"T.block_attr: {min(repeated)!r} is given twice for this block")
    state.annotations.update(entries)


@word("init")
def _init(context: ElaborationContext, span: Span) -> Value:
    return InitFrame(span)


def run_init(context: ElaborationContext, frame: InitFrame, body: Callable[[], None]) -> None:
    """Elaborates `with T.init(): body`."""
    state = _current_block(context, "T.init", frame.span)
    _check_first(state, "T.init", frame.span)
    if context.builder.point.block is not state.body:
        raise frame.span.error("T.init belongs directly into a block")
    op = InitOp()
    op.location = span_location(frame.span)
    context.builder.insert(op)
    with context.emit_into(op.body.block):
        body()
