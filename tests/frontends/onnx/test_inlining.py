"""Inlining of the functions of a model, and expansion of operators by ONNX's definitions."""

from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from stepwell.frontends.onnx import OnnxError, OnnxNode, TensorType, expand_node, load_model  # noqa: E402

OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]


def function(name: str, inputs: list[str], outputs: list[str], nodes: list[Any], **more: Any) -> Any:
    return helper.make_function("mine", name, inputs, outputs, nodes, OPSETS, **more)


def model(nodes: list[Any], functions: list[Any]) -> Any:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, opset_imports=OPSETS, functions=functions, ir_version=10)


def call(name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(name, inputs, outputs, domain="mine", **attributes)


def shown(nodes: Any) -> list[str]:
    return [f"{', '.join(node.outputs)} = {node.op_type}({', '.join(node.inputs)})" for node in nodes]


TWICE = function(
    "Twice",
    ["a"],
    ["b"],
    [helper.make_node("Neg", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])],
)


def test_each_call_has_local_values_of_its_own() -> None:
    graph = load_model(model([call("Twice", ["x"], ["m"]), call("Twice", ["m"], ["y"])], [TWICE]))
    assert shown(graph.nodes) == [
        "m/Twice/t = Neg(x)",
        "m = Neg(m/Twice/t)",
        "y/Twice/t = Neg(m)",
        "y = Neg(y/Twice/t)",
    ]


def test_functions_call_functions() -> None:
    outer = function("Outer", ["p"], ["q"], [call("Twice", ["p"], ["q"])])
    graph = load_model(model([call("Outer", ["x"], ["y"])], [outer, TWICE]))
    assert shown(graph.nodes) == ["y/Twice/t = Neg(x)", "y = Neg(y/Twice/t)"]


def leaky() -> Any:
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    node.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    return node


def test_attributes_come_from_the_caller_the_function_or_are_left_out() -> None:
    nodes = [call("Leaky", ["x"], ["y"], slope=0.5)]
    assert load_model(model(nodes, [function("Leaky", ["a"], ["b"], [leaky()], attributes=["slope"])])).nodes[
        0
    ].attributes == {"alpha": 0.5}
    nodes = [call("Leaky", ["x"], ["y"])]
    assert (
        load_model(model(nodes, [function("Leaky", ["a"], ["b"], [leaky()], attributes=["slope"])])).nodes[0].attributes
        == {}
    )
    default = function("Leaky", ["a"], ["b"], [leaky()], attribute_protos=[helper.make_attribute("slope", 0.25)])
    assert load_model(model(nodes, [default])).nodes[0].attributes == {"alpha": 0.25}


def test_an_input_that_a_function_hands_through_is_an_identity() -> None:
    graph = load_model(model([call("Same", ["x"], ["y"])], [function("Same", ["a"], ["a"], [])]))
    assert shown(graph.nodes) == ["y = Identity(x)"]


def test_names_inside_of_subgraphs_follow() -> None:
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, [3])
    branches: dict[str, Any] = {
        name: helper.make_graph([helper.make_node("Neg", ["a"], ["r"])], name, [], [result])
        for name in ("then_branch", "else_branch")
    }
    constant = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("", TensorProto.BOOL, [], [True]))
    choice = helper.make_node("If", ["c"], ["b"], **branches)
    graph = load_model(model([call("Choice", ["x"], ["y"])], [function("Choice", ["a"], ["b"], [constant, choice])]))
    assert [shown(inner.nodes) for inner in graph.nodes[1].subgraphs] == [["y/Choice/r = Neg(x)"]] * 2


def test_a_function_sees_nothing_of_its_caller() -> None:
    with pytest.raises(OnnxError, match="'y/Bad/x' is no input"):
        load_model(
            model([call("Bad", ["x"], ["y"])], [function("Bad", ["a"], ["b"], [helper.make_node("Neg", ["x"], ["b"])])])
        )


def test_a_function_that_calls_itself_is_an_error() -> None:
    one = function("One", ["a"], ["b"], [call("Two", ["a"], ["b"])])
    two = function("Two", ["a"], ["b"], [call("One", ["a"], ["b"])])
    with pytest.raises(OnnxError, match="a function that calls itself"):
        load_model(model([call("One", ["x"], ["y"])], [one, two]))


def test_a_call_with_too_many_operands_is_an_error() -> None:
    with pytest.raises(OnnxError, match=r"the node of 'y' \(mine.Twice\): function 'Twice' has 1 inputs, got 2"):
        load_model(model([call("Twice", ["x", "x"], ["y"])], [TWICE]))


def test_two_functions_of_one_name_are_an_error() -> None:
    with pytest.raises(OnnxError, match="there are two functions 'Twice' of domain 'mine'"):
        load_model(model([call("Twice", ["x"], ["y"])], [TWICE, TWICE]))


# ONNX's definitions

X = TensorType("float32", ("n", 3))


def test_an_operator_is_expanded_by_its_definition() -> None:
    node = OnnxNode("HardSwish", ("x",), ("y",), version=22)
    nodes = expand_node(node, [X], {"": 22})
    assert nodes is not None
    assert shown(nodes) == ["y/HardSwish/HS_X = HardSigmoid(x)", "y = Mul(x, y/HardSwish/HS_X)"]
    assert nodes[0].attributes == {"alpha": pytest.approx(1 / 6), "beta": 0.5}


def test_a_definition_may_hang_on_types_and_on_operands_that_are_left_out() -> None:
    node = OnnxNode("Clip", ("x", "", "h"), ("y",), version=13)
    nodes = expand_node(node, [X, None, TensorType("float32", ())], {"": 13})
    assert nodes is not None
    assert [node.op_type for node in nodes] == ["Less", "Where"]


def test_defaults_of_attributes_are_given_to_a_definition() -> None:
    nodes = expand_node(OnnxNode("Selu", ("x",), ("y",), version=22), [X], {"": 22})
    assert nodes is not None
    constants = [node.attributes for node in nodes if node.op_type == "Constant"]
    assert any(pytest.approx(1.67326, rel=1e-5) in given.values() for given in constants)


@pytest.mark.parametrize("op", ["Conv", "NoSuchOperator"])
def test_what_has_no_definition_is_not_expanded(op: str) -> None:
    assert expand_node(OnnxNode(op, ("x", "w"), ("y",), version=22), [X, None], {"": 22}) is None
