"""Fused loops: the order of their iterations is that of the quotient and the remainder."""

import re

import pytest

HEAD = "a: T.handle, c: T.handle, d: T.handle, n: T.int32"
BUFFERS = """
A = T.match_buffer(a, (8, n))
C = T.match_buffer(c, (10, n + 2))
D = T.match_buffer(d, (8, n))
"""


def blocks(loops: str, row: str, column: str, down: int, right: int, together: bool) -> str:
    """Block C writes the inner elements of C; block D reads the element so many rows and columns away."""
    texts = {
        "C": "C[vi + 1, vj + 1] = A[vi, vj]",
        "D": f"D[vi, vj] = C[vi + {1 + down}, vj + {1 + right}]",
    }
    lines: list[str] = []
    for number, (name, statement) in enumerate(texts.items()):
        lines += [loops] if not (together and number) else []
        lines += [
            f'    with T.block("{name}"):',
            f"        vi = T.axis.spatial(8, {row})",
            f"        vj = T.axis.spatial(n, {column})",
            f"        {statement}",
        ]
    return BUFFERS + "\n".join(lines)


BEFORE = ("for i, j in T.grid(8, n):", "i", "j")
FUSED = ("for f in range(n * 8):", "f // n", "f % n")
SWAPPED = ("for f in range(n * 8):", "f % 8", "f // 8")


@pytest.mark.parametrize(("down", "right"), [(0, 0), (-1, 1), (-1, 0), (-1, -1), (0, -1)])
def test_elements_of_earlier_iterations_may_be_read(down: int, right: int, compare) -> None:
    before = blocks(*BEFORE, down, right, together=False)
    assert compare(before, blocks(*FUSED, down, right, together=False), head=HEAD) is None
    assert compare(before, blocks(*FUSED, down, right, together=True), head=HEAD) is None


@pytest.mark.parametrize(("down", "right"), [(1, -1), (1, 0), (0, 1), (1, 1)])
def test_elements_of_later_iterations_may_not(down: int, right: int, refusal, compare) -> None:
    before = blocks(*BEFORE, down, right, together=False)
    assert compare(before, blocks(*FUSED, down, right, together=False), head=HEAD) is None
    assert "is read by block D" in refusal(before, blocks(*FUSED, down, right, together=True), head=HEAD)


def test_a_number_of_rows_is_divided_as_well(compare, refusal) -> None:
    for down, right in ((1, -1), (-1, -1), (0, -1)):
        before = blocks(*BEFORE, down, right, together=False)
        assert compare(before, blocks(*SWAPPED, down, right, together=True), head=HEAD) is None
    for down, right in ((-1, 1), (1, 0), (0, 1)):
        before = blocks(*BEFORE, down, right, together=False)
        assert "is read by block D" in refusal(before, blocks(*SWAPPED, down, right, together=True), head=HEAD)


THREE = ("for f in range(n * 8):", "f // n", "f % n // 6 * 6 + f % 6")


@pytest.mark.parametrize("fused", [FUSED, THREE])
def test_known_sizes_have_any_number_of_digits(fused: tuple[str, str, str], compare, refusal) -> None:
    def known(text: str) -> str:
        return re.sub(r"\bn\b", "24", text)

    head = HEAD.removesuffix(", n: T.int32")
    for down, right in ((0, 0), (-1, 1), (0, -1)):
        before = known(blocks(*BEFORE, down, right, together=False))
        assert compare(before, known(blocks(*fused, down, right, together=True)), head=head) is None
    for down, right in ((1, -1), (0, 1)):
        before = known(blocks(*BEFORE, down, right, together=False))
        assert compare(before, known(blocks(*fused, down, right, together=False)), head=head) is None
        assert "is read by block D" in refusal(before, known(blocks(*fused, down, right, together=True)), head=head)


def test_other_digits_leave_elements_out(compare) -> None:
    """Digits of another size: the last row is never computed, or elements are computed twice."""
    before = blocks(*BEFORE, 0, 0, together=False)
    for loops in ("for f in range(n * 7):", "for f in range(n * 8 - 1):"):
        assert compare(before, blocks(loops, "f // n", "f % n", 0, 0, together=True), head=HEAD) is not None
