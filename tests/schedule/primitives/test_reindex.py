"""reindex: resulting programs and refusals."""

import pytest

from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

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
CONVOLUTION = """
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), W: T.Buffer((3,), "float32"), C: T.Buffer((1, 6), "float32")):
    for n, i, r in T.grid(1, 6, 3):
        with T.block("C"):
            vn, vi, vr = T.axis.remap("SSR", [n, i, r])
            with T.init():
                C[vn, vi] = T.float32(0)
            C[vn, vi] = C[vn, vi] + A[vn, vi + vr] * W[vr]
"""
SHARED_LOOP = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), D: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i in range(8):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(6):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] + T.float32(1)
"""
PADDED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], T.float32(0))
"""


def with_body(body: str) -> str:
    """A block over ten elements; `body` computes one element."""
    return PADDED.replace("C[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], T.float32(0))", body)


def test_a_read_goes_through_a_copy_in_the_order_of_the_axes() -> None:
    text = body_text(apply_steps(MATMUL, "sch.reindex('C', ('read', 1))"))
    assert text.startswith(
        "B_reindex = T.alloc_buffer((4, 6))\n"
        "for ax0, ax1 in T.grid(4, 6):\n"
        '    with T.block("B_reindex_reindex"):\n'
        '        v0, v1 = T.axis.remap("SS", [ax0, ax1])\n'
        "        T.reads(B[v1, v0])\n"
        "        T.writes(B_reindex[v0, v1])\n"
        "        B_reindex[v0, v1] = B[v1, v0]\n"
    )
    assert "C[vi, vj] = C[vi, vj] + A[vi, vk] * B_reindex[vj, vk]" in text


def test_a_write_goes_through_a_copy_after_the_block() -> None:
    text = body_text(apply_steps(MATMUL, "sch.reindex('C', ('write', 0))"))
    assert "C_reindex[vi, vj] = C_reindex[vi, vj] + A[vi, vk] * B[vk, vj]" in text
    assert text.endswith("C[v0, v1] = C_reindex[v0, v1]")
    assert '    with T.block("C_reindex"):' in text


def test_the_copy_has_a_dimension_for_each_axis_in_the_indices() -> None:
    text = body_text(apply_steps(CONVOLUTION, "sch.reindex('C', 'A')"))
    assert "A_reindex = T.alloc_buffer((1, 6, 3))" in text
    assert "A_reindex[v0, v1, v2] = A[0, v1 + v2]" in text
    assert "C[vn, vi] + A_reindex[vn, vi, vr] * W[vr]" in text


def test_constant_indices_have_no_dimension() -> None:
    text = CONVOLUTION.replace("A[vn, vi + vr]", "A[0, vi + vr]")
    assert "A_reindex = T.alloc_buffer((6, 3))" in body_text(apply_steps(text, "sch.reindex('C', 0)"))


def test_the_copy_is_in_the_memory_of_the_buffer() -> None:
    text = SHARED_LOOP.replace("T.alloc_buffer((8, 6))", 'T.alloc_buffer((8, 6), scope="shared")')
    assert 'B_reindex = T.alloc_buffer((8, 6), scope="shared")' in body_text(apply_steps(text, "sch.reindex('D', 0)"))


@pytest.mark.parametrize("steps", ["sch.reindex('D', ('read', 0))", "sch.reindex('B', ('write', 0))"])
def test_between_blocks_of_one_loop_an_iteration_copies_its_part(steps: str) -> None:
    text = body_text(apply_steps(SHARED_LOOP, steps))
    assert "    for ax0, ax1 in T.grid(1, 6):\n" in text
    assert 'v0, v1 = T.axis.remap("SS", [i, ax1])' in text


def test_in_a_nested_block_what_it_touches_is_copied() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(A[vo * 2:vo * 2 + 2, 0:4])
            T.writes(C[vo * 2:vo * 2 + 2, 0:4])
            for i1, j in T.grid(2, 4):
                with T.block("C"):
                    vi = T.axis.spatial(8, vo * 2 + i1)
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = A[vi, vj] * T.float32(2)
"""
    for side in ("read", "write"):
        after = body_text(apply_steps(text, f"sch.reindex('C', ('{side}', 0))"))
        assert "v0 = T.axis.spatial(8, vo * 2 + ax0)" in after


def test_symbolic_sizes_and_wide_indices_stay() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8))
    C = T.match_buffer(c, (8, n))
    for i, j in T.grid(n, T.int64(8)):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj, vi] = A[vi, vj] * T.float32(2)
"""
    after = body_text(apply_steps(text, "sch.reindex('C', 'C')"))
    assert "C_reindex = T.alloc_buffer((n, 8))" in after
    assert "C[v1, v0] = C_reindex[v0, v1]" in after


def test_a_guarded_read_is_not_copied_without_the_guard() -> None:
    message = str(refusal_of(PADDED, "", "sch.reindex('C', ('read', 0))"))
    assert "the copy would read buffer A at vi - 1 for all values of the axes, which may be outside of it" in message


def test_a_guarded_read_inside_of_the_buffer_is_copied() -> None:
    text = PADDED.replace("A[vi - 1]", "A[vi // 2]")
    assert "A_reindex[v0] = A[v0 // 2]" in body_text(apply_steps(text, "sch.reindex('C', ('read', 0))"))


def test_a_guarded_write_is_not_copied() -> None:
    text = PADDED.replace(
        "C[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], T.float32(0))",
        "if vi < 3:\n                C[vi] = A[vi]",
    )
    message = str(refusal_of(text, "", "sch.reindex('C', ('write', 0))"))
    assert "the copy would read what block C does not write: it does so under a condition" in message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("C[vi] = A[vi] + A[vi - 1]", "block C touches A[vi - 1] and A[vi], expected the same indices everywhere"),
        ("C[vi] = A[T.cast(A[vi], 'int32')]", "expected the same indices everywhere"),
        (
            "C[vi] = A[T.cast(C[vi], 'int32')]",
            "is computed from a value inside of the block, expected sums",
        ),
    ],
)
def test_the_indices_are_one_sum_of_axes(body: str, message: str) -> None:
    assert message in str(refusal_of(with_body(body), "", "sch.reindex('C', 'A')"))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        ("sch.reindex('C', ('read', 4))", "block C reads 2 buffers, there is no number 4 (it reads 0: A, 1: B)"),
        ("sch.reindex('C', ('reads', 0))", 'expected ("read", number), ("write", number) or a name'),
        ("sch.reindex('C', 'Z')", "block C writes no buffer 'Z'"),
        ("sch.reindex('root', ('read', 0))", "expected a block, got the body of the function"),
    ],
)
def test_the_buffer_must_be_there(attempt: str, message: str) -> None:
    assert message in str(refusal_of(MATMUL, "", attempt))


def test_a_block_with_blocks_inside_is_not_reindexed() -> None:
    steps = "b = sch.blockize(sch.get_loops('C')[1])"
    assert "has blocks inside, expected none" in str(
        refusal_of(SHARED_LOOP.replace('"D"', '"C"'), steps, "sch.reindex(b, 0)")
    )


def test_names_of_blocks_and_of_buffers_do_not_get_in_each_others_way() -> None:
    after = body_text(apply_steps(SHARED_LOOP, "sch.reindex('D', ('read', 0))\nsch.reindex('B', ('write', 0))"))
    assert "B_reindex_1 = T.alloc_buffer" in after
    assert 'T.block("B_reindex")' in after


@pytest.mark.parametrize("side", ["read", "write"])
def test_a_branch_around_the_block_restricts_the_elements_of_the_copy(side: str) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 3), "int32"), B: T.Buffer((4, 3), "int32")):
    C = T.alloc_buffer((4, 3), "int32")
    for i, j in T.grid(4, 3):
        if i >= 1:
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 2
    for i, j in T.grid(4, 3):
        if i >= 1:
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj]
"""
    block = {"read": "B", "write": "C"}[side]
    assert "the copy would read" in str(refusal_of(text, "", f'sch.reindex("{block}", ("{side}", 0))'))


def test_a_loop_that_may_not_run_restricts_the_elements_of_the_copy() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((2, 2), "int32")):
    C = T.alloc_buffer((2, 2), "int32")
    for i in range(2):
        for j in range(1, i + 1):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi + 1, vj * 2]
    for i in range(2):
        for j in range(1, i + 1):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj]
"""
    for attempt in ('sch.reindex("C", ("write", 0))', 'sch.cache_write("C", 0, "local")'):
        assert "element [0, 1] is not written" in str(refusal_of(text, "", attempt))
