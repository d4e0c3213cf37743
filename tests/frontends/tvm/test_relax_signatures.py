"""Passes on private functions and on operators of programs: text, and unchanged results."""

# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepwell
import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import relax
from stepwell.script import relax as R
from stepwell.script import tir as T

rng = np.random.default_rng(0)


def _results(mod: Any, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args)


def _same(before: Any, after: Any, *args: Any) -> None:
    got, expected = _results(after, *args), _results(before, *args)
    got, expected = (each if isinstance(each, tuple) else (each,) for each in (got, expected))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


@tvm.script.ir_module
class Calls:
    @R.function(private=True)
    def inner(
        x: R.Tensor(("n", 4), "float32"),
        unused: R.Tensor(("m",), "float32"),
        pair: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),
    ):
        m = T.int64()
        y = R.add(x, pair[1])
        z = R.zeros(R.shape([m]), "float32")
        w = R.exp(x)
        return (y, w, z)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), v: R.Tensor((4,), "float32"), u: R.Tensor(("k",), "float32")):
        cls = Calls
        t = cls.inner(x, u, (v, v))
        return (t[0], t[2])


ARGS = rng.random((3, 4), np.float32), rng.random(4, np.float32), rng.random(5, np.float32)


def test_unused_parameters_are_removed() -> None:
    after = relax.transform.RemoveUnusedParameters()(Calls)
    params = after["inner"].params
    assert [each.name_hint for each in params] == ["x", "pair", "param_m"]
    assert "R.prim_value(k)" in after["main"].script()
    _same(Calls, after, *ARGS)


def test_unused_outputs_are_removed() -> None:
    after = relax.transform.RemoveUnusedOutputs()(Calls)
    assert "R.exp" not in after["inner"].script()
    assert len(after["inner"].ret_struct_info.fields) == 2
    _same(Calls, after, *ARGS)


def test_tuples_of_arguments_are_expanded() -> None:
    after = relax.transform.ExpandTupleArguments()(Calls)
    assert [each.name_hint for each in after["inner"].params] == ["x", "unused", "pair_0", "pair_1"]
    assert "t: R.Tuple" in after["main"].script() or "cls.inner(x, u, v, v)" in after["main"].script()
    _same(Calls, after, *ARGS)


def test_private_functions_are_inlined() -> None:
    after = relax.transform.InlinePrivateFunctions()(Calls)
    assert [name.name_hint for name in after.functions] == ["main"]
    _same(Calls, after, *ARGS)


def test_calls_of_named_functions_are_inlined() -> None:
    func = Calls["main"].inline_functions({"inner": Calls["inner"]})
    assert "cls.inner" not in func.script()
    tvm.ir.assert_structural_equal(func, relax.transform.InlinePrivateFunctions()(Calls)["main"])
    with pytest.raises(tvm.TVMError, match="function 'other', expected one that main calls"):
        Calls["main"].inline_functions({"other": Calls["inner"]})


def test_operations_become_dataflow_regions() -> None:
    @tvm.script.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.add(a, x)
            _ = R.print(b, format="{}")
            c = R.exp(b)
            return (b, c)

    after = relax.transform.ConvertToDataflow()(Before)
    text = after["main"].script()
    assert text.count("with R.dataflow()") == 1
    assert "R.output(b)" in text
    _same(Before, after, rng.random(4, np.float32))


REWRITES = {
    "ExpandMatmulOfSum": ("x @ (a + b)", ["R.matmul(x, a)", "R.matmul(x, b)"]),
    "ReorderTakeAfterMatmul": ("x @ R.take(a, i, axis=1)", ["R.matmul(x, a)"]),
    "ReorderPermuteDimsAfterConcat": (
        "R.concat((R.permute_dims(a), R.permute_dims(b)), axis=1)",
        ["R.concat((a, b))", "R.permute_dims(lv, axes=[1, 0])"],
    ),
    "RemoveRedundantReshape": ("R.reshape(R.reshape(a, (2, 12)), (24,))", ["R.reshape(a, R.shape([24]))"]),
}


@pytest.mark.parametrize("name", REWRITES)
def test_operators_are_rewritten(name: str) -> None:
    expression, texts = REWRITES[name]
    signature = "x: R.Tensor((2, 4), 'float32'), a: R.Tensor((4, 6), 'float32'), b: R.Tensor((4, 6), 'float32'), i: R.Tensor((3,), 'int64')"  # noqa: E501
    before = stepwell.parse_tvmscript(f"@R.function\ndef main({signature}):\n    y = {expression}\n    return y\n")
    after = getattr(relax.transform, name)()(tvm.IRModule(before.op))
    for text in texts:
        assert text in after["main"].script()
    floats = [rng.random(shape, np.float32) for shape in ((2, 4), (4, 6), (4, 6))]
    _same(before, after, *floats, np.array([5, 0, 2]))


def test_weights_alone_are_added_before_the_product() -> None:
    text = """
@R.function
def main(x: R.Tensor((2, 4), "float32"), a: R.Tensor((4, 6), "float32"), b: R.Tensor((4, 6), "float32")):
    R.func_attr({"num_input": 1})
    y = R.matmul(x, R.add(a, b))
    return y
"""
    before = stepwell.parse_tvmscript(text)
    after = relax.transform.ExpandMatmulOfSum()(tvm.IRModule(before.op))
    assert after["main"].script().count("R.matmul") == 1


def test_functions_of_floats_become_fast_kernels() -> None:
    before = stepwell.parse_tvmscript(
        '@R.function\ndef main(x: R.Tensor((8,), "float32")):\n    y = R.tanh(R.exp(x))\n    return y\n'
    )
    after = relax.transform.FastMathTransform()(tvm.IRModule(before.op))
    assert "R.call_tir" in after["main"].script()
    assert "R.exp" not in after["main"].script()
    _same(before, after, rng.random(8, np.float32))
