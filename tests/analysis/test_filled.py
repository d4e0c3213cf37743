"""Whether a store covers all subsequent reads."""

import pytest

from stepwell.analysis.filled import is_filled_before_reads
from stepwell.analysis.index import Analyzer
from stepwell.analysis.lifetime import is_fresh_in_each_iteration
from stepwell.dialects.tir import AllocBufferOp, ForOp
from stepwell.frontends.tvmscript import parse_tvmscript

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4, 72), "float32"), B: T.Buffer((4, 72), "float32"), n: T.int32):
    S = T.alloc_buffer((8, 9), "float32")
    for i in range(4):
        {body}
        for j, k in T.grid(8, {read}):
            B[i, j * 9 + k] = S[j, k]
"""
DIGITS = "S[(x * 18 + y) // 9, (x * 18 + y) % 9] = A[i, x * 18 + y]"
GUARDED = """for x, y in T.grid(5, 17):
            if x * 17 + y < {}:
                S[(x * 17 + y) // 9, (x * 17 + y) % 9] = A[i, x * 17 + y]"""


@pytest.mark.parametrize(
    ("body", "read", "filled"),
    [
        (f"for x, y in T.grid(4, 18):\n            {DIGITS}", 9, True),
        (f"for x, y in T.grid(3, 18):\n            {DIGITS}", 9, False),
        (f"for x, y in T.grid(4, 18):\n            if x < 3:\n                {DIGITS}", 9, False),
        (GUARDED.format(72), 9, True),
        (GUARDED.format(70), 9, False),
        (f"for x, y in T.grid(4, 18):\n            if A[0, y] < 1.0:\n                {DIGITS}", 9, False),
        (f"for x, y in T.grid(4, 18):\n            if n < 4:\n                {DIGITS}", 9, False),
        (f"for x, y in T.grid(n, 18):\n            {DIGITS}", 9, False),
        ("for x in range(8):\n            S[x, 0:8] = A[i, x * 8:x * 8 + 8]", 8, True),
        ("for x in range(8):\n            S[x, 0:8] = A[i, x * 8:x * 8 + 8]", 9, False),
        ("for x, y in T.grid(4, 18):\n            S[x, y % 9] = A[i, x * 18 + y]", 9, False),
    ],
)
def test_what_is_filled_is_fresh(body: str, read: int, filled: bool) -> None:
    module = parse_tvmscript(PROGRAM.format(body=body, read=read))
    ops = list(module.op.walk())
    loop = next(op for op in ops if isinstance(op, ForOp))
    alloc = next(op for op in ops if isinstance(op, AllocBufferOp))
    assert is_filled_before_reads(loop, alloc.buffer, alloc.mixed_shape, Analyzer()) == filled
    assert is_fresh_in_each_iteration(loop, alloc.buffer, Analyzer()) == filled


def test_an_element_read_before_the_fill_is_not_filled() -> None:
    body = f"B[i, 0] = S[0, 0]\n        for x, y in T.grid(4, 18):\n            {DIGITS}"
    module = parse_tvmscript(PROGRAM.format(body=body, read=9))
    ops = list(module.op.walk())
    alloc = next(op for op in ops if isinstance(op, AllocBufferOp))
    loop = next(op for op in ops if isinstance(op, ForOp))
    assert not is_filled_before_reads(loop, alloc.buffer, alloc.mixed_shape, Analyzer())
