"""Thread reductions within a warp, and valid arguments of shuffles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.analysis.threads.reductions import WarpLanes, thread_reduction, warp_lanes_of
from stepwell.backends.oracle import run_oracle
from stepwell.core.errors import UnsupportedError
from stepwell.dialects.tir import BlockOp
from stepwell.frontends.tvmscript import parse_tvmscript

AXES = "xyz"


def lanes(extents: dict[str, int], reduced: str, also: str = "") -> WarpLanes:
    """The lanes of a reduction over thread axes `reduced` among the thread axes `extents`. also: other statements of
    the kernel."""
    loops, indent = "", " " * 8
    for axis in reversed(extents):
        loops += f'{indent}for t{axis} in T.thread_binding({extents[axis]}, thread="threadIdx.{axis}"):\n'
        indent += " " * 4
    rows = [axis for axis in extents if axis not in reduced]
    shape = "".join(f"{extents[axis]}, " for axis in rows)
    text = f"""
@T.prim_func
def main(A: T.Buffer(({shape}{", ".join(str(extents[axis]) for axis in reduced)}), "int32"), B: T.Buffer(({shape}), "int32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
{also}{loops}{indent}with T.block("B"):
"""  # noqa: E501
    names = [*rows, *reduced]
    for axis in names:
        kind = "reduce" if axis in reduced else "spatial"
        text += f"{indent}    v{axis} = T.axis.{kind}({extents[axis]}, t{axis})\n"
    place = ", ".join(f"v{axis}" for axis in rows) or "()"
    text += f"{indent}    with T.init():\n{indent}        B[{place}] = 0\n"
    text += f"{indent}    B[{place}] = B[{place}] + A[{', '.join(f'v{axis}' for axis in names)}]\n"
    module = parse_tvmscript(text)
    (block,) = [op for op in module.op.walk() if isinstance(op, BlockOp)]
    reduction = thread_reduction(block)
    assert reduction is not None
    return warp_lanes_of(reduction)


@pytest.mark.parametrize(
    ("extents", "reduced", "expected"),
    [
        ({"x": 256}, "x", WarpLanes(32, 1)),
        ({"x": 40}, "x", WarpLanes(32, 1)),
        ({"x": 5}, "x", WarpLanes(5, 1)),
        ({"x": 8, "y": 5}, "x", WarpLanes(8, 1)),  # several rows in a warp
        ({"x": 24, "y": 2}, "x", WarpLanes(8, 1)),  # the second row begins in the first warp
        ({"x": 5, "y": 2}, "x", WarpLanes(1, 1)),
        ({"x": 64, "y": 4}, "x", WarpLanes(32, 1)),
        ({"x": 8, "y": 32}, "y", WarpLanes(4, 8)),  # rows are next to each other
        ({"x": 4, "y": 8, "z": 3}, "y", WarpLanes(8, 4)),
        ({"x": 3, "y": 16}, "y", WarpLanes(1, 3)),
        ({"x": 3, "y": 10}, "y", WarpLanes(10, 3)),
        ({"x": 8, "y": 16}, "xy", WarpLanes(32, 1)),
        ({"x": 2, "y": 3, "z": 5}, "yz", WarpLanes(15, 2)),
        ({"x": 4, "y": 2, "z": 4}, "xz", WarpLanes(1, 1)),  # others lie between
        ({"x": 4, "y": 1, "z": 4}, "xz", WarpLanes(16, 1)),
    ],
)
def test_lanes_of_one_warp(extents: dict[str, int], reduced: str, expected: WarpLanes) -> None:
    assert lanes(extents, reduced) == expected


SIZES = st.integers(1, 9) | st.sampled_from([12, 16, 24, 32, 64])


@given(st.tuples(SIZES, SIZES, SIZES), st.sampled_from(["x", "y", "z", "xy", "yz", "xz", "xyz"]))
def test_threads_that_are_said_to_be_lanes_of_one_warp_are(sizes: tuple[int, int, int], reduced: str) -> None:
    extents = dict(zip(AXES, sizes, strict=True))
    if all(extents[axis] == 1 for axis in reduced):
        return
    found = lanes(extents, reduced)
    numbers = np.arange(np.prod(sizes)).reshape(sizes[::-1])  # a dimension for each of z, y, x
    kept = [n for n, axis in enumerate("zyx") if axis not in reduced]
    order = [*kept, *(n for n in range(3) if n not in kept)]
    teams = numbers.transpose(order).reshape(-1, int(np.prod([extents[axis] for axis in reduced])))
    for team in teams:
        for first in range(0, len(team), found.count):
            part = team[first : first + found.count]
            assert len(set(part // 32)) == 1
            assert (np.diff(part) == found.stride).all()


@pytest.mark.parametrize("extent", [16, 48])
def test_where_other_threads_are_in_the_block_nobody_knows_which_lanes(extent: int) -> None:
    """With more threads in the block, some threads do not reach the reduction."""
    indent = " " * 8
    loop = f'{indent}for t in T.thread_binding({extent}, thread="threadIdx.x"):'
    also = f"{loop}\n{indent}    if t < 1:\n{indent}        A[t] = 0\n"
    assert lanes({"x": 16}, "x", also) == (WarpLanes(16, 1) if extent == 16 else WarpLanes(1, 1))


# Arguments of shuffles


PROGRAM = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            {statement}
"""
CALL = "T.tvm_warp_shuffle_{mode}(T.tvm_warp_activemask(), {value}, {lane}, {width}, {size})"
RIGHT = {"mode": "down", "value": "A[t]", "lane": "3", "width": "8", "size": "32"}


def run(statement: str) -> np.ndarray:
    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run_oracle(parse_tvmscript(PROGRAM.format(statement=statement)), "main", [a, b])
    return b


def test_a_lane_that_is_not_in_the_group_is_ones_own() -> None:
    got = run("B[t] = " + CALL.format(**RIGHT))
    n = np.arange(64)
    np.testing.assert_array_equal(got, np.where(n % 8 < 5, n + 3, n))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"width": "24"}, "T.tvm_warp_shuffle_down: the width must be one of 1, 2, 4, 8, 16, 32, got 24"),
        ({"width": "t"}, "the width must be one of 1, 2, 4, 8, 16, 32, got a value that is not known"),
        ({"size": "64"}, "T.tvm_warp_shuffle_down: a warp has 32 lanes, got 64"),
    ],
)
def test_what_a_warp_cannot_do_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        run("B[t] = " + CALL.format(**{**RIGHT, **changed}))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("if t < 40:\n                B[t] = {call}", "where not all threads of the block come"),
        (
            "for s in T.thread_binding(32, thread='threadIdx.x'):\n                B[s] = {call}",
            "where not all threads",
        ),
        ("for n in range(t):\n                B[t] = {call}", "where not all threads of the block come"),
        ("for n in range(2):\n                B[t] = {call}", None),
    ],
)
def test_all_threads_come_to_a_shuffle(statement: str, message: str | None) -> None:
    text = statement.format(call=CALL.format(**RIGHT))
    if message is None:
        run(text)
        return
    with pytest.raises(UnsupportedError, match=message):
        run(text)


def test_fewer_threads_of_an_axis_are_named() -> None:
    program = (
        PROGRAM.format(statement="B[t] = " + CALL.format(**RIGHT))
        + """
        for t in T.thread_binding(96, thread="threadIdx.x"):
            if t < 64:
                B[t] = B[t] + 1.0
"""
    )
    with pytest.raises(UnsupportedError, match=r"not all threads of the block come \(fewer of threadIdx\.x\)"):
        run_oracle(parse_tvmscript(program), "main", [np.zeros(64, np.float32), np.zeros(64, np.float32)])


def test_values_with_names_are_exchanged() -> None:
    call = CALL.format(**{**RIGHT, "value": "x"})
    lines = ["x: T.float32 = A[t]", "A[t] = 0.0", f"y: T.float32 = {call}", "B[t] = y + x"]
    got = run(f"\n{' ' * 12}".join(lines))
    n = np.arange(64)
    np.testing.assert_array_equal(got, n + np.where(n % 8 < 5, n + 3, n))


def test_an_exchange_after_another_access_in_a_statement_is_refused() -> None:
    """With an allocation in between, a thread executes all following statements at once."""
    call = CALL.format(**{**RIGHT, "value": "B[t]"})
    text = f"p = T.allocate([1], 'float32', 'local')\n            B[t] = A[t]\n            B[t] = {call}"
    with pytest.raises(UnsupportedError, match=r"lanes exchange values behind tir\.\w+ in the same statement"):
        run(text)
