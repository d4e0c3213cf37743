"""Passes of TVM on the nodes of graphs: their results have the nodes of TVM's, and the numbers of the graph."""

from typing import Any

import numpy as np
import pytest

from stepwell.core.errors import OptionError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay import transform
from stepwell.frontends.tvm.relay.testing import run_opt_pass
from stepwell.frontends.tvm.relay.testing.temp_op_attr import TempOpAttr
from stepwell.operators import OPERATORS
from stepwell.tools.testing.execution import interpret_graph


def x(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape, dtype=dtype)


def both(expr: Any, opt_pass: Any, data: np.ndarray) -> tuple[str, Any, Any]:
    """The text after a pass, and the results after and before it."""
    func = relay.Function(relay.analysis.free_vars(expr), expr)
    new = run_opt_pass(func, opt_pass)
    (after,) = interpret_graph(tvm.IRModule.from_expr(new), [data])
    (before,) = interpret_graph(tvm.IRModule.from_expr(func), [data])
    return str(new.body), after, before


NUMBERS = np.arange(-12, 12).reshape(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda v: relay.reshape(relay.reshape(v, (6, -1)), (4, 6)), "reshape(%x, newshape=[4, 6])"),
        (lambda v: relay.reverse_reshape(relay.reshape(v, (6, 4)), (-3,)), "reshape(%x, newshape=[24])"),
        (lambda v: relay.transpose(relay.transpose(v, (0, 2, 3, 1)), (0, 3, 1, 2)), "%x"),
        (lambda v: relay.layout_transform(relay.layout_transform(v, "NCHW", "NCHW2c"), "NCHW2c", "NHWC"), "transpose"),
        (lambda v: relay.cast(relay.cast(v, "float64"), "float16"), 'cast(%x, dtype="float16")'),
        (lambda v: relay.cast(relay.cast(v, "int8"), "float32"), "%0 = cast"),
        (lambda v: relay.cast(relay.cast(relay.clip(v, 0, 9), "uint8"), "int32"), 'cast(%0, dtype="int32")'),
        (lambda v: relay.cast(relay.cast(relay.clip(v, 0, 0.5), "uint8"), "float32"), 'dtype="uint8"'),
        (lambda v: relay.zeros_like(v) + v, "%x"),
        (lambda v: relay.full((relay.const(2.0)), (2, 1, 2, 3, 4)) * v, "full"),
        (lambda v: (v + relay.const(2.0)) * relay.const(3.0) + relay.const(1.0), "add(%0, 7f)"),
        (lambda v: relay.const(2.0) / relay.sqrt(relay.abs(v) + relay.const(1.0)), "rsqrt"),
        (lambda v: v + v, "multiply(%x, 2f)"),
        (lambda v: relay.collapse_sum_like(v, relay.ones((4,), "float32")), "collapse_sum_to(%x, shape=[4])"),
    ],
)
def test_expressions_are_simplified(build: Any, text: str) -> None:
    result, after, before = both(build(x(1, 2, 3, 4)), transform.SimplifyExpr(), NUMBERS.astype("float32"))
    assert text in result
    np.testing.assert_allclose(after, before, 1e-6)


def test_squares_become_a_product_where_the_numbers_are_whole() -> None:
    v, w = x(3, dtype="int32"), relay.var("y", shape=(3,), dtype="int32")
    whole = relay.Function([v, w], v * v + relay.const(5) * v * w + relay.const(6) * w * w)
    odd = relay.Function([v, w], v * v + v * w + w * w)
    assert str(run_opt_pass(whole, transform.SimplifyExpr())).count("multiply") == 3
    assert str(run_opt_pass(odd, transform.SimplifyExpr())).count("multiply") == 3
    a, b = np.array([-3, 0, 7], "int32"), np.array([2, -5, 1], "int32")
    (got,) = interpret_graph(tvm.IRModule.from_expr(run_opt_pass(whole, transform.SimplifyExpr())), [a, b])
    np.testing.assert_array_equal(got, (a + 2 * b) * (a + 3 * b))


def test_a_convolution_on_blocks_of_images_is_dilated() -> None:
    weight = relay.const(np.arange(9, dtype="float32").reshape(3, 3, 1, 1) - 4)
    parts = relay.nn.space_to_batch_nd(x(1, 5, 6, 1), [2, 3], [[2, 3], [3, 6]])
    conv = relay.nn.conv2d(
        parts, weight, channels=1, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO", padding=0
    )
    data = np.arange(30, dtype="float32").reshape(1, 5, 6, 1)
    whole = relay.nn.batch_to_space_nd(conv, [2, 3], [[0, 1], [1, 2]])
    text, after, before = both(whole, transform.FlattenAtrousConv(), data)
    assert "batch" not in text
    assert "dilation=[2, 3]" in text
    np.testing.assert_array_equal(after, before)
    padded = relay.nn.space_to_batch_nd(x(1, 5, 6, 1), [2, 3], [[2, 3], [3, 6]], pad_value=1)
    other = relay.nn.conv2d(padded, weight, channels=1, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO")
    text, _, _ = both(relay.nn.batch_to_space_nd(other, [2, 3], [[0, 1], [1, 2]]), transform.FlattenAtrousConv(), data)
    assert "batch_to_space_nd" in text


def test_constants_are_folded_where_the_graph_is_written() -> None:
    one = relay.const(np.ones((1, 2), "float32"))
    bound = relay.var("bound")
    expr = relay.Let(bound, relay.concatenate([one, one], 0), x(2, 2) + bound * relay.const(3.0))
    text, after, before = both(expr, transform.FoldConstant(), np.zeros((2, 2), "float32"))
    assert "concatenate" not in text
    assert "multiply" not in text
    np.testing.assert_array_equal(after, before)
    quantized = relay.qnn.dequantize(relay.const(np.ones(2, "int8")), relay.const(2.0), relay.const(0))
    func = relay.Function([], quantized)
    assert "dequantize" in str(run_opt_pass(func, transform.FoldConstant()))
    assert "dequantize" not in str(run_opt_pass(func, transform.FoldConstant(fold_qnn=True)))


def test_marks_of_devices_change_no_number() -> None:
    marked = relay.annotation.on_device(relay.annotation.checkpoint(x(3)), "cpu", constrain_result=True)
    copied = relay.op.device_copy(marked, "cpu", "cpu")
    text, after, before = both(copied + relay.const(1.0), transform.InferType(), np.zeros(3, "float32"))
    assert "on_device" in text
    np.testing.assert_array_equal(after, np.ones(3, "float32"))
    np.testing.assert_array_equal(before, after)


def scaled_convolution(layout: str, kernel: str, groups: int) -> tuple[Any, list[Any]]:
    """A convolution between products with scales, sums and activations, and its arguments."""
    rng = np.random.default_rng(3)
    plain = {"data": (1, 4, 5, 5), "weight": (4, 1 if groups > 1 else 4, 3, 3), "channels": (1, 4, 1, 1)}

    def array(kind: str, into: str) -> Any:
        values = rng.integers(1, 5, plain[kind]).astype("float32") / 4
        usual = "OIHW" if kind == "weight" else "NCHW"
        return (
            values
            if into == usual
            else OPERATORS["layout_transform"].reference(values, src_layout=usual, dst_layout=into)
        )

    data, weight, bias = array("data", layout), array("weight", kernel), array("channels", layout)
    v, w, b = (relay.var(name, shape=each.shape) for name, each in zip("xwb", (data, weight, bias), strict=True))
    before = relay.nn.relu(v * relay.const(array("channels", layout))) - b
    attributes = {"channels": 4, "kernel_size": (3, 3), "groups": groups, "padding": 1}
    conv = relay.nn.conv2d(before, w, data_layout=layout, kernel_layout=kernel, **attributes)
    after = relay.const(array("channels", layout)) * relay.nn.relu(b + conv)
    return relay.Function([v, w, b], after), [data, weight, bias]


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize(("layout", "kernel"), [("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NCHW2c", "OIHW1i2o")])
def test_scales_are_folded_into_weights(layout: str, kernel: str, groups: int) -> None:
    func, arguments = scaled_convolution(layout, kernel, groups)
    (expected,) = interpret_graph(tvm.IRModule.from_expr(func), arguments)
    for opt_pass in (transform.ForwardFoldScaleAxis(), transform.BackwardFoldScaleAxis()):
        new = run_opt_pass(func, opt_pass)
        assert str(new.body).splitlines()[-1].split("(")[0] != "multiply" or "Forward" in opt_pass.info.name
        assert str(new) != str(run_opt_pass(func, transform.InferType()))
        (got,) = interpret_graph(tvm.IRModule.from_expr(new), arguments)
        np.testing.assert_allclose(got, expected, 1e-5)


@pytest.mark.parametrize(
    "build",
    [
        lambda v, w: relay.nn.dense(relay.nn.relu(v * relay.const(np.array([-1, 2, 3], "float32"))), w),
        lambda v, w: relay.nn.dense(v * relay.const(np.array([0, 2, 3], "float32")) + relay.const(1.0), w),
        lambda v, w: relay.nn.dense(relay.exp(v * relay.const(np.array([1, 2, 3], "float32"))), w),
    ],
)
def test_scales_that_other_operators_need_stay(build: Any) -> None:
    v, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    func = relay.Function([v, w], build(v, w))
    assert str(run_opt_pass(func, transform.ForwardFoldScaleAxis())) == str(run_opt_pass(func, transform.InferType()))


def test_scales_are_folded_in_graphs_with_operators_of_several_results() -> None:
    x, w = relay.var("x", shape=(1, 4, 3, 3)), relay.var("w", shape=(2, 4, 1, 1))
    statistics = [relay.var(name, shape=(4,)) for name in ("gamma", "beta", "mean", "var")]
    norm = relay.nn.batch_norm(x, *statistics)[0]
    conv = relay.nn.conv2d(norm * relay.const(np.full((4, 1, 1), 2, "float32")), w, kernel_size=(1, 1), channels=2)
    func = relay.Function([x, w, *statistics], conv)
    shapes: list[tuple[int, ...]] = [(1, 4, 3, 3), (2, 4, 1, 1), *[(4,)] * 4]
    arrays = [np.random.default_rng(3).random(shape, "float32") for shape in shapes]
    (expected,) = interpret_graph(tvm.IRModule.from_expr(func), arrays)
    new = tvm.transform.Sequential([transform.InferType(), transform.FoldScaleAxis()])(tvm.IRModule.from_expr(func))
    np.testing.assert_allclose(interpret_graph(new, arrays)[0], expected, 1e-5)


AFTER = {
    "relu": lambda y: relay.nn.relu(y),
    "pool": lambda y: relay.nn.max_pool2d(y, 2, 2),
    "average": lambda y: relay.nn.global_avg_pool2d(y),
    "pad": lambda y: relay.nn.pad(y, ((0, 1), (0, 0), (1, 1), (2, 0))),
    "pad of channels": lambda y: relay.nn.pad(y, ((0, 0), (4, 0), (0, 0), (0, 0))),
    "bias": lambda y: relay.nn.bias_add(y, relay.const(np.arange(8, dtype="float32"))),
    "sum": lambda y: relay.sum(y, axis=[1], keepdims=True) + y,
    "sum of others": lambda y: relay.sum(y, axis=[1], exclude=True),
    "mean": lambda y: relay.mean(y, axis=[2, 3]),
    "concatenation": lambda y: relay.concatenate([y, relay.nn.relu(y)], axis=1),
    "concatenation with another tensor": lambda y: relay.concatenate([y, relay.ones((1, 3, 4, 4), "float32")], axis=1),
    "rows": lambda y: y * relay.const(np.arange(4, dtype="float32")) + relay.const(1.0),
    "one channel": lambda y: y * relay.const(np.arange(16, dtype="float32").reshape(1, 1, 4, 4)),
    "slice": lambda y: relay.strided_slice(y, begin=[0, 4], end=[1, 8], axes=[0, 1]),
    "slice in a block": lambda y: relay.strided_slice(y, begin=[0, 3], end=[1, 8]),
    "both orders": lambda y: relay.add(relay.transpose(y, (0, 1, 3, 2)), y),
    "flat": lambda y: relay.nn.batch_flatten(y),
    "like": lambda y: relay.cast_like(y, relay.ones((3,), "float64")),
    "upsampling": lambda y: relay.nn.upsampling(y, 2, 2),
    "softmax": lambda y: relay.nn.softmax(y, axis=1),
}


@pytest.mark.parametrize("layouts", [("NCHW4c", "OIHW"), ("NCHW8c", "OIHW2i8o"), ("NHWC", "HWIO"), ("NHWC4c", "OIHW")])
@pytest.mark.parametrize("name", AFTER)
def test_altered_layouts_change_no_number(name: str, layouts: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    data, weight = (rng.integers(-3, 4, shape).astype("float32") for shape in ((1, 8, 4, 4), (8, 8, 3, 3)))
    v = x(1, 8, 4, 4)
    conv = relay.nn.conv2d(v, relay.const(weight), channels=8, kernel_size=(3, 3), padding=1)
    changes = dict(zip(("data_layout", "kernel_layout"), layouts, strict=True))
    alter = lambda attrs, inputs, types, result: relay.nn.conv2d(*inputs, **{**attrs, **changes})  # noqa: E731
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        passes = [transform.CanonicalizeOps(), transform.AlterOpLayout()]
        text, after, before = both(AFTER[name](conv), passes, data)
    assert f'data_layout="{layouts[0]}"' in text
    np.testing.assert_allclose(after, before, 1e-5, 1e-4)


def test_fused_graphs_are_as_before_after_defusion() -> None:
    func = relay.Function([v := x(10, 20)], relay.squeeze(relay.exp(v + relay.const(1.0))))
    typed = run_opt_pass(func, transform.InferType())
    fused = run_opt_pass(func, transform.FuseOps())
    assert not tvm.ir.structural_equal(fused, typed)
    assert tvm.ir.structural_equal(run_opt_pass(fused, transform.DefuseOps()), typed)


def test_a_function_of_quantized_numbers_is_a_table() -> None:
    tables = relay.qnn.op.canonicalizations
    data = np.arange(-128, 128).astype("int8")
    numbers = (relay.const(1 / 64), relay.const(3), relay.const(1 / 128), relay.const(-5))
    call = tables.create_integer_lookup_op(relay.const(data), np.tanh, *numbers, in_dtype="int8", out_dtype="int8")
    expected = np.clip(np.round(np.tanh((data - 3.0) / 64) * 128) - 5, -128, 127)
    assert np.abs(tables.run_const_expr(call) - expected).max() <= 1
    with pytest.raises(OptionError, match=r"scales of shape \(2,\), expected one number"):
        tables.create_integer_lookup_op(call, np.tanh, relay.const(np.ones(2, "float32")), *numbers[1:])
    with pytest.raises(OptionError, match="data type float32, expected integers"):
        tables.create_integer_lookup_table(np.tanh, *numbers, in_dtype="float32")


@pytest.mark.parametrize("pool", ["max", "avg"])
@pytest.mark.parametrize(("ceil", "whole"), [(False, True), (True, True), (False, False)])
def test_gradients_of_pools_agree_with_those_of_numpy(pool: str, ceil: bool, whole: bool) -> None:
    data = np.random.default_rng(7).normal(size=(1, 2, 7, 6)).astype("float32")
    counts = {"count_include_pad": whole} if pool == "avg" else {}
    build = getattr(relay.nn, f"{pool}_pool2d")
    v = x(*data.shape)
    func = relay.Function([v], build(v, (3, 2), (2, 2), padding=(1, 0, 1, 0), ceil_mode=ceil, **counts))
    result, (grad,) = relay.create_executor("graph").evaluate(transform.gradient(func))(data)
    ones = np.ones(result.shape, "float32")
    expected = tvm.topi.testing.pool_grad_nchw(data, ones, (3, 2), (2, 2), (1, 0, 1, 0), pool, ceil, whole)
    np.testing.assert_allclose(grad.numpy(), expected, 1e-5)
    pooled = tvm.topi.testing.poolnd_python(
        data, (3, 2), (2, 2), (1, 1), (1, 0), (1, 0), pool, whole and pool == "avg", ceil
    )
    np.testing.assert_allclose(result.numpy(), pooled, 1e-5)


def test_attributes_that_shapes_determine_become_numbers() -> None:
    x, y = relay.var("x", shape=(2, 3, 4)), relay.var("y", shape=(8, 3))
    twice = relay.reshape(relay.reshape(x, relay.shape_of(y)), relay.shape_of(x))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], twice))
    assert not mod.has_operations
    static = relay.transform.DynamicToStatic()(mod)
    assert static.has_operations
    assert "reshape(%0, newshape=[2, 3, 4])" in static.astext()
    assert relay.transform.DynamicToStatic()(static) is static


def test_an_attribute_of_a_parameter_becomes_a_number_once_it_is_bound() -> None:
    x, k = relay.var("x", shape=(5, 9)), relay.var("k", shape=(), dtype="int32")
    func = relay.Function([x, k], relay.topk(x, k, ret_type="values"))
    mod = tvm.IRModule.from_expr(func)
    assert "dyn.topk" in transform.DynamicToStatic()(mod).astext()
    mod["main"] = relay.build_module.bind_params_by_name(func, {"k": np.array(2, "int32")})
    result = relay.transform.DynamicToStatic()(mod)
    assert result["main"].body.attrs.k == 2
    data = np.random.default_rng(0).random((5, 9), "float32")
    got = relay.create_executor(mod=result).evaluate()(data)
    np.testing.assert_array_equal(got.numpy(), -np.sort(-data)[:, :2])


def test_the_sizes_of_a_slice_between_unknown_ends_are_unknown() -> None:
    x, begin, end = relay.var("x", shape=(3, 4)), *(relay.var(name, shape=(2,), dtype="int32") for name in ("b", "e"))
    func = relay.Function([x, begin, end], relay.strided_slice(x, begin, end))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(func))["main"]
    assert not any(isinstance(size, int) for size in typed.body.checked_type.shape)


def test_functions_that_nothing_uses_are_removed() -> None:
    mod = tvm.IRModule()
    names = {name: relay.GlobalVar(name) for name in ("main", "used", "below", "other")}
    mod[names["below"]] = relay.Function([a := x(2)], relay.exp(a))
    mod[names["used"]] = relay.Function([a := x(2)], names["below"](a))
    mod[names["other"]] = relay.Function([a := x(2)], relay.log(a))
    mod[names["main"]] = relay.Function([a := x(2)], names["used"](a))
    assert set(transform.RemoveUnusedFunctions()(mod).function_ops) == {"main", "used", "below"}
    assert set(transform.RemoveUnusedFunctions(["other", "below"])(mod).function_ops) == {"other", "below"}
    everything = transform.RemoveUnusedFunctions(["main", "other"])(mod)
    assert everything is mod
