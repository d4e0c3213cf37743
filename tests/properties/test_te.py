"""Tensor expressions agree with numpy for random sizes and values: in native code, in the oracle, and as tensors before
any pass."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import build
from stepwell.frontends import te
from stepwell.tools.testing.te import CASES, TensorCase
from stepwell.tools.testing.te_expressions import TARGETS, RandomTensors, random_tensors, run_tensors

RUNNING = [case for case in CASES if case.runs and not case.tvm_refuses]


@st.composite
def sized_cases(draw: st.DrawFn) -> TensorCase:
    """A case of the corpus, with random sizes unless they are fixed."""
    case = draw(st.sampled_from(RUNNING))
    if case.fixed:
        return case
    sizes = {
        name: draw(st.integers(2, 9)) if isinstance(number, int) else number for name, number in case.sizes.items()
    }
    return replace(case, sizes=sizes)


@given(case=sized_cases(), seed=st.integers(0, 2**16), target=st.sampled_from(TARGETS))
@settings(max_examples=settings().max_examples * 5)
def test_expressions_compute_what_numpy_computes(case: TensorCase, seed: int, target: str) -> None:
    mod = te.create_te_func(case.build(te), case.index_dtype)
    inputs = case.inputs(te, seed)
    expected = case.reference_outputs(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    run_tensors(mod, target, *case.arguments(inputs, outputs))
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


@given(drawn=random_tensors())
@settings(max_examples=settings().max_examples * 2)
def test_all_agree_on_expressions_of_any_types_and_shapes(drawn: RandomTensors) -> None:
    first, *others = [drawn.run(target) for target in TARGETS]
    for output in others:
        np.testing.assert_array_equal(first, output)


@given(data=st.data(), seed=st.integers(0, 2**16), target=st.sampled_from(("python", "llvm")))
def test_ragged_reductions_in_any_order_of_loops_compute_what_numpy_computes(
    data: st.DataObject, seed: int, target: str
) -> None:
    rows, columns, width = (data.draw(st.integers(1, 5)) for _ in range(3))
    first, has_step = data.draw(st.booleans()), data.draw(st.booleans())
    starts = np.array(sorted(data.draw(st.lists(st.integers(0, 9), min_size=rows + 1, max_size=rows + 1))), "int32")
    values = np.random.default_rng(seed).integers(-9, 9, (columns, 9, width)).astype("float32")
    x, bounds = te.placeholder(values.shape, name="X"), te.placeholder(starts.shape, "int32", "starts")
    reduce, expected_of = data.draw(st.sampled_from(((te.sum, np.sum), (te.max, np.max))))
    start = 0 if reduce is te.sum else -(2.0**9)

    def total(*axes: Any) -> Any:
        row, i = axes if first else reversed(axes)
        k = te.reduce_axis((bounds[row], bounds[row + 1]), name="k")
        over = [k, te.reduce_axis((0, width), name="m")] if has_step else [k]
        return reduce(x[i, k, over[1] if has_step else 0], axis=over, init=start)

    result = te.compute((rows, columns) if first else (columns, rows), total, name="T")
    schedule = te.create_schedule(result.op)
    row, i = result.op.axis if first else reversed(result.op.axis)
    follows = data.draw(st.booleans())
    if follows:
        schedule[result].reorder(row, *result.op.reduce_axis, i)
    change = data.draw(st.sampled_from(("none", "split", "parallel", "cache_write")))
    if change == "split":
        schedule[result].split(row, data.draw(st.integers(1, 3)))
    elif change == "parallel":
        schedule[result].parallel(row)
    elif change == "cache_write" and not follows:
        schedule[schedule.cache_write(result, "local")].compute_at(schedule[result], row)
    out = np.zeros([int(extent.value) for extent in result.shape], "float32")
    build(te.apply_schedule(schedule, [x, bounds, result]).mod, target)["main"](values, starts, out)
    parts = [values[:, a:b, : width if has_step else 1] for a, b in pairwise(starts)]
    expected = np.stack([expected_of(part, (1, 2), initial=start) for part in parts])
    np.testing.assert_array_equal(out if first else out.T, expected)
