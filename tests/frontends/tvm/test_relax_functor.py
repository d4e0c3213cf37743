"""`tvm.relax.expr_functor`, `analysis` and `dpl`: functions as nodes, their rewrites and patterns."""

# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, OptionError, register_func
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.ir.module import IRModule
from stepwell.frontends.tvm.relax import dpl
from stepwell.frontends.tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T

WEIGHT = np.arange(8, dtype="float32").reshape(4, 2)


def model() -> IRModule:
    """A program with all kinds of expressions, and a constant array."""
    register_func("functor.double", lambda x, out: np.multiply(x, 2, out=out), override=True)
    bb = relax.BlockBuilder()
    x, c = relax.Var("x", R.Tensor(("n", 4), "float32")), relax.Var("c", R.Tensor((), "bool"))
    with bb.function("main", [x, c], attrs={"note": 1}):
        with bb.dataflow():
            y = bb.emit(relax.op.matmul(x, relax.const(WEIGHT)))
            parts = bb.emit(relax.op.split(y, indices_or_sections=2, axis=1))
            z = bb.emit(relax.op.nn.relu(parts[0]))
            joined = bb.emit_output(relax.op.concat([z, parts[1]], axis=1))
        flat = bb.emit(relax.op.reshape(joined, relax.ShapeExpr([2, "n"])))
        info = R.Tensor((2, "n"), "float32")
        out = bb.emit(relax.call_dps_packed("functor.double", [flat], info))
        chosen = bb.emit(relax.If(c, relax.SeqExpr([], out), relax.SeqExpr([], flat)))
        shape = bb.emit(relax.op.shape_of(joined))
        bb.emit_func_output([chosen, shape])
    return bb.get()


def run(mod: IRModule, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args)


@mutator
class Same(PyExprMutator):
    """Makes every call anew."""

    def visit_call_(self, op: relax.Call) -> relax.Expr:
        call = super().visit_call_(op)
        assert isinstance(call, relax.Call)
        return relax.Call(call.op, call.args, call.attrs, call.sinfo_args)


@mutator
class ReluToGelu(PyExprMutator):
    def visit_call_(self, op: relax.Call) -> relax.Expr:
        if op.op == relax.Op.get("relax.nn.relu"):
            return relax.op.nn.gelu(op.args[0])
        return super().visit_call_(op)


def rewritten(mod: IRModule, rewriter: PyExprMutator) -> IRModule:
    for name, func in mod.functions_items():
        if isinstance(func, relax.Function):
            rewriter.builder_.update_func(name, rewriter.visit_expr(func))
    return rewriter.builder_.get()


def overwriting() -> IRModule:
    """A program whose calls overwrite operands; a size is an argument of one."""

    @I.ir_module
    class Kernels:
        @T.prim_func
        def split(a: T.handle, b: T.handle, n: T.int64):
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i in range(n):
                B[i] = A[i] * T.float32(2)
                A[i] = A[i] + T.float32(1)

    def decrement(array: Any) -> Any:
        array[:] = np.asarray(array) - np.float32(1)
        return array

    register_func("functor.decrement", decrement, override=True)
    bb = relax.BlockBuilder(Kernels)
    info = R.Tensor(("n",), "float32")
    x = relax.Var("x", info)
    with bb.function("main", x):
        y = bb.emit(relax.op.nn.relu(x))
        split = tvm.ir.GlobalVar("split")
        pair = bb.emit(relax.op.call_tir_inplace(split, y, [0, -1], [info, info], tir_vars=relax.ShapeExpr(["n"])))
        first, second = bb.emit(pair[0]), bb.emit(pair[1])
        z = bb.emit(relax.op.call_inplace_packed("functor.decrement", first, inplace_indices=0, sinfo_args=info))
        bb.emit_func_output(bb.emit(relax.op.add(z, second)))
    return bb.get()


def test_calls_in_place_are_nodes() -> None:
    mod = overwriting()
    again = rewritten(mod, Same(mod))
    assert again.script() == mod.script()
    assert "inplace_indices=[0, -1]" in mod.script()
    for each in (mod, again):
        np.testing.assert_array_equal(run(each, np.array([-1, 2, 3], "float32")).numpy(), [0, 6, 9])


def test_a_function_of_new_nodes_is_the_same_program() -> None:
    mod = model()
    again = rewritten(mod, Same(mod))
    assert tvm.ir.structural_equal(again, mod)
    a = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    product = a @ WEIGHT
    expected = np.concatenate([np.maximum(product[:, :1], 0), product[:, 1:]], 1).reshape(2, 3)
    for chosen, result in ((True, 2 * expected), (False, expected)):
        got, shape = run(again, a, np.array(chosen))
        np.testing.assert_allclose(got.numpy(), result, rtol=1e-5)
        assert shape == (3, 2)


def test_a_mutator_that_changes_nothing_returns_the_function() -> None:
    func = model()["main"]
    assert PyExprMutator().visit_expr(func) is func


def test_calls_are_replaced() -> None:
    mod = model()
    text = rewritten(mod, ReluToGelu(mod)).script()
    assert "R.nn.gelu(" in text
    assert "R.nn.relu(" not in text
    assert "R.nn.relu(" in mod.script()


def test_a_function_pass_and_a_pass_on_dataflow_blocks() -> None:
    @relax.transform.function_pass(opt_level=0)
    class ToGelu:
        def transform_function(self, func: Any, mod: IRModule, ctx: Any) -> Any:
            return ReluToGelu().visit_expr(func)

    @relax.transform.dataflowblock_pass(opt_level=0, name="double")
    def double(block: relax.DataflowBlock, mod: IRModule, ctx: Any) -> relax.DataflowBlock:
        *bindings, last = block.bindings
        assert isinstance(last, relax.VarBinding)
        return relax.DataflowBlock([*bindings, relax.VarBinding(last.var, relax.op.add(last.value, last.value))])

    mod = model()
    assert "R.nn.gelu(" in ToGelu()(mod).script()
    a, c = np.ones((3, 4), "float32"), np.array(False)
    np.testing.assert_allclose(run(double(mod), a, c)[0].numpy(), 2 * run(mod, a, c)[0].numpy())
    lost = relax.transform.dataflowblock_pass(lambda block, mod, ctx: relax.DataflowBlock(block.bindings[:-1]))
    with pytest.raises(ArgumentError, match="without the output"):
        lost(mod)


def test_types_of_new_values_reach_their_uses() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n",), "float32"):
            y = R.nn.relu(x)
            return R.sum(y, axis=1)

    @mutator
    class Half(PyExprMutator):
        def visit_call_(self, op: relax.Call) -> relax.Expr:
            call = super().visit_call_(op)
            if isinstance(op.op, relax.Op) and op.op.name == "relax.nn.relu":
                half = self.builder_.emit(call.astype("float16"))
                assert self.builder_.lookup_binding(half) is not None
                return half + 1.0
            return call

    mod = rewritten(Module, Half(Module))
    assert mod["main"].ret_struct_info == R.Tensor(("n",), "float16")
    np.testing.assert_array_equal(run(mod, -np.ones((2, 4), "float32")).numpy(), [4, 4])


def test_a_visitor_meets_every_node() -> None:
    @visitor
    class Names(PyExprVisitor):
        def __init__(self) -> None:
            self.calls: list[str] = []
            self.vars: set[str] = set()

        def visit_op_(self, op: relax.Op) -> None:
            self.calls.append(op.name)

        def visit_var_def_(self, var: relax.Var) -> None:
            self.vars.add(var.name_hint)

    names = Names()
    names.visit_expr(model()["main"])
    assert [each.removeprefix("relax.") for each in names.calls] == [
        "matmul", "split", "nn.relu", "concat", "reshape", "call_dps_packed", "shape_of",
    ]  # fmt: skip
    assert {"x", "c"} < names.vars
    with pytest.raises(OptionError, match="expected an expression of relax"):
        names.visit_expr(3)


def test_analysis() -> None:
    func = model()["main"]
    assert [each.name_hint for each in relax.analysis.bound_vars(func)][:2] == ["x", "c"]
    assert relax.analysis.free_vars(func) == []
    assert relax.analysis.free_vars(func.body) == func.params
    calls: list[str] = []
    relax.analysis.post_order_visit(func, lambda each: calls.append(type(each).__name__))
    assert calls[-1] == "Function"
    assert len(relax.analysis.get_var2val(func)) == sum(len(block.bindings) for block in func.body.blocks)
    assert relax.analysis.well_formed(model())


def test_functions_are_built_of_nodes() -> None:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    y = relax.Var("y", R.Tensor((4,), "float32"))
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, x + x)])], -y)
    func = relax.Function([x], body, attrs={"global_symbol": "main", "note": 3})
    assert (func.attrs["note"], func.attrs.global_symbol) == (3, "main")
    mod = IRModule({"main": func.with_attr("more", True).without_attr("note")})
    assert dict(mod["main"].attrs) == {"global_symbol": "main", "more": True}
    np.testing.assert_array_equal(run(mod, np.ones(4, "float32")).numpy(), [-2] * 4)
    assert list(IRModule.from_expr(func)) == ["main"]
    with pytest.raises(ArgumentError, match="parameters x, x, expected one each"):
        relax.Function([x, relax.Var("x", R.Tensor((2,)))], x)


def test_types_of_tvmscript_are_types_of_relax() -> None:
    assert R.Tensor((2, "n"), "float32") == relax.TensorStructInfo((2, "n"), "float32")
    assert R.Tuple(R.Tensor((2,)), R.Shape([1])).fields[0] == relax.TensorStructInfo((2,), None)
    n = T.int64()
    assert R.Tensor((n, 2)).shape == (*R.Tensor((n, 4)).shape[:1], 2)
    assert R.Tensor((T.int64(),)).shape != R.Tensor((n,)).shape


# Patterns


def test_patterns_match_through_variables() -> None:
    (block, *_) = model()["main"].body.blocks
    relu = next(each for each in block.bindings if getattr(each.value, "op", None) == relax.Op.get("relax.nn.relu"))
    product = dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.is_const())
    pattern = dpl.is_op("relax.nn.relu")(dpl.is_tuple_get_item(dpl.is_op("relax.split")(product), 0))
    found = dpl.extract_matched_expr(pattern, relu.value)
    assert found is not None
    assert found[product].attrs["out_dtype"] == ""
    assert pattern.has_dtype("float32").match(relu.value)
    assert not dpl.is_op("relax.nn.relu")(product).match(relu.value)
    with pytest.raises(OptionError, match=r"no operator 'relax\.relu'"):
        dpl.is_op("relax.relu")


def test_calls_of_kernels_match_by_name() -> None:
    info = R.Tensor((4,), "float32")
    x = relax.Var("x", info)
    call = relax.call_tir(relax.GlobalVar("kernel"), [x], info)
    assert dpl.is_call_tir("kernel", [dpl.is_var("x")]).match(call)
    assert not dpl.is_call_tir("other").match(call)
    assert dpl.is_call_dps_packed("f").match(relax.call_dps_packed("f", [x], info))
    assert dpl.is_call_packed("f").match(relax.call_packed("f", x, sinfo_args=info))


def test_matched_calls_are_rewritten_until_nothing_matches() -> None:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    func = relax.Function([x], _chain(x, 4), attrs={"global_symbol": "main"})
    operand = dpl.wildcard()
    twice = dpl.is_op("relax.negative")(dpl.is_op("relax.negative")(operand))
    result = dpl.rewrite_call(twice, lambda call, found: found[operand], func)
    assert IRModule({"main": result}).script().count("R.negative(") < 3
    np.testing.assert_array_equal(run(IRModule({"main": result}), np.arange(4, dtype="float32")).numpy(), range(4))
    with pytest.raises(OptionError, match="still matches after 100 rounds"):
        dpl.rewrite_call(dpl.is_op("relax.negative")(operand), lambda call, found: -found[operand], func)


def _chain(x: relax.Var, count: int) -> relax.SeqExpr:
    bindings: list[relax.VarBinding] = []
    for n in range(count):
        bindings.append(relax.VarBinding(relax.Var(f"y{n}", x.struct_info), -(bindings[-1].var if bindings else x)))
    return relax.SeqExpr([relax.BindingBlock(bindings)], bindings[-1].var)


def test_unused_bindings_are_removed() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.multiply(x, x)  # noqa: F841
                c = R.add(a, x)
                R.output(a, c)
            return a

    func = Module["main"]
    (block,) = relax.analysis.remove_all_unused(func).body.blocks
    used = [tvm.ir.Op.get("relax.exp"), tvm.ir.Op.get("relax.add")]
    assert [each.value.op for each in block.bindings] == used
    (block,) = func.body.blocks
    kept = relax.analysis.remove_all_unused(block).bindings
    assert [each.value.op for each in kept] == used
    assert isinstance(kept[0].value.op, tvm.ir.Op)
    private = relax.Function([x := relax.Var("x", R.Tensor((2,), "float32"))], relax.SeqExpr([], x))
    assert relax.analysis.remove_all_unused(private).params[0].name_hint == "x"


@mutator
class Outliner(PyExprMutator):
    """Moves each `exp` to a function of its own."""

    def visit_call_(self, op: relax.Call) -> relax.Expr:
        if op.op != tvm.ir.Op.get("relax.exp"):
            return super().visit_call_(op)
        operand = op.args[0]
        assert isinstance(operand, relax.Expr)
        bb, x = relax.BlockBuilder(), relax.Var("x", operand.struct_info)
        with bb.function("own_exp", [x]):
            bb.emit_func_output(bb.emit(relax.op.exp(x)))
        return relax.Call(self.builder_.add_func(bb.get()["own_exp"], "own_exp"), [operand], None, None)


def test_a_mutator_calls_functions_that_it_adds() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.add(a, x)
                R.output(b)
            return b

    mod = rewritten(Module, Outliner())
    assert {str(each.name_hint) for each in mod.get_global_vars()} == {"main", "own_exp"}
    x = np.random.default_rng(0).random((3, 4), np.float32)
    np.testing.assert_allclose(run(mod, x).numpy(), np.exp(x) + x, rtol=1e-6)
