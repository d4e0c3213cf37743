"""`tvm.relax.BlockBuilder`: programs built by Python equal those of TVMScript, and compute their results."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, StepwellError, UnsupportedError, register_func
from stepwell.frontends.tvm import relax, te, tir, topi
from stepwell.frontends.tvm.ir.module import IRModule

N = tir.Var("n", "int64")


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def run(mod: IRModule, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


TEXT = """        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 2), dtype="float32") = R.matmul(x, w)
            gv: R.Tensor((n, 2), dtype="float32") = R.nn.relu(lv)
            R.output(gv)
        return gv"""


def test_a_program_of_operators_has_the_text_of_tvmscript() -> None:
    bb = relax.BlockBuilder()
    x, w = tensor("x", N, 4), tensor("w", 4, 2)
    with bb.function("main", [x, w]):
        with bb.dataflow():
            lv = bb.emit(relax.op.matmul(x, w))
            assert (lv.struct_info.shape, lv.struct_info.dtype, lv.struct_info.ndim) == (("n", 2), "float32", 2)
            gv = bb.emit_output(relax.op.nn.relu(lv), "gv")
        assert bb.emit_func_output(gv).name_hint == "main"
    mod = bb.get()
    assert TEXT in mod.script()
    a, b = random(3, 4), random(4, 2)
    np.testing.assert_allclose(run(mod, a, b).numpy(), np.maximum(a @ b, 0), rtol=1e-5, atol=1e-6)


def test_tensor_expressions_become_kernels_once() -> None:
    bb = relax.BlockBuilder()
    x = tensor("x", N, 4)

    def double(a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda i, j: a[i, j] * 2.0, "double")

    with bb.function("main", x):
        y = bb.emit_te(double, x)
        z = bb.emit_te(double, y)
        total = bb.emit_te(topi.add, z, x, primfunc_name_hint="total", name_hint="out")
        bb.emit_func_output(total)
    mod = bb.get()
    assert list(mod.function_ops) == ["double", "total", "main"]
    a = random(5, 4)
    np.testing.assert_allclose(run(mod, a).numpy(), 5 * a, rtol=1e-6)


def test_a_kernel_may_have_several_results_and_sizes_of_its_own() -> None:
    bb = relax.BlockBuilder()
    s = relax.Var("s", relax.ShapeStructInfo([N]))

    def both() -> list[te.Tensor]:
        n = te.size_var("n", "int64")
        return [te.compute((n,), lambda i: i.astype("float32") + k, name=f"out{k}") for k in (0, 1)]

    with bb.function("main", s):
        pair = bb.emit_te(both)
        bb.emit_func_output(bb.emit(pair[0] + pair[1]))
    np.testing.assert_array_equal(run(bb.get(), (4,)).numpy(), 2 * np.arange(4) + 1)


def test_calls_constants_tuples_and_casts() -> None:
    def square(x: Any, out: Any) -> None:
        np.multiply(x, x, out=out)

    register_func("builder.square", square, override=True)
    register_func("builder.sorted", np.sort, override=True)
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.ObjectStructInfo())
    with bb.function("main", [x], pure=False, attrs={"note": 1}):
        y = bb.match_cast(x, relax.TensorStructInfo((N,), "float32"), "y")
        squares = bb.emit(relax.call_dps_packed("builder.square", y, relax.TensorStructInfo((N,), "float32")))
        ordered = bb.emit(
            relax.call_packed("builder.sorted", squares, sinfo_args=relax.TensorStructInfo((N,), "float32"))
        )
        shifted = bb.emit(ordered * relax.const(2.0) - relax.const(np.float32(1)))
        bb.emit_func_output([shifted, relax.ShapeExpr([N, N * 2]), relax.PrimValue(N + 1), relax.StringImm("a")])
    a = random(5)
    shifted, shape, number, text = run(bb.get(), a)
    np.testing.assert_allclose(shifted.numpy(), 2 * np.sort(a * a) - 1, rtol=1e-6)
    assert (shape, number, text) == ((5, 10), 6, "a")


def test_kernels_of_another_module_are_called() -> None:
    kernel = te.create_prim_func([a := te.placeholder((4,), name="a"), te.compute((4,), lambda i: a[i] + 1.0)])
    bb = relax.BlockBuilder()
    first, second = bb.add_func(kernel, "step"), bb.add_func(kernel, "step")
    assert (first.name_hint, second.name_hint) == ("step", "step_1")
    x = tensor("x", 4)
    with bb.function("main", x):
        y = bb.emit(relax.call_tir(first, x, relax.TensorStructInfo((4,), "float32")))
        bb.emit_func_output(bb.emit(relax.op.call_tir(second, (y,), relax.TensorStructInfo((4,), "float32"))))
    np.testing.assert_array_equal(run(bb.get(), np.zeros(4, "float32")).numpy(), np.full(4, 2))


def test_a_builder_continues_a_module() -> None:
    bb = relax.BlockBuilder()
    x = tensor("x", 4)
    with bb.function("main", x):
        bb.emit_func_output(bb.emit(relax.op.exp(x)))
    more = relax.BlockBuilder(bb.get())
    with more.function("other", tensor("y", 2)):
        more.emit_func_output(relax.const(1, "int64"))
    assert (list(more.finalize().function_ops), list(bb.get().function_ops)) == (["main", "other"], ["main"])


def test_passes_fuse_operators_of_a_built_program() -> None:
    bb = relax.BlockBuilder()
    x = tensor("x", N, 4)
    with bb.function("main", x):
        with bb.dataflow():
            y = bb.emit_output(relax.op.exp(bb.emit(x + x)))
        bb.emit_func_output(y)
    sequence = tvm.transform.Sequential([relax.transform.FuseOps(), relax.transform.FuseTIR()])
    mod = sequence(bb.get())
    assert list(mod.function_ops) == ["fused_add_exp", "main"]
    a = random(3, 4)
    np.testing.assert_allclose(run(mod, a).numpy(), np.exp(2 * a), rtol=1e-5)


def build(body: Any) -> IRModule:
    bb = relax.BlockBuilder()
    x = tensor("x", 4)
    with bb.function("main", x):
        body(bb, x)
    return bb.get()


def outside(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.dataflow():
        y = bb.emit(x + x)
    bb.emit(y)


def twice(bb: relax.BlockBuilder, x: relax.Var) -> None:
    bb.emit_func_output(x)
    bb.emit(x + x)


def nested(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.dataflow(), bb.dataflow():
        bb.emit(x)


def result_in_region(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.dataflow():
        bb.emit_func_output(x)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (outside, "lv has no value here, expected a parameter of the function, a result of emit in its region, or a"),
        (twice, "emit: function main has its result"),
        (nested, "dataflow: inside of another dataflow region"),
        (result_in_region, "emit_func_output: in a dataflow region, expected it after the region"),
        (lambda bb, x: bb.emit_output(x), "emit_output: no dataflow region, expected `with dataflow()` around it"),
        (lambda bb, x: bb.emit(x), "function main: no result, expected emit_func_output"),
        (lambda bb, x: bb.emit(object()), "a value of type object, expected an expression of relax"),
        (lambda bb, x: bb.get(), "get: function main is not finished"),
        (lambda bb, x: bb.emit(x + tensor("y", 4)), "y has no value here"),
        (lambda bb, x: bb.function("f").__enter__(), "function f: inside of main"),
        (
            lambda bb, x: bb.emit_te(topi.exp, bb.match_cast(x, relax.TensorStructInfo(None, "float32", ndim=1))),
            "expected a tensor of known shape and data type",
        ),
    ],
)
def test_invalid_uses_are_errors(body: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        build(body)
    assert message in str(caught.value)


def test_errors_of_operators_and_names() -> None:
    with pytest.raises(AttributeError, match=r"relax\.op has no operator 'nn\.reelu'"):
        relax.op.nn.reelu  # pyright: ignore[reportUnusedExpression]
    with pytest.raises(StepwellError, match="of extents 4 and 3"):
        build(lambda bb, x: bb.emit(relax.op.matmul(x, relax.const(np.ones((3, 2), "float32")))))
    with pytest.raises(ArgumentError, match="emit: no function is built"):
        relax.BlockBuilder().emit(relax.const(1.0))
    with pytest.raises(ArgumentError, match="add_func: a module of 0 functions, expected one"):
        relax.BlockBuilder().add_func(IRModule(), "f")


def test_types_are_compared_by_their_parts() -> None:
    pair = relax.TupleStructInfo([relax.TensorStructInfo((N, 4), "int8"), relax.PrimStructInfo("int64")])
    assert pair.fields == [relax.TensorStructInfo(("n", 4), "int8"), relax.PrimStructInfo("int64")]
    assert relax.TensorStructInfo((N,)) != relax.TensorStructInfo((4,))
    assert relax.TensorStructInfo(None, None).ndim == -1


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (1.0, "float32"),
        (True, "bool"),
        ([1.0, 2.0], "float32"),
        (np.zeros(2), "float32"),
        (np.zeros(2, "int64"), "int32"),
        (np.float64(1), "float32"),
        (np.zeros(2, "float16"), "float16"),
        (np.zeros(2, "uint8"), "uint8"),
        (tvm.nd.array(np.zeros(2)), "float64"),
    ],
)
def test_constants_of_64_bits_become_those_of_32_bits_by_default(value: Any, dtype: str) -> None:
    assert relax.const(value).data.dtype == dtype
    assert relax.const(value, "float64").data.dtype == "float64"


def test_parameters_may_follow_at_the_end_of_a_function() -> None:
    bb = relax.BlockBuilder()
    x, y = tensor("x", 2, 3), tensor("y", 2, 3)
    with bb.function("main"):
        with bb.dataflow():
            total = bb.emit_output(bb.emit_te(topi.add, x, y))
        bb.emit_func_output(total, params=[x, y])
    a, b = random(2, 3), random(2, 3, seed=1)
    np.testing.assert_array_equal(run(bb.get(), a, b).numpy(), a + b)


def test_values_of_a_function_without_parameters_are_checked_at_its_end() -> None:
    x, y = tensor("x", 2, 3), tensor("y", 2, 3)
    bb = relax.BlockBuilder()
    with bb.function("main"):
        total = bb.emit(relax.op.add(x, y))
        with pytest.raises(ArgumentError, match="y has no value here"):
            bb.emit_func_output(total, params=[x])
        bb.emit_func_output(total, params=[x, y])


def test_variables_and_constants_in_the_words_of_2022() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", (2, 3), relax.DynTensorType(2, "float32"))
    w = relax.const(random(2, 3), relax.DynTensorType(2, "float32"))
    with bb.function("main", [x]):
        total = bb.emit(relax.Call(tvm.ir.Op.get("relax.add"), [x, w], None, None))
        assert bb.lookup_binding(w) is None
        bb.emit_func_output(total)
    a = random(2, 3, seed=1)
    np.testing.assert_array_equal(run(bb.get(), a).numpy(), a + w.data)


def test_parameters_of_one_name_get_names_of_their_own() -> None:
    x, y = (relax.Var("x", relax.TensorStructInfo((2,), "float32")) for _ in range(2))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(x - y))
    assert [each.name_hint for each in bb.get()["main"].params] == ["x", "x_1"]


def test_a_result_of_a_dataflow_region_is_an_output_of_the_region() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.exp(x))
        bb.emit_func_output(y)
    mod = bb.get()
    assert "R.output(lv)" in mod.script()
    (func,) = mod.functions.values()
    assert next(mod.functions.values()).params[0].name_hint == func.params[0].name_hint == "x"
    with pytest.raises(UnsupportedError, match=r"f: a function in a function, expected `@R\.function` in TVMScript"):
        relax.VarBinding(relax.Var("f", x.struct_info), func)
    assert str(relax.FuncStructInfo([x.struct_info], x.struct_info).type).endswith("-> tensor<4xf32>>")
