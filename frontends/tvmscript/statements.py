"""Statements: branches, assignments, and the frames of `with`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import cast

from xdsl.ir import Attribute, Block, SSAValue

from ...core.diagnostics import Span
from ...core.dtypes import DType, dtype_of, mlir_type
from ...dialects.tir import (
    AttrOp,
    EvaluateOp,
    HandleType,
    IfOp,
    LaunchThreadOp,
    ReturnOp,
    SymbolOp,
    constant_value,
)
from ...dialects.tir.annotations import annotation_key
from ...expressions.expr import Var
from . import blocks, buffers, pytime, syntax
from .arithmetic import binary
from .assertions import write_assert
from .context import ElaborationContext, spell_type
from .dispatch import evaluate, run_statements, runs
from .expressions import bind_pattern, split_items
from .loops import cast_bound, loop_dtype, open_while
from .macros import read_macro
from .quoting import quote
from .values import (
    AttrFrame,
    BlockFrame,
    BranchFrame,
    BufferSpec,
    BufferValue,
    Element,
    Frame,
    InitFrame,
    LaunchFrame,
    LetFrame,
    Loop,
    Loops,
    MacroResult,
    Meta,
    PendingCall,
    TypeAnnotation,
    Value,
    ValueFrame,
    Variable,
    Word,
    describe_value,
)
from .vocabulary import form, path_of, word

_INT32 = DType("int", 32)


# ---- branches


@runs(syntax.If)
def _if(context: ElaborationContext, node: syntax.If) -> None:
    """A condition known at parse time selects statements, emitted in place and in the enclosing name scope; any other
    condition becomes a branch of the program.
    """
    test = evaluate(context, node.test)
    if context.is_python(test, node.test.span):
        run_statements(context, node.body if test else node.orelse)
        return
    op = IfOp(context.truth(test, node.test.span))
    context.locate(node.span).insert(op)
    for region, statements in ((op.then, node.body), (op.orelse, node.orelse)):
        with context.emit_branch(region.block, node.span):
            run_statements(context, statements)


@runs(syntax.Return)
def _return(context: ElaborationContext, node: syntax.Return) -> None:
    value = None if node.value is None else evaluate(context, node.value)
    write_return(context, node.span, value)


def write_return(context: ElaborationContext, span: Span, value: Value) -> None:
    """Emits `return value` or `T.ret(value)`."""
    if value is None:
        if context.result_type is not None:
            raise span.error(f"expected a result of type {spell_type(context.result_type)}")
        context.locate(span).insert(ReturnOp())
        context.returns_nothing = True
        return
    expected = context.result_type
    number = expected is not None and not isinstance(expected, HandleType)
    result = context.expr(value, span, dtype_of(cast(Attribute, expected)) if number else None)
    if expected is None and context.returns_nothing:
        raise span.error("this function returns nothing elsewhere")
    if expected is not None and result.type != expected:
        raise span.error(f"the result is {spell_type(result.type)}, expected {spell_type(expected)}")
    context.result_type = result.type
    context.locate(span).insert(ReturnOp(result))


# ---- assignment


@runs(syntax.Assign)
def _assign(context: ElaborationContext, node: syntax.Assign) -> None:
    value = evaluate(context, node.value)
    for target in node.targets:
        assign(context, target, value, node.value.span)


def assign(context: ElaborationContext, target: syntax.Expr, value: Value, span: Span) -> None:
    """Emits `target = value`."""
    if isinstance(value, Meta):
        bind_pattern(context, target, value.value)
        return
    match target:
        case syntax.Name():
            bind_name(context, target.id, value, span, target.span)
        case syntax.Tuple() | syntax.List():
            if not isinstance(value, list | tuple):
                raise target.span.error(f"expected one name to bind, got {len(target.items)}")
            for part, item in split_items(context, target, value):
                assign(context, part, item, span)
        case syntax.Subscript():
            element = evaluate(context, target)
            if not isinstance(element, Element):
                raise target.span.error("only elements of buffers can be assigned to")
            context.store(element, value, span)
        case _:
            raise target.span.error("expected a name or an element of a buffer")


def bind_name(context: ElaborationContext, name: str, value: Value, span: Span, target: Span) -> None:
    """Emits `name = value`: an unnamed value takes the name, an expression becomes a let."""
    match value:
        case Frame():
            context.scope.names[name] = _open_named(context, value, name, span)
            return
        case BufferSpec():
            value = buffers.declare_buffer(context, span, value, name)
        case Var():  # `te.var("n")` in a function, as in `T.var("int32")`
            value = Variable(mlir_type(value.data_type), span)
        case Loops():
            raise span.error("loops have their place in a for statement")
        case MacroResult():
            raise span.error(f"expected a value, got {describe_value(value)}")
        case list() | tuple():
            value = _name_items(context, name, cast("list[Value] | tuple[Value, ...]", value), span)
        case _:
            pass
    match value:
        case BufferValue():
            _name(context, value.value, name, target)
        case Variable():
            value = _declare_variable(context, name, value)
        case SSAValue() if value in context.namers:
            _name(context, value, name, target)
        case _ if pytime.is_symbolic(value) or isinstance(value, bool | int | float):
            value = _let(context, name, value, span)
        case _:
            pass
    context.scope.names[name] = value


def _name_items(context: ElaborationContext, name: str, items: list[Value] | tuple[Value, ...], span: Span) -> Value:
    """Several values bound to one name: unnamed items take the name with an index appended."""
    named: list[Value] = []
    for i, item in enumerate(items):
        if isinstance(item, BufferSpec):
            item = buffers.declare_buffer(context, span, item, f"{name}_{i}")
        value = item.value if isinstance(item, BufferValue) else item
        if isinstance(value, SSAValue) and value in context.namers:
            _name(context, value, f"{name}_{i}", span)
        named.append(quote(context, item))
    return type(items)(named)


def _open_named(context: ElaborationContext, frame: Frame, name: str, span: Span) -> Value:
    """Opens a frame; returns the declared value, named `name`."""
    value = _open(context, frame, name)
    if value is None:
        raise span.error("there is nothing to bind here")
    if isinstance(value, BufferValue):
        _name(context, value.value, name, span)
    return value


def _name(context: ElaborationContext, value: SSAValue, name: str, span: Span) -> None:
    try:
        context.name_value(value, name)
    except ValueError as error:
        raise span.error(str(error)) from None


def _declare_variable(context: ElaborationContext, name: str, variable: Variable) -> Variable:
    """Names a variable; returns the variable already declared under the name if the signature uses it."""
    known = context.root_scope.names.get(name)
    if isinstance(known, Variable) and known.thread is None and known.type == variable.type and not variable.name:
        if known.name == name and variable.thread is None and variable.value is None:
            return known
    variable.name = variable.name or name
    return variable


def _let(context: ElaborationContext, name: str, value: Value, span: Span) -> SSAValue:
    source = context.expr(value, span)
    result = context.locate(span).let(name, source)
    if source in context.memories:
        context.memories[result] = context.memories[source]
    return result


@runs(syntax.AnnAssign)
def _ann_assign(context: ElaborationContext, node: syntax.AnnAssign) -> None:
    if not isinstance(node.target, syntax.Name):
        raise node.target.span.error("only a name can have an annotation")
    type = _annotation(context, node.annotation)
    name = node.target.id
    if node.value is None:
        if type is None:
            raise node.span.error("expected a type and a value")
        bind_name(context, name, Variable(type, node.span), node.span, node.target.span)
        return
    value = evaluate(context, node.value)
    if isinstance(value, ValueFrame):
        bind_name(context, name, value, node.value.span, node.target.span)
        return
    dtype = None if type is None or isinstance(type, HandleType) else dtype_of(type)
    source = context.expr(_as_float(value, dtype, node.value.span), node.value.span, dtype)
    if type is not None:
        source = _as_type(context, source, type, node.value.span)
    context.scope.names[name] = _let(context, name, source, node.span)


def _as_float(value: Value, dtype: DType | None, span: Span) -> Value:
    if not isinstance(value, int) or dtype is None or not dtype.is_float:
        return value
    try:
        return float(value)
    except OverflowError:
        raise span.error(f"this integer does not fit {dtype}") from None


def _as_type(context: ElaborationContext, value: SSAValue, type: Attribute, span: Span) -> SSAValue:
    """The value of a variable of type `type`: an untyped `T.handle` takes any pointer, and a pointer to another type
    in the same memory scope is reinterpreted.
    """
    have = value.type
    if have == type or (isinstance(have, HandleType) and type == HandleType()):
        return value
    if isinstance(have, HandleType) and isinstance(type, HandleType) and have.scope == type.scope:
        return context.locate(span).reinterpret(value, type)
    raise span.error(f"the value is {spell_type(have)}, expected {spell_type(type)}")


def _annotation(context: ElaborationContext, node: syntax.Expr) -> Attribute | None:
    """The type of a let: `T.int32`, `T.let[T.int32]`, `T.handle("float32")`; None for `T.let`."""
    value = evaluate(context, node)
    match value:
        case Variable():
            return value.type
        case Word() if path_of(value) == "let":
            return None
        case Word() | TypeAnnotation() | str():
            return context.type(value, node.span)
        case _:
            raise node.span.error(f"expected a data type, got {describe_value(value)}")


@runs(syntax.AugAssign)
def _aug_assign(context: ElaborationContext, node: syntax.AugAssign) -> None:
    target = evaluate(context, node.target)
    current = context.load(target) if isinstance(target, Element) else target
    value = binary(context, node.op, current, evaluate(context, node.value), node.span)
    if isinstance(target, Element):
        context.store(target, value, node.span)
    else:
        assign(context, node.target, value, node.span)


# ---- frames


@runs(syntax.With)
def _with(context: ElaborationContext, node: syntax.With) -> None:
    enter_with(context, node, lambda: run_statements(context, node.body))


def enter_with(context: ElaborationContext, node: syntax.With, body: Callable[[], None]) -> None:
    """Emits a body inside the frames of a `with`."""
    _enter_items(context, node.items, body)


def _enter_items(context: ElaborationContext, items: Sequence[syntax.WithItem], body: Callable[[], None]) -> None:
    if not items:
        body()
        return
    first, rest = items[0], items[1:]
    value = evaluate(context, first.context)
    _enter(context, value, first, lambda: _enter_items(context, rest, body))


def _enter(context: ElaborationContext, value: Value, item: syntax.WithItem, body: Callable[[], None]) -> None:
    match value:
        case BlockFrame():
            blocks.run_block(context, value, item.target, body)
        case InitFrame():
            _reject_target(item)
            blocks.run_init(context, value, body)
        case BranchFrame():
            _reject_target(item)
            _BRANCHES[value.part](context, value, body)
        case Frame():
            with context.emit_into(), _value_of_variable(value):
                _open_as(context, value, item)
                body()
        case _:
            raise item.context.span.error(f"expected a block or another frame, got {describe_value(value)}")


@contextmanager
def _value_of_variable(frame: Frame) -> Generator[None]:
    """Ends the value of a variable of a let or a launch with the frame, so that another frame may give it a value."""
    variable = frame.variable if isinstance(frame, LetFrame | LaunchFrame) else None
    before = None if variable is None else variable.value
    yield
    if variable is not None:
        variable.value = before


def _reject_target(item: syntax.WithItem) -> None:
    if item.target is not None:
        raise item.target.span.error("there is nothing to bind here")


def _open_as(context: ElaborationContext, frame: Frame, item: syntax.WithItem) -> None:
    match item.target:
        case None:
            _open(context, frame, "")
        case syntax.Name(id=name):
            context.scope.names[name] = _open_named(context, frame, name, item.target.span)
        case target:
            raise target.span.error("expected one name to bind")


def _open(context: ElaborationContext, frame: Frame, name: str) -> Value:
    """Opens a frame around the following statements; returns the declared value, or None."""
    match frame:
        case ValueFrame():
            return frame.declare(name or "buffer")
        case AttrFrame():
            return _open_attr(context, frame)
        case LaunchFrame():
            return _open_launch(context, frame, name)
        case LetFrame():
            return _open_let(context, frame, name)
        case BranchFrame(part="assert"):
            write_assert(context, frame.span, *frame.arguments)
            return None
        case _:
            raise frame.span.error(f"{describe_value(frame)} has its place in a with statement")


def _open_attr(context: ElaborationContext, frame: AttrFrame) -> Value:
    for key, value in frame.entries:
        node, operand = (_attr_operand(context, part, frame.span) for part in (frame.node, value))
        op = AttrOp(annotation_key(key), node, operand)
        context.locate(frame.span).insert(op)
        context.enter(op.body.block, frame.span)
    return None


def _attr_operand(context: ElaborationContext, value: Value, span: Span) -> SSAValue | Attribute:
    """The operand of an attribute: an attribute for a constant, else a value."""
    if isinstance(value, BufferValue):
        return buffers.buffer_pointer(context, value, span)
    if pytime.is_symbolic(value):
        operand = context.expr(value, span)
        return operand if constant_value(operand) is None else context.attribute(operand, span)
    return context.attribute(value, span)


def _open_launch(context: ElaborationContext, frame: LaunchFrame, name: str) -> Value:
    variable = frame.variable
    loop = Loop(0, frame.extent)
    dtype = loop_dtype(loop, frame.span)
    extent = cast_bound(context, frame.extent, dtype, frame.span)
    op = LaunchThreadOp(variable.name or name or "tx", variable.thread or "", extent, mlir_type(dtype))
    context.locate(frame.span).insert(op)
    context.enter(op.body.block, frame.span)
    variable.value = op.variable
    return op.variable


def _is_bound(context: ElaborationContext, variable: Variable) -> bool:
    """Whether a variable has a value at the current position, and not only in the scope of an earlier frame."""
    if variable.value is None:
        return False
    owner = variable.value.owner
    scope = owner if isinstance(owner, Block) else owner.parent
    return scope is None or scope.is_ancestor(context.builder.point.block)


def _open_let(context: ElaborationContext, frame: LetFrame, name: str) -> Value:
    variable = frame.variable
    if variable is None:
        return _let(context, name or "v", frame.value, frame.span)
    if variable.value is not None and isinstance(variable.value.owner, SymbolOp):
        raise frame.span.error(f"variable {variable.name!r} is used before it gets this value")
    number = not isinstance(variable.type, HandleType)
    source = context.expr(frame.value, frame.span, dtype_of(variable.type) if number else None)
    source = _as_type(context, source, variable.type, frame.span)
    variable.value = _let(context, variable.name or name or "v", source, frame.span)
    return variable.value


def let_frame(context: ElaborationContext, span: Span, variable: syntax.Expr, value: syntax.Expr) -> Value:
    """The frame of `with T.let(x, value):` of v0.8-0.11."""
    bound = evaluate(context, value)
    if isinstance(variable, syntax.Name):
        scope = context.scope.find(variable.id)
        known = None if scope is None else scope.names[variable.id]
        if isinstance(known, Variable):
            return LetFrame(span, known, bound)
        result = Variable(context.expr(bound, span).type, span, variable.id)
        context.scope.names[variable.id] = result
        return LetFrame(span, result, bound)
    raise variable.span.error("expected the name of a variable")


@word("LetStmt", "Bind")
def _let_stmt(
    context: ElaborationContext, span: Span, value: Value, type_annotation: Value = None, var: Value = None
) -> Value:
    if var is not None and not isinstance(var, Variable):
        raise span.error(f"expected a variable for var=, got {describe_value(var)}")
    if type_annotation is not None and var is None:
        type = type_annotation.type if isinstance(type_annotation, Variable) else context.type(type_annotation, span)
        var = Variable(type, span)
    return LetFrame(span, var, value)


@word("attr")
def _attr(context: ElaborationContext, span: Span, node: Value, attr_key: Value = None, value: Value = None) -> Value:
    """The frame of `T.attr(node, key, value)`, or of `T.attr({key: value})` without a node, for which other versions
    print 0.
    """
    if isinstance(node, dict) and attr_key is None and value is None:
        entries = cast("dict[Value, Value]", node).items()
        return AttrFrame(span, 0, tuple((context.string(key, span, "the key"), entry) for key, entry in entries))
    key = context.string(attr_key, span, "the key")
    if key.startswith("pragma_") and isinstance(node, Variable) and node.value is None and node.thread is None:
        node = 0  # v0.24 prints the variable of the loop inside, still unbound; a pragma applies to its body
    if isinstance(node, Variable) and node.thread is not None and key in ("thread_extent", "virtual_thread"):
        return LaunchFrame(span, node, context.index(value, span))
    return AttrFrame(span, node, ((key, value),))


@word("env_thread")
def _env_thread(context: ElaborationContext, span: Span, thread_tag: Value, dtype: Value = "int32") -> Value:
    tag = context.string(thread_tag, span, "the thread axis")
    return Variable(context.type(dtype, span), span, thread=tag)


@word("launch_thread")
def _launch_thread(context: ElaborationContext, span: Span, thread: Value, extent: Value) -> Value:
    if isinstance(thread, str):
        thread = Variable(mlir_type(_INT32), span, thread=thread)
    if not isinstance(thread, Variable) or thread.thread is None:
        raise span.error(f"expected a thread axis, got {describe_value(thread)}")
    if _is_bound(context, thread):
        raise span.error(f"thread axis {thread.name!r} is already launched")
    return LaunchFrame(span, thread, context.index(extent, span))


@word("iter_var")
def _iter_var(
    context: ElaborationContext, span: Span, var: Value, dom: Value, iter_type: Value, thread_tag: Value
) -> Value:
    """`T.iter_var(tx, T.Range(0, 32), "ThreadIndex", "threadIdx.x")`, the node of a thread_extent."""
    if not isinstance(var, Variable):
        raise span.error(f"expected a variable, got {describe_value(var)}")
    var.thread = context.string(thread_tag, span, "the thread axis")
    return var


# ---- branches as frames


@word("If")
def _if_frame(context: ElaborationContext, span: Span, condition: Value) -> Value:
    return BranchFrame(span, "if", (condition,))


@word("Then")
def _then_frame(context: ElaborationContext, span: Span) -> Value:
    return BranchFrame(span, "then")


@word("Else")
def _else_frame(context: ElaborationContext, span: Span) -> Value:
    return BranchFrame(span, "else")


@form("While")
def _while_frame(context: ElaborationContext, node: syntax.Call) -> Value:
    if len(node.args) != 1 or node.keywords:
        raise node.span.error("T.While takes one condition")
    return BranchFrame(node.span, "while", (node.args[0],))


def _run_if(context: ElaborationContext, frame: BranchFrame, body: Callable[[], None]) -> None:
    op = IfOp(context.truth(frame.arguments[0], frame.span))
    context.locate(frame.span).insert(op)
    context.branches.append(op)
    try:
        with context.emit_into():
            body()
    finally:
        context.branches.pop()


def _run_branch(context: ElaborationContext, frame: BranchFrame, body: Callable[[], None]) -> None:
    if not context.branches:
        raise frame.span.error("T.Then and T.Else have their place in a T.If")
    op = cast(IfOp, context.branches[-1])
    block = (op.then if frame.part == "then" else op.orelse).block
    saved, context.branches = context.branches, []
    try:
        with context.emit_into(block):
            body()
    finally:
        context.branches = saved


def _run_while(context: ElaborationContext, frame: BranchFrame, body: Callable[[], None]) -> None:
    open_while(context, cast(syntax.Expr, frame.arguments[0]), frame.span, body)


def _run_assert(context: ElaborationContext, frame: BranchFrame, body: Callable[[], None]) -> None:
    write_assert(context, frame.span, *frame.arguments)
    with context.emit_into():
        body()


_BRANCHES: dict[str, Callable[[ElaborationContext, BranchFrame, Callable[[], None]], None]] = {
    "if": _run_if,
    "then": _run_branch,
    "else": _run_branch,
    "while": _run_while,
    "assert": _run_assert,
}


# ---- other statements


@runs(syntax.ExprStmt)
def _expression(context: ElaborationContext, node: syntax.ExprStmt) -> None:
    if isinstance(node.value, syntax.Constant) and (isinstance(node.value.value, str) or node.value.value is ...):
        return  # a docstring
    write_value(context, evaluate(context, node.value), node.span)


def write_value(context: ElaborationContext, value: Value, span: Span) -> None:
    """Emits a value as a statement, evaluated for its side effects."""
    match value:
        case None | MacroResult():
            return
        case PendingCall():
            value = value.insert(False)
            if value is None:
                return
        case BlockFrame() | InitFrame():
            raise span.error(f"{describe_value(value)} has its place in a with statement")
        case Frame():
            _open(context, value, "")
            return
        case BufferValue():
            return
        case _ if not pytime.is_symbolic(value) and not isinstance(value, bool | int | float):
            raise span.error(f"{describe_value(value)} is not a statement")
        case _:
            pass
    context.locate(span).insert(EvaluateOp(context.expr(value, span)))


@runs(syntax.FunctionDef)
def _function(context: ElaborationContext, node: syntax.FunctionDef) -> None:
    macro = read_macro(context, node, context.scope)
    if macro is None:
        raise node.name_span.error("a function inside a function must be a @T.macro or a @T.inline")
    context.module.sources[node.span.source] = None
    context.scope.names[node.name] = macro


@runs(syntax.Pass)
def _pass(context: ElaborationContext, node: syntax.Stmt) -> None:
    """Elaborates `pass`, which emits no ops."""


def _refuse(what: str) -> Callable[[ElaborationContext, syntax.Stmt], None]:
    def refuse(context: ElaborationContext, node: syntax.Stmt) -> None:
        raise node.span.error(what)

    return refuse


runs(syntax.Break)(_refuse("break outside of a loop"))
runs(syntax.Continue)(_refuse("continue outside of a loop"))
runs(syntax.ClassDef)(_refuse("a class has no place in a function"))
runs(syntax.Import)(_refuse("an import has no place in a function"))
