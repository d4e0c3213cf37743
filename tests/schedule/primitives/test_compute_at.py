"""compute_at and reverse_compute_at."""

from textwrap import indent

import pytest

from stepwell.core.errors import ScheduleError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, check_computes_the_same, refusal_of

BLUR = """
@T.prim_func
def main(A: T.Buffer((12, 6), "float32"), D: T.Buffer((10, 6), "float32")):
    B = T.alloc_buffer((12, 6))
    for i, j in T.grid(12, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(10, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + B[vi + 1, vj] * B[vi + 2, vj]
"""
MATMUL = """
@T.prim_func
def main(A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 8), "float32"), D: T.Buffer((6, 8), "float32")):
    C = T.alloc_buffer((6, 8))
    for i, j, k in T.grid(6, 8, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(6, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)
"""


def chain(
    producer: str = "B[v] = A[v] + 1.0",
    consumer: str = "D[v] = B[v] * 2.0",
    *,
    size: int | str = 16,
    scope: str = "global",
    out: int | str | None = None,
) -> str:
    """Two blocks over one axis each: B computed from A, and D from B."""
    symbolic = isinstance(size, str)
    parameters = "a: T.handle, d: T.handle" if symbolic else f"A: T.Buffer(({size},)), D: T.Buffer(({out or size},))"
    head = (
        f"    {size} = T.int32()\n    A = T.match_buffer(a, ({size},))\n    D = T.match_buffer(d, ({out or size},))\n"
    )
    blocks = "".join(
        f"    for i in range({extent}):\n        with T.block({name!r}):\n            v = T.axis.spatial({extent}, i)\n"
        + indent(body, " " * 12)
        + "\n"
        for name, extent, body in (("B", size, producer), ("D", out or size, consumer))
    )
    return (
        f"@T.prim_func\ndef main({parameters}):\n{head if symbolic else ''}"
        f"    B = T.alloc_buffer(({size},), scope={scope!r})\n{blocks}"
    )


def moved(text: str, steps: str) -> str:
    """The body of a function after the steps of a schedule `sch`, checked to preserve results."""
    return body_text(apply_steps(text, steps))


def below(text: str, line: str) -> str:
    """The lines nested in the first line of a program that starts with `line`, dedented, without regions."""
    lines = text.splitlines()
    start = next(n for n, found in enumerate(lines) if found.lstrip().startswith(line))
    depth = len(lines[start]) - len(lines[start].lstrip())
    inside: list[str] = []
    for found in lines[start + 1 :]:
        if len(found) - len(found.lstrip()) <= depth:
            break
        if "T.reads" not in found and "T.writes" not in found:
            inside.append(found[depth + 4 :])
    return "\n".join(inside)


# Producers


def test_a_stencils_rows_are_computed_in_the_tile_that_needs_them() -> None:
    text = moved(BLUR, 'i, j = sch.get_loops("D")\no, _ = sch.split(i, [None, 5])\nsch.compute_at("B", o)')
    assert (
        text
        == """\
B = T.alloc_buffer((12, 6))
for i_0 in range(2):
    for ax0, ax1 in T.grid(7, 6):
        with T.block("B"):
            vi = T.axis.spatial(12, i_0 * 5 + ax0)
            vj = T.axis.spatial(6, ax1)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
    for i_1, j in T.grid(5, 6):
        with T.block("D"):
            vi = T.axis.spatial(10, i_0 * 5 + i_1)
            vj = T.axis.spatial(6, j)
            T.reads(B[vi:vi + 3, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = B[vi, vj] + B[vi + 1, vj] * B[vi + 2, vj]"""
    )


def test_loops_of_one_iteration_are_kept_if_asked_for() -> None:
    steps = 'i, j = sch.get_loops("D")\nsch.compute_at("B", j, preserve_unit_loops={})'
    assert "for ax0 in range(3):\n" in moved(BLUR, steps.format(False))
    text = moved(BLUR, steps.format(True))
    assert "for ax0, ax1 in T.grid(3, 1):\n" in text
    assert "vj = T.axis.spatial(6, j + ax1)\n" in text


def test_tiles_that_do_not_divide_end_with_the_domain() -> None:
    text = moved(BLUR, 'i, j = sch.get_loops("D")\no, _ = sch.split(i, [None, 4])\nsch.compute_at("B", o)')
    assert below(text, "for i_0 in range(3)").startswith("""\
for ax0, ax1 in T.grid(6, 6):
    with T.block("B"):
        vi = T.axis.spatial(12, i_0 * 4 + ax0)
        vj = T.axis.spatial(6, ax1)
        T.where(i_0 * 4 + ax0 < 12)
""")


def test_a_reduction_is_moved_whole() -> None:
    text = moved(
        MATMUL,
        'i, j = sch.get_loops("D")\ni0, i1 = sch.split(i, [None, 2])\nj0, j1 = sch.split(j, [None, 3])\n'
        'sch.reorder(i0, j0, i1, j1)\nsch.compute_at("C", j0)',
    )
    assert (
        below(text, "for i_0, j_0 in T.grid(3, 3)")
        == """\
for ax0, ax1, ax2 in T.grid(2, 3, 5):
    with T.block("C"):
        vi = T.axis.spatial(6, i_0 * 2 + ax0)
        vj = T.axis.spatial(8, j_0 * 3 + ax1)
        vk = T.axis.reduce(5, ax2)
        T.where(j_0 * 3 + ax1 < 8)
        with T.init():
            C[vi, vj] = T.float32(0.0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
for i_1, j_1 in T.grid(2, 3):
    with T.block("D"):
        vi = T.axis.spatial(6, i_0 * 2 + i_1)
        vj = T.axis.spatial(8, j_0 * 3 + j_1)
        T.where(j_0 * 3 + j_1 < 8)
        D[vi, vj] = T.max(C[vi, vj], T.float32(0.0))"""
    )


def test_a_producer_goes_below_a_fused_loop_too() -> None:
    text = moved(MATMUL, 'f = sch.fuse(*sch.get_loops("D"))\nsch.compute_at("C", f)')
    assert below(text, "for i_j_fused in range(48)").startswith("""\
for ax0 in range(5):
    with T.block("C"):
        vi = T.axis.spatial(6, i_j_fused // 8)
        vj = T.axis.spatial(8, i_j_fused % 8)
        vk = T.axis.reduce(5, ax0)
""")


def test_a_tile_of_a_fused_loop_computes_the_rows_it_touches() -> None:
    text = moved(MATMUL, 'o, _ = sch.split(sch.fuse(*sch.get_loops("D")), [None, 10])\nsch.compute_at("C", o)')
    assert below(text, "for i_j_fused_0 in range(5)").startswith("""\
for ax0, ax1, ax2 in T.grid(2, 8, 5):
    with T.block("C"):
        vi = T.axis.spatial(6, i_j_fused_0 * 5 // 4 + ax0)
        vj, vk = T.axis.remap("SR", [ax1, ax2])
        T.where(i_j_fused_0 * 5 // 4 + ax0 < 6)
""")


@pytest.mark.parametrize(
    ("consumer", "out", "range_", "index"),
    [
        ("D[v] = B[15 - v]", 16, None, "15 - i"),
        ("D[v] = B[v * 2] + B[v * 2 + 1]", 8, "for ax0 in range(2)", "i * 2 + ax0"),
        ("D[v] = B[v // 2]", 16, None, "i // 2"),
        ("D[v] = B[v % 4]", 16, None, "i % 4"),
        ("D[v] = T.if_then_else(0 < v, B[v - 1], T.float32(0)) + B[v]", 16, "for ax0 in range(2)", "i - 1 + ax0"),
    ],
)
def test_what_an_index_reads_is_computed(consumer: str, out: int, range_: str | None, index: str) -> None:
    text = moved(chain(consumer=consumer, out=out), 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert f"v = T.axis.spatial(16, {index})\n" in text
    assert ("ax0" in text) is (range_ is not None)
    assert range_ is None or range_ in text


def test_what_is_read_by_unknown_indices_is_all_computed() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((6,)), P: T.Buffer((6,), "int32"), D: T.Buffer((6,))):
    B = T.alloc_buffer((6,))
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            B[v] = A[v] + 1.0
    for i in range(6):
        with T.block("D"):
            v = T.axis.spatial(6, i)
            D[v] = B[T.abs(P[v]) % 6]
"""
    assert below(moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])'), "for i in").startswith(
        'for ax0 in range(6):\n    with T.block("B"):\n'
    )


# Consumers


def test_a_consumer_runs_when_its_tile_is_done() -> None:
    text = moved(
        MATMUL,
        'i, j, k = sch.get_loops("C")\nj0, j1 = sch.split(j, [None, 3])\nsch.reorder(i, j0, j1, k)\n'
        'sch.reverse_compute_at("D", j0)',
    )
    assert below(text, "for i, j_0 in T.grid(6, 3)").endswith("""
for ax0 in range(3):
    with T.block("D"):
        vi = T.axis.spatial(6, i)
        vj = T.axis.spatial(8, j_0 * 3 + ax0)
        T.where(j_0 * 3 + ax0 < 8)
        D[vi, vj] = T.max(C[vi, vj], T.float32(0.0))""")


def test_a_stencil_runs_when_its_last_element_is_there() -> None:
    text = moved(BLUR, 'sch.reverse_compute_at("D", sch.get_loops("B")[0])')
    assert below(text, "for i in range(12)").endswith("""
for ax0 in range(6):
    with T.block("D"):
        vi = T.axis.spatial(10, i - 2)
        vj = T.axis.spatial(6, ax0)
        T.where(2 <= i)
        D[vi, vj] = B[vi, vj] + B[vi + 1, vj] * B[vi + 2, vj]""")


def test_a_stencil_follows_a_producer_that_goes_down() -> None:
    reverse = BLUR.replace(
        'vi, vj = T.axis.remap("SS", [i, j])\n            B[',
        "vi = T.axis.spatial(12, 11 - i)\n            vj = T.axis.spatial(6, j)\n            B[",
    )
    text = moved(reverse, 'sch.reverse_compute_at("D", sch.get_loops("B")[0])')
    assert "vi = T.axis.spatial(10, 11 - i)\n" in text
    assert "T.where(1 < i)\n" in text


def test_a_consumer_that_has_no_producer_in_the_loop_runs_all_in_each_iteration() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,)), D: T.Buffer((4,)), E: T.Buffer((3,))):
    for i in range(3):
        with T.block("E"):
            v = T.axis.spatial(3, i)
            E[v] = 1.0
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = A[v]
"""
    assert below(moved(text, 'sch.reverse_compute_at("D", sch.get_loops("E")[0])'), "for i in range(3)").endswith("""
for ax0 in range(4):
    with T.block("D"):
        v = T.axis.spatial(4, ax0)
        D[v] = A[v]""")


# Positions

TWO_READERS = """
@T.prim_func
def main(A: T.Buffer((4,)), C: T.Buffer((4,)), D: T.Buffer((4,)), E: T.Buffer((4,))):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] + 1.0
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = A[v]
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = B[v]
        with T.block("E"):
            v = T.axis.spatial(4, i)
            E[v] = B[v]
"""


def order(module: Module) -> str:
    """The names of the blocks of a program, in order."""
    return "".join(line.split('"')[1] for line in body_text(module).splitlines() if "T.block(" in line)


@pytest.mark.parametrize(("index", "blocks"), [(-1, "CBDE"), (-2, "BCDE"), (0, "BCDE"), (1, "CBDE")])
def test_a_producer_stands_where_it_is_asked_for(index: int, blocks: str) -> None:
    module = apply_steps(TWO_READERS, f'sch.compute_at("B", sch.get_loops("D")[0], index={index})')
    assert order(module) == blocks


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (2, "index 2: block B can stand at positions 0 to 1 in loop i, in front of what shares buffers with it"),
        (4, "index 4: expected -1, -2 or a position from 0 to 3 in loop i"),
        (-3, "index -3: expected -1, -2 or a position from 0 to 3 in loop i"),
    ],
)
def test_a_producer_does_not_stand_after_its_consumers(index: int, reason: str) -> None:
    error = refusal_of(TWO_READERS, "", f'sch.compute_at("B", sch.get_loops("D")[0], index={index})')
    assert error.reason == reason


@pytest.mark.parametrize(("index", "blocks"), [(-1, "BCDE"), (-2, "BDCE"), (1, "BDCE"), (2, "BCDE")])
def test_a_consumer_stands_where_it_is_asked_for(index: int, blocks: str) -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((4,)), C: T.Buffer((4,)), D: T.Buffer((4,)), E: T.Buffer((4,))):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] + 1.0
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = A[v]
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = B[v]
    for i in range(4):
        with T.block("E"):
            v = T.axis.spatial(4, i)
            E[v] = B[v]
"""
    module = apply_steps(program, f'sch.reverse_compute_at("D", sch.get_loops("B")[0], index={index})')
    assert order(module) == blocks
    assert refusal_of(program, "", 'sch.reverse_compute_at("D", sch.get_loops("B")[0], index=0)').reason == (
        "index 0: block D can stand at positions 1 to 2 in loop i, behind what shares buffers with it"
    )


def test_several_producers_may_follow_one_another() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), E: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
    for i in range(8):
        with T.block("E"):
            v = T.axis.spatial(8, i)
            E[v] = C[v]
"""
    steps = 'l = sch.get_loops("E")[0]\nsch.compute_at("C", l)\nsch.compute_at("B", l, index={})'
    assert order(apply_steps(text, steps.format(-1))) == "BCE"
    assert (
        order(
            apply_steps(
                text, 'l = sch.get_loops("B")[0]\nsch.reverse_compute_at("C", l)\nsch.reverse_compute_at("E", l)'
            )
        )
        == "BCE"
    )
    error = refusal_of(text, "", 'sch.compute_at("B", sch.get_loops("E")[0])')
    assert error.reason == "no block in loop i reads what block B writes"


# Predicates


def test_a_predicate_is_moved_along_the_axes() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((12,)), D: T.Buffer((9,))):
    B = T.alloc_buffer((12,))
    for i_0, i_1 in T.grid(4, 4):
        with T.block("B"):
            v = T.axis.spatial(12, i_0 * 3 + i_1)
            T.where(i_0 * 3 + i_1 < 9 and i_1 < 3)
            B[v] = A[v]
    for i_0, i_1 in T.grid(3, 3):
        with T.block("D"):
            v = T.axis.spatial(9, i_0 * 3 + i_1)
            D[v] = B[v]
"""
    assert below(moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])'), "for i_0 in").startswith("""\
for ax0 in range(3):
    with T.block("B"):
        v = T.axis.spatial(12, i_0 * 3 + ax0)
        B[v] = A[v]
""")


def predicated(where: str, extents: str = "4, 4", axes: str = "i, j") -> str:
    return f"""
@T.prim_func
def main(A: T.Buffer((4, 4)), F: T.Buffer((4,), "int32"), B: T.Buffer((4, 4)), D: T.Buffer((4, 4))):
    for i, j in T.grid({extents}):
        with T.block("B"):
            vi = T.axis.spatial(4, {axes.split(", ")[0]})
            vj = T.axis.spatial(4, {axes.split(", ")[1]})
            T.where({where})
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + 1.0
"""


@pytest.mark.parametrize(
    ("where", "extents", "axes", "expected"),
    [
        ("i < 3", "4, 4", "i, j", "i < 3"),
        ("j <= i", "4, 4", "i, j", "ax0 <= i"),
        ("i * 2 < 5 + j", "4, 4", "3 - i, j", "1 < i * 2 + ax0"),
        ("i + j < 6", "8, 4", "i // 2, j", "i * 2 + ax0 <= 5"),
        ("F[i] < 2", "4, 4", "i, j", "F[i] < 2"),
        ("F[i] < 2 and j < 2", "4, 4", "3 - i, j", "F[3 - i] < 2 and ax0 < 2"),
        ("i % 2 == 0", "4, 4", "i, j", "i % 2 == 0"),
    ],
)
def test_what_did_not_run_does_not_run(where: str, extents: str, axes: str, expected: str) -> None:
    text = moved(predicated(where, extents, axes), 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert f"T.where({expected})" in text


def test_a_predicate_that_is_no_comparison_of_axes_is_refused() -> None:
    text = predicated("F[i % 4] < 2", "8, 4", "i // 2, j")
    error = refusal_of(text, "", 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert error.reason == (
        "not supported yet: the predicate of block B says something of the loops around it that cannot be said of "
        "its axes"
    )


# Outputs and overwritten buffers


def test_an_output_is_still_all_written() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), B: T.Buffer((8,)), D: T.Buffer((4,))):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + 1.0
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = B[v{}]
"""
    attempt = 'sch.compute_at("B", sch.get_loops("D")[0])'
    error = refusal_of(text.format(" * 2"), "", attempt)
    assert error.reason == "B[1] is left at the end, but block B at (v=1) no longer runs"
    assert "^" in str(error)
    assert "v = T.axis.spatial(8, i * 2 + ax0)" in moved(text.format(" * 2] + B[v * 2 + 1"), attempt)


def test_an_update_in_place_is_not_done_twice() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), D: T.Buffer((8,))):
    for i in range(8):
        with T.block("A"):
            v = T.axis.spatial(8, i)
            A[v] = A[v] + 1.0
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = A[v{}]
"""
    attempt = 'sch.compute_at("A", sch.get_loops("D")[0])'
    assert "v = T.axis.spatial(8, i)\n" in moved(text.format(""), attempt)
    error = refusal_of(text.format("] + A[7 - v"), "", attempt)
    assert "block A at (v=" in error.reason


def test_an_overwrite_after_the_readers_is_not_seen_by_them() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), D: T.Buffer((8,)), E: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("A"):
            v = T.axis.spatial(8, i)
            A[v] = 0.0
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = B[v]
"""
    error = refusal_of(text, "", 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert error.reason == "A[0] is read by block B at (v=0) after block A writes it at (v=0)"


def test_a_reader_outside_of_the_loop_still_sees_all() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), D: T.Buffer((8,)), E: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = B[{}]
    for i in range(8):
        with T.block("E"):
            v = T.axis.spatial(8, i)
            E[v] = B[v]
"""
    attempt = 'sch.compute_at("B", sch.get_loops("D")[0])'
    assert order(apply_steps(text.format("7 - v"), attempt)) == "BDE"
    error = refusal_of(text.format("v // 2"), "", attempt)
    assert error.reason == "B[4] is read by block E at (v=4), but block B at (v=4) no longer runs"


def test_several_outputs_of_a_block_are_computed_where_one_is_needed() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), D: T.Buffer((7,))):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
            C[v] = A[v] * 2.0
    for i in range(7):
        with T.block("D"):
            v = T.axis.spatial(7, i)
            D[v] = B[v] + C[v + 1]
"""
    assert below(moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])'), "for i in").startswith(
        'for ax0 in range(2):\n    with T.block("B"):\n        v = T.axis.spatial(8, i + ax0)\n'
    )


# Scopes, branches, bounds


def test_a_block_stays_in_its_scope() -> None:
    text = MATMUL
    steps = 'i, j, k = sch.get_loops("C")\nouter = sch.blockize(j)'
    error = refusal_of(text, steps, 'sch.compute_at("C", sch.get_loops("D")[0])')
    assert error.reason == (
        "block C and loop i are not in the same scope: one is inside of a block that the other is outside of"
    )
    after = apply_steps(text, steps + '\nsch.compute_at(outer, sch.get_loops("D")[0])')
    assert below(body_text(after), "for i in range(6)").startswith(
        'with T.block("C_o"):\n    vi_o = T.axis.spatial(6, i)\n'
    )


def test_a_block_moves_within_a_scope_inside() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 8)), D: T.Buffer((4, 8))):
    B = T.alloc_buffer((4, 8))
    for r in range(4):
        with T.block("row"):
            vr = T.axis.spatial(4, r)
            for i in range(8):
                with T.block("B"):
                    v = T.axis.spatial(8, i)
                    B[vr, v] = A[vr, v]
            for i in range(8):
                with T.block("D"):
                    v = T.axis.spatial(8, i)
                    D[vr, v] = B[vr, 7 - v]
"""
    text = moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert below(text, "for i in range(8)").startswith('with T.block("B"):\n    v = T.axis.spatial(8, 7 - i)\n')


BRANCH = """
@T.prim_func
def main(A: T.Buffer((8,)), f: T.int32, D: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    {0}for i in range(8):
        {0}with T.block("B"):
            {0}v = T.axis.spatial(8, i)
            {0}B[v] = A[v]
    {1}for i in range(8):
        {1}with T.block("D"):
            {1}v = T.axis.spatial(8, i)
            {1}D[v] = B[v]
"""


def test_a_block_may_move_into_a_branch_that_its_readers_are_in() -> None:
    text = BRANCH.format("", "    ").replace(
        "        for i in range(8):", "    if 0 < f:\n        for i in range(8):", 1
    )
    after = apply_steps(text, 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert below(body_text(after), "for i in").startswith('with T.block("B"):\n    v = T.axis.spatial(8, i)\n')


def test_a_block_does_not_leave_a_branch() -> None:
    text = BRANCH.format("    ", "").replace(
        "        for i in range(8):", "    if 0 < f:\n        for i in range(8):", 1
    )
    error = refusal_of(text, "", 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert error.reason == "block B is inside of a if, which would be lost"


def test_a_producer_goes_below_a_branch_in_the_loop() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), D: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(16):
        if i < 8:
            with T.block("D"):
                v = T.axis.spatial(8, i)
                D[v] = B[v]
"""
    text = moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert below(text, "for i in range(16)").startswith(
        'with T.block("B"):\n    v = T.axis.spatial(8, i)\n    T.where(i < 8)\n'
    )


def test_a_block_without_loops_is_moved() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1,)), D: T.Buffer((4,))):
    B = T.alloc_buffer((1,))
    with T.block("B"):
        B[0] = A[0] + 1.0
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = B[0]
"""
    assert below(moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])'), "for i in range(4)").startswith(
        'with T.block("B"):\n    B[0] = A[0] + T.float32(1.0)\n'
    )


def test_loops_may_start_anywhere_and_depend_on_others() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((10,)), D: T.Buffer((10, 10))):
    B = T.alloc_buffer((10,))
    for i in T.serial(2, 10):
        with T.block("B"):
            v = T.axis.spatial((2, 10), i)
            B[v] = A[v]
    for i in T.serial(2, 10):
        for j in T.serial(2, i + 1):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vj]
"""
    text = moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert below(text, "for i in").startswith(
        'for ax0 in range(i - 1):\n    with T.block("B"):\n        v = T.axis.spatial((2, 10), ax0 + 2)\n'
    )


def test_sizes_may_be_unknown() -> None:
    steps = 'o, _ = sch.split(sch.get_loops("D")[0], [None, 4])\nsch.compute_at("B", o)'
    text = moved(chain(size="n", consumer="D[v] = B[v]"), steps)
    assert below(text, "for i_0 in range((n + 3) // 4)").startswith("""\
for ax0 in range(4):
    with T.block("B"):
        v = T.axis.spatial(n, i_0 * 4 + ax0)
        T.where(i_0 * 4 + ax0 < n)
""")
    text = moved(chain(size="n"), 'sch.reverse_compute_at("D", sch.get_loops("B")[0])')
    assert below(text, "for i in range(n)").count("v = T.axis.spatial(n, i)\n") == 2


def test_a_range_may_be_empty_in_some_iterations() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,)), D: T.Buffer((8, 8))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        for j in range(i - 3):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vj]
"""
    assert "for ax0 in range(i - 3):" in moved(text, 'sch.compute_at("B", sch.get_loops("D")[0])')


def test_loops_are_of_the_type_of_the_axes() -> None:
    text = (
        chain()
        .replace("i in range(16)", "i in T.serial(T.int64(16))")
        .replace("T.axis.spatial(16", "T.axis.spatial(T.int64(16)")
    )
    steps = 'o, _ = sch.split(sch.get_loops("D")[0], [None, 4])\nsch.compute_at("B", o)'
    assert "for ax0 in range(T.int64(4)):" in moved(text, steps)


# Threads


@pytest.mark.parametrize(
    ("scope", "thread", "rows"),
    [
        ("global", "threadIdx.x", 1),
        ("local", "threadIdx.x", 1),
        ("shared", "threadIdx.y", 4),
        ("shared.dyn", "vthread.x", 4),
        ("shared", "blockIdx.x", 1),
        ("warp", "threadIdx.x", 4),
        ("warp", "threadIdx.y", 1),
    ],
)
def test_threads_that_share_memory_compute_what_all_need(scope: str, thread: str, rows: int) -> None:
    text = chain(consumer="D[v] = B[v]", scope=scope)
    steps = f'o, t = sch.split(sch.get_loops("D")[0], [None, 4])\nsch.bind(t, {thread!r})\nsch.compute_at("B", t)'
    after = moved(text, steps)
    assert ("for ax0 in range(4):" in after) is (rows == 4)


# Places


def test_the_place_of_no_loop_is_inlining_and_the_root_is_nothing() -> None:
    inlined = apply_steps(chain(), 'sch.compute_at("B", sch.sample_compute_location("B", decision=-2))')
    assert order(inlined) == "D"
    same = apply_steps(chain(), 'sch.compute_at("B", sch.sample_compute_location("B", decision=-1))')
    assert str(same) == str(apply_steps(chain(), ""))
    backwards = apply_steps(chain(), 'sch.reverse_compute_at("D", sch.sample_compute_location("B", decision=-2))')
    assert order(backwards) == "B"


# Refusals


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        ('sch.compute_at("D", sch.get_loops("B")[0])', "no block in loop i reads what block D writes"),
        ('sch.compute_at("B", sch.get_loops("B")[0])', "block B is in loop i already"),
        ('sch.reverse_compute_at("D", sch.get_loops("D")[0])', "block D is in loop i already"),
        ('sch.compute_at("root", sch.get_loops("D")[0])', "the root block cannot be moved into a loop"),
    ],
)
def test_refusals(attempt: str, reason: str) -> None:
    error = refusal_of(chain(), "", attempt)
    assert error.reason == reason
    assert "^" in str(error)


def test_a_block_that_uses_a_loop_directly_is_not_moved_out_of_it() -> None:
    text = chain(producer="B[v] = A[v] + T.Cast('float32', i)")
    error = refusal_of(text, "", 'sch.compute_at("B", sch.get_loops("D")[0])')
    assert error.reason == "block B uses i, which is not known in loop i"


def test_a_consumer_of_a_reduction_may_run_on_partial_sums_too() -> None:
    text = moved(MATMUL, 'sch.reverse_compute_at("D", sch.get_loops("C")[2])')
    assert below(text, "for i, j, k in").endswith("D[vi, vj] = T.max(C[vi, vj], T.float32(0.0))")


def test_what_a_consumer_of_partial_sums_adds_up_is_refused() -> None:
    text = MATMUL.replace("D[vi, vj] = T.max(C[vi, vj], 0.0)", "D[vi, vj] = D[vi, vj] + C[vi, vj]")
    error = refusal_of(text, "", 'sch.reverse_compute_at("D", sch.get_loops("C")[2])')
    assert "block D at (vi=0, vj=0)" in error.reason


def test_refused_moves_may_be_followed_by_others() -> None:
    sch = Schedule(parse_tvmscript(MATMUL))
    with pytest.raises(ScheduleError):
        sch.compute_at("D", sch.get_loops("C")[0])
    sch.compute_at("C", sch.get_loops("D")[0])
    check_computes_the_same(parse_tvmscript(MATMUL), sch.mod)


def test_a_move_inside_of_a_common_loop_may_repeat_what_other_iterations_did() -> None:
    steps = 'i, j = sch.get_loops("D")\nf = sch.fuse(i, j)\nsch.compute_at("C", f, preserve_unit_loops=True)\n'
    text = moved(MATMUL.replace("D[vi, vj] = T.max(C[vi, vj], 0.0)", "D[vi, vj] = C[vi, 7 - vj] + C[vi, vj]"), steps)
    assert text.count("T.block(") == 2
    rows = """
@T.prim_func
def main(A: T.Buffer((4,)), D: T.Buffer((4, 4))):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]
    for f in range(16):
        with T.block("D"):
            vi = T.axis.spatial(4, f // 4)
            vj = T.axis.spatial(4, f % 4)
            D[vi, vj] = B[vi]
"""
    steps = (
        'sch.compute_at("B", sch.get_loops("D")[0], preserve_unit_loops=True)\n'
        'sch.reverse_compute_at("D", sch.get_loops("B")[1])'
    )
    assert below(moved(rows, steps), "for f, ax0 in T.grid(16, 1)").endswith("D[vi, vj] = B[vi]")


def test_extents_that_may_overflow() -> None:
    text = """
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n * 64 - 61, n), "int32")
    C = T.match_buffer(c, (n * 64 - 61, n), "int32")
    M = T.alloc_buffer((n * 64 - 61, n), "int32")
    for i, j in T.grid(n * 64 - 61, n):
        with T.block("M"):
            vi, vj = T.axis.remap("SS", [i, j])
            M[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(n * 64 - 61, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = M[vi, vj] + 1
"""
    attempt = 'sch.compute_at("M", sch.get_loops("C")[1])'
    message = str(refusal_of(text, 'sch.split(sch.get_loops("M")[0], [None, 4])', attempt))
    assert "the predicate of block M says something of the loops around it that cannot be said of its axes" in message
    schedule = Schedule(before := parse_tvmscript(text))
    exec(f"{attempt}\nsch.reindex('C', ('read', 0))", {"sch": schedule})
    for size in (1, 2):
        check_computes_the_same(before, schedule.mod, size=size)


def test_a_predicate_that_always_holds_moves_along() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((1, 3), "int32"), D: T.Buffer((1, 3), "int32")):
    B = T.alloc_buffer((1, 3), "int32")
    for i, j in T.grid(1, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i < 1)
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(1, 3):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi * 2, 2 - vj]
"""
    apply_steps(text, 'sch.compute_at("B", sch.get_loops("D")[1])')


_FUSED = """
@T.prim_func
def main(a: T.handle, f: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (8, n))
    F = T.match_buffer(f, (n * 8,))
    C = T.match_buffer(c, (8, n))
    B = T.alloc_buffer((8, n))
    for ij in range(n * 8):
        with T.block("B"):
            vi = T.axis.spatial(8, ij // n)
            vj = T.axis.spatial(n, ij % n)
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(8, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize(
    "steps",
    [
        "sch.reverse_compute_at('C', sch.get_loops('B')[0])",
        "sch.compute_at('B', sch.fuse(*sch.get_loops('C')))",
        "sch.reverse_compute_at('C', sch.get_loops('B')[0]); sch.parallel(sch.get_loops('B')[0])",
    ],
)
def test_a_fused_loop_over_a_symbolic_size_computes_an_element_in_each_iteration(steps: str, size: int) -> None:
    before = parse_tvmscript(_FUSED)
    schedule = Schedule(before)
    exec(steps, {"sch": schedule})
    assert [len(schedule.get_loops(name)) for name in "BC"] == [1, 1]
    check_computes_the_same(before, schedule.mod, size=size)


@pytest.mark.parametrize(
    ("element", "first", "second"),
    [("vi", "ij//n=0, ij%n=0", "ij//n=0, ij%n=1"), ("vj", "ij//n=0, ij%n=0", "ij//n=1, ij%n=0")],
)
def test_iterations_of_a_fused_loop_conflict_in_one_digit(element: str, first: str, second: str) -> None:
    other = "0" if element == "vi" else "vj"
    text = _FUSED.replace("B[vi, vj] = A", f"B[{'vi' if element == 'vi' else '0'}, {other}] = A")
    message = str(refusal_of(text, "", "sch.parallel(sch.get_loops('B')[0])"))
    assert f"iteration {first}" in message
    assert f"iteration {second}" in message


def test_a_fused_loop_with_other_uses_of_its_variable_is_not_affine() -> None:
    text = _FUSED.replace("A[vi, vj] + 1.0", "A[vi, vj] + F[ij]")
    message = str(refusal_of(text, "", "sch.reverse_compute_at('C', sch.get_loops('B')[0])"))
    assert "bound to no affine function of loops" in message


RECURRENCE = """
@T.prim_func
def main(X: T.Buffer((5, 8), "float32"), Y: T.Buffer((5, 8), "float32")):
    S = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            Y[0, vi] = X[0, vi]
    for t in range(1, 5):
        for i in range(8):
            with T.block("S"):
                vt = T.axis.scan((1, 5), t)
                vi = T.axis.spatial(8, i)
                S[vi] = Y[vt - 1, vi] * 2.0
        for i in range(8):
            with T.block("Y"):
                vt = T.axis.scan((1, 5), t)
                vi = T.axis.spatial(8, i)
                Y[vt, vi] = S[vi] + X[vt, vi]
"""


@pytest.mark.parametrize(
    "move",
    ['sch.compute_at("S", sch.split(Y, [None, 4])[0])', 'sch.reverse_compute_at("Y", sch.split(S, [None, 4])[0])'],
)
def test_an_axis_bound_to_a_common_loop_keeps_its_value(move: str) -> None:
    loops = '_, S = sch.get_loops("S")\n_, Y = sch.get_loops("Y")\n'
    after = apply_steps(RECURRENCE, loops + move)
    assert "v_t" not in body_text(after)
    assert body_text(after).count("vt = T.axis.scan((1, 5), t)") == 2
