"""The quick start to TensorIR: a module in TVMScript and one of tensor expressions, built, run and scheduled."""

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm.ir.module import IRModule
from stepwell.frontends.tvm.script import tir as T
import numpy as np

@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        A = T.match_buffer(a, (8,), dtype="float32")
        B = T.match_buffer(b, (8,), dtype="float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0
ir_module = MyModule
print(type(ir_module))
print(ir_module.script())
from stepwell.frontends.tvm import te
A = te.placeholder((8,), dtype="float32", name="A")
B = te.compute((8,), lambda *i: A(*i) + 1.0, name="B")
func = te.create_prim_func([A, B])
print(func.script())
ir_module_from_te = IRModule({"main": func})
print(ir_module_from_te.script())
mod = tvm.build(ir_module, target="llvm")
print(type(mod))
a = tvm.nd.array(np.arange(8).astype("float32"))
b = tvm.nd.array(np.zeros((8,)).astype("float32"))
mod(a, b)
print(a)
print(b)
sch = tvm.tir.Schedule(ir_module)
print(type(sch))
block_b = sch.get_block("B")
(i,) = sch.get_loops(block_b)
i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
print(sch.mod.script())
sch.reorder(i_0, i_2, i_1)
print(sch.mod.script())
sch.bind(i_0, "blockIdx.x")
sch.bind(i_2, "threadIdx.x")
print(sch.mod.script())
