"""Analyses of the calls and the parameters of programs."""

# pyright: reportInvalidTypeForm=false

import pytest

from stepwell.core.errors import ArgumentError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax import analysis
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T


@I.ir_module
class Calls:
    @R.function
    def alone(x: R.Object) -> R.Object:
        return x

    @R.function
    def even(x: R.Object) -> R.Object:
        return Calls.odd(x)

    @R.function
    def odd(x: R.Object) -> R.Object:
        return Calls.even(x)

    @R.function(pure=False)
    def prints(x: R.Object) -> R.Object:
        y = R.call_packed("test.analysis.print", x, sinfo_args=(R.Object,))
        return y

    @R.function
    def self(x: R.Object) -> R.Object:
        return Calls.self(Calls.alone(x))

    @R.function(pure=False)
    def through(x: R.Object) -> R.Object:
        y = Calls.prints(x)
        return y


def test_recursion_has_groups() -> None:
    groups = [[each.name_hint for each in group] for group in analysis.detect_recursion(Calls)]
    assert groups == [["even", "odd"], ["self"]]


def test_an_impure_call_is_one_of_a_packed_or_an_impure_function() -> None:
    impure = [name for name in Calls.function_ops if analysis.contains_impure_call(Calls[name])]
    assert impure == ["prints", "through"]
    assert not analysis.contains_impure_call(Calls["through"], own_name=relax.GlobalVar("prints"))
    with pytest.raises(ArgumentError, match="contains_impure_call of IRModule, expected a function of relax"):
        analysis.contains_impure_call(Calls)


def test_values_of_weights_are_computable_at_compile_time() -> None:
    @R.function
    def func(x: R.Tensor(("n",), "float32"), w: R.Tensor(("m",), "float32")):
        R.func_attr({"num_input": 1})
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a = R.add(w, w)
            b = R.exp(x)
            c = R.ones([m], "float32")
            d = R.ones([n], "float32")
            e = R.multiply(a, c)
            R.output(b, d, e)
        f = R.negative(e)
        return (b, d, f)

    names = [each.name_hint for each in analysis.computable_at_compile_time(func)]
    assert names == ["w", "a", "c", "e", "f"]
    assert analysis.computable_at_compile_time(func.without_attr("num_input")) == []


def test_sizes_are_defined_or_free() -> None:
    @R.function(private=True)
    def func(x: R.Tensor(("n",), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
        k = T.int64()
        z = R.match_cast(y, R.Tensor((k,), "float32"))
        return (x, z)

    assert analysis.defined_symbolic_vars(func) == ["n", "k"]
    assert analysis.free_symbolic_vars(func) == []
