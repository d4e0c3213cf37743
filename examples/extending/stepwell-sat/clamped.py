from stepwell.script import tir as T


@T.prim_func
def main(A: T.Buffer((256,), "int8"), B: T.Buffer((256,), "int8"), C: T.Buffer((256,), "int8")):
    for i in T.vectorized(256):
        with T.block("C"):
            v = T.axis.spatial(256, i)
            C[v] = T.sat.clamp(T.sat.add(T.sat.add(A[v], B[v]), 1), low=-100, high=100)
