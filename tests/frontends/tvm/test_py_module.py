"""`BasePyModule`: Python functions, kernels and programs in one module."""

# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportCallIssue=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, register_func
from stepwell.frontends.tvm.relax.base_py_module import BasePyModule
from stepwell.frontends.tvm.relax.relax_to_pyfunc_converter import RelaxToPyFuncConverter
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tirx as T


@I.ir_module
class Mixed(BasePyModule):
    @T.prim_func(s_tir=True)
    def scale(var_x: T.handle, var_out: T.handle):
        n = T.int64()
        x = T.match_buffer(var_x, (n,), "float32")
        out = T.match_buffer(var_out, (n * 2,), "float32")
        for i in T.serial(n * 2):
            out[i] = x[i // 2] * T.float32(2.0)

    @T.prim_func
    def copy(var_x: T.handle, var_out: T.handle):
        n = T.int64()
        x = T.match_buffer(var_x, (n,), "float32")
        out = T.match_buffer(var_out, (n,), "float32")
        for i in T.serial(n):
            out[i] = x[i]

    @I.pyfunc
    def shift(self, x: Any) -> Any:
        """Adds one, by statements that TVMScript does not have."""
        try:
            return np.asarray(x.numpy()) + 1
        finally:
            self.calls = f"{getattr(self, 'calls', '')}s"

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = R.call_py_func("shift", (x,), out_sinfo=R.Tensor((n,), "float32"))
        return R.add(y, y)


X = np.arange(3, dtype="float32")


def numpy(value: Any) -> Any:
    return np.asarray(value.numpy())


@pytest.fixture(scope="module")
def mixed() -> Any:
    return Mixed(device=tvm.cpu(0))


def test_functions_of_all_kinds_call_each_other(mixed: Any) -> None:
    np.testing.assert_array_equal(numpy(mixed.main(X)), 2 * (X + 1))
    np.testing.assert_array_equal(numpy(mixed.main(np.zeros(5, "float32"))), [2] * 5)
    assert mixed.calls == "ss"
    np.testing.assert_array_equal(numpy(mixed.call_tir("copy", [X], R.Tensor((T.int64(),), "float32"))), X)
    np.testing.assert_array_equal(
        numpy(mixed.call_tir(mixed.scale, [X], R.Tensor((6,), "float32"))), np.repeat(2 * X, 2)
    )
    np.testing.assert_array_equal(mixed.call_py_func("shift", [tvm.nd.array(X)]), X + 1)
    assert mixed.list_functions() == {"tir": ["scale", "copy"], "relax": ["main"], "extern": ["shift"]}
    assert "# Python function: shift" in mixed.script()


def test_packed_functions(mixed: Any) -> None:
    register_func("py_module.halve", lambda x, out: np.multiply(x, 0.5, out=out), override=True)
    result = mixed.call_dps_packed("py_module.halve", [X], R.Tensor((3,), "float32"))
    np.testing.assert_array_equal(numpy(result), X / 2)


def test_programs_are_python_functions() -> None:
    @I.ir_module
    class Program:
        @R.function
        def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            return R.nn.relu(R.negative(x))

    converted = RelaxToPyFuncConverter(Program).convert(["main"])
    np.testing.assert_array_equal(numpy(converted.pyfuncs["main"](-X)), X)
    with pytest.raises(ArgumentError, match="no function of relax 'other'"):
        RelaxToPyFuncConverter(Program).convert("other")


def test_errors(mixed: Any) -> None:
    with pytest.raises(ArgumentError, match="of dimension 0 of a result, expected a number"):
        mixed.call_tir("scale", [X], R.Tensor((T.int64(),)))
    with pytest.raises(ArgumentError, match="no kernel 'main'"):
        mixed.call_tir("main", [X], R.Tensor((3,)))
    with pytest.raises(ArgumentError, match="no Python function 'scale'"):
        mixed.call_py_func("scale", [X])
    with pytest.raises(AttributeError, match="Mixed has no function 'other'"):
        mixed.other(X)
