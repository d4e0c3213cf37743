"""Hybrid functions: `te.hybrid.script`, on tensors and on arrays."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.te import TeError
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.te import hybrid

RNG = np.random.default_rng(0)

# The names that hybrid functions use have a meaning in them only.
# pyright: reportUndefinedVariable=false
# ruff: noqa: F821


@hybrid.script
def outer_product(a: Any, b: Any) -> Any:
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c


@hybrid.script
def prefix_sums(a: Any) -> Any:
    total = output_tensor((len(a),), "float32")
    odd = output_tensor((len(a),), "float32")
    sum_so_far = 0.0
    for i in range(len(a)):
        sum_so_far = sum_so_far + a[i]
        total[i] = sum_so_far
        if i % 2 == 1 and a[i] > 0.0:
            odd[i] = a[i]
        else:
            odd[i] = max(-a[i], 0.25)
    return total, odd


@hybrid.script
def blur(a: Any, width: int) -> Any:
    b = output_tensor((a.shape[0], a.shape[1]), "float32")
    row = allocate((a.shape[1],), "float32", "local")
    for i in parallel(a.shape[0]):
        for j in vectorize(a.shape[1]):
            row[j] = a[i][j] * 2.0
        for j in range(a.shape[1]):
            b[i, j] = row[j]
            for k in const_range(1, width):
                b[i, j] += row[j - k] if j >= k else 0.0
    return b


@hybrid.script
def doubled_by_threads(a: Any) -> Any:
    b = output_tensor((a.shape[0],), a.dtype)
    for i in bind("threadIdx.x", a.shape[0]):
        b[i] = a[i] + a[i]
    return b


def run(inputs: list[Any], outputs: Any, *arrays: Any, target: str = "llvm") -> list[Any]:
    """The elements of the outputs."""
    tensors = outputs if isinstance(outputs, list) else [outputs]
    results = [np.zeros([int(extent) for extent in t.shape], t.dtype) for t in tensors]
    tvm.build(te.create_schedule(tensors[0].op), [*inputs, *tensors], target)(*arrays, *results)
    return results


def test_loops_over_elements() -> None:
    a, b = te.placeholder((5,), name="a"), te.placeholder((7,), name="b")
    x, y = RNG.standard_normal(5).astype("float32"), RNG.standard_normal(7).astype("float32")
    expected = np.outer(x, y)
    np.testing.assert_allclose(run([a, b], outer_product(a, b), x, y)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(outer_product(x, y), expected, rtol=1e-6)


def test_a_tensor_of_a_hybrid_function_is_read_by_others() -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="a"), te.placeholder((n,), name="b")
    c = outer_product(a, b)
    d = te.compute(c.shape, lambda i, j: c[i, j] + 1.0, name="d")
    x, result = RNG.standard_normal(6).astype("float32"), np.zeros((6, 6), "float32")
    tvm.build(te.create_schedule(d.op), [a, b, d])(x, x, result)
    np.testing.assert_allclose(result, np.outer(x, x) + 1, rtol=1e-6)


def test_variables_and_branches() -> None:
    a = te.placeholder((9,), name="a")
    x = RNG.standard_normal(9).astype("float32")
    odd = np.where((np.arange(9) % 2 == 1) & (x > 0), x, np.maximum(-x, 0.25))
    for results in (run([a], prefix_sums(a), x), prefix_sums(x)):
        np.testing.assert_allclose(results[0], np.cumsum(x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(results[1], odd, rtol=1e-6)


@pytest.mark.parametrize("width", [1, 3])
def test_memory_and_unrolled_loops(width: int) -> None:
    a = te.placeholder((4, 8), name="a")
    x = RNG.standard_normal((4, 8)).astype("float32")
    expected = 2 * sum(np.pad(x, ((0, 0), (k, 0)))[:, :8] for k in range(width))
    np.testing.assert_allclose(run([a], blur(a, width), x)[0], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(blur(x, width), expected, rtol=1e-5, atol=1e-6)


def test_threads() -> None:
    a = te.placeholder((16,), name="a")
    x = RNG.standard_normal(16).astype("float32")
    np.testing.assert_array_equal(run([a], doubled_by_threads(a), x, target="cuda-emulated")[0], x + x)
    np.testing.assert_array_equal(doubled_by_threads(x), x + x)


@hybrid.script
def without_return(a: Any) -> Any:
    b = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        b[i] = a[i]


@hybrid.script
def with_unknown_name(a: Any) -> Any:
    b = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        b[i] = unknown
    return b


@hybrid.script
def with_rounding(a: Any) -> Any:
    b = output_tensor((a.shape[0],), a.dtype)
    total = 0
    for i in range(a.shape[0]):
        total += a[i]
        b[i] = total
    return b


@hybrid.script
def with_while(a: Any) -> Any:
    while True:
        pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (without_return, "without_return: no return of its output tensors"),
        (
            with_unknown_name,
            r"test_hybrid.py:\d+: hybrid function with_unknown_name: name .unknown. is not defined",
        ),
        (with_rounding, "a value of float32 for total of int32"),
        (with_while, "While, expected loops, branches and assignments"),
    ],
)
def test_errors_have_the_line(function: Any, message: str) -> None:
    with pytest.raises(TeError, match=message):
        function(te.placeholder((4,), name="a"))


def test_other_arguments_are_refused() -> None:
    with pytest.raises(TeError, match="expected tensors or arrays, got str"):
        outer_product("a")
    with pytest.raises(TeError, match="1 arguments, expected 2"):
        outer_product(te.placeholder((4,), name="a"))


def test_a_nest_that_stores_each_element_has_axes() -> None:
    a, b = te.placeholder((9,), name="a"), te.placeholder((8,), name="b")
    c = outer_product(a, b)
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    assert [i.var.name, j.var.name] == ["i", "j"]
    s[c].vectorize(s[c].split(j, 4)[1])
    x, y, z = RNG.random(9, np.float32), RNG.random(8, np.float32), np.zeros((9, 8), "float32")
    tvm.build(s, [a, b, c], "llvm")(x, y, z)
    np.testing.assert_array_equal(z, np.outer(x, y))


@hybrid.script
def guarded_sum(inputs: Any, weights: Any) -> Any:
    out = output_tensor((inputs[0].shape[0],), "float32")
    count = len(inputs)
    for i in range(inputs[0].shape[0]):
        assert i < inputs[0].shape[0], "index out of range"
        out[i] = 0.0
        for j in const_range(count):
            out[i] += inputs[j][i] * float32(weights[0, j])
    return out


def test_elements_of_lists_assertions_and_constants_of_one_assignment() -> None:
    tensors = [te.placeholder((6,), "float32", name=f"t{n}") for n in range(3)]
    out = guarded_sum(tensors, [[1, 2, 3]])
    values = [RNG.standard_normal(6).astype("float32") for _ in tensors]
    result = np.empty(6, "float32")
    tvm.build(te.create_schedule(out.op), [*tensors, out])(*values, result)
    np.testing.assert_allclose(result, values[0] + 2 * values[1] + 3 * values[2], rtol=1e-5)


def test_an_assertion_that_fails_is_an_error_of_the_program() -> None:
    @hybrid.script
    def limited(a: Any, n: Any) -> Any:
        b = output_tensor((a.shape[0],), "float32")
        for i in range(a.shape[0]):
            assert i < n, "too many elements"
            b[i] = a[i]
        return b

    a, n = te.placeholder((4,), "float32", name="a"), te.var("n")
    b = limited(a, n)
    program = tvm.build(te.create_schedule(b.op), [a, n, b])
    values, result = np.arange(4, dtype="float32"), np.empty(4, "float32")
    program(values, 4, result)
    np.testing.assert_array_equal(result, values)
    with pytest.raises(tvm.TVMError, match="too many elements"):
        program(values, 3, result)


def test_a_hybrid_function_calls_another() -> None:
    @hybrid.script
    def shifted_product(a: Any, b: Any) -> Any:
        c = outer_product(a, b)
        d = output_tensor((a.shape[0], b.shape[0]), "float32")
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                d[i, j] = c[i, j] + float32(i * j)
        return d

    a, b = (te.placeholder((n,), "float32", name=name) for n, name in ((4, "a"), (5, "b")))
    d = shifted_product(a, b)
    x, y = RNG.standard_normal(4).astype("float32"), RNG.standard_normal(5).astype("float32")
    result = np.empty((4, 5), "float32")
    tvm.build(te.create_schedule(d.op), [a, b, d])(x, y, result)
    np.testing.assert_allclose(result, np.outer(x, y) + np.outer(range(4), range(5)), rtol=1e-5)


def scheduled(*, fuses: bool = False) -> tuple[Any, Any, Any]:
    """A schedule of two stages with a divided, a parallel and an unrolled loop, its input and its result."""
    a = te.placeholder((te.var("n"), 12), name="A.in")
    b = te.compute(a.shape, lambda i, j: te.exp(a[i, j]) + 1.5, name="B")
    c = te.compute(a.shape, lambda i, j: te.if_then_else(j > 0, b[i, j - 1], 0.25) * te.max(b[i, j], 2.0), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[1], 5)
    s[b].compute_at(s[c], outer)
    s[c].unroll(inner)
    s[c].parallel(s[c].fuse(c.op.axis[0], outer) if fuses else c.op.axis[0])
    return s, a, c


def expected_of(x: Any) -> Any:
    b = np.exp(x) + 1.5
    before = np.concatenate([np.full((len(x), 1), 0.25, x.dtype), b[:, :-1]], 1)
    return before * np.maximum(b, 2)


def test_a_schedule_is_a_hybrid_function(tmp_path: Any) -> None:
    s, a, c = scheduled()
    module = hybrid.build(s, [a], [c], name="stages")
    source = module.get_source() or ""
    assert "def stages(A_in):" in source
    assert "in parallel(A_in.shape[0]):" in source
    assert "in unroll(5):" in source
    x = RNG.standard_normal((3, 12)).astype("float32")
    np.testing.assert_allclose(module(x), expected_of(x), rtol=1e-5)
    module.save(str(tmp_path / "stages"))
    copy = hybrid.HybridModule()
    with pytest.raises(tvm.TVMError, match="no function has been loaded"):
        copy(x)
    copy.load(str(tmp_path / "stages.py"))
    assert copy.name == "stages"
    d = copy(a)
    result = np.empty((3, 12), "float32")
    tvm.build(te.create_schedule(d.op), [a, d])(x, result)
    np.testing.assert_allclose(result, expected_of(x), rtol=1e-5)


def test_reductions_and_threads_are_hybrid_functions() -> None:
    a, bias = te.placeholder((6, 4), name="a", dtype="int8"), te.var("lambda", "int32")
    k = te.reduce_axis((0, 4), "k")
    b = te.compute((6,), lambda i: te.sum(a[i, k].astype("int32") + bias, axis=k), name="for")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    module = hybrid.build(s, [bias, a], [b])
    source = module.get_source() or ""
    assert "def hybrid_func(lambda_1, a):" in source
    assert 'in bind("threadIdx.x", 6):' in source
    x = RNG.integers(-128, 128, (6, 4)).astype("int8")
    np.testing.assert_array_equal(module(3, x), x.astype("int32").sum(1) + 12)


def test_only_loops_on_elements_are_hybrid_functions(tmp_path: Any) -> None:
    a = te.placeholder((4,), name="a")
    b = te.extern((4,), [a], lambda ins, outs: te.call_packed("f", ins[0], outs[0]), name="b")
    with pytest.raises(tvm.TVMError, match=r"hybrid function hybrid_func: .*expected loops, branches and stores"):
        hybrid.build(te.create_schedule(b.op), [a], [b])
    (tmp_path / "two.py").write_text("def f(a):\n    return a\n\n\ndef g(a):\n    return a\n")
    with pytest.raises(tvm.TVMError, match="2 functions, expected one"):
        hybrid.HybridModule().load(str(tmp_path / "two.py"))


@pytest.mark.filterwarnings("ignore:lower")
def test_an_illegal_schedule_is_no_hybrid_function() -> None:
    s, a, c = scheduled(fuses=True)
    with pytest.raises(tvm.TVMError, match=r"hybrid function hybrid_func: .*cannot run parallel"):
        hybrid.build(s, [a], [c])
