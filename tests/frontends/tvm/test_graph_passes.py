"""Passes on graphs as the user wrote them: mixed precision, composite functions, normal forms."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.interpreter import interpret
from stepwell.core.errors import OptionError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay import transform
from stepwell.frontends.tvm.relay.analysis import Feature, check_basic_block_normal_form, detect_feature
from stepwell.frontends.tvm.relay.dataflow_pattern import is_op, wildcard
from stepwell.frontends.tvm.relay.testing import count_ops, run_infer_type, run_opt_pass


def variable(name: str, *shape: int) -> relay.Var:
    return relay.var(name, shape=shape)


def run(func: relay.Function, *args: np.ndarray) -> Any:
    return relay.create_executor().evaluate(func)(*args)


def is_equal(got: relay.Function, wanted: relay.Function) -> bool:
    return tvm.ir.structural_equal(got, run_infer_type(wanted))


# Mixed precision


def test_products_are_narrow_and_softmax_is_not() -> None:
    x, w = variable("x", 2, 4), variable("w", 4, 4)
    before = relay.Function([x, w], relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w))))
    narrow = [relay.cast(each, "float16") for each in (x, w)]
    product = relay.nn.relu(relay.nn.dense(*narrow, out_dtype="float16"))
    after = run_opt_pass(before, transform.ToMixedPrecision())
    assert is_equal(after, relay.Function([x, w], relay.nn.softmax(relay.cast(product, "float32"))))
    arrays = [np.random.default_rng(0).random(shape, "float32") for shape in ((2, 4), (4, 4))]
    np.testing.assert_allclose(run(after, *arrays).numpy(), run(before, *arrays).numpy(), rtol=1e-2)


def test_results_keep_their_data_types_on_request() -> None:
    x, w = variable("x", 2, 4), variable("w", 4, 4)
    product = relay.nn.dense(x, w)
    before = relay.Function([x, w], relay.Tuple([product, relay.nn.relu(product)]))
    assert {each.dtype for each in run_opt_pass(before, transform.ToMixedPrecision()).ret_type.fields} == {"float16"}
    with tvm.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        kept = run_opt_pass(before, transform.ToMixedPrecision())
    assert {each.dtype for each in kept.ret_type.fields} == {"float32"}


def test_an_operator_without_a_rule_is_an_error_on_request() -> None:
    x = variable("x", 4)
    func = relay.Function([x], relay.sort(x))
    with pytest.raises(OptionError, match="operator sort has no rule"):
        run_opt_pass(func, transform.ToMixedPrecision("float16", 0))
    with pytest.raises(OptionError, match="'int8', expected floats"):
        run_opt_pass(func, transform.ToMixedPrecision("int8"))


# Composite functions


def test_matches_become_composite_functions() -> None:
    x, y = variable("x", 3), variable("y", 3)
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    before = relay.Function([x, y], relay.nn.relu(relay.add(relay.nn.relu(x + y), y)))
    after = run_opt_pass(before, transform.MergeComposite([("add_relu", pattern)]))
    inner = after.body.op
    assert (inner.attrs["Composite"], inner.attrs["PartitionedFromPattern"]) == ("add_relu", "add_nn.relu_")
    assert count_ops(inner) == {"add": 1, "nn.relu": 1}
    arrays = [np.array([1, -2, 3], "float32"), np.array([-3, 1, 1], "float32")]
    np.testing.assert_array_equal(run(after, *arrays).numpy(), run(before, *arrays).numpy())
    kept = run_opt_pass(before, transform.MergeComposite([("add_relu", pattern, lambda match: False)]))
    assert is_equal(kept, before)


# Normal forms


def shared_in_branches() -> relay.Function:
    x, y = variable("x", 3), variable("y", 3)
    both = relay.exp(x)
    condition = relay.sum(y) > relay.const(0.0)
    return relay.Function([x, y], relay.If(condition, both + y, both * both))


def test_each_expression_has_a_variable_in_a_normal_form() -> None:
    func = shared_in_branches()
    normal = run_opt_pass(func, transform.ToANormalForm())
    assert Feature.fLet not in detect_feature(func)
    assert {Feature.fLet, Feature.fIf} <= detect_feature(normal)
    assert Feature.fGraph not in detect_feature(normal)
    back = run_opt_pass(normal, transform.ToGraphNormalForm())
    assert is_equal(back, func)


def test_basic_blocks_bind_what_branches_share() -> None:
    func = shared_in_branches()
    with pytest.raises(OptionError, match=r"exp\(%x\) is computed in several scopes"):
        check_basic_block_normal_form(func)
    blocks = run_opt_pass(func, transform.ToBasicBlockNormalForm())
    assert check_basic_block_normal_form(blocks)
    assert isinstance(blocks.body, relay.Let)
    assert isinstance(blocks.body.body, relay.If)
    for y in (np.ones(3, "float32"), -np.ones(3, "float32")):
        x = np.arange(3, dtype="float32")
        np.testing.assert_allclose(run(blocks, x, y).numpy(), run(func, x, y).numpy())


def test_bindings_of_the_user_keep_their_order() -> None:
    x, a, b = variable("x", 3), relay.var("a"), relay.var("b")
    func = relay.Function([x], relay.Let(a, relay.exp(x), relay.Let(b, a + a, b * a)))
    normal = run_infer_type(run_opt_pass(func, transform.ToANormalForm()))
    names = []
    body = normal.body
    while isinstance(body, relay.Let):
        names.append(body.var.name_hint)
        body = body.body
    assert names[:2] == ["a", "b"]
    np.testing.assert_allclose(run(normal, np.ones(3, "float32")).numpy(), 2 * np.exp(1) ** 2 * np.ones(3), rtol=1e-6)


def test_types_fill_annotations_that_are_left_out() -> None:
    x, bound = variable("x", 3), relay.Var("bound", relay.IncompleteType())
    func = run_infer_type(relay.Function([x], relay.Let(bound, x + x, bound)))
    assert func.body.var.type_annotation == relay.TensorType((3,))


# Products that share an operand, and padding


def is_same(before: relay.Function, after: relay.Function, *shapes: tuple[int, ...]) -> None:
    """Asserts that a compiled graph returns the tuple that numpy computes for another graph."""
    arrays = [np.random.default_rng(n).random(shape, "float32") for n, shape in enumerate(shapes)]
    expected = interpret(tvm.IRModule.from_expr(before), "main", arrays)
    for got, wanted in zip(run(after, *arrays), expected, strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_products_of_one_operand_are_combined() -> None:
    x, w, v = variable("x", 2, 3), variable("w", 4, 3), variable("v", 5, 3)
    before = relay.Function([x, w, v], relay.Tuple([relay.nn.dense(x, w), relay.nn.dense(x, v)]))
    rows = run_opt_pass(before, transform.CombineParallelDense(2, to_batch=False))
    assert count_ops(rows) == {"concatenate": 1, "nn.dense": 1, "strided_slice": 2}
    is_same(before, rows, (2, 3), (4, 3), (5, 3))
    assert is_equal(run_opt_pass(before, transform.CombineParallelDense(2)), before)
    assert is_equal(run_opt_pass(before, transform.CombineParallelDense(3, to_batch=False)), before)


def test_a_product_of_the_result_of_another_stays() -> None:
    x, w = variable("x", 3, 3), variable("w", 3, 3)
    once = relay.nn.dense(x, w)
    before = relay.Function([x, w], relay.Tuple([once, relay.nn.dense(x, once)]))
    assert is_equal(run_opt_pass(before, transform.CombineParallelDense(2)), before)


def test_batches_and_convolutions_are_combined() -> None:
    x, y = variable("x", 2, 3, 4), variable("y", 2, 5, 4)
    products = [relay.nn.batch_matmul(x, y), relay.nn.batch_matmul(x, relay.exp(y))]
    batches = relay.Function([x, y], relay.Tuple(products))
    after = run_opt_pass(batches, transform.CombineParallelBatchMatmul(2))
    assert count_ops(after)["nn.batch_matmul"] == 1
    is_same(batches, after, (2, 3, 4), (2, 5, 4))
    image, weight, other = variable("image", 1, 2, 4, 4), variable("weight", 3, 2, 3, 3), variable("other", 2, 2, 3, 3)
    both = relay.Tuple([relay.nn.conv2d(image, each, padding=1) for each in (weight, other)])
    before = relay.Function([image, weight, other], both)
    after = run_opt_pass(before, transform.CombineParallelConv2D(2))
    assert count_ops(after)["nn.conv2d"] == 1
    is_same(before, after, (1, 2, 4, 4), (3, 2, 3, 3), (2, 2, 3, 3))


@pytest.mark.parametrize("value", [0.0, 1.0, float(np.finfo("float32").min)])
def test_padding_of_the_same_value_is_folded(value: float) -> None:
    x, w = variable("x", 1, 2, 5, 5), variable("w", 3, 2, 3, 3)
    padded = relay.nn.pad(x, [[0, 0], [0, 0], [1, 0], [2, 1]], value)
    convolution = relay.nn.conv2d(padded, w, padding=1)
    before = relay.Function([x, w], relay.Tuple([convolution, relay.nn.max_pool2d(padded, 3)]))
    after = run_opt_pass(before, transform.FoldExplicitPadding())
    operands = [each.args[0] is after.params[0] for each in after.body.fields]
    assert operands == [value == 0, value < 0]
    is_same(before, after, (1, 2, 5, 5), (3, 2, 3, 3))


def test_a_maximum_of_padding_alone_is_not_folded() -> None:
    """The least number that was padded is not minus infinity, which pools pad with."""
    x = variable("x", 1, 1, 4, 4)
    padded = relay.nn.pad(x, [[0, 0], [0, 0], [2, 0], [0, 0]], float(np.finfo("float32").min))
    before = relay.Function([x], relay.Tuple([relay.nn.max_pool2d(padded, 2)]))
    assert count_ops(run_opt_pass(before, transform.FoldExplicitPadding()))["nn.pad"] == 1


def test_products_are_counted() -> None:
    x, w, v = variable("x", 1, 4, 5, 5), variable("w", 6, 2, 3, 3), variable("v", 7, 150)
    flat = relay.nn.batch_flatten(relay.nn.conv2d(x, w, padding=1, groups=2))
    func = run_infer_type(relay.Function([x, w, v], relay.nn.dense(flat, v)))
    assert relay.analysis.get_total_mac_number(func) == 6 * 25 * 2 * 9 + 150 * 7


# Layouts


def test_operators_between_converted_ones_need_no_transposes() -> None:
    x, bias = variable("x", 1, 6, 6, 2), variable("bias", 4)
    weights = [variable("w", 3, 3, 2, 4), variable("v", 1, 1, 4, 3)]
    said = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    y = relay.nn.bias_add(relay.nn.conv2d(x, weights[0], padding=1, **said), bias, axis=3)
    y = relay.nn.max_pool2d(relay.nn.relu(y) * y, 2, layout="NHWC")
    parts = relay.split(relay.concatenate([y, relay.exp(y)], 3), 2, 3)
    y = relay.strided_slice(parts[1], [0, 1], [1, 5], axes=[0, 2]) + relay.const(1.0)
    y = relay.sum(relay.nn.conv2d(y, weights[1], **said), axis=[1, 2])
    before = relay.Function([x, bias, *weights], relay.Tuple([y, bias]))
    after = run_opt_pass(before, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}))
    assert count_ops(after)["transpose"] == 4  # the image, both weights, and the bias
    shapes = [(1, 6, 6, 2), (4,), (3, 3, 2, 4), (1, 1, 4, 3)]
    is_same(before, after, *shapes)


@pytest.mark.parametrize(
    "build",
    [
        lambda y: relay.nn.softmax(y, -1),
        lambda y: relay.sum(y, axis=3, keepdims=True) + y,
        lambda y: relay.sum(y, axis=3),
        lambda y: relay.reshape(y, [4, -1]),
        lambda y: relay.where(y > relay.const(8.0), y, relay.reverse(y, 3)),
        lambda y: relay.max(y, axis=1, exclude=True),
        lambda y: relay.cumsum(y, 3),
        lambda y: relay.transpose(relay.exp(y), [3, 0, 1, 2]),
        lambda y: y + relay.const(np.arange(3, dtype="float32")),
        lambda y: relay.nn.layer_norm(y, relay.ones((3,), "float32"), relay.zeros((3,), "float32"), -1),
        lambda y: relay.nn.batch_norm(y, *[relay.ones((3,), "float32")] * 4, axis=3)[0],
        lambda y: relay.image.resize2d(y, (3, 5), layout="NHWC"),
        lambda y: relay.topk(y, 2, ret_type="values"),
    ],
)
def test_conversions_of_layouts_keep_results(build: Any) -> None:
    x, w = variable("x", 1, 4, 4, 2), variable("w", 1, 1, 2, 3)
    y = relay.nn.relu(relay.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"))
    before = relay.Function([x, w], relay.Tuple([build(y), x]))
    after = run_opt_pass(before, transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}))
    assert count_ops(after)["transpose"] >= 2
    is_same(before, after, (1, 4, 4, 2), (1, 1, 2, 3))


# Folded constants


def test_folded_norms_equal_compiled_ones_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, "float32") for shape in ((4, 5, 6), (5,), (5,), (5,), (5,))]
    params = [relay.var(f"x{n}", shape=each.shape) for n, each in enumerate(arrays)]
    compiled = run(relay.Function(params, relay.nn.batch_norm(*params, axis=1)[0]), *arrays).numpy()
    doubled = [relay.const(arrays[0] / 2) * relay.const(2.0), *map(relay.const, arrays[1:])]
    folded = run_opt_pass(relay.Function([], relay.nn.batch_norm(*doubled, axis=1)[0]), transform.FoldConstant())
    np.testing.assert_array_equal(folded.body.data.numpy(), compiled)
    open_norm = run_opt_pass(relay.Function(params, relay.nn.batch_norm(*params, axis=1)[0]), transform.FoldConstant())
    assert count_ops(open_norm)["nn.batch_norm"] == 1


def test_halves_are_rounded_to_the_even_integer() -> None:
    """TVM folded halves to even integers, but compiled code rounded them away from zero until v0.24."""
    x = relay.var("x", shape=(6,))
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], "float32")
    folded = run_opt_pass(relay.Function([], relay.round(relay.const(halves))), transform.FoldConstant())
    for result in (folded.body.data.numpy(), run(relay.Function([x], relay.round(x)), halves).numpy()):
        np.testing.assert_array_equal(result, np.round(halves))


# Casts and quotients


def test_quotients_by_constants_are_products() -> None:
    x, halves = variable("x", 3), relay.Constant(tvm.nd.array(np.array([2, 4, 8], "float32")))
    before = relay.Function([x], x / halves)
    after = run_opt_pass(before, transform.DivToMul())
    assert after.body.op.name == "multiply"
    np.testing.assert_array_equal(after.body.args[1].data.numpy(), np.array([0.5, 0.25, 0.125], "float32"))
    array = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(run(after, array).numpy(), run(before, array).numpy())
    for stays in (relay.const(np.array([1, 0, 2], "float32")), variable("y", 3)):
        func = relay.Function([each for each in (x, stays) if isinstance(each, relay.Var)], x / stays)
        assert run_opt_pass(func, transform.DivToMul()).body.op.name == "divide"


@pytest.mark.parametrize(("dtype", "casts"), [("int32", 2), ("int8", 1)])
def test_wider_casts_are_copied(dtype: str, casts: int) -> None:
    x = relay.var("x", shape=(3,), dtype="int16")
    shared = relay.cast(x, dtype)
    before = relay.Function([x], relay.add(relay.abs(shared), relay.negative(shared)))
    with tvm.transform.PassContext(opt_level=3):
        after = run_opt_pass(before, transform.CanonicalizeCast())
    found: list[Any] = []
    relay.analysis.post_order_visit(after, found.append)
    assert sum(getattr(getattr(each, "op", None), "name", "") == "cast" for each in found) == casts


# Calls of functions


def test_calls_between_functions_are_counted() -> None:
    x, y, z = (variable(name, 3) for name in "xyz")
    f, g = relay.GlobalVar("f"), relay.GlobalVar("g")
    functions = {"f": relay.Function([x], relay.abs(x)), "g": relay.Function([y], f(y))}
    graph = relay.analysis.CallGraph(
        tvm.IRModule({**functions, "main": relay.Function([z := variable("z", 3)], f(z) + g(z))})
    )
    assert [graph.ref_count(each) for each in (f, g, "main")] == [2, 1, 0]
    assert [graph.global_call_count(each) for each in (f, g, "main")] == [0, 1, 2]
    assert not graph.is_recursive("main")
    assert "#refs = 2" in graph.print_var("f")
    with pytest.raises(OptionError, match="function 'h', expected one of f, g, main"):
        graph.ref_count("h")


def test_functions_without_calls_are_not_inlined() -> None:
    x, y = variable("x", 3), variable("y", 3)
    inner = relay.Function([x], relay.abs(x)).with_attr("Inline", 1)
    outer = relay.Function([y], relay.GlobalVar("inner")(y)).with_attr("Inline", 1)
    inlined = transform.Inline()(tvm.IRModule({"inner": inner, "outer": outer}))
    assert list(inlined) == ["outer"]
    assert inlined["outer"].body.op.name == "abs"


def test_virtual_devices_are_equal_by_their_parts() -> None:
    device = tvm.target.VirtualDevice(tvm.cpu(), tvm.target.Target("llvm"))
    assert device == tvm.target.VirtualDevice(tvm.cpu(), tvm.target.Target("llvm"))
    assert device != tvm.target.VirtualDevice(tvm.cpu(), tvm.target.Target("llvm"), "local")
    assert (device.device_type_int, device.virtual_device_id) == (1, 0)
    assert tvm.target.VirtualDevice().device_type_int == -1
