"""Names of tvm.relay: spellings of v0.6, classes for isinstance, facts about expressions."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, UnsupportedError
from stepwell.frontends.tvm import relay, transform


def double(name: str) -> relay.Function:
    x = relay.var(name, shape=(2, 3))
    return relay.Function([x], x + x)


# Spellings of v0.6


def test_passes_of_transform_are_names_of_relay() -> None:
    names = ("PassContext", "Sequential", "module_pass", "Pass", "ModulePass", "PassInfo")
    assert all(getattr(relay, name) is getattr(transform, name) for name in names)
    assert relay.function_pass is relay.transform.function_pass
    assert relay.FunctionPass is relay.transform.FunctionPass


def test_names_are_those_of_other_modules() -> None:
    assert relay.Prelude is relay.prelude.Prelude
    assert relay.Op is relay.op.op.Op is tvm.ir.Op
    assert relay.param_dict.save_param_dict is relay.save_param_dict
    assert relay.register_func is tvm.register_func
    assert (relay.Kind.Type, relay.Kind.ShapeVar) == (0, 1)
    assert relay.feature.Feature is relay.Feature
    assert relay.reg is relay.op
    assert relay.contrib.adaptive_max_pool2d is relay.nn.adaptive_max_pool2d
    assert relay.profiler_vm.enabled()
    assert list(relay.vmobj.tuple_object([1, 2])) == [1, 2]
    assert relay.analysis.call_graph.CallGraph is relay.analysis.CallGraph
    assert relay.analysis.Module is tvm.IRModule


def test_alpha_equal_compares_up_to_the_names_of_bound_variables() -> None:
    a, b = double("a"), double("b")
    assert relay.alpha_equal(a, b)
    assert relay.analysis.structural_hash(a) == relay.analysis.structural_hash(b)
    relay.analysis.assert_alpha_equal(a, b)
    assert not relay.alpha_equal(a.body, b.body)
    with pytest.raises(ValueError, match="structural equality"):
        relay.analysis.assert_alpha_equal(a, relay.Function(a.params, a.params[0]))


def test_graph_equal_lets_free_variables_correspond() -> None:
    a, b = double("a").body, double("b").body
    assert relay.analysis.graph_equal(a, b)
    relay.analysis.assert_graph_equal(a, b)
    assert not relay.analysis.graph_equal(a, relay.exp(b))
    with pytest.raises(ValueError, match="structural equality"):
        relay.analysis.assert_graph_equal(a, relay.exp(b))


def test_texts_of_expressions_and_types() -> None:
    x = relay.var("x", shape=(2,))
    assert relay.astext(x + relay.const(np.ones(2, "float32"))).count("meta") > 1
    assert relay.pretty_print(relay.TensorType((2,), "int8")) == "Tensor[(2,), int8]"
    assert relay.pretty_print(x + x) == str(x + x)
    with pytest.raises(UnsupportedError, match=r"relay.astext: annotate is not supported yet"):
        relay.astext(x, annotate=str)


def test_is_dynamic_finds_unknown_and_named_sizes() -> None:
    known, unknown = relay.TensorType((2, 3)), relay.TensorType((2, relay.Any()))
    assert not relay.ty.is_dynamic(relay.TupleType([known]))
    assert relay.ty.is_dynamic(relay.FuncType([known], unknown))
    assert relay.ty.is_dynamic(relay.TensorType(("n",)))


# Classes


def test_every_type_is_a_type() -> None:
    tensor, variable = relay.TensorType((1,)), relay.TypeVar("t")
    data = relay.GlobalTypeVar("List")
    types: list[Any] = [
        tensor, variable, data, relay.TupleType([tensor]), relay.FuncType([tensor], tensor), relay.RefType(tensor),
        relay.TypeCall(data, [tensor]), relay.IncompleteType(), relay.TypeRelation(None, [tensor], 1),
        relay.TypeData(data, [variable], []),
    ]  # fmt: skip
    assert all(isinstance(each, relay.Type) for each in types)
    assert [each for each in types if isinstance(each, relay.TypeConstraint)] == [types[8]]
    assert not isinstance(relay.var("x"), relay.Type)
    assert (relay.Type, relay.TypeConstraint) == (tvm.ir.Type, tvm.ir.TypeConstraint)
    assert relay.ShapeVar("s").kind == relay.TypeKind.ShapeVar


def test_expressions_and_patterns_have_base_classes() -> None:
    x = relay.var("x")
    assert relay.expr.RelayExpr is tvm.ir.RelayExpr
    assert isinstance(x + x, relay.expr.RelayExpr)
    assert isinstance(x, relay.expr.ExprWithOp)
    assert isinstance(relay.PatternVar(x), relay.Pattern)
    assert isinstance(relay.op.get("add"), relay.Op)


# Facts about expressions


def test_constants_and_tuples_of_constants_are_constant() -> None:
    one = relay.const(1)
    assert relay.analysis.check_constant(relay.Tuple([one, relay.Tuple([one])]))
    assert not relay.analysis.check_constant(relay.Tuple([one, relay.var("x")]))
    assert not relay.analysis.check_constant(one + one)


def test_all_dtypes_are_those_of_parameters_and_values() -> None:
    x = relay.var("x", shape=(2,), dtype="int8")
    assert relay.analysis.all_dtypes(relay.cast(x, "float32") > relay.const(1.0)) == {"int8", "float32", "bool"}
    assert relay.analysis.all_dtypes(relay.Function([x], x)) == {"int8"}


def test_functions_that_are_fused_alike_are_one() -> None:
    x = relay.var("x", shape=(1, 1, 5, 5))
    y = relay.nn.conv2d(x, relay.var("w1"), kernel_size=(3, 3), padding=(1, 1), channels=1)
    parts = [
        relay.nn.conv2d(y, relay.var(name), kernel_size=(3, 3), padding=(1, 1), channels=1) for name in ("a", "b", "c")
    ]
    mod = tvm.IRModule.from_expr(relay.add(parts[2], relay.add(parts[0], parts[1])))
    kernels: dict[int, Any] = {**relay.analysis.extract_fused_functions(mod)}
    assert sorted(each.body.op.name for each in kernels.values()) == ["add", "nn.conv2d"]
    assert all(relay.analysis.structural_hash(each) == number for number, each in kernels.items())


# Passes


def test_passes_that_combine_others() -> None:
    x, *weights = (relay.var(name, shape=(4, 4)) for name in "xabc")
    products = relay.Tuple([relay.nn.dense(x, each) for each in weights])
    mod = tvm.IRModule.from_expr(relay.Function([x, *weights], products))
    with tvm.transform.PassContext(opt_level=4):
        combined = relay.transform.BatchingOps()(relay.transform.InferType()(mod))
    assert "nn.dense" not in relay.analysis.list_op_freqs(combined)
    assert relay.analysis.list_op_freqs(combined)["nn.batch_matmul"] == 1


def test_first_order_gradients_of_all_functions() -> None:
    mod = tvm.IRModule.from_expr(double("x"))
    changed = relay.transform.FirstOrderGradient()(mod)
    value, (gradient,) = relay.create_executor("graph", changed).evaluate()(np.ones((2, 3), "float32"))
    np.testing.assert_array_equal(value.numpy(), np.full((2, 3), 2))
    np.testing.assert_array_equal(gradient.numpy(), np.full((2, 3), 2))


def test_an_expression_is_bound_part_by_part() -> None:
    x = relay.var("x", shape=(2,))
    bound = relay.transform.ToANormalFormExpr(relay.exp(x) + x)
    assert isinstance(bound, relay.Let)
    assert isinstance(bound.body, relay.Let)
    func = relay.transform.ToANormalFormExpr(double("x"))
    assert isinstance(func, relay.Function)
    assert isinstance(func.body, relay.Let)


def test_another_layout_or_window_of_sparse_convolutions_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"Conv2dToSparse: layout 'CHWN', expected NCHW or NHWC"):
        relay.transform.Conv2dToSparse([], [], "CHWN", 1)
    with pytest.raises(UnsupportedError, match=r"Conv2dToSparse2: sparse convolutions with windows of 3"):
        relay.transform.Conv2dToSparse2("NCHW", 3, (8, 1), 0.5)
