"""Graphs in an `IRModule` as the user wrote them."""

import numpy as np

from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.transforms.relay.eliminate_dead_code import RelayEliminateDeadCodePass


def bound_sum() -> relay.Function:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y")
    return relay.Function([x], relay.Let(y, x + relay.const(1.0), relay.Tuple([y + 2.0, y])))


def test_a_module_keeps_bindings_and_tuples() -> None:
    mod = tvm.IRModule.from_expr(bound_sum())
    assert isinstance(mod["main"].body, relay.Let)
    assert tvm.ir.structural_equal(mod["main"], bound_sum())


def test_types_are_those_of_the_nodes_as_written() -> None:
    func = relay.transform.InferType()(tvm.IRModule.from_expr(bound_sum()))["main"]
    tensor = relay.TensorType((2, 3))
    assert func.body.var.checked_type == tensor
    assert func.ret_type == func.checked_type.ret_type == relay.TupleType([tensor, tensor])


def test_functions_that_join_a_module_leave_the_others_as_written() -> None:
    mod = tvm.IRModule({"main": bound_sum()})
    x = relay.var("x", shape=(2,))
    mod["other"] = relay.Function([x], x)
    assert isinstance(mod["main"].body, relay.Let)


def test_a_function_whose_operations_change_is_read_again() -> None:
    mod = tvm.IRModule.from_expr(bound_sum())
    simple = tvm.transform.Sequential([RelayEliminateDeadCodePass()])(mod)
    assert not isinstance(simple["main"].body, relay.Let)
    next(op for op in mod.function_ops["main"].walk() if op.name == "relay.return").detach()
    assert not mod.is_written


def test_numbers_beside_tensors_have_their_data_type() -> None:
    x = relay.var("x", shape=(2,), dtype="float16")
    constant = tvm.IRModule.from_expr(relay.Function([x], x * 2.0))["main"].body.args[1]
    assert constant.array.dtype == np.float16
