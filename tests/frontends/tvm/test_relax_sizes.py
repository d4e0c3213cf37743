"""Numbers in place of names of sizes, and products of matrices side by side: passes of `tvm.relax.transform`."""

# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T


@I.ir_module
class Sized:
    @T.prim_func
    def scale(x: T.handle, y: T.handle, k: T.int64):
        m = T.int64()
        A = T.match_buffer(x, (m, 4))
        B = T.match_buffer(y, (m, 4))
        for i, j in T.grid(m, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.Cast("float32", k)

    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), s: R.Shape(["n", "m"]), v: R.Tensor((4, 2), "float32"),
        w: R.Tensor((4, 3), "float32"), b: R.Tensor((3,), "float32"),
    ):  # fmt: skip
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            scaled = R.call_tir(Sized.scale, (x,), R.Tensor((n, 4), "float32"), tir_vars=R.shape([n]))
            p = R.matmul(scaled, v)
            q = R.add(R.matmul(scaled, w), b)
            flat = R.reshape(p, (n * 2,))
            zeros = R.zeros((n, m), "float32")
            R.output(q, flat, zeros)
        return (q, flat, zeros)


def check(mod: Any) -> None:
    """The results of `Sized.main` for 3 rows and 5 columns."""
    rng = np.random.default_rng(0)
    x, v, w, b = (rng.integers(-3, 4, shape).astype("float32") for shape in ((3, 4), (4, 2), (4, 3), (3,)))
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    q, flat, zeros = machine["main"](x, tvm.runtime.ShapeTuple([3, 5]), v, w, b)
    np.testing.assert_array_equal(q.numpy(), 3 * x @ w + b)
    np.testing.assert_array_equal(flat.numpy(), (3 * x @ v).reshape(-1))
    np.testing.assert_array_equal(zeros.numpy(), np.zeros((3, 5)))


@pytest.mark.parametrize(("sizes", "shape"), [({"n": 3}, ["3", "m"]), ({"n": 3, "m": 5}, ["3", "5"])])
def test_numbers_in_place_of_names_of_sizes(sizes: dict[str, int], shape: list[str]) -> None:
    mod = relax.transform.BindSymbolicVars(sizes, "main")(Sized)
    assert [str(each) for each in mod["main"].ret_struct_info.fields[2].shape] == shape
    check(mod)
    alone = Sized["main"].bind_symbolic_vars({tvm.tir.Var(name, "int64"): value for name, value in sizes.items()})
    mod["main"] = alone
    check(mod)


def test_a_name_in_place_of_another() -> None:
    mod = relax.transform.BindSymbolicVars({"m": tvm.tir.Var("n", "int64") * 2})(Sized)
    assert list(mod["main"].ret_struct_info.fields[2].shape) == ["n", "2 * n"]


def test_errors_of_names_of_sizes() -> None:
    with pytest.raises(ArgumentError, match=r"no size 'k' \(has: n, m\)"):
        relax.transform.BindSymbolicVars({"k": 3})(Sized)
    with pytest.raises(ArgumentError, match="function other, expected one of main"):
        relax.transform.BindSymbolicVars({"n": 3}, "other")(Sized)


def test_constants_in_place_of_parameters_of_a_function() -> None:
    rng = np.random.default_rng(0)
    x, v = (rng.integers(-3, 4, shape).astype("float32") for shape in ((3, 4), (4, 2)))
    func = Sized["main"].bind_params({"v": v, Sized["main"].params[3]: np.ones((4, 3), "float32")})
    assert [each.name_hint for each in func.params] == ["x", "s", "b"]
    mod = tvm.IRModule({"scale": Sized["scale"], "main": func})
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    q, flat, _ = machine["main"](x, tvm.runtime.ShapeTuple([3, 5]), np.zeros(3, "float32"))
    np.testing.assert_array_equal(flat.numpy(), (3 * x @ v).reshape(-1))
    np.testing.assert_array_equal(q.numpy(), np.repeat(3 * x.sum(1, keepdims=True), 3, 1))


def test_products_with_one_first_operand_are_one() -> None:
    mod = relax.transform.CombineParallelMatmul()(Sized)
    assert [str(mod["main"]).count(name) for name in ("nn.matmul", "concatenate", "split")] == [1, 1, 1]
    check(mod)
    seen: list[Any] = []

    def refuse(*operands: Any) -> bool:
        seen.append(operands)
        return False

    assert str(relax.transform.CombineParallelMatmul(refuse)(Sized)["main"]).count("nn.matmul") == 2
    assert [(each[0].name_hint, len(each[1])) for each in seen] == [("scaled", 2)]


def test_a_product_that_needs_an_earlier_one_stays() -> None:
    @I.ir_module
    class Chain:
        @R.function
        def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                b = R.matmul(x, a)
                c = R.matmul(x, w)
                d = R.add(b, c)
                R.output(d)
            return d

    mod = relax.transform.CombineParallelMatmul()(Chain)
    assert str(mod["main"]).count("nn.matmul") == 2
    x, w = np.array([[1, 2], [3, 4]], "float32"), np.array([[0, 1], [2, -1]], "float32")
    got = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](x, w)
    np.testing.assert_array_equal(got.numpy(), x @ x @ w + x @ w)
