from stepwell.script import tir as T


@T.prim_func
def main(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int8")):
    for i in T.vectorized(8):
        C[i] = T.sat.clamp(T.sat.add(A[i], B[i]), low=-100, high=100)
