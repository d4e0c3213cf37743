"""Machines that keep arguments, kernels that read sizes, and conditions of unknown type."""

# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError
from stepwell.frontends.tvm import relax, te, tir
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T


@I.ir_module
class Difference:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        z = R.subtract(x, y)
        return z


def machine(mod: Any) -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


def test_arguments_of_a_machine_may_have_names() -> None:
    vm = machine(Difference)
    x, y = np.full(4, 3, "float32"), np.ones(4, "float32")
    vm.set_input("main", y=y, x=x)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main"), x - y)
    vm.save_function("main", "saved", x, y=y)
    np.testing.assert_array_equal(vm["saved"](), x - y)
    with pytest.raises(ArgumentError, match="main: arguments x, z by name, expected x, y"):
        vm.set_input("main", x=x, z=y)
    assert vm.time_evaluator("invoke_stateful", tvm.cpu(), number=1)("main").results
    assert vm.time_evaluator("saved", tvm.cpu(), number=1)().results


def test_a_kernel_may_read_variables_of_sizes() -> None:
    builder = relax.BlockBuilder()
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x, y = relax.Var("x", R.Tensor([n], "float32")), relax.Var("y", R.Tensor([m], "float32"))

    def joined(a: Any, b: Any) -> Any:
        return te.compute((n + m,), lambda i: tir.if_then_else(i < n, a[i], b[i - n]))

    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit_te(joined, x, y))
    result = machine(builder.get())["main"](np.ones(3, "float32"), np.zeros(2, "float32"))
    np.testing.assert_array_equal(result, [1, 1, 1, 0, 0])


def test_a_kernel_gets_the_sizes_that_its_tensors_do_not_determine() -> None:
    builder = relax.BlockBuilder()
    n = tir.Var("n", "int64")
    x, y = relax.Var("x", R.Tensor((n,), "float32")), relax.Var("y", R.Tensor((n + 1,), "float32"))
    factor = relax.Var("factor", R.Prim(value="k"))

    def scaled(a: Any, k: Any) -> Any:
        return te.compute((n + 1,), lambda i: a[i] * k.astype("float32"))

    with builder.function("main", [x, y, factor]):
        builder.emit_func_output(builder.emit_te(scaled, y, factor))
    result = machine(builder.get())["main"](np.ones(3, "float32"), np.arange(4, dtype="float32"), 2)
    np.testing.assert_array_equal(result, [0, 2, 4, 6])


def test_a_condition_of_unknown_type_is_cast() -> None:
    @I.ir_module
    class Choice:
        @R.function
        def main(c: R.Tensor, x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            if c:
                y = R.add(x, x)
            else:
                y = R.negative(x)
            return y

    vm = machine(Choice)
    x = np.array([1, 2], "float32")
    np.testing.assert_array_equal(vm["main"](np.array(True), x), [2, 4])
    np.testing.assert_array_equal(vm["main"](np.array(False), x), [-1, -2])
    with pytest.raises(ArgumentError, match="match_cast"):
        vm["main"](np.ones(1, "float32"), x)


def test_names_of_values_have_numbers_without_underscores() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2,), "float32"))
    with builder.function("main", [x]):
        names = [builder.emit(relax.op.exp(x)).name_hint for _ in range(3)]
        assert names == ["gv", "gv1", "gv2"]
        assert builder.get_unique_name("x") == "x1"
        builder.emit_func_output(x)


def test_a_condition_may_be_a_number() -> None:
    @I.ir_module
    class Choice:
        @R.function
        def main(c: R.Prim("bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            if c:
                y = R.add(x, x)
            else:
                y = R.negative(x)
            return y

    vm = machine(tvm.script.from_source(Choice.script()))
    x = np.array([1, 2], "float32")
    np.testing.assert_array_equal(vm["main"](True, x), [2, 4])
    np.testing.assert_array_equal(vm["main"](False, x), [-1, -2])
    with pytest.raises(ArgumentError, match="a value of type int, expected bool"):
        vm["main"](1, x)


def test_a_macro_returns_a_value() -> None:
    @R.macro
    def twice(value: Any) -> Any:
        total = R.add(value, value)
        return total

    @I.ir_module
    class Program:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            pair = (x, x)
            y = twice(R.TupleGetItem(pair, 1))
            return y

    np.testing.assert_array_equal(machine(Program)["main"](np.array([1, 2], "float32")), [2, 4])


def test_a_packed_function_may_have_a_name() -> None:
    @I.ir_module
    class Program:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            func = R.ExternFunc("test.relax.negate")
            y = R.call_dps_packed(func, x, R.Tensor((2,), dtype="float32"))
            return y

    tvm.register_func("test.relax.negate", lambda x, y: y.copyfrom(-x.numpy()), override=True)
    np.testing.assert_array_equal(machine(Program)["main"](np.array([1, 2], "float32")), [-1, -2])


def test_storage_has_the_index_of_its_device_under_any_name() -> None:
    @I.ir_module
    class Program:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            s = R.memory.alloc_storage(R.shape([8]), virtual_device_index=0, dtype="float32")  # noqa: F841
            t = R.vm.alloc_storage(R.shape([8]), runtime_device_index=0, dtype="uint8")  # noqa: F841
            return x

    assert machine(Program)["main"](np.zeros(2, "float32")).shape == (2,)


@pytest.mark.parametrize("in_region", [False, True])
def test_calls_for_their_effects_alone_are_kept(in_region: bool) -> None:
    @tvm.register_func("tests.copy_to", override=True)
    def copy_to(x: Any, y: Any) -> Any:
        y.copyfrom(x.numpy())
        return y

    @I.ir_module
    class Plain:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
            _ = R.call_pure_packed("tests.copy_to", x, y, sinfo_args=R.Tensor(ndim=1, dtype="float32"))
            return y

    @I.ir_module
    class Region:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
            with R.dataflow():
                _ = R.call_pure_packed("tests.copy_to", x, y, sinfo_args=R.Tensor(ndim=1, dtype="float32"))
                z = R.exp(x)
                R.output(z)
            return z

    x, y = np.arange(3, dtype="float32"), tvm.nd.array(np.zeros(3, "float32"))
    machine(Region if in_region else Plain)["main"](tvm.nd.array(x), y)
    np.testing.assert_array_equal(y.numpy(), x)


def test_a_function_that_calls_itself_with_tensors_of_parts_of_a_type() -> None:
    @tvm.register_func("tests.is_zero", override=True)
    def is_zero(x: Any) -> Any:
        return tvm.nd.array(np.array([float(x.numpy()[0] == 0)], "float32"))

    @I.ir_module
    class Power:
        @R.function
        def main(n: R.Tensor((1,), "float32")) -> R.Tensor:
            stops = R.call_pure_packed("tests.is_zero", n, sinfo_args=R.Tensor(ndim=1, dtype="float32"))
            if stops:
                y = R.const(1.0)
            else:
                less = R.subtract(n, R.const([1.0], "float32"))
                one: R.Tensor(ndim=1, dtype="float32") = less
                half = Power.main(one)
                y = R.add(half, half)
            return y

    assert float(machine(Power)["main"](np.array([5], "float32")).numpy()) == 32.0


@I.ir_module
class Shapes:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tuple(R.Shape(ndim=2), R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        return (R.shape([n + 1, m]), x)


def test_shapes_that_a_machine_returns_equal_lists_and_tuples() -> None:
    shape, x = machine(Shapes)["main"](np.ones((3, 9), "float32"))
    assert isinstance(shape, tvm.runtime.ShapeTuple)
    assert shape == [4, 9]
    assert shape == (4, 9)
    assert not shape != [4, 9]
    assert shape != [4, 8]
    assert shape[0] + len(shape) == 6
    np.testing.assert_array_equal(x.numpy(), np.ones((3, 9)))
