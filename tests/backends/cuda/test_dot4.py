"""Sums of products of four bytes, `__dp4a` of CUDA: equal results for every target."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import build
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import ParseError
from stepwell.frontends.tvm import te
from stepwell.frontends.tvmscript import parse_tvmscript

DOTS = """
@T.prim_func
def main(A: T.Buffer((8, 4), "{a}"), B: T.Buffer((8, 4), "{b}"), C: T.Buffer((8,), "{c}"), D: T.Buffer((8,), "{c}")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        C[i] = T.call_pure_extern("{c}", "__dp4a", A[i, 0:4], B.vload([i, 0], "{b}x4"), C[i])
        D[i] = T.call_extern(
            "__dp4a", T.reinterpret("{a_word}", A[i, 0:4]), T.reinterpret("{b_word}", B[i, 0:4]), D[i], dtype="{c}")
"""


@pytest.mark.parametrize(
    ("a", "b", "c"), [("int8", "int8", "int32"), ("uint8", "int8", "int32"), ("uint8",) * 2 + ("uint32",)]
)
def test_bytes_are_multiplied_and_added(a: str, b: str, c: str) -> None:
    words = {"int8": "int32", "uint8": "uint32"}
    module = parse_tvmscript(DOTS.format(a=a, b=b, c=c, a_word=words[a], b_word=words[b]))
    random = np.random.default_rng(0)
    left, right = (random.integers(0, 256, (8, 4)).astype("uint8").view(dtype) for dtype in (a, b))
    start = random.integers(0, 9, 8).astype(c)
    expected = start + (left.astype("int32") * right.astype("int32")).sum(1).astype(c)
    targets = ["python", "interpreter"] + (["cuda-emulated"] if compiler() is not None else [])
    for target in targets:
        sums, more = start.copy(), start.copy()
        if target == "interpreter":
            interpret(module, "main", [left, right, sums, more])
        else:
            build(module, target=target)(left, right, sums, more)
        np.testing.assert_array_equal(sums, expected)
        np.testing.assert_array_equal(more, expected)


def test_tensor_expressions_multiply_words_of_bytes() -> None:
    a, b = te.placeholder((4,), "int32", name="A"), te.placeholder((4,), "int32", name="B")
    c = te.compute((4,), lambda i: tvm.tir.call_pure_extern("int32", "__dp4a", a[i], b[i], 7), name="C")
    bytes = np.arange(-8, 8, dtype="int8")
    result = np.zeros(4, "int32")
    tvm.build(te.create_schedule(c.op), [a, b, c], "llvm")(
        bytes.view("int32"), bytes[::-1].copy().view("int32"), result
    )
    products = bytes.astype("int32") * bytes[::-1].astype("int32")
    np.testing.assert_array_equal(result, products.reshape(4, 4).sum(1) + 7)


def test_other_operands_are_errors() -> None:
    with pytest.raises(ParseError, match="__dp4a: four bytes of int16x4, expected int8x4, uint8x4, int32 or uint32"):
        parse_tvmscript(DOTS.format(a="int16", b="int8", c="int32", a_word="int64", b_word="int32"))
    with pytest.raises(ParseError, match="__dp4a: a sum of products of bytes in float32, expected int32 or uint32"):
        parse_tvmscript(DOTS.format(a="int8", b="int8", c="float32", a_word="int32", b_word="int32"))
