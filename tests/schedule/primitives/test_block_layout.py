"""transform_block_layout: resulting programs and refusals."""

import pytest

from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.schedule.trace import replay_script
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

COPY = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""
REDUCTION = """
@T.prim_func
def main(A: T.Buffer((4, 6, 5), "float32"), D: T.Buffer((4, 6), "float32")):
    for i, j, k in T.grid(4, 6, 5):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vj, vk]
"""
STENCIL = """
@T.prim_func
def main(B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 7):
        with T.block("B"):
            vi = T.axis.spatial((1, 8), i + 1)
            vj = T.axis.spatial((1, 8), j + 1)
            B[vi, vj] = B[vi - 1, vj - 1] + T.float32(1)
"""


def attempt(index_map: str, block: str = "B") -> str:
    return f"sch.transform_block_layout('{block}', {index_map})"


def test_axes_are_fused() -> None:
    assert body_text(apply_steps(COPY, attempt("lambda i, j: i * 6 + j"))) == (
        "for ax0 in range(48):\n"
        '    with T.block("B"):\n'
        "        v0 = T.axis.spatial(48, ax0)\n"
        "        T.reads(A[v0 // 6, v0 % 6])\n"
        "        T.writes(B[v0 // 6, v0 % 6])\n"
        "        B[v0 // 6, v0 % 6] = A[v0 // 6, v0 % 6] * T.float32(2.0)"
    )


def test_axes_are_split_and_change_places() -> None:
    text = body_text(apply_steps(COPY, attempt("lambda i, j: (j // 3, i, j % 3)")))
    assert "for ax0, ax1, ax2 in T.grid(2, 8, 3):" in text
    assert "B[v1, v0 * 3 + v2] = A[v1, v0 * 3 + v2] * T.float32(2.0)" in text


def test_axes_keep_their_kinds() -> None:
    text = body_text(apply_steps(REDUCTION, attempt("lambda i, j, k: (k, i * 6 + j)", "D")))
    assert 'v0, v1 = T.axis.remap("RS", [ax0, ax1])' in text
    text = body_text(apply_steps(REDUCTION, attempt("lambda i, j, k: (i, 0, j, k)", "D")))
    assert 'v0, v1, v2, v3 = T.axis.remap("SSSR", [ax0, ax1, ax2, ax3])' in text


def test_gaps_are_left_out_by_a_predicate() -> None:
    text = body_text(apply_steps(COPY, attempt("lambda i, j: (i, j // 4, j % 4)")))
    assert "for ax0, ax1, ax2 in T.grid(8, 2, 4):" in text
    assert "T.where(ax1 * 4 + ax2 < 6)" in text
    text = body_text(apply_steps(REDUCTION, attempt("lambda i, j, k: (i, j, k // 3, k % 3)", "D")))
    assert "T.where(ax2 * 3 + ax3 < 5)" in text


def test_the_loops_may_be_any_that_run_the_block_once_for_each_value() -> None:
    text = body_text(apply_steps(COPY, "sch.split(sch.get_loops('B')[1], [2, 4])\n" + attempt("lambda i, j: (j, i)")))
    assert "for ax0, ax1 in T.grid(6, 8):" in text
    assert "T.where" not in text


def test_domains_that_do_not_start_at_zero_do_afterwards() -> None:
    text = body_text(apply_steps(STENCIL, attempt("lambda i, j: (j, i)")))
    assert "for ax0, ax1 in T.grid(7, 7):" in text
    assert "B[v1 + 1, v0 + 1] = B[v1, v0] + T.float32(1.0)" in text


def test_blocks_in_the_block_follow() -> None:
    text = body_text(
        apply_steps(
            COPY, "b = sch.blockize(sch.get_loops('B')[1])\nsch.transform_block_layout(b, lambda i, j: (i // 2, i % 2))"
        )
    )
    assert "for ax0, ax1 in T.grid(4, 2):" in text
    assert "T.writes(B[v0 * 2 + v1, 0:6])" in text


def test_sizes_may_be_symbols() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8))
    C = T.match_buffer(c, (n, 8))
    for i, j in T.grid(n, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
"""
    after = body_text(apply_steps(text, attempt("lambda i, j: i * 8 + j")))
    assert "v0 = T.axis.spatial(n * 8, ax0)" in after
    assert "C[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8]" in after


def test_instances_must_still_read_what_they_read() -> None:
    apply_steps(STENCIL, attempt("lambda i, j: i * 7 + j"))
    message = str(refusal_of(STENCIL, "", attempt("lambda i, j: (6 - i, j)")))
    assert "is read by block B at (vi=2, vj=2)" in message


@pytest.mark.parametrize(
    ("index_map", "message"),
    [
        ("lambda i, j, k: (i, j * 5 + k)", "new axis 1 of block D would be made of spatial and reduce axes"),
        ("lambda i, j, k: (i, j)", "the index map puts different indices in the same place"),
        ("lambda i, j, k: (i, j, k + 1)", "its init would not run"),
        ("lambda i, j, k: (i, j + i, k)", "the index map cannot be turned around"),
        ("lambda i, j: (i, j)", "an index map of 2 indices, expected one of 3 indices"),
    ],
)
def test_maps_that_make_no_axes_are_refused(index_map: str, message: str) -> None:
    assert message in str(refusal_of(REDUCTION, "", attempt(index_map, "D")))


def test_the_block_is_alone_in_its_loops() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi, 0]
"""
    message = str(refusal_of(text, "", attempt("lambda i, j: (j, i)")))
    assert "block B is not alone in loop i, which would be replaced" in message


def test_the_new_loops_are_plain() -> None:
    steps = "sch.bind(sch.get_loops('B')[0], 'threadIdx.x')\n"
    text = body_text(apply_steps(COPY, steps + attempt("lambda i, j: (j, i)")))
    assert text.startswith("for ax0, ax1 in T.grid(6, 8):")


def test_a_block_that_does_not_run_for_all_values_keeps_its_axes() -> None:
    text = COPY.replace(
        'vi, vj = T.axis.remap("SS", [i, j])', "vi = T.axis.spatial(9, i)\n            vj = T.axis.spatial(6, j)"
    )
    message = str(refusal_of(text, "", attempt("lambda i, j: (j, i)")))
    assert "do not run it once for each combination of values of its axes" in message


def test_the_trace_replays() -> None:
    schedule = Schedule(parse_tvmscript(COPY))
    schedule.transform_block_layout("B", lambda i, j: (i, j // 4, j % 4))
    again = Schedule(parse_tvmscript(COPY))
    replay_script(again, str(schedule.trace))
    assert again.mod.script() == schedule.mod.script()
