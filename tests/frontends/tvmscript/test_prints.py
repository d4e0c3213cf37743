"""`T.print`: its forms in TVMScript, and the diagnostics of its arguments."""

import pytest

from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4, 2), "float32"), s: T.Buffer((), "float32"), n: T.int32):
    {}
"""


def script(statement: str) -> str:
    module = parse_tvmscript(PROGRAM.format(statement))
    text = module.script()
    assert parse_tvmscript(text).script() == text
    return text.partition("n: T.int32):\n")[2]


@pytest.mark.parametrize(
    ("statement", "printed"),
    [
        ('T.print("text {} %d")', 'T.print("text {} %d")'),
        ("T.print()", 'T.print("")'),
        ("T.print(n, 2, A[0, 0] > 1.0)", 'T.print("{} {} {}", n, 2, A[0, 0] > T.float32(1.0))'),
        ('T.print("n:", n, "s:", s[()])', 'T.print("n: {} s: {}", n, s[()])'),
        ('T.print("A[{}] = {}.", n, A[n, 0])', 'T.print("A[{}] = {}.", n, A[n, 0])'),
        ('T.print(*["n", n])', 'T.print("n {}", n)'),
        ('T.print(f"{n + 1}, {n}", n)', 'T.print("{}, {} {}", n + 1, n, n)'),
        ('T.print(f"no {{}}")', 'T.print("no {}")'),
    ],
)
def test_a_line_has_texts_and_numbers(statement: str, printed: str) -> None:
    assert script(statement).strip() == printed


def test_a_buffer_is_printed_element_by_element() -> None:
    assert script("T.print(A)").split("\n") == [
        "        for i0, i1 in T.grid(4, 2):",
        '            T.print("A[{}, {}] = {}", i0, i1, A[i0, i1])',
    ]
    assert script("T.print(s)").strip() == 'T.print("s[()] = {}", s[()])'


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('T.print("{} {}", n)', "the text has 2 placeholders, got 1 values"),
        ('T.print(n, "{}")', "a line with values cannot have the text '{}'"),
        ('T.print("a", A)', "takes a buffer as its only argument"),
        ("T.print(A[0, 0:2])", "expected a text, a scalar or a buffer, got a value of type float32x2"),
        ("T.print(A.data)", "expected a number, got a pointer"),
        ("T.print(n, end=' ')", "takes its arguments by position"),
        ('T.print(f"{n:4}")', "expected no format and no conversion"),
        ('T.print("\\0")', "cannot have the character U\\+0000"),
        ("T.print([n])", "expected"),
        ("print(n)", "undefined name 'print', T.print prints values of the program"),
    ],
)
def test_arguments_are_diagnosed(statement: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_tvmscript(PROGRAM.format(statement))
