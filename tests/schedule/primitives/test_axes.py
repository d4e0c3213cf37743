"""add_unit_loop, reorder_block_iter_var."""

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

MATMUL = """
@T.prim_func
def main(A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    for i, j, k in T.grid(6, 4, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.where(i * 4 + j < 20)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SCALAR = """
@T.prim_func
def main(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
    with T.block("B"):
        B[()] = A[()] + T.float32(1)
"""


def test_a_unit_loop_stands_directly_around_a_block() -> None:
    text = body_text(apply_steps(MATMUL, "sch.add_unit_loop('C')"))
    assert text.startswith("for i, j, k, u in T.grid(6, 4, 5, 1):")
    assert "T.where(i * 4 + j < 20)" in text


def test_a_unit_loop_stands_directly_around_a_loop() -> None:
    text = body_text(apply_steps(MATMUL, "i, j, k = sch.get_loops('C')\nu = sch.add_unit_loop(j)\nsch.reorder(u, i)"))
    assert text.startswith("for u, i, j, k in T.grid(1, 6, 4, 5):")


def test_a_block_without_loops_gets_one() -> None:
    assert body_text(apply_steps(SCALAR, "sch.add_unit_loop('B')")).startswith("for u in range(1):\n")


def test_unit_loops_add_up() -> None:
    text = body_text(apply_steps(SCALAR, "u = sch.add_unit_loop('B')\nv = sch.add_unit_loop(u)\nsch.fuse(v, u)"))
    assert text.startswith("for u_u_fused in range(1):\n") or "_fused in range(1):" in text


def test_the_root_block_has_no_loop_around_it() -> None:
    assert "the root block is the body of the function" in str(refusal_of(SCALAR, "", "sch.add_unit_loop('root')"))


def test_axes_change_places() -> None:
    text = body_text(apply_steps(MATMUL, "sch.reorder_block_iter_var('C', [2, 0, 1])"))
    assert 'vk, vi, vj = T.axis.remap("RSS", [k, i, j])' in text
    assert "C[vi, vj] + A[vi, vk] * B[vk, vj]" in text


def test_domains_and_bindings_move_with_their_axis() -> None:
    text = MATMUL.replace(
        'vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
        "vi = T.axis.spatial((0, 6), i)\n"
        "            vj = T.axis.spatial(4, 3 - j)\n            vk = T.axis.reduce(5, k)",
    )
    out = body_text(apply_steps(text, "sch.reorder_block_iter_var('C', [1, 2, 0])"))
    assert "vj = T.axis.spatial(4, 3 - j)\n" in out
    assert out.index("vj =") < out.index("vk, vi =")


def test_axes_are_reordered_twice_and_loops_follow_nothing() -> None:
    steps = "sch.reorder_block_iter_var('C', [2, 0, 1])\nsch.reorder_block_iter_var('C', new_order=[1, 2, 0])"
    assert apply_steps(MATMUL, steps).script() == stepwell.parse_tvmscript(MATMUL).script()


@pytest.mark.parametrize("order", ["[0, 1]", "[0, 1, 1]", "[0, 1, 3]", "[0, 1, -1]", "[]"])
def test_an_order_that_is_no_permutation_is_refused(order: str) -> None:
    error = refusal_of(MATMUL, "", f"sch.reorder_block_iter_var('C', {order})")
    assert f"new_order {order}: expected each of the numbers below 3 once, one for each axis (vi, vj, vk)" in str(error)


def test_the_root_block_has_no_axes() -> None:
    sch = Schedule(stepwell.parse_tvmscript(MATMUL))
    sch.reorder_block_iter_var("root", [])
    assert "new_order [0]" in str(refusal_of(MATMUL, "", "sch.reorder_block_iter_var('root', [0])"))
