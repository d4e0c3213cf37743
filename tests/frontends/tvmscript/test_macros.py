"""Macros and lambdas: visible names, arguments, errors, and the end of their source."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false, reportGeneralTypeIssues=false
# pyright: reportIndexIssue=false

import textwrap

import pytest

from stepwell import Module
from stepwell.core.errors import OptionError, ParseError
from stepwell.dialects.tir import LoadOp, StoreOp
from stepwell.frontends.tvmscript import budget, parse_tvmscript
from stepwell.frontends.tvmscript.decorators import I, T

N = 3
ONE = T.float32(1)
"""A name of this module, visible to its macros."""


@T.macro
def countdown(A, k):
    A[k] = 1.0
    if k > 0:
        countdown(A, k - 1)


@T.macro
def even(A, k):
    A[k] = 0.0
    if k > 0:
        odd(A, k - 1)


@T.macro
def odd(A, k):
    A[k] = 1.0
    if k > 0:
        even(A, k - 1)


@T.inline
def broken(A, i):
    A[i] = A[i] + missing  # noqa: F821


class Tile:
    def __init__(self, size: int):
        self.size = size

    @T.macro
    def fill(self, A, value=ONE):
        for i in range(self.size):
            A[i] = value


def statements(module: Module) -> list[str]:
    """The statements of a module's last function."""
    lines = [line.strip() for line in module.script().splitlines()]
    return lines[len(lines) - lines[::-1].index("@T.prim_func") + 1 :]


def body(text: str) -> list[str]:
    """The statements of the function of a text."""
    return statements(parse_tvmscript(textwrap.dedent(text), "f.py"))


def refusal(text: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse_tvmscript(textwrap.dedent(text).strip("\n"), "f.py")
    return str(caught.value)


# ---- definitions


def test_a_macro_of_a_class_is_known_with_and_without_the_class() -> None:
    text = """
    @I.ir_module
    class M:
        @T.macro
        def put(A, i):
            A[i] = 1.0
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            put(A, 0)
            cls.put(A, 1)
            M.put(A, 2)
    """
    module = parse_tvmscript(textwrap.dedent(text))
    assert statements(module)[-3:] == [f"A[{i}] = T.float32(1.0)" for i in range(3)]


def test_a_macro_of_a_decorated_class_is_known_too() -> None:
    @I.ir_module
    class M:
        @T.macro
        def put(A, i):
            A[i] = ONE

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            cls.put(A, 0)  # noqa: F821
            put(A, N)  # noqa: F821

    assert statements(M)[-2:] == ["A[0] = T.float32(1.0)", "A[3] = T.float32(1.0)"]


def test_macros_of_python_call_themselves_and_each_other() -> None:
    @T.prim_func
    def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        countdown(A, 40)
        even(B, 2)

    assert statements(f)[40:] == [
        "A[0] = T.float32(1.0)", "B[2] = T.float32(0.0)", "B[1] = T.float32(1.0)", "B[0] = T.float32(0.0)",
    ]  # fmt: skip


def test_a_method_is_a_macro_of_its_object() -> None:
    small, large = Tile(2), Tile(8)

    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        large.fill(A)
        small.fill(A, value=2.0)

    assert statements(f) == [
        "for i in range(8):", "A[i] = T.float32(1.0)", "for i in range(2):", "A[i] = T.float32(2.0)",
    ]  # fmt: skip


def test_a_macro_sees_what_names_were_when_it_was_defined() -> None:
    text = """
    n = 1
    @T.macro
    def m(A):
        A[n] = later
    n = 2
    later = 5.0
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        m(A)
        A[n] = 0.0
    """
    assert body(text) == ["A[1] = T.float32(5.0)", "A[2] = T.float32(0.0)"]


def test_defaults_see_the_names_of_the_definition() -> None:
    text = """
    k = 2
    @T.macro
    def m(A, i, v=k * 1.5):
        A[i] = v
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        for k in range(4):
            m(A, k)
    """
    assert body(text) == ["for k in range(4):", "A[k] = T.float32(3.0)"]


@pytest.mark.parametrize(
    ("decorator", "message"),
    [
        ("@T.macro(1)", "T.macro takes no positional arguments"),
        ("@T.macro(clean=True)", "T.macro has no parameter 'clean'"),
        ("@T.macro(hygienic=1)", "expected True or False for hygienic, got an integer"),
        ("@T.inline(hygienic=False)", "T.inline has no parameter 'hygienic'"),
    ],
)
def test_decorators_of_macros_that_mean_nothing(decorator: str, message: str) -> None:
    text = f"{decorator}\ndef m(A):\n    pass\n@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    m(A)\n"
    assert f"error: {message}\n" in refusal(text)
    assert f"error: {message}\n" in refusal(
        f"@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    {decorator}\n    def m(A):\n        pass\n    m(A)\n"
    )


def test_options_of_pythons_decorator_are_checked() -> None:
    with pytest.raises(OptionError, match="expected True or False for hygienic, got 1"):
        T.macro(hygienic=1)


def test_a_macro_has_no_type_parameters() -> None:
    text = "@T.macro\ndef m[n](A):\n    pass\n@T.prim_func\ndef f():\n    pass\n"
    assert "error: the macro 'm' has type parameters, which only a prim_func can have" in refusal(text)


@pytest.mark.parametrize("decorator", ["", "@T.prim_func\n    "])
def test_other_functions_have_no_place_in_a_function(decorator: str) -> None:
    text = f"@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    {decorator}def g(x):\n        return x\n"
    assert "error: a function inside a function must be a @T.macro or a @T.inline" in refusal(text)


# ---- names


def test_a_macro_in_a_block_finds_its_arguments_before_the_block() -> None:
    for decorator in ("@T.macro", "@T.macro(hygienic=False)"):
        text = f"""
        {decorator}
        def axes(A, j, extent):
            v = T.axis.spatial(extent, j)
            T.where(j < 3)
            A[v] = 1.0
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    axes(A, i, 4)
        """
        assert body(text)[3:5] == ["v = T.axis.spatial(4, i)", "T.where(i < 3)"]


def test_names_of_a_macro_stay_in_it() -> None:
    text = """
    @T.macro(hygienic=False)
    def m(A, i):
        x: T.float32 = A[i]
        A[i] = x + x
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        m(A, 0)
        A[0] = x
    """
    assert "f.py:8:12: error: undefined name 'x'" in refusal(text)


def test_a_lambda_sees_names_as_they_are_when_it_is_called() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        late = T.meta_var([lambda: k for k in range(3)])
        early = T.meta_var([lambda k=k: k for k in range(3)])
        A[late[0]()] = 0.0
        A[early[1]()] = 1.0
    """
    assert body(text) == ["A[2] = T.float32(0.0)", "A[1] = T.float32(1.0)"]


# ---- arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("m()", "'m': missing argument 'A'"),
        ("m(A)", "'m': missing argument 'i'"),
        ("m(A, 1, 2, 3)", "'m' takes at most 3 arguments by position, got 4"),
        ("m(A, 1, i=2)", "'m': 'i' is given twice or can only be given by position"),
        ("m(A, 1, valeu=2)", "'m' has no parameter 'valeu', did you mean 'value'?"),
        ("m(A=A, i=1)", "'m': missing argument 'A'"),
    ],
)
def test_arguments_follow_pythons_rules(call: str, message: str) -> None:
    text = f"""
    @T.macro
    def m(A, /, i, value=1.0):
        A[i] = value
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        {call}
    """
    lines = refusal(text).splitlines()
    assert lines[0] == f"f.py:6:5: error: {message}"
    assert len(lines) == 3


@pytest.mark.parametrize("statement", ["A[0] = m(A)", "x = m(A)", "x: T.float32 = m(A)", "T.evaluate(m(A) + 1)"])
def test_a_macro_has_no_value(statement: str) -> None:
    text = f"""
    @T.macro
    def m(A):
        A[0] = 1.0
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        {statement}
    """
    assert "the macro 'm', which has no value" in refusal(text)


# ---- errors


def test_an_error_in_a_macro_shows_its_line_and_the_calls() -> None:
    text = """
    @T.macro
    def inner(A, i):
        A[i] = nothing
    @T.macro
    def outer(A):
        inner(A, 1)
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        outer(A)
    """
    assert refusal(text) == (
        "f.py:3:12: error: undefined name 'nothing'\n"
        "        A[i] = nothing\n"
        "               ^~~~~~~\n"
        "f.py:6:5: note: in this call of 'inner'\n"
        "        inner(A, 1)\n"
        "        ^~~~~~~~~~~\n"
        "f.py:9:5: note: in this call of 'outer'\n"
        "        outer(A)\n"
        "        ^~~~~~~~"
    )


def test_an_error_in_a_macro_of_python_shows_both_places_of_the_file() -> None:
    with pytest.raises(ParseError) as caught:

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            broken(A, 1)

    shown = str(caught.value).splitlines()
    with open(__file__) as source:
        lines = source.read().splitlines()
    where = [line.split(":", 2)[1] for line in shown if line.startswith(__file__)]
    assert [lines[int(number) - 1] for number in where] == [shown[1][4:], " " * 12 + shown[4].strip()]
    assert shown[0].endswith("error: undefined name 'missing'")
    assert shown[3].endswith("note: in this call of 'broken'")


def test_what_the_dialect_refuses_in_a_macro_shows_its_line_and_the_call() -> None:
    text = """
    @I.ir_module
    class M:
        @T.macro
        def m(A):
            cls.g(A)
        @T.prim_func
        def g(n: T.int32):
            T.evaluate(n)
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            m(A)
    """
    lines = refusal(text).splitlines()
    assert lines[0] == "f.py:5:9: error: (C2) argument 0 is memref<4xf32>, expected i32"
    assert lines[3] == "f.py:11:9: note: in this call of a macro"
    assert lines[4].strip() == "m(A)"


def test_an_error_in_a_lambda_shows_its_call() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        g = T.meta_var(lambda x: x + nothing)
        A[0] = g(1.0)
    """
    lines = refusal(text).splitlines()
    assert lines[0] == "f.py:3:34: error: undefined name 'nothing'"
    assert lines[3] == "f.py:4:12: note: in this call of the lambda"


def test_many_calls_are_not_all_shown() -> None:
    text = """
    @T.macro
    def m(A, k):
        if k == 0:
            A[0] = nothing
        m(A, k - 1)
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        m(A, 20)
    """
    lines = refusal(text).splitlines()
    assert lines.count("(14 more calls)") == 1
    assert sum("note: in this call of 'm'" in line for line in lines) == 7
    assert lines[-3] == "f.py:8:5: note: in this call of 'm'"


def test_a_macro_that_never_ends_is_refused() -> None:
    text = "@T.macro\ndef m(A):\n    m(A)\n@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    m(A)\n"
    assert refusal(text).startswith("f.py:3:5: error: macros and lambdas are nested more than 64 deep\n")


def test_macros_that_multiply_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LIMITS", {**budget.LIMITS, "evaluation steps": 3000})
    text = """
    @T.macro
    def m(k):
        if k > 0:
            m(k - 1)
            m(k - 1)
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        m(40)
    """
    assert "evaluation steps while the program is read\n" in refusal(text)


# ---- places


def test_ops_of_a_macro_are_at_their_lines_in_it() -> None:
    text = """
    @T.macro
    def m(A, x):
        A[0] = x
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        m(A, A[1] + 1.0)
    """
    places = {}
    for op in parse_tvmscript(textwrap.dedent(text).strip("\n")).op.walk():
        if isinstance(op, LoadOp | StoreOp):
            places[op.name] = op.location.line.data  # pyright: ignore[reportAttributeAccessIssue]
    assert places == {"tir.store": 3, "tir.load": 6}


def test_reading_a_text_again_gives_the_same_names_of_blocks() -> None:
    @T.macro
    def m(A):
        with T.block("b"):
            A[0] = 1.0

    def twice():
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            m(A)
            m(A)

        return f.script()

    first = twice()
    assert 'T.block("b_1")' in first
    assert first == twice()
