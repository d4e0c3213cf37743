"""Dead instances may read any values; live instances must read the same values as before."""

import pytest

SUM = """
C = T.alloc_buffer((8, 8))
for {loops}:
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        vk = T.axis.reduce(8, {k})
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk]
"""
USE = """
with T.block("D"):
    vi, vj = T.axis.remap("SS", [i, j])
    {use}
"""
PLAIN = "D[vi, vj] = C[vi, vj] * T.float32(2)"


def text(loops: str = "i, j, k in T.grid(8, 8, 8)", *, k: str = "k", use: str = PLAIN, inside: int = 3) -> str:
    """A sum over k and its consumer, in the first `inside` loops of the sum, or in loops of its own."""
    body = USE.format(use=use)
    if inside == 0:
        body = "for i, j in T.grid(8, 8):\n" + indented(body, 1)
    else:
        body = indented(body, 1)
    return SUM.format(loops=loops, k=k) + body


def indented(lines: str, depth: int) -> str:
    return "\n".join("    " * depth + line for line in lines.splitlines())


APART = text(inside=0)


def test_the_last_run_of_a_consumer_has_to_be_right(compare) -> None:
    assert compare(APART, text()) is None


def test_it_is_right_in_any_order_of_the_contributions(compare) -> None:
    assert compare(APART, text(k="7 - k")) is not None  # the init comes last
    assert compare(APART, text("k, j, i in T.grid(8, 8, 8)")) is None


def test_what_follows_may_read_the_last_run(compare) -> None:
    after = """
for i, j in T.grid(8, 8):
    with T.block("E"):
        vi, vj = T.axis.remap("SS", [i, j])
        A[vi, vj] = D[vi, vj]
"""
    assert compare(APART + after, text() + after) is None


def test_a_run_before_the_last_contribution_is_refused(refusal) -> None:
    lines = text().splitlines()
    head, sums, use = lines[:3], lines[3:9], lines[9:]
    early = "\n".join([*head, *use, *sums])
    assert early.index('"D"') < early.index('"C"')
    assert "runs several times, and not always reads the same C[0, 0]" in refusal(APART, early)


def test_a_consumer_that_accumulates_is_refused(refusal) -> None:
    use = "D[vi, vj] = D[vi, vj] + C[vi, vj]"
    assert "runs several times" in refusal(text(use=use, inside=0), text(use=use))


def test_a_run_whose_values_are_read_is_refused(refusal) -> None:
    other = """
    with T.block("E"):
        vi, vj, vk = T.axis.remap("SSS", [i, j, k])
        B[vi, vj, vk] = D[vi, vj]
"""
    head = 'A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8, 8), "float32")'
    before = APART + "\nfor i, j, k in T.grid(8, 8, 8):" + other
    reason = refusal(before, text() + other, head=head)
    assert reason == "block D at (vi=0, vj=0) runs several times, and not always reads the same C[0, 0]"


def test_a_run_whose_values_only_dead_runs_read_is_dead(compare) -> None:
    other = """
    with T.block("E"):
        vi, vj = T.axis.remap("SS", [i, j])
        A[vi, 0] = D[vi, vj]
"""
    head = 'B: T.Buffer((8, 8), "float32"), A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32")'
    before = APART.replace("A[", "B[") + "\nfor i, j in T.grid(8, 8):" + other
    assert compare(before, text().replace("A[", "B[") + other, head=head) is None


CHAIN = """
with T.block("S_init"):
    vi = T.axis.spatial(8, i)
    S[vi, 0] = C[vi]
for s in range(STEPS):
    with T.block("S"):
        vi, vs = T.axis.remap("SS", [i, s])
        S[vi, vs + 1] = S[vi, vs] * T.float32(2)
with T.block("D"):
    vi = T.axis.spatial(8, i)
    D[vi, 0] = S[vi, STEPS]
"""


def chain(steps: int, *, apart: bool) -> str:
    """Row sums, and a chain of steps from the sum of a row: after the sum, or after each contribution to it."""
    head = f"""
C = T.alloc_buffer((8,))
S = T.alloc_buffer((8, {steps + 1}))
for i in range(8):
    for k in range(8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""
    return head + indented(CHAIN.replace("STEPS", str(steps)), 1 if apart else 2)


def test_the_last_run_of_a_chain_of_statements_has_to_be_right(compare) -> None:
    assert compare(chain(8, apart=True), chain(8, apart=False)) is None


def test_the_runs_of_a_chain_of_too_many_statements_count_as_live(refusal) -> None:
    assert "block S_init at (vi=0) runs several times" in refusal(chain(9, apart=True), chain(9, apart=False))


def test_a_last_run_that_is_not_the_complete_one_is_refused(refusal) -> None:
    # The last instance has restarted the sum.
    again = text("r, i, j, k in T.grid(2, 8, 8, 8)").replace(
        "        with T.init():",
        "        T.where(r == 0 or k < 3)\n        with T.init():",
    )
    assert "without what block C contributes at" in refusal(APART, again)


def test_a_dead_run_may_not_read_what_was_never_written(refusal) -> None:
    late = """
C = T.alloc_buffer((8, 8))
for r in range(2):
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""
    before = """
C = T.alloc_buffer((8, 8))
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj]
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = C[vi, vj] * T.float32(2)
"""
    assert "runs several times" in refusal(before, late)


INTEGERS = 'A: T.Buffer((8, 8), "int32"), D: T.Buffer((8, 8), "int32"), I: T.Buffer((8,), "int32")'
DELICATE = [
    "D[vi, vj] = 100 // C[vi, vj]",
    "D[vi, vj] = T.shift_left(1, C[vi, vj])",
    "D[vi, vj] = A[C[vi, vj], vj]",
    "D[vi, vj] = T.if_then_else(C[vi, vj] > 3, A[vi, vj], 0)",
]


@pytest.mark.parametrize("use", DELICATE)
def test_a_dead_run_may_not_do_what_some_values_forbid(use: str, compare) -> None:
    def integers(program: str) -> str:
        return program.replace("alloc_buffer((8, 8))", 'alloc_buffer((8, 8), "int32")').replace("T.float32(0)", "0")

    assert compare(integers(text(use=use, inside=0)), integers(text(use=use)), head=INTEGERS) is not None


def test_a_program_with_dead_runs_may_be_changed_further(compare) -> None:
    split = text("i, j, k0, k1 in T.grid(8, 8, 2, 4)", k="k0 * 4 + k1")
    assert compare(text(), split) is None


def test_what_dead_runs_read_need_not_be_preserved(compare) -> None:
    assert compare(text(), APART) is None
    assert compare(text(), text("k, j, i in T.grid(8, 8, 8)")) is None
