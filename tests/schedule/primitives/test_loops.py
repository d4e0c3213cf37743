"""split, fuse, reorder."""

import re

import numpy as np
import pytest

import stepwell
from stepwell.core.errors import ScheduleError
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of


def program(loops: str, body: str = "B[vi] = A[vi] + T.float32(1)", axes: str = "vi = T.axis.spatial(13, i)") -> str:
    """A block B in a loop nest; the body and the axes may have several lines."""
    nest, indent = "", "    "
    for line in loops.strip().splitlines():
        nest += f"{indent}{line.strip()}\n"
        indent += "    "
    inner = "".join(f"{indent}    {line}\n" for line in (*axes.splitlines(), *body.splitlines()))
    return f"{nest}{indent}with T.block('B'):\n{inner}"


def function(parameters: str, body: str) -> str:
    return f"@T.prim_func\ndef main({parameters}):\n{body}"


VECTOR = function(
    "A: T.Buffer((13,), 'float32'), B: T.Buffer((13,), 'float32')",
    program("for i in range(13):"),
)
GRID = function(
    "A: T.Buffer((6, 4), 'float32'), B: T.Buffer((6, 4), 'float32')",
    program(
        "for i in range(6):\nfor j in range(4):", "B[vi, vj] = A[vi, vj] * 2.0", "vi, vj = T.axis.remap('SS', [i, j])"
    ),
)
MATMUL = function(
    "A: T.Buffer((6, 5), 'float32'), B: T.Buffer((5, 4), 'float32'), C: T.Buffer((6, 4), 'float32')",
    program(
        "for i in range(6):\nfor j in range(4):\nfor k in range(5):",
        "with T.init():\n    C[vi, vj] = 0.0\nC[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
        "vi, vj, vk = T.axis.remap('SSR', [i, j, k])",
    ),
)
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.{type}()
    m = T.{type}()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""
CSR = """
@T.prim_func
def main(P: T.Buffer((5,), "int32"), A: T.Buffer((20,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        for j in range(P[i] % 5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                vj = T.axis.reduce(P[i] % 5, j)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vj]
"""
ONE = "i, = sch.get_loops('B')\n"
IJ = "i, j = sch.get_loops('B')\n"
IJK = "i, j, k = sch.get_loops('B')\n"


# split


def test_a_split_that_divides_needs_no_guard() -> None:
    mod = apply_steps(VECTOR.replace("13", "12"), ONE + "sch.split(i, [None, 4])")
    assert body_text(mod) == (
        "for i_0, i_1 in T.grid(3, 4):\n"
        '    with T.block("B"):\n'
        "        vi = T.axis.spatial(12, i_0 * 4 + i_1)\n"
        "        T.reads(A[vi])\n"
        "        T.writes(B[vi])\n"
        "        B[vi] = A[vi] + T.float32(1.0)"
    )


def test_a_split_that_does_not_divide_is_guarded() -> None:
    text = body_text(apply_steps(VECTOR, ONE + "sch.split(i, [None, 4])"))
    assert "for i_0, i_1 in T.grid(4, 4):" in text
    assert "T.where(i_0 * 4 + i_1 < 13)" in text


@pytest.mark.parametrize(
    ("factors", "extents", "guarded"),
    [
        ([None, 4, 2], "2, 4, 2", True),
        ([2, -1, 3], "2, 3, 3", True),
        ([13], "13", False),
        ([None], "13", False),
        ([1, None, 1], "1, 13, 1", False),
        ([4, 5], "4, 5", True),
        ([None, 20], "1, 20", True),
        ([20, None], "20, 1", True),
    ],
)
def test_factors_are_extents_outermost_first_and_one_may_follow(factors, extents: str, guarded: bool) -> None:
    mod = apply_steps(VECTOR, ONE + f"loops = sch.split(i, {factors})\nassert len(loops) == {len(factors)}")
    assert (f"T.grid({extents})" if "," in extents else f"range({extents})") in mod.script()
    assert ("T.where" in mod.script()) == guarded


def test_a_split_loop_is_split_again_and_guards_that_always_hold_are_dropped() -> None:
    steps = ONE + "a, b = sch.split(i, [None, 8])\nsch.split(b, [3, None])\nsch.split(a, [None, 1])"
    text = body_text(apply_steps(VECTOR, steps))
    assert text.count("T.where") == 1
    assert "i_0_0 * 8 + i_1_0 * 3 + i_1_1 < 13 and i_1_0 * 3 + i_1_1 < 8" in text


def test_new_loops_are_serial() -> None:
    for kind in ("parallel", "vectorized", "unroll"):
        text = apply_steps(VECTOR.replace("range(13)", f"T.{kind}(13)"), ONE + "sch.split(i, [None, 4])").script()
        assert f"T.{kind}" not in text


def test_a_loop_that_does_not_start_at_0_is_split() -> None:
    text = body_text(apply_steps(VECTOR.replace("range(13)", "range(3, 13)"), ONE + "sch.split(i, [None, 4])"))
    assert "vi = T.axis.spatial(13, i_0 * 4 + i_1 + 3)" in text
    assert "T.where(i_0 * 4 + i_1 + 3 < 13)" in text


def test_loops_of_64_bits_stay_so() -> None:
    text = body_text(apply_steps(VECTOR.replace("range(13)", "range(T.int64(13))"), ONE + "sch.split(i, [None, 4])"))
    assert "T.grid(T.int64(4), T.int64(4))" in text


@pytest.mark.parametrize("type", ["int32", "int64"])
@pytest.mark.parametrize("factors", ["[None, 8]", "[8, None]", "[2, None, 3]"])
def test_loops_of_symbolic_extent_are_split(type: str, factors: str) -> None:
    mod = apply_steps(SYMBOLIC.format(type=type), IJ + f"sch.split(i, {factors})\nsch.split(j, {factors})")
    assert mod.script().count("T.where") == 1
    assert "Cast" not in mod.script()


def multiple(type: str, extent: str) -> str:
    """A copy of `extent` elements, in terms of a scalar parameter `n`."""
    return f"""
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.{type}):
    A = T.match_buffer(a, ({extent},), "float32")
    B = T.match_buffer(b, ({extent},), "float32")
    for i in range({extent}):
        with T.block("B"):
            vi = T.axis.spatial({extent}, i)
            B[vi] = A[vi]
"""


def without_types(text: str) -> str:
    """A text with `T.int64(5)` as `5`."""
    return re.sub(r"T\.int64\((\d+)\)", r"\1", text)


@pytest.mark.parametrize("type", ["int32", "int64"])
@pytest.mark.parametrize(
    ("extent", "factors", "extents"),
    [
        ("n * 32", "[None, 32]", "n * 32 // 32, 32"),
        ("n * 32", "[4, None, 2]", "4, n * 32 // 8, 2"),
        ("(n + 2) * 16", "[None, 8]", "(n + 2) * 16 // 8, 8"),
        ("n * 96 + 64", "[None, 16], disable_predication=True", "(n * 96 + 64) // 16, 16"),
    ],
)
def test_multiples_of_a_power_of_two_are_split_without_a_guard(
    type: str, extent: str, factors: str, extents: str
) -> None:
    """The product may wrap, and is a multiple of the factors nevertheless."""
    mod = apply_steps(multiple(type, extent), ONE + f"sch.split(i, {factors})")
    text = without_types(body_text(mod))
    assert f"in T.grid({extents}):" in text
    assert "T.where" not in text


@pytest.mark.parametrize(("type", "wrapping"), [("int32", 2**27), ("int64", 2**59)])
def test_a_product_that_wraps_to_zero_has_no_iterations_after_a_split(type: str, wrapping: int) -> None:
    main = stepwell.build(apply_steps(multiple(type, "n * 32"), ONE + "sch.split(i, [None, 32])"))
    main(np.zeros(0, "float32"), np.zeros(0, "float32"), wrapping)


def test_a_negative_multiple_has_no_iterations_after_a_split() -> None:
    text = function(
        "A: T.Buffer((64,), 'float32'), B: T.Buffer((64,), 'float32'), n: T.int64",
        program("for i in range(n * T.int64(4)):", "B[vi] = A[vi]", "vi = T.axis.spatial(T.int64(64), i)"),
    )
    mod = stepwell.parse_tvmscript(text)
    sch = Schedule(mod)
    sch.split(sch.get_loops("B")[0], [2, None, 2])
    assert "T.where" not in sch.mod.script()
    main = stepwell.build(sch.mod)
    for n in (-(2**61), -3, 0, 3, 16):
        a, b = np.arange(64, dtype="float32"), np.zeros(64, "float32")
        main(a, b, n)
        assert np.array_equal(b[: max(4 * n, 0)], a[: max(4 * n, 0)])
        assert not b[max(4 * n, 0) :].any()


@pytest.mark.parametrize("type", ["int32", "int64"])
def test_multiples_of_a_bounded_size_are_split_by_any_factor(type: str) -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.{type}()
    A = T.match_buffer(a, (n, 30), "float32")
    B = T.match_buffer(b, (n * {number},), "float32")
    for i in range(n * {number}):
        with T.block("B"):
            vi = T.axis.spatial(n * {number}, i)
            B[vi] = A[vi // 30, vi % 30]
""".format(type=type, number="30" if type == "int32" else "T.int64(30)")
    out = without_types(body_text(apply_steps(text, ONE + "sch.split(i, [None, 15])")))
    assert "in T.grid(n * 2, 15):" in out
    assert "T.where" not in out


def test_a_product_that_may_wrap_is_no_multiple_of_other_factors() -> None:
    """2**32 and 2**64 are no multiples of 10."""
    out = body_text(apply_steps(multiple("int32", "n * 10"), ONE + "sch.split(i, [None, 10])"))
    assert "T.where" in out
    error = refusal_of(multiple("int64", "n * 10"), ONE, "sch.split(i, [None, 10])")
    assert "which does not fit int64" in str(error)


def test_where_counting_may_wrap_the_guard_is_computed_in_more_bits() -> None:
    text = function(
        "A: T.Buffer((64,), 'float32'), B: T.Buffer((64,), 'float32'), n: T.int32",
        program("for i in range(n):", "T.where(i < 64)\nB[vi] = A[vi]", "vi = T.axis.spatial(64, i)"),
    )
    mod = apply_steps(text, ONE + "sch.split(i, [None, 8])")
    guard = next(line for line in mod.script().splitlines() if "T.where" in line)
    assert 'T.Cast("int64", i_0) * T.int64(8)' in guard
    main = stepwell.build(mod)
    for n in (-5, 0, 7, 64):
        a, b = np.arange(64, dtype="float32"), np.zeros(64, "float32")
        main(a, b, n)
        assert np.array_equal(b[: max(n, 0)], a[: max(n, 0)])
        assert not b[max(n, 0) :].any()


def test_stores_outside_of_blocks_are_guarded_by_a_branch() -> None:
    text = VECTOR.replace("(13,), 'float32')):", "(13,), 'float32'), C: T.Buffer((13,), 'float32')):")
    text += "        C[i] = A[i] * T.float32(2)\n"
    out = body_text(apply_steps(text, ONE + "sch.split(i, [None, 4])"))
    assert "    if i_0 * 4 + i_1 < 13:\n" in out
    assert "T.where" not in out


def test_what_is_read_on_the_way_to_a_block_is_read_under_the_guard() -> None:
    text = body_text(apply_steps(CSR, IJ + "sch.split(i, [None, 3])"))
    assert text.index("if i_0 * 3 + i_1 < 5:") < text.index("range(P[i_0 * 3 + i_1] % 5)")


def test_bounds_that_are_read_from_memory_are_read_once() -> None:
    text = body_text(apply_steps(CSR, IJ + "sch.split(j, [None, 3])"))
    assert "for j_0, j_1 in T.grid((value % 5 + 2) // 3, 3):" in text
    assert "T.where(j_0 * 3 + j_1 < value % 5)" in text


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ("[3, 4]", "the product of the factors, 12, must not be less than the extent of loop i, 13"),
        ("[None, None]", r"factors \[None, None\]: at most one may be None"),
        ("[0, None]", r"factors \[0, None\]: expected positive numbers"),
        ("[-3, None]", r"factors \[-3, None\]: expected positive numbers"),
        ("[]", r"factors \[\]: expected positive numbers, at least one"),
        ("[None, 4], disable_predication=True", "may not divide the extent of loop i, so it needs the guard"),
        ("[None, 2**31]", "a loop of extent 2147483648 does not fit int32"),
        ("[2**31 - 1] * 3", "loop i may count to .* does not fit int64"),
    ],
)
def test_factors_that_do_not_fit_are_refused(factors: str, message: str) -> None:
    error = refusal_of(VECTOR, ONE, f"sch.split(i, {factors})")
    assert error.primitive == "split"
    with pytest.raises(ScheduleError, match=message):
        raise error


@pytest.mark.parametrize("factors", ["4", "'ab'", "[2, 'x']", "[2.0, None]"])
def test_factors_that_are_no_numbers_are_refused(factors: str) -> None:
    assert "expected a list of numbers" in str(refusal_of(VECTOR, ONE, f"sch.split(i, {factors})"))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        ("sch.split(sch.get_block('B'), [None, 4])", "split: loop: expected the handle of a loop, got that of a block"),
        ("sch.fuse(i, 3)", "fuse: loops: expected the handle of a loop, got 3"),
        ("sch.parallel(p)", "parallel: loop: expected the handle of a loop, got the place 'root', which is no loop"),
        ("sch.get_loops(i)", "get_loops: block: expected the handle of a block, got that of a loop"),
        ("sch.annotate(None, 'x', 1)", "annotate: block_or_loop: expected the handle of a block or loop, got None"),
    ],
)
def test_blocks_and_loops_are_asked_for_by_their_handles(attempt: str, message: str) -> None:
    text = VECTOR + "    for i in range(13):\n        with T.block('D'):\n            B[i] = B[i] + 1.0\n"
    text = text.replace("B[i] = B[i]", "vi = T.axis.spatial(13, i)\n            B[vi] = B[vi]")
    assert refusal_of(text, ONE + "p = sch.sample_compute_location('B', decision=-1)", attempt).reason in message


def test_annotated_bound_and_stepping_loops_are_not_split() -> None:
    assert "has annotations (x)" in str(refusal_of(VECTOR, ONE + "sch.annotate(i, 'x', 1)", "sch.split(i, [None, 4])"))
    assert "bound to threadIdx.x" in str(
        refusal_of(VECTOR, ONE + "sch.bind(i, 'threadIdx.x')", "sch.split(i, [None, 4])")
    )
    stepping = VECTOR.replace("range(13)", "T.serial(0, 13, step=2)")
    assert "has a step other than 1" in str(refusal_of(stepping, ONE, "sch.split(i, [None, 4])"))


def test_a_loop_that_was_split_is_gone() -> None:
    error = refusal_of(VECTOR, ONE + "sch.split(i, [None, 4])", "sch.split(i, [None, 4])")
    assert "loop 'i' is no longer in the program" in str(error)


# fuse


def test_loops_are_fused_and_their_variables_are_digits_of_the_new_one() -> None:
    text = body_text(apply_steps(GRID, IJ + "sch.fuse(i, j)"))
    assert text.startswith("for i_j_fused in range(24):\n")
    assert "vi = T.axis.spatial(6, i_j_fused // 4)" in text
    assert "vj = T.axis.spatial(4, i_j_fused % 4)" in text


def test_splitting_and_fusing_again_gives_the_same_bindings() -> None:
    text = body_text(apply_steps(VECTOR.replace("13", "12"), ONE + "a, b = sch.split(i, [None, 4])\nsch.fuse(a, b)"))
    assert "vi = T.axis.spatial(12, i_0_i_1_fused)" in text


def test_guarded_splits_are_fused() -> None:
    steps = IJ + (
        "a, b = sch.split(i, [None, 5])\nc, d = sch.split(j, [None, 3])\nsch.reorder(a, c, b, d)\n"
        "sch.fuse(a, c)\ne = sch.fuse(b, d)\nsch.split(e, [None, 4])"
    )
    assert "T.where" in apply_steps(GRID, steps).script()


def test_loops_that_do_not_start_at_0_are_fused() -> None:
    text = GRID.replace("range(6)", "range(2, 6)").replace("range(4)", "range(1, 4)")
    out = body_text(apply_steps(text, IJ + "sch.fuse(i, j)"))
    assert "for i_j_fused in range(12):" in out
    assert "vi = T.axis.spatial((2, 6), i_j_fused // 3 + 2)" in out


@pytest.mark.parametrize("type", ["int32", "int64"])
def test_loops_of_symbolic_extents_are_fused_where_their_product_fits(type: str) -> None:
    text = body_text(apply_steps(SYMBOLIC.format(type=type), IJ + "f = sch.fuse(i, j)\nsch.split(f, [None, 8])"))
    assert "vi = T.axis.spatial(n, (i_j_fused_0 * " in text
    assert "< n * m)" in text


def test_extents_that_may_be_negative_are_not_multiplied_as_they_are() -> None:
    text = function(
        "A: T.Buffer((8, 8), 'int32'), n: T.int32, m: T.int32",
        program(
            "for i in range(T.min(n, 8)):\nfor j in range(T.min(m, 8)):",
            "A[vi, vj] = 1",
            "vi = T.axis.spatial(8, i)\nvj = T.axis.spatial(8, j)",
        ),
    )
    main = stepwell.build(apply_steps(text, IJ + "sch.fuse(i, j)"))
    for n, m, count in ((3, 5, 15), (-2, -3, 0), (-2, 4, 0), (0, 4, 0), (9, 9, 64)):
        a = np.zeros((8, 8), np.int32)
        main(a, n, m)
        assert a.sum() == count


@pytest.mark.parametrize(
    ("text", "attempt", "message"),
    [
        (GRID, "sch.fuse(j, i)", "loop i is not the only statement in loop j"),
        (GRID, "sch.fuse(i, i)", "loop i is given twice"),
        (GRID, "sch.fuse()", "expected one or more loops"),
        (
            GRID.replace("range(4)", "range(i + 1)"),
            "sch.fuse(i, j)",
            "the bounds of loop j depend on loop i",
        ),
        (
            CSR.replace("range(P[i] % 5)", "range(P[0] % 5)").replace("reduce(P[i] % 5", "reduce(5"),
            "sch.fuse(i, j)",
            "the bounds of loop j are read from memory, or come from a call, inside of loop i",
        ),
    ],
)
def test_loops_that_are_no_grid_are_not_fused(text: str, attempt: str, message: str) -> None:
    assert message in str(refusal_of(text, IJ, attempt))


def test_a_product_that_may_not_fit_is_counted_in_int64() -> None:
    text = function(
        "A: T.Buffer((8,), 'int32'), n: T.{0}, m: T.{0}",
        program("for i in range(n):\nfor j in range(m):", "T.where(i < 8)\nA[vi] = 1", "vi = T.axis.spatial(8, i)"),
    )
    after = apply_steps(text.replace("{0}", "int32"), IJ + "\nsch.fuse(i, j)")
    assert 'for i_j_fused in range(T.max(T.Cast("int64", n), T.int64(0)) * T.max(' in after.script()
    message = str(refusal_of(text.replace("{0}", "int64"), IJ, "sch.fuse(i, j)"))
    assert "the product of the extents may be as large as 85070591730234615847396907784232501249" in message


# reorder


def test_loops_are_reordered_and_others_keep_their_places() -> None:
    assert "for k, j, i in T.grid(5, 4, 6):" in apply_steps(MATMUL, IJK + "sch.reorder(k, i)").script()
    assert "for k, i, j in T.grid(5, 6, 4):" in apply_steps(MATMUL, IJK + "sch.reorder(k, i, j)").script()


def test_handles_outlive_a_reorder() -> None:
    sch = Schedule(stepwell.parse_tvmscript(MATMUL))
    i, _, k = sch.get_loops("B")
    sch.reorder(k, i)
    sch.split(k, [None, 2])
    assert "for k_0, k_1, j, i in T.grid(3, 2, 4, 6):" in sch.mod.script()


@pytest.mark.parametrize("steps", ["sch.reorder()", "sch.reorder(k)", "sch.reorder(i, k)", "sch.reorder(i, j, k)"])
def test_an_order_that_is_there_already_changes_nothing(steps: str) -> None:
    assert apply_steps(MATMUL, IJK + steps).script() == apply_steps(MATMUL, IJK).script()


STENCIL = """
@T.prim_func
def main(A: T.Buffer((9, 9), "float32")):
    for i, j in T.grid(8, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj + {write}] = A[vi, vj + {read}] + T.float32(1)
"""


@pytest.mark.parametrize(("write", "read"), [(0, 0), (1, 0), (2, 0)])
def test_a_dependence_that_points_forward_in_both_loops_may_be_reordered(write: int, read: int) -> None:
    assert "for j, i" in apply_steps(STENCIL.format(write=write, read=read), IJ + "sch.reorder(j, i)").script()


def test_a_dependence_that_would_be_turned_round_is_refused_with_two_instances() -> None:
    error = refusal_of(STENCIL.format(write=0, read=1), IJ, "sch.reorder(j, i)")
    assert "A[1, 1] is read by block B at (vi=1, vj=0) before block B writes it at (vi=0, vj=1)" in error.reason
    assert '        with T.block("B"):\n            ^^^^' in error.program


def test_a_skewed_stencil_is_reordered() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 30), "float32")):
    for i, j in T.grid(7, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i + 1 <= j and j < i + 10)
            A[vi + 1, vj - vi] = A[vi, vj - vi - 1] + A[vi, vj - vi] + A[vi, vj - vi + 1]
"""
    assert "for j, i" in apply_steps(text, IJ + "sch.reorder(j, i)").script()


def test_a_parallel_loop_must_stay_independent() -> None:
    text = STENCIL.format(write=1, read=0)
    error = refusal_of(text, IJ + "sch.parallel(j)", "sch.reorder(j, i)")
    assert "the iterations of loop j cannot run parallel: A[1, 1] is" in error.reason


def test_bounds_that_depend_on_a_loop_keep_it_outside() -> None:
    message = str(refusal_of(GRID.replace("range(4)", "range(i + 1)"), IJ, "sch.reorder(j, i)"))
    assert "the bounds of loop j depend on loop i, which would be inside of it" in message


def test_loops_of_two_nests_are_not_reordered() -> None:
    text = GRID + "        C[i] = 1.0\n"
    text = text.replace("(6, 4), 'float32')):", "(6, 4), 'float32'), C: T.Buffer((6,), 'float32')):")
    error = refusal_of(text, IJ, "sch.reorder(j, i)")
    assert "loops j, i are not in one nest" in error.reason


def test_a_loop_given_twice_is_refused() -> None:
    assert "loop k is given twice" in str(refusal_of(MATMUL, IJK, "sch.reorder(k, i, k)"))


def test_predicates_move_with_their_block() -> None:
    text = GRID.replace("B[vi, vj] =", "T.where(i * 4 + j < 21)\n                B[vi, vj] =")
    steps = IJ + "a, b = sch.split(i, [None, 4])\nc, d = sch.split(j, [None, 3])\nsch.reorder(d, b, c, a)"
    assert "i_0 * 16 + i_1 * 4 + j_0 * 3 + j_1 < 21" in apply_steps(text, steps).script()


def test_native_code_computes_the_same() -> None:
    steps = IJK + (
        "a, b = sch.split(i, [None, 4])\nc, d = sch.split(j, [2, None])\ne, f = sch.split(k, [None, 3])\n"
        "sch.reorder(a, c, e, f, b, d)\nsch.fuse(a, c)\nsch.fuse(b, d)"
    )
    apply_steps(MATMUL, steps, target="llvm")
