"""Functions of the caller that build expressions, with TVMScript's namespace, buffers and operators."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false, reportGeneralTypeIssues=false

import pytest

from stepwell import Module, te
from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.frontends.tvmscript.decorators import T

SCALE = T.float32(2)
DTYPE = T.float16
PARAMS = 'A: T.Buffer((16,), "float32"), n: T.int32'


def statements(module: Module) -> list[str]:
    lines = [line.strip() for line in module.script().splitlines()]
    return lines[lines.index("@T.prim_func") + 2 :]


def test_a_function_of_python_uses_the_vocabulary() -> None:
    def smooth(X, i):
        left = T.if_then_else(i > 0, X[i - 1], T.float32(0))
        return T.max(left, X[i]) * SCALE + T.Cast("float32", T.Cast(DTYPE, X[i]))

    @T.prim_func
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = smooth(A, i)

    chosen = "T.if_then_else(i > 0, A[i - 1], T.float32(0.0))"
    cast = 'T.Cast("float32", T.Cast("float16", A[i]))'
    assert statements(f)[1:] == [f"B[i] = T.max({chosen}, A[i]) * T.float32(2.0) + {cast}"]


def test_a_function_of_python_sees_buffers() -> None:
    def last(X):
        assert X.dtype == "float32"
        return X[X.shape[0] - 1], X[0:4], X[:], X.data

    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        element, some, everything, pointer = T.meta_var(last(A))
        B[0] = element
        B[4:8] = some
        B[0:8] = everything
        T.evaluate(T.isnullptr(pointer))

    assert statements(f)[:3] == ["B[0] = A[7]", "B[4:8] = A[0:4]", "B[0:8] = A[0:8]"]


def test_a_function_of_python_calls_functions_that_it_is_given() -> None:
    def twice(g, x):
        return g(g(x))

    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = twice(lambda x: x * 3.0, -A[1])

    assert statements(f) == ["A[0] = A[1] * T.float32(-1.0) * T.float32(3.0) * T.float32(3.0)"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x[0], "only buffers and Python's lists have items, got elements of the buffer 'A'"),
        (lambda x: x.nothing, "an expression has no attribute 'nothing'"),
        (lambda x: list(x), "TypeError: 'Proxy' object is not iterable"),
        (lambda x: T.max(x), "T.max: missing argument 'b'"),
        (lambda x: SCALE(x), "the value of T.float32 cannot be called"),
    ],
)
def test_a_function_of_python_that_fails_is_a_diagnostic(function, expected: str) -> None:
    text = f"@T.prim_func\ndef f({PARAMS}):\n    A[0] = g(A[1])\n"
    with pytest.raises(ParseError) as caught:
        parse_tvmscript(text, "f.py", extra_vars={"g": function})
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("f.py:3:12: error: ")
    assert lines[0].endswith(expected)


def test_a_variable_of_a_function_of_python_is_a_variable_of_the_program() -> None:
    @T.prim_func
    def f(a: T.handle):
        offset = te.var("offset")
        size = te.var("size", "int64")
        A = T.match_buffer(a, (size,), "float32", elem_offset=offset)
        A[0] = A[0] + 1.0

    assert "offset = T.int32()" in f.script()
    assert "size = T.int64()" in f.script()


def test_variables_are_made_in_the_argument_order_of_expressions() -> None:
    text = """
@T.prim_func
def f(a: T.handle):
    n = tvm.te.var("n", "int64")
    m = T.SizeVar("m")
    A = T.match_buffer(a, (n, m), "float32")
    A[0, 0] = A[0, 0] + 1.0
"""
    found = parse_tvmscript(text).script()
    assert "n = T.int64()" in found
    assert "m = T.int32()" in found
