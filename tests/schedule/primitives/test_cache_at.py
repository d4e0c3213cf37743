"""cache_inplace, read_at and write_at: resulting programs and refusals."""

import pytest

from stepwell import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

UPDATE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + B[vi]
"""
CALL = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    with T.block("A"):
        T.reads(A[0:8])
        T.writes(A[0:8])
        T.evaluate(T.call_extern("int32", "update", A.data))
"""
PARTIAL = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(1):
        with T.block("A"):
            vi = T.axis.spatial(1, i)
            T.reads(A[0:4])
            T.writes(A[0:8])
            for j in range(4):
                A[j * 2] = A[j] + T.float32(1)
"""
SUMS = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[7 - vj]
"""
TWO = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32")):
    for i in range(4):
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + A[vi, 7 - vj]
        for j in range(8):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = D[vi, 7 - vj]
"""
BETWEEN = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4, 4), "float32")):
    for i in range(4):
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[0] + A[vj]
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[0] = A[vj]
"""


def test_an_update_is_made_in_a_copy() -> None:
    assert body_text(apply_steps(UPDATE, "sch.cache_inplace('A', 0, 'local')")) == (
        'A_local = T.alloc_buffer((8,), scope="local")\n'
        "for i in range(8):\n"
        "    for ax0 in range(1):\n"
        '        with T.block("A_local"):\n'
        "            v0 = T.axis.spatial(8, i)\n"
        "            T.reads(A[v0])\n"
        "            T.writes(A_local[v0])\n"
        "            A_local[v0] = A[v0]\n"
        '    with T.block("A"):\n'
        "        vi = T.axis.spatial(8, i)\n"
        "        T.reads(A_local[vi], B[vi])\n"
        "        T.writes(A_local[vi])\n"
        "        A_local[vi] = A_local[vi] + B[vi]\n"
        "    for ax0 in range(1):\n"
        '        with T.block("A_local_1"):\n'
        "            v0 = T.axis.spatial(8, i)\n"
        "            T.reads(A_local[v0])\n"
        "            T.writes(A[v0])\n"
        "            A[v0] = A_local[v0]"
    )


def test_a_call_gets_the_pointer_to_the_copy() -> None:
    sch = Schedule(parse_tvmscript(CALL), debug_mask="all")
    blocks = sch.cache_inplace("A", "A", "local")
    assert [block.name for block in blocks] == ["A_local", "A_local_1"]
    text = body_text(sch.mod)
    assert 'T.call_extern("int32", "update", A_local.data)' in text
    assert "T.reads(A_local[0:8])" in text


def test_a_copy_back_of_elements_that_were_not_copied_is_a_counterexample() -> None:
    error = refusal_of(PARTIAL, "", "sch.cache_inplace('A', 0, 'local')")
    assert "is left at the end" in str(error)


def test_a_block_that_only_reads_is_refused() -> None:
    assert "block A reads buffer B, but does not write it" in str(
        refusal_of(UPDATE, "", "sch.cache_inplace('A', 'B', 'local')")
    )


def test_each_iteration_copies_what_it_reads_in_one_block() -> None:
    assert body_text(apply_steps(SUMS, "sch.read_at(sch.get_loops('C')[0], 'C', 0, 'local')")).startswith(
        'A_local = T.alloc_buffer((4, 8), scope="local")\n'
        "for i in range(4):\n"
        '    with T.block("A_local"):\n'
        "        v0 = T.axis.spatial(4, i)\n"
        "        T.reads(A[v0, 0:8])\n"
        "        T.writes(A_local[v0, 0:8])\n"
        '        T.block_attr({"auto_copy": True})\n'
        "        for ax0, ax1 in T.grid(1, 8):\n"
        "            A_local[v0, ax1] = A[v0, ax1]\n"
    )


def test_all_readers_in_the_loop_read_the_copy() -> None:
    text = body_text(apply_steps(TWO, "sch.read_at(sch.get_loops('C')[0], 'D', 'A', 'shared')"))
    assert "C[vi, vj] = A_shared[vi, vj] * T.float32(2.0)" in text
    assert "D[vi, vj] = C[vi, vj] + A_shared[vi, 7 - vj]" in text


def test_each_iteration_copies_what_it_writes_after_the_last_writer() -> None:
    text = body_text(apply_steps(TWO, "sch.write_at(sch.get_loops('C')[0], 'C', 0, 'local')"))
    assert "D[vi, vj] = C_local[vi, vj] + A[vi, 7 - vj]" in text
    assert "C_local[vi, vj] = D[vi, 7 - vj]" in text
    assert text.endswith("C[v0, ax1] = C_local[v0, ax1]")


def test_the_copied_block_is_returned() -> None:
    sch = Schedule(parse_tvmscript(SUMS))
    copy = sch.read_at(sch.get_loops("C")[0], "C", "B", "shared")
    assert sch.get(copy) is sch.get(sch.get_block("B_shared"))
    assert "sch.read_at(loop=" in str(sch.trace)


def test_a_reader_that_needs_the_old_value_is_a_counterexample() -> None:
    error = refusal_of(BETWEEN, "", "sch.read_at(sch.get_loops('C')[0], 'C', 'B', 'local')")
    assert "B[0] is" in str(error) or "B_local" in str(error)


def test_threads_that_share_the_memory_would_read_what_the_others_write() -> None:
    steps = "i, j = sch.get_loops('C')\nsch.bind(j, 'threadIdx.x')"
    assert "is left at the end" in str(refusal_of(SUMS, steps, "sch.write_at(j, 'C', 0, 'shared')"))
    apply_steps(SUMS, f"{steps}\nsch.read_at(j, 'C', 0, 'shared')")


@pytest.mark.parametrize("name", ["read_at", "write_at"])
def test_the_loop_must_be_around_the_block(name: str) -> None:
    steps = "loop = sch.add_unit_loop('D')"
    assert "loop u is not around block C" in str(refusal_of(TWO, steps, f"sch.{name}(loop, 'C', 0, 'local')"))
