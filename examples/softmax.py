"""Softmax over any number of rows of any length: `stepwell run examples/softmax.py --size m=5 --size n=100 --check`

Run as a Python script, the example compiles the function and calls it on numpy arrays.
"""

import numpy as np

import stepwell
from stepwell.script import tir as T


@T.prim_func
def softmax(a: T.handle, b: T.handle):
    T.func_attr({"tir.noalias": True})
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    largest = T.alloc_buffer((m,), "float32")
    total = T.alloc_buffer((m,), "float32")
    for i, k in T.grid(m, n):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], A[vi, vk])
    for i, k in T.grid(m, n):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + T.exp(A[vi, vk] - largest[vi])
    for i, j in T.grid(m, n):
        with T.block("softmax"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj] - largest[vi]) / total[vi]


if __name__ == "__main__":
    library = stepwell.build(softmax)
    x = np.random.default_rng(0).standard_normal((3, 5)).astype("float32")
    y = np.empty_like(x)
    library(x, y)
    print(y, y.sum(axis=1))
