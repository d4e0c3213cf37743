"""Structural equality of types and expressions of relax, and types of calls."""

import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError, StepwellError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.script import relax as R


def test_types_are_equal_by_their_parts() -> None:
    tvm.ir.assert_structural_equal(R.Tensor((2, 3), "float32"), relax.TensorStructInfo((2, 3), "float32"))
    assert not tvm.ir.structural_equal(R.Tensor((2, 3), "float32"), relax.TensorStructInfo((2, 3), "float16"))
    assert not tvm.ir.structural_equal(relax.TensorStructInfo((2,), "float32"), relax.ShapeStructInfo((2,)))
    pair = relax.TupleStructInfo([relax.TensorStructInfo((2,), "int32"), relax.ObjectStructInfo()])
    tvm.ir.assert_structural_equal(pair, R.Tuple(R.Tensor((2,), "int32"), R.Object))


def test_names_of_sizes_correspond_if_free_variables_may() -> None:
    n, m = relax.TensorStructInfo(("n", "n"), "float32"), relax.TensorStructInfo(("m", "m"), "float32")
    with pytest.raises(ValueError, match="m, m"):
        tvm.ir.assert_structural_equal(n, m)
    tvm.ir.assert_structural_equal(n, m, map_free_vars=True)
    assert not tvm.ir.structural_equal(n, relax.TensorStructInfo(("m", "k"), "float32"), map_free_vars=True)


def test_the_shape_of_a_tensor_may_be_a_variable() -> None:
    assert relax.TensorStructInfo(relax.Var("s", R.Shape((2, "n"))), "float32").shape == (2, "n")
    assert relax.TensorStructInfo(relax.Var("s", R.Shape(ndim=3)), "float32").ndim == 3
    assert relax.TensorStructInfo(relax.Var("s", R.Shape()), "float32").ndim == -1


def test_expressions_are_equal_by_operators_operands_and_attributes() -> None:
    x, y = relax.Var("x", R.Tensor((2, 3), "float32")), relax.Var("y", R.Tensor((2, 3), "float32"))
    tvm.ir.assert_structural_equal(relax.op.add(x, x), relax.op.add(x, x))
    assert not tvm.ir.structural_equal(relax.op.add(x, x), relax.op.add(x, y))
    assert not tvm.ir.structural_equal(relax.op.add(x, x), relax.op.multiply(x, x))
    assert not tvm.ir.structural_equal(relax.op.sum(x, axis=[0]), relax.op.sum(x, axis=[1]))
    tvm.ir.assert_structural_equal(relax.op.exp(x), relax.op.exp(y), map_free_vars=True)
    assert not tvm.ir.structural_equal(relax.op.add(x, x), relax.op.add(x, y), map_free_vars=True)
    tvm.ir.assert_structural_equal(relax.Tuple([relax.const(1, "int32")]), relax.Tuple([relax.const(1, "int32")]))
    assert not tvm.ir.structural_equal(relax.StringImm("a"), relax.StringImm("b"))
    assert not tvm.ir.structural_equal(relax.ShapeExpr([1, 2]), relax.ShapeExpr([1, "n"]))
    assert tvm.ir.structural_hash(relax.op.exp(x)) == tvm.ir.structural_hash(relax.op.exp(x))


def test_blocks_are_equal_up_to_the_names_of_their_variables() -> None:
    x = relax.Var("x", R.Tensor((2,), "float32"))

    def block(name: str, op: str) -> relax.DataflowBlock:
        var = relax.DataflowVar(name, R.Tensor((2,), "float32"))
        out = relax.Var(name + "_out", R.Tensor((2,), "float32"))
        bindings = [relax.VarBinding(var, getattr(relax.op, op)(x)), relax.VarBinding(out, relax.op.exp(var))]
        return relax.DataflowBlock(bindings, [out])

    tvm.ir.assert_structural_equal(block("a", "exp"), block("b", "exp"))
    assert not tvm.ir.structural_equal(block("a", "exp"), block("a", "log"))


def test_a_call_is_on_the_device_of_its_operands() -> None:
    builder = relax.BlockBuilder()
    on_cpu = relax.Var("x", R.Tensor((2, 3), "float32", tvm.ir.VDevice("llvm")))
    anywhere = relax.Var("y", R.Tensor((2, 3), "float32"))
    on_gpu = relax.Var("z", R.Tensor((2, 3), "float32", tvm.ir.VDevice("cuda", 0)))
    assert builder.normalize(relax.op.add(on_cpu, anywhere)).struct_info.device == "llvm:0"
    with pytest.raises(ArgumentError, match="operands on llvm:0 and cuda:0, expected them on one device"):
        builder.normalize(relax.op.add(on_cpu, on_gpu))


def test_a_call_without_an_operand_is_an_error_of_its_type() -> None:
    with pytest.raises(TypeError, match=r"relax.op.add: no argument 'x2', expected a tensor"):
        relax.op.add(relax.Var("x", R.Tensor((2, 3), "float32")))


def test_an_expression_has_the_fields_of_a_tuple_only() -> None:
    x = relax.Var("x", R.Tensor((4, 6), "float32"))
    first, second = relax.op.split(x, 2, axis=1)
    assert first.struct_info == second.struct_info == R.Tensor((4, 3), "float32")
    with pytest.raises(TypeError, match="has no fields"):
        list(x)
    with pytest.raises(IndexError, match="field 1 of a tuple of 1"):
        relax.Var("t", R.Tuple(R.Tensor((4,), "float32")))[1]


def test_flatten_makes_one_dimension() -> None:
    x = relax.Var("x", R.Tensor((2, 3, 4), "float32"))
    assert relax.op.flatten(x).struct_info.shape == (24,)


def test_words_of_types_are_types_outside_of_functions() -> None:
    assert R.Tensor("float32", ndim=2) == relax.TensorStructInfo(None, "float32", ndim=2)
    assert R.Tensor((2, 3)) == relax.TensorStructInfo((2, 3), None)
    assert relax.Var("x", R.Object).struct_info == R.Object() == relax.ObjectStructInfo()
    assert relax.Var("x", R.Tensor).struct_info == R.Tensor()
    inputs = (R.Object, R.Tensor((2,), "float32"))
    assert R.Callable(inputs, R.Object) == relax.FuncStructInfo([relax.ObjectStructInfo(), inputs[1]], R.Object())
    assert str(R.Callable()) == "R.Callable()"
    assert relax.call_packed("f", sinfo_args=R.Object).sinfo_args == [R.Object()]


@pytest.mark.parametrize("pool", ["max_pool2d", "avg_pool2d"])
def test_the_result_of_a_pool_has_the_stated_layout(pool: str) -> None:
    x = relax.Var("x", R.Tensor((2, 3, 4, 5), "float32"))
    call = getattr(relax.op.nn, pool)(x, pool_size=(2, 2), layout="NCHW", out_layout="NHWC")
    assert call.struct_info.shape == (2, 3, 4, 3)
    same = getattr(relax.op.nn, pool)(x, pool_size=(2, 2), layout="NCHW", out_layout="NCHW")
    assert same.struct_info.shape == (2, 3, 3, 4)


def test_a_shape_is_an_argument() -> None:
    x = relax.Var("x", R.Tensor((2, 3), "float32"))
    shape = relax.Var("s", R.Shape((6, 1)))
    assert relax.op.reshape(x, shape).struct_info.shape == (6, 1)
    assert relax.op.ones(shape, "float32").struct_info.shape == (6, 1)
    assert relax.op.tile(x, 2).struct_info.shape == (2, 6)


@pytest.mark.parametrize("value", [R.Shape((2, 3)), R.Object()])
@pytest.mark.parametrize("word", ["exp", "flatten", "expand_dims"])
def test_an_operand_that_is_no_tensor_is_an_error(word: str, value: relax.StructInfo) -> None:
    options = {"axis": 0} if word == "expand_dims" else {}
    with pytest.raises(StepwellError, match=f"{word}: .*expected a tensor"):
        relax.BlockBuilder().normalize(getattr(relax.op, word)(relax.Var("x", value), **options))


def test_sizes_that_a_type_does_not_name_stay_unknown() -> None:
    x, y = relax.Var("x", R.Tensor("float32", ndim=2)), relax.Var("y", R.Tensor(("n", 4), "float32"))
    assert relax.op.exp(x).struct_info == R.Tensor("float32", ndim=2)
    assert relax.op.sum(x).struct_info == R.Tensor((), "float32")
    assert relax.op.split(x, 2).struct_info.fields[0] == R.Tensor("float32", ndim=2)
    assert relax.op.exp(y).struct_info == R.Tensor(("n", 4), "float32")
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(builder.emit(relax.op.negative(x)))))
    assert builder.get()["main"].ret_struct_info.ndim == 2
