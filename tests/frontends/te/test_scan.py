"""Scans, compared with numpy loops over the rows, and the errors for invalid scans."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell import Module, Schedule, ScheduleError, UnsupportedError, build, parse_mlir, parse_tvmscript
from stepwell.frontends import te
from stepwell.frontends.te import TeError

Array = npt.NDArray[Any]
TARGETS = ("llvm", "python")
m, n = te.var("m"), te.var("n")


def values(*shape: int, dtype: str = "float32") -> Array:
    return (np.random.default_rng(sum(shape)).integers(-8, 9, shape) / 8).astype(dtype)


def check(
    args: Sequence[Any], inputs: Sequence[Array], expected: Sequence[Array], target: str, index: str | None = None
) -> None:
    """Asserts that the outputs, the last tensors of `args`, are equal to the expected arrays for the inputs."""
    mod = te.create_prim_func(args, index)
    mod.verify()
    outputs = [np.full_like(each, 77) for each in expected]
    build(mod, target=target)["main"](*inputs, *outputs)
    for output, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-6)


def sums(rows: Any, columns: Any, dtype: str = "float32") -> list[Any]:
    """The prefix sums of the rows."""
    X = te.placeholder((rows, columns), dtype, name="X")
    state = te.placeholder((rows, columns), dtype, name="state")
    init = te.compute((1, columns), lambda _, i: X[0, i], name="init")
    update = te.compute((rows, columns), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return [X, te.scan(init, update, state, inputs=[X], name="sums")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [None, "int64"])
def test_cumulative_sums(target: str, index: str | None) -> None:
    x = values(7, 5)
    check(sums(7, 5), [x], [np.cumsum(x, axis=0, dtype="float32")], target, index)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(7, 5), (2, 1), (1, 4), (0, 4), (3, 0)])
def test_cumulative_sums_of_any_size(target: str, shape: tuple[int, int]) -> None:
    x = values(*shape)
    for index in (None, "int64"):
        check(sums(m, n), [x], [np.cumsum(x, axis=0, dtype="float32")], target, index)


@pytest.mark.parametrize("target", TARGETS)
def test_a_scan_of_numbers_has_no_other_axes(target: str) -> None:
    state = te.placeholder((20,), "int64", name="F")
    init = te.compute((2,), lambda t: te.const(1, "int64"), name="init")
    update = te.compute((20,), lambda t: state[t - 1] + state[t - 2], name="update")
    expected = [1, 1]
    while len(expected) < 20:
        expected.append(expected[-1] + expected[-2])
    check([te.scan(init, update, state)], [], [np.array(expected)], target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 9])
def test_no_more_rows_than_there_are_of_an_init_of_several(target: str, rows: int) -> None:
    X = te.placeholder((m,), "int32", name="X")
    state = te.placeholder((m,), "int32", name="F")
    init = te.compute((2,), lambda t: t + 1, name="init")
    update = te.compute((m,), lambda t: state[t - 1] + state[t - 2] + X[t], name="update")
    x = np.arange(rows, dtype="int32")
    expected = [1, 2][:rows]
    while len(expected) < rows:
        expected.append(expected[-1] + expected[-2] + len(expected))
    memory = np.full(rows + 4, 77, "int32")
    build(te.create_prim_func([X, te.scan(init, update, state)]), target=target)["main"](x, memory[:rows])
    assert memory[:rows].tolist() == expected
    assert memory[rows:].tolist() == [77] * 4


@pytest.mark.parametrize("target", TARGETS)
def test_a_number_of_first_rows_that_is_found_out_when_it_runs(target: str) -> None:
    first = te.placeholder((n,), name="first")
    X = te.placeholder((m,), name="X")
    state = te.placeholder((m,), name="state")
    update = te.compute((m,), lambda t: state[t - 1] * 0.5 + X[t], name="update")
    for rows, total in ((1, 6), (3, 6), (6, 6), (7, 6)):
        start, x = values(rows) + 3, values(total)
        expected = np.zeros(total, "float32")
        expected[:rows] = start[:total]
        for t in range(rows, total):
            expected[t] = expected[t - 1] * np.float32(0.5) + x[t]
        check([first, X, te.scan(first, update, state)], [start, x], [expected], target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("hidden", [5, n])
def test_a_recurrent_cell_with_stages_for_each_time(target: str, hidden: Any) -> None:
    steps = m if hidden is n else 6
    X = te.placeholder((steps, hidden), name="X")
    W = te.placeholder((hidden, hidden), name="W")
    first = te.placeholder((1, hidden), name="first")
    state = te.placeholder((steps, hidden), name="h")
    k = te.reduce_axis((0, hidden), "k")
    twice = te.compute((steps, hidden), lambda t, i: X[t, i] * 2.0, name="twice")
    product = te.compute((steps, hidden), lambda t, i: te.sum(state[t - 1, k] * W[i, k], axis=k), name="product")
    added = te.compute((steps, hidden), lambda t, i: product[t, i] + twice[t, i], name="added")
    update = te.compute((steps, hidden), lambda t, i: te.tanh(added[t, i]), name="update")
    x, w, h = values(6, 5), values(5, 5), values(1, 5)
    expected = np.concatenate([h, np.zeros((5, 5), "float32")])
    for t in range(1, 6):
        expected[t] = np.tanh(w @ expected[t - 1] + 2 * x[t])
    check([X, W, first, te.scan(first, update, state, inputs=[X, W])], [x, w, h], [expected], target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_reduction_of_the_row_before(target: str) -> None:
    W = te.placeholder((4, 4), name="W")
    state = te.placeholder((6, 4), name="p")
    k = te.reduce_axis((0, 4), "k")
    init = te.compute((1, 4), lambda _, i: te.sum(W[i, k], axis=k), name="init")
    update = te.compute((6, 4), lambda t, i: te.sum(state[t - 1, k] * W[i, k], axis=k, where=k != 2), name="update")
    w = values(4, 4)
    expected = [w.sum(axis=1)]
    for _ in range(5):
        expected.append(w[:, [0, 1, 3]] @ expected[-1][[0, 1, 3]])
    check([W, te.scan(init, update, state)], [w], [np.array(expected)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_several_states_of_different_shapes(target: str) -> None:
    X = te.placeholder((6, 3), name="X")
    total, count = te.placeholder((6, 3), name="total"), te.placeholder((6,), "int32", name="count")
    inits = [te.compute((1, 3), lambda _, i: X[0, i]), te.compute((1,), lambda _: te.const(0, "int32"))]
    more = te.compute((6,), lambda t: count[t - 1] + te.if_then_else(X[t, 0] > 0.0, 1, 0), name="more")
    added = te.compute((6, 3), lambda t, i: total[t - 1, i] + X[t, i] * more[t].astype("float32"), name="added")
    totals, counts = te.scan(inits, [added, more], [total, count])
    x = values(6, 3)
    wanted_totals, wanted_counts = x.copy(), np.zeros(6, "int32")
    for t in range(1, 6):
        wanted_counts[t] = wanted_counts[t - 1] + (x[t, 0] > 0)
        wanted_totals[t] = wanted_totals[t - 1] + x[t] * wanted_counts[t]
    check([X, totals, counts], [x], [wanted_totals, wanted_counts], target)


def lstm(steps: Any, hidden: int) -> list[Any]:
    """A long short-term memory: its cell state and its output."""
    X = te.placeholder((steps, 4, hidden), name="X")
    W = te.placeholder((4, hidden, hidden), name="W")
    cell, out = te.placeholder((steps, hidden), name="cell"), te.placeholder((steps, hidden), name="out")
    start = te.compute((1, hidden), lambda _, i: te.const(0.0), name="start")
    k = te.reduce_axis((0, hidden), "k")
    shape = (steps, 4, hidden)
    product = te.compute(shape, lambda t, g, i: te.sum(out[t - 1, k] * W[g, i, k], axis=k), name="product")
    gates = te.compute(shape, lambda t, g, i: product[t, g, i] + X[t, g, i], name="gates")
    kept = te.compute(
        (steps, hidden),
        lambda t, i: te.sigmoid(gates[t, 0, i]) * cell[t - 1, i] + te.sigmoid(gates[t, 1, i]) * te.tanh(gates[t, 2, i]),
        name="kept",
    )
    given = te.compute((steps, hidden), lambda t, i: te.sigmoid(gates[t, 3, i]) * te.tanh(kept[t, i]), name="given")
    return [X, W, *te.scan([start, start], [kept, given], [cell, out], inputs=[X, W], name="lstm")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("steps", [5, m])
def test_a_long_short_term_memory(target: str, steps: Any) -> None:
    x, w = values(5, 4, 3), values(4, 3, 3)
    cells, outs = np.zeros((5, 3), "float32"), np.zeros((5, 3), "float32")
    for t in range(1, 5):
        gates = w @ outs[t - 1] + x[t]
        forget, let_in, let_out = (1 / (1 + np.exp(-gates[g])) for g in (0, 1, 3))
        cells[t] = forget * cells[t - 1] + let_in * np.tanh(gates[2])
        outs[t] = let_out * np.tanh(cells[t])
    check(lstm(steps, 3), [x, w], [cells, outs], target)


@pytest.mark.parametrize("target", TARGETS)
def test_both_tensors_of_one_update(target: str) -> None:
    a, b = te.placeholder((6,), "int32", name="a"), te.placeholder((6,), "int32", name="b")
    inits = te.compute((1,), lambda t: (te.const(1, "int32"), te.const(5, "int32")), name="init")
    updates = te.compute((6,), lambda t: (b[t - 1] + 1, a[t - 1] * 2), name="update")
    first, second = [1], [5]
    for _ in range(5):
        first, second = [*first, second[-1] + 1], [*second, first[-1] * 2]
    check(te.scan(inits, updates, [a, b]), [], [np.array(each, "int32") for each in (first, second)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_both_tensors_of_one_reduction_that_reads_them(target: str) -> None:
    W = te.placeholder((3,), "int32", name="W")
    most, place = te.placeholder((5,), "int32", name="most"), te.placeholder((5,), "int32", name="place")
    k = te.reduce_axis((0, 3), "k")
    argmax = te.comm_reducer(
        lambda x, y: (te.Select(x[0] >= y[0], x[0], y[0]), te.Select(x[0] >= y[0], x[1], y[1])),
        lambda a, b: (te.min_value(a), te.const(-1, b)),
        name="argmax",
    )
    updates = te.compute((5,), lambda t: argmax((W[(k + place[t - 1]) % 3] + most[t - 1], k), axis=k), name="update")
    inits = [te.compute((1,), lambda t: W[0]), te.compute((1,), lambda t: te.const(2, "int32"))]
    w = np.array([3, 1, 2], "int32")
    a, b = [3], [2]
    for _ in range(4):
        row = [w[(j + b[-1]) % 3] + a[-1] for j in range(3)]
        a, b = [*a, max(row)], [*b, int(np.argmax(row))]
    check([W, *te.scan(inits, updates, [most, place])], [w], [np.array(each, "int32") for each in (a, b)], target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_stage_of_another_time(target: str) -> None:
    X = te.placeholder((8,), name="X")
    state = te.placeholder((8,), name="state")
    half = te.compute((7,), lambda t: state[t] * 0.5 + X[t], name="half")
    update = te.compute((8,), lambda t: half[t - 1] + X[t] - half[t - 2], name="update")
    init = te.compute((2,), lambda t: X[t])
    x = values(8)
    expected = x.copy()
    for t in range(2, 8):
        expected[t] = expected[t - 1] * 0.5 + x[t - 1] + x[t] - (expected[t - 2] * 0.5 + x[t - 2])
    check([X, te.scan(init, update, state)], [x], [expected], target)


@pytest.mark.parametrize("target", TARGETS)
def test_what_follows_a_scan_reads_it_and_one_starts_where_another_ends(target: str) -> None:
    X, first = sums(6, 3)
    state = te.placeholder((9, 3), name="state")
    update = te.compute((9, 3), lambda t, i: state[t - 6, i] + first[t - 6, i], name="update")
    second = te.scan(first, update, state, name="second")
    total = te.compute((9, 3), lambda i, j: second[i, j] * 2.0, name="total")
    x = values(6, 3)
    once = np.cumsum(x, axis=0, dtype="float32")
    check([X, total], [x], [2 * np.concatenate([once, 2 * once[:3]])], target)
    check([X, total, second, first], [x], [2 * (all := np.concatenate([once, 2 * once[:3]])), all, once], target)


@pytest.mark.parametrize("target", TARGETS)
def test_first_rows_that_are_results_too(target: str) -> None:
    X = te.placeholder((4,), name="X")
    state = te.placeholder((4,), name="state")
    init = te.compute((1,), lambda _: X[0] + 1.0, name="init")
    update = te.compute((4,), lambda t: state[t - 1] + X[t], name="update")
    x = values(4)
    expected = np.cumsum(x, dtype="float32") + 1
    check([X, init, te.scan(init, update, state)], [x], [expected[:1], expected.astype("float32")], target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_time_that_a_condition_keeps_from_being_read(target: str) -> None:
    state = te.placeholder((8,), "int32", name="state")
    init = te.compute((1,), lambda t: te.const(1, "int32"))
    update = te.compute((8,), lambda t: state[t - 1] + te.if_then_else(t >= 3, state[t - 3], 0), name="update")
    expected = [1]
    for t in range(1, 8):
        expected.append(expected[-1] + (expected[t - 3] if t >= 3 else 0))
    check([te.scan(init, update, state)], [], [np.array(expected, "int32")], target)


def test_the_program_has_a_loop_over_time_around_the_blocks_of_a_row() -> None:
    args = sums(4, 3)
    wanted = """
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), sums: T.Buffer((4, 3), "float32")):
    T.func_attr({"tir.noalias": True})
    for _, i in T.grid(1, 3):
        with T.block("init"):
            v__, v_i = T.axis.remap("SS", [_, i])
            sums[v__, v_i] = X[0, v_i]
    for t in range(1, 4):
        for i in range(3):
            with T.block("update"):
                v_t = T.axis.scan((1, 4), t)
                v_i = T.axis.spatial(3, i)
                sums[v_t, v_i] = sums[v_t - 1, v_i] + X[v_t, v_i]
"""
    assert te.create_prim_func(args).script() == parse_tvmscript(wanted).script()


@pytest.mark.parametrize("make", [lambda: sums(m, n), lambda: lstm(m, 3), lambda: sums(4, 3)])
@pytest.mark.parametrize("index", [None, "int64"])
def test_scans_print_and_parse(make: Callable[[], list[Any]], index: str | None) -> None:
    tensors, program = te.create_te_func(make(), index), te.create_prim_func(make(), index)
    tensors.verify()
    assert str(parse_mlir(str(tensors))) == str(tensors)
    assert parse_tvmscript(program.script()).script() == program.script()


def test_annotations_are_of_the_loop_over_time() -> None:
    state = te.placeholder((4,), name="state")
    init, update = te.compute((1,), lambda t: te.const(0.0)), te.compute((4,), lambda t: state[t - 1] + 1.0)
    mod = te.create_prim_func([te.scan(init, update, state, tag="counting", attrs={"why": 3})])
    assert 'annotations={"why": 3}' in mod.script()


def scheduled() -> tuple[Schedule, Module]:
    mod = te.create_prim_func(sums(6, 4))
    return Schedule(mod), mod


def test_a_schedule_may_do_columns_in_any_order_but_not_times() -> None:
    sch, mod = scheduled()
    time, column = sch.get_loops("update")
    with pytest.raises(ScheduleError):
        sch.parallel(time)
    sch.parallel(column)
    sch.reorder(column, time)
    x = values(6, 4)
    for each in (mod, sch.mod):
        out = np.zeros_like(x)
        build(each)["main"](x, out)
        np.testing.assert_allclose(out, np.cumsum(x, axis=0), rtol=1e-6)


# Mistakes

S = te.placeholder((8, 4), name="S")
X = te.placeholder((8, 4), name="X")
Z = te.placeholder((8, 4), name="Z")
OTHER = te.placeholder((4, 4), name="OTHER")
V = te.placeholder((4, 8), name="V")
INIT = te.compute((1, 4), lambda t, i: X[t, i], name="I")
GOOD = te.compute((8, 4), lambda t, i: S[t - 1, i], name="U")


def updated(fcompute: Callable[..., object], init: Any = INIT) -> Any:
    return te.scan(init, te.compute((8, 4), fcompute, name="U"), S)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "no state": (lambda: te.scan([], [], []), "scan scan: 0 init, 0 update, 0 state, expected the same number of each"),
    "an init too many": (lambda: te.scan([INIT, INIT], [GOOD], [S]), "2 init, 1 update, 1 state, expected the same"),
    "an init that is no tensor": (lambda: te.scan(3, GOOD, S), "init is 3, expected a tensor"),  # pyright: ignore[reportArgumentType]
    "an input that is no tensor": (
        lambda: te.scan(INIT, GOOD, S, inputs=["X"]),  # pyright: ignore[reportArgumentType]
        "inputs is 'X', expected a tensor",
    ),
    "a state that is computed": (lambda: te.scan(INIT, GOOD, GOOD), "state U, expected what te.placeholder gives"),
    "an update that is given": (lambda: te.scan(INIT, X, S), "update X, expected what te.compute gives"),
    "a state given twice": (lambda: te.scan([INIT] * 2, [GOOD] * 2, [S] * 2), "state S is given twice"),
    "an update given twice": (lambda: te.scan([INIT] * 2, [GOOD] * 2, [S, X]), "update U is given twice"),
    "an init of the state": (
        lambda: te.scan(te.compute((1, 4), lambda t, i: S[t, i]), GOOD, S),
        "init is computed from state S",
    ),
    "an init of another type": (
        lambda: te.scan(te.compute((1, 4), lambda t, i: i), GOOD, S),
        "init of type int32, expected float32 as the state",
    ),
    "an init of another rank": (
        lambda: te.scan(te.compute((4,), lambda i: X[0, i]), GOOD, S),
        "init of 1 dimensions, expected 2 as the state",
    ),
    "an init of another extent": (
        lambda: te.scan(te.compute((1, 3), lambda t, i: X[0, i]), GOOD, S),
        "extent 3 of dimension 1 of init, expected 4 as of the state",
    ),
    "an update of fewer times": (
        lambda: te.scan(INIT, te.compute((7, 4), lambda t, i: S[t - 1, i]), S),
        "extent 7 of dimension 0 of update, expected 8 as of the state",
    ),
    "more first rows than rows": (
        lambda: te.scan(te.compute((9, 4), lambda t, i: X[0, i]), GOOD, S),
        "init of 9 rows, expected 1 to 8",
    ),
    "no first row": (lambda: te.scan(te.compute((0, 4), lambda t, i: X[0, i]), GOOD, S), "init of 0 rows, expected 1"),
    "a state without time": (
        lambda: te.scan(te.compute((), lambda: 0.0), te.compute((), lambda: 0.0), te.placeholder((), name="N")),
        "state N without dimensions, expected time as the first",
    ),
    "states of different times": (
        lambda: te.scan(
            [INIT, te.compute((2, 4), lambda t, i: X[t, i])], [GOOD, te.compute((8, 4), lambda t, i: X[t, i])], [S, Z]
        ),
        "inits or states of different extents of time",
    ),
    "the row itself": (
        lambda: updated(lambda t, i: S[t, i]),
        "U reads S[t, i], expected a time before that of the row",
    ),
    "a row before the first": (
        lambda: updated(lambda t, i: S[t - 2, i]),
        "U reads S[t - 2, i], before the 1 rows of init",
    ),
    "a stage of no time": (
        lambda: updated(lambda t, i: te.compute((4,), lambda j: S[0, j], name="Q")[i]),
        "U reads Q[i], which is computed from the state: expected its first index to be the time",
    ),
    "a stage whose time is not first": (
        lambda: updated(lambda t, i: te.compute((4, 8), lambda j, u: S[u - 1, j], name="Q")[i, t]),
        "U reads Q[i, t], which is computed from the state",
    ),
    "a stage without rows for the last times": (
        lambda: updated(lambda t, i: te.compute((7, 4), lambda u, j: S[u - 1, j], name="Q")[t, i]),
        "U reads Q[t, i] at a time of which it has no row",
    ),
    "a stage of a time to come": (
        lambda: updated(lambda t, i: te.compute((9, 4), lambda u, j: S[u - 1, j], name="Q")[t + 1, i]),
        "Q reads S[u - 1, j], expected a time before",
    ),
    "a scan of a state": (
        lambda: updated(
            lambda t, i: te.scan(
                te.compute((1, 4), lambda u, j: S[u, j]),
                te.compute((4, 4), lambda u, j: V[u, j]),
                te.placeholder((4, 4)),
            )[i, 0]
        ),
        "scan is computed from the state, and is no te.compute",
    ),
    "a state that is read elsewhere": (lambda: te.create_prim_func([X, GOOD]), "tensor S is read, and is no argument"),
    "something odd about the loop": (
        lambda: te.create_prim_func([X, te.scan(INIT, GOOD, S, attrs={"x": object()})]),
        "attrs of scan: ",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_an_error_that_says_what_was_expected(mistake: str) -> None:
    make, message = WRONG[mistake]
    with pytest.raises(TeError, match=re.escape(message)):
        make()


def test_an_error_starts_with_the_line_of_the_user() -> None:
    frame: dict[str, Any] = {"te": te, "INIT": INIT, "S": S, "X": X, "__name__": "user"}
    exec(compile("def f():\n    te.scan(INIT, X, S)\n", "user.py", "exec"), frame)
    with pytest.raises(TeError, match=r"^user\.py:2: error: scan scan: update X"):
        frame["f"]()


# Schedules of the computes of one time step


def two_stages() -> tuple[te.Tensor, Any, Any, te.Tensor]:
    """A scan of two computes: X, the first compute, the second, and the scan."""
    x = te.placeholder((5, 10), name="X")
    state = te.placeholder((5, 10))
    init = te.compute((1, 10), lambda _, i: x[0, i], name="init")
    first = te.compute((5, 10), lambda t, i: state[t - 1, i] * 2.0, name="first")
    second = te.compute((5, 10), lambda t, i: first[t, i] + x[t, i], name="second")
    return x, first, second, te.scan(init, second, state, inputs=[x])


def doubled_sums(x: Array) -> Array:
    rows = [x[0]]
    for row in x[1:]:
        rows.append(rows[-1] * 2 + row)
    return np.stack(rows)


def test_computes_of_a_scan_have_stages() -> None:
    x, first, second, scan = two_stages()
    s = te.create_schedule(scan.op)
    outer, inner = s[second].split(second.op.axis[1], factor=4)
    s[second].vectorize(inner)
    s[first].compute_at(s[second], outer)
    sch = te.apply_schedule(s, [x, scan])
    assert "for i_inner in T.vectorized(4):" in sch.mod.script()
    a = np.arange(50, dtype="float32").reshape(5, 10)
    result = np.zeros_like(a)
    build(sch.mod)(a, result)
    np.testing.assert_array_equal(result, doubled_sums(a))


def test_a_compute_of_a_scan_is_inlined() -> None:
    x, first, _, scan = two_stages()
    s = te.create_schedule(scan.op)
    s[first].compute_inline()
    sch = te.apply_schedule(s, [x, scan])
    assert "first" not in sch.mod.script()
    a = np.arange(50, dtype="float32").reshape(5, 10)
    result = np.zeros_like(a)
    build(sch.mod)(a, result)
    np.testing.assert_array_equal(result, doubled_sums(a))


def test_the_time_is_no_loop_of_a_stage_in_a_scan() -> None:
    _, _, second, scan = two_stages()
    s = te.create_schedule(scan.op)
    with pytest.raises(TeError, match="axis t is none of the axes of stage second"):
        s[second].split(second.op.axis[0], factor=2)
    with pytest.raises(TeError, match=r"storage_align: axis t, expected one of op\.axis"):
        s[second].storage_align(second.op.axis[0], 8, 0)


def products() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """A scan of products: the weight, the state, the product, and the scan."""
    weight, state = te.placeholder((8, 8), name="W"), te.placeholder((5, 8), name="S")
    k = te.reduce_axis((0, 8), "k")
    init = te.compute((1, 8), lambda _, i: 1.0, name="init")
    product = te.compute((5, 8), lambda t, i: te.sum(state[t - 1, k] * weight[i, k], axis=k), name="product")
    return weight, state, product, te.scan(init, product, state)


def check_products(s: te.Schedule, weight: te.Tensor, scan: te.Tensor, target: str = "llvm") -> str:
    """Asserts the results of a schedule; returns the program."""
    w = values(8, 8)
    rows = [np.ones(8, "float32")]
    for _ in range(4):
        rows.append(w @ rows[-1])
    sch, result = te.apply_schedule(s, [weight, scan]), np.zeros((5, 8), "float32")
    build(sch.mod, target)(w, result)
    np.testing.assert_allclose(result, rows, rtol=1e-5, atol=1e-6)
    return sch.mod.script()


def test_states_and_computes_of_a_scan_have_caches() -> None:
    weight, state, product, scan = products()
    s = te.create_schedule(scan.op)
    shared = s.cache_read(state, "global", [product])
    local = s.cache_read(shared, "local", [product])
    weights = s.cache_read(weight, "local", [product])
    written = s.cache_write(product, "local")
    k_o, _ = s[written].split(written.op.reduce_axis[0], nparts=2)
    partial = s.rfactor(written, k_o)
    s[written].compute_at(s[product], product.op.axis[1])  # pyright: ignore[reportAttributeAccessIssue]
    s[partial].compute_at(s[written], s[written].op.reduce_axis[0])
    s[weights].compute_at(s[partial], partial.op.axis[2])
    s[local].compute_at(s[partial], partial.op.axis[2])
    s[shared].vectorize(shared.op.axis[1])  # pyright: ignore[reportAttributeAccessIssue]
    text = check_products(s, weight, scan)
    for name in ("S_global", "S_global_local", "W_local", "product_local_rf"):
        assert f'T.block("{name}' in text


def test_weights_of_a_scan_are_read_by_its_threads() -> None:
    weight, state, product, scan = products()
    s = te.create_schedule(scan.op)
    blocks, threads = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    s[scan].env_threads([blocks, threads])
    shared, weights = s.cache_read(state, "shared", [product]), s.cache_read(weight, "local", [product])
    outer, inner = s[product].split(product.op.axis[1], factor=4)  # pyright: ignore[reportAttributeAccessIssue]
    s[product].bind(outer, blocks)
    s[product].bind(inner, threads)
    s[weights].compute_at(s[scan], threads)
    s[shared].compute_at(s[product], outer)
    each, _ = s[shared].split(shared.op.axis[1], nparts=4)  # pyright: ignore[reportAttributeAccessIssue]
    s[shared].bind(each, threads)
    s[scan.op.init[0]].bind(scan.op.init[0].op.axis[1], threads)  # pyright: ignore[reportAttributeAccessIssue]
    text = check_products(s, weight, scan, "python")
    assert text.index('thread="threadIdx.x"') < text.index('T.block("W_local')


def test_a_cache_of_several_rows_is_an_error() -> None:
    state = te.placeholder((5, 8), name="S")
    init = te.compute((2, 8), lambda _, i: 1.0, name="init")
    update = te.compute((5, 8), lambda t, i: state[t - 1, i] + state[t - 2, i], name="update")
    scan = te.scan(init, update, state)
    s = te.create_schedule(scan.op)
    s.cache_read(state, "local", [update])
    with pytest.raises(UnsupportedError, match=r"stage S\.local of scan scan: one time step reads several rows of it"):
        te.apply_schedule(s, [scan])
