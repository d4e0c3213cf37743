"""annotate_buffer_access."""

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, check_computes_the_same, refusal_of

CHAIN = """
@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), C: T.Buffer((16, 4), "float32")):
    B = T.alloc_buffer((16, 4), "float32")
    for i, j in T.grid(16, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
"""
DECLARE = 'sch.annotate_buffer_access("C", 0, "read", lambda vi, vj: [(vi - 1, vi + 2), vj])\n'
TILE = "i, j = sch.get_loops('C')\no, m = sch.split(i, [None, 4])\nsch.compute_at('B', o)\n"


def test_the_declared_region_is_written_with_a_mark() -> None:
    text = apply_steps(CHAIN, DECLARE).script()
    assert "T.reads(B[vi - 1:vi - 1 + 3, vj])" in text
    assert 'T.block_attr({"explicit_read_region": [0]})' in text


def test_a_write_is_declared_beside_a_read() -> None:
    step = 'sch.annotate_buffer_access("B", "B", "write", lambda vi, vj: ((vi, vi + 2), (vj, vj + 2)))\n'
    text = apply_steps(CHAIN, step + 'sch.annotate_buffer_access("B", 0, "read", lambda *v: [x for x in v])').script()
    assert "T.reads(A[vi, vj])" in text
    assert "T.writes(B[vi:vi + 2, vj:vj + 2])" in text
    assert '"explicit_read_region": [0]' in text
    assert '"explicit_write_region": [0]' in text


def test_a_later_declaration_replaces_the_region_and_not_the_mark() -> None:
    text = apply_steps(CHAIN, DECLARE + DECLARE.replace("vi - 1", "vi - 2")).script()
    assert "T.reads(B[vi - 2:vi - 2 + 4, vj])" in text
    assert '{"explicit_read_region": [0]}' in text


def test_ranges_may_have_numbers_of_tvms_traces() -> None:
    ranges = DECLARE.replace("vi - 1, vi + 2", "vi - T.int64(1), vi + T.int64(2)")
    assert apply_steps(CHAIN, ranges).script() == apply_steps(CHAIN, DECLARE).script()


def test_compute_at_computes_the_declared_region() -> None:
    program = stepwell.parse_tvmscript(CHAIN)
    inferred, declared = apply_steps(CHAIN, TILE), apply_steps(CHAIN, DECLARE + TILE)
    assert "for ax0, ax1 in T.grid(4, 4)" in inferred.script()
    assert "for ax0, ax1 in T.grid(6, 4)" in declared.script()
    for scheduled in (inferred, declared):
        check_computes_the_same(program, scheduled)


def test_a_region_without_elements_that_are_read_is_found_by_the_primitive_that_uses_it() -> None:
    wrong = DECLARE.replace("(vi - 1, vi + 2)", "(vi + 1, vi + 3)")
    error = refusal_of(CHAIN, wrong + TILE.replace("sch.compute_at('B', o)\n", ""), "sch.compute_at('B', o)")
    assert "is read by block C" in str(error)


def test_a_primitive_that_changes_the_accesses_infers_the_regions_again() -> None:
    text = apply_steps(CHAIN, DECLARE + "sch.transform_layout('B', ('write', 0), lambda i, j: (j, i))").script()
    assert "explicit_read_region" not in text
    assert "vi - 1" not in text


def test_the_trace_prints_pairs_and_replays() -> None:
    sch = Schedule(stepwell.parse_tvmscript(CHAIN))
    sch.annotate_buffer_access("C", 0, "read", lambda vi, vj: [(vi - 1, vi + 2), vj])
    line = str(sch.trace).splitlines()[-1]
    assert 'buf_type="read", gen_new_ranges=lambda i0, i1: ((i0 - 1, i0 + 2), (i1, i1 + 1),))' in line
    again = Schedule(stepwell.parse_tvmscript(CHAIN))
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    assert again.mod.script() == sch.mod.script()


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ('sch.annotate_buffer_access("C", 0, "read", lambda vi, vj: [vi])', "1 ranges for buffer B, expected 2"),
        ('sch.annotate_buffer_access("C", 0, "read", lambda vi, vj: [(vi, vi), vj])', "of dimension 0 of buffer B"),
        ('sch.annotate_buffer_access("C", 0, "read", lambda vi, vj: [(vi, vi, vi), vj])', "expected a pair"),
        ('sch.annotate_buffer_access("C", 0, "both", lambda vi, vj: [vi, vj])', "expected 'read' or 'write'"),
        ('sch.annotate_buffer_access("C", 1, "read", lambda vi, vj: [vi, vj])', "there is no number 1"),
        ('sch.annotate_buffer_access("root", 0, "read", lambda vi: [vi])', "the body of the function"),
    ],
)
def test_a_wrong_declaration_is_refused(step: str, reason: str) -> None:
    assert reason in str(refusal_of(CHAIN, "", step))
