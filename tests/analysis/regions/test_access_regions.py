"""Inference of the regions that a block reads and writes from its body."""

# ruff: noqa: E501  (a region stands on its line)

import re
import textwrap

import pytest

from stepwell.core.errors import ParseError
from stepwell.frontends.tvmscript import parse_tvmscript

PARAMS = 'A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32"), J: T.Buffer((64,), "int32")'


def accesses(body: str, block: int = 0) -> tuple[str, str]:
    """The inferred read and write regions of block number `block`, with axes vi (of 16) and vj (of 8)."""
    axes = "vi = T.axis.spatial(16, i)\nvj = T.axis.reduce(8, j)\n"
    inside = textwrap.indent(axes + textwrap.dedent(body).strip("\n"), " " * 12)
    text = f"@T.prim_func\ndef f({PARAMS}):\n    for i, j in T.grid(16, 8):\n        with T.block('b'):\n{inside}\n"
    module = parse_tvmscript(text)
    module.verify()
    found = re.findall(r"T\.(reads|writes)\((.*)\)\n", module.script())
    (reads, first), (writes, second) = found[2 * block : 2 * block + 2]
    assert (reads, writes) == ("reads", "writes")
    return first, second


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("B[vi] = 1.0", "", "B[vi]"),
        ("B[vi] = A[vi, vj] * 2.0", "A[vi, vj]", "B[vi]"),
        ("B[vi] = B[vi] + A[vi, vj]", "B[vi], A[vi, vj]", "B[vi]"),
        ("for k in range(4):\n    B[vi] = A[vi, vj * 4 + k]", "A[vi, vj * 4:vj * 4 + 4]", "B[vi]"),
        ("for k in range(2, 6):\n    B[k] = A[63 - k, k * 2]", "A[58:62, 4:11]", "B[2:6]"),
        ("for k in range(4):\n    B[vi] = A[k // 2, k % 2]", "A[0:2, 0:2]", "B[vi]"),
        ("for k in range(4):\n    B[vi] = A[(vi * 4 + k) // 4, 0]", "A[vi, 0]", "B[vi]"),
        ("for k in range(4):\n    B[vi] = A[k * k, 0]", "A[0:64, 0]", "B[vi]"),
        ("for k in range(4):\n    B[vi] = A[(k * k) % 8, 0]", "A[0:8, 0]", "B[vi]"),
        ("for k in range(4):\n    B[vi] = A[k // (vi + 1), 0]", "A[0:3 // (vi + 1) + 1, 0]", "B[vi]"),
        (
            "for k in range(4):\n    B[vi] = A[(vi * 2 + vj - k) // 2, 0]",
            "A[(vi * 2 + vj - 3) // 2:(vi * 2 + vj - 3) // 2 + ((vi * 2 + vj) // 2 - (vi * 2 + vj - 3) // 2 + 1), 0]",
            "B[vi]",
        ),
        ("B[vi // 4 * 4 + vi % 4] = A[(vi + 1) * (vj + 2), 0]", "A[(vi + 1) * (vj + 2), 0]", "B[vi // 4 * 4 + vi % 4]"),
        ("B[vi] = A[2 - vi + vj, 0]", "A[2 - vi + vj, 0]", "B[vi]"),
        ("for k in range(vi):\n    B[k] = 1.0", "", "B[0:vi]"),
        ("B[vi] = A[vi, vj] + A[vi + 1, vj] + A[vi, vj + 2]", "A[vi:vi + 2, vj:vj + 3]", "B[vi]"),
        (
            "B[vi] = A[vi, 0] + A[vj, 0]",
            "A[T.min(vi, vj):T.min(vi, vj) + (T.max(vi, vj) - T.min(vi, vj) + 1), 0]",
            "B[vi]",
        ),
        ("B[vi] = A[vi, 0] + A[20, 0]", "A[vi:vi + (21 - vi), 0]", "B[vi]"),
        (
            "B[J[vi]] = A[vi, J[vj]]",
            "A[vi, J[vj]], J[T.min(vj, vi):T.min(vj, vi) + (T.max(vj, vi) - T.min(vj, vi) + 1)]",
            "B[J[vi]]",
        ),
        ("J[vi] = 1\nB[J[vi]] = 1.0", "J[vi]", "J[vi], B[0:64]"),
        ("A[vi, 0:4] = A[vi, 8:16:2]", "A[vi, 8:15]", "A[vi, 0:4]"),
        ("if vi < 3:\n    B[vi] = 1.0\nelse:\n    B[vi + 1] = 2.0", "", "B[vi:vi + 2]"),
        ("B[vi] = T.if_then_else(vi < 3, A[vi, 0], B[0])", "A[vi, 0], B[0]", "B[vi]"),
        ("while B[vi] < 1.0:\n    B[vi] = B[vi] + 1.0", "B[vi]", "B[vi]"),
        ("x: T.int32 = vi * 2\nB[x] = 1.0", "", "B[vi * 2]"),
        ("C = T.alloc_buffer((4,))\nC[0] = A[vi, 0]\nB[vi] = C[0]", "A[vi, 0]", "B[vi]"),
        ("M = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:8], (4, 8))\nM[1, 2] = B[0]", "B[0]", "A[vi * 4 + 1, 2]"),
        ("for k in range(4):\n    M = T.match_buffer(A[k * 4, 0:8], (8,))\n    M[vj] = 1.0", "", "A[0:13, vj]"),
    ],
)
def test_a_box_covers_every_access(body: str, reads: str, writes: str) -> None:
    assert accesses(body) == (reads, writes)


def test_what_a_reduction_writes_it_does_not_read() -> None:
    body = "with T.init():\n    B[vi] = 0.0\nB[vi] = B[vi] + A[vi, vj]"
    assert accesses(body) == ("A[vi, vj]", "B[vi]")


def test_a_block_inside_counts_with_what_it_says() -> None:
    body = "for k in range(4):\n    with T.block('c'):\n        vk = T.axis.spatial(4, k)\n        T.reads(A[vk, 0:2])\n        T.writes(B[vk * 2])\n        B[vk] = 1.0"
    assert accesses(body) == ("A[0:4, 0:2]", "B[0:7]")
    assert accesses(body, block=1) == ("A[vk, 0:2]", "B[vk * 2]")


@pytest.mark.parametrize("index", ["vi % J[0]", "(vi + J[0]) // J[1]", "vi % (J[0] * 2)"])
def test_a_divisor_that_may_be_0_divides_where_the_access_is(index: str) -> None:
    assert accesses(f"B[vi] = A[{index}, vj]")[0].startswith(f"A[{index}, vj]")
    for around in ("for k in range(J[2]):", "if vi < J[2]:"):
        assert accesses(f"{around}\n    B[vi] = A[{index}, vj]")[0].startswith(("A[0:64, vj]", "J[2], A[0:64, vj]"))


def test_only_what_is_missing_is_found() -> None:
    assert accesses("T.reads()\nB[vi] = A[vi, vj]") == ("", "B[vi]")
    assert accesses("T.writes(B[0:64])\nB[vi] = A[vi, vj]") == ("A[vi, vj]", "B[0:64]")


@pytest.mark.parametrize(
    "use",
    [
        "T.evaluate(T.call_extern('int32', 'f', A.data))",
        "T.call_packed('f', A)",
        "T.evaluate(T.address_of(A[vi, 0]))",
        "M = T.decl_buffer((4096,), data=A.data)\nM[0] = 1.0",
    ],
)
def test_pointers_hide_what_is_touched(use: str) -> None:
    with pytest.raises(
        ParseError, match=r"the block uses a pointer to buffer 'A', so what it reads and writes is not known"
    ):
        accesses(use)
