"""decompose_reduction and rfactor."""

import numpy as np
import pytest

import stepwell
from stepwell.core.errors import ScheduleError
from stepwell.dialects.tir import BlockOp
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.schedule.handles import BlockRV
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

MATMUL = """
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    for i, j, k in T.grid(6, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SUM = """
@T.prim_func
def main(A: T.Buffer((4, 6, 8), "float32"), C: T.Buffer((4,), "float32")):
    for i, j, k in T.grid(4, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vj, vk]
"""
ARGMAX = """
@T.prim_func
def main(A: T.Buffer((4, 12), "float32"), X: T.Buffer((4,), "int32"), Y: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 12):
        with T.block("best"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                X[vi] = -1
                Y[vi] = T.min_value("float32")
            a: T.int32 = T.Select(Y[vi] >= A[vi, vk], X[vi], vk)
            b: T.float32 = T.Select(Y[vi] >= A[vi, vk], Y[vi], A[vi, vk])
            X[vi] = a
            Y[vi] = b
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.{type}()
    A = T.match_buffer(a, (4, n), "float32")
    C = T.match_buffer(c, (4,), "float32")
    for i, k in T.grid(4, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""
LOOPS = "b = sch.get_block('C')\nL = sch.get_loops(b)\n"
SPLIT = LOOPS + "k0, k1 = sch.split(L[-1], [None, {}])\n"


def name_of(schedule: Schedule, block: BlockRV) -> str:
    op = schedule.get(block)
    assert isinstance(op, BlockOp)
    return op.block_name.data


def test_an_init_becomes_a_block_before_a_loop() -> None:
    after = apply_steps(MATMUL, LOOPS + "sch.decompose_reduction(b, L[1])")
    assert body_text(after) == (
        """for i in range(6):
    for j_init in range(4):
        with T.block("C_init"):
            vi, vj = T.axis.remap("SS", [i, j_init])
            T.reads()
            T.writes(C[vi, vj])
            C[vi, vj] = T.float32(0.0)
    for j, k in T.grid(4, 8):
        with T.block("C_update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]"""
    )


def test_the_init_is_guarded_by_what_concerns_its_own_axes() -> None:
    steps = (
        LOOPS + "i0, i1 = sch.split(L[0], [None, 4])\nk0, k1 = sch.split(L[2], [None, 3])\n"
        "sch.reorder(i0, k0, i1, L[1], k1)\nsch.decompose_reduction(b, k0)"
    )
    text = body_text(apply_steps(MATMUL, steps))
    init, update = text.split('"C_update"')
    assert "T.where(i_0 * 4 + i_1_init < 6)" in init
    assert "T.where(i_0 * 4 + i_1 < 6 and k_0 * 3 + k_1 < 8)" in update


def test_handles_stay_with_the_update() -> None:
    schedule = Schedule(parse_tvmscript(MATMUL))
    block = schedule.get_block("C")
    *_, k = schedule.get_loops(block)
    init = schedule.decompose_reduction(block, k)
    assert name_of(schedule, block) == "C_update"
    assert name_of(schedule, init) == "C_init"
    assert [loop.name for loop in schedule.get_loops(block)] == ["i", "j", "k"]
    schedule.split(k, [None, 2])


def test_loops_of_the_init_keep_kinds_and_annotations() -> None:
    steps = LOOPS + "sch.parallel(L[0])\nsch.annotate(L[1], 'key', 1)\nsch.annotate(b, 'mark', 2)\n"
    text = body_text(apply_steps(MATMUL, steps + "sch.decompose_reduction(b, L[0])"))
    init = text.split("C_update")[0]
    assert "for i_init in T.parallel(6)" in init
    assert 'annotations={"key": 1}' in init
    assert 'T.block_attr({"mark": 2})' in init


def test_a_loop_that_also_reduces_initialises_again_and_again() -> None:
    steps = LOOPS + "f = sch.fuse(L[1], L[2])\nsch.decompose_reduction(b, f)"
    assert "for j_k_fused_init in range(32)" in body_text(apply_steps(MATMUL, steps))


def test_several_buffers_are_initialised_by_one_block() -> None:
    steps = "b = sch.get_block('best')\nsch.decompose_reduction(b, sch.get_loops(b)[0])"
    text = body_text(apply_steps(ARGMAX, steps))
    assert "T.writes(X[vi], Y[vi])" in text.split("best_update")[0]
    assert "T.reads(X[vi], Y[vi], A[vi, vk])" in text


def test_an_init_below_a_loop_that_is_reduced_along_is_refused_with_instances() -> None:
    error = refusal_of(MATMUL, LOOPS + "sch.reorder(L[2], L[1])", "sch.decompose_reduction(b, L[1])")
    assert "C[0, 0] is accumulated into by block C at" in str(error)
    assert "vk=1" in str(error)
    assert "^" in str(error)


def test_an_init_may_be_below_a_reduced_loop_of_one_iteration() -> None:
    steps = SPLIT.format(8) + "sch.reorder(k0, L[1])\nsch.decompose_reduction(b, L[1])"
    apply_steps(MATMUL, steps)


def test_an_init_may_not_pass_what_reads_the_elements_before() -> None:
    text = MATMUL.replace(
        "    for i, j, k in T.grid(6, 4, 8):\n",
        "    for i in range(6):\n"
        "      with T.block('D'):\n"
        "        vi = T.axis.spatial(6, i)\n"
        "        A[vi, 0] = C[vi, 0]\n"
        "      for j, k in T.grid(4, 8):\n",
    )
    error = refusal_of(text, LOOPS, "sch.decompose_reduction(b, L[0])")
    assert "block D" in str(error)
    apply_steps(text, LOOPS + "sch.decompose_reduction(b, L[1])")


def test_a_branch_around_the_block_guards_the_init_too() -> None:
    text = MATMUL.replace("        with T.block", "      if i < 4 or j == 0:\n        with T.block")
    after = apply_steps(text, LOOPS + "sch.decompose_reduction(b, L[0])")
    assert "T.where(i_init < 4 or j_init == 0)" in body_text(after)


def test_a_reduction_that_counts_down_is_initialised_where_its_axis_is_least() -> None:
    text = MATMUL.replace("[i, j, k])", "[i, j, 7 - k])").replace(
        'vi, vj, vk = T.axis.remap("SSR", [i, j, 7 - k])',
        ('vi, vj = T.axis.remap("SS", [i, j])\n            vk = T.axis.reduce(8, 7 - k)'),
    )
    error = refusal_of(text, LOOPS, "sch.decompose_reduction(b, L[2])")
    assert "C[0, 0] is left at the end after block C contributes to it at (vi=0, vj=0, vk=1)" in str(error)


def test_a_loop_of_unknown_extent_may_leave_nothing_to_initialise() -> None:
    after = apply_steps(SYMBOLIC.format(type="int64"), LOOPS + "sch.decompose_reduction(b, L[0])")
    text = body_text(after)
    assert "T.where(" in text.split("C_update")[0]
    untouched = np.full(4, 7, np.float32)
    stepwell.build(after, "python")["main"](np.zeros((4, 0), np.float32), untouched)
    assert untouched.tolist() == [7, 7, 7, 7]


def test_initial_values_that_are_loaded_are_told_as_reads() -> None:
    text = MATMUL.replace("C[vi, vj] = 0.0", "C[vi, vj] = A[vi, vj]")
    after = body_text(apply_steps(text, LOOPS + "sch.decompose_reduction(b, L[1])"))
    assert "T.reads(A[vi, vj])" in after.split("C_update")[0]


@pytest.mark.parametrize(
    ("steps", "attempt", "reason"),
    [
        ("sch.decompose_reduction(b, L[2])", "sch.decompose_reduction(b, L[2])", "block C_update has no init"),
        ("", "sch.decompose_reduction('root', L[0])", "not the root block"),
        (
            "i = sch.decompose_reduction(b, L[2])",
            "sch.decompose_reduction(i, L[1])",
            "block C_init has no init",
        ),
    ],
)
def test_what_has_no_init_is_not_decomposed(steps: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(MATMUL, LOOPS + steps, attempt))


def test_the_loop_must_be_around_the_block() -> None:
    error = refusal_of(
        MATMUL + MATMUL.split("):\n", 1)[1].replace('"C"', '"D"'),
        LOOPS + "M = sch.get_loops(sch.get_block('D'))",
        "sch.decompose_reduction(b, M[0])",
    )
    assert "loop i is not around block C" in str(error)


# rfactor


def test_a_reduction_in_two_steps() -> None:
    after = apply_steps(SUM, SPLIT.format(4) + "sch.rfactor(k0, 1)")
    assert body_text(after) == (
        """C_rf = T.alloc_buffer((4, 2))
for i, j, k_0, k_1 in T.grid(4, 6, 2, 4):
    with T.block("C_rf"):
        vk_0, vi, vj, vk_1 = T.axis.remap("SSRR", [k_0, i, j, k_1])
        T.reads(A[vi, vj, vk_0 * 4 + vk_1])
        T.writes(C_rf[vi, vk_0])
        with T.init():
            C_rf[vi, vk_0] = T.float32(0.0)
        C_rf[vi, vk_0] = C_rf[vi, vk_0] + A[vi, vj, vk_0 * 4 + vk_1]
for i, k_0 in T.grid(4, 2):
    with T.block("C"):
        vk_0, vi = T.axis.remap("RS", [k_0, i])
        T.reads(C_rf[vi, vk_0])
        T.writes(C[vi])
        with T.init():
            C[vi] = T.float32(0.0)
        C[vi] = C[vi] + C_rf[vi, vk_0]"""
    )


def test_without_another_loop_to_reduce_along_contributions_are_stored() -> None:
    after = body_text(apply_steps(MATMUL, LOOPS + "sch.rfactor(L[2], -1)"))
    assert "C_rf[vi, vj, vk] = A[vi, vk] * B[vk, vj]" in after
    assert after.count("T.init()") == 1


def test_the_block_and_its_loops_become_the_second_step() -> None:
    schedule = Schedule(parse_tvmscript(SUM))
    block = schedule.get_block("C")
    i, j, k = schedule.get_loops(block)
    first = schedule.rfactor(k, 0)
    assert name_of(schedule, first) == "C_rf"
    assert [loop.name for loop in schedule.get_loops(block)] == ["i", "k"]
    schedule.split(i, [2, 2])
    assert len(schedule.get_loops(first)) == 3
    with pytest.raises(ScheduleError, match="no longer in the program"):
        schedule.split(j, [2, 3])


@pytest.mark.parametrize("factors", ["[2, 4]", "[None, 3]", "[4, 3]", "[3, 4]", "[1, 8]"])
@pytest.mark.parametrize("which", [0, 1])
def test_parts_of_a_loop_cut_anyhow(factors: str, which: int) -> None:
    apply_steps(MATMUL, LOOPS + f"K = sch.split(L[2], {factors})\nsch.rfactor(K[{which}], {which})")


def test_partial_sums_that_nobody_makes_are_not_read() -> None:
    after = body_text(apply_steps(SUM, LOOPS + "K = sch.split(L[2], [4, 4])\nsch.rfactor(K[0], 0)"))
    assert "T.where(k_0 * 4 < 8)" in after.split('T.block("C")')[1]


def test_a_guard_of_what_is_written_stays_in_both_steps() -> None:
    after = body_text(apply_steps(SUM, LOOPS + "sch.split(L[0], [None, 3])\nsch.rfactor(L[2], 0)"))
    assert after.count("T.where(i_0 * 3 + i_1 < 4)") == 2


@pytest.mark.parametrize("factor", [6, 5, 16])
@pytest.mark.parametrize("which", [0, 1])
def test_loops_joined_and_cut(factor: int, which: int) -> None:
    steps = LOOPS + f"K = sch.split(sch.fuse(L[1], L[2]), [None, {factor}])\nsch.rfactor(K[{which}], 1)"
    apply_steps(SUM, steps)


def test_a_reduction_twice_factored() -> None:
    apply_steps(SUM, LOOPS + "r = sch.rfactor(L[2], 0)\nsch.rfactor(sch.get_loops(r)[1], 1)")


def test_argmax_keeps_index_and_value_together() -> None:
    before = parse_tvmscript(ARGMAX)
    for which in (0, 1):
        schedule = Schedule(before)
        block = schedule.get_block("best")
        parts = schedule.split(schedule.get_loops(block)[1], [None, 5])
        schedule.rfactor(parts[which], 0)
        values = np.random.default_rng(1).permutation(48).reshape(4, 12).astype(np.float32)
        index, greatest = np.zeros(4, np.int32), np.zeros(4, np.float32)
        stepwell.build(schedule.mod, "python")["main"](values, index, greatest)
        assert index.tolist() == values.argmax(1).tolist()
        assert greatest.tolist() == values.max(1).tolist()


def test_argmax_without_another_loop_stores_candidates() -> None:
    after = body_text(apply_steps(ARGMAX, "sch.rfactor(sch.get_loops(sch.get_block('best'))[1], 1)"))
    assert "X_rf[vi, vk] = vk" in after
    assert "Y_rf[vi, vk] = A[vi, vk]" in after


@pytest.mark.parametrize(
    "update",
    [
        "C[vi] - A[vi, vj, vk]",
        "A[vi, vj, vk] + C[vi]",
        "C[vi] + A[vi, vj, vk] + A[vi, 0, vk]",
        "T.max(C[vi], A[vi, vj, vk])",
        "T.min(A[vi, vj, vk], C[vi])",
        "T.if_then_else(vk % 2 == 0, C[vi] + A[vi, vj, vk], C[vi])",
    ],
)
@pytest.mark.parametrize("loop", ["L[2]", "sch.fuse(L[1], L[2])"])
def test_operators(update: str, loop: str) -> None:
    text = SUM.replace("C[vi] + A[vi, vj, vk]", update)
    apply_steps(text, LOOPS + f"sch.rfactor({loop}, 0)")


def test_an_init_that_is_no_identity_stays_in_the_second_step() -> None:
    text = SUM.replace("C[vi] = 0.0", "C[vi] = A[vi, 1, 1]")
    after = body_text(apply_steps(text, LOOPS + "sch.rfactor(L[2], 0)"))
    first, second = after.split('T.block("C")')
    assert "C_rf[vk, vi] = T.float32(0.0)" in first
    assert "C[vi] = A[vi, 1, 1]" in second


def test_an_update_without_init_adds_to_what_is_there() -> None:
    after = body_text(apply_steps(SUM, LOOPS + "sch.decompose_reduction(b, L[0])\nsch.rfactor(L[1], 0)"))
    assert "C_update_rf" in after
    assert "T.reads(C_rf[vj, vi], C[vi])" in after


def test_a_branch_in_the_body_is_not_lost() -> None:
    text = SUM.replace(
        "            C[vi] = C[vi] + A[vi, vj, vk]",
        "            if vk < 5:\n                C[vi] = C[vi] + A[vi, vj, vk]",
    )
    apply_steps(text, LOOPS + "sch.rfactor(sch.fuse(L[1], L[2]), 0)")
    apply_steps(text, LOOPS + "sch.rfactor(L[2], 0)")


def test_a_predicate_may_leave_out_parts_of_sums() -> None:
    text = SUM.replace("            with T.init", "            T.where(i + k < 8)\n            with T.init")
    apply_steps(text, SPLIT.format(4) + "sch.rfactor(k0, 0)")
    apply_steps(text, SPLIT.format(4) + "sch.rfactor(k1, 0)")


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_predicate_that_looks_at_memory_is_refused(dtype: str) -> None:
    text = SUM.replace("float32", dtype).replace("0.0", f"T.{dtype}(0)")
    text = text.replace("            with T.init", "            T.where(A[i, j, k] > 0)\n            with T.init")
    assert "the predicate of block C is not affine" in str(refusal_of(text, SPLIT.format(4), "sch.rfactor(k1, 0)"))


def test_a_loop_that_does_not_start_at_zero_counts_elements_from_zero() -> None:
    text = SUM.replace("for i, j, k in T.grid(4, 6, 8):", "for i, j in T.grid(4, 6):\n      for k in T.serial(2, 6):")
    text = text.replace(
        'vi, vj, vk = T.axis.remap("SRR", [i, j, k])',
        ('vi, vj = T.axis.remap("SR", [i, j])\n            vk = T.axis.reduce((2, 6), k)'),
    )
    after = body_text(apply_steps(text, LOOPS + "sch.rfactor(L[2], 0)"))
    assert "C_rf = T.alloc_buffer((4, 4))" in after
    assert "C_rf[vk - 2, vi]" in after


@pytest.mark.parametrize("type", ["int32", "int64"])
@pytest.mark.parametrize("which", ["k0", "k1"])
def test_sums_of_unknown_length(type: str, which: str) -> None:
    after = apply_steps(SYMBOLIC.format(type=type), SPLIT.format(4) + f"sch.rfactor({which}, 1)")
    for n in (0, 3):
        result = np.full(4, 7, np.float32)
        stepwell.build(after, "python")["main"](np.ones((4, n), np.float32), result)
        assert result.tolist() == [n or 7] * 4


def test_integers_and_half_floats() -> None:
    for dtype in ("int8", "float16"):
        text = SUM.replace("float32", dtype).replace("0.0", f"T.{dtype}(0)")
        apply_steps(text, SPLIT.format(4) + "sch.rfactor(k1, 0)")


def test_what_is_beside_the_nest_stays() -> None:
    text = SUM.replace(
        "    for i, j, k in T.grid(4, 6, 8):\n",
        "    for i in range(4):\n"
        "      with T.block('D'):\n"
        "        vi = T.axis.spatial(4, i)\n"
        "        A[vi, 0, 0] = 1.0\n"
        "      for j, k in T.grid(6, 8):\n",
    )
    after = body_text(apply_steps(text, LOOPS + "sch.rfactor(L[2], 0)"))
    assert after.count("for i in range(4)") == 1


@pytest.mark.parametrize(
    ("steps", "attempt", "reason"),
    [
        ("", "sch.rfactor(L[0], 0)", "loop i is what vi of block C are computed from"),
        ("f = sch.fuse(L[0], L[1])", "sch.rfactor(f, 0)", "loop i_j_fused is what vi, vj of block C"),
        ("f = sch.fuse(L[0], L[1])", "sch.rfactor(L[2], 0)", "expected one kind of axes for each loop"),
        ("", "sch.rfactor(L[2], 2)", "factor_axis 2: expected one of -2 to 1, as buffer C has 1 dimensions"),
        ("", "sch.rfactor(L[2], -3)", "factor_axis -3"),
        ("K = sch.split(L[2], [4, 2])\nsch.bind(K[0], 'threadIdx.x')", "sch.rfactor(K[0], 0)", "is thread_binding"),
    ],
)
def test_loops_that_are_not_reduced_along_are_refused(steps: str, attempt: str, reason: str) -> None:
    assert reason in str(refusal_of(SUM, LOOPS + steps, attempt))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("C[vi] + A[vi, vj, vk]", "A[vi, vj, vk]", "C is not computed from its old value"),
        ("C[vi] + A[vi, vj, vk]", "C[vi] * 2.0 + A[vi, vj, vk]", "C mixes add and mul"),
        ('"SRR"', '"SSR"', "loop j is what vj of block C are computed from"),
        ("            with T.init", "            T.where(k >= 3)\n            with T.init", "the first iteration"),
        ("[i, j, k])", "[i, j // 2, k])", "may run more than once"),
        ("C[vi] = 0.0", "C[vi] = A[vi, vj, 0]", "the init of block C depends on what is reduced along"),
    ],
)
def test_blocks_that_are_no_such_reductions_are_refused(old: str, new: str, reason: str) -> None:
    text = SUM.replace(old, new)
    if "//" in new:
        text = text.replace(
            'vi, vj, vk = T.axis.remap("SRR", [i, j // 2, k])',
            ('vi, vk = T.axis.remap("SR", [i, k])\n            vj = T.axis.reduce(3, j // 2)'),
        )
    attempt = "sch.rfactor(L[1], 0)" if '"SSR"' in new else "sch.rfactor(L[2], 0)"
    assert reason in str(refusal_of(text, LOOPS, attempt))


def test_several_blocks_in_the_loop_are_refused() -> None:
    text = (
        SUM
        + """        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            A[vi, vj, vk] = 1.0
"""
    )
    assert "expected one block inside of loop k, a reduction, got C, D" in str(
        refusal_of(text, LOOPS, "sch.rfactor(L[2], 0)")
    )
