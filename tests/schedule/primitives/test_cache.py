"""cache_read and cache_write: resulting programs and refusals."""

import numpy as np
import pytest

from stepwell import build
from stepwell.core.errors import ScheduleError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, check_computes_the_same, refusal_of

TWO_STAGES = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), E: T.Buffer((8, 6), "float32"), D: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 6):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(3)
"""
TILED = """
@T.prim_func
def main(A: T.Buffer((7, 8), "float32"), C: T.Buffer((7, 8), "float32"), D: T.Buffer((7, 8), "float32")):
    B = T.alloc_buffer((7, 8))
    for i in range(4):
        for i1, j in T.grid(2, 8):
            with T.block("B"):
                vi = T.axis.spatial(7, i * 2 + i1)
                vj = T.axis.spatial(8, j)
                T.where(i * 2 + i1 < 7)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i1, j in T.grid(2, 8):
            with T.block("C"):
                vi = T.axis.spatial(7, i * 2 + i1)
                vj = T.axis.spatial(8, j)
                T.where(i * 2 + i1 < 7)
                C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(7, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + T.float32(2)
"""
NESTED = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(A[vo * 2:vo * 2 + 2, 0:8])
            T.writes(C[vo * 2:vo * 2 + 2, 0:8])
            for i1, j in T.grid(2, 8):
                with T.block("C"):
                    vi = T.axis.spatial(8, vo * 2 + i1)
                    vj = T.axis.spatial(8, j)
                    C[vi, vj] = A[vi, vj] * T.float32(2)
"""
REDUCTION = """
@T.prim_func
def main(A: T.Buffer((8, 5), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 5):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""
UPDATES = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), D: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("zero"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.float32(0)
    for i, k in T.grid(8, 4):
        with T.block("add"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi] * T.float32(2)
"""
HALVES = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), D: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(4):
        with T.block("low"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi]
    for i in range(4):
        with T.block("high"):
            vi = T.axis.spatial(4, i)
            C[vi + 4] = A[vi] * T.float32(3)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi] * T.float32(2)
"""


def test_an_input_is_copied_whole_before_all_its_readers() -> None:
    text = body_text(apply_steps(TWO_STAGES, "sch.cache_read('E', 0, 'shared')"))
    assert text.startswith('B = T.alloc_buffer((8, 6))\nA_shared = T.alloc_buffer((8, 6), scope="shared")\n')
    assert text.index("A_shared[v0, v1] = A[v0, v1]") < text.index("B[vi, vj] = A_shared[vi, vj] * T.float32(2.0)")
    assert "E[vi, vj] = A_shared[vi, vj] + T.float32(1.0)" in text


def test_the_copy_is_a_block_with_fresh_loops_and_axes() -> None:
    text = body_text(apply_steps(REDUCTION, "sch.cache_read('C', 0, 'local')"))
    assert (
        "for ax0, ax1 in T.grid(8, 5):\n"
        '    with T.block("A_local"):\n'
        '        v0, v1 = T.axis.remap("SS", [ax0, ax1])\n'
        "        T.reads(A[v0, v1])\n"
        "        T.writes(A_local[v0, v1])\n"
        "        A_local[v0, v1] = A[v0, v1]\n"
    ) in text
    assert "T.reads(A_local[vi, vk])" in text


def test_consumer_blocks_alone_read_the_copy() -> None:
    text = body_text(apply_steps(TWO_STAGES, "sch.cache_read('B', 'A', 'local', consumer_blocks=['E'])"))
    assert "B[vi, vj] = A[vi, vj] * T.float32(2.0)" in text
    assert "E[vi, vj] = A_local[vi, vj] + T.float32(1.0)" in text


def test_a_copy_of_an_intermediate_stands_before_its_first_reader() -> None:
    mod = apply_steps(TWO_STAGES, "sch.cache_read('D', 0, 'local')")
    names = [line for line in body_text(mod).splitlines() if "T.block(" in line]
    assert names == [f'    with T.block("{name}"):' for name in ("B", "E", "B_local", "D")]


def test_a_copy_in_a_loop_copies_what_one_iteration_writes() -> None:
    text = body_text(apply_steps(TILED, "sch.cache_read('C', 0, 'local')"))
    assert 'B_local = T.alloc_buffer((7, 8), scope="local")' in text
    assert "    for ax0, ax1 in T.grid(T.min(i * 2 + 1, 6) - i * 2 + 1, 8):\n" in text
    assert "v0 = T.axis.spatial(7, i * 2 + ax0)" in text
    assert "D[vi, vj] = B_local[vi, vj] + T.float32(2.0)" in text


def test_in_a_nested_block_the_copy_has_the_size_of_what_the_outer_one_reads() -> None:
    text = body_text(apply_steps(NESTED, "sch.cache_read('C', 0, 'local')"))
    assert 'A_local = T.alloc_buffer((2, 8), scope="local")' in text
    assert "A_local[v0, v1] = A[vo * 2 + v0, v1]" in text
    assert "C[vi, vj] = A_local[vi - vo * 2, vj] * T.float32(2.0)" in text
    assert "T.reads(A_local[vi - vo * 2, vj])" in text


def test_in_a_nested_block_what_is_written_is_copied_at_its_end() -> None:
    text = body_text(apply_steps(NESTED, "sch.cache_write('C', 0, 'local')"))
    assert "C_local[vi - vo * 2, vj] = A[vi, vj] * T.float32(2.0)" in text
    assert text.endswith("C[vo * 2 + v0, v1] = C_local[v0, v1]")


def test_a_block_with_blocks_inside_reads_and_writes_copies_too() -> None:
    text = body_text(apply_steps(NESTED, "sch.cache_read('outer', 0, 'local')\nsch.cache_write('outer', 0, 'local')"))
    assert "T.reads(A_local[vo * 2:vo * 2 + 2, 0:8])" in text
    assert "T.writes(C_local[vo * 2:vo * 2 + 2, 0:8])" in text
    assert "C_local[vi, vj] = A_local[vi, vj] * T.float32(2.0)" in text


def test_a_reduction_accumulates_and_starts_in_the_copy() -> None:
    text = body_text(apply_steps(REDUCTION, "sch.cache_write('C', 0, 'local')"))
    assert "        C_local[vi] = T.float32(0.0)\n" in text
    assert "C_local[vi] = C_local[vi] + A[vi, vk]" in text
    assert text.endswith("C[v0] = C_local[v0]")


def test_readers_of_a_written_copy_read_the_buffer_or_the_copy_as_is_said() -> None:
    buffer = body_text(apply_steps(TWO_STAGES, "sch.cache_write('B', 0, 'local')"))
    copy = body_text(apply_steps(TWO_STAGES, "sch.cache_write('B', 0, 'local', consumer_blocks=['D'])"))
    assert "D[vi, vj] = B[vi, vj] + T.float32(3.0)" in buffer
    assert "D[vi, vj] = B_local[vi, vj] + T.float32(3.0)" in copy
    assert copy.endswith("B[v0, v1] = B_local[v0, v1]")


def test_the_new_block_is_returned_and_may_be_scheduled_on() -> None:
    steps = "b = sch.cache_write('B', 0, 'local')\nsch.fuse(*sch.get_loops(b))"
    assert "for ax0_ax1_fused in range(48):" in body_text(apply_steps(TWO_STAGES, steps))


def test_a_second_copy_gets_names_of_its_own() -> None:
    text = body_text(apply_steps(REDUCTION, "sch.cache_read('C', 0, 'local')\nsch.cache_read('C', 0, 'local')"))
    assert 'T.block("A_local_local")' in text


def test_a_copy_stands_after_all_writers() -> None:
    text = body_text(apply_steps(UPDATES, "sch.cache_read('D', 0, 'local')"))
    assert text.index('T.block("add")') < text.index("C_local[v0] = C[v0]") < text.index("D[vi] = C_local[vi]")


def test_one_of_two_writers_writes_its_part_to_a_copy() -> None:
    text = body_text(apply_steps(HALVES, "sch.cache_write('high', 0, 'local')"))
    assert 'C_local = T.alloc_buffer((4,), scope="local")' in text
    assert "C_local[vi] = A[vi] * T.float32(3.0)" in text
    assert "C[v0 + 4] = C_local[v0]" in text or "C[4 + v0] = C_local[v0]" in text


def test_sizes_are_symbols_of_any_type() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8))
    C = T.match_buffer(c, (n, 8))
    for i, j in T.grid(n, T.int64(8)):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
"""
    after = body_text(apply_steps(text, "sch.cache_read('C', 0, 'local')\nsch.cache_write('C', 'C', 'shared')"))
    assert 'A_local = T.alloc_buffer((n, 8), scope="local")' in after
    assert after.count("in T.grid(n, T.int64(8)):") == 3


def test_a_view_of_the_buffer_becomes_one_of_the_copy() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:8])
            T.writes(C[vi, 0:8])
            row = T.match_buffer(A[vi, 0:8], (8,))
            for j in range(8):
                C[vi, j] = row[j] * T.float32(2)
"""
    after = body_text(apply_steps(text, "sch.cache_read('C', 0, 'shared')"))
    assert 'row = T.match_buffer(A_shared[vi, 0:8], (8,), scope="shared")' in after


def test_elements_that_are_never_written_are_not_copied() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi * 2] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi * 2]
"""
    for attempt in ("sch.cache_read('C', 0, 'local')", "sch.cache_write('B', 0, 'local')"):
        message = str(refusal_of(text, "", attempt))
        assert "the copy would read elements of buffer B that block B does not write: element [1] is not" in message


def test_what_is_written_under_a_condition_is_not_copied_back() -> None:
    text = REDUCTION.replace(
        "            C[vi] = C[vi] + A[vi, vk]", "            if vi < 3:\n                C[vi] = A[vi, vk]"
    )
    text = text.replace("            with T.init():\n                C[vi] = T.float32(0)\n", "")
    assert "is left at the end" in str(refusal_of(text, "", "sch.cache_write('C', 0, 'local')"))


def test_what_is_written_in_a_branch_is_not_copied_beyond_it_even_if_nobody_reads_that() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        if i < 2:
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]
"""
    message = str(refusal_of(text, "", "sch.cache_write('B', 0, 'local')"))
    assert "the copy would read elements of buffer B that block B does not write: element [2] is not" in message


def test_an_update_that_another_block_starts_needs_the_buffer() -> None:
    message = str(refusal_of(UPDATES, "", "sch.cache_write('add', 0, 'local')"))
    assert "C[0] is read by block add at (vi=0, vk=1) as block zero writes it at (vi=0), not as block add" in message


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        ("sch.cache_read('E', 1, 'local')", "block E reads 1 buffers, there is no number 1 (it reads 0: A)"),
        ("sch.cache_read('E', -1, 'local')", "there is no number -1"),
        ("sch.cache_read('E', 'B', 'local')", "block E reads no buffer 'B' (it reads 0: A)"),
        ("sch.cache_write('E', 'A', 'local')", "block E writes no buffer 'A' (it writes 0: E)"),
        ("sch.cache_read('root', 0, 'local')", "expected a block, got the body of the function"),
        ("sch.cache_read('D', 0, 'local', ['E'])", "consumer block E does not read buffer B"),
        ("sch.cache_read('D', 0, 'local', ['root'])", "expected a block, got the body of the function"),
    ],
)
def test_the_buffer_and_its_readers_must_be_there(attempt: str, message: str) -> None:
    assert message in str(refusal_of(TWO_STAGES, "", attempt))


def test_consumers_are_in_the_same_scope() -> None:
    assert "consumer block C is in another scope" in str(
        refusal_of(NESTED, "", "sch.cache_read('outer', 0, 'local', ['C'])")
    )


def test_memory_with_two_names_is_not_cached() -> None:
    text = """
@T.prim_func
def main(C: T.Buffer((8,), "float32")):
    p = T.allocate([8], "float32", "global")
    X = T.decl_buffer((8,), data=p)
    Y = T.decl_buffer((8,), data=p)
    for i in range(8):
        with T.block("X"):
            vi = T.axis.spatial(8, i)
            X[vi] = T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = Y[vi]
"""
    message = str(refusal_of(text, "", "sch.cache_read('C', 0, 'local')"))
    assert "block X reaches the memory of buffer Y as X, which is not supported yet" in message


def test_the_trace_says_the_arguments_in_full() -> None:
    schedule = Schedule(parse_tvmscript(TWO_STAGES))
    schedule.cache_read("D", "B", "local", consumer_blocks=["D"])
    with pytest.raises(ScheduleError):
        schedule.cache_write("D", 3, "local")
    assert 'cache_read(block=b0, read_buffer_index=0, storage_scope="local", consumer_blocks=[b1])' in str(
        schedule.trace
    )
    assert "cache_write" not in str(schedule.trace)


SEQUENTIAL = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("F"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in range(7):
            with T.block("B"):
                vi = T.axis.spatial(7, i)
                B[vi + 1] = B[vi] + B[vi + 1]
"""


PRODUCT = """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_a_reduction_in_a_block_whose_init_is_outside_keeps_both_sides_together() -> None:
    sch = Schedule(parse_tvmscript(PRODUCT))
    sch.blockize(sch.get_loops("C")[0])
    sch.blockize(sch.get_block("C_o"))
    before = str(sch.mod)
    with pytest.raises(ScheduleError, match="accumulated into by block C_o before block C_o_init writes it"):
        sch.cache_write("C_o", 0, "global")
    assert str(sch.mod) == before


def test_a_block_that_reads_what_it_has_written_keeps_both_sides_together() -> None:
    sch = Schedule(parse_tvmscript(SEQUENTIAL))
    outer = sch.blockize(sch.get_loops("B")[0])
    before = str(sch.mod)
    for step in (lambda: sch.cache_write(outer, 0, "shared"), lambda: sch.cache_read(outer, 0, "shared")):
        with pytest.raises(ScheduleError, match=r"by block B_o|that it has written itself"):
            step()
    assert str(sch.mod) == before


def test_the_copy_of_a_box_outside_of_the_buffer_has_no_elements() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((3,), "int8"), B: T.Buffer((3,), "int8")):
    for i, j in T.grid(2, 8):
        with T.block("B"):
            v = T.axis.spatial(3, i * 8 + j)
            T.where(i * 8 + j < 3)
            B[v] = A[v]
"""
    steps = 'sch.blockize(sch.get_loops("B")[1])\nsch.cache_read("B", 0, "global")'
    after = apply_steps(text, steps)
    check_computes_the_same(parse_tvmscript(text), after, target="llvm")
    assert "A_global = T.alloc_buffer((T.max(3 - v_o * 8, 0),)" in after.script()


SYMBOLIC_TILES = """
@T.prim_func
def main(A: T.Buffer(("(n + 3) // 4 * 4",), "int32"), B: T.Buffer(((n + 3) // 4 * 4,), "int32"), n: T.int32):
    for i in range((n + 3) // 4):
        with T.block("B_o"):
            vi = T.axis.spatial((n + 3) // 4, i)
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, j)
                    B[vi * 4 + vj] = A[vi * 4 + vj] + 1
"""


@pytest.mark.parametrize("steps", ['sch.cache_read("B", 0, "global")', 'sch.cache_write("B", 0, "global")'])
def test_a_tile_of_a_buffer_with_a_rounded_size_is_copied(steps: str) -> None:
    schedule = Schedule(parse_tvmscript(SYMBOLIC_TILES))
    exec(steps, {"sch": schedule})
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    build(schedule.mod, "python")["main"](a, b, 6)
    assert b.tolist() == (a + 1).tolist()


POINTER = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi]
    for i in range(2):
        with T.block("call"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 2 : vi * 2 + 2])
            T.writes(B[vi * 2 : vi * 2 + 2])
            T.evaluate(T.call_extern("handle", "memcpy", T.address_of(B[vi * 2]), A.access_ptr("r", offset=vi * 2), 8))
"""


def test_a_call_reads_the_copy_through_a_pointer() -> None:
    schedule = Schedule(parse_tvmscript(POINTER))
    schedule.cache_read("C", 0, "global")
    assert "A_global.data, vi * 2, 4 - vi * 2, 1)" in body_text(schedule.mod)
    a, b, c = np.arange(4, dtype="float32"), np.zeros(4, "float32"), np.zeros(4, "float32")
    build(schedule.mod)(a, b, c)
    np.testing.assert_array_equal((b, c), (a, a))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('access_ptr("r"', 'access_ptr("rw"', "A[0] is read by block call at (vi=1) before block call writes it"),
        ('A.access_ptr("r", offset=vi * 2)', "T.address_of(A[vi * 2])", "uses buffer A otherwise than to load"),
        ('A: T.Buffer((4,), "float32")', 'A: T.Buffer((4,), "float32", strides=(2,))', "uses buffer A otherwise"),
    ],
)
def test_a_pointer_that_may_not_be_redirected_is_refused(old: str, new: str, message: str) -> None:
    assert message in str(refusal_of(POINTER.replace(old, new), "", "sch.cache_read('C', 0, 'global')"))


def test_a_pointer_is_not_redirected_to_another_scope() -> None:
    assert "uses buffer A otherwise" in str(refusal_of(POINTER, "", "sch.cache_read('C', 0, 'shared')"))


@pytest.mark.parametrize("attempt", ["sch.cache_read('D', 0, 'shard')", "sch.cache_write('B', 0, 'shard')"])
def test_an_unknown_memory_is_refused(attempt: str) -> None:
    assert "no memory 'shard', did you mean 'shared'?" in str(refusal_of(TWO_STAGES, "", attempt))


OWN_WRITES = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:4])
            T.writes(C[vi, 0:4])
            for j in range(4):
                C[vi, j] = A[vi, j]
            for j in range(4):
                C[vi, j] = C[vi, 3 - j] + T.float32(1)
"""
LAST = "                C[vi, j] = C[vi, 3 - j] + T.float32(1)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("T.reads(A[vi, 0:4])", "T.reads(A[vi, 0:4], C[vi, 0:4])"),
        (LAST, LAST.replace("C[vi, 3 - j]", "C[vi, j]")),
        (LAST, "                C[vi, j] = A[vi, 3 - j]\n                C[vi, j] = C[vi, j] * T.float32(3)\n"),
    ],
)
def test_a_block_that_reads_its_own_writes_writes_to_a_copy(old: str, new: str) -> None:
    program = parse_tvmscript(OWN_WRITES.replace(old, new))
    schedule = Schedule(program)
    schedule.cache_write("C", 0, "local")
    assert "C_local[vi, j]" in body_text(schedule.mod)
    check_computes_the_same(program, schedule.mod)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("C[vi, j] = A[vi, j]\n", "C[vi, j] = C[vi, 3 - j] + A[vi, j]\n"),
        (
            "                C[vi, j] = A[vi, j]\n",
            "                if vi < 4:\n                    C[vi, j] = A[vi, j]\n",
        ),
        ("in range(4):\n                C[vi, j] = A", "in range(3):\n                C[vi, j] = A"),
    ],
)
def test_a_block_that_reads_elements_before_it_writes_them_writes_to_the_buffer(old: str, new: str) -> None:
    message = str(refusal_of(OWN_WRITES.replace(old, new, 1), "", "sch.cache_write('C', 0, 'local')"))
    assert "is read by block C" in message
    assert "with what was there before" in message
