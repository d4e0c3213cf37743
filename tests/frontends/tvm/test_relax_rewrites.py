"""The order of products, kernels in other layouts, and float16 parameters: passes of `tvm.relax.transform`."""

# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, OptionError, UnsupportedError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax import transform
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T


def run(mod: Any, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args)


# The order of products


def products(shapes: Any, is_left_first: bool, num_input: int | None = None, bounds: Any = None) -> Any:
    """A program of two products."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{n}", relax.TensorStructInfo(shape, "int64")) for n, shape in enumerate(shapes)]
    attrs: dict[str, Any] = {} if num_input is None else {"num_input": num_input}
    if bounds:
        attrs["tir_var_upper_bound"] = bounds
    with builder.function("main", params, attrs=attrs):
        a, b, c = params
        with builder.dataflow():
            if is_left_first:
                result = builder.emit_output(relax.op.matmul(builder.emit(relax.op.matmul(a, b)), c))
            else:
                result = builder.emit_output(relax.op.matmul(a, builder.emit(relax.op.matmul(b, c))))
        builder.emit_func_output(result)
    return builder.get()


def is_left_first(mod: Any) -> bool:
    """Whether the first product of a program is that of the first two parameters."""
    first = mod["main"].body.blocks[0].bindings[0].value
    return [each.name_hint for each in first.args] == ["x0", "x1"]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("shapes", "bounds", "after"),
    [
        (((2, 8), (8, 3), (3, 8)), None, True),
        (((8, 2), (2, 8), (8, 3)), None, False),
        (((4,), (4, 4), (4, 4)), None, True),
        (((4, 4), (4, 4), (4,)), None, False),
        (((5, 2, 8), (8, 3), (3, 8)), None, True),
        ((("n", 8), (8, 3), (3, 8)), {"n": 4}, True),
        ((("n", 8), (8, 3), (3, 8)), None, True),
        ((("n", 8), (8, 8), (8, 2)), None, None),
        ((("n", 8), (8, 8), (8, 2)), {"n": 1}, True),
        ((("n", 8), (8, 8), (8, 2)), {"n": 4}, None),
        ((("n", 4096), (4096, "r"), ("r", 4096)), None, None),
        ((("n", 4096), (4096, "r"), ("r", 4096)), {"r": 16}, True),
        (((2, 4096), (4096, "r"), ("r", 4096)), None, True),
        (((2, 2), (2, 2), (2, 2)), None, None),
        (((2, 2, 2), (2, 2, 2), (2,)), None, None),
    ],
)
def test_the_order_with_fewer_multiplications(before: bool, shapes: Any, bounds: Any, after: bool | None) -> None:
    mod = products(shapes, before, bounds=bounds)
    assert is_left_first(mod) == before
    assert is_left_first(transform.AdjustMatmulOrder()(mod)) == (before if after is None else after)


@pytest.mark.parametrize("before", [True, False])
def test_weights_are_multiplied_first(before: bool) -> None:
    mod = products(((2, 8), (8, 3), (3, 8)), before, num_input=1)
    assert not is_left_first(transform.AdjustMatmulOrder()(mod))
    mod = products(((2, 8), (8, 3), (3, 8)), before, num_input=0)
    assert is_left_first(transform.AdjustMatmulOrder()(mod)) == before


def test_a_transpose_of_a_product_of_matrices() -> None:
    @I.ir_module
    class Adapter:
        @R.function
        def main(x: R.Tensor((2, 8), "int64"), a: R.Tensor((8, 1), "int64"), b: R.Tensor((1, 8), "int64")):
            with R.dataflow():
                w = R.permute_dims(R.matmul(a, b))
                y = R.matmul(x, w)
                R.output(y)
            return y

    mod = transform.AdjustMatmulOrder()(Adapter)
    assert [str(each) for each in mod["main"].body.blocks[0].bindings[1].var.struct_info.shape] != ["8", "8"]
    assert "(8, 8)" not in mod.script()
    rng = np.random.default_rng(0)
    args = [rng.integers(-3, 4, shape) for shape in ((2, 8), (8, 1), (1, 8))]
    np.testing.assert_array_equal(run(mod, *args).numpy(), run(Adapter, *args).numpy())


SIZES = st.integers(1, 3)


@given(
    st.lists(SIZES, min_size=4, max_size=4),
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
    st.booleans(),
    st.sampled_from((None, 0, 1, 2, 3)),
)
def test_products_in_the_other_order_are_equal(
    sizes: list[int], batches: list[int], before: bool, num_input: int | None
) -> None:
    shapes = [(*[2] * batches[n], sizes[n], sizes[n + 1]) for n in range(3)]
    mod = products(shapes, before, num_input)
    args = [np.arange(int(np.prod(shape))).reshape(shape) - 3 for shape in shapes]
    expected = (args[0] @ args[1]) @ args[2]
    np.testing.assert_array_equal(run(transform.AdjustMatmulOrder()(mod), *args).numpy(), expected)


# Kernels in other layouts


@I.ir_module
class Sums:
    @T.prim_func
    def add(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
        T.func_attr({"operator_name": "relax.add"})
        for i in range(6):
            with T.block("C"):
                v = T.axis.spatial(6, i)
                C[v] = A[v] + B[v]

    @R.function
    def main(x: R.Tensor((6,), "float32"), y: R.Tensor((6,), "float32")):
        with R.dataflow():
            a = R.call_tir(Sums.add, (x, y), R.Tensor((6,), "float32"))
            b = R.call_tir(Sums.add, (a, y), R.Tensor((6,), "float32"))
            R.output(b)
        return b


@T.prim_func
def add_rows(A: T.Buffer((2, 4), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = A[v, w] + T.if_then_else(v * 4 + w < 6, B[T.min(v * 4 + w, 5)], T.float32(0))


@T.prim_func
def add_columns(A: T.Buffer((3, 2), "float32"), B: T.Buffer((3, 2), "float32"), C: T.Buffer((3, 2), "float32")):
    for i, j in T.grid(3, 2):
        with T.block("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = A[v, w] + B[v, w]


def columns(i: Any) -> Any:
    return i % 3, i // 3


@pytest.mark.parametrize(
    ("kernel", "maps"),
    [
        (add_rows, [lambda i: (i // 4, i % 4), None, lambda i: (i // 4, i % 4)]),
        (add_columns, [columns] * 3),
        (add_columns, [tvm.tir.IndexMap.from_func(columns), (tvm.tir.IndexMap.from_func(columns), []), columns]),
        (Sums["add"], []),
    ],
)
def test_kernels_in_other_layouts(kernel: Any, maps: Any) -> None:
    mod = transform.AlterOpImpl({"relax.add": kernel}, {"relax.add": maps} if maps else {}, {}, {})(Sums)
    text = mod.script()
    assert text.count("cls.relax_add_replacement") == 2
    assert text.count('"operator_name": "relax.add"') == 2
    args = [np.arange(6, dtype="float32"), np.ones(6, "float32")]
    np.testing.assert_array_equal(run(mod, *args).numpy(), args[0] + 2)


def test_kernels_of_other_operators_stay() -> None:
    assert str(transform.AlterOpImpl({"relax.multiply": add_rows}, {}, {}, {})(Sums)) == str(Sums)


def test_a_kernel_of_several_results() -> None:
    @I.ir_module
    class Both:
        @T.prim_func
        def both(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
            T.func_attr({"operator_name": "both"})
            for i in range(4):
                with T.block("C"):
                    v = T.axis.spatial(4, i)
                    B[v] = A[v] + 1.0
                    C[v] = A[v] + 2.0

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.call_tir(Both.both, (x,), [R.Tensor((4,), "float32"), R.Tensor((4,), "float32")])
            return y

    @T.prim_func
    def reversed_both(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((2, 2), "float32")):
        for i in range(4):
            with T.block("C"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + 1.0
                C[v // 2, v % 2] = A[v] + 2.0

    maps = [lambda i: 3 - i, lambda i: 3 - i, lambda i: ((3 - i) // 2, (3 - i) % 2)]
    mod = transform.AlterOpImpl({"both": reversed_both}, {"both": maps}, {}, {})(Both)
    x = np.arange(4, dtype="float32")
    for each, expected in zip(run(mod, x), (x + 1, x + 2), strict=True):
        np.testing.assert_array_equal(each.numpy(), expected)


def test_errors_of_other_layouts() -> None:
    with pytest.raises(UnsupportedError, match="axis separators, expected none"):
        transform.AlterOpImpl({"relax.add": add_rows}, {}, {"relax.add": [[1], [], [1]]}, {})
    separated = [lambda i: (i // 4, tvm.tir.IndexMap.AXIS_SEPARATOR, i % 4)] * 3
    with pytest.raises(UnsupportedError, match=r"axis separators \[1\], expected none"):
        transform.AlterOpImpl({"relax.add": add_rows}, {"relax.add": separated}, {}, {})
    with pytest.raises(OptionError, match="2 index maps, expected 3"):
        transform.AlterOpImpl({"relax.add": add_rows}, {"relax.add": [columns] * 2}, {}, {})(Sums)


# Types and layouts of operators


@I.ir_module
class Products:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            R.output(y)
        return y


def test_parameters_in_float16() -> None:
    mod = transform.ToMixedPrecision(fp16_input_names=["w", "b"])(Products)
    assert [each.struct_info.dtype for each in mod["main"].params] == ["float32", "float16", "float16"]
    assert mod.script().count('R.astype(w, dtype="float32")') <= 1
    assert mod.script().count('dtype="float16")') <= 4
    rng = np.random.default_rng(0)
    x, w, b = (rng.integers(-3, 4, shape).astype("float32") for shape in ((3, 4), (4, 4), (4,)))
    got = run(mod, x, w.astype("float16"), b.astype("float16")).numpy()
    assert got.dtype == "float32"
    np.testing.assert_array_equal(got, x @ w + b)
    assert str(transform.ToMixedPrecision(fp16_input_names=["other"])(Products)) == str(
        transform.ToMixedPrecision()(Products)
    )
    with pytest.raises(ArgumentError, match="parameter w of float16, expected float32"):
        transform.ToMixedPrecision(fp16_input_names=["w"])(mod)


def test_layouts_of_each_call() -> None:
    @I.ir_module
    class Images:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((2, 2, 1, 1), "float32")):
            y = R.nn.conv2d(x, w)
            z = R.nn.conv2d(y, w, strides=2)
            return z

    seen: list[Any] = []

    def layouts(call: Any) -> Any:
        seen.append(list(call.struct_info.shape))
        return {"relax.nn.conv2d": ["NHWC", "OHWI"]} if seen[-1][2] == 4 else {}

    mod = transform.ConvertLayout({}, layouts)(Images)
    assert seen == [[1, 2, 4, 4], [1, 2, 2, 2]]
    assert (
        mod.script().count('"NHWC"') == Images.script().count('"NHWC"') + mod.script().count('data_layout="NHWC"') * 2
    )
    x, w = np.arange(32, dtype="float32").reshape(1, 2, 4, 4), np.ones((2, 2, 1, 1), "float32")
    np.testing.assert_array_equal(run(mod, x, w).numpy(), run(Images, x, w).numpy())


def test_values_as_expressions() -> None:
    utils = relax.utils
    assert isinstance(utils.convert_to_expr(3), relax.PrimValue)
    assert isinstance(utils.convert_to_expr(tvm.tir.Var("n", "int64")), relax.PrimValue)
    assert isinstance(utils.convert_to_expr("a"), relax.StringImm)
    assert len(utils.convert_to_expr([1, ("a", 2.0)]).children) == 2
    x = Products["main"].params[0]
    assert utils.convert_to_expr(x) is x
    with pytest.raises(ArgumentError, match="expected an expression of relax"):
        utils.convert_to_expr(object())
    copy = utils.copy_with_new_vars(Products["main"])
    assert copy == Products["main"]
    assert copy.params[0] is not Products["main"].params[0]


# Batch norms and types of parameters


def test_batch_norms_in_convolutions() -> None:
    rng = np.random.default_rng(0)
    weight, *factors = (rng.random(shape, "float32") + 0.5 for shape in ((3, 2, 2, 2), (3,), (3,), (3,), (3,)))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, 2, 4, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.conv2d(x, relax.const(weight), strides=2))
            norm = builder.emit(
                relax.op.nn.batch_norm(y, *map(relax.const, factors), axis=1, epsilon=0.5, training=False)
            )
            z = builder.emit_output(norm[0])
        builder.emit_func_output(z)
    mod = builder.get()
    folded = transform.FoldBatchnormToConv2D()(mod)
    assert "R.nn.batch_norm" not in folded.script()
    computed = transform.FoldConstant()(folded).script()
    assert computed.count("R.nn.conv2d") == 1
    assert "R.sqrt" not in computed
    data = rng.random((1, 2, 4, 4), "float32")
    np.testing.assert_allclose(run(folded, data).numpy(), run(mod, data).numpy(), rtol=1e-5, atol=1e-5)


def test_batch_norms_of_other_axes_stay() -> None:
    @I.ir_module
    class Last:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 2), "float32")):
            w = R.const(np.ones((2, 2, 1, 1), "float32"))
            s = R.const(np.ones((2,), "float32"))
            y = R.nn.conv2d(x, w)
            z = R.nn.batch_norm(y, s, s, s, s, axis=3)
            u = z[0]
            return u

    assert "R.nn.batch_norm" in transform.FoldBatchnormToConv2D()(Last).script()


def test_types_of_parameters() -> None:
    def other_shape(var: Any) -> Any:
        return relax.TensorStructInfo((5, 4), "float32") if var.name_hint == "w" else None

    def narrow(var: Any) -> Any:
        return relax.TensorStructInfo(var.struct_info.shape, "float16")

    with pytest.raises(tvm.TVMError, match="matmul"):
        transform.UpdateParamStructInfo(other_shape)(Products)
    mod = transform.UpdateParamStructInfo(narrow)(Products)
    assert {each.struct_info.dtype for each in mod["main"].params} == {"float16"}
    assert mod["main"].ret_struct_info.dtype == "float16"
    x, w, b = np.ones((3, 4), "float16"), np.full((4, 4), 2, "float16"), np.ones(4, "float16")
    np.testing.assert_array_equal(run(mod, x, w, b).numpy(), np.full((3, 4), 9))


def test_a_scalar_where_a_mask_holds() -> None:
    builder = relax.BlockBuilder()
    x, mask = (
        relax.Var(name, relax.TensorStructInfo((3,), dtype)) for name, dtype in (("x", "float32"), ("m", "bool"))
    )
    with builder.function("main", [x, mask]):
        builder.emit_func_output(builder.emit(relax.op.masked_fill(x, mask, relax.const(7, "float32"))))
    got = run(builder.get(), np.zeros(3, "float32"), np.array([True, False, True]))
    np.testing.assert_array_equal(got.numpy(), [7, 0, 7])


def test_absent_names_state_a_replacement() -> None:
    with pytest.raises(UnsupportedError, match=r"tvm\.relax\.ExecBuilder is absent in Stepwell: there is no byte code"):
        relax.ExecBuilder()
    with pytest.raises(AttributeError, match="FuseOpsByPattern on operators"):
        transform.SplitCallTIRByPattern
    with pytest.raises(UnsupportedError, match="programs run in one process"):
        relax.distributed.DeviceMesh((2,), [0, 1])
