"""Dataflow blocks with other bindings, and arguments as expressions."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false

from typing import Any

import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, UnsupportedError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax.analysis import name_to_binding
from stepwell.frontends.tvm.relax.binding_rewrite import DataflowBlockRewrite
from stepwell.frontends.tvm.relax.type_converter import args_converter
from stepwell.script import ir as I
from stepwell.script import relax as R


@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.tanh(x)  # noqa: F841
            c = R.add(x, a)
            d = R.multiply(c, a)
            R.output(d)
        return d


def rewrite() -> tuple[Any, Any, dict[str, Any]]:
    mod = tvm.IRModule(Program.op.clone())
    main = mod["main"]
    return mod, DataflowBlockRewrite(main.body.blocks[0], main), name_to_binding(main)


def test_a_function_of_a_module_is_one_object() -> None:
    mod = tvm.IRModule(Program.op.clone())
    assert mod["main"] is mod["main"]
    assert mod["main"].params[0] is mod["main"].params[0]
    before = mod["main"]
    mod["main"] = relax.Function(before.params, before.params[0], attrs={"global_symbol": "main"})
    assert mod["main"] is not before


def test_a_variable_is_replaced_and_removed() -> None:
    mod, change, known = rewrite()
    a, b = (known[name][0].var for name in "ab")
    with pytest.raises(ArgumentError, match="a is used"):
        change.remove_unused(a)
    change.replace_all_uses(a, b)
    change.remove_unused(a)
    text = change.mutated_root_fn().script()
    assert "R.nn.relu" not in text
    assert 'c: R.Tensor((4,), dtype="float32") = R.add(x, b)' in text or "c = R.add(x, b)" in text
    assert "R.multiply(c, b)" in text
    assert change.mutate_irmodule(mod)["main"] == change.mutated_root_fn()
    assert "R.nn.relu" in mod.script()


def test_a_binding_is_added() -> None:
    mod, change, known = rewrite()
    c = known["c"][0].var
    change.add(relax.op.exp(c), "e", is_dfvar=True)
    change.add(relax.op.exp(mod["main"].params[0]))
    assert [each.var.name_hint for each in change.mutated_dfb().bindings] == ["a", "b", "c", "d", "e", "gv"]
    assert "R.exp(c)" in change.mutated_root_fn().script()
    change.remove_all_unused()
    assert [each.var.name_hint for each in change.mutated_dfb().bindings] == ["a", "c", "d"]
    change.remove_unused(known["b"][0].var, allow_undef=True)
    with pytest.raises(ArgumentError, match="b has no binding in the block"):
        change.remove_unused(known["b"][0].var)
    with pytest.raises(ArgumentError, match="expected a dataflow block of the function"):
        DataflowBlockRewrite(change.mutated_dfb(), mod["main"])


def test_arguments_of_python_are_expressions() -> None:
    @args_converter.to_expr("one", "many")
    def given(one: Any, many: Any, *rest: Any, other: Any = None) -> Any:
        return one, many, rest, other

    one, many, rest, other = given(1, ("a", 2), 3, other=4)
    assert isinstance(one, relax.PrimValue)
    assert isinstance(many, relax.Tuple)
    assert isinstance(many.fields[0], relax.StringImm)
    assert (rest, other) == ((3,), 4)

    @args_converter.auto
    def listed(values: list[relax.Expr], value: relax.Expr, plain: int) -> Any:
        return values, value, plain

    given_values: Any = ([1, "b"], 2, 3)
    values, value, plain = listed(*given_values)
    assert [type(each) for each in values] == [relax.PrimValue, relax.StringImm]
    assert isinstance(value, relax.PrimValue)
    assert plain == 3
    with pytest.raises(ArgumentError, match="given has no argument 'two'"):
        args_converter.to_expr("two")(given)


def test_variables_take_the_types_of_their_bindings() -> None:
    x = relax.Var("x")
    with pytest.raises(ArgumentError, match="variable x has no type"):
        _ = x.struct_info
    relax.VarBinding(x, relax.const([1, 2], "int32"))
    assert str(x.struct_info) == 'R.Tensor((2,), dtype="int32")'
    y = relax.Var("y")
    relax.MatchCast(y, x, relax.TensorStructInfo(["n"], "int32"))
    assert str(y.struct_info) == 'R.Tensor((n,), dtype="int32")'
    shape: Any = relax.get_shape_of(x)
    assert shape.values == [2]


def test_the_result_of_an_operand_of_unknown_shape_has_a_data_type() -> None:
    x = relax.Var("x", relax.TensorStructInfo(None))
    assert relax.op.add(x, x).struct_info == relax.TensorStructInfo(None)


def test_a_call_of_a_variable_is_an_error() -> None:
    number = relax.TensorStructInfo([], "int32")
    f: Any = relax.Var("f", relax.FuncStructInfo([number], number))
    x, y = relax.Var("x", number), relax.Var("y", number)
    block = relax.BindingBlock([relax.VarBinding(y, relax.Call(f, [x]))])
    with pytest.raises(UnsupportedError, match="a call of f, expected a function of the module or an operator"):
        relax.Function([x], relax.SeqExpr([block], y), number)


def test_the_calls_between_functions() -> None:
    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = Calls.twice(x)
            return Calls.twice(y)

        @R.function
        def twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.add(x, x)

    found = tvm.ir.analysis.collect_call_map(tvm.IRModule(Calls.op.clone()))
    names = {key.name_hint: [each.name_hint for each in called] for key, called in found.items()}
    assert names == {"main": ["twice"], "twice": []}
