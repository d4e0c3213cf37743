"""Visitors and mutators of graphs, passes written with them, and conversions of layouts."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError
from stepwell.backends.interpreter import interpret
from stepwell.frontends.tvm import relay


def image_net() -> tuple[tvm.IRModule, dict[str, np.ndarray[Any, Any]]]:
    x = relay.var("x", shape=(1, 4, 6, 6))
    w, b = (relay.var(name, shape=shape) for name, shape in (("w", (4, 2, 3, 3)), ("b", (4, 4, 1, 1))))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=1, groups=2))
    y = relay.nn.max_pool2d(relay.nn.conv2d(y, b), pool_size=2, strides=2)
    inputs = {
        name: np.random.default_rng(n).random(shape).astype("float32")
        for n, (name, shape) in enumerate((("x", (1, 4, 6, 6)), ("w", (4, 2, 3, 3)), ("b", (4, 4, 1, 1))))
    }
    return tvm.IRModule.from_expr(relay.Function([x, w, b], y)), inputs


def run(mod: tvm.IRModule, inputs: dict[str, Any]) -> np.ndarray[Any, Any]:
    return relay.create_executor("graph", mod=mod).evaluate()(**inputs).numpy()


def test_a_graph_of_a_module_is_an_expression_with_types() -> None:
    mod, inputs = image_net()
    func = mod["main"]
    assert isinstance(func, relay.Function)
    assert str(func.body.checked_type) == "Tensor[(1, 4, 3, 3), float32]"
    assert isinstance(func.body, relay.Call)
    assert func.body.attrs["pool_size"] == 2
    assert relay.analysis.list_op_freqs(func) == {"nn.conv2d": 2, "nn.relu": 1, "nn.max_pool2d": 1}
    again = tvm.IRModule({"main": func})
    np.testing.assert_array_equal(run(again, inputs), run(mod, inputs))


def test_a_visitor_sees_each_node_once_operands_first() -> None:
    x = relay.var("x", shape=(3,))
    y = relay.exp(x)
    order: list[Any] = []
    relay.analysis.post_order_visit(relay.Function([x], y + y), order.append)
    names = [getattr(node, "name", getattr(node, "name_hint", type(node).__name__)) for node in order]
    assert names == ["x", "add", "exp", "Call", "Call", "Function"]

    class Names(relay.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def visit_op(self, op: Any) -> None:
            self.seen.append(op.name)

    names_seen = Names()
    names_seen.visit(relay.Function([x], y + y))
    assert names_seen.seen == ["add", "exp"]


def test_a_mutator_in_a_function_pass_changes_a_module() -> None:
    @relay.transform.function_pass(opt_level=1)
    class Scale:
        def __init__(self, factor: float):
            self.factor = factor

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            factor = relay.const(self.factor)

            class Replace(relay.ExprMutator):
                def visit_constant(self, const: Any) -> Any:
                    return relay.multiply(factor, const)

            return Replace().visit(func)

    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + relay.const(np.array([1, 2, 3], "float32"))))
    scale = Scale(3.0)
    assert (scale.info.name, scale.info.opt_level, scale.factor) == ("Scale", 1, 3.0)
    assert (run(scale(mod), {"x": np.zeros(3, "float32")}) == [3, 6, 9]).all()
    assert (run(mod, {"x": np.zeros(3, "float32")}) == [1, 2, 3]).all()


def test_a_class_without_the_method_is_no_pass() -> None:
    with pytest.raises(OptionError, match="class Empty has no method transform_module"):

        @tvm.transform.module_pass(opt_level=0)
        class Empty:
            pass


def test_functions_of_a_module_call_one_another() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    inner = relay.GlobalVar("inner")
    call = relay.Call(inner, [y])
    assert isinstance(call, relay.Call)
    mod = tvm.IRModule({inner: relay.Function([x], relay.exp(x)), relay.GlobalVar("main"): relay.Function([y], call)})
    assert mod["main"].body.op.name_hint == "inner"
    mod["inner"] = relay.Function([x], x + x)
    assert (run(mod, {"y": np.ones(2, "float32")}) == 2).all()


def test_bound_parameters_of_a_function_are_constants() -> None:
    mod, inputs = image_net()
    bound = relay.build_module.bind_params_by_name(mod["main"], {name: inputs[name] for name in ("w", "b")})
    assert [param.name_hint for param in bound.params] == ["x"]
    expected = run(mod, inputs)
    mod["main"] = bound
    np.testing.assert_array_equal(run(mod, {"x": inputs["x"]}), expected)


@pytest.mark.parametrize("layouts", [["NHWC", "HWIO"], ["NHWC", "default"], ["NCHW", "default"]])
def test_converted_layouts_keep_the_result(layouts: list[str]) -> None:
    mod, inputs = image_net()
    with tvm.transform.PassContext(opt_level=3):
        converted = relay.transform.ConvertLayout({"nn.conv2d": layouts, "nn.max_pool2d": layouts[:1]})(mod)
    layouts_used: set[str] = set()
    relay.analysis.post_order_visit(
        converted["main"],
        lambda node: (
            layouts_used.add(node.attrs.get("data_layout", "NCHW"))
            if isinstance(node, relay.Call) and node.op.name == "nn.conv2d"
            else None
        ),
    )
    assert layouts_used == {layouts[0]}
    expected = interpret(mod, "main", [inputs[name] for name, _ in mod.function_ops["main"].params])
    np.testing.assert_allclose(run(converted, inputs), expected, rtol=1e-5, atol=1e-6)


def test_a_layout_of_other_dimensions_is_an_error() -> None:
    with pytest.raises(OptionError, match="layout NCDHW of a tensor in layout NCHW"):
        relay.transform.ConvertLayout({"nn.conv2d": ["NCDHW"]}).transform_module(
            image_net()[0], tvm.transform.PassContext()
        )
    with pytest.raises(OptionError, match="'exp' is no operator with a layout"):
        relay.transform.ConvertLayout({"exp": ["NHWC"]}).transform_module(image_net()[0], tvm.transform.PassContext())
