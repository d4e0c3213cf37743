"""`break`, `continue` and loops that count down: programs compute what Python computes."""

import textwrap
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import build
from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript

PYTHON = SimpleNamespace(attr=lambda *_: nullcontext(), serial=lambda start, stop, step: range(start, stop, step))
"""The words of TVMScript in the random programs, for Python."""


def results(body: str) -> tuple[list[int], list[list[int]]]:
    """The elements of A after a call in Python, and after calls by the oracle and, after a round trip, native code."""
    text = "def f(A: T.Buffer((8,), 'int32')):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    names: dict[str, Any] = {"T": PYTHON}
    exec(text.replace(": T.Buffer((8,), 'int32')", ""), names)
    expected = [0] * 8
    names["f"](expected)
    module = parse_tvmscript(f"@T.prim_func\n{text}")
    module.verify()
    again = parse_tvmscript(module.script())
    assert again.script() == module.script()
    got: list[list[int]] = []
    for program, target in ((module, "python"), (again, "llvm")):
        array = np.zeros(8, "int32")
        build(program, target=target)(array)
        got.append(array.tolist())
    return expected, got


@pytest.mark.parametrize("count", [1, 50, 90])
def test_sequences_of_jumps(count: int) -> None:
    jumps = "".join(f"    if i == {n}:\n        continue\n" for n in range(count))
    expected, got = results(f"for i in range({count + 8}):\n{jumps}    A[i % 8] = i")
    assert got == [expected, expected]


ENDS = range(-1, 5)


@st.composite
def bodies(draw: st.DrawFn, depth: int = 3, loops: int = 0) -> str:
    """The lines of a body with `depth` more levels, in `loops` loops."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines.append(draw(_statement(depth, loops)))
    return "\n".join(lines)


@st.composite
def _statement(draw: st.DrawFn, depth: int, loops: int) -> str:
    kinds = ["store", *(["jump"] * 2 if loops else []), *(["if", "if", "for", "while", "with"] if depth else [])]
    k, c = draw(st.integers(0, 6)), draw(st.integers(0, 3))

    def inner(more: int) -> str:
        return textwrap.indent(draw(bodies(depth - 1, loops + more)), "    ")

    match draw(st.sampled_from(kinds)):
        case "store":
            variable = f" + i{draw(st.integers(1, loops))}" if loops else ""
            return f"A[{k}] = (A[{k}] * 3 + {c}{variable}) % 97"
        case "jump":
            return draw(st.sampled_from(["break", "continue"]))
        case "if":
            orelse = f"\nelse:\n{inner(0)}" if draw(st.booleans()) else ""
            return f"if A[{k}] % {c + 2} == {draw(st.integers(0, 1))}:\n{inner(0)}{orelse}"
        case "for":
            start, stop, step = (
                draw(st.integers(-1, 4)),
                draw(st.integers(-1, 4)),
                draw(st.sampled_from([1, 2, -1, -2])),
            )
            head = draw(st.sampled_from(["range({}, {}, {})", "T.serial({}, {}, step={})"]))
            return f"for i{loops + 1} in {head.format(start, stop, step)}:\n{inner(1)}"
        case "while":
            # A[7] bounds the number of iterations of all while loops
            return f"while A[7] < {c + 3}:\n    A[7] = A[7] + 1\n    i{loops + 1} = A[7]\n{inner(1)}"
        case _:
            return f'with T.attr(0, "pragma_x", 1):\n{inner(0)}'


@given(body=bodies())
def test_programs_with_jumps_compute_what_python_computes(body: str) -> None:
    expected, got = results(body)
    assert got == [expected, expected]


CASES = {
    "continue": """
        for i in range(8):
            if i == 3:
                continue
            A[i] = 1
    """,
    "break": """
        for i in range(8):
            if i == 3:
                break
            A[i] = 1
    """,
    "statements after a jump": """
        for i in range(8):
            A[i] = 1
            continue
            A[i] = 2
    """,
    "both branches": """
        for i in range(8):
            if i < 3:
                continue
            else:
                break
            A[i] = 1
    """,
    "part of a branch": """
        for i in range(8):
            if i > 1:
                if i == 3:
                    continue
                A[i] = 1
            A[i] = A[i] + 2
    """,
    "an inner loop": """
        for i in range(4):
            for j in range(4):
                if j > i:
                    break
                A[i] = j
    """,
    "a while": """
        while A[0] < 5:
            A[0] = A[0] + 1
            if A[0] == 2:
                continue
            if A[0] == 4:
                break
            A[1] = 1
    """,
    "a frame": """
        for i in range(8):
            with T.attr(0, "pragma_x", 1):
                if i == 2:
                    break
            A[i] = 1
    """,
    "counting down": """
        for i in range(7, 1, -2):
            A[i] = i
    """,
    "no iterations": """
        for i in range(1, 7, -2):
            A[i] = i
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_jumps_and_loops_that_count_down(name: str) -> None:
    expected, got = results(CASES[name])
    assert got == [expected, expected]


def test_the_test_of_a_while_is_not_evaluated_after_a_break() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), N: T.Buffer((1,), "int32")):
        N[0] = 0
        while A[N[0]] >= 0:
            N[0] = N[0] + 1
            if N[0] == 4:
                break
    """
    n = np.zeros(1, "int32")
    build(parse_tvmscript(textwrap.dedent(text)), target="python")(np.ones(4, "int32"), n)
    assert n[0] == 4


def test_a_condition_of_python_selects_a_jump() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        for i in range(8):
            if STOP:
                continue
            A[i] = 1
    """
    printed = [parse_tvmscript(textwrap.dedent(text), extra_vars={"STOP": stop}).script() for stop in (True, False)]
    assert "A[i] = 1" not in printed[0]
    assert "A[i] = 1" in printed[1]
    assert all("if" not in text.split("def f")[1] for text in printed)


def test_iterations_of_a_parallel_loop_may_be_left() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        for i in T.parallel(8):
            if i > 2:
                if i == 5:
                    T.continue_loop()
                A[i] = 1
            A[i] = A[i] + 1
    """
    for target in ("python", "llvm"):
        array = np.zeros(8, "int32")
        build(parse_tvmscript(textwrap.dedent(text)), target=target)(array)
        np.testing.assert_array_equal(array, [1, 1, 1, 2, 2, 0, 2, 2])


def test_threads_of_a_kernel_leave_their_loops() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in range(8):
                if A[i, j] == 0:
                    break
                B[i] = j
    """
    a = np.tri(8, dtype="int32")
    for target in ("python", "cuda-emulated"):
        b = np.full(8, -1, "int32")
        build(parse_tvmscript(textwrap.dedent(text)), target=target)(a, b)
        np.testing.assert_array_equal(b, np.arange(8))


REFUSED = {
    "break": "break outside of a loop",
    "for i in range(8):\n    with T.block('b'):\n        vi = T.axis.spatial(8, i)\n        continue": (
        "break and continue cannot leave a block"
    ),
    "for i in T.parallel(8):\n    break": "break takes a single loop whose iterations run in order",
    "for i, j in T.grid(2, 4):\n    break": "break takes a single loop whose iterations run in order",
    "for i in range(2):\n    with T.While(A[0] < 1):\n        break": "not in T.While",
    "for i in range(8, 0, 0):\n    pass": "step 0 of a loop, expected a positive or negative one",
}


@pytest.mark.parametrize("body", REFUSED)
def test_jumps_without_a_meaning_are_refused(body: str) -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n" + textwrap.indent(body, "    ")
    with pytest.raises(ParseError, match=REFUSED[body]):
        parse_tvmscript(text)
