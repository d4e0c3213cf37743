"""A pass of a user that makes the memory of kernels parameters, and the calls of kernels allocate it."""

# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import relax, tir
from stepwell.frontends.tvm.ir import Op
from stepwell.frontends.tvm.relax.expr_functor import PyExprMutator, mutator
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")


@I.ir_module
class Program:
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((T.int64(4),), "float32"), x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(4)))
        Y = T.match_buffer(y, (n, T.int64(4)))
        scaled = T.alloc_buffer((T.int64(4),))
        sums = T.alloc_buffer((n, T.int64(4)))
        for i in range(T.int64(4)):
            with T.block("scaled"):
                v = T.axis.spatial(T.int64(4), i)
                scaled[v] = A[v] * T.float32(2)
        for i, j in T.grid(n, T.int64(4)):
            with T.block("sums"):
                u, v = T.axis.remap("SS", [i, j])
                sums[u, v] = X[u, v] + scaled[v]
        for i, j in T.grid(n, T.int64(4)):
            with T.block("result"):
                u, v = T.axis.remap("SS", [i, j])
                Y[u, v] = sums[u, v] * sums[u, v]

    @R.function
    def main(a: R.Tensor((4,), "float32"), x: R.Tensor(("m", 4), "float32")):
        cls = Program
        m = T.int64()
        out = R.call_tir(cls.kernel, (a, x), R.Tensor((m, 4), "float32"))
        return out


program: Any = Program


def lifted(func: Any) -> Any:
    """A kernel with parameters for its memory, and the types of the memory."""
    params, buffers, types = list(func.params), dict(func.buffer_map), list[Any]()
    assert all(param.dtype == "handle" for param in params)
    root = func.body.block
    for memory in root.alloc_buffers:
        params.append(tir.Var(f"var_{memory.name}", "handle"))
        buffers[params[-1]] = memory
        types.append(relax.TensorStructInfo(memory.shape, memory.dtype))
    block = tir.Block([], [], [], root.name_hint, root.body, annotations=root.annotations)
    body = tir.BlockRealize(iter_values=[], predicate=True, block=block)
    return tir.PrimFunc(params, body, ret_type=func.ret_type, buffer_map=buffers, attrs=func.attrs), types


@mutator
class Lifting(PyExprMutator):
    """Replaces the kernels of a module, then their calls."""

    def transform(self, mod: Any) -> Any:
        self.kernels: dict[Any, Any] = {}
        for name, func in mod.functions.items():
            if isinstance(func, tir.PrimFunc):
                kernel, types = lifted(func)
                self.kernels[name] = func, types
                self.builder_.update_func(name, kernel)
        for name, func in self.builder_.get().functions.items():
            if isinstance(func, relax.Function):
                self.builder_.update_func(name, self.visit_expr(func))
        return self.builder_.get()

    def visit_call_(self, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        if call.op != Op.get("relax.call_tir") or call.args[0] not in self.kernels:
            return call
        func, types = self.kernels[call.args[0]]
        values: dict[Any, Any] = {}
        for param, arg in zip(func.params, call.args[1].fields, strict=False):
            shape = arg.struct_info.shape
            assert isinstance(shape, relax.ShapeExpr)
            pairs = zip(func.buffer_map[param].shape, shape.values, strict=True)
            values |= {size: value for size, value in pairs if isinstance(size, tir.Var)}
        found = [
            relax.TensorStructInfo([tir.stmt_functor.substitute(size, values) for size in each.shape.values])
            for each in types
        ]
        sinfo = relax.TupleStructInfo([*call.sinfo_args, *found])
        return relax.TupleGetItem(self.builder_.emit(relax.Call(call.op, call.args, call.attrs, [sinfo])), 0)


def test_memory_of_kernels_becomes_parameters() -> None:
    @tvm.transform.module_pass(opt_level=0)
    def lift(mod: Any, ctx: Any) -> Any:
        return Lifting(mod).transform(mod)

    mod = lift(program)
    kernel = mod["kernel"]
    assert len(kernel.params) == 5
    assert "alloc_buffer" not in kernel.script()
    assert [[str(size) for size in kernel.buffer_map[each].shape] for each in kernel.params[3:]] == [["4"], ["n", "4"]]
    assert 'R.Tensor((m, 4), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((m, 4)' in mod.script()
    a, x = np.arange(4, dtype="float32"), np.arange(12, dtype="float32").reshape(3, 4)
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    np.testing.assert_array_equal(vm["main"](a, x).numpy(), (x + 2 * a) ** 2)


def test_the_functions_of_a_module_are_the_same_objects_until_they_change() -> None:
    mod = tvm.IRModule({"kernel": program["kernel"], "other": program["kernel"]})
    kernel = mod["kernel"]
    assert mod["kernel"] is kernel
    shapes = [mod["kernel"].buffer_map[param].shape for param in mod["kernel"].params]
    assert [len(shape) for shape in shapes] == [1, 2, 2]
    mod["kernel"] = kernel.with_attr("key", 3)
    assert mod["kernel"] is not kernel
    assert mod["kernel"].attrs["key"] == 3


def test_sizes_of_types_are_expressions_of_one_variable_per_name() -> None:
    x, y = (relax.Var(name, R.Tensor(("n", 4, "n * 2"), "float32")).struct_info for name in "xy")
    shape, other = (relax.ShapeExpr(each.shape or ()) for each in (x, y))
    assert isinstance(x.shape, relax.ShapeExpr)
    n, four, twice = shape.values
    assert isinstance(four, tir.IntImm)
    assert four.dtype == "int64"
    assert four.value == 4
    assert n is other.values[0]
    assert isinstance(twice, tir.Mul)
    assert n in (twice.a, twice.b)
    m = tir.Var("m", "int64")
    sizes: Any = relax.TensorStructInfo([m, 2]).shape
    assert sizes.values[0] is m
    assert relax.ShapeExpr([m, 2]).values[0] is m
    assert relax.ShapeExpr([m * 2]).sizes == ["2 * m"]


def test_references_of_one_name_in_a_module_are_equal() -> None:
    kernel = program.get_global_var("kernel")
    assert kernel == program.get_global_vars()[0]
    assert kernel in dict(program.functions.items())
    assert kernel != program.get_global_var("main")


def test_a_module_between_two_updates_may_be_invalid() -> None:
    bb = relax.BlockBuilder(program)
    kernel, _ = lifted(program["kernel"])
    bb.update_func("kernel", kernel)
    with pytest.raises(tvm.TVMError, match="2 arguments, 1 results"):
        bb.get().verify()
