"""Comparison of value flow before and after a change: legal changes, and the messages for illegal changes."""

import pytest

from stepwell.analysis import isl_budget
from stepwell.analysis.dependence import compare_flows, value_flow
from stepwell.dialects.tir import AllocBufferOp, BlockOp


def nest(loops: str, name: str, axes: str, *statements: str, init: str = "", where: str = "") -> str:
    """A block in a loop nest. axes: `vi S 8 = i` each, separated by semicolons."""
    depth = 0
    lines: list[str] = []
    for loop in loops.split(";"):
        lines.append("    " * depth + loop.strip() + ":")
        depth += 1
    lines.append("    " * depth + f'with T.block("{name}"):')
    body: list[str] = []
    for axis in axes.split(";"):
        head, binding = axis.split(" = ")
        axis_name, kind, extent = head.split()
        body.append(f"{axis_name} = T.axis.{'reduce' if kind == 'R' else 'spatial'}({extent}, {binding})")
    if where:
        body.append(f"T.where({where})")
    if init:
        body += ["with T.init():", f"    {init}"]
    body += statements
    return "\n".join([*lines, *("    " * (depth + 1) + line for line in body), ""])


def inside(loop: str, *nests: str) -> str:
    """Encloses loop nests in a loop."""
    lines = [line for text in nests for line in text.splitlines()]
    return "\n".join([f"{loop}:", *(f"    {line}" for line in lines), ""])


I_J = "for i in range(8); for j in range(8)"
VIJ = "vi S 8 = i; vj S 8 = j"
ALLOC = "C = T.alloc_buffer((8, 8))\n"
PRODUCE = nest(I_J, "C", VIJ, "C[vi, vj] = A[vi, vj] + T.float32(1)")
CONSUME = nest(I_J, "D", VIJ, "D[vi, vj] = C[vi, vj] * T.float32(2)")
PRODUCE_ROW = nest("for j in range(8)", "C", VIJ, "C[vi, vj] = A[vi, vj] + T.float32(1)")
CONSUME_ROW = nest("for j in range(8)", "D", VIJ, "D[vi, vj] = C[vi, vj] * T.float32(2)")

SUM = "C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vk, vj]"
MOST = "C[vi, vj] = T.max(C[vi, vj], A[vi, vk] * A[vk, vj])"
ZERO = "C[vi, vj] = T.float32(0)"
VIJK = f"{VIJ}; vk R 8 = k"


def matmul(loops: str, axes: str = VIJK, where: str = "") -> str:
    return nest(loops, "C", axes, SUM, init=ZERO, where=where)


MATMUL = matmul("for i in range(8); for j in range(8); for k in range(8)")

LEGAL = {
    "nothing changed": (ALLOC + PRODUCE + CONSUME, ALLOC + PRODUCE + CONSUME),
    "the producer moved to the row that is read": (
        ALLOC + PRODUCE + CONSUME,
        ALLOC + inside("for i in range(8)", PRODUCE_ROW, CONSUME_ROW),
    ),
    "a tile that is computed twice": (
        ALLOC + PRODUCE + CONSUME,
        ALLOC
        + inside(
            "for i in range(8)",
            nest("for j in range(8); for r in range(2)", "C", VIJ, "C[vi, vj] = A[vi, vj] + T.float32(1)"),
            CONSUME_ROW,
        ),
    ),
    "loops of a reduction in another order": (
        ALLOC + MATMUL + CONSUME,
        ALLOC + matmul("for k in range(8); for j in range(8); for i in range(8)") + CONSUME,
    ),
    "a reduction split where its factor does not divide": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + matmul(
            "for i in range(8); for j in range(8); for k0 in range(3); for k1 in range(3)",
            f"{VIJ}; vk R 8 = k0 * 3 + k1",
            "k0 * 3 + k1 < 8",
        )
        + CONSUME,
    ),
    "a reduction redone for each row that is read": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + inside(
            "for i in range(8)",
            inside("for r in range(2)", matmul("for j in range(8); for k in range(8)"), CONSUME_ROW),
        ),
    ),
    "a reduction split into init and update": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + nest(I_J, "C_init", VIJ, ZERO)
        + nest("for k in range(8); for i in range(8); for j in range(8)", "C", VIJK, SUM)
        + CONSUME,
    ),
    "a diagonal stencil in another order": (
        nest(I_J, "D", VIJ, "if vi > 0 and vj > 0:", "    D[vi, vj] = D[vi - 1, vj - 1] + D[vi, vj]"),
        nest(
            "for j in range(8); for i in range(8)",
            "D",
            VIJ,
            "if vi > 0 and vj > 0:",
            "    D[vi, vj] = D[vi - 1, vj - 1] + D[vi, vj]",
        ),
    ),
    "a skewed stencil tiled": (
        nest(
            "for t in range(4); for x in range(14)",
            "D",
            "vt S 4 = t; vx S 8 = x - t * 2",
            "D[0, vx] = D[0, vx] * T.float32(3) + A[vt, vx]",
            where="x - t * 2 >= 0 and x - t * 2 < 8",
        ),
        nest(
            "for x0 in range(7); for t in range(4); for x1 in range(2)",
            "D",
            "vt S 4 = t; vx S 8 = x0 * 2 + x1 - t * 2",
            "D[0, vx] = D[0, vx] * T.float32(3) + A[vt, vx]",
            where="x0 * 2 + x1 - t * 2 >= 0 and x0 * 2 + x1 - t * 2 < 8",
        ),
    ),
    "a gather behind all that it may read": (
        ALLOC + PRODUCE + nest(I_J, "D", VIJ, "D[vi, vj] = C[I[vi], vj]"),
        ALLOC
        + nest("for j in range(8); for i in range(8)", "C", VIJ, "C[vi, vj] = A[vi, vj] + T.float32(1)")
        + nest("for j in range(8); for i in range(8)", "D", VIJ, "D[vi, vj] = C[I[vi], vj]"),
    ),
    "contributions scattered in another order": (
        nest(I_J, "D", VIJ, "D[I[vi], vj] = D[I[vi], vj] + A[vi, vj]"),
        nest("for j in range(8); for i in range(8)", "D", VIJ, "D[I[vi], vj] = D[I[vi], vj] + A[vi, vj]"),
    ),
    "differences and sums in another order": (
        nest(I_J, "D", VIJ, "D[0, vj] = A[vi, vj] + D[0, vj] - T.float32(1)"),
        nest("for j in range(8); for i in range(8)", "D", VIJ, "D[0, vj] = A[vi, vj] + D[0, vj] - T.float32(1)"),
    ),
    "an element overwritten by its own instance": (
        nest(I_J, "D", VIJ, "D[vi, vj] = D[vi, vj] * T.float32(3) + A[vi, vj]"),
        nest("for j in range(8); for i in range(8)", "D", VIJ, "D[vi, vj] = D[vi, vj] * T.float32(3) + A[vi, vj]"),
    ),
    "a condition around a block": (
        ALLOC + PRODUCE + inside("for i in range(8)", inside("if i < 4", CONSUME_ROW)),
        ALLOC
        + inside(
            "for i in range(8)",
            inside("if i < 4", PRODUCE_ROW, CONSUME_ROW),
        ),
    ),
    "a block of blocks": (
        ALLOC
        + PRODUCE
        + nest(
            "for i in range(4)",
            "D",
            "vi S 4 = i",
            "for a, b in T.grid(2, 8):",
            '    with T.block("inner"):',
            "        va = T.axis.spatial(8, vi * 2 + a)",
            "        vb = T.axis.spatial(8, b)",
            "        D[va, vb] = C[va, vb]",
        ),
        ALLOC
        + inside(
            "for i in range(4)",
            nest(
                "for a in range(2); for j in range(8)",
                "C",
                "vi S 8 = i * 2 + a; vj S 8 = j",
                "C[vi, vj] = A[vi, vj] + T.float32(1)",
            ),
            "\n".join(
                (
                    'with T.block("D"):',
                    "    vi = T.axis.spatial(4, i)",
                    "    for a, b in T.grid(2, 8):",
                    '        with T.block("inner"):',
                    "            va = T.axis.spatial(8, vi * 2 + a)",
                    "            vb = T.axis.spatial(8, b)",
                    "            D[va, vb] = C[va, vb]",
                )
            ),
        ),
    ),
    "vectors": (
        ALLOC + PRODUCE + nest("for i in range(8)", "D", "vi S 8 = i", "D[vi, 0:8] = C[vi, T.Ramp(0, 1, 8)]"),
        ALLOC
        + inside(
            "for i in range(8)",
            PRODUCE_ROW,
            'with T.block("D"):\n    vi = T.axis.spatial(8, i)\n    D[vi, 0:8] = C[vi, T.Ramp(0, 1, 8)]',
        ),
    ),
    "a consumer that runs on parts of sums, and last on all": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + inside(
            "for k in range(8)",
            matmul("for i in range(8); for j in range(8)"),
            nest(I_J, "D", VIJ, "D[vi, vj] = C[vi, vj] * T.float32(2)"),
        ),
    ),
    "a maximum that is taken twice": (
        ALLOC + MATMUL.replace(SUM, MOST) + CONSUME,
        ALLOC
        + nest(I_J, "C_init", VIJ, ZERO)
        + nest("for r in range(2); for i in range(8); for j in range(8); for k in range(8)", "C", VIJK, MOST)
        + CONSUME,
    ),
    "statements in no block in the same order": (
        "for i, j in T.grid(8, 8):\n    D[0, 0] = D[0, 0] * T.float32(3) + A[i, j]\n",
        "for i in range(8):\n    for j in range(8):\n        D[0, 0] = D[0, 0] * T.float32(3) + A[i, j]\n",
    ),
    "statements in no block in another order": (
        "for i, j in T.grid(8, 8):\n    D[i, j] = A[i, j]\n",
        "for j, i in T.grid(8, 8):\n    D[i, j] = A[i, j]\n",
    ),
    "a value that is overwritten is read before": (
        ALLOC + PRODUCE + CONSUME + nest(I_J, "again", VIJ, "C[vi, vj] = D[vi, vj]"),
        ALLOC
        + PRODUCE
        + inside("for i in range(8)", CONSUME_ROW, nest("for j in range(8)", "again", VIJ, "C[vi, vj] = D[vi, vj]")),
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_change_that_keeps_the_value_flow_is_legal(name: str, compare) -> None:
    assert compare(*LEGAL[name]) is None


ILLEGAL = {
    "a consumer in front": (
        ALLOC + PRODUCE + CONSUME,
        ALLOC + CONSUME + PRODUCE,
        "C[0, 0] is read by block D at (vi=0, vj=0) before block C writes it at (vi=0, vj=0)",
    ),
    "a region that is too small": (
        ALLOC + PRODUCE + CONSUME,
        ALLOC + inside("for i in range(8)", PRODUCE_ROW.replace("range(8)", "range(7)"), CONSUME_ROW),
        "C[0, 7] is read by block D at (vi=0, vj=7), but block C at (vi=0, vj=7) no longer runs",
    ),
    "a skewed stencil in another order": (
        nest(I_J, "D", VIJ, "if vi > 0 and vj < 7:", "    D[vi, vj] = D[vi - 1, vj + 1]"),
        nest(
            "for j in range(8); for i in range(8)",
            "D",
            VIJ,
            "if vi > 0 and vj < 7:",
            "    D[vi, vj] = D[vi - 1, vj + 1]",
        ),
        "D[1, 1] is read by block D at (vi=2, vj=0) before block D writes it at (vi=1, vj=1)",
    ),
    "a reduction read before it is complete": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + inside(
            "for k in range(8)",
            nest(I_J, "D", VIJ, "D[vi, vj] = C[vi, vj] * T.float32(2)"),
            matmul("for i in range(8); for j in range(8)"),
        ),
        "block D at (vi=0, vj=0) runs several times, and not always reads the same C[0, 0]",
    ),
    "a reduction redone in part": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + MATMUL
        + inside(
            "for i in range(8)",
            matmul("for j in range(8); for k in range(7)").replace('"C"', '"again"'),
            CONSUME_ROW,
        ),
        "C[0, 0] is read by block D at (vi=0, vj=0)",
    ),
    "a contribution that comes twice": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + nest(I_J, "C_init", VIJ, ZERO)
        + nest("for r in range(2); for i in range(8); for j in range(8); for k in range(8)", "C", VIJK, SUM)
        + CONSUME,
        "with the contribution of block C at (vi=0, vj=0, vk=0) counted twice",
    ),
    "an init between the contributions": (
        ALLOC + MATMUL + CONSUME,
        ALLOC
        + inside(
            "for k in range(8)",
            nest(I_J, "C_init", VIJ, ZERO),
            nest(I_J, "C", VIJK, SUM),
        )
        + CONSUME,
        "C[0, 0] is read by block D at (vi=0, vj=0) without what block C contributes at (vi=0, vj=0, vk=0)",
    ),
    "steps that do not commute": (
        nest(I_J, "D", VIJ, "D[0, vi] = D[0, vi] * T.float32(3) + A[vi, vj]"),
        nest(
            "for i in range(8); for j in range(8)",
            "D",
            "vi S 8 = i; vj S 8 = 7 - j",
            "D[0, vi] = D[0, vi] * T.float32(3) + A[vi, vj]",
        ),
        "as block D writes it at (vi=0, vj=2), not as block D does at (vi=0, vj=0)",
    ),
    "a scatter in another order": (
        nest(I_J, "D", VIJ, "D[I[vi], vj] = A[vi, vj]"),
        nest("for i in range(8); for j in range(8)", "D", "vi S 8 = 7 - i; vj S 8 = j", "D[I[vi], vj] = A[vi, vj]"),
        "D[I[vi], vj] is not affine, so it may be any element",
    ),
    "a gather in front of what it may read": (
        ALLOC + PRODUCE + nest(I_J, "D", VIJ, "D[vi, vj] = C[I[vi], vj]"),
        ALLOC
        + inside("for i in range(8)", PRODUCE_ROW, nest("for j in range(8)", "D", VIJ, "D[vi, vj] = C[I[vi], vj]")),
        "C[I[vi], vj] is not affine, so it may be any element",
    ),
    "steps in no block in another order": (
        'for i, j in T.grid(8, 8):\n    D[0, 0] = D[0, 0] * T.float32(3) + T.Cast("float32", i * 2 + j)\n',
        'for j, i in T.grid(8, 8):\n    D[0, 0] = D[0, 0] * T.float32(3) + T.Cast("float32", i * 2 + j)\n',
        "D[0, 0] is read by the store to D at (i=0, j=1) as the store to D writes it at (i=7, j=0), not as",
    ),
    "statements in no block under other loops": (
        "for i in range(8):\n    D[0, i] = A[i, 0]\n",
        "for i0, i1 in T.grid(2, 4):\n    D[0, i0 * 4 + i1] = A[i0 * 4 + i1, 0]\n",
        "the store to D is in no block, and is under other loops than before: its instances cannot be told apart",
    ),
    "an instance that no longer runs": (
        nest(I_J, "D", VIJ, "D[vi, vj] = A[vi, vj]"),
        nest("for i in range(8); for j in range(7)", "D", VIJ, "D[vi, vj] = A[vi, vj]"),
        "D[0, 7] is left at the end, but block D at (vi=0, vj=7) no longer runs",
    ),
    "the last of two writers in front of the first": (
        nest(I_J, "C", VIJ, "D[vi, vj] = A[vi, vj]") + nest(I_J, "D", VIJ, "D[vi, vj] = T.float32(1)"),
        nest(I_J, "D", VIJ, "D[vi, vj] = T.float32(1)") + nest(I_J, "C", VIJ, "D[vi, vj] = A[vi, vj]"),
        "D[0, 0] is left at the end as block C writes it at (vi=0, vj=0), not as block D does at (vi=0, vj=0)",
    ),
    "a value read after it is overwritten": (
        nest(I_J, "C", VIJ, "D[vi, vj] = A[vi, vj]") + nest(I_J, "E", VIJ, "A[vi, vj] = T.float32(1)"),
        nest(I_J, "E", VIJ, "A[vi, vj] = T.float32(1)") + nest(I_J, "C", VIJ, "D[vi, vj] = A[vi, vj]"),
        "A[0, 0] is read by block C at (vi=0, vj=0) after block E writes it at (vi=0, vj=0)",
    ),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_a_change_of_the_value_flow_is_refused_with_an_example(name: str, refusal) -> None:
    before, after, reason = ILLEGAL[name]
    assert reason in refusal(before, after)


def test_reads_of_a_copy_are_reads_of_what_was_copied(compare) -> None:
    copied = (
        "S = T.alloc_buffer((8, 8))\n"
        + nest(I_J, "S", VIJ, "S[vi, vj] = C[vi, vj]")
        + nest(I_J, "D", VIJ, "D[vi, vj] = S[vi, vj] * T.float32(2)")
    )
    assert compare(ALLOC + PRODUCE + CONSUME, ALLOC + PRODUCE + copied, copies=("S",)) is None


def test_a_copy_before_the_write_of_its_source_is_refused(refusal) -> None:
    copied = (
        "S = T.alloc_buffer((8, 8))\n"
        + nest(I_J, "S", VIJ, "S[vi, vj] = C[vi, vj]")
        + PRODUCE
        + nest(I_J, "D", VIJ, "D[vi, vj] = S[vi, vj] * T.float32(2)")
    )
    assert "before block C writes it at (vi=0, vj=0)" in refusal(
        ALLOC + PRODUCE + CONSUME, ALLOC + copied, copies=("S",)
    )


def test_a_copy_of_another_element_is_refused(compare) -> None:
    copied = (
        "S = T.alloc_buffer((8, 8))\n"
        + nest(I_J, "S", VIJ, "S[vi, vj] = C[vj, vi]")
        + nest(I_J, "D", VIJ, "D[vi, vj] = S[vi, vj] * T.float32(2)")
    )
    assert compare(ALLOC + PRODUCE + CONSUME, ALLOC + PRODUCE + copied, copies=("S",)) is not None


def test_a_result_written_by_way_of_another_buffer_is_the_same(compare) -> None:
    local = matmul("for i in range(8); for j in range(8); for k in range(8)").replace("C[", "L[")
    after = ALLOC + "L = T.alloc_buffer((8, 8))\n" + local + nest(I_J, "L", VIJ, "C[vi, vj] = L[vi, vj]") + CONSUME
    assert compare(ALLOC + MATMUL + CONSUME, after, copies=("L",)) is None


INLINED = nest(I_J, "D", VIJ, "D[vi, vj] = (A[vi, vj] + T.float32(1)) * T.float32(2)")


def test_a_producer_may_be_inlined(compare) -> None:
    assert compare(ALLOC + PRODUCE + CONSUME, INLINED, inlined=("C",)) is None


def test_inlining_past_an_overwrite_of_the_input_is_refused(refusal) -> None:
    overwrite = nest(I_J, "E", VIJ, "A[vi, vj] = T.float32(1)")
    reason = refusal(ALLOC + PRODUCE + overwrite + CONSUME, overwrite + INLINED, inlined=("C",))
    assert reason == "A[0, 0] is read by block D at (vi=0, vj=0) after block E writes it at (vi=0, vj=0)"


def test_what_is_no_contribution_any_more_reads_and_writes(compare, refusal) -> None:
    twice = nest(I_J, "D", VIJ, "D[vi, vj] = D[vi, vj] * T.float32(2)")
    copied = PRODUCE.replace("A[vi, vj] + T.float32(1)", "D[vi, vj] * T.float32(2)")
    copy = nest(I_J, "D", VIJ, "D[vi, vj] = C[vi, vj]")
    assert compare(ALLOC + copied + copy, twice, inlined=("C",)) is None
    late = ALLOC + copied + nest(I_J, "E", VIJ, "D[vi, vj] = T.float32(1)") + copy
    early = nest(I_J, "E", VIJ, "D[vi, vj] = T.float32(1)") + twice
    assert "D[0, 0] is read by block D at (vi=0, vj=0)" in refusal(late, early, inlined=("C",))


def test_blocks_whose_axes_are_bound_to_what_is_not_affine_stay_under_their_loops(compare, refusal) -> None:
    def program(loops: str) -> str:
        return "n = T.int32()\nX = T.match_buffer(x, (n,), 'float32')\nY = T.match_buffer(y, (n,), 'float32')\n" + nest(
            loops, "Y", "v S n = i * ((n + 1) // 2) + j", "Y[v] = X[v]", where="i * ((n + 1) // 2) + j < n"
        )

    head = "x: T.handle, y: T.handle"
    same = program("for i in range(2); for j in range((n + 1) // 2)")
    assert compare(same, same, head=head) is None
    other = program("for i in range(2); for j in range((n + 1) // 2); for u in range(1)")
    assert "block Y has an axis that is bound to no affine function of loops" in refusal(same, other, head=head)


def test_what_takes_too_much_work_to_compare_is_refused(monkeypatch, function) -> None:
    flow = value_flow(function(ALLOC + MATMUL + CONSUME))
    monkeypatch.setattr(isl_budget, "DEPENDENCES", 10)
    violation = compare_flows(flow, flow)
    assert violation is not None
    assert violation.message == "whether it computes the same takes too much to find out"
    assert violation.names == ("C", "D")
    monkeypatch.undo()
    assert compare_flows(flow, flow) is None


def test_what_takes_too_much_work_for_dead_executions_is_refused_as_without(monkeypatch, function, pairs) -> None:
    before, after = (function(LEGAL["a consumer that runs on parts of sums, and last on all"][n]) for n in (0, 1))
    flows = value_flow(before), value_flow(after)
    monkeypatch.setattr(isl_budget, "DEAD_EXECUTIONS", 10)
    violation = compare_flows(*flows, renamed=pairs(before, after))
    assert violation is not None
    assert violation.message.endswith("runs several times, and not always reads the same C[0, 0]")


SYMBOLIC = "a: T.handle, d: T.handle"
HEADER = 'n = T.int32()\nA = T.match_buffer(a, (n, n), "float32")\nD = T.match_buffer(d, (n, n), "float32")\n'


def test_sizes_may_be_symbols(compare) -> None:
    axes = "vi S n = i; vj S n = j"
    before = HEADER + nest("for i in range(n); for j in range(n)", "D", axes, "D[vi, vj] = A[vi, vj]")
    split = "vi S n = i0 * 4 + i1; vj S n = j"
    after = HEADER + nest(
        "for i0 in range((n + 3) // 4); for j in range(n); for i1 in range(4)",
        "D",
        split,
        "D[vi, vj] = A[vi, vj]",
        where="i0 * 4 + i1 < n",
    )
    assert compare(before, after, head=SYMBOLIC) is None


def test_an_example_names_a_size_that_it_needs(refusal) -> None:
    axes = "vi S n = i; vj S n = j"
    before = HEADER + nest("for i in range(n); for j in range(n)", "D", axes, "D[vi, vj] = A[vi, vj]")
    after = HEADER + nest("for i in range(n); for j in range(n - 1)", "D", axes, "D[vi, vj] = A[vi, vj]")
    reason = refusal(before, after, head=SYMBOLIC)
    assert reason == "D[0, 0] is left at the end, but block D at (vi=0, vj=0) no longer runs, for n = 1"


def test_a_part_of_the_program_is_compared_after_a_change_in_place(function, block, loop) -> None:
    func = function(nest(I_J, "D", VIJ, "if vi > 0 and vj < 7:", "    D[vi, vj] = D[vi - 1, vj + 1]"))
    outer, inner = loop(func, "i"), loop(func, "j")
    flow = value_flow(outer, [block(func, "D")])
    outer.variable.replace_all_uses_with(dummy := inner.variable)
    assert dummy is inner.variable
    assert compare_flows(flow, value_flow(outer, [block(func, "D")])) is not None


def test_iterations_of_a_loop_that_no_axis_names_are_told_apart_while_it_stays(function) -> None:
    func = function(
        inside("for t in range(3)", nest(I_J, "D", VIJ, "D[vi, vj] = D[vi, vj] * T.float32(3) + A[vi, vj]"))
    )
    assert compare_flows(value_flow(func), value_flow(func)) is None


def test_iterations_that_no_axis_names_are_not_told_apart_otherwise(refusal) -> None:
    text = inside("for t in range(3)", nest(I_J, "D", VIJ, "D[vi, vj] = D[vi, vj] * T.float32(3) + A[vi, vj]"))
    assert "block D at (vi=0, vj=0) runs several times" in refusal(text, text)


def test_a_violation_names_the_blocks_that_are_involved(function, pairs, block) -> None:
    before, after = function(ALLOC + PRODUCE + CONSUME), function(ALLOC + CONSUME + PRODUCE)
    violation = compare_flows(value_flow(before), value_flow(after), renamed=pairs(before, after))
    assert violation is not None
    assert violation.statements == (block(after, "D"), block(after, "C"))
    assert violation.names == ("D", "C")


def test_only_the_buffers_asked_for_are_looked_at(function) -> None:
    func = function(ALLOC + PRODUCE + CONSUME)
    buffer = next(op.buffer for op in func.walk() if isinstance(op, AllocBufferOp))
    assert list(value_flow(func, buffers=[buffer]).memories) == [buffer]


def test_only_statements_that_touch_these_buffers_are_looked_at(function, block) -> None:
    func = function(ALLOC + PRODUCE + CONSUME + nest(I_J, "E", VIJ, "A[vi, vj] = T.float32(1)"))
    flow = value_flow(func, buffers=[next(op.buffer for op in func.walk() if isinstance(op, AllocBufferOp))])
    assert list(flow.statements) == [op for op in func.walk() if isinstance(op, BlockOp)][:2]
    assert block(func, "E") not in flow.statements
