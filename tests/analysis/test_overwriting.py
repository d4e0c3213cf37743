"""Kernels that compute a result in the memory of an operand: which there are, and that they compute the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from stepwell import Module, parse_tvmscript
from stepwell.analysis.overwriting import compute_in_place
from stepwell.backends.interpreter import interpret
from stepwell.dialects.tir import FuncOp

KERNEL = """
@T.prim_func
def main(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4, 4), "float32")):
{}
"""


def kernel(body: str) -> FuncOp:
    lines = [f"    {line}" for line in body.splitlines()]
    func = parse_tvmscript(KERNEL.format("\n".join(lines))).functions["main"]
    assert isinstance(func, FuncOp)
    return func


def run(func: FuncOp, *arrays: np.ndarray) -> None:
    interpret(Module(ModuleOp([func.clone()])), func.sym_name.data, arrays)


IN_PLACE = {
    "elementwise": "for i, j in T.grid(4, 4):\n    Y[i, j] = X[i, j] * 2.0",
    "two reads": "for i, j in T.grid(4, 4):\n    Y[i, j] = X[i, j] * (X[i, j] + 1.0)",
    "in parallel": "for i in T.parallel(4):\n    for j in T.vectorized(4):\n        Y[i, j] = X[i, j] + 1.0",
    "a condition": "for i, j in T.grid(4, 4):\n    Y[i, j] = T.if_then_else(i < j, X[i, j], 0.0)",
    "half of the rows": "for i, j in T.grid(2, 4):\n    Y[i * 2, j] = X[i * 2, j] + 1.0",
    "the operand first": (
        "S = T.alloc_buffer((4,), 'float32')\n"
        "for i in range(4):\n    S[i] = X[i, 0] + X[i, 3]\n"
        "for i, j in T.grid(4, 4):\n    Y[i, j] = X[i, j] + S[i]"
    ),
}
APART = {
    "transposed": ("for i, j in T.grid(4, 4):\n    Y[i, j] = X[j, i]", "other positions"),
    "the next element": ("for i, j in T.grid(4, 3):\n    Y[i, j] = X[i, j + 1]", "other positions"),
    "one element": ("for i, j in T.grid(4, 4):\n    Y[i, j] = X[i, j] + X[0, 0]", "other positions"),
    "repeated": ("for i, j, k in T.grid(4, 4, 2):\n    Y[i, j] = X[i, j] * 2.0", "other positions"),
    "repeated in a block": (
        "for i, j in T.grid(4, 4):\n"
        "    with T.block('Y'):\n"
        "        vi, vj = T.axis.remap('SS', [i, j])\n"
        "        for k in range(2):\n"
        "            Y[vi, vj] = X[vi, vj] * 2.0",
        "other positions",
    ),
    "an instance twice": (
        "for i, j, k in T.grid(4, 4, 2):\n"
        "    with T.block('Y'):\n"
        "        vi, vj = T.axis.remap('SS', [i, j])\n"
        "        Y[vi, vj] = X[vi, vj] * 2.0",
        "other positions",
    ),
    "a read after the store": (
        "for i, j in T.grid(4, 4):\n    Y[i, j] = 0.0\nfor i, j in T.grid(4, 4):\n    Y[i, j] = X[i, j]",
        "follows a store",
    ),
    "a reduction": (
        "for i, j, k in T.grid(4, 4, 4):\n"
        "    with T.block('Y'):\n"
        "        vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n"
        "        with T.init():\n"
        "            Y[vi, vj] = 0.0\n"
        "        Y[vi, vj] = Y[vi, vj] + X[vi, vk]",
        "otherwise than by reads",
    ),
    "the operand overwritten": ("for i, j in T.grid(4, 4):\n    Y[i, j] = X[i, j]\n    X[i, j] = 0.0", "otherwise"),
    "an unknown position": (
        "for i, j in T.grid(4, 4):\n    Y[i, j] = X[i, T.Cast('int32', X[i, j])]",
        "other positions",
    ),
}


def assert_computes_the_same(func: FuncOp, copy: FuncOp) -> None:
    x = np.random.default_rng(0).random((4, 4), "float32")
    unwritten = np.full((4, 4), np.nan, "float32")
    expected, got = unwritten.copy(), x.copy()
    run(func, x, expected)
    run(copy, got)
    written = ~np.isnan(expected)
    np.testing.assert_array_equal(got[written], expected[written])


@pytest.mark.parametrize("name", IN_PLACE)
def test_the_kernel_is_computed_in_place(name: str) -> None:
    func = kernel(IN_PLACE[name])
    copy = compute_in_place(func, 0, 1)
    assert isinstance(copy, FuncOp), copy
    assert [name for name, _ in copy.params] == ["X"]
    copy.verify()
    assert_computes_the_same(func, copy)


@pytest.mark.parametrize("name", APART)
def test_the_kernel_needs_memory_of_its_own(name: str) -> None:
    body, reason = APART[name]
    func = kernel(body)
    text = str(func)
    copy = compute_in_place(func, 0, 1)
    assert isinstance(copy, str)
    assert reason in copy
    assert str(func) == text


def test_symbolic_sizes_are_equal_by_value() -> None:
    text = """
@T.prim_func
def main(x: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, ({},), "float32")
    Y = T.match_buffer(y, ({},), "float32")
    for i in range(n):
        Y[i] = X[i]
"""
    for sizes, answer in {("n", "n"): True, ("n", "n + 1"): False}.items():
        func = parse_tvmscript(text.format(*sizes)).functions["main"]
        assert isinstance(func, FuncOp)
        assert isinstance(compute_in_place(func, 0, 1), FuncOp) is answer


def indices() -> st.SearchStrategy[str]:
    return st.sampled_from(["i", "j", "3 - i", "(i + 1) % 4", "i // 2", "0"])


@given(stored=st.tuples(indices(), indices()), read=st.lists(st.tuples(indices(), indices()), min_size=1, max_size=2))
def test_a_kernel_in_place_computes_the_same(stored: tuple[str, str], read: list[tuple[str, str]]) -> None:
    value = " + ".join(f"X[{i}, {j}]" for i, j in read)
    func = kernel(f"for i, j in T.grid(4, 4):\n    Y[{stored[0]}, {stored[1]}] = {value} + 1.0")
    copy = compute_in_place(func, 0, 1)
    if isinstance(copy, FuncOp):
        assert_computes_the_same(func, copy)
    elif sorted(stored) == ["i", "j"] and set(read) == {stored}:
        pytest.fail(copy)
