"""pad_einsum: the copies around a block, and the blocks whose results padding preserves."""

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing import scheduling
from stepwell.tools.testing.scheduling import body_text, check_computes_the_same

MATRIX = 'A: T.Buffer((5, 6), "float32"), X: T.Buffer((6,), "float32"), C: T.Buffer((5,), "float32")'


def product(update: str, init: str = "T.float32(0)", params: str = MATRIX, guard: str = "") -> str:
    lines = f"""
@T.prim_func
def main({params}):
    for i, k in T.grid(5, 6):
        with T.block("C"):
            v, w = T.axis.remap("SR", [i, k])
            {guard}
            with T.init():
                C[v] = {init}
            C[v] = {update}
"""
    return lines


def elementwise(value: str, dtype: str = "int32") -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer((5, 6), "{dtype}"), X: T.Buffer((6,), "{dtype}"), C: T.Buffer((5, 6), "{dtype}")):
    for i, k in T.grid(5, 6):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, k])
            C[v, w] = {value}
"""


def padded(text: str, padding: list[int]) -> str:
    """The statements after the primitive, checked to preserve results."""
    mod = stepwell.parse_tvmscript(text)
    sch = Schedule(mod, debug_mask="all")
    sch.pad_einsum("C", padding)
    check_computes_the_same(mod, sch.mod)
    return body_text(sch.mod) + "\n"


def refused(text: str, padding: list[int], block: str = "C") -> str:
    """The reason for the refusal, which leaves the program unchanged."""
    return str(scheduling.refusal_of(text, "", f"sch.pad_einsum({block!r}, {padding})"))


def test_what_is_read_and_written_is_padded() -> None:
    assert padded(product("C[v] + A[v, w] * X[w]"), [4, 4]) == (
        """\
A_pad = T.alloc_buffer((8, 8))
X_pad = T.alloc_buffer((8,))
C_pad = T.alloc_buffer((8,))
for i0, i1 in T.grid(8, 8):
    with T.block("A_pad"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads(A[v0, v1])
        T.writes(A_pad[v0, v1])
        A_pad[v0, v1] = T.if_then_else(v0 < 5 and v1 < 6, A[v0, v1], T.float32(0.0))
for i0 in range(8):
    with T.block("X_pad"):
        v0 = T.axis.spatial(8, i0)
        T.reads(X[v0])
        T.writes(X_pad[v0])
        X_pad[v0] = T.if_then_else(v0 < 6, X[v0], T.float32(0.0))
for i, k in T.grid(8, 8):
    with T.block("C"):
        v, w = T.axis.remap("SR", [i, k])
        T.reads(A_pad[v, w], X_pad[w])
        T.writes(C_pad[v])
        with T.init():
            C_pad[v] = T.float32(0.0)
        C_pad[v] = C_pad[v] + A_pad[v, w] * X_pad[w]
for i0 in range(5):
    with T.block("C_pad"):
        v0 = T.axis.spatial(5, i0)
        T.reads(C_pad[v0])
        T.writes(C[v0])
        C[v0] = C_pad[v0]
"""
    )


def test_buffers_without_padded_axes_stay() -> None:
    text = padded(product("C[v] + A[v, w] * X[w]"), [4, 3])
    assert "C_pad[v] = C_pad[v] + A_pad[v, w] * X[w]\n" in text
    text = padded(product("C[v] + A[v, w] * X[w]"), [5, 4])
    assert "C[v] = C[v] + A_pad[v, w] * X_pad[w]\n" in text


def test_multiples_need_nothing() -> None:
    assert "_pad" not in padded(product("T.max(C[v], T.exp(A[v, w]))"), [5, 3])


def test_loops_that_are_not_an_axis_stay() -> None:
    mod = stepwell.parse_tvmscript(product("C[v] + A[v, w] * X[w]"))
    sch = Schedule(mod)
    sch.split(sch.get_loops("C")[1], [None, 4])
    sch.pad_einsum("C", [4, 4])
    check_computes_the_same(mod, sch.mod)
    assert "for i, k_0, k_1 in T.grid(8, 2, 4):" in sch.mod.script()
    assert "w = T.axis.reduce(8, k_0 * 4 + k_1)" in sch.mod.script()
    assert "T.where(k_0 * 4 + k_1 < 6)" in sch.mod.script()


def test_any_reduction_is_padded_where_its_loops_stay() -> None:
    mod = stepwell.parse_tvmscript(product("T.max(C[v], A[v, w])", "T.float32(-100)"))
    sch = Schedule(mod)
    sch.fuse(*sch.get_loops("C"))
    sch.pad_einsum("C", [2, 4])
    check_computes_the_same(mod, sch.mod)
    assert "w = T.axis.reduce(8, i_k_fused % 6)" in sch.mod.script()


def test_only_a_reduction_axis_that_runs_longer_must_add_zeros() -> None:
    assert "T.max(C_pad[v], A_pad[v, w] + T.float32(1.0))" in padded(
        product("T.max(C[v], A[v, w] + T.float32(1))"), [4, 1]
    )


def test_a_block_that_does_not_reduce_may_compute_anything() -> None:
    assert "C_pad[v, w] = A_pad[v, w] // 3 + X_pad[w]\n" in padded(elementwise("A[v, w] // 3 + X[w]"), [4, 4])


def test_only_the_part_that_is_used_is_copied() -> None:
    text = padded(
        """
@T.prim_func
def main(A: T.Buffer((3, 9, 7), "float32"), C: T.Buffer((3, 5), "float32")):
    for b in range(3):
        with T.block("outer"):
            vb = T.axis.spatial(3, b)
            for i, k in T.grid(5, 6):
                with T.block("C"):
                    v, w = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vb, v] = T.float32(0)
                    C[vb, v] = C[vb, v] + A[vb, v, w]
""",
        [4, 4],
    )
    assert "A_pad[v0, v1, v2] = T.if_then_else(v1 < 5 and v2 < 6, A[vb + v0, v1, v2], T.float32(0.0))" in text
    assert "C_pad[0, v] = C_pad[0, v] + A_pad[0, v, w]" in text
    assert "C[vb + v0, v1] = C_pad[v0, v1]" in text


def test_an_axis_of_one_value_is_an_axis() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1, 5), "float32"), C: T.Buffer((1, 5), "float32")):
    for i, k in T.grid(1, 5):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, k])
            C[v, w] = A[v, w]
"""
    assert "C_pad[v, w] = A_pad[v, w]\n" in padded(text, [1, 4])
    assert "for i, k in T.grid(2, 8):" in padded(text, [2, 4])


def test_a_symbolic_extent_stays() -> None:
    text = padded(
        """
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 6))
    C = T.match_buffer(c, (n,))
    for i, k in T.grid(n, 6):
        with T.block("C"):
            v, w = T.axis.remap("SR", [i, k])
            with T.init():
                C[v] = T.float32(0)
            C[v] = C[v] + A[v, w]
""",
        [1, 4],
    )
    assert "A_pad = T.alloc_buffer((n, 8))" in text


def test_types_and_memory_stay() -> None:
    mod = stepwell.parse_tvmscript(
        """
@T.prim_func
def main(A: T.Buffer((5, 6), "int8"), C: T.Buffer((5,), "int32")):
    B = T.alloc_buffer((5, 6), "int8", scope="shared")
    for i, k in T.grid(5, 6):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, k])
            B[v, w] = A[v, w]
    for i, k in T.grid(T.int64(5), T.int64(6)):
        with T.block("C"):
            v, w = T.axis.remap("SR", [i, k])
            with T.init():
                C[v] = 0
            C[v] = C[v] + T.Cast("int32", B[v, w]) * 3
"""
    )
    sch = Schedule(mod)
    sch.pad_einsum("C", [4, 4])
    check_computes_the_same(mod, sch.mod)
    assert 'B_pad = T.alloc_buffer((8, 8), "int8", scope="shared")' in sch.mod.script()
    assert "T.if_then_else(v0 < T.int64(5) and v1 < T.int64(6), B[v0, v1], T.int8(0))" in sch.mod.script()


# Refused


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ("T.max(C[v], A[v, w])", "block C is no sum, so the padding of axis w would count"),
        ("C[v] + T.exp(A[v, w])", "is not known to be 0 in the padding of axis w"),
        ("C[v] + A[v, w] * X[0]", "is not known to be 0 in the padding of axis w"),
        ("C[v] + (A[v, w] + T.float32(1))", "is not known to be 0 in the padding of axis w"),
        ("C[v] + A[v, w] * X[w // 2]", "an index of X[w // 2] in block C is w // 2, expected an axis"),
        ("C[v] + A[v, k]", "block C uses k, which is none of its axes"),
        ("C[v] + T.if_then_else(v < 3, A[v, w], X[w])", "has calls or choices in it"),
    ],
)
def test_contributions_that_are_not_zero_are_refused(update: str, reason: str) -> None:
    assert reason in refused(product(update), [4, 4])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("A[v, w] // X[w]", "divides by what would be 0 in the padding"),
        ("C[v, w] + A[v, w]", "reads buffer C, which it writes"),
        ("A[v, w]\n            C[v, w] = X[w]", "is more than one store"),
    ],
)
def test_values_that_padding_spoils_are_refused(value: str, reason: str) -> None:
    assert reason in refused(elementwise(value), [4, 4])


@pytest.mark.parametrize("kind", ["scan", "opaque"])
def test_a_longer_axis_that_restarts_the_sum_is_refused(kind: str) -> None:
    text = product("C[v] + A[v, w]").replace(
        'v, w = T.axis.remap("SR", [i, k])', f"v, w = T.axis.spatial(5, i), T.axis.{kind}(6, k)"
    )
    assert "axis w of block C is padded, expected a spatial or reduce axis" in refused(text, [1, 4])


def test_a_reduction_without_a_sum_is_refused() -> None:
    text = product("A[v, w]").replace("with T.init():", "").replace("    C[v] = T.float32(0)\n", "\n")
    assert "block C is no sum, so the padding of axis w would count" in refused(text, [1, 4])


@pytest.mark.parametrize("padding", [[4], [4, 4, 4], [4, 0], [-1, 4]])
def test_a_positive_number_for_each_axis(padding: list[int]) -> None:
    assert f"padding {padding}: expected 2 positive numbers" in refused(product("C[v] + A[v, w]"), padding)


def test_a_block_that_leaves_out_instances_is_refused() -> None:
    text = refused(product("C[v] + A[v, w]", guard="T.where(k < 5)"), [4, 4])
    assert "block C does not run for all of its domain: axis v = 0, axis w = 5 is never reached" in text


def test_loops_with_other_blocks_are_refused() -> None:
    sch = Schedule(stepwell.parse_tvmscript(product("C[v] + A[v, w]")))
    sch.decompose_reduction("C", sch.get_loops("C")[1])
    with pytest.raises(stepwell.ScheduleError, match="loop i has more in it than block C_init"):
        sch.pad_einsum("C_init", [4])


def test_the_body_of_the_function_is_no_such_block() -> None:
    assert "block root is the body of the function" in refused(elementwise("A[v, w]"), [4, 4], "root")


@pytest.mark.parametrize("padding", [[1, 4, 1], [4, 4, 4], [2, 3, 5]])
def test_symbolic_extents_are_padded(padding: list[int]) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((6, 5), "int32"), b: T.handle, c: T.handle):
    n = T.int32()
    B = T.match_buffer(b, (n, 5), "int32")
    C = T.match_buffer(c, (6, n), "int32")
    for i0, i1, i2 in T.grid(6, n, 5):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                C[i, j] = 0
            C[i, j] = C[i, j] + A[i, k] * B[j, k]
"""
    before = stepwell.parse_tvmscript(text)
    schedule = Schedule(before)
    schedule.pad_einsum("C", padding)
    for size in (1, 4, 5):
        check_computes_the_same(before, schedule.mod, size=size)
    times = f"(n + {padding[1] - 1}) // {padding[1]} * {padding[1]}"
    assert f"C_pad = T.alloc_buffer(({-(-6 // padding[0]) * padding[0]}, {times})" in schedule.mod.script()
