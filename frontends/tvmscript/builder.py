"""Construction of the syntax tree from lark's parse tree: one method per rule or alias of grammar.lark.

lark keeps every token, so `items` holds all symbols of a rule in order, with None for an absent optional part; the span
of a node runs from its first to its last symbol.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lark import Token, Transformer

from ...core.diagnostics import Span
from . import syntax
from .layout import EXCERPT, token_span
from .literals import number_value, split_string, unescape
from .syntax import Expr, Keyword, Node, Param, ParamKind, Stmt

_CONSTANTS = {"True": True, "False": False, "None": None, "...": ...}
_PRECEDENCE = {
    operator: level
    for level, operators in enumerate(["|", "^", "&", "<< >>", "+ -", "* / // % @"])
    for operator in operators.split()
}

Item = Any
"""A token, a node, None, or the list or tuple built by a helper rule."""

FStringReader = Callable[[str, bool, Span], Sequence[syntax.Text | syntax.Interpolation]]
"""The reader of an f-string's contents: takes the text between the quotes, whether it is raw, and its span."""


def _first_span(items: Iterable[Item]) -> Span:
    return next(_span_of_item(item) for item in items if item is not None and item != ())


def _span_of_item(item: Item) -> Span:
    if isinstance(item, Token):
        return token_span(item)
    return item.span if isinstance(item, Node) else _first_span(item)


def _span_over(items: Sequence[Item]) -> Span:
    """The span from the first symbol to the last."""
    start, end = _first_span(items), _last_span(items)
    return Span(start.source, start.line, start.column, end.end_line, end.end_column)


def _last_span(items: Sequence[Item]) -> Span:
    item = next(item for item in reversed(items) if item is not None and item != ())
    return _span_of_item(item) if isinstance(item, Token | Node) else _last_span(item)


def _nodes(items: Iterable[Item]) -> tuple[Any, ...]:
    return tuple(item for item in items if isinstance(item, Node))


def _name(token: Token) -> str:
    """The identifier, normalized as in Python."""
    return str(token) if token.isascii() else unicodedata.normalize("NFKC", str(token))


def _is_token(item: Item, text: str) -> bool:
    return isinstance(item, Token) and item.value == text


class SyntaxTreeBuilder(Transformer[Token, syntax.File]):
    """Builds the syntax tree bottom-up. `read_fstring` parses the contents of f-strings, since they need the whole
    reader.
    """

    def __init__(self, read_fstring: FStringReader):
        super().__init__()
        self._read_fstring = read_fstring

    # ---- statements

    def file(self, items: list[Item]) -> syntax.File:
        return syntax.File(_span_over(items) if items else EXCERPT.get().span(1, 1, 1, 1), _nodes(items))

    def suite(self, items: list[Item]) -> syntax.Body:
        return _nodes(items)

    def expression(self, items: list[Item]) -> Stmt:
        return syntax.ExprStmt(_span_over(items), _check_not_starred(items[0]))

    def assign(self, items: list[Item]) -> Stmt:
        *targets, value = _nodes(items)
        return syntax.Assign(
            _span_over(items), tuple(_check_target(target) for target in targets), _check_not_starred(value)
        )

    def annotated(self, items: list[Item]) -> Stmt:
        target, _, annotation, _, value = items
        if not isinstance(target, syntax.Name | syntax.Attribute | syntax.Subscript):
            raise target.span.error("only a single name can have an annotation")
        return syntax.AnnAssign(_span_over(items), target, annotation, value and _check_not_starred(value))

    def augmented(self, items: list[Item]) -> Stmt:
        target, operator, value = items
        if not isinstance(target, syntax.Name | syntax.Attribute | syntax.Subscript):
            raise target.span.error(f"{operator} needs a name or an element on its left")
        return syntax.AugAssign(_span_over(items), target, operator[:-1], _check_not_starred(value))

    def pass_(self, items: list[Item]) -> Stmt:
        return syntax.Pass(_span_over(items))

    def break_(self, items: list[Item]) -> Stmt:
        return syntax.Break(_span_over(items))

    def continue_(self, items: list[Item]) -> Stmt:
        return syntax.Continue(_span_over(items))

    def return_(self, items: list[Item]) -> Stmt:
        return syntax.Return(_span_over(items), items[1] and _check_not_starred(items[1]))

    def assert_(self, items: list[Item]) -> Stmt:
        return syntax.Assert(_span_over(items), items[1], items[3])

    def import_(self, items: list[Item]) -> Stmt:
        return syntax.Import(token_span(items[0]), tuple(item for item in items if isinstance(item, tuple)))

    def from_import(self, items: list[Item]) -> Stmt:
        words = [item for item in items if item is not None]
        end = next(i for i, word in enumerate(words) if _is_token(word, "import"))
        module = "".join(words[1:end])
        pairs = [word for word in words[end + 1 :] if isinstance(word, tuple)]
        names = tuple((name, f"{module}.{path}") for name, path in pairs)
        return syntax.Import(_span_over([words[0], words[end]]), names)

    def import_name(self, items: list[Item]) -> tuple[str, str]:
        return (_name(items[2]), items[0]) if items[2] is not None else (items[0].partition(".")[0],) * 2

    def dotted(self, items: list[Item]) -> str:
        return "".join(_name(item) for item in items)

    def from_name(self, items: list[Item]) -> tuple[str, str]:
        return _name(items[2] if items[2] is not None else items[0]), _name(items[0])

    def for_(self, items: list[Item]) -> Stmt:
        return syntax.For(_span_over(items[:5]), _check_target(items[1]), _check_not_starred(items[3]), items[5])

    def while_(self, items: list[Item]) -> Stmt:
        return syntax.While(_span_over(items[:3]), items[1], items[3])

    def if_(self, items: list[Item]) -> Stmt:
        orelse: syntax.Body = ()
        for branch in reversed(items[4:]):
            orelse = branch(orelse)
        return syntax.If(_span_over(items[:3]), items[1], items[3], orelse)

    def elif_(self, items: list[Item]) -> Callable[[syntax.Body], syntax.Body]:
        return lambda orelse: (syntax.If(_span_over(items[:3]), items[1], items[3], orelse),)

    def else_(self, items: list[Item]) -> Callable[[syntax.Body], syntax.Body]:
        return lambda _: items[2]

    def with_(self, items: list[Item]) -> Stmt:
        managers = [manager for item in _nodes(items[:-1]) for manager in _managers(item)]
        return syntax.With(_span_over(items[:-1]), tuple(managers), items[-1])

    def with_item(self, items: list[Item]) -> syntax.WithItem:
        context, _, target = items
        return syntax.WithItem(_span_over(items), context, target and _check_target(target))

    as_item = with_item

    def decorated(self, items: list[Item]) -> Stmt:
        *decorators, make = items
        return make(tuple(decorators))

    def decorator(self, items: list[Item]) -> Expr:
        return items[1]

    def function(self, items: list[Item]) -> Callable[[tuple[Expr, ...]], Stmt]:
        _, name, type_params, _, params, _, _, returns, _, body = items
        return lambda decorators: syntax.FunctionDef(
            span=_span_over(items[:-1]),
            name=_name(name),
            name_span=token_span(name),
            type_params=type_params or (),
            params=params or (),
            returns=returns and _check_not_starred(returns),
            body=body,
            decorators=decorators,
        )

    def class_(self, items: list[Item]) -> Callable[[tuple[Expr, ...]], Stmt]:
        _, name, _, bases, *_, body = items
        return lambda decorators: syntax.ClassDef(
            _span_over(items[:-1]), _name(name), token_span(name), _nodes(bases or ()), body, decorators
        )

    def type_params(self, items: list[Item]) -> tuple[str, ...]:
        return tuple(item for item in items if not isinstance(item, Token))

    def type_param(self, items: list[Item]) -> str:
        return _name(items[0])

    def params(self, items: list[Item]) -> tuple[Param, ...]:
        return _parameters(items)

    lambda_params = params

    def param(self, items: list[Item]) -> Param | Token:
        if _is_token(items[0], "/") or (items[0].type == "STAR" and items[1] is None):
            return items[0]
        if items[0].type in ("STAR", "POWER"):
            return Param(_span_over(items), _name(items[1]), items[3], None, ParamKind(items[0].value))
        return Param(_span_over(items), _name(items[0]), items[2], items[4], ParamKind.PLAIN)

    def lambda_param(self, items: list[Item]) -> Param | Token:
        if items[0].type == "STAR" and items[1] is None:
            return items[0]
        if items[0].type in ("STAR", "POWER"):
            return Param(_span_over(items), _name(items[1]), None, None, ParamKind(items[0].value))
        return Param(_span_over(items), _name(items[0]), None, items[2], ParamKind.PLAIN)

    # ---- expressions

    def tuple_(self, items: list[Item]) -> Expr:
        return syntax.Tuple(_span_over(items), _nodes(items))

    def starred(self, items: list[Item]) -> Expr:
        return syntax.Starred(_span_over(items), items[1])

    def if_expression(self, items: list[Item]) -> Expr:
        return syntax.IfExp(_span_over(items), items[2], items[0], items[4])

    def lambda_(self, items: list[Item]) -> Expr:
        return syntax.Lambda(_span_over(items), items[1] or (), items[3])

    def bool_op(self, items: list[Item]) -> Expr:
        return syntax.BoolOp(_span_over(items), str(items[1]), _nodes(items))

    def unary(self, items: list[Item]) -> Expr:
        return syntax.Unary(_span_over(items), str(items[0]), items[1])

    def compare(self, items: list[Item]) -> Expr:
        return syntax.Compare(_span_over(items), items[0], tuple(items[1::2]), tuple(items[2::2]))

    def compare_op(self, items: list[Item]) -> str:
        return " ".join(items)

    def arithmetic(self, items: list[Item]) -> Expr:
        """A tree of binary operators by precedence: reduces the stack while its top binds at least as tightly as the
        next operator.
        """
        operands, operators = [items[0]], list[Token]()
        for operator, operand in zip(items[1::2], items[2::2], strict=True):
            while operators and _PRECEDENCE[operators[-1]] >= _PRECEDENCE[operator]:
                _reduce(operands, operators)
            operators.append(operator)
            operands.append(operand)
        while operators:
            _reduce(operands, operators)
        return operands[0]

    def binary(self, items: list[Item]) -> Expr:
        return syntax.Binary(_span_over(items), str(items[1]), items[0], items[2], token_span(items[1]))

    def attribute(self, items: list[Item]) -> Expr:
        return syntax.Attribute(_span_over(items), items[0], _name(items[2]), token_span(items[2]))

    def call(self, items: list[Item]) -> Expr:
        arguments = _nodes(items[2] or ())
        keywords = tuple(argument for argument in arguments if isinstance(argument, Keyword))
        _check_arguments(arguments)
        plain = tuple(argument for argument in arguments if not isinstance(argument, Keyword))
        return syntax.Call(_span_over(items), items[0], plain, keywords)

    def arguments(self, items: list[Item]) -> list[Item]:
        return items

    def keyword(self, items: list[Item]) -> Keyword:
        return Keyword(_span_over(items), _name(items[0]) if len(items) == 3 else None, items[-1])

    def generator(self, items: list[Item]) -> Expr:
        return syntax.Comprehension(_span_over(items), "generator", None, items[0], items[1])

    def subscript(self, items: list[Item]) -> Expr:
        indices = _nodes(items[2:])
        alone = len(indices) == 1 and not _is_token(items[-2], ",")
        index = indices[0] if alone else syntax.Tuple(_span_over(items[2:-1]), indices)
        return syntax.Subscript(_span_over(items), items[0], index)

    def slice_(self, items: list[Item]) -> Expr:
        return syntax.Slice(_span_over(items), items[0], items[2], items[4])

    def name(self, items: list[Item]) -> Expr:
        return syntax.Name(_span_over(items), _name(items[0]))

    def named_constant(self, items: list[Item]) -> Expr:
        return syntax.Constant(_span_over(items), _CONSTANTS[items[0]])

    def number(self, items: list[Item]) -> Expr:
        span = _span_over(items)
        return syntax.Constant(span, number_value(str(items[0]), span))

    def strings(self, items: list[Item]) -> Expr:
        """The concatenation of adjacent string literals; an f-string if any of them is an f-string."""
        parts = [part for token in items for part in self._string(token)]
        if any(isinstance(part, bytes) for part in parts):
            if not all(isinstance(part, bytes) for part in parts):
                raise _span_over(items).error("cannot join a bytes string and a string")
            return syntax.Constant(_span_over(items), b"".join(parts))
        if all(isinstance(part, str) for part in parts):
            return syntax.Constant(_span_over(items), "".join(parts))
        span = _span_over(items)
        texts = (syntax.Text(span, part) if isinstance(part, str) else part for part in parts)
        return syntax.FString(span, tuple(texts))

    def _string(self, token: Token) -> Sequence[Any]:
        span = token_span(token)
        prefix, text, start = split_string(token, span)
        if "f" in prefix:
            return self._read_fstring(text, "r" in prefix, _text_span(span, token[:start])) or [""]
        if "b" in prefix and not text.isascii():
            raise span.error("a bytes string holds ASCII characters only")
        text = text if "r" in prefix else unescape(text, span, in_bytes="b" in prefix)
        return [text.encode("latin-1") if "b" in prefix else text]

    def group(self, items: list[Item]) -> Expr:
        inner = _nodes(items)
        if len(inner) == 1 and not _is_token(items[-2], ","):
            if isinstance(inner[0], syntax.Starred):
                raise inner[0].span.error("a starred expression needs a tuple or a list around it")
            return inner[0]
        return syntax.Tuple(_span_over(items), inner)

    def list_(self, items: list[Item]) -> Expr:
        return syntax.List(_span_over(items), _nodes(items))

    def set_(self, items: list[Item]) -> Expr:
        return syntax.Set(_span_over(items), _nodes(items))

    def dict_(self, items: list[Item]) -> Expr:
        return syntax.Dict(_span_over(items), _nodes(items))

    def dict_item(self, items: list[Item]) -> syntax.DictItem:
        return syntax.DictItem(_span_over(items), items[0] if len(items) == 3 else None, items[-1])

    def comprehension(self, items: list[Item]) -> Expr:
        opener, element, generators, _ = items
        if isinstance(element, syntax.DictItem):
            return syntax.Comprehension(_span_over(items), "dict", element.key, element.value, generators)
        kind = {"(": "generator", "[": "list", "{": "set"}[opener]
        return syntax.Comprehension(_span_over(items), kind, None, element, generators)

    def generators(self, items: list[Item]) -> tuple[syntax.Generator, ...]:
        return tuple(items)

    def generator_for(self, items: list[Item]) -> syntax.Generator:
        return syntax.Generator(_span_over(items), _check_target(items[1]), items[3], tuple(items[4:]))

    def generator_if(self, items: list[Item]) -> Expr:
        return items[1]


def _text_span(span: Span, opening: str) -> Span:
    """The span of a string's text, given the span of the string literal."""
    return Span(span.source, span.line, span.column + len(opening), span.end_line, span.end_column)


def _reduce(operands: list[Expr], operators: list[Token]) -> None:
    rhs, lhs, operator = operands.pop(), operands.pop(), operators.pop()
    operands.append(syntax.Binary(_span_over([lhs, rhs]), str(operator), lhs, rhs, token_span(operator)))


def _check_not_starred(expr: Expr) -> Expr:
    """`expr`, which must not be a starred expression."""
    if isinstance(expr, syntax.Starred):
        raise expr.span.error("a starred expression needs a tuple or a list around it")
    return expr


def _check_target(expr: Expr) -> Expr:
    match expr:
        case syntax.Name() | syntax.Attribute() | syntax.Subscript():
            return expr
        case syntax.Starred(value=value):
            _check_target(value)
            return expr
        case syntax.Tuple(items=items) | syntax.List(items=items):
            for item in items:
                _check_target(item)
            return expr
        case _:
            raise expr.span.error(f"expected a name to bind, got {_DESCRIPTIONS.get(type(expr), 'an expression')}")


_DESCRIPTIONS: dict[type[Expr], str] = {
    syntax.Constant: "a literal",
    syntax.Call: "a call",
    syntax.Binary: "an operation",
    syntax.Compare: "a comparison",
    syntax.Lambda: "a lambda",
}


def _managers(item: Expr) -> list[syntax.WithItem]:
    """The context managers of a `with` item: `with (a, b as c):` is equivalent to `with a, b as c:`."""
    if isinstance(item, syntax.WithItem) and item.target is None and isinstance(item.context, syntax.Tuple):
        return [manager for part in item.context.items for manager in _managers(part)]
    if isinstance(item, syntax.WithItem):
        return _managers(item.context) if isinstance(item.context, syntax.WithItem) else [item]
    return [syntax.WithItem(item.span, item, None)]


def _parameters(items: list[Item]) -> tuple[Param, ...]:
    params: list[Param] = []
    kind = ParamKind.PLAIN
    for item in items:
        if _is_token(item, "/"):
            params = [Param(p.span, p.name, p.annotation, p.default, ParamKind.POSITIONAL_ONLY) for p in params]
        elif _is_token(item, "*"):
            kind = ParamKind.KEYWORD_ONLY
        elif isinstance(item, Param):
            params.append(_with_kind(item, kind))
            kind = ParamKind.KEYWORD_ONLY if item.kind is ParamKind.VARARGS else kind
    _check_unique(params)
    return tuple(params)


def _with_kind(param: Param, kind: ParamKind) -> Param:
    if param.kind is not ParamKind.PLAIN:
        return param
    return Param(param.span, param.name, param.annotation, param.default, kind)


def _check_unique(params: list[Param]) -> None:
    seen: set[str] = set()
    for param in params:
        if param.name in seen:
            raise param.span.error(f"duplicate parameter {param.name!r}")
        seen.add(param.name)


def _check_arguments(arguments: tuple[Node, ...]) -> None:
    names: set[str] = set()
    for argument in arguments:
        if isinstance(argument, Keyword):
            if argument.name is not None and argument.name in names:
                raise argument.span.error(f"keyword argument {argument.name!r} is given twice")
            names.add(argument.name or "**")
        elif names and not isinstance(argument, syntax.Starred):
            raise argument.span.error("a positional argument cannot follow a keyword argument")
