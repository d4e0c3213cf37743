"""The end of the quick start to TensorIR: threads are bound, and the program runs on a GPU, here an emulated one."""

import numpy as np

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm.script import tir as T


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


sch = tvm.tir.Schedule(MyModule)
block_b = sch.get_block("B")
(i,) = sch.get_loops(block_b)
i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
sch.reorder(i_0, i_2, i_1)
sch.bind(i_0, "blockIdx.x")
sch.bind(i_2, "threadIdx.x")
ctx = tvm.device("cuda-emulated", 0)
cuda_mod = tvm.build(sch.mod, target="cuda-emulated")
cuda_a = tvm.nd.array(np.arange(8).astype("float32"), ctx)
cuda_b = tvm.nd.array(np.zeros((8,)).astype("float32"), ctx)
cuda_mod(cuda_a, cuda_b)
print(cuda_a)
print(cuda_b)
print(cuda_mod.imported_modules[0].get_source(), end="")
