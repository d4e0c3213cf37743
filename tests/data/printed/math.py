# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), U: T.Buffer((64,), "uint8"), D: T.Buffer((64,), "float64"), H: T.Buffer((64,), "float16"), P: T.Buffer((64,), "bool"), L: T.Buffer((64,), "int64"), n: T.int32, m: T.int64, x: T.float32, h: T.handle, q: T.handle("float32")):
        A[0, 0] = T.exp(A[0, 1]) + T.exp2(x) + T.exp10(x) + T.log(x) + T.log2(x) + T.log10(x) + T.log1p(x)
        A[0, 0] = T.sqrt(x) + T.rsqrt(x) + T.tanh(x) + T.sigmoid(x) + T.erf(x) + T.sin(x) + T.cos(x) + T.tan(x)
        A[0, 0] = T.asin(x) + T.acos(x) + T.atan(x) + T.sinh(x) + T.cosh(x) + T.asinh(x) + T.acosh(x) + T.atanh(x)
        A[0, 0] = T.floor(x) + T.ceil(x) + T.nearbyint(x) + T.trunc(x) + T.fabs(x)
        A[0, 0] = T.pow(x, x) + T.atan2(x, x) + T.copysign(x, x) + T.hypot(x, x) + T.nextafter(x, x) + T.fmod(x, x)
        A[0, 0] = T.ldexp(x, n) + T.fma(x, x, x)
        B[0] = T.abs(B[1]) + T.q_multiply_shift(B[0], B[1], 31, 3)
        P[0] = T.isnan(x) or T.isinf(x) or T.isfinite(x) and T.likely(n < 3)
