"""Expressions built statement by statement, and functions of modules in place of their calls."""

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, UnsupportedError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.dataflow_pattern import FunctionPattern, is_if, is_let, is_op, is_var, wildcard
from stepwell.frontends.tvm.relay.testing import TempOpAttr, count_ops, run_infer_type, run_opt_pass


def branches() -> relay.Function:
    scope = relay.ScopeBuilder()
    x = relay.var("x", "float32")
    double = scope.let(("double", relay.scalar_type("float32")), x + x)
    with scope.if_scope(relay.greater(double, relay.const(0.0))):
        scope.ret(double)
    with scope.else_scope():
        scope.ret(relay.const(1.0))
    return relay.Function([x], scope.get())


def test_branches_of_a_scope() -> None:
    run = relay.create_executor("graph").evaluate(branches())
    assert run(np.array(2, "float32")).numpy() == 4
    assert run(np.array(-2, "float32")).numpy() == 1


def test_scopes_without_a_value() -> None:
    scope = relay.ScopeBuilder()
    with pytest.raises(OptionError, match="a scope without a value"):
        scope.get()
    with pytest.raises(OptionError, match="else_scope without an if_scope"), scope.else_scope():
        pass


def test_patterns_of_functions_branches_and_bindings() -> None:
    func = branches()
    is_branch = is_if(is_op("greater")(wildcard(), wildcard()), is_var("double"), wildcard())
    assert FunctionPattern([is_var("x")], is_let(is_var("double"), wildcard(), is_branch)).match(func)
    assert not FunctionPattern([is_var("y")], wildcard()).match(func)
    assert not is_if(wildcard(), wildcard(), wildcard()).match(func.body)


def test_a_marked_function_takes_the_place_of_its_calls() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule({"f": relay.Function([x], relay.exp(x)).with_attr("Inline", tvm.tir.IntImm("int32", 1))})
    mod["main"] = relay.Function([y], relay.negative(relay.GlobalVar("f")(y)))
    inlined = relay.transform.Inline()(mod)
    assert list(inlined) == ["main"]
    assert count_ops(inlined["main"]) == {"exp": 1, "negative": 1}


def test_helpers_of_tests() -> None:
    type = relay.TensorType(("n", 2), "float32")
    x = relay.var("x", type)
    assert run_infer_type(relay.exp(x)).checked_type == type
    func = run_infer_type(relay.Function([x], relay.Tuple([x, relay.exp(x)])))
    assert func.checked_type == relay.FuncType([type], relay.TupleType([type, type]))
    passes = [relay.transform.SimplifyExpr(), relay.transform.FoldConstant()]
    assert count_ops(run_opt_pass(relay.transpose(relay.transpose(x)), passes)) == {}
    with pytest.raises(UnsupportedError, match="FTVMStrategy"):
        TempOpAttr("nn.conv2d", "FTVMStrategy", None)
    with TempOpAttr("nn.conv2d", "own", 1):
        assert relay.op.get("nn.conv2d").get_attr("own") == 1
    assert relay.op.get("nn.conv2d").get_attr("own") is None


def test_layouts_of_a_block_of_code() -> None:
    x, w = relay.var("x", shape=(1, 2, 4, 4)), relay.var("w", shape=(2, 2, 1, 1))
    mod = tvm.IRModule.from_expr(relay.nn.conv2d(x, w))

    def alter(attrs: object, inputs: list[relay.Expr], tinfos: object, out_type: object) -> relay.Expr:
        return relay.nn.conv2d(*inputs, data_layout="NHWC", kernel_layout="OIHW")

    with tvm.transform.PassContext(opt_level=3):
        with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
            assert relay.op.get("nn.conv2d").get_attr("FTVMAlterOpLayout") is alter
            assert 'data_layout="NHWC"' in relay.transform.AlterOpLayout()(mod).astext()
        assert "NHWC" not in relay.transform.AlterOpLayout()(mod).astext()
        assert not relay.op.get("nn.conv2d").has_attr("FTVMAlterOpLayout")
        tvm.ir.register_op_attr("nn.conv2d", "FTVMAlterOpLayout", alter)
        assert 'data_layout="NHWC"' in relay.transform.AlterOpLayout()(mod).astext()
        relay.op.get("nn.conv2d").reset_attr("FTVMAlterOpLayout")
        assert "NHWC" not in relay.transform.AlterOpLayout()(mod).astext()
