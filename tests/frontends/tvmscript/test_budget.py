"""Small texts cost little: the evaluation of any text ends within the budget of its module, with little memory."""

import re
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import settings

from stepwell.core.diagnostics import SourceFile, Span
from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import budget, parse_tvmscript
from stepwell.frontends.tvmscript.budget import LIMITS, Budget
from stepwell.tools.testing.parse_time import random_program

HEADER = 'def f(A: T.Buffer((16,), "float32"), n: T.int32):\n'
SPAN = Span(SourceFile("f.py", "text"), 1, 1, 1, 2)
DOUBLED = "a = T.meta_var([1])\n" + "a = T.meta_var([a, a])\n" * 40
SHARED = "a = T.meta_var([0] * 1000)\nb = T.meta_var([a] * 1000)\nc = T.meta_var([b] * 1000)\n"
MACRO = "@T.macro\ndef m(A):\n" + "    A[0] = A[1] + 1.0\n" * 200


def function(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"@T.prim_func\n{HEADER}{lines}"


def value(expression: str) -> str:
    return function(f"x = T.meta_var({expression})\nA[0] = 1.0")


TWICE = "@T.macro\ndef m(k):\n    if k > 0:\n        m(k - 1)\n        m(k - 1)\n"
CONSTANTS = "a0 = 1\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(40))
BREAK = "    if x:\n        A[i] = 1.0\n    else:\n        break\n"
JUMPS = "x = [[0] * 1000] * 10\nfor i in range(8):\n" + BREAK * 100
DEPTH = "statements are nested more than 100 deep"
STEPS, ITEMS, TEXT, OPERATIONS, EXPANDED = LIMITS

COSTLY = {
    "all": (value("all(range(1, 10**11))"), ITEMS),
    "any": (value("any(range(10**30))"), ITEMS),
    "two clauses": (value("[j for i in range(999) for j in range(999)]"), STEPS),
    "nested": (value("[[j for j in range(999)] for i in range(999)]"), STEPS),
    "generator": (value("all(j + 1 for i in range(999) for j in range(999) if True)"), STEPS),
    "long range": (value("[j for j in range(10**30)]"), ITEMS),
    "float in range": (value("1.5 in range(10**10)"), "operator"),
    "enumerate": (value("enumerate(range(10**10))"), ITEMS),
    "zip": (value("zip(range(10**10), range(10**10))"), ITEMS),
    "dict of zip": (value("dict(zip(range(10**8), range(10**8)))"), ITEMS),
    "list": (value("list(range(10**10))"), ITEMS),
    "tuple": (value("tuple(range(10**10))"), ITEMS),
    "sorted": (value("sorted(range(10**10))"), ITEMS),
    "reversed": (value("reversed(range(10**10))"), ITEMS),
    "max": (value("max(range(10**10))"), ITEMS),
    "sum": (value("sum(range(10**11))"), ITEMS),
    "starred": (value("[*range(10**10)]"), ITEMS),
    "str of shared lists": (function(f"{SHARED}x = T.meta_var(str(c))"), ITEMS),
    "f-string of shared lists": (function(f'{SHARED}assert n > 0, f"{{c}}"'), ITEMS),
    "doubled": (function(DOUBLED), ITEMS),
    "doubled and compared": (function(f"{DOUBLED}b = T.meta_var(a == a)"), ITEMS),
    "doubled by lets": (function("a = [1]\n" + "a = [a, a]\n" * 40), ITEMS),
    "doubled key": (function(f"{DOUBLED.replace('[', '(').replace(']', ',)')}x = T.meta_var({{a: 1}})"), ITEMS),
    "doubled lambdas": (value("(lambda f: f(f(f(f([1])))))(lambda a: [a] * 99)"), ITEMS),
    "round": (value("round(5, -10**9)"), "round(): -1000000000 digits, expected -4096 to 4096"),
    "sum of lists": (value("sum([[0] * 4000 for i in range(90000)], [])"), ITEMS),
    "list of lists": (value("[[0] * 4000 for i in range(90000)]"), ITEMS),
    "dictionary of lists": (value("{i: [0] * 4000 for i in range(90000)}"), ITEMS),
    "set": (value("{i for i in range(900)} == {i for i in range(900)}"), None),
    "lambda in a comprehension": (value("[(lambda k: [j for j in range(k)])(999) for i in range(999)]"), STEPS),
    "texts": (value("['a' * 4000 for i in range(9000)]"), TEXT),
    "texts of f-strings": (function("s = 'a' * 4000\nx = [f'{s}{s}{s}' for i in range(9000)]"), TEXT),
    "texts of shared texts": (function("s = 'a' * 4000\nx = T.meta_var(str([[s] * 4000] * 4000))"), TEXT),
    "big numbers": (value("[str(2**1000) for i in range(9000)]"), TEXT),
    "slices": (value("[xs[1:] for xs in [[0] * 4000] for i in range(1000)]"), ITEMS),
    "items of a dictionary": (value("[dict(zip(range(9**5), 'a' * 4000)).items() for i in range(9**9)]"), ITEMS),
    "constants defined by constants": (CONSTANTS + value("a40"), STEPS),
    "grid": (function("for i in T.grid(*[2 for _ in range(9000)]):\n    A[0] = 1.0"), DEPTH),
    "sequence of jumps": (function("for i in range(8):\n" + "    if A[i] > 0.0:\n        continue\n" * 200), DEPTH),
    "attributes": (function("for _ in T.grid(1):\n" + "    T.attr(0, 'a', 1)\n" * 300), DEPTH),
    "conditions of jumps": (function(JUMPS), ITEMS),
    "macros": (f"{MACRO}{function('m(A)' + chr(10) + 'm(A)' + chr(10) * 2)}" + "    m(A)\n" * 200, EXPANDED),
    "recursive macros": (TWICE + function("m(40)"), STEPS),
    "expressions": (value("[A[0] + 1.0 for i in range(9000)]"), OPERATIONS),
    "sum of expressions": (value("[sum([A[0] for i in range(4000)]) for j in range(4000)]"), OPERATIONS),
    "starred operands": (value("T.max(*[1.0 for i in range(20000)])"), OPERATIONS),
    "parsed texts": (value("[T.Buffer(('1' + '+1' * 200,), 'float32') for i in range(9000)]"), STEPS),
}  # fmt: skip

PROGRAM = """
import pathlib, resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import budget, parse_tvmscript
budget.LIMITS = {work: limit // SHARE for work, limit in budget.LIMITS.items()}
for text in TEXTS:
    try:
        parse_tvmscript(text)
        print("a program")
    except ParseError as error:
        print(str(error).splitlines()[0])
"""


def outcomes(texts: list[str], seconds: int, share: int) -> list[str]:
    """The message of each text, parsed one after another in a process of limited time and memory; the budget is divided
    by `share`.
    """
    values = {"TEXTS": repr(texts), "SECONDS": str(seconds), "MEMORY": str(800 << 20), "SHARE": str(share)}
    program = PROGRAM
    for name, text in values.items():
        program = program.replace(name, text)
    result = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    assert len(lines) == len(texts), f"{result.stderr[-2000:]}\n{texts[len(lines)][:2000]}"
    assert result.returncode == 0
    return lines


@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_each_costly_text_is_refused_within_the_limits_of_its_process(share: int) -> None:
    messages = outcomes([text for text, _ in COSTLY.values()], seconds=100, share=share)
    expected = {name: part or "a program" for name, (_, part) in COSTLY.items()}
    wrong = {name: message for (name, part), message in zip(expected.items(), messages) if part not in message}
    assert not wrong


@pytest.mark.fuzz
def test_random_programs_end_within_the_limits_of_their_process(fuzz_seed: int) -> None:
    count = settings().max_examples * 4
    texts = [random_program(Random(fuzz_seed * count + i)) for i in range(count)]
    outcomes(texts, seconds=10 + 5 * count, share=10)


def test_the_error_is_at_the_work_that_exceeds_the_limit() -> None:
    with pytest.raises(ParseError, match=rf"f.py:3:26: error: more than {LIMITS[ITEMS]} items of lists while"):
        parse_tvmscript(value("[1] + list(range(10**9))"), "f.py")


def test_the_text_itself_is_no_repeated_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LIMITS", {**LIMITS, STEPS: 1, OPERATIONS: 1})
    parse_tvmscript(function("A[0] = A[1] + 1.0\n" * 100))
    with pytest.raises(ParseError, match=r"more than \d+ operations"):
        parse_tvmscript(function("x = T.meta_var(A[0] + A[1])\nA[0] = x + x + x + x + x + x\n"))


@pytest.mark.parametrize(
    ("operand", "items", "characters"),
    [
        (1, 0, 0),
        (2**300, 0, 100),
        ("abc", 0, 3),
        ([1, [2, 3], "ab"], 5, 2),
        ([["x"] * 3] * 4, 16, 12),
        ({"k": (1, 2)}, 3, 1),
        (range(9, 0, -2), 5, 0),
        (range(10**4), 10**4, 0),
        (np.zeros((3, 4)), 12, 0),
    ],
)
def test_items_are_counted_through_nesting(operand: object, items: int, characters: int) -> None:
    for work, amount in ((ITEMS, items), (TEXT, characters)):
        Budget(0, {**LIMITS, work: amount}).charge_value(operand, SPAN)
        if amount:
            with pytest.raises(ParseError, match=work):
                Budget(0, {**LIMITS, work: amount - 1}).charge_value(operand, SPAN)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("A[10**30] = 1.0", f"{10**30} does not fit int64"),
        ("A[0] = A[10**30]", f"{10**30} does not fit int64"),
        ("x: T.float32 = 10**400", "this integer does not fit float32"),
        ("x = T.meta_var(int('f' * 4000, 16) - 'a')", "cannot compute an integer - 'a'"),
    ],
)
def test_huge_numbers_are_refused_at_their_place(statement: str, message: str) -> None:
    with pytest.raises(ParseError, match=rf"^f.py:3:\d+: error: {re.escape(message)}"):
        parse_tvmscript(function(statement), "f.py")
