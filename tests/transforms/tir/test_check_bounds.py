"""`tir-check-bounds`: accesses that are certainly executed and certainly out of bounds are errors of the build."""

import textwrap

import pytest

from stepwell import Module, build, parse_tvmscript
from stepwell.core.errors import PassError

PARAMS = 'A: T.Buffer((3,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32'


def program(body: str) -> Module:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return parse_tvmscript(f"@T.prim_func\ndef f({PARAMS}):\n{text}\n", "f.py")


REFUSED = {
    "a read in a loop": ("for i in range(64):\n    B[i] = A[i]", "A", 63, 3),
    "a store in a loop": ("for i in range(64):\n    A[i] = B[i]", "A", 63, 3),
    "a negative index": ("for i in range(2):\n    B[i] = A[1 - 2 * i]", "A", -1, 3),
    "a loop with a step": ("for i in range(0, 4, 2):\n    B[i] = A[i + 1]", "A", 3, 3),
    "every index of an interval": ("for i in range(64):\n    B[i] = A[i // 8 + 3]", "A", 3, 3),
    "an index without variables": ("B[0] = A[n - n - 1]", "A", -1, 3),
    "a lane of a vector": ("B[T.Ramp(61, 1, 4)] = T.Broadcast(T.float32(1), 4)", "B", 64, 64),
    "a branch that is always taken": ("for i in range(8):\n    if i < 8:\n        B[i] = A[i]", "A", 7, 3),
    "the first iteration before a call": (
        "for i in range(8):\n    B[i] = A[3 - i]\n    T.evaluate(T.call_extern('int32', 'f'))", "A", 3, 3,
    ),
    "a block": (
        "for i, j in T.grid(4, 16):\n    with T.block('b'):\n        vi, vj = T.axis.remap('SS', [i, j])\n"
        "        B[vi * 17 + vj] = T.float32(0)", "B", 66, 64,
    ),
    "a region": (
        "with T.block('b'):\n    R = T.match_buffer(B[62:66], (4,))\n    for i in range(4):\n        R[i] = 0.0",
        "B", 65, 64,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_access_that_is_certainly_out_of_bounds_is_refused(name: str) -> None:
    body, buffer, index, extent = REFUSED[name]
    expected = f"{buffer} is accessed out of bounds: index {index} of dimension 0, expected 0 <= index < {extent}"
    with pytest.raises(PassError, match=expected):
        build(program(body), target="llvm")


def test_a_kernel_with_an_access_out_of_bounds_is_refused() -> None:
    body = 'for i in T.thread_binding(64, thread="threadIdx.x"):\n    B[i] = A[i]'
    with pytest.raises(PassError, match="A is accessed out of bounds: index 63"):
        build(program(body), target="cuda-emulated")


BUILT = {
    "a branch": "for i in range(64):\n    if i < 3:\n        B[i] = A[i]",
    "a lazy expression": "for i in range(64):\n    B[i] = T.if_then_else(i < 3, A[i], T.float32(0))",
    "a loop that may be empty": "for i in range(n):\n    B[i] = A[3]",
    "an empty loop": "for i in range(0):\n    B[i] = A[3]",
    "an assertion before": 'assert n > 3, "n"\nB[0] = A[3]',
    "a return before": "if n > 3:\n    return\nB[0] = A[3]",
    "a call before": "T.evaluate(T.call_packed('f'))\nB[0] = A[3]",
    "an assertion in the loop": 'for i in range(8):\n    assert i < n, "n"\n    B[i] = A[i]',
    "an index of unknown range": "B[0] = A[n]",
    "an interval that overlaps the extent": "for i in range(64):\n    B[i] = A[i % 4]",
    "a block with a predicate": (
        "for i in range(64):\n    with T.block('b'):\n        vi = T.axis.spatial(64, i)\n        T.where(i < n)\n"
        "        B[vi] = A[vi]"
    ),
    "an index of a declaration": (
        "for i in range(7):\n    with T.block('b'):\n        vi = T.axis.spatial(7, i)\n"
        "        T.reads(A[T.Cast('int32', B[vi - 1])])\n        T.writes(B[vi])\n        B[vi] = T.float32(0)"
    ),
    "a condition loop": "while n < 0:\n    B[0] = A[3]",
}


@pytest.mark.parametrize("name", BUILT)
def test_an_access_that_may_not_be_executed_or_may_be_inside_is_built(name: str) -> None:
    build(program(BUILT[name]), target="llvm")


def test_private_functions_are_not_checked_since_nothing_may_call_them() -> None:
    body = "B = T.alloc_buffer((3,))\n    A[0] = B[3]\n"
    text = f'@T.prim_func(private=True)\ndef f(A: T.Buffer((3,), "float32")):\n    {body}'
    build(parse_tvmscript(text), target="llvm")
