"""The grammar: Python syntax yields the syntax tree with Python's meaning, and other text yields a diagnostic."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepwell.core.diagnostics import SourceFile
from stepwell.core.errors import ParseError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript, reader, syntax
from stepwell.frontends.tvmscript.layout import Excerpt
from stepwell.frontends.tvmscript.reader import MAX_NESTING, read_module
from stepwell.frontends.tvmscript.tables import load_tables

pytestmark = pytest.mark.usefixtures("compiles_anew")


def read(text: str) -> syntax.File:
    return read_module(SourceFile("f.py", text))


def body(text: str) -> syntax.Body:
    return read(text).body


def expr(text: str) -> Any:
    (statement,) = body(text)
    assert isinstance(statement, syntax.ExprStmt)
    return statement.value


def show(node: Any) -> Any:
    """A node as nested tuples, without source locations."""
    if isinstance(node, syntax.Node):
        names = [name for name in type(node).__dataclass_fields__ if "span" not in name]
        return (type(node).__name__, *(show(getattr(node, name)) for name in names))
    return tuple(map(show, node)) if isinstance(node, tuple) else node


def python(node: Any) -> Any:
    """Python's own syntax tree in the form of `show`, for the common expressions."""
    match node:
        case ast.Expression():
            return python(node.body)
        case ast.Name():
            return ("Name", node.id)
        case ast.Constant():
            return ("Constant", node.value)
        case ast.BinOp():
            return ("Binary", _OPERATORS[type(node.op)], python(node.left), python(node.right))
        case ast.UnaryOp():
            return ("Unary", _OPERATORS[type(node.op)], python(node.operand))
        case ast.BoolOp():
            return ("BoolOp", _OPERATORS[type(node.op)], tuple(map(python, node.values)))
        case ast.Compare():
            ops = tuple(_OPERATORS[type(op)] for op in node.ops)
            return ("Compare", python(node.left), ops, tuple(map(python, node.comparators)))
        case ast.IfExp():
            return ("IfExp", python(node.test), python(node.body), python(node.orelse))
        case ast.Attribute():
            return ("Attribute", python(node.value), node.attr)
        case ast.Subscript():
            return ("Subscript", python(node.value), python(node.slice))
        case ast.Slice():
            return ("Slice", *(part and python(part) for part in (node.lower, node.upper, node.step)))
        case ast.Tuple():
            return ("Tuple", tuple(map(python, node.elts)))
        case ast.List():
            return ("List", tuple(map(python, node.elts)))
        case ast.Starred():
            return ("Starred", python(node.value))
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return ("Dict", tuple(("DictItem", key and python(key), python(value)) for key, value in pairs))
        case ast.Call():
            keywords = tuple(("Keyword", keyword.arg, python(keyword.value)) for keyword in node.keywords)
            return ("Call", python(node.func), tuple(map(python, node.args)), keywords)
        case _:
            raise NotImplementedError(type(node))


_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitXor: "^", ast.BitOr: "|",
    ast.UAdd: "+", ast.USub: "-", ast.Invert: "~", ast.Not: "not", ast.And: "and", ast.Or: "or",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a + b * c - d // e % f",
        "a - b - c",
        "-a ** -b ** c",
        "~a & b | c ^ d << 2 >> 1",
        "a @ b @ c + d",
        "not a == b and c or d and not (e or f)",
        "a < b <= c != d",
        "a not in b",
        "a is not b",
        "a if b else c if d else e",
        "(a, b), [c, *d], (e,), (), []",
        "f(a, *b, c=1, **d)",
        "f()(x)[0].y.z(1, 2)[a:b, ::2, :, 1:, i]",
        "A[i,]",
        "{'a': 1, **b, (1, 2): [3]}",
        "{}",
        "T.max(T.float32(0), A[vi, vj] + -1e-5)",
    ],
)
def test_expressions_read_as_python_reads_them(text: str) -> None:
    assert show(expr(text)) == python(ast.parse(text, mode="eval"))


@pytest.mark.parametrize(
    "text",
    [
        *["0", "1_000", "0xFF_ff", "0o17", "0b1010", "1e-5", "1.", ".5", "1_0.2_5E+1_0", "00", "3.4028234663852886e38"],
        *["'a'", '"\\n\\t\\\\"', "r'\\n'", "'''a\n\"b\"'''", '"""x"""', "'a' \"b\" 'c'", "''", '""', "u'x'"],
        *["b'x\\x00\\''", "'\\x41\\101\\u00e9\\N{BULLET}\\q'", "Rb'\\d'", "'a\\\nb'", "True", "None", "..."],
    ],
)
def test_literals_have_pythons_values(text: str) -> None:
    with pytest.warns() if "\\q" in text else _nothing():
        expected = ast.literal_eval(text)
    value = expr(text).value
    assert value == expected
    assert type(value) is type(expected)


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_an_f_string_has_text_expressions_conversions_and_formats() -> None:
    tree = show(expr('f"a{{{x!r:>{w}}}}b{d[\'k\']}" "!"'))
    inner = ("FString", (("Text", ">"), ("Interpolation", ("Name", "w"), "", None)))
    assert tree == (
        "FString",
        (
            ("Text", "a{"),
            ("Interpolation", ("Name", "x"), "r", inner),
            ("Text", "}b"),
            ("Interpolation", ("Subscript", ("Name", "d"), ("Constant", "k")), "", None),
            ("Text", "!"),
        ),
    )


def test_places_inside_an_f_string_are_those_of_the_file() -> None:
    tree = expr('f"""\n  {a} {bcd}"""')
    last = tree.parts[-1].value
    assert (last.span.line, last.span.column, last.span.end_column) == (2, 8, 11)


def test_lambdas_and_comprehensions() -> None:
    assert show(expr("lambda i, *r, k=1: i")) == (
        "Lambda",
        (
            ("Param", "i", None, None, syntax.ParamKind.PLAIN),
            ("Param", "r", None, None, syntax.ParamKind.VARARGS),
            ("Param", "k", None, ("Constant", 1), syntax.ParamKind.KEYWORD_ONLY),
        ),
        ("Name", "i"),
    )
    for text, kind in [("[a for a in b]", "list"), ("{a for a in b}", "set"), ("(a for a in b)", "generator")]:
        assert expr(text).kind == kind
    tree = expr("{a: b for a, b in c if d if e for f in g}")
    assert (tree.kind, len(tree.generators), len(tree.generators[0].conditions)) == ("dict", 2, 2)
    assert expr("f(a for a in b)").args[0].kind == "generator"


def test_assignments() -> None:
    assert show(body("a = b, *c = d = e\n")[0])[1] == (
        ("Name", "a"),
        ("Tuple", (("Name", "b"), ("Starred", ("Name", "c")))),
        ("Name", "d"),
    )
    assert show(body("x: T.let[T.int32] = e")[0])[0] == "AnnAssign"
    assert show(body("x: T.int32")[0])[3] is None
    assert [show(body(f"A[0] {op}= 1")[0])[2] for op in ("+", "//", "<<", "**")] == ["+", "//", "<<", "**"]


def test_with_items_stand_bare_or_in_parentheses() -> None:
    expected = show(body("with a as b, c, d as (e, f):\n  pass")[0])
    assert len(expected[1]) == 3
    assert show(body("with (a as b, c, d as (e, f)):\n  pass")[0]) == expected
    assert show(body("with (a as b):\n  pass")[0]) == show(body("with a as b: pass")[0])


def test_elif_is_an_if_in_the_else() -> None:
    (chain,) = body("if a: pass\nelif b: pass\nelse: pass")
    assert isinstance(chain, syntax.If)
    (inner,) = chain.orelse
    assert isinstance(inner, syntax.If)
    assert isinstance(inner.orelse[0], syntax.Pass)


def test_functions_and_classes() -> None:
    (cls,) = body(
        "@I.ir_module\nclass M(Base):\n  '''doc'''\n  @T.prim_func(private=True)\n  @other\n"
        "  def f[n: int, m](a: T.handle, b=1, *args, **kw) -> None:\n    return a; pass\n"
    )
    assert isinstance(cls, syntax.ClassDef)
    function = cls.body[1]
    assert isinstance(function, syntax.FunctionDef)
    assert (cls.name, len(cls.decorators), len(cls.bases)) == ("M", 1, 1)
    assert (function.name, function.type_params, len(function.decorators)) == ("f", ("n", "m"), 2)
    assert [p.kind.value for p in function.params] == ["plain", "plain", "*", "**"]
    assert len(function.body) == 2


def test_imports_bind_names() -> None:
    imports = body("import a.b, c as d\nfrom .. import e as f, g\nfrom h.i import *\n")
    assert [getattr(statement, "names") for statement in imports] == [
        (("a", "a"), ("d", "c")),
        (("f", "...e"), ("g", "...g")),
        (),
    ]
    assert show(body("from a.b import (c,\n  d as e,)")[0]) == ("Import", (("c", "a.b.c"), ("e", "a.b.d")))


@pytest.mark.parametrize(
    "text",
    [
        "    def f():\n        x\n\n    # comment\n        y\n",
        "\tdef f():\n\t\tx\n\t\ty",
        "def f():\r\n  x\r\n\r\n  y\r\n",
        "def f():\r  x\r  y",
        "# head\n\n\ndef f():  # tail\n  x  # tail\n# odd\n        # odder\n  y\n# end",
        "def f():\n  x; y",
        "def f(): x; y;",
        "def f(\n  ):\n  x\\\n\n  y",
        "\n  def f():\n   (x\n)\n   y",
        "def f():\n\x0c  x\n  y\n\n\n   \n",
    ],
)
def test_layout_of_lines_does_not_matter(text: str) -> None:
    (function,) = body(text)
    assert show(function)[5] == (("ExprStmt", ("Name", "x")), ("ExprStmt", ("Name", "y")))


def test_an_empty_text_is_an_empty_file() -> None:
    for text in ("", "\n", "# only a comment", "  \n\t"):
        assert body(text) == ()


def test_identifiers_are_normalised_as_python_does() -> None:
    assert expr("ﬁ").id == "fi"
    assert expr("größe").id == "größe"


def places(node: syntax.Node) -> Iterator[syntax.Node]:
    yield node
    for child in node.children():
        yield from places(child)


def test_every_expression_knows_its_place() -> None:
    text = "x = f(a, b[1:2], -c, k=d.e)\n"
    for node in places(read(text)):
        if isinstance(node, syntax.Name):
            assert text[node.span.column - 1 : node.span.end_column - 1] == node.id
        if isinstance(node, syntax.Subscript):
            assert text[node.span.column - 1 : node.span.end_column - 1] == "b[1:2]"


def test_lines_and_columns_count_in_the_file_a_function_came_from() -> None:
    with pytest.raises(ParseError, match=re.escape("k.py:41:13: error: expected an expression, got end of line")):
        read_module(SourceFile("k.py", "def f():\n  x = 1 +\n", first_line=40, indent=3))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("x = 1 +", "1:8", "expected an expression, got end of line"),
        ("a = = 2", "1:5", "expected an expression, got '='"),
        ("fro i in range(8):\n  x", "1:5", "expected end of line, got 'i', did you mean 'for'?"),
        ("for i in range(8)\n  x", "1:18", "expected ':', got end of line"),
        ("for i in r: x\nelse: y", "2:1", "expected a statement, got 'else'"),
        ("x = a adn b", "1:7", "expected end of line, got 'adn', did you mean 'and'?"),
        ("f(a b)", "1:5", "expected ')' or ',', got 'b'"),
        ("if x:\npass", "2:1", "expected an indented block, got 'pass'"),
        ("with a:\n ", "1:8", "expected an indented block, got end of file"),
        ("x\n  y", "2:3", "expected a statement, got an indented block"),
        ("if x:\n    y\n  z", "3:3", "this line's indentation matches no enclosing block"),
        ("f(1, (2\ny", "1:6", "'(' was never closed"),
        ("f(1]", "1:4", "expected ')' to close '(', got ']'"),
        ("f(\n1]", "2:2", "expected ')' to close '(' on line 1, got ']'"),
        ("x)", "1:2", "unmatched ')'"),
        ("'abc", "1:1", "this string is never closed"),
        ("x = '''abc\n", "1:5", "this string is never closed"),
        ("x \\ y", "1:3", "expected end of line after '\\'"),
        ("x = $", "1:5", "unexpected character '$'"),
        ("x = \0", "1:5", "unexpected character '\\x00'"),
        ("☃ = 1", "1:1", "unexpected character '☃'"),
        ("07", "1:1", "invalid number '07': leading zeros are not allowed, an octal number is written 0o17"),
        ("1__0", "1:1", "invalid number '1__0': an underscore stands between two digits"),
        ("0xg", "1:1", "invalid number '0xg'"),
        ("3j", "1:1", "complex numbers are not part of TVMScript"),
        ("1" * 5000, "1:1", "this number has 5000 characters, at most 4000 are read"),
        ("zz'a'", "1:1", "unknown string prefix 'zz'"),
        ("'\\N{NO SUCH}'", "1:1", "invalid escape '\\N{NO SUCH}' in a string"),
        ("'\\U00110000'", "1:1", "invalid escape '\\U00110000' in a string"),
        ("'\\x4'", "1:1", "invalid escape '\\x' in a string"),
        ("b'é'", "1:1", "a bytes string holds ASCII characters only"),
        ("'a' b'b'", "1:1", "cannot join a bytes string and a string"),
        ("f'{a'", "1:3", "'{' was never closed in an f-string"),
        ("f'a}'", "1:4", "unmatched '}' in an f-string, a brace as text is written '}}'"),
        ("f'{ }'", "1:3", "expected an expression in the braces of an f-string"),
        ("f'{x!z}'", "1:3", "expected '}' after the expression of an f-string"),
        ("f'{a:{b:{c}}}'", "1:9", "braces in an f-string are nested too deeply"),
        ("f'{a b}'", "1:6", "expected ')' or ',', got 'b'"),
        ("try:\n  x", "1:1", "'try' is not part of TVMScript"),
        ("x = yield", "1:5", "'yield' is not part of TVMScript"),
        ("1 = x", "1:1", "expected a name to bind, got a literal"),
        ("f(x) = y", "1:1", "expected a name to bind, got a call"),
        ("for a + b in c: x", "1:5", "expected a name to bind, got an operation"),
        ("a, b: int = c", "1:1", "only a single name can have an annotation"),
        ("a, b += c", "1:1", "+= needs a name or an element on its left"),
        ("x = *a", "1:5", "a starred expression needs a tuple or a list around it"),
        ("(*a)", "1:2", "a starred expression needs a tuple or a list around it"),
        ("x = (a as b)", "1:6", "'as' has its place in a with statement"),
        ("f(a=1, a=2)", "1:8", "keyword argument 'a' is given twice"),
        ("f(a=1, 2)", "1:8", "a positional argument cannot follow a keyword argument"),
        ("def f(a, a): x", "1:10", "duplicate parameter 'a'"),
        ("a if b", "1:7", "expected 'else', got end of line"),
        ("import", "1:7", "expected a name, got end of line"),
    ],
)
def test_what_is_not_of_the_grammar_is_told_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert str(caught.value).startswith(f"f.py:{place}: error: {message}\n")


def test_a_message_shows_the_line_and_a_caret() -> None:
    with pytest.raises(ParseError) as caught:
        read("if x:\n\ty = return\n")
    assert str(caught.value).splitlines()[1:] == ["     y = return", "         ^~~~~~"]


@pytest.mark.parametrize(
    "text",
    [
        *["(" * 400 + ")" * 400, "(" * 5000, "[" * 300 + "]" * 300, "{1:" * 3000 + "1" + "}" * 3000],
        *["not " * 3000 + "x", "-" * 3000 + "x", "x" + ".a" * 3000, "x" + "()" * 3000, " + ".join(["x"] * 3000)],
        *["a if b else " * 3000 + "c", "lambda: " * 3000 + "c"],
        "\n".join("  " * i + "if x:" for i in range(300)) + " pass",
    ],
)
def test_deep_nesting_is_a_diagnostic_or_harmless(text: str) -> None:
    if text.startswith("(" * 400 + ")"):
        assert show(body(text)) == (("ExprStmt", ("Tuple", ())),)  # parentheses alone leave no nodes
        return
    with pytest.raises(ParseError, match=r"nested too deeply|was never closed"):
        read(text)


def test_nesting_below_the_limit_is_read() -> None:
    assert expr("+".join(["x"] * (MAX_NESTING // 2 - 10)))


def test_all_lexical_spellings_of_the_printed_eras_are_read() -> None:
    text = """
    from __future__ import annotations
    # from tvm.script import tir as T
    @T.prim_func
    def mm[n](A: T.Buffer((n, 16), "float32", strides=(20, 1)), x: T.Buffer[6, "int32"], y: T.handle) -> None:
        T.func_attr({"tir.noalias": T.bool(True)})
        # with T.block("root"):
        with T.block([128, 128, T.reduce_axis(0, 128)], "u") as [vi, vj, vk], T.init():
            assert n == 3, ("RuntimeError", ["msg"])
            v: T.let[T.int32] = T.Select(A[0:4, vi] > 0, -1, 2)
            T.store(tmp, T.ramp(i * 8, 1, 8), T.load("float32x8", X.data, i, T.broadcast(True, 8)))
        for i, j in T.grid(8, 8):
            while x[0] < 3:
                if i is not None: break
                elif not j: continue
    """
    (_, function) = body(text)
    assert isinstance(function, syntax.FunctionDef)
    assert len(function.body) == 3


def test_the_spans_of_interpolations_are_those_of_the_text() -> None:
    text = "s = f'''{a}\n  {b + c:{d}} x{\n e}'''\n"
    tree = read_module(SourceFile("f.py", text))
    names: dict[str, tuple[int, int]] = {}
    pending: list[syntax.Node] = [tree]
    while pending:
        node = pending.pop()
        pending.extend(node.children())
        if isinstance(node, syntax.Name):
            names[node.id] = (node.span.line, node.span.column)
    assert names == {"s": (1, 1), "a": (1, 10), "b": (2, 4), "c": (2, 8), "d": (2, 11), "e": (3, 2)}


def test_an_interpolation_is_read_without_the_text_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def record(source: SourceFile, text: str, *at: int) -> Excerpt:
        sizes.append(len(text))
        return Excerpt(source, text, *at)

    monkeypatch.setattr(reader, "Excerpt", record)
    read_module(SourceFile("f.py", "s = f'" + "{n}" * 100 + "'"))
    assert sizes == [308, *[4] * 100]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
    module = parse_tvmscript(f"\ufeff{text}")
    assert module.script() == parse_tvmscript(text).script()
    assert str(parse_mlir(f"\ufeff{module}")) == str(module)


def test_the_tables_of_the_package_are_those_of_the_grammar() -> None:
    file = Path(reader.__file__).with_name("tables.json")
    assert file.read_text() == reader.tables_of_grammar(), "python -m stepwell.tools.grammar writes them"
    assert load_tables("other: grammar") is None


def test_the_tables_of_another_version_of_lark_are_kept_and_damaged_ones_are_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    monkeypatch.setattr("lark.__version__", "1.0")
    program = "x = f'{a + 1}' if b else [c]\n"
    expected = show(read(program))

    def fresh() -> Any:
        reader._lark.cache_clear()
        return show(read(program))

    try:
        assert fresh() == expected
        (tables,) = (tmp_path / "parser").iterdir()
        assert fresh() == expected
        for damaged in (tables.read_bytes()[:1000], b"", bytes(2000)):
            tables.write_bytes(damaged)
            with pytest.warns(RuntimeWarning, match="a parser is made again"):
                assert fresh() == expected
            assert fresh() == expected
    finally:
        reader._lark.cache_clear()
