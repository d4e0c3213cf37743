"""Tensor intrinsics of products of bytes compute what they describe, under the names of TVM."""

import pytest

from stepwell.backends.validation.tensor_intrinsics import register_tensor_intrin
from stepwell.frontends.tvm.tir.tensor_intrin import TensorIntrin, arm_cpu, dot_product_common, rocm, x86
from stepwell.schedule.dot_intrinsics import DOTS, DP4A, dot_intrinsic


@pytest.mark.parametrize("name", [*DOTS, *DP4A])
def test_implementations_compute_what_they_describe(name: str) -> None:
    functions = dot_intrinsic(name)
    assert functions is not None
    register_tensor_intrin(f"copy of {name}", *functions, override=True)


def test_the_modules_of_tvm_name_them() -> None:
    modules = (x86, arm_cpu, dot_product_common, rocm)
    names = {value for module in modules for key, value in vars(module).items() if key.endswith("_INTRIN")}
    assert names == {*DOTS, *DP4A}
    assert all(TensorIntrin.get(name) is not None for name in names)
