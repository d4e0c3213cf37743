"""reindex_cache_read and reindex_cache_write: resulting programs and refusals."""

import pytest

from stepwell import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

COPY = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""
MATMUL = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j, k in T.grid(8, 4, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
TILED = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(16, i * 4 + j)
                B[vi] = A[vi] + T.float32(1)
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(16, i * 4 + j)
                C[vi] = B[vi] * T.float32(2)
"""
SHIFTED = """
@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(2, 10):
        with T.block("B"):
            vi = T.axis.spatial((2, 10), i)
            B[vi] = A[vi - 1] + T.float32(1)
"""
TWO_READS = COPY.replace("A[vi, vj]", "A[vi, vj] + A[vi, 0]")
GUARDED = COPY.replace("            B[", "            T.where(i < 3)\n            B[")
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, 4))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def test_a_read_goes_through_a_copy_with_the_indices_of_the_map() -> None:
    step = "sch.reindex_cache_read('B', 0, 'shared', lambda i, j: (j, i // 2, i % 2))"
    assert body_text(apply_steps(COPY, step)).startswith(
        'A_shared = T.alloc_buffer((4, 4, 2), scope="shared")\n'
        "for ax0, ax1 in T.grid(8, 4):\n"
        '    with T.block("A_shared"):\n'
        '        v0, v1 = T.axis.remap("SS", [ax0, ax1])\n'
        "        T.reads(A[v0, v1])\n"
        "        T.writes(A_shared[v1, v0 // 2, v0 % 2])\n"
        "        A_shared[v1, v0 // 2, v0 % 2] = A[v0, v1]\n"
    )


def test_a_write_goes_through_a_copy_with_the_indices_of_the_map() -> None:
    text = body_text(apply_steps(MATMUL, "sch.reindex_cache_write('C', 0, 'local', lambda i, j, k: (j, i))"))
    assert "C_local[vj, vi] = C_local[vj, vi] + A[vi, vk] * B[vk, vj]" in text
    assert text.endswith("C[v0, v1] = C_local[v1, v0]")


def test_the_copy_is_where_the_buffer_is_written() -> None:
    text = body_text(apply_steps(TILED, "sch.reindex_cache_read('C', 0, 'local', lambda i: (i // 4, i % 4))"))
    assert '    for ax0 in range(4):\n        with T.block("B_local"):' in text
    assert "v0 = T.axis.spatial(16, i * 4 + ax0)" in text
    text = body_text(apply_steps(TILED, "sch.reindex_cache_write('B', 'B', 'local', lambda i: (i // 4, i % 4))"))
    assert "B[v0] = B_local[v0 // 4, v0 % 4]" in text


def test_axes_count_from_the_start_of_their_domains() -> None:
    text = body_text(apply_steps(SHIFTED, "sch.reindex_cache_read('B', 0, 'local', lambda i: (i // 4, i % 4))"))
    assert 'A_local = T.alloc_buffer((2, 4), scope="local")' in text


def test_a_map_may_use_numbers_and_sizes() -> None:
    steps = "n = sch.get_size('n')\nsch.reindex_cache_write('B', 0, 'local', lambda i, j: (j, n - 1 - i))"
    assert "B_local = T.alloc_buffer((4, n)" in body_text(apply_steps(SYMBOLIC, steps))
    sch = Schedule(parse_tvmscript(COPY))
    _, b = sch.sample_perfect_tile(sch.get_loops("B")[0], 2, decision=[4, 2])
    sch.reindex_cache_read("B", 0, "local", lambda i, j: (i // b, j, i % b))
    again = Schedule(parse_tvmscript(COPY))
    again.replay(str(sch.trace))
    assert str(again.mod) == str(sch.mod)


@pytest.mark.parametrize(
    ("text", "attempt", "reason"),
    [
        (
            COPY,
            "sch.reindex_cache_read('B', 0, 'local', lambda i, j: (i // 2, j))",
            "the index map puts different indices in the same place",
        ),
        (
            COPY,
            "sch.reindex_cache_read('B', 0, 'local', lambda i, j: (i,))",
            "the index map puts different indices in the same place",
        ),
        (
            MATMUL,
            "sch.reindex_cache_write('C', 0, 'local', lambda i, j, k: (i, j, k))",
            "the index map depends on axis vk of block C, which is in no index of buffer C",
        ),
        (
            COPY,
            "sch.reindex_cache_read('B', 0, 'local', lambda i: (i,))",
            "an index map of 1 index, expected one of 2 indices",
        ),
        (
            TWO_READS,
            "sch.reindex_cache_read('B', 0, 'local', lambda i, j: (i, j))",
            "block B touches A[vi, 0] and A[vi, vj], expected the same indices everywhere",
        ),
        (COPY, "sch.reindex_cache_read('B', 1, 'local', lambda i, j: (i, j))", "there is no number 1"),
        (COPY, "sch.reindex_cache_read('B', 0, 'lokal', lambda i, j: (i, j))", "no memory 'lokal'"),
        (COPY, "sch.reindex_cache_read('B', 0, 'local', lambda i, j: (i - 1, j))", "expected indices that are not"),
        (
            GUARDED,
            "sch.reindex_cache_write('B', 0, 'local', lambda i, j: (i, j))",
            "the copy would read what block B does not write",
        ),
    ],
)
def test_copies_of_other_elements_are_refused(text: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(text, "", attempt))
