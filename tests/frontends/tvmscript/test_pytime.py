"""Python's own features in a program: methods, sums, comprehensions and strings."""

import pytest

from stepwell import Module
from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript

PARAMS = 'A: T.Buffer((16,), "float32"), n: T.int32'


def statements(module: Module) -> list[str]:
    lines = [line.strip() for line in module.script().splitlines()]
    return lines[lines.index("@T.prim_func") + 2 :]


def message(expression: str) -> str:
    """The message of an assertion, given as an expression, whose f-strings are texts of the parser."""
    text = f"@T.prim_func\ndef f({PARAMS}):\n    for i in range(4):\n        assert n > 0, '' + ({expression})\n"
    line = statements(parse_tvmscript(text, extra_vars={"k": 7, "names": ["a", "b"]}))[1]
    return line.removeprefix('assert n > 0, "').removesuffix('"')


def refusal(expression: str) -> str:
    with pytest.raises(ParseError) as caught:
        message(expression)
    return str(caught.value).splitlines()[0].partition(": error: ")[2]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f'k is {k}'", "k is 7"),
        ("f'{k=} {k + 1 = }'", "k=7 k + 1 = 8"),
        ("f'{k=:03d} {k!r:>3}'", "k=007   7"),
        ("f'{names} {(1, k)} {None}'", "['a', 'b'] (1, 7) None"),
        ("f'{n} {i} {n * 2 + i}'", "n i n * 2 + i"),
        ("f'{A} {A.dtype} {A[i + 1]}'", "A float32 A[i + 1]"),
        ("f'{T.float32(1)}'", "T.float32(1.0)"),
        ("f'{n!s}'", "n"),
        ("'_'.join([f'{x}{j}' for j, x in enumerate(names)])", "a0_b1"),
        ("'-'.join(names).upper().replace('-', '+')", "A+B"),
        ("'a b'.split()[1].title() + 'xs'.removesuffix('s')", "Bx"),
        ("str(names.index('b')) + str({'x': 3}.get('x'))", "13"),
        ("''.join([f'{key}{value}' for key, value in {'x': 1, 'y': 2}.items()])", "x1y2"),
        ("'S' * len(A.shape) + 'R'", "SR"),
    ],
)
def test_text_is_computed_as_python_computes_it(expression: str, expected: str) -> None:
    assert message(expression) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("f'n is {n}, {k:02} of {A}'", '("RuntimeError", ["n is ", n, ", 07 of A"])'),
        ("f'{n * 2 + i!s}'", '("RuntimeError", [n * 2 + i])'),
        ("('ValueError', ['n: ', f'{n} < {k}', *names])", '("ValueError", ["n: ", n, " < 7ab"])'),
        ("('ValueError', f'{A[i]}')", '("ValueError", [A[i]])'),
        ("f'{k}, {{}}'", '"7, {}"'),
    ],
)
def test_an_fstring_as_a_message_has_the_values_of_its_expressions(message: str, expected: str) -> None:
    for statement in (f"assert n > 0, {message}", f"T.Assert(n > 0, message={message})"):
        head = f"with {statement}:\n            A[i] = 0.0" if "T.Assert" in statement else statement
        text = f"@T.prim_func\ndef f({PARAMS}):\n    for i in range(4):\n        {head}\n"
        module = parse_tvmscript(text, extra_vars={"k": 7, "names": ["a", "b"]})
        assert statements(module)[1] == f"assert n > 0, {expected}"
        assert parse_tvmscript(module.script()).script() == module.script()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("assert n > 0, f'{n:3}'", "the program formats this value: expected no format and no conversion"),
        ("assert n > 0, f'{n!r}'", "the program formats this value: expected no format and no conversion"),
        ("assert n > 0, f'{n} {{}}'", "a message with values cannot have the text '{}'"),
        ("assert n > 0, f'{A[0:4]}'", "a message has texts and scalars, got a value of type float32x4"),
        ("assert n > 0, f'{T.int8}'", "expected an expression, got 'T.int8'"),
        ("T.Assert()", "T.Assert takes a condition and a message"),
        ("T.Assert(n > 0, 'x', condition=n > 1)", "T.Assert takes a condition and a message"),
    ],
)
def test_a_message_that_has_no_values(statement: str, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_tvmscript(f"@T.prim_func\ndef f({PARAMS}):\n    {statement}\n")
    assert str(caught.value).splitlines()[0].partition(": error: ")[2] == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f'{n:3}'", "an expression is written as it stands, without format or !r"),
        ("f'{n!r}'", "an expression is written as it stands, without format or !r"),
        ("f'{T.int8}'", "expected something with a text, got 'T.int8'"),
        ("f'{names:3}'", "unsupported format string passed to list.__format__"),
        ("'%d' % 3", "formatting by % is not supported, write an f-string"),
        ("'{}'.format(3)", "a string has no attribute 'format' here, write an f-string"),
        ("''.join([1])", "join(): sequence item 0: expected str instance, int found"),
        ("''.join(3)", "join(): can only join an iterable"),
        ("('a' * 4000).replace('a', 'b' * 4000)", "the result of 'replace' is too large"),
        ("('a' * 4000).join(['b' for _ in range(1000)])", "the result of 'join' is too large"),
        ("names.append('c')", "a list has no attribute 'append' here"),
        ("str(names.index('c'))", "index(): 'c' is not in list"),
        ("str(sum([1], 2, 3))", "sum takes at most 2 arguments, got 3"),
        ("str(sum(3))", "expected something to iterate over, got an integer"),
    ],
)
def test_text_that_cannot_be_computed(expression: str, expected: str) -> None:
    assert refusal(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sum([A[k] for k in range(3)])", "A[0] + A[1] + A[2]"),
        ("sum(A[k] for k in range(4) if k % 2)", "A[1] + A[3]"),
        ("sum([A[0]], A[1])", "A[1] + A[0]"),
        ("sum([1, 2]) + A[0]", "T.float32(3.0) + A[0]"),
        ("[A[i + j] for i in range(2) for j in range(2)][3]", "A[2]"),
        ("[w for w in [A[5]]][0] * [1, 2][0]", "A[5]"),
    ],
)
def test_sums_and_comprehensions_of_expressions(expression: str, expected: str) -> None:
    module = parse_tvmscript(f"@T.prim_func\ndef f({PARAMS}):\n    A[0] = {expression}\n")
    assert statements(module) == [f"A[0] = {expected}"]


def test_the_names_of_a_comprehension_are_its_own() -> None:
    text = f"@T.prim_func\ndef f({PARAMS}):\n    xs = [k for k in range(3)]\n    A[k] = 0.0\n"
    with pytest.raises(ParseError, match="undefined name 'k'"):
        parse_tvmscript(text)


def test_a_number_that_was_computed_leaves_no_trace_where_it_changes_nothing() -> None:
    text = (
        f"@T.prim_func\ndef f({PARAMS}):\n    A[n * one + zero] = zero + A[n - zero] * one\n    A[n + 0] = 1.0 * A[n]\n"
    )
    module = parse_tvmscript(text, extra_vars={"zero": 0, "one": 1})
    assert statements(module) == ["A[n] = A[n]", "A[n + 0] = T.float32(1.0) * A[n]"]
