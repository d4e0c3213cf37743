"""Programs equal up to names and index forms, and the first differences of other programs."""

import pytest

from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.equivalence import program_difference

HEADER = "from tvm.script import tir as T\n\n\n"

PROGRAM = (
    HEADER
    + """@T.prim_func
def main(A: T.Buffer((16, 20), "float32"), B: T.Buffer((16, 20), "float32")):
    C = T.alloc_buffer((16, 20))
    D = T.alloc_buffer((16,))
    for i, j0, j1 in T.grid(16, 3, 8):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.spatial(20, j0 * 8 + j1)
            T.where(j0 * 8 + j1 < 20 and i < 15)
            T.reads(A[vi, vj], A[vi, 0:20])
            T.writes(C[vi, vj])
            C[vi, vj] = A[vi, vj] * T.float32(2.0) + A[vi, (vj * 4 + 3) // 4]
    for i in T.parallel(16, annotations={"pragma_unroll": 1}):
        for k in range(20):
            with T.block("D"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.block_attr({"depth": 2})
                with T.init():
                    D[vi] = T.float32(0.0)
                D[vi] = D[vi] + C[vi, vk]
    for u, i, j in T.grid(1, 16, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi + u < vj, C[vi, vj], T.Select(A[vi, vj] < C[vi, vj], D[vi], D[0]))
"""
)


def _difference(*edits: tuple[str, str], block_names: bool = False) -> str | None:
    """The difference between the program and a copy with replaced text; each replacement applies to the first
    occurrence."""
    text = PROGRAM
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return program_difference(parse_tvmscript(PROGRAM), parse_tvmscript(text), block_names=block_names)


def test_a_program_is_the_same_as_itself() -> None:
    assert _difference(block_names=True) is None


def test_declared_reads_and_writes_are_compared_unless_they_do_not_count() -> None:
    text = PROGRAM.replace("T.reads(A[vi, vj], A[vi, 0:20])", "T.reads(A[vi, 0:20])")
    programs = parse_tvmscript(PROGRAM), parse_tvmscript(text)
    assert "main: reads differ" in (program_difference(*programs) or "")
    assert program_difference(*programs, regions=False) is None


def test_names_of_variables_and_buffers_do_not_matter() -> None:
    text = PROGRAM
    for old, new in (("vi", "x_1"), ("vj", "y"), ("j0", "outer"), ("j1", "inner"), ("C[", "E["), ("C =", "E =")):
        text = text.replace(old, new)
    assert program_difference(parse_tvmscript(PROGRAM), parse_tvmscript(text), block_names=True) is None


def test_names_of_blocks_matter_when_asked_for() -> None:
    edit = ('T.block("C")', 'T.block("E")')
    assert _difference(edit) is None
    assert _difference(edit, block_names=True) == 'main: names of a block differ\n  block "C"\n  block "E"'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("T.axis.spatial(20, j0 * 8 + j1)", "T.axis.spatial(20, j1 + 4 * (j0 * 2))"),
        ("T.axis.spatial(20, j0 * 8 + j1)", "T.axis.spatial(20, (j0 * 8 + j1) // 4 * 4 + j1 % 4)"),
        ("T.where(j0 * 8 + j1 < 20 and i < 15)", "T.where(i <= 14 and j1 < 20 - j0 * 8)"),
        ("T.where(j0 * 8 + j1 < 20 and i < 15)", "T.where(i * 2 < 29 and not j0 * 8 + j1 >= 20)"),
        ("T.where(j0 * 8 + j1 < 20 and i < 15)", "T.where(i < 15 and 20 > j0 * 8 + j1)"),
        ("(vj * 4 + 3) // 4", "vj"),
        ("T.reads(A[vi, vj], A[vi, 0:20])", "T.reads(A[vi, 0:20], A[vi, vj])"),
        ("vi + u < vj", "vi < vj"),
        ("vi + u < vj", "vj - vi > 0"),
        ("T.where(j0 * 8 + j1 < 20 and i < 15)", "T.where((j0 * 8 + j1) // 4 < 5 and i // 3 < 5)"),
        ("A[vi, vj] < C[vi, vj]", "C[vi, vj] > A[vi, vj]"),
        ("D = T.alloc_buffer((16,))", 'D = T.alloc_buffer((16,), scope="global")'),
        ("    D = T.alloc_buffer((16,))\n", ""),
    ],
)
def test_how_indices_and_conditions_are_written_does_not_matter(old: str, new: str) -> None:
    edits = [(old, new)]
    if not new:
        edits.append(("    C = T.alloc", old + "    C = T.alloc"))
    assert _difference(*edits) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("i, j0, j1 in T.grid(16, 3, 8)", "j0, i, j1 in T.grid(3, 16, 8)", "extents of a loop differ"),
        ("T.grid(16, 3, 8)", "T.grid(16, 4, 8)", "extents of a loop differ"),
        ("T.parallel(16, ", "T.serial(16, ", "kinds of loop differ"),
        ('"pragma_unroll": 1', '"pragma_unroll": 2', "annotations of a loop differ"),
        ('"depth": 2', '"depth": 3', "annotations of a block differ"),
        ("j1 < 20 and i < 15", "j1 < 20", "predicates differ"),
        ("j1 < 20 and i < 15", "j1 < 19 and i < 15", "predicates differ"),
        ("T.where(j0 * 8 + j1 < 20 and i < 15)\n", "T.where(T.bool(True))\n", "predicates differ"),
        ('remap("SR"', 'remap("SS"', "kinds of an axis differ"),
        ("T.axis.spatial(20, j0 * 8", "T.axis.spatial(24, j0 * 8", "domains of an axis differ"),
        ("T.axis.spatial(20, j0 * 8 + j1)", "T.axis.spatial(20, j0 * 7 + j1)", "bindings of an axis differ"),
        ("T.reads(A[vi, vj], A[vi, 0:20])", "T.reads(A[vi, vj], A[vi, 0:19])", "reads differ"),
        ("T.reads(A[vi, vj], A[vi, 0:20])", "T.reads(A[vi, vj])", "reads differ"),
        ("T.writes(C[vi, vj])", "T.writes(C[vi, 0:20])", "writes differ"),
        ("T.float32(2.0)", "T.float32(3.0)", "values of a store differ"),
        ("A[vi, vj] * T.float32(2.0)", "T.float32(2.0) * A[vi, vj]", "values of a store differ"),
        ("D[vi] + C[vi, vk]", "C[vi, vk] + D[vi]", "values of a store differ"),
        ("vi + u < vj, C", "vi + u <= vj, C", "values of a store differ"),
        ("vj, C[vi, vj], T", "vj, A[vi, vj], T", "values of a store differ"),
        ("D[vi], D[0])", "D[0], D[vi])", "values of a store differ"),
        ("A[vi, vj] < C[vi, vj]", "A[vi, vj] <= C[vi, vj]", "values of a store differ"),
        ("A[vi, vj] < C[vi, vj]", "not C[vi, vj] <= A[vi, vj]", "values of a store differ"),
        ("T.where(j0 * 8 + j1 < 20 and i < 15)", "T.where((j0 * 8 + j1) // 4 < 5 and i // 3 < 4)", "predicates differ"),
        ("            B[vi, vj] =", "            C[vi, vj] =", "stores to different buffers"),
        ("D[vi] = T.float32(0.0)", "D[vi] = T.float32(1.0)", "values of a store differ"),
        ("D = T.alloc_buffer((16,))", "D = T.alloc_buffer((17,))", "stores to different buffers"),
        ("    C = T", "    E = T.alloc_buffer((16,))\n    C = T", "allocations in def main differ"),
        ('B: T.Buffer((16, 20), "float32")', 'B: T.Buffer((16, 21), "float32")', "parameters differ"),
    ],
)
def test_the_first_difference_is_told(old: str, new: str, message: str) -> None:
    found = _difference((old, new))
    assert found is not None
    assert message in found


def test_a_difference_shows_both_lines() -> None:
    found = _difference(("A[vi, (vj * 4 + 3) // 4]", "A[vi, vj % 7]"))
    assert found is not None
    assert found.splitlines() == [
        "main: values of a store differ",
        "  C[vi, vj] = A[vi, vj] * T.float32(2.0) + A[vi, (vj * 4 + 3) // 4]",
        "  C[vi, vj] = A[vi, vj] * T.float32(2.0) + A[vi, vj % 7]",
    ]


def test_a_binding_may_be_written_as_what_it_is_where_the_predicate_holds() -> None:
    text = HEADER + (
        "@T.prim_func\n"
        "def main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
        "    for i0, i1 in T.grid(2, 4):\n"
        "        with T.block('B'):\n"
        "            vi = T.axis.spatial(4, i0 * 4 + i1)\n"
        "            T.where(i0 * 4 + i1 < 4)\n"
        "            B[vi] = A[vi]\n"
    )
    shorter = text.replace("(4, i0 * 4 + i1)", "(4, i1)")
    assert program_difference(parse_tvmscript(text), parse_tvmscript(shorter)) is None
    alone = [t.replace("where(i0 * 4 + i1 < 4)", "where(i0 * 2 + 1 == 1)") for t in (text, shorter)]
    assert program_difference(*map(parse_tvmscript, alone)) is None
    wider = [t.replace("where(i0 * 4 + i1 < 4)", "where(i0 * 4 + i1 < 5)") for t in (text, shorter)]
    assert program_difference(*map(parse_tvmscript, wider)) is not None


def test_a_missing_statement_is_told() -> None:
    found = _difference(("                    D[vi] = T.float32(0.0)\n", "                    T.evaluate(0)\n"))
    assert found is not None
    assert "statements differ" in found


def test_fewer_statements_are_told() -> None:
    shorter = PROGRAM[: PROGRAM.index("    for u, i, j")]
    found = program_difference(parse_tvmscript(PROGRAM), parse_tvmscript(shorter))
    assert found == "main: number of statements in def main\n  for u in serial, 0 +: 1\n  nothing more"


def test_swapped_buffers_are_not_renamed_buffers() -> None:
    text = HEADER + (
        "@T.prim_func\ndef main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n    for i in range(4):\n        B[i] = A[i]\n"
    )
    assert (
        program_difference(parse_tvmscript(text), parse_tvmscript(text.replace("B[i] = A[i]", "A[i] = B[i]")))
        is not None
    )


def test_one_temporary_is_not_two() -> None:
    text = HEADER + (
        "@T.prim_func\n"
        "def main(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
        "    C = T.alloc_buffer((4,))\n"
        "    D = T.alloc_buffer((4,))\n"
        "    for i in range(4):\n"
        "        C[i] = A[i]\n"
        "        D[i] = A[i]\n"
        "        B[i] = C[i] + D[i]\n"
    )
    assert program_difference(parse_tvmscript(text), parse_tvmscript(text.replace("+ D[i]", "+ C[i]"))) is not None


def test_loaded_indices_are_compared_by_what_is_loaded() -> None:
    text = HEADER + (
        "@T.prim_func\n"
        'def main(A: T.Buffer((9,)), I: T.Buffer((4,), "int32"), J: T.Buffer((4,), "int32"), B: T.Buffer((4,))):\n'
        "    for i in range(4):\n"
        "        B[i] = A[I[i] + J[i] * 2]\n"
    )
    assert (
        program_difference(parse_tvmscript(text), parse_tvmscript(text.replace("I[i] + J[i] * 2", "2 * J[i] + I[i]")))
        is None
    )
    assert (
        program_difference(parse_tvmscript(text), parse_tvmscript(text.replace("I[i] + J[i]", "J[i] + I[i]")))
        is not None
    )


def test_functions_must_have_the_same_names() -> None:
    found = program_difference(parse_tvmscript(PROGRAM), parse_tvmscript(PROGRAM.replace("def main", "def other")))
    assert found == "functions differ:\n  main\n  other"
