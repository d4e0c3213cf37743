"""`tvm.tir.call_llvm_pure_intrin`: intrinsics of LLVM in expressions."""

from typing import Any

import numpy as np
import pytest

import stepwell
import stepwell.frontends.tvm as tvm
from stepwell.core.llvm_intrinsics import LLVM_INTRINSICS
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import te, tir


def result_of(element: Any, *arrays: Any, dtype: str) -> Any:
    tensors = [te.placeholder(each.shape, str(each.dtype)) for each in arrays]
    out = te.compute(arrays[0].shape, lambda i: element(*(each[i] for each in tensors)))
    values = np.zeros(arrays[0].shape, dtype)
    tvm.build(te.create_prim_func([*tensors, out]), target="llvm")(*arrays, values)
    return values


def test_intrinsics_of_every_processor_are_functions() -> None:
    x = np.array([0, 1, 6, -1, 1 << 20], "int32")
    count = tir.const(2, "uint32")
    ones = result_of(lambda a: tir.call_llvm_pure_intrin("int32", "llvm.ctpop.i32", a), x, dtype="int32")
    assert ones.tolist() == [0, 1, 2, 32, 1]
    zero = tir.const(0, "bool")
    zeros = result_of(lambda a: tir.call_llvm_intrin("int32", "llvm.ctlz", count, a, zero), x, dtype="int32")
    assert zeros.tolist() == [32, 31, 29, 0, 11]
    y, z = np.array([1.5, 4.0, 9.0], "float32"), np.array([-1.0, 2.0, -3.0], "float32")
    np.testing.assert_array_equal(
        result_of(lambda a: tir.call_llvm_pure_intrin("float32", "llvm.sqrt.f32", a), y, dtype="float32"), np.sqrt(y)
    )
    signs = result_of(lambda a, b: tir.call_llvm_pure_intrin("float32", "llvm.copysign", a, b), y, z, dtype="float32")
    assert signs.tolist() == [-1.5, 4.0, -9.0]


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_sums_of_products_of_bytes(target: str) -> None:
    name = "llvm.x86.ssse3.pmadd.ub.sw.128"
    expected = LLVM_INTRINSICS[name]
    a, b = tir.decl_buffer((16,), "uint8", name="a"), tir.decl_buffer((16,), "int8", name="b")
    c = tir.decl_buffer((8,), "int16", name="c")
    call = tir.call_llvm_pure_intrin(
        expected.result, name, tir.const(2, "uint32"), a.vload([0], "uint8x16"), b.vload([0], "int8x16")
    )
    func = tir.PrimFunc([a, b, c], c.vstore([0], call))  # pyright: ignore[reportArgumentType]
    rng = np.random.default_rng(0)
    x, y, out = rng.integers(0, 100, 16, "uint8"), rng.integers(-100, 100, 16, "int8"), np.zeros(8, "int16")
    stepwell.build(func, target=target)(x, y, out)
    assert out.tolist() == (x.astype(int) * y).reshape(8, 2).sum(1).tolist()


def test_other_intrinsics_and_operands_are_errors() -> None:
    x = te.var("x", "float32")
    with pytest.raises(TeError, match=r"no intrinsic 'llvm\.va_start', expected one of llvm\.ceil"):
        tir.call_llvm_intrin("", "llvm.va_start", x)
    with pytest.raises(TeError, match=r"llvm\.pow: 1 operands, expected 2"):
        tir.call_llvm_pure_intrin("float32", "llvm.pow", x)
    with pytest.raises(TeError, match="the result is of type float32, expected float64"):
        tir.call_llvm_pure_intrin("float64", "llvm.sqrt", x)
