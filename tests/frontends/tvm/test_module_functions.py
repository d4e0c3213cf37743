"""The functions of a module of TVM's programs by name."""

# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from stepwell.frontends import tvm
from stepwell.frontends.tvm import relax, relay, te
from stepwell.frontends.tvm.relax.expr_functor import PyExprMutator, mutator
from stepwell.script import ir as I
from stepwell.script import relax as R


def _doubled() -> tvm.IRModule:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    return tvm.lower(te.create_schedule(b.op), [a, b], name="doubled")


def test_the_names_are_global_variables() -> None:
    mod = _doubled()
    (pair,) = mod.functions.items()
    name, func = pair
    assert (name.name_hint, type(name), type(func)) == ("doubled", relay.GlobalVar, tvm.tir.PrimFunc)
    assert isinstance(func.body, tvm.tir.Stmt)
    assert mod.functions["doubled"].script() == mod.functions[mod.get_global_var("doubled")].script() == func.script()
    assert "other" not in mod.functions
    assert "doubled" in mod.functions
    assert tvm.ir.structural_equal(tvm.IRModule(dict(mod.functions)), mod)
    assert len(mod.functions) == 1


@I.ir_module
class _Relu:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.nn.relu(x)
        return y


@mutator
class _Negate(PyExprMutator):
    def transform(self, mod: tvm.IRModule) -> tvm.IRModule:
        for name, func in mod.functions.items():
            assert isinstance(func, relax.Function)
            self.builder_.update_func(name, self.visit_expr(func))
        return self.builder_.get()

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        return relax.op.negative(self.visit_expr_post_order(call))


def test_a_mutator_visits_the_functions_of_a_program() -> None:
    mod = tvm.IRModule(_Relu.op)
    assert "R.negative" in _Negate(mod).transform(mod).script()
