"""Loops, branches, sequences and optional values of programs: their results are those of ONNX's reference evaluator."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from stepwell import ArgumentError, ExecutionError, VirtualMachine, build_relax, parse_tvmscript  # noqa: E402
from stepwell.backends.cuda.emulation import compiler  # noqa: E402
from stepwell.backends.devices import nd  # noqa: E402
from stepwell.backends.interpreter import interpret  # noqa: E402
from stepwell.frontends.onnx import OnnxError, OnnxUnsupportedError, from_onnx  # noqa: E402
from stepwell.operators import relax  # noqa: E402

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node: Any = helper.make_node


def info(name: str, dtype: int, shape: Sequence[Any] | None) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def sequence(name: str, dtype: int, shape: Sequence[Any]) -> Any:
    return helper.make_tensor_sequence_value_info(name, dtype, shape)


def optional(name: str, dtype: int, shape: Sequence[Any]) -> Any:
    element = helper.make_tensor_type_proto(dtype, shape)
    return helper.make_value_info(name, helper.make_optional_type_proto(element))


def graph(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    named = [helper.make_empty_tensor_value_info(each) if isinstance(each, str) else each for each in outputs]
    return helper.make_graph(nodes, "g", inputs, named)


def model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str]) -> Any:
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph(nodes, inputs, outputs), opset_imports=[opset], ir_version=10)


def constants(**numbers: Any) -> list[Any]:
    """Nodes of constants by name, lists for those of one dimension."""
    kinds = {int: "value_int", float: "value_float", list: "value_ints"}
    return [node("Constant", [], [name], **{kinds[type(number)]: number}) for name, number in numbers.items()]


TRUE = node("Constant", [], ["true"], value=helper.make_tensor("true", BOOL, [], [True]))


def main_of(proto: Any) -> Any:
    return _compile(proto.SerializeToString())


@cache
def _compile(proto: bytes) -> Any:
    module = from_onnx(proto)
    assert isinstance(module.functions["main"], relax.FuncOp)
    module.verify()
    assert parse_tvmscript(module.script()).script() == module.script()
    return VirtualMachine(build_relax(module, opt_level=0))["main"]


def agree(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, list):
        assert isinstance(ours, tuple)
        for pair in zip(ours, theirs, strict=True):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            agree(*pair)
    elif theirs is None:
        assert ours is None
    else:
        assert ours.numpy().dtype == theirs.dtype
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5)


def check(proto: Any, *calls: Sequence[Any]) -> None:
    """Compares the results of calls of a program with those of the reference."""
    main = main_of(proto)
    reference: Any = ReferenceEvaluator(proto)
    for arrays in calls:
        expected = reference.run(None, dict(zip(reference.input_names, arrays, strict=True)))
        results = main(*arrays)
        agree(results if len(expected) > 1 else (results,), expected)


def random(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).uniform(-1, 1, shape).astype("float32")


def ints(number: int) -> Any:
    return np.array(number)


# Loops

GROWTH = graph(
    [
        node("Add", ["s", "step"], ["t"]),
        node("Concat", ["c", "t"], ["d"], axis=0),
        node("ReduceSum", ["t"], ["sum"], keepdims=0),
        node("Less", ["sum", "limit"], ["go"]),
        node("Mul", ["t", "t"], ["u"]),
    ],
    [info("i", INT, []), info("g", BOOL, []), info("s", FLOAT, ["n"]), info("c", FLOAT, ["m"])],
    ["go", "t", "d", "u"],
)
"""A state of one size, one that grows, and a collected value, up to a limit of a sum."""


def growth() -> Any:
    inputs = [info("k", INT, []), info("on", BOOL, []), info("x", FLOAT, ["n"]), info("step", FLOAT, [1])]
    return model(
        [node("Loop", ["k", "on", "x", "x"], ["s", "c", "v"], body=GROWTH)],
        [*inputs, info("limit", FLOAT, [])],
        ["s", "c", "v"],
    )


def test_loops_with_computed_trip_counts_and_conditions() -> None:
    x, step = random(3), np.ones(1, "float32")
    limits = [np.array(limit, "float32") for limit in (1e9, 7.5)]
    check(growth(), *((np.array(4), np.array(True), x, step, limit) for limit in limits))

    for count, goes in ((0, True), (5, False)):
        state, grown, collected = main_of(growth())(np.array(count), np.array(goes), x, step, limits[0])
        np.testing.assert_array_equal(state.numpy(), x)
        assert (grown.shape, collected.shape) == ((3,), (0, 3))


def test_the_interpreter_executes_loops() -> None:
    module = from_onnx(growth())
    arguments = [np.array(4), np.array(True), random(3), np.ones(1, "float32"), np.array(7.5, "float32")]
    expected = main_of(growth())(*arguments)
    for got, each in zip(interpret(module, "main", arguments), expected, strict=True):
        np.testing.assert_array_equal(got, each.numpy())


def test_loops_use_sizes_of_the_function_around_them() -> None:
    """A loop in a loop; the inner body uses the number of rows of `x` as a value, and a constant array."""
    inner = graph(
        [
            node("Shape", ["x"], ["shape"]),
            node("Gather", ["shape", "zero"], ["rows"]),
            node("Cast", ["rows"], ["count"], to=FLOAT),
            node("Add", ["q", "count"], ["q1"]),
            node("Add", ["q1", "w"], ["q2"]),
            node("Identity", ["h"], ["h2"]),
        ],
        [info("j", INT, []), info("h", BOOL, []), info("q", FLOAT, [2])],
        ["h2", "q2"],
    )
    outer = graph(
        [node("Loop", ["m", "true", "p"], ["p2"], body=inner), node("Identity", ["g"], ["g2"])],
        [info("i", INT, []), info("g", BOOL, []), info("p", FLOAT, [2])],
        ["g2", "p2"],
    )
    weights = helper.make_tensor("w", FLOAT, [2], [0.5, -0.25])
    nodes = [*constants(zero=0), node("Constant", [], ["w"], value=weights), TRUE]
    nodes.append(node("Loop", ["k", "true", "y"], ["z"], body=outer))
    inputs = [info("k", INT, []), info("m", INT, []), info("x", FLOAT, ["n", 1]), info("y", FLOAT, [2])]
    check(model(nodes, inputs, ["z"]), (ints(2), ints(3), random(5, 1), random(2)))


def test_the_condition_of_a_loop_may_be_computed_from_its_state() -> None:
    body = graph(
        [node("Mul", ["s", "s"], ["t"]), node("Less", ["t", "limit"], ["go"])],
        [info("i", INT, []), info("g", BOOL, []), info("s", FLOAT, [])],
        ["go", "t"],
    )
    nodes = [TRUE, node("Loop", ["", "true", "x"], ["y"], body=body)]
    proto = model(nodes, [info("x", FLOAT, []), info("limit", FLOAT, [])], ["y"])
    check(proto, *((np.array(x, "float32"), np.array(1e6, "float32")) for x in (3, 1e4)))
    if compiler() is not None:
        vm = VirtualMachine(build_relax(from_onnx(proto), "cuda-emulated"))
        numbers = [nd.array(np.array(x, "float32"), vm.device) for x in (3, 1e6)]
        assert vm["main"](*numbers).numpy() == 3**16


def test_a_loop_of_many_rounds_is_not_unrolled() -> None:
    body = graph(
        [node("Add", ["s", "x"], ["t"]), node("Identity", ["g"], ["h"])],
        [info("i", INT, []), info("g", BOOL, []), info("s", FLOAT, [])],
        ["h", "t"],
    )
    nodes = [*constants(n=3000), node("Loop", ["n", "", "x"], ["y"], body=body)]
    np.testing.assert_allclose(main_of(model(nodes, [info("x", FLOAT, [])], ["y"]))(np.float32(0.5)), 1500.5)


@pytest.mark.parametrize("direction", [0, 1])
def test_scans_of_unknown_length(direction: int) -> None:
    body = graph(
        [node("Add", ["s", "row"], ["t"]), node("Exp", ["t"], ["u"])],
        [info("s", FLOAT, [2]), info("row", FLOAT, [2])],
        ["t", "u"],
    )
    attributes = {"num_scan_inputs": 1, "scan_input_axes": [1], "scan_input_directions": [direction]}
    attributes |= {"scan_output_axes": [1], "scan_output_directions": [1 - direction]}
    proto = model(
        [node("Scan", ["s0", "x"], ["s", "v"], body=body, **attributes)],
        [info("s0", FLOAT, [2]), info("x", FLOAT, [2, "n"])],
        ["s", "v"],
    )
    state, x = random(2), random(2, 4)
    got = main_of(proto)(state, x)
    sums = state[:, None] + np.cumsum(x[:, ::-1] if direction else x, axis=1)
    expected = sums[:, -1], np.exp(sums)[:, :: 1 if direction else -1]
    for ours, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5)


def test_states_of_several_ranks_are_not_supported() -> None:
    body = graph(
        [*constants(first=[0]), node("Unsqueeze", ["s", "first"], ["t"]), node("Identity", ["g"], ["h"])],
        [info("i", INT, []), info("g", BOOL, []), info("s", FLOAT, None)],
        ["h", "t"],
    )
    proto = model([node("Loop", ["k", "", "x"], ["y"], body=body)], [info("k", INT, []), info("x", FLOAT, [2])], ["y"])
    with pytest.raises(OnnxUnsupportedError, match="a tensor whose number of dimensions is known only when the model"):
        from_onnx(proto)


# Branches


def test_branches_of_several_shapes() -> None:
    branches = {
        "then_branch": graph([node("Concat", ["x", "x"], ["a"], axis=0)], [], ["a"]),
        "else_branch": graph([node("NonZero", ["x"], ["p"]), node("Cast", ["p"], ["b"], to=FLOAT)], [], ["b"]),
    }
    nodes = [node("If", ["c"], ["y"], **branches), node("Exp", ["y"], ["z"])]
    proto = model(nodes, [info("c", BOOL, []), info("x", FLOAT, ["n", 3])], ["z"])
    check(proto, *((np.array(c), np.eye(2, 3, dtype="float32")) for c in (True, False)))


def test_branches_may_give_sequences_or_nothing() -> None:
    kind = helper.make_optional_type_proto(helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, ["n"])))
    branches = {
        "then_branch": graph([node("SequenceConstruct", ["x", "y"], ["s"]), node("Optional", ["s"], ["o"])], [], ["o"]),
        "else_branch": graph([node("Optional", [], ["o"], type=kind)], [], ["o"]),
    }
    nodes = [node("If", ["c"], ["o"], **branches), node("OptionalHasElement", ["o"], ["has"])]
    main = main_of(model(nodes, [info("c", BOOL, []), info("x", FLOAT, [2]), info("y", FLOAT, [3])], ["o", "has"]))
    x, y = random(2), random(3)
    (first, second), present = main(np.array(True), x, y)
    assert present.numpy()
    agree((first, second), [x, y])
    nothing, present = main(np.array(False), x, y)
    assert (nothing, bool(present.numpy())) == (None, False)


# Sequences and optional values


def test_sequences_with_computed_positions() -> None:
    nodes = [
        node("SequenceInsert", ["s", "x", "i"], ["t"]),
        node("SequenceErase", ["t", "j"], ["u"]),
        node("SequenceAt", ["t", "j"], ["a"]),
        node("SequenceLength", ["u"], ["n"]),
        node("Add", ["a", "x"], ["y"]),
    ]
    inputs = [sequence("s", FLOAT, ["n"]), info("x", FLOAT, [1]), info("i", INT, []), info("j", INT, [])]
    given = [random(2), random(3), random(1)]
    x, main = random(1), main_of(model(nodes, inputs, ["t", "u", "n", "y"]))
    for i, j in ((0, 1), (3, -4), (-1, 2)):
        inserted = [*given]
        inserted.insert(i, x)
        erased = [*inserted]
        del erased[j]
        agree(main(given, x, np.array(i), np.array(j)), [inserted, erased, np.array(3), inserted[j] + x])


@pytest.mark.parametrize(("keeps", "is_new"), [(1, 0), (0, 1)])
def test_parts_of_computed_number(keeps: int, is_new: int) -> None:
    """All parts of an axis of unknown extent, squared by a map, and put together again."""
    body = graph([node("Mul", ["a", "a"], ["b"])], [info("a", FLOAT, None)], ["b"])
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=keeps),
        node("SequenceMap", ["s"], ["t"], body=body),
        node("ConcatFromSequence", ["t"], ["y"], axis=1, new_axis=is_new),
    ]
    x = random(3, 4)
    main = main_of(model(nodes, [info("x", FLOAT, [3, "n"])], ["y"]))
    np.testing.assert_array_equal(main(x).numpy(), x * x)


@pytest.mark.parametrize("sizes", [2, 3, [1, 0, 3]])
def test_parts_of_computed_sizes(sizes: Any) -> None:
    array = np.array(sizes)
    proto = model(
        [node("SplitToSequence", ["x", "n"], ["s"], axis=-1)],
        [info("x", FLOAT, [2, 4]), info("n", INT, array.shape)],
        ["s"],
    )
    ends = np.cumsum(array)[:-1] if array.ndim else np.arange(sizes, 4, sizes)
    agree(main_of(proto)(random(2, 4), array), np.split(random(2, 4), ends, 1))


def test_optional_inputs() -> None:
    branches = {
        "then_branch": graph([node("OptionalGetElement", ["o"], ["a"])], [], ["a"]),
        "else_branch": graph([node("Neg", ["x"], ["b"])], [], ["b"]),
    }
    nodes = [node("OptionalHasElement", ["o"], ["has"]), node("If", ["has"], ["y"], **branches)]
    main = main_of(model(nodes, [optional("o", FLOAT, ["n"]), info("x", FLOAT, [2])], ["y"]))
    x, other = random(2), random(3)
    np.testing.assert_array_equal(main(None, x).numpy(), -x)
    np.testing.assert_array_equal(main(other, x).numpy(), other)


def test_invalid_sequences_are_errors_of_the_call() -> None:
    nodes = [node("SequenceAt", ["s", "i"], ["y"])]
    main = main_of(model(nodes, [sequence("s", FLOAT, [2]), info("i", INT, [])], ["y"]))
    for arguments, error, words in [
        (([random(2)], np.array(1)), ExecutionError, "position 1 in a sequence of 1"),
        ((random(2), np.array(0)), ExecutionError, "a value of type ndarray, expected a sequence"),
        (([random(3)], np.array(0)), ArgumentError, r"float32 of shape \(3,\), expected float32\[2\]"),
    ]:
        with pytest.raises(error, match=words):
            main(*arguments)


def test_a_sequence_is_no_tensor() -> None:
    with pytest.raises(OnnxError, match=r"operand 0 is of type sequence\(float32\[\?\]\), expected a tensor"):
        from_onnx(model([node("Exp", ["s"], ["y"])], [sequence("s", FLOAT, ["n"])], ["y"]))
