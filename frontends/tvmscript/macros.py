"""Macros and lambdas: functions of the program text, expanded at each call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...core.diagnostics import Span, did_you_mean
from . import syntax
from .context import ElaborationContext
from .dispatch import RELAX, calls, evaluate, evaluates, run_statements
from .quoting import quote
from .syntax import ParamKind
from .values import Closure, Lazy, Macro, MacroResult, NameScope, Value, Word, describe_value
from .vocabulary import path_of

# ---- definitions


def read_macro(context: ElaborationContext, node: syntax.FunctionDef, scope: NameScope) -> Macro | None:
    """The macro of a function with `@T.macro`, `@T.macro(hygienic=False)` or `@T.inline`; None without such a
    decorator.

    scope: the names visible to a hygienic macro.
    """
    if len(node.decorators) != 1:
        return None
    decorator = node.decorators[0]
    function = decorator.func if isinstance(decorator, syntax.Call) else decorator
    word = evaluate(context, function)
    if not isinstance(word, Word) or path_of(word) not in ("macro", "inline"):
        return None
    hygienic = True
    if isinstance(decorator, syntax.Call):
        hygienic = _read_hygienic(context, word, decorator)
    return define_macro(node, scope, hygienic)


def define_macro(node: syntax.FunctionDef, scope: NameScope, hygienic: bool) -> Macro:
    """The macro of a function; the defaults of its parameters are evaluated lazily."""
    if node.type_params:
        raise node.name_span.error(f"the macro {node.name!r} has type parameters, which only a prim_func can have")
    defaults = {param.name: Lazy(param.default, scope) for param in node.params if param.default is not None}
    return Macro(node, scope, hygienic, defaults)


def _read_hygienic(context: ElaborationContext, word: Word, decorator: syntax.Call) -> bool:
    if decorator.args:
        raise decorator.args[0].span.error(f"{word} takes no positional arguments")
    hygienic: Value = True
    for keyword in decorator.keywords:
        if path_of(word) == "inline" or keyword.name != "hygienic":
            raise keyword.span.error(f"{word} has no parameter {keyword.name!r}")
        hygienic = evaluate(context, keyword.value)
    if not isinstance(hygienic, bool):
        raise decorator.span.error(f"expected True or False for hygienic, got {describe_value(hygienic)}")
    return hygienic


@evaluates(syntax.Lambda)
def _close_over(context: ElaborationContext, node: syntax.Lambda) -> Closure:
    """The closure of a lambda: defaults are evaluated now, names are resolved at each call."""
    defaults = {param.name: evaluate(context, param.default) for param in node.params if param.default is not None}
    return Closure(node, context.scope, defaults)


# ---- calls


@calls(Macro)
def _expand_macro(
    context: ElaborationContext, macro: Macro, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Emits the statements of a macro at its call.

    A macro of `R` may end in `return`, whose value is that of the call. Frames that the macro opens as statements
    (`T.attr(...)`, `T.launch_thread(...)`) stay open after the call. From the second call on, the names of its blocks
    are suffixed with the number of the call.
    """
    name = macro.node.name
    arguments = _bind(context, repr(name), macro.node.params, span, [*macro.bound, *args], keywords, macro.defaults)
    if macro.later is not None:
        for later, value in macro.later().items():
            macro.scope.names.setdefault(later, value)
    context.module.sources[macro.node.span.source] = None
    count = context.module.calls[id(macro.node)]
    context.module.calls[id(macro.node)] += 1
    saved, context.block_suffix = context.block_suffix, f"_{count}" if count else ""
    try:
        with context.expansion(repr(name), span), context.open_scope(macro.scope if macro.hygienic else None, True):
            context.scope.names.update(arguments)
            with context.open_scope():
                return _expand_body(context, macro.node)
    finally:
        context.block_suffix = saved


def _expand_body(context: ElaborationContext, node: syntax.FunctionDef) -> Value:
    """The value that a macro of `R` returns; that of a macro of `T` cannot be used."""
    *before, last = node.body
    if context.dialect != RELAX or not isinstance(last, syntax.Return) or last.value is None:
        run_statements(context, node.body)
        return MacroResult(node.name)
    run_statements(context, tuple(before))
    return evaluate(context, last.value)


@calls(Closure)
def _call_closure(
    context: ElaborationContext, closure: Closure, span: Span, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The value of a lambda's body for the given arguments."""
    arguments = _bind(context, "the lambda", closure.node.params, span, args, keywords, closure.defaults)
    with context.expansion("the lambda", span), context.open_scope(closure.scope, True):
        context.scope.names.update(arguments)
        return evaluate(context, closure.node.body)


def _bind(
    context: ElaborationContext, what: str, params: tuple[syntax.Param, ...], span: Span, args: list[Value],
    keywords: dict[str, Value], defaults: Mapping[str, Value],
) -> dict[str, Value]:  # fmt: skip
    """The value of each parameter in a call, by Python's rules."""
    rest, named = iter(args), dict(keywords)
    result: dict[str, Value] = {}
    for param in params:
        result[param.name] = quote(context, _argument(context, what, param, span, rest, named, defaults), span)
    if named:
        name = next(iter(named))
        if name in result:
            raise span.error(f"{what}: {name!r} is given twice or can only be given by position")
        raise span.error(f"{what} has no parameter {name!r}{did_you_mean(name, result)}")
    if left := len(list(rest)):
        raise span.error(f"{what} takes at most {len(args) - left} arguments by position, got {len(args)}")
    return result


def _argument(
    context: ElaborationContext, what: str, param: syntax.Param, span: Span, rest: Iterator[Value],
    named: dict[str, Value], defaults: Mapping[str, Value],
) -> Value:  # fmt: skip
    """The value of the next parameter, removed from the remaining arguments."""
    match param.kind:
        case ParamKind.VARARGS:
            return tuple(rest)
        case ParamKind.KWARGS:
            remaining = dict(named)
            named.clear()
            return remaining
        case _:
            pass
    if param.kind is not ParamKind.KEYWORD_ONLY:
        for value in rest:
            return value
    if param.kind is not ParamKind.POSITIONAL_ONLY and param.name in named:
        return named.pop(param.name)
    if param.name in defaults:
        default = defaults[param.name]
        return context.resolve(param.name, default, span)
    raise span.error(f"{what}: missing argument {param.name!r}")
