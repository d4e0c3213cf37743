"""The functions of a module of TVM's programs by name."""

# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwell.frontends import tvm
from stepwell.frontends.tvm import intrinsics, relax, relay, te
from stepwell.frontends.tvm.relax.expr_functor import PyExprMutator, mutator
from stepwell.script import ir as I
from stepwell.script import relax as R
from stepwell.script import tir as T


def _doubled() -> tvm.IRModule:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    return tvm.lower(te.create_schedule(b.op), [a, b], name="doubled")


def test_the_names_are_global_variables() -> None:
    mod = _doubled()
    (pair,) = mod.functions.items()
    name, func = pair
    assert (name.name_hint, type(func)) == ("doubled", tvm.tir.PrimFunc)
    assert isinstance(name, relay.GlobalVar)
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


@I.ir_module
class _Sum:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.relu(a)
            R.output(b)
        return b


def test_functions_of_users_replace_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intrinsics, "_RELAX_ATTRIBUTES", {})
    mod, arrays = tvm.IRModule(_Sum.op), [np.full((2, 3), 4, "float32"), np.full((2, 3), 9, "float32")]

    def computed(module: Any) -> Any:
        return relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())["main"](*arrays).numpy()[0, 0]

    def subtract(builder: relax.BlockBuilder, call: relax.Call) -> Any:
        return builder.call_te(tvm.topi.subtract, *call.args)

    legal = relax.transform.LegalizeOps({"relax.add": subtract})(mod)
    assert "cls.subtract" in legal.script()
    assert computed(legal) == 0

    @tvm.ir.register_op_attr("relax.nn.relu", "FLegalize", level=11)
    def square(builder: relax.BlockBuilder, call: relax.Call) -> Any:
        return relax.op.multiply(call.args[0], call.args[0])

    tvm.ir.register_op_attr("relax.nn.relu", "FLegalize", subtract, level=10)
    tvm.ir.register_op_attr("relax.absent", "FLegalize", subtract)
    assert computed(mod) == 169
    assert computed(relax.transform.LegalizeOps({"relax.add": subtract})(mod)) == 25
    assert square.__name__ == "square"


def test_a_build_leaves_functions_of_relax_out() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def double(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
            for i in range(4):
                b[i] = a[i] * T.float32(2)

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
            return y

    result = np.zeros(4, "float32")
    tvm.build(Module, "llvm")["double"](np.ones(4, "float32"), result)
    assert result.tolist() == [2, 2, 2, 2]


def test_a_function_of_buffers_has_its_symbol_as_its_name() -> None:
    func = tvm.script.from_source("""
@T.prim_func
def add(A: T.Buffer((4,), "float32")):
    A[0] = A[1] + T.float32(1)
""")
    assert list(tvm.IRModule.from_expr(func)) == ["add"]
    assert list(tvm.IRModule.from_expr(func.with_attr("global_symbol", "other"))) == ["other"]
    assert list(tvm.IRModule.from_expr(func.without_attr("global_symbol"))) == ["main"]
