"""blockize, and other primitives inside the new scope."""

import numpy as np
import pytest

import stepwell
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, check_computes_the_same, refusal_of

ADD = """
@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + 1.0
"""
MATMUL = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j, k in T.grid(8, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
CHAIN = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i in range(8):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0
"""
LOOPS = "b = sch.get_block('C')\nL = sch.get_loops(b)\n"
TILED = (
    LOOPS + "i0, i1 = sch.split(L[0], [None, {}])\nj0, j1 = sch.split(L[1], [None, {}])\nsch.reorder(i0, j0, i1, j1)\n"
)
TILED_MATMUL = (
    LOOPS + "i0, i1 = sch.split(L[0], [None, {}])\nk0, k1 = sch.split(L[2], [None, {}])\n"
    "sch.reorder(i0, k0, i1, L[1], k1)\no = sch.blockize(i1)\n"
)


def test_a_tile_becomes_a_block() -> None:
    after = apply_steps(ADD, TILED.format(4, 3) + "sch.blockize(i1)")
    assert body_text(after) == (
        """for i_0, j_0 in T.grid(2, 4):
    with T.block("C_o"):
        vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
        T.reads(A[vi_o * 4:vi_o * 4 + 4, vj_o * 3:vj_o * 3 + 3])
        T.writes(C[vi_o * 4:vi_o * 4 + 4, vj_o * 3:vj_o * 3 + 3])
        for i_1, j_1 in T.grid(4, 3):
            with T.block("C"):
                vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
                T.reads(A[vi_o * 4 + vi_i, vj_o * 3 + vj_i])
                T.writes(C[vi_o * 4 + vi_i, vj_o * 3 + vj_i])
                C[vi_o * 4 + vi_i, vj_o * 3 + vj_i] = A[vi_o * 4 + vi_i, vj_o * 3 + vj_i] + T.float32(1.0)"""
    )


def test_an_axis_that_is_all_outside_or_all_inside_has_one_part() -> None:
    text = body_text(apply_steps(ADD, LOOPS + "sch.blockize(L[1])"))
    assert "vj_o = T.axis.spatial(1, 0)" in text
    assert "vi_i" not in text
    assert "C[vi_o, vj_i] = A[vi_o, vj_i]" in text


def test_the_init_of_a_reduction_becomes_that_of_the_block_around() -> None:
    after = apply_steps(MATMUL, TILED_MATMUL.format(4, 2))
    assert body_text(after) == (
        """for i_0, k_0 in T.grid(2, 4):
    with T.block("C_o"):
        vi_o = T.axis.spatial(2, i_0)
        vj_o = T.axis.spatial(1, 0)
        vk_o = T.axis.reduce(4, k_0)
        T.reads(A[vi_o * 4:vi_o * 4 + 4, vk_o * 2:vk_o * 2 + 2], B[vk_o * 2:vk_o * 2 + 2, 0:4])
        T.writes(C[vi_o * 4:vi_o * 4 + 4, 0:4])
        with T.init():
            for i_1, j in T.grid(4, 4):
                with T.block("C_init"):
                    vi_i_init, vj_i_init = T.axis.remap("SS", [i_1, j])
                    T.reads()
                    T.writes(C[vi_o * 4 + vi_i_init, vj_i_init])
                    C[vi_o * 4 + vi_i_init, vj_i_init] = T.float32(0.0)
        for i_1, j, k_1 in T.grid(4, 4, 2):
            with T.block("C"):
                vi_i, vj_i, vk_i = T.axis.remap("SSR", [i_1, j, k_1])
                T.reads(C[vi_o * 4 + vi_i, vj_i], A[vi_o * 4 + vi_i, vk_o * 2 + vk_i], B[vk_o * 2 + vk_i, vj_i])
                T.writes(C[vi_o * 4 + vi_i, vj_i])
                C[vi_o * 4 + vi_i, vj_i] = C[vi_o * 4 + vi_i, vj_i] + A[vi_o * 4 + vi_i, vk_o * 2 + vk_i]"""
        """ * B[vk_o * 2 + vk_i, vj_i]"""
    )


@pytest.mark.parametrize("target", ["i0", "k0", "i1", "L[1]", "k1"])
@pytest.mark.parametrize(("rows", "depth"), [(4, 2), (3, 3), (8, 8), (1, 5)])
def test_tiles_of_a_reduction_that_divide_it_or_not(target: str, rows: int, depth: int) -> None:
    steps = TILED_MATMUL.format(rows, depth).replace("blockize(i1)", f"blockize({target})")
    apply_steps(MATMUL, steps)


@pytest.mark.parametrize("target", ["i0", "j0", "i1", "j1"])
def test_tiles_that_do_not_divide(target: str) -> None:
    after = body_text(apply_steps(ADD, TILED.format(3, 5) + f"sch.blockize({target})"))
    if target == "i1":
        assert "T.where(vi_o * 3 + i_1 < 8 and vj_o * 5 + j_1 < 12)" in after


def test_a_guard_of_outer_loops_stays_outside() -> None:
    after = body_text(apply_steps(ADD, LOOPS + "K = sch.split(L[0], [None, 3])\nsch.blockize(L[1])"))
    outer = after.split('T.block("C")')[0]
    assert "T.where(i_0 * 3 + i_1 < 8)" in outer
    assert after.count("T.where") == 1


def test_parts_of_a_joined_loop() -> None:
    after = body_text(apply_steps(ADD, LOOPS + "f = sch.fuse(*L)\nK = sch.split(f, [None, 24])\nsch.blockize(K[1])"))
    assert "C[vi_o * 2 + vi_i, vj_i]" in after
    apply_steps(ADD, LOOPS + "f = sch.fuse(*L)\nK = sch.split(f, [None, 4])\nsch.blockize(K[1])")


def test_axes_that_do_not_start_at_zero_or_count_down() -> None:
    text = ADD.replace(
        'vi, vj = T.axis.remap("SS", [i, j])\n            C[vi, vj] = A[vi, vj] + 1.0',
        "vi = T.axis.spatial((2, 10), i + 2)\n"
        "            vj = T.axis.spatial(12, 11 - j)\n"
        "            C[vi - 2, vj] = A[vi - 2, vj] + 1.0",
    )
    for target in ("i0", "j0", "i1", "j1"):
        apply_steps(text, TILED.format(4, 3) + f"sch.blockize({target})")


def test_blocks_side_by_side_become_one() -> None:
    after = body_text(apply_steps(CHAIN, "sch.blockize([sch.get_block('B'), sch.get_block('C')])"))
    assert 'with T.block("outer_B_C_"):' in after
    assert "T.reads(A[vi_o, 0:6], B[vi_o, 0:6])" in after
    assert "T.writes(B[vi_o, 0:6], C[vi_o, 0:6])" in after


def test_a_loop_around_several_blocks() -> None:
    after = body_text(apply_steps(CHAIN, LOOPS + "sch.blockize(L[0])"))
    assert after.index("outer_B_C_") < after.index("for i in range(8)")


def test_a_guard_that_several_blocks_share_stays_outside() -> None:
    both = LOOPS + "K = sch.split(L[0], [None, 3])\nsch.blockize([sch.get_block('B'), b])"
    after = body_text(apply_steps(CHAIN, both))
    assert "T.where(i_0 * 3 + i_1 < 8)" in after.split('T.block("B")')[0]
    assert after.count("T.where") == 1


def test_a_guard_of_one_block_of_several_stays_inside() -> None:
    text = CHAIN.replace("C[vi, vj] =", "T.where(i < 5)\n                C[vi, vj] =")
    after = body_text(apply_steps(text, LOOPS + "sch.blockize(L[0])"))
    assert "T.where" not in after.split('T.block("B")')[0]
    assert after.count("T.where") == 1


def test_one_block_without_its_loops() -> None:
    after = body_text(apply_steps(ADD, "sch.blockize('C')"))
    assert "C[vi_o, vj_o] = A[vi_o, vj_o]" in after


def test_a_reduction_beside_what_it_reads() -> None:
    text = MATMUL.replace(
        "    for i, j, k in T.grid(8, 4, 8):\n",
        (
            "    Q = T.alloc_buffer((8, 8))\n"
            "    for i in range(8):\n"
            "      for ax in range(8):\n"
            "        with T.block('Q'):\n"
            "            vi, vk = T.axis.remap('SS', [i, ax])\n"
            "            Q[vi, vk] = A[vi, vk] * 2.0\n"
            "      for j, k in T.grid(4, 8):\n"
        ),
    ).replace("+ A[", "+ Q[")
    after = body_text(apply_steps(text, "sch.blockize([sch.get_block('Q'), sch.get_block('C')])"))
    assert after.index("C_init") < after.index('"Q"')
    apply_steps(text, LOOPS + "sch.blockize(L[0])")


def test_conditions_inside_are_told_by_the_new_axes() -> None:
    text = ADD.replace("        with T.block", "      if i + j < 9:\n        with T.block")
    after = body_text(apply_steps(text, TILED.format(4, 3) + "sch.blockize(i1)"))
    assert "if vi_o * 4 + i_1 + vj_o * 3 + j_1 < 9:" in after


def test_unknown_extents_inside_and_outside() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]
"""
    for steps in ("sch.blockize(L[1])", "sch.blockize(L[0])", "K = sch.split(L[1], [None, 4])\nsch.blockize(K[1])"):
        after = apply_steps(text, LOOPS + steps)
        untouched = np.full(3, 7, np.float32)
        stepwell.build(after, "python")["main"](np.zeros((3, 0), np.float32), untouched)
        assert untouched.tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("text", "steps", "attempt", "reason"),
    [
        (
            ADD,
            LOOPS + "K = sch.split(L[0], [4, 2])\nsch.reorder(K[1], K[0])",
            "sch.blockize(K[0])",
            "axis vi is i_0*2 + i_1, in which outer i_1 is a finer part than inner i_0*2",
        ),
        (ADD, LOOPS, "sch.blockize(['C', 'C'])", "a block is given twice"),
        (
            CHAIN.replace("range(8)", "range(9)").replace(
                'vi, vj = T.axis.remap("SS", [i, j])\n                B',
                "vi = T.axis.spatial(8, i)\n                vj = T.axis.spatial(6, j)\n"
                "                T.where(i < 8)\n                B",
            ),
            LOOPS,
            "sch.blockize(['B', 'C'])",
            "different conditions, not all of which keep axis vi_o in its domain",
        ),
        (ADD, LOOPS, "sch.blockize('root')", "not the root block"),
        (
            CHAIN.replace(
                "    for i in range(8):\n        for j", "    for i in range(8):\n        A[i, 0] = 1.0\n        for j"
            ),
            LOOPS,
            "sch.blockize(L[0])",
            "expected all statements to be inside of blocks",
        ),
        (
            CHAIN.replace('"C"):', '"C"):\n                T.where(j < 4)').replace(
                '        for j in range(6):\n            with T.block("C")',
                '        A[i, 0] = 1.0\n        for j in range(6):\n            with T.block("C")',
            ),
            LOOPS,
            "sch.blockize(['B', 'C'])",
            "do not directly follow each other",
        ),
        (
            MATMUL,
            LOOPS + "sch.reorder(L[2], L[1])",
            "sch.blockize(L[3:])",
            "expected",
        ),
        (
            MATMUL,
            TILED_MATMUL.format(4, 2),
            "sch.blockize(['C_init', 'C'])",
            "an init runs before the first step alone: expected all blocks in it, or none",
        ),
    ],
)
def test_what_makes_no_block_is_refused(text: str, steps: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(text, steps, attempt))


def test_an_init_that_would_come_too_early_is_refused_with_instances() -> None:
    text = MATMUL.replace("A[vi, vk] * B[vk, vj]", "B[vi, vj]").replace("C[vi, vj] = 0.0", "C[vi, vj] = A[vi, vj]")
    text = text.replace(
        "    for i, j, k in T.grid(8, 4, 8):\n",
        (
            "    for i, j in T.grid(8, 4):\n"
            "      with T.block('Q'):\n"
            "        vi, vj = T.axis.remap('SS', [i, j])\n"
            "        A[vi, vj] = 3.0\n"
            "      for k in range(8):\n"
        ),
    )
    error = refusal_of(text, LOOPS, "sch.blockize(L[0])")
    assert "A[0, 0]" in str(error)
    assert "block C" in str(error)


BIASED = MATMUL.replace("C[vi, vj] = 0.0", "C[vi, vj] = bias[vj]").replace(
    "C: T", 'bias: T.Buffer((4,), "float32"), C: T'
)


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        (
            "sch.cache_read('C_init', 0, 'local')",
            "bias[0] is read by block C_init at (vi_i_init=0, vj_i_init=0) with what was there before",
        ),
        (
            "sch.cache_write('C_init', 0, 'local')",
            "is accumulated into by block C at (vi_i=0, vj_i=0, vk_i=0) with what was there before, for vk_o = 1",
        ),
        (
            "sch.reverse_compute_at('C', sch.get_loops('C_init')[0])",
            "block C at (vi_i=0, vj_i=0, vk_i=0) no longer runs, for vk_o = 1",
        ),
    ],
)
def test_the_init_of_the_scope_runs_first_and_in_the_first_step_alone(attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(BIASED, TILED_MATMUL.format(4, 2), attempt))


def test_extents_that_may_overflow_are_computed_where_they_are_used() -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n * 64 - 61,), "int32")
    for i in range(n * 64 - 61):
        with T.block("C"):
            vi = T.axis.spatial(n * 64 - 61, i)
            B[vi] = A[vi // 64] + vi
"""
    apply_steps(text, LOOPS + "sch.blockize(L[0])")
    apply_steps(text, LOOPS + "sch.blockize(b)")


# Inside the new scope


@pytest.mark.parametrize(
    "steps",
    [
        "sch.split(i1, [2, 2])",
        "sch.split(i1, [None, 3])",
        "sch.reorder(k1, i1)",
        "sch.fuse(i1, L[1])",
        "sch.parallel(i1)",
        "sch.annotate(o, 'key', 1)\nsch.split(i0, [1, 2])\nsch.fuse(*sch.get_loops(o)[1:])",
        "sch.reorder(k0, i0)",
        "sch.cache_read(b, 1, 'global')",
        "sch.cache_read(b, 2, 'local')",
        "sch.cache_read(o, 0, 'global')",
        "c = sch.cache_read(o, 0, 'global')\nsch.compute_at(c, k0)",
        "c = sch.cache_read(b, 1, 'global')\nsch.compute_at(c, i1)",
        "sch.cache_write(o, 0, 'global')",
        "sch.decompose_reduction(o, k0)",
        "sch.decompose_reduction(o, i0)",
        "sch.rfactor(k1, 0)",
        "sch.blockize(L[1])",
        "sch.blockize(k1)",
        "sch.blockize(k0)",
        "sch.blockize(i0)",
        "sch.set_scope(sch.cache_read(b, 1, 'global'), 0, 'shared')",
        "sch.add_unit_loop(b)",
        "sch.reorder_block_iter_var(o, [2, 0, 1])",
    ],
)
def test_other_primitives_inside_of_the_new_scope(steps: str) -> None:
    apply_steps(MATMUL, TILED_MATMUL.format(4, 2) + steps)


def test_loops_of_a_block_inside_end_at_its_scope() -> None:
    schedule = Schedule(parse_tvmscript(MATMUL))
    block = schedule.get_block("C")
    i, j, k = schedule.get_loops(block)
    outer = schedule.blockize(j)
    assert [loop.name for loop in schedule.get_loops(block)] == ["j", "k"]
    assert [loop.name for loop in schedule.get_loops(outer)] == ["i"]
    assert [child.name for child in schedule.get_child_blocks(outer)] == ["C_init", "C"]
    with pytest.raises(Exception, match="not around block C"):
        schedule.decompose_reduction(block, i)
    schedule.reorder(k, j)
    check_computes_the_same(parse_tvmscript(MATMUL), schedule.mod)


def test_blocks_in_blocks_in_blocks() -> None:
    steps = TILED.format(4, 6) + "sch.blockize(i1)\nK = sch.split(j1, [2, 3])\nsch.blockize(K[0])\nsch.blockize(i0)"
    after = body_text(apply_steps(ADD, steps))
    assert after.count("with T.block") == 4
