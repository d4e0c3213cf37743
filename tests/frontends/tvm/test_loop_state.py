"""States of schedules with steps: `tvm.auto_scheduler.loop_state`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError
from stepwell.frontends.tvm import auto_scheduler, te
from stepwell.frontends.tvm.auto_scheduler import measure_record
from stepwell.frontends.tvm.auto_scheduler.loop_state import State


def product(n: int = 64, m: int = 32, k: int = 16, has_relu: bool = False) -> tuple[Any, ...]:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    dag_tensors = [a, b, c]
    if has_relu:
        dag_tensors += [te.compute((n, m), lambda i, j: te.max(c[i, j], 0.0), name="D")]
    return (auto_scheduler.ComputeDAG([*dag_tensors[:2], dag_tensors[-1]]), *dag_tensors)


def extents(state: State, stage: Any) -> list[int | None]:
    return [each.extent for each in state[stage].iters]


def check_computes(dag: auto_scheduler.ComputeDAG, state: State, has_relu: bool = False) -> None:
    a, b = np.random.default_rng(0).integers(-4, 4, (2, 64, 64)).astype("float32")
    a, b = a[:, :16].copy(), b[:16, :32].copy()
    out = np.zeros((64, 32), "float32")
    tvm.build(*dag.apply_steps_from_state(state), "llvm")(a, b, out)
    np.testing.assert_array_equal(out, np.maximum(a @ b, 0) if has_relu else a @ b)


def test_loops_are_split_fused_reordered_and_annotated() -> None:
    dag, _, _, c = product()
    state = dag.get_init_state()
    i, j, k = state[c].iters
    assert [each.iter_kind for each in (i, j, k)] == [0, 0, 1]
    i_0, i_1, i_2 = state.split(c, i, [8, 2])
    assert [each.extent for each in (i_0, i_1, i_2)] == [4, 8, 2]
    j_0, j_1 = state.split(c, j, [8], False)
    assert [(each.name, each.extent) for each in (j_0, j_1)] == [("j.0", 8), ("j.1", 4)]
    state.reorder(c, [i_0, j_0, k, i_1, i_2, j_1])
    fused = state.fuse(c, [i_0, j_0])
    assert (fused.name, fused.extent) == ("i.0@j.0@", 32)
    assert state.parallel(c, fused) is state[c].iters[0]
    assert state.unroll(c, i_2, 1) is i_2
    assert state.unroll(c, i_2).annotation == State.ANNOTATION_TRANS_TABLE["unroll"]
    state.vectorize(c, j_1)
    state.pragma(c, state[c].iters[0], "auto_unroll_max_step$16")
    assert str(state) == (
        "Placeholder: A, B\nC auto_unroll: 16\nparallel i.0@j.0@ (0,32)\n  for k (0,16)\n    for i.1 (0,8)\n"
        "      unroll i.2 (0,2)\n        vectorize j.1 (0,4)\n          C = ...\n"
    )
    check_computes(dag, state)
    with pytest.raises(OptionError, match="loop i is none of its loops"):
        state.split(c, i, [2])
    with pytest.raises(OptionError, match="expected adjacent loops, outermost first"):
        state.fuse(c, [state[c].iters[0], state[c].iters[2]])
    with pytest.raises(OptionError, match=r"bind: 'warp', expected vthread, blockIdx\.x"):
        state.bind(c, state[c].iters[0], "warp")


def test_bounds_of_stages_in_loops_are_inferred() -> None:
    dag, _, _, c, d = product(has_relu=True)
    state = dag.get_init_state()
    outer, inner = state.split(d, state[d].iters[0], [4])
    state.compute_at(c, d, outer)
    assert state[c].compute_at == 2
    assert extents(state, c) == [None] * 3
    assert "  for i (None)\n" in str(state)
    found = dag.infer_bound_from_state(state)
    assert extents(found, c) == [4, 32, 16]
    assert extents(state, c) == [None] * 3
    state.bind(d, outer, "blockIdx.x")
    state.bind(d, inner, "threadIdx.x")
    assert extents(dag.infer_bound_from_state(state), c) == [4, 32, 16]
    state.compute_root(c)
    assert extents(dag.infer_bound_from_state(state), c) == [64, 32, 16]
    other = dag.get_init_state()
    other.compute_inline(1)
    assert other[1].compute_at == 1
    assert other != dag.get_init_state()


def test_a_loop_that_is_split_keeps_the_stages_in_it() -> None:
    dag, _, _, c, d = product(has_relu=True)
    state = dag.get_init_state()
    row, column = state[d].iters
    state.compute_at(c, d, row)
    inside = state.split(d, row, [8])[-1]
    assert state[c].place == (state[d], inside)
    fused = state.fuse(d, [*state[d].iters[:2]])
    assert state[c].place == (state[d], fused)
    assert extents(dag.infer_bound_from_state(state), c) == [1, 32, 16]
    assert column in state[d].iters
    check_computes(dag, state, has_relu=True)


def test_caches_are_stages() -> None:
    dag, a, b, c = product()
    state = dag.get_init_state()
    cache = state.cache_write(c, "local")
    assert [op.name for op in state.stage_ops] == ["A", "B", "C.local", "C"]
    outer, _ = state.split(c, state[c].iters[0], [8])
    state.compute_at(cache, c, outer)
    copy = state.cache_read(b, "shared", [cache])
    state.compute_at(copy, cache, state[cache].iters[2])
    found = dag.infer_bound_from_state(state)
    assert extents(found, cache) == [8, 32, 16]
    assert extents(found, copy) == [1, 1]
    assert extents(found, c) == [8, 8, 32]
    assert state[a].op_type == 0
    check_computes(dag, state)
    with pytest.raises(OptionError, match=r"no stage E, expected one of A, B, B\.shared, C\.local, C"):
        state[te.placeholder((1,), name="E")]


def test_a_reduction_in_two_steps() -> None:
    dag, _, _, c = product()
    state = dag.get_init_state()
    outer, _ = state.split(c, state[c].iters[2], [4])
    before = state.copy()
    partial = state.rfactor(c, outer, 2)
    assert extents(state, partial) == [64, 32, 4, 4]
    assert extents(state, c) == [64, 32, 4]
    assert extents(before, c) == [64, 32, 4, 4]
    check_computes(dag, state)


def test_splits_follow_splits() -> None:
    dag, _, _, c = product()
    state = dag.get_init_state()
    cache = state.cache_write(c, "local")
    state.split(c, state[c].iters[0], [4, 2, 2], True)
    first = len(state.transform_steps) - 1
    for level in range(1, 5):
        other = state.copy()
        other.follow_split(cache, other[cache].iters[0], first, level)
        assert extents(other, c)[:level] == extents(other, cache)[:level]
    state.split(c, state[c].iters[4], [2, 2, 2])
    second = len(state.transform_steps) - 1
    other = state.copy()
    parts = other.follow_fused_split(cache, other[cache].iters[0], [first, second], 1, True)
    assert [each.extent for each in parts] == [16, 4]
    with pytest.raises(OptionError, match="step 0 of the state, expected the number of a split"):
        state.follow_split(cache, state[cache].iters[0], 0, 1)


def test_lengths_may_be_unknown() -> None:
    dag, _, _, c = product()
    state = dag.get_init_state()
    parts = state.split(c, state[c].iters[0], [None, 4])
    assert [each.extent for each in parts] == [None, None, 4]
    with pytest.raises(OptionError, match="expected numbers"):
        dag.infer_bound_from_state(state)


def test_records_have_the_steps_of_states() -> None:
    dag, _, _, c = product()
    state = dag.get_init_state()
    cache = state.cache_write(c, "local")
    state.compute_at(cache, c, state.split(c, state[c].iters[0], [8])[0])
    task = auto_scheduler.SearchTask(compute_dag=dag, workload_key="test", target="llvm")
    inp = auto_scheduler.MeasureInput(task, state)
    line = measure_record.dump_record_to_string(inp, auto_scheduler.MeasureResult([0.1], 0, "", 0.2, 1))
    read, _ = measure_record.load_record_from_string(line)
    assert read.state == state
    assert dag.infer_bound_from_state(read.state) == dag.infer_bound_from_state(state)
    assert str(dag.infer_bound_from_state(read.state)) == str(dag.infer_bound_from_state(state))
    with pytest.raises(OptionError, match="a step on a state without stages"):
        read.state.compute_root(0)
    with pytest.raises(OptionError, match="step 'XX' of a schedule"):
        State([["XX", 0]], dag)
