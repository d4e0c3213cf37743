"""Expressions: evaluation of their syntax to a Python value or an IR value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.ir import Block, Region, SSAValue

from ...core.diagnostics import Span, did_you_mean
from ...core.dtypes import dtype_of, mlir_type
from ...core.errors import ParseError
from ...dialects.extensions import operation_names
from ...dialects.text import expression_text
from ...dialects.tir import HandleType, IfThenElseOp, Operand, YieldOp, constant_value
from . import pytime, syntax
from .arithmetic import binary, cast_to, common_dtype, index_of, int_if_constant, is_zero, logical, operate, unary
from .buffer_attributes import attribute
from .context import ElaborationContext, spell_type
from .dispatch import apply, calls, evaluate, evaluates
from .extensions import call_operation
from .pointers import buffer_of_pointer
from .quoting import quote
from .values import (
    BufferValue,
    Element,
    FunctionNamespace,
    FunctionRef,
    Loops,
    Method,
    PendingCall,
    Quoted,
    SliceIndex,
    TypeAnnotation,
    Value,
    Variable,
    Word,
    describe_value,
)
from .vocabulary import (
    CONSTANTS,
    FORMS,
    WORDS,
    call_reader,
    is_dtype,
    is_extension_word,
    is_prefix,
    path_of,
    relax_words,
    takes_dtype,
    unknown_word,
)

MAX_FORMAT = 64


def evaluate_all(context: ElaborationContext, nodes: tuple[syntax.Expr, ...]) -> list[Value]:
    """The values of the items of a list; starred items are spread."""
    values: list[Value] = []
    for node in nodes:
        if isinstance(node, syntax.Starred):
            values.extend(items_of(context, evaluate(context, node.value), node.span))
        else:
            values.append(evaluate(context, node))
    return values


def items_of(context: ElaborationContext, value: Value, span: Span) -> list[Value]:
    """The items of a list, tuple or range."""
    items = as_range(value, span)
    context.module.budget.charge_items(items, span)
    return pytime.iterate(items, span)


def as_range(value: Value, span: Span) -> Value:
    """A Python range for `range(8)` as an iterable of Python code, which requires constant bounds."""
    match value:
        case Loops(loops=(loop,)) if not value.grid and loop.kind == "serial":
            bounds = (loop.low, loop.extent, loop.step)
            if any(isinstance(bound, SSAValue) for bound in bounds):
                raise span.error("the bounds of this range must be known while the program is read")
            low, extent, step = map(int, cast("tuple[int, int, int]", bounds))
            return range(low, low + extent, step)
        case _:
            return value


# ---- names and literals


@evaluates(syntax.Name)
def _name(context: ElaborationContext, node: syntax.Name) -> Value:
    if context.scope.find(node.id) is None and node.id in pytime.BUILTINS:
        return pytime.BUILTINS[node.id]
    return context.lookup(node.id, node.span)


@evaluates(syntax.Constant)
def _constant(context: ElaborationContext, node: syntax.Constant) -> Value:
    if isinstance(node.value, bytes) or node.value is ...:
        raise node.span.error("bytes and ... have no meaning in TVMScript")
    return node.value


@evaluates(syntax.EvaluatedExpr)
def _held_value(context: ElaborationContext, node: syntax.EvaluatedExpr) -> Value:
    return node.value


@evaluates(syntax.Tuple)
def _tuple(context: ElaborationContext, node: syntax.Tuple) -> Value:
    return tuple(evaluate_all(context, node.items))


@evaluates(syntax.List, syntax.Set)
def _list(context: ElaborationContext, node: syntax.List | syntax.Set) -> Value:
    return evaluate_all(context, node.items)


@evaluates(syntax.Dict)
def _dict(context: ElaborationContext, node: syntax.Dict) -> Value:
    result: dict[Value, Value] = {}
    for item in node.items:
        value = evaluate(context, item.value)
        if item.key is not None:
            result[_key(context, evaluate(context, item.key), item.key.span)] = value
        elif isinstance(value, dict):
            result.update(cast("dict[Value, Value]", value))
        else:
            raise item.span.error(f"expected a dictionary after **, got {describe_value(value)}")
    return result


def _key(context: ElaborationContext, value: Value, span: Span) -> Value:
    if not isinstance(value, str | int | float | bool | tuple) or not context.is_python(value, span):
        raise span.error(f"{describe_value(value)} cannot be a key")
    try:
        hash(value)  # pyright: ignore[reportUnknownArgumentType]
    except TypeError:
        raise span.error(f"{describe_value(value)} cannot be a key") from None
    return value  # pyright: ignore[reportUnknownVariableType]


def _item_of_set(context: ElaborationContext, value: Value, span: Span) -> Value:
    context.charge(span, value)
    try:
        hash(value)
    except TypeError:
        raise span.error(f"{describe_value(value)} cannot be an item of a set") from None
    return value


@evaluates(syntax.FString)
def _fstring(context: ElaborationContext, node: syntax.FString) -> Value:
    parts: list[str] = []
    for part in node.parts:
        parts.append(part.value if isinstance(part, syntax.Text) else _interpolate(context, part))
    result = "".join(parts)
    context.charge(node.span, result)
    return result


def values_of_fstring(context: ElaborationContext, node: syntax.FString) -> list[tuple[Value, Span]]:
    """The parts of an f-string that is formatted when the program runs: texts, and values of the program."""
    parts: list[tuple[Value, Span]] = []
    for part in node.parts:
        if isinstance(part, syntax.Text):
            parts.append((part.value, node.span))
            continue
        value = evaluate(context, part.value)
        if context.is_python(value, part.span):
            parts.append((_format(context, value, part), part.span))
        elif part.conversion not in ("", "s") or part.format is not None:
            raise part.span.error("the program formats this value: expected no format and no conversion")
        else:
            parts.append((value, part.span))
    for value, span in parts:
        context.charge(span, value)
    return parts


def _interpolate(context: ElaborationContext, part: syntax.Interpolation) -> str:
    value = evaluate(context, part.value)
    if not context.is_python(value, part.span):
        value = _spell(context, value, part)
    return _format(context, value, part)


def _format(context: ElaborationContext, value: Value, part: syntax.Interpolation) -> str:
    """The text of a Python value in an f-string."""
    style = cast(str, _fstring(context, part.format)) if part.format else ""
    if len(style) > MAX_FORMAT or any(len(digits) > 3 for digits in _digit_runs(style)):
        raise part.span.error("this format is too long")
    if part.conversion:
        value = {"r": repr, "s": str, "a": ascii}[part.conversion](value)
    try:
        return format(value, style)
    except (TypeError, ValueError) as error:
        raise part.span.error(str(error)) from None


def _spell(context: ElaborationContext, value: Value, part: syntax.Interpolation) -> str:
    """The text of a program value in an f-string: a buffer by its name, an expression as printed."""
    if part.format is not None or part.conversion == "r":
        raise part.span.error(f"{describe_value(value)} is written as it stands, without format or !r")
    match value:
        case BufferValue():
            return value.name
        case Variable() if value.value is None:
            return value.name
        case _ if pytime.is_symbolic(value) and not isinstance(value, PendingCall):
            result = context.expr(value, part.value.span)
            quote(context, result)  # its ops are templates: only the printed text is used
            return expression_text(result, names=context.names_of_values())
        case _:
            raise part.value.span.error(f"expected something with a text, got {describe_value(value)}")


def _digit_runs(text: str) -> list[str]:
    return "".join(char if char.isdigit() else " " for char in text).split()


@evaluates(syntax.Comprehension)
def _comprehension(context: ElaborationContext, node: syntax.Comprehension) -> Value:
    """The items of a comprehension, evaluated eagerly. Its names share one scope, as in Python."""
    first = evaluate(context, node.generators[0].iterable)
    with context.open_scope():
        pairs = list(_generate(context, node, node.generators, first))
    match node.kind:
        case "dict":
            return dict(pairs)
        case "set":
            return list(dict.fromkeys(_item_of_set(context, value, node.element.span) for _, value in pairs))
        case _:
            return [value for _, value in pairs]


def _generate(
    context: ElaborationContext, node: syntax.Comprehension, generators: tuple[syntax.Generator, ...], iterable: Value
) -> Iterator[tuple[Value, Value]]:
    first, rest = generators[0], generators[1:]
    for item in items_of(context, iterable, first.iterable.span):
        bind_pattern(context, first.target, item)
        if not all(_truth(context, condition) for condition in first.conditions):
            continue
        if rest:
            yield from _generate(context, node, rest, evaluate(context, rest[0].iterable))
        else:
            key = None if node.key is None else _key(context, evaluate(context, node.key), node.key.span)
            yield key, evaluate(context, node.element)


def _truth(context: ElaborationContext, node: syntax.Expr) -> bool:
    value = evaluate(context, node)
    if not context.is_python(value, node.span):
        raise node.span.error("this condition must be known while the program is read")
    return bool(value)


def bind_pattern(context: ElaborationContext, target: syntax.Expr, value: Value) -> None:
    """Binds a target pattern to a parse-time value and its items."""
    match target:
        case syntax.Name():
            context.scope.names[target.id] = value
        case syntax.Tuple() | syntax.List():
            for part, item in split_items(context, target, value):
                bind_pattern(context, part, item)
        case _:
            raise target.span.error("expected a name to bind")


def split_items(
    context: ElaborationContext, target: syntax.Tuple | syntax.List, value: Value
) -> list[tuple[syntax.Expr, Value]]:
    """The targets of `a, *b, c = value`, each with its part of the value."""
    values = items_of(context, value, target.span)
    stars = [i for i, item in enumerate(target.items) if isinstance(item, syntax.Starred)]
    if not stars:
        if len(values) != len(target.items):
            raise target.span.error(f"expected {len(values)} names to bind, got {len(target.items)}")
        return list(zip(target.items, values, strict=True))
    if len(stars) > 1:
        raise target.items[stars[1]].span.error("only one name can have a star")
    before, after = stars[0], len(target.items) - stars[0] - 1
    if len(values) < before + after:
        raise target.span.error(f"expected at most {len(values)} names to bind, got {before + after}")
    star = cast(syntax.Starred, target.items[before])
    middle = values[before : len(values) - after]
    tail = values[len(values) - after :] if after else []
    targets = (*target.items[:before], star.value, *target.items[before + 1 :])
    return list(zip(targets, [*values[:before], middle, *tail], strict=True))


# ---- attributes and items


@evaluates(syntax.Attribute)
def _attribute(context: ElaborationContext, node: syntax.Attribute) -> Value:
    return attribute_of(context, evaluate(context, node.value), node.attr, node.span, node.attr_span)


def attribute_of(context: ElaborationContext, value: Value, name: str, span: Span, name_span: Span) -> Value:
    """The value of `value.name`."""
    match value:
        case Word():
            return _longer_word(Word(value.namespace, f"{value.path}.{name}".lstrip(".")), span)
        case FunctionNamespace():
            if name in context.module.macros:
                return context.module.macros[name]
            if name not in context.module.nodes:
                hint = did_you_mean(name, (*context.module.nodes, *context.module.macros))
                raise name_span.error(f"{value.name} has no function {name!r}{hint}")
            return FunctionRef(name)
        case BufferValue():
            return attribute(context, value, name, span)
        case _ if pytime.is_symbolic(value):
            return _expression_attribute(context, value, name, span, name_span)
        case _:
            return pytime.getattr_of(context.module.budget, value, name, name_span)


_TYPES = ("Object", "Prim", "Shape", "Tensor", "Tuple")
_CLASSES_OF_TYPES = {f"{kind}{ending}": kind for kind in _TYPES for ending in ("StructInfo", "Type")}
"""The types of `R` by the classes of their values: `relax.TensorStructInfo((4,), "float32")` is `R.Tensor`."""


def _longer_word(word: Word, span: Span) -> Value:
    path = path_of(word)
    if word.namespace == "R":
        if word.path == "op":  # `relax.op.add` is `R.add`
            return Word("R")
        if path in _CLASSES_OF_TYPES:
            return Word("R", _CLASSES_OF_TYPES[path])
        if path in relax_words() or is_prefix(word) or path == "function":
            return word
        raise unknown_word(word, span)
    if path in CONSTANTS:
        return CONSTANTS[path]
    if path in WORDS or path in FORMS or is_dtype(path) or is_prefix(word) or _is_decorator(path):
        return word
    if is_extension_word(path):
        return word
    raise unknown_word(word, span)


def _is_decorator(path: str) -> bool:
    return path in ("prim_func", "ir_module", "macro", "inline", "let")


def _expression_attribute(context: ElaborationContext, value: Value, name: str, span: Span, name_span: Span) -> Value:
    if name == "dtype":
        operand = value.value if isinstance(value, Quoted) else context.expr(value, span)
        return "handle" if isinstance(operand.type, HandleType) else dtype_of(operand.type).name
    if name == "astype":
        return lambda dtype: cast_to(context, value, dtype, span)
    if isinstance(value, SSAValue) and value in context.memories:  # the result of T.alloc_buffer in v0.24
        if name == "data":
            return value
        return attribute(context, buffer_of_pointer(context, value, span), name, span)
    hint = did_you_mean(name, ["dtype", "astype"])
    raise name_span.error(f"an expression has no attribute {name!r}{hint}")


@evaluates(syntax.Subscript)
def _subscript(context: ElaborationContext, node: syntax.Subscript) -> Value:
    value = evaluate(context, node.value)
    match value:
        case BufferValue():
            return Element(value, _indices(context, value, node.index), node.span)
        case Word():
            return _word_subscript(context, value, node)
        case SSAValue() if isinstance(value.type, HandleType):
            buffer = buffer_of_pointer(context, value, node.span)
            return Element(buffer, _indices(context, buffer, node.index), node.span)
        case _ if pytime.is_symbolic(value):
            raise node.span.error("only buffers and Python's lists have items, got an expression")
        case _:
            index = _python_index(context, node.index)
            if isinstance(index, slice):
                context.module.budget.charge_items(value, node.span)
            return pytime.subscript(value, index, node.span)


def _word_subscript(context: ElaborationContext, word: Word, node: syntax.Subscript) -> Value:
    """`T.Buffer[(8, 8), "float32"]` of v0.9-0.11, `T.Ptr[T.float32]`, `T.let[T.int32]`."""
    items = node.index.items if isinstance(node.index, syntax.Tuple) else (node.index,)
    arguments = evaluate_all(context, items)
    path = path_of(word)
    if path == "let" and len(arguments) == 1:
        (argument,) = arguments
        return TypeAnnotation(argument.type if isinstance(argument, Variable) else context.type(argument, node.span))
    if path == "Buffer" and _is_flat_shape(arguments):
        arguments = [tuple(arguments)]
    if path not in ("Buffer", "Ptr"):
        raise node.span.error(f"{word} takes its arguments in parentheses" if path else f"{word} has no items")
    return call_word(context, word, node.span, arguments, {})


def _is_flat_shape(arguments: list[Value]) -> bool:
    """Whether the arguments are extents only, as in `T.Buffer[8, 8]`."""
    return len(arguments) > 1 and all(isinstance(a, int) for a in arguments)


def _python_index(context: ElaborationContext, node: syntax.Expr) -> Value:
    if isinstance(node, syntax.Slice):
        bounds = [None if part is None else evaluate(context, part) for part in (node.lower, node.upper, node.step)]
        return slice(*bounds)
    return evaluate(context, node)


def _indices(context: ElaborationContext, buffer: BufferValue, node: syntax.Expr) -> tuple[Operand | SliceIndex, ...]:
    indices: list[Operand | SliceIndex] = []
    if not isinstance(node, syntax.Tuple | syntax.Slice):
        value = evaluate(context, node)
        items = cast("Sequence[Value]", value) if isinstance(value, list | tuple) else (value,)
        return tuple(index_of(context, item, node.span) for item in items)
    for part in node.items if isinstance(node, syntax.Tuple) else (node,):
        if isinstance(part, syntax.Slice):
            indices.append(_box(context, buffer, len(indices), part))
        elif isinstance(part, syntax.Starred):
            items = items_of(context, evaluate(context, part.value), part.span)
            indices.extend(index_of(context, item, part.span) for item in items)
        else:
            indices.append(index_of(context, evaluate(context, part), part.span))
    return tuple(indices)


def _box(context: ElaborationContext, buffer: BufferValue, dimension: int, node: syntax.Slice) -> SliceIndex:
    step = (
        1 if node.step is None else context.integer(evaluate(context, node.step), node.step.span, "the step of a slice")
    )
    if step < 1:
        raise node.span.error(f"step {step} of a slice, expected a positive one")
    low = 0 if node.lower is None else index_of(context, evaluate(context, node.lower), node.lower.span)
    if node.upper is not None:
        return SliceIndex(low, extent_between(context, low, node.lower, node.upper), step)
    if dimension >= len(buffer.shape):
        raise node.span.error(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, got more indices")
    extent = buffer.shape[dimension]
    return SliceIndex(low, extent if low == 0 else binary(context, "-", extent, low, node.span), step)


def extent_between(
    context: ElaborationContext, low: Operand, low_node: syntax.Expr | None, high_node: syntax.Expr
) -> Operand:
    """The number of integers from `low` up to the upper bound. `x:x + 4` and `x + 2:x + 6` have extent 4, for any x."""
    match high_node:
        case syntax.Binary(op="+", lhs=lhs, rhs=rhs) if low_node is not None and syntax.equal_syntax(lhs, low_node):
            return int_if_constant(context, context.index(evaluate(context, rhs), rhs.span), rhs.span)
        case _:
            high = int_if_constant(context, context.index(evaluate(context, high_node), high_node.span), high_node.span)
            low = int_if_constant(context, low, high_node.span)
            if is_zero(low):
                return high
            known = _difference(high, low)
            return binary(context, "-", high, low, high_node.span) if known is None else known


def _difference(high: Operand, low: Operand) -> int | None:
    """The difference of two sums of multiples of the same values, None where it is not a number. It holds in the
    arithmetic of their type, which wraps."""
    terms: dict[SSAValue, int] = {}
    number = 0
    todo: list[tuple[Operand, int]] = [(high, 1), (low, -1)]
    for _ in range(_MOST_TERMS):
        if not todo:
            return None if any(terms.values()) or number < 0 else number
        value, factor = todo.pop()
        known = constant_value(value) if isinstance(value, SSAValue) else value
        if isinstance(known, int):
            number += factor * known
            continue
        assert isinstance(value, SSAValue)
        match value.owner:
            case arith.AddiOp(lhs=lhs, rhs=rhs):
                todo += [(lhs, factor), (rhs, factor)]
            case arith.SubiOp(lhs=lhs, rhs=rhs):
                todo += [(lhs, factor), (rhs, -factor)]
            case arith.MuliOp(lhs=lhs, rhs=rhs) if isinstance(times := constant_value(rhs), int):
                todo.append((lhs, factor * times))
            case _:
                terms[value] = terms.get(value, 0) + factor
    return None


_MOST_TERMS = 64
"""The number of terms of two bounds whose difference is looked for."""


# ---- operators


@evaluates(syntax.Binary)
def _binary(context: ElaborationContext, node: syntax.Binary) -> Value:
    lhs = evaluate(context, node.lhs)
    if isinstance(lhs, Element):  # loaded before the right operand is evaluated
        lhs = context.load(lhs)
    rhs = evaluate(context, node.rhs)
    if isinstance(node.lhs, syntax.Constant) or isinstance(node.rhs, syntax.Constant):
        return binary(context, node.op, lhs, rhs, node.op_span)
    return operate(context, node.op, lhs, rhs, node.op_span)


@evaluates(syntax.Unary)
def _unary(context: ElaborationContext, node: syntax.Unary) -> Value:
    return unary(context, node.op, evaluate(context, node.operand), node.span)


@evaluates(syntax.Compare)
def _compare(context: ElaborationContext, node: syntax.Compare) -> Value:
    """A chain of comparisons: `a < b < c` is `a < b and b < c`, with b evaluated once."""
    result: Value = None
    lhs = evaluate(context, node.first)
    for op, rest in zip(node.ops, node.rest, strict=True):
        rhs = evaluate(context, rest)
        if len(node.ops) > 1 and pytime.is_symbolic(rhs):
            rhs = context.expr(rhs, rest.span)
        part = binary(context, op, lhs, rhs, node.span)
        result = part if result is None else logical(context, "and", result, _thunk(part), node.span)
        lhs = rhs
    return result


def _thunk(value: Value) -> Callable[[], Value]:
    return lambda: value


@evaluates(syntax.BoolOp)
def _bool_op(context: ElaborationContext, node: syntax.BoolOp) -> Value:
    result = evaluate(context, node.values[0])
    for part in node.values[1:]:
        result = logical(context, node.op, result, lambda part=part: evaluate(context, part), part.span)
    return result


@evaluates(syntax.IfExp)
def _if_exp(context: ElaborationContext, node: syntax.IfExp) -> Value:
    test = evaluate(context, node.test)
    if context.is_python(test, node.test.span):
        return evaluate(context, node.body if test else node.orelse)
    condition = context.condition(test, node.test.span)
    return conditional_expression(context, condition, node.body, node.orelse, node.span)


def conditional_expression(
    context: ElaborationContext, condition: SSAValue, then: syntax.Expr, orelse: syntax.Expr, span: Span
) -> SSAValue:
    """A conditional expression, each branch evaluated only if taken."""
    if dtype_of(condition.type).lanes != 1:
        raise span.error("the condition of if_then_else is a scalar, T.Select takes a vector")
    blocks = Block(), Block()
    values = [_in_block(context, block, node) for block, node in zip(blocks, (then, orelse), strict=True)]
    dtype = common_dtype(values[0], values[1], span)
    for block, value in zip(blocks, values, strict=True):
        with context.builder.at(block):
            result = value if dtype is None else context.locate(span).cast(value, dtype)
            context.builder.insert(YieldOp(cast(SSAValue, result)))
    type = cast(SSAValue, values[0]).type if dtype is None else mlir_type(dtype)
    return context.locate(span).insert(IfThenElseOp(condition, type, Region(blocks[0]), Region(blocks[1]))).result


def _in_block(context: ElaborationContext, block: Block, node: syntax.Expr) -> Operand:
    with context.emit_into(block):
        return context.operand(evaluate(context, node), node.span)


# ---- calls


@evaluates(syntax.Call)
def _call(context: ElaborationContext, node: syntax.Call) -> Value:
    function = evaluate(context, node.func)
    if isinstance(function, Word) and function.namespace != "R" and (form := FORMS.get(path_of(function))) is not None:
        return _locate_errors(lambda: form(context, node), node.span)
    args = evaluate_all(context, node.args)
    keywords = _keywords(context, node)
    return _locate_errors(lambda: apply(context, function, node.span, args, keywords), node.span)


def _locate_errors(run: Callable[[], Value], span: Span) -> Value:
    """Runs `run`; an error of the builder becomes a diagnostic at the call."""
    try:
        return run()
    except ParseError:
        raise
    except ValueError as error:
        raise span.error(str(error)) from None


def _keywords(context: ElaborationContext, node: syntax.Call) -> dict[str, Value]:
    result: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(context, keyword.value)
        if keyword.name is not None:
            result[keyword.name] = value
        elif isinstance(value, dict) and all(isinstance(k, str) for k in cast("dict[Value, Value]", value)):
            result.update(cast("dict[str, Value]", value))
        else:
            raise keyword.span.error(f"expected a dictionary of arguments after **, got {describe_value(value)}")
    return result


@calls(Word)
def call_word(
    context: ElaborationContext, word: Word, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    path = path_of(word)
    if word.namespace == "R":
        raise span.error(f"{word} has its place in a function with @R.function")
    if (reader := WORDS.get(path)) is not None:
        if "dtype" in keywords and not takes_dtype(reader):
            keywords = dict(keywords)
            dtype = keywords.pop("dtype")
            return check_dtype(context, call_reader(reader, str(word), context, span, args, keywords), dtype, span)
        return call_reader(reader, str(word), context, span, args, keywords)
    if (form := FORMS.get(path)) is not None:
        held = tuple(syntax.EvaluatedExpr(span, arg) for arg in args)
        named = tuple(syntax.Keyword(span, name, syntax.EvaluatedExpr(span, value)) for name, value in keywords.items())
        return form(context, syntax.Call(span, syntax.EvaluatedExpr(span, word), held, named))
    if is_dtype(path):
        return call_reader(WORDS["<dtype>"], str(word), context, span, [path, *args], keywords)
    if path in operation_names(path):
        return call_operation(context, path, span, args, keywords)
    raise unknown_word(word, span)


@calls(Method)
def _call_method(
    context: ElaborationContext, method: Method, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return method.run(*args, **keywords)


def check_dtype(context: ElaborationContext, value: Value, dtype: Value, span: Span) -> Value:
    """The value of `T.exp(x, dtype="float32")` of v0.8-0.11; the type must equal the type inferred without `dtype`."""
    if not pytime.is_symbolic(value) or isinstance(value, PendingCall) or dtype in ("", "void"):
        return value
    operand = context.expr(value, span)
    expected = context.type(dtype, span)
    if operand.type != expected and not isinstance(operand.type, HandleType):
        raise span.error(f"this is {spell_type(operand.type)}, got dtype={spell_type(expected)!r}")
    return operand


def _reject(what: str) -> Callable[[ElaborationContext, syntax.Expr], Value]:
    def refuse(context: ElaborationContext, node: syntax.Expr) -> Value:
        raise node.span.error(f"{what} has no place here")

    return refuse


evaluates(syntax.Slice)(_reject("a slice"))
evaluates(syntax.Starred)(_reject("a starred expression"))
