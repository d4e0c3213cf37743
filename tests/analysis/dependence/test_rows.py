"""Rows of symbolic length, of which each iteration of a loop has its own."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Schedule, ScheduleError, parse_tvmscript

TEXT = """
@T.prim_func
def main(a: T.handle, c: T.handle, m: T.int32):
    A = T.match_buffer(a, (8 * m + 64,), "float32")
    C = T.match_buffer(c, (8 * m + 64,), "float32")
    for o, i, j in T.grid(2, 3, m):
        with T.block("C"):
            vo, vi, vj = T.axis.remap("SSS", [o, i, j])
            C[{store}] = A[{other}] + T.float32(1)
"""


def runs_parallel(store: str, other: str = "vj", buffer: str = "A") -> bool:
    """Whether the iterations of loop i may run parallel."""
    text = TEXT.format(store=store, other=other).replace("= A[", f"= {buffer}[")
    sch = Schedule(parse_tvmscript(text))
    try:
        sch.parallel(sch.get_loops(sch.get_block("C"))[1])
    except ScheduleError:
        return False
    return True


@pytest.mark.parametrize(
    "store",
    [
        "vi * m + vj",
        "vo * (3 * m) + vi * m + vj",
        "(vi * 2 + 1) * m + vj",
        "vi * (m + 2) + vj + 1",
        "vi * m + (m - 1 - vj)",
    ],
)
def test_rows_are_separate(store: str) -> None:
    assert runs_parallel(store)
    assert runs_parallel(store, store, "C")


@pytest.mark.parametrize(
    "store", ["vi * m + vj + 1", "vi * (m - 1) + vj", "vi + vj * m", "vi * vj", "vi * m + 2 * vj", "vo * m + vj"]
)
def test_rows_that_overlap_are_refused(store: str) -> None:
    assert not runs_parallel(store)


@pytest.mark.parametrize("other", ["vi * m", "vi * m + m + vj", "vi * (m + 1) + vj", "vj"])
def test_all_accesses_of_a_buffer_are_in_the_row(other: str) -> None:
    assert runs_parallel("vi * m + vj", other, "C") == (other == "vi * m")


def test_a_row_is_the_binding_of_an_axis() -> None:
    text = """
    @T.prim_func
    def main(a: T.handle, m: T.int32):
        A = T.match_buffer(a, (2 * m,), "float32")
        for i, j in T.grid(2, m):
            with T.block("A"):
                v = T.axis.spatial(2 * m, i * m + j)
                A[v] = A[v] + T.float32(1)
    """
    sch = Schedule(parse_tvmscript(text))
    sch.parallel(sch.get_loops(sch.get_block("A"))[0])


@pytest.mark.parametrize("index", ["T.Ramp(i * m, 1, 4)", "T.Broadcast(i * m, 4) + T.Ramp(0, 1, 4)"])
def test_vectors_of_indices_have_no_row(index: str) -> None:
    text = f"""
    @T.prim_func
    def main(c: T.handle, m: T.int32):
        C = T.match_buffer(c, (8 * m + 64,), "int32")
        for i, j in T.grid(2, m):
            with T.block("C"):
                T.reads()
                T.writes(C[0 : 8 * m + 64])
                C[{index}] = T.Broadcast(0, 4)
    """
    sch = Schedule(parse_tvmscript(text))
    with pytest.raises(ScheduleError, match="its iterations depend on each other"):
        sch.parallel(sch.get_loops(sch.get_block("C"))[0])


def test_other_loops_may_have_no_iterations() -> None:
    text = """
    @T.prim_func
    def main(c: T.handle, m: T.int32, n: T.int32):
        C = T.match_buffer(c, (4 * m + 64,), "int32")
        for i in range(2):
            for j in range(m):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi * (m + n - 1) + vj] = 0
            for k in range(n):
                with T.block("other"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    C[vi * (m + n - 1) + vk] = 1
    """
    sch = Schedule(parse_tvmscript(text))
    with pytest.raises(ScheduleError, match="its iterations depend on each other"):
        sch.parallel(sch.get_loops(sch.get_block("C"))[0])


NUMBERS = st.integers(0, 3)


@given(row=NUMBERS, length=NUMBERS, column=NUMBERS, first=NUMBERS, whole=st.booleans())
def test_an_accepted_loop_has_no_conflicts(row: int, length: int, column: int, first: int, whole: bool) -> None:
    store = f"vi * ({row} * m + {length}) + {column} * vj + {first}" + (" + vo * m" if whole else "")
    if not runs_parallel(store):
        return
    for m, o in itertools.product(range(5), range(2)):
        rows = [
            {i * (row * m + length) + column * j + first + (o * m if whole else 0) for j in range(m)} for i in range(3)
        ]
        assert all(a.isdisjoint(b) for a, b in itertools.combinations(rows, 2))
