"""decompose_padding: the filled and the copied elements, and changes of values that it refuses."""

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing import scheduling
from stepwell.tools.testing.scheduling import body_text, check_computes_the_same, program


def padded(body: str, loop: str = "range(10)", axis: str = "T.axis.spatial(10, i)", dtype: str = "float32") -> str:
    return program(
        f"for i in {loop}:\n    with T.block('B'):\n        v = {axis}\n        {body}\n",
        f'A: T.Buffer((8,), "{dtype}"), B: T.Buffer((10,), "{dtype}")',
    )


SQUARE = program(
    """
B = T.alloc_buffer((6, 6))
for i, j in T.grid(6, 6):
    with T.block("B"):
        v, w = T.axis.remap("SS", [i, j])
        B[v, w] = T.if_then_else(1 <= v and v < 5 and 1 <= w and w < 5, A[v - 1, w - 1], T.float32(0))
for i, j in T.grid(6, 6):
    with T.block("D"):
        v, w = T.axis.remap("SS", [i, j])
        D[v, w] = B[v, w] + T.float32(1)
""",
    'A: T.Buffer((4, 4), "float32"), D: T.Buffer((6, 6), "float32")',
)


def decomposed(text: str, loop: int = 0, *, split: bool = False) -> str:
    """The statements after the primitive, checked to preserve results."""
    mod = stepwell.parse_tvmscript(text)
    sch = Schedule(mod, debug_mask="all")
    if split:
        sch.split(sch.get_loops("B")[-1], [None, 4])
    filling = sch.decompose_padding("B", sch.get_loops("B")[loop])
    assert "B_pad_const" in repr(filling)
    check_computes_the_same(mod, sch.mod)
    return body_text(sch.mod) + "\n"


def refused(text: str, loop: str = "B", block: str = "B") -> str:
    """The reason for the refusal, which leaves the program unchanged."""
    return str(
        scheduling.refusal_of(text, f"around = sch.get_loops({loop!r})[0]", f"sch.decompose_padding({block!r}, around)")
    )


def test_everything_is_filled_and_the_inner_part_copied() -> None:
    assert decomposed(padded("B[v] = T.if_then_else(1 <= v and v < 9, A[v - 1], T.float32(2.5))")) == (
        """\
for i in range(10):
    with T.block("B_pad_const"):
        v = T.axis.spatial(10, i)
        T.reads()
        T.writes(B[v])
        B[v] = T.float32(2.5)
for i in range(8):
    with T.block("B"):
        v = T.axis.spatial(8, i)
        T.reads(A[v])
        T.writes(B[v + 1])
        B[v + 1] = A[v]
"""
    )


def test_loops_outside_get_a_predicate() -> None:
    text = decomposed(SQUARE, 1)
    assert text.startswith(
        """\
B = T.alloc_buffer((6, 6))
for i in range(6):
    for j in range(6):
        with T.block("B_pad_const"):
            v, w = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(B[v, w])
            B[v, w] = T.float32(0.0)
    for j in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i - 1)
            w = T.axis.spatial(4, j)
            T.where(i >= 1 and i < 5)
"""
    )


@pytest.mark.parametrize("loop", [0, 1, 2])
def test_split_loops_get_a_predicate(loop: int) -> None:
    text = decomposed(SQUARE, loop, split=True)
    assert "T.where(j_0 * 4 + j_1 < 6)\n" in text
    assert "j_0 * 4 + j_1 >= 1 and j_0 * 4 + j_1 < 5" in text


@pytest.mark.parametrize(
    ("condition", "index", "copied"),
    [
        ("v < 8", "v", "for i in range(8):"),
        ("2 * v >= 3", "v - 2", "for i in range(8):"),
        ("v > 2 and v <= 9 and v >= 5 and v != 20", "v - 5", "for i in range(5):"),
        ("v == 4", "v - 4", "for i in range(1):"),
    ],
)
def test_a_condition_bounds_axes(condition: str, index: str, copied: str) -> None:
    assert copied in decomposed(padded(f"B[v] = T.if_then_else({condition}, A[{index}], T.float32(0))"))


def test_a_binding_may_be_moved() -> None:
    condition = "B[9 - v] = T.if_then_else(1 <= v and v < 9, A[v - 1], T.float32(0))"
    text = decomposed(padded(condition, "range(2, 12)", "T.axis.spatial(10, i - 2)"))
    assert "for i in range(2, 12):" in text
    assert 'for i in range(8):\n    with T.block("B"):\n        v = T.axis.spatial(8, i)\n' in text
    assert "B[8 - v] = A[v]\n" in text


def test_types_stay() -> None:
    text = decomposed(
        padded(
            "B[v] = T.if_then_else(T.int64(1) <= v and v < T.int64(9), A[v - T.int64(1)], T.int8(-3))",
            "range(T.int64(10))",
            "T.axis.spatial(T.int64(10), i)",
            "int8",
        )
    )
    assert "B[v] = T.int8(-3)\n" in text
    assert "v = T.axis.spatial(T.int64(8), i)\n" in text


def test_kinds_of_loops_stay_where_the_block_copies() -> None:
    mod = stepwell.parse_tvmscript(SQUARE)
    sch = Schedule(mod)
    loop = sch.get_loops("B")[0]
    sch.parallel(loop)
    sch.decompose_padding("B", loop)
    check_computes_the_same(mod, sch.mod)
    assert "for i, j in T.grid(6, 6):\n" in sch.mod.script()
    assert "for i in T.parallel(4):\n" in sch.mod.script()


def test_a_reader_in_the_same_loop_stays_there() -> None:
    text = program(
        """
B = T.alloc_buffer((10,))
for i in range(10):
    with T.block("B"):
        v = T.axis.spatial(10, i)
        B[v] = T.if_then_else(1 <= v and v < 9, A[v - 1], T.float32(0))
    with T.block("D"):
        v = T.axis.spatial(10, i)
        D[v] = B[v]
""",
        'A: T.Buffer((8,), "float32"), D: T.Buffer((10,), "float32")',
    )
    result = decomposed(text)
    assert result.count("for i in range(10):") == 2
    assert "T.where(i >= 1 and i < 9)" in result


# Refused


def test_what_is_filled_must_not_be_needed_as_it_was() -> None:
    text = program(
        """
for i in range(10):
    with T.block("D"):
        v = T.axis.spatial(10, i)
        D[v] = B[v]
    with T.block("B"):
        v = T.axis.spatial(10, i)
        B[v] = T.if_then_else(1 <= v and v < 9, A[v - 1], T.float32(0))
""",
        'A: T.Buffer((8,), "float32"), B: T.Buffer((10,), "float32"), D: T.Buffer((10,), "float32")',
    )
    assert "B[0] is read by block D at (v=0)" in refused(text)


def test_the_last_instance_that_writes_an_element_decides() -> None:
    text = program(
        """
for i, j in T.grid(8, 4):
    with T.block("B"):
        v, w = T.axis.remap("SS", [i, j])
        D[v] = T.if_then_else({condition}, A[v, w], T.float32(0))
""",
        'A: T.Buffer((8, 4), "float32"), D: T.Buffer((8,), "float32")',
    )
    assert "for i, j in T.grid(8, 3):" in decomposed(text.replace("{condition}", "w >= 1"))
    assert "D[0] is left at the end" in refused(text.replace("{condition}", "w < 3"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("B[v] = A[v % 8]", "block B stores no if_then_else"),
        ("B[v] = T.if_then_else(v < 8, A[v], A[0])", "block B does not pad with a constant"),
        ("B[v] = T.if_then_else(v < 20, A[v % 8], T.float32(0))", "always holds: it pads nothing"),
        ("B[v] = T.if_then_else(v > 20, A[v % 8], T.float32(0))", "never holds: it copies nothing"),
        ("B[v] = T.if_then_else(v % 2 < 1, A[v // 2], T.float32(0))", "expected bounds of one axis each"),
        ("B[v] = T.if_then_else(v != 3, A[v % 8], T.float32(0))", "is no conjunction of comparisons of integers"),
        ("B[v] = T.if_then_else(v < 8, B[v], T.float32(0))", "reads buffer B, which it writes"),
        ("B[v] = T.float32(0)\n        B[v] = T.float32(1)", "is more than one store"),
        ("B[v] = T.if_then_else(v < 8, A[i], T.float32(0))", "uses i, which is none of its axes"),
    ],
)
def test_blocks_of_another_kind_are_refused(body: str, reason: str) -> None:
    assert reason in refused(padded(body))


def test_the_loop_must_be_around_the_block() -> None:
    assert "loop i is not around block B in its scope" in refused(SQUARE, "D")
    assert "loop i is not around block root in its scope" in refused(SQUARE, "D", "root")


def test_a_flow_that_is_not_known_is_refused() -> None:
    mod = stepwell.parse_tvmscript("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 2), "int32")
    B = T.match_buffer(b, (n, 3), "int32")
    for i, j in T.grid(n, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj < 2, A[vi, vj], 0)
""")
    sch = stepwell.Schedule(mod)
    i, _ = sch.get_loops("B")
    outer, _ = sch.split(i, [2, None])
    before = str(sch.mod)
    with pytest.raises(stepwell.ScheduleError, match="whether block B reads what it has written itself is not known"):
        sch.decompose_padding("B", outer)
    assert str(sch.mod) == before


def test_whether_padding_can_be_decomposed_is_no_instruction() -> None:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(padded("B[v] = T.if_then_else(v < 8, A[v], T.float32(0))")))
    (i,) = sch.get_loops("B")
    before, trace = str(sch.mod), str(sch.trace)
    assert sch.can_decompose_padding("B", i)
    assert (str(sch.mod), str(sch.trace)) == (before, trace)
    sch.decompose_padding("B", i)
    assert not sch.can_decompose_padding("B_pad_const", sch.get_loops("B_pad_const")[0])
    with pytest.raises(stepwell.ScheduleError, match="no block 'X'"):
        sch.can_decompose_padding("X", i)
