"""Helpers of tests and courses: `tvm.relax.testing`."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError
from stepwell.core.errors import ArgumentError
from stepwell.frontends.tvm import relax, relay, tir
from stepwell.frontends.tvm.relax import testing
from stepwell.frontends.tvm.relax.testing import nn, relay_translator

RNG = np.random.default_rng(0)


def run(mod: Any, *arrays: Any) -> Any:
    return relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())["main"](*arrays).numpy()


def test_layers_emit_operations() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main"):
        model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3, bias=False), nn.LogSoftmax())
        data = nn.Placeholder((tir.Var("n", "int64"), 6), name="data")
        builder.emit_func_output(model(data), params=[data, *model.parameters()])
    mod = builder.get()
    names = ["data", "linear_weight", "linear_bias", "linear_weight1"]
    assert [param.name_hint for param in mod["main"].params] == names
    assert [each.shape for each in nn.init_params(mod)] == [(6, 4), (4,), (4, 3)]
    x, w, b, v = (RNG.standard_normal(shape).astype("float32") for shape in ((2, 6), (6, 4), (4,), (4, 3)))
    hidden = np.maximum(x @ w + b, 0) @ v
    expected = hidden - np.log(np.exp(hidden).sum(-1, keepdims=True))
    np.testing.assert_allclose(run(mod, x, w, b, v), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ArgumentError, match=r"expected a call within BlockBuilder\.function"):
        nn.emit(data)


def test_a_graph_becomes_a_program() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    weight = RNG.standard_normal((4, 3)).astype("float32")
    graph = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))
    mod = relay_translator.from_relay(graph, "llvm", {"w": weight})
    values = RNG.standard_normal((2, 3)).astype("float32")
    np.testing.assert_allclose(run(mod, values), np.maximum(values @ weight.T, 0), rtol=1e-4, atol=1e-5)


def test_products_of_matrices() -> None:
    mod = testing.get_relax_matmul_module(
        (4, 4), (4, 4), "float32", transposed_y=True, bias_shape=(4,), activation=relax.op.nn.relu,
        residual_bin_op=relax.op.add,
    )  # fmt: skip
    x, y = RNG.standard_normal((2, 4, 4)).astype("float32")
    bias = RNG.standard_normal(4).astype("float32")
    expected = np.maximum(x @ y.T + bias, 0) + x
    np.testing.assert_allclose(run(mod, x, y, bias), expected, rtol=1e-4, atol=1e-5)


def test_functions_are_saved_with_their_arguments() -> None:
    mod = testing.get_relax_matmul_module((2, 2), (2, 2), "float32")
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    x = np.eye(2, dtype="float32")
    assert (testing.vm.check_saved_func(machine, "main", x, 2 * x).numpy() == 2 * x).all()
    assert machine.module is machine
    machine.save_function("main", "quiet", x, x, include_return=False)
    assert machine["quiet"]() is None
    add = tvm.get_global_func("test.vm.add")
    assert add is not None
    assert (add(tvm.nd.array(x), tvm.nd.array(x)).numpy() == 2 * x).all()


def test_programs_are_written_as_their_nodes() -> None:
    x, builder = relax.Var("x", relax.TensorStructInfo((2, 3), "float32")), relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(relax.op.add(x, x))
        builder.emit_func_output(y)
    func = builder.get()["main"]
    text = relax.testing.dump_ast(func)
    assert text.startswith('Function(\n    params=[\n        Var(\n            name_hint="')
    assert 'op=Op(name="relax.add")' in text
    assert "struct_info=ShapeStructInfo(" in text
    (binding, *_) = func.body.blocks[0].bindings
    short = relax.testing.dump_ast(binding, "  ", include_struct_info_annotations=False, include_call_attrs=False)
    assert short.splitlines()[0] == "VarBinding("
    assert short.splitlines()[2:4] == ["  value=Call(", '    op=Op(name="relax.add"),']
    one = relax.testing.dump_ast(relax.const(1.5), include_struct_info_annotations=False)
    shape = relax.testing.dump_ast(relax.ShapeExpr([1, 2]), include_struct_info_annotations=False)
    assert (one, shape.splitlines()[0], shape.splitlines()[1]) == (
        "Constant(data=1.5)",
        "ShapeExpr(",
        "    values=[",
    )
    with pytest.raises(OptionError, match="include_type_annotations, expected False"):
        relax.testing.dump_ast(func, include_type_annotations=True)
    with pytest.raises(OptionError, match="dump_ast of int, expected an expression of relax"):
        relax.testing.dump_ast(3)
