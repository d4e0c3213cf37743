"""Elementwise cases: dtypes, promotion, functions and operators, broadcasting."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Array, Table

TABLE = Table()

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

# The dtype of a sum of two dtypes.
PROMOTIONS = {
    ("int8", "int32"): "int32",
    ("uint8", "int32"): "int32",
    ("int8", "int64"): "int64",
    ("int32", "int64"): "int64",
    ("uint8", "uint32"): "uint32",
    ("int32", "float32"): "float32",
    ("int64", "float32"): "float32",
    ("int8", "float16"): "float16",
    ("int32", "float16"): "float16",
    ("float16", "float32"): "float32",
    ("float32", "float64"): "float64",
    ("uint8", "float64"): "float64",
    ("bool", "int32"): "int32",
    ("bool", "float32"): "float32",
    ("uint8", "int8"): "uint8",
    ("int32", "uint32"): "uint32",
}

# The numpy function, and the bounds of its argument; None for multiples of 1/4, which include the ties of rounding.
UNARY: dict[str, tuple[Callable[[Array], Array], tuple[float, float] | None]] = {
    "exp": (np.exp, (-4, 4)),
    "log": (np.log, (0.1, 9)),
    "log2": (np.log2, (0.1, 9)),
    "log10": (np.log10, (0.1, 9)),
    "sqrt": (np.sqrt, (0, 9)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.1, 9)),
    "sin": (np.sin, (-4, 4)),
    "cos": (np.cos, (-4, 4)),
    "tan": (np.tan, (-1, 1)),
    "sinh": (np.sinh, (-2, 2)),
    "cosh": (np.cosh, (-2, 2)),
    "tanh": (np.tanh, (-2, 2)),
    "asin": (np.arcsin, (-0.9, 0.9)),
    "acos": (np.arccos, (-0.9, 0.9)),
    "atan": (np.arctan, (-4, 4)),
    "asinh": (np.arcsinh, (-4, 4)),
    "acosh": (np.arccosh, (1.5, 4)),
    "atanh": (np.arctanh, (-0.9, 0.9)),
    "floor": (np.floor, None),
    "ceil": (np.ceil, None),
    "trunc": (np.trunc, None),
    "round": (np.round, None),
    "nearbyint": (np.round, None),
    "abs": (np.abs, None),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-4, 4)),
    "erf": (np.vectorize(math.erf, otypes=["float32"]), (-2, 2)),
}


def _increment(dtype: str) -> None:
    def build(te: Any) -> list[Any]:
        A = te.placeholder((4, 6), dtype=dtype, name="A")
        B = te.compute((4, 6), lambda i, j: A[i, j] + te.const(1, dtype), name="B")
        return [A, B]

    TABLE.add(f"increment_{dtype}", build, lambda a: a + np.array(1, dtype))


def _promotion(left: str, right: str, result: str) -> None:
    def build(te: Any) -> list[Any]:
        A = te.placeholder((5,), dtype=left, name="A")
        B = te.placeholder((5,), dtype=right, name="B")
        C = te.compute((5,), lambda i: A[i] + B[i], name="C")
        return [A, B, C]

    TABLE.add(f"add_{left}_{right}", build, lambda a, b: a.astype(result) + b.astype(result))


def _unary(name: str, function: Callable[[Array], Array], bounds: tuple[float, float] | None) -> None:
    def build(te: Any) -> list[Any]:
        A = te.placeholder((9,), name="A")
        B = te.compute((9,), lambda i: getattr(te, name)(A[i]), name="B")
        return [A, B]

    TABLE.add(f"unary_{name}", build, lambda a: function(a).astype("float32"), ranges={"A": bounds} if bounds else {})


for _dtype in FLOATS + INTEGERS:
    _increment(_dtype)
for (_left, _right), _result in PROMOTIONS.items():
    _promotion(_left, _right, _result)
for _name, (_function, _bounds) in UNARY.items():
    _unary(_name, _function, _bounds)


@TABLE.case(lambda a: a.astype("int32") + 300)
def literal_int_with_int8(te: Any) -> list[Any]:
    A = te.placeholder((5,), dtype="int8", name="A")
    return [A, te.compute((5,), lambda i: A[i] + 300, name="B")]


@TABLE.case(lambda a: 7 - a)
def literal_int_with_int64(te: Any) -> list[Any]:
    A = te.placeholder((5,), dtype="int64", name="A")
    return [A, te.compute((5,), lambda i: 7 - A[i], name="B")]


@TABLE.case(lambda a: a + np.float16(3))
def literal_int_with_float16(te: Any) -> list[Any]:
    A = te.placeholder((5,), dtype="float16", name="A")
    return [A, te.compute((5,), lambda i: A[i] + 3, name="B")]


@TABLE.case(lambda a: a.astype("float32") * np.float32(1.5))
def literal_float_with_float16(te: Any) -> list[Any]:
    A = te.placeholder((5,), dtype="float16", name="A")
    return [A, te.compute((5,), lambda i: A[i] * 1.5, name="B")]


@TABLE.case(lambda a: a.astype("float32") * np.float32(0.5))
def literal_float_with_int32(te: Any) -> list[Any]:
    A = te.placeholder((5,), dtype="int32", name="A")
    return [A, te.compute((5,), lambda i: A[i] * 0.5, name="B")]


@TABLE.case(lambda a: a.astype("float64") / 3)
def const_float64_with_float32(te: Any) -> list[Any]:
    A = te.placeholder((5,), name="A")
    return [A, te.compute((5,), lambda i: A[i] / te.const(3.0, "float64"), name="B")]


@TABLE.case(lambda a, b: (-a, a - b, a * b, a / b), ranges={"B": (1, 4)}, outputs=(2, 3, 4, 5))
def arithmetic_of_floats(te: Any) -> list[Any]:
    A, B = te.placeholder((7,), name="A"), te.placeholder((7,), name="B")
    return [A, B, *te.compute((7,), lambda i: (-A[i], A[i] - B[i], A[i] * B[i], A[i] / B[i]), name="C")]


@TABLE.case(lambda a, b: (-a, a - b, a * b), ranges={"A": (-(2**31), 2**31 - 1)}, outputs=(2, 3, 4))
def arithmetic_of_int32_wraps(te: Any) -> list[Any]:
    A = te.placeholder((7,), dtype="int32", name="A")
    B = te.placeholder((7,), dtype="int32", name="B")
    return [A, B, *te.compute((7,), lambda i: (-A[i], A[i] - B[i], A[i] * B[i]), name="C")]


@TABLE.case(lambda a, b: a - b)
def subtraction_of_uint8_wraps(te: Any) -> list[Any]:
    A = te.placeholder((9,), dtype="uint8", name="A")
    B = te.placeholder((9,), dtype="uint8", name="B")
    return [A, B, te.compute((9,), lambda i: A[i] - B[i], name="C")]


@TABLE.case(
    lambda a: (a // 3, a % 3, (a / 3).astype("int32"), np.fmod(a, 3)),
    ranges={"A": (-20, 20)},
    outputs=(1, 2, 3, 4),
)
def integer_divisions(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="int32", name="A")
    B = te.compute(
        (16,),
        lambda i: (te.floordiv(A[i], 3), te.floormod(A[i], 3), te.truncdiv(A[i], 3), te.truncmod(A[i], 3)),
        name="B",
    )
    return [A, *B]


@TABLE.case(lambda a, b: (a // b, a % b), ranges={"A": (-20, 20), "B": (-5, -1)}, outputs=(2, 3))
def division_operators_by_negative_numbers(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="int32", name="A")
    B = te.placeholder((16,), dtype="int32", name="B")
    return [A, B, *te.compute((16,), lambda i: (A[i] // B[i], A[i] % B[i]), name="C")]


@TABLE.case(lambda a: (a & 3 | a ^ 5, ~a, a << 2 >> 1), outputs=(1, 2, 3))
def bit_operations(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="int32", name="A")
    return [A, *te.compute((16,), lambda i: ((A[i] & 3) | (A[i] ^ 5), ~A[i], (A[i] << 2) >> 1), name="B")]


@TABLE.case(lambda a, b: (a << b, a >> b), ranges={"A": (-128, 127), "B": (0, 7)}, outputs=(2, 3))
def shifts_of_int8_by_a_tensor(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="int8", name="A")
    B = te.placeholder((16,), dtype="int8", name="B")
    return [A, B, *te.compute((16,), lambda i: (A[i] << B[i], A[i] >> B[i]), name="C")]


@TABLE.case(lambda a: a >> np.uint8(1), ranges={"A": (0, 255)})
def shift_of_uint8_by_a_literal(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="uint8", name="A")
    return [A, te.compute((16,), lambda i: A[i] >> 1, name="B")]


@TABLE.case(lambda a: np.bitwise_count(a).astype("uint32"), ranges={"A": (0, 2**32 - 1)})
def popcount(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="uint32", name="A")
    return [A, te.compute((16,), lambda i: te.popcount(A[i]), name="B")]


@TABLE.case(lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), outputs=(2, 3, 4, 5, 6, 7))
def comparisons(te: Any) -> list[Any]:
    A, B = te.placeholder((32,), name="A"), te.placeholder((32,), name="B")
    C = te.compute(
        (32,),
        lambda i: (A[i] < B[i], A[i] <= B[i], A[i] > B[i], A[i] >= B[i], A[i].equal(B[i]), A[i] != B[i]),
        name="C",
    )
    return [A, B, *C]


@TABLE.case(lambda a: a > 1)
def comparison_with_a_literal(te: Any) -> list[Any]:
    A = te.placeholder((8,), dtype="int32", name="A")
    return [A, te.compute((8,), lambda i: A[i] > 1, name="B")]


@TABLE.case(lambda a, b, x: (a & b & (x > 0), a | b), outputs=(3, 4))
def logic_of_bools(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="bool", name="A")
    B = te.placeholder((16,), dtype="bool", name="B")
    X = te.placeholder((16,), name="X")
    C = te.compute((16,), lambda i: (te.all(A[i], B[i], X[i] > 0), te.any(A[i], B[i])), name="C")
    return [A, B, X, *C]


@TABLE.case(lambda a, b: a != b, tvm_fails="LLVM refuses its comparison of floats on bools")
def inequality_of_bools(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="bool", name="A")
    B = te.placeholder((16,), dtype="bool", name="B")
    return [A, B, te.compute((16,), lambda i: A[i] != B[i], name="C")]


@TABLE.case(lambda a: (a.astype("int32"), a.astype("float64"), a.astype("float16"), a != 0), outputs=(1, 2, 3, 4))
def casts_of_float32(te: Any) -> list[Any]:
    A = te.placeholder((16,), name="A")
    B = te.compute(
        (16,),
        lambda i: (A[i].astype("int32"), A[i].astype("float64"), A[i].astype("float16"), A[i].astype("bool")),
        name="B",
    )
    return [A, *B]


@TABLE.case(
    lambda a: (a.astype("int8"), a.astype("uint16"), a.astype("int64"), a.astype("float32"), a != 0),
    ranges={"A": (-1000, 1000)},
    outputs=(1, 2, 3, 4, 5),
)
def casts_of_int32(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="int32", name="A")
    kinds = ("int8", "uint16", "int64", "float32", "bool")
    return [A, *te.compute((16,), lambda i: tuple(A[i].astype(kind) for kind in kinds), name="B")]


@TABLE.case(lambda a: a)
def cast_to_the_same_dtype(te: Any) -> list[Any]:
    A = te.placeholder((5,), name="A")
    return [A, te.compute((5,), lambda i: A[i].astype("float32"), name="B")]


@TABLE.case(lambda a, b: (np.maximum(a, b), np.minimum(a, b)), outputs=(2, 3))
def max_and_min_of_two_tensors(te: Any) -> list[Any]:
    A, B = te.placeholder((8,), name="A"), te.placeholder((8,), name="B")
    return [A, B, *te.compute((8,), lambda i: (te.max(A[i], B[i]), te.min(A[i], B[i])), name="C")]


@TABLE.case(lambda a: np.clip(a, -1, 1))
def clip(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: te.max(te.min(A[i], 1.0), -1.0), name="B")]


@TABLE.case(lambda a: np.where(a > 0, a, a * np.float32(0.125)))
def leaky_relu_by_select(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    return [A, te.compute((8,), lambda i: te.Select(A[i] > 0.0, A[i], A[i] * 0.125), name="B")]


@TABLE.case(lambda c, a, b: np.where(c, a, b))
def where(te: Any) -> list[Any]:
    C = te.placeholder((4, 5), dtype="bool", name="C")
    A, B = te.placeholder((4, 5), name="A"), te.placeholder((4, 5), name="B")
    return [C, A, B, te.compute((4, 5), lambda i, j: te.if_then_else(C[i, j], A[i, j], B[i, j]), name="D")]


@TABLE.case(lambda a, x: np.where(a > 0, x.astype("float32"), a))
def branches_are_promoted(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    X = te.placeholder((8,), dtype="int32", name="X")
    return [A, X, te.compute((8,), lambda i: te.if_then_else(A[i] > 0.0, X[i], A[i]), name="B")]


@TABLE.case(lambda a: np.where(a > 0, np.int32(1), np.where(a < 0, np.int32(-1), np.int32(0))))
def sign_by_nested_conditions(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: te.if_then_else(A[i] > 0.0, 1, te.if_then_else(A[i] < 0.0, -1, 0)), name="B")
    return [A, B]


@TABLE.case(lambda a: np.abs(a))
def abs_of_int32(te: Any) -> list[Any]:
    A = te.placeholder((8,), dtype="int32", name="A")
    return [A, te.compute((8,), lambda i: te.abs(A[i]), name="B")]


@TABLE.case(lambda a, b: (np.power(a, 2), np.power(a, b)), ranges={"A": (0.5, 2)}, outputs=(2, 3))
def powers(te: Any) -> list[Any]:
    A, B = te.placeholder((8,), name="A"), te.placeholder((8,), name="B")
    return [A, B, *te.compute((8,), lambda i: (te.power(A[i], 2.0), te.power(A[i], B[i])), name="C")]


@TABLE.case(lambda a, b: np.fmod(a, b), ranges={"A": (-8, 8), "B": (1, 3)}, tvm_fails="it has no code for fmod")
def fmod(te: Any) -> list[Any]:
    A, B = te.placeholder((8,), name="A"), te.placeholder((8,), name="B")
    return [A, B, te.compute((8,), lambda i: te.fmod(A[i], B[i]), name="C")]


@TABLE.case(lambda a, b: (np.isnan(a / b), np.isfinite(a / b), np.isinf(a / b)), outputs=(2, 3, 4))
def kinds_of_floats(te: Any) -> list[Any]:
    A, B = te.placeholder((64,), name="A"), te.placeholder((64,), name="B")
    C = te.compute((64,), lambda i: A[i] / B[i], name="C")
    return [A, B, *te.compute((64,), lambda i: (te.isnan(C[i]), te.isfinite(C[i]), te.isinf(C[i])), name="D")]


@TABLE.case(lambda a: np.exp(a), ranges={"A": (-2, 2)}, rtol=2e-3)
def exp_of_float16(te: Any) -> list[Any]:
    A = te.placeholder((8,), dtype="float16", name="A")
    return [A, te.compute((8,), lambda i: te.exp(A[i]), name="B")]


@TABLE.case(lambda a: np.tanh(a), rtol=1e-14)
def tanh_of_float64(te: Any) -> list[Any]:
    A = te.placeholder((8,), dtype="float64", name="A")
    return [A, te.compute((8,), lambda i: te.tanh(A[i]), name="B")]


@TABLE.case(lambda a: a * a / (a * a + np.float32(1)))
def an_expression_used_twice(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")

    def quotient(i: Any) -> Any:
        square = A[i] * A[i]
        return square / (square + 1.0)

    return [A, te.compute((8,), quotient, name="B")]


@TABLE.case(lambda a: np.where(np.isnan(np.sqrt(a)), np.float32(7), a - a))
def difference_of_equal_floats(te: Any) -> list[Any]:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: te.if_then_else(te.isnan(te.sqrt(A[i])), 7.0, A[i] - A[i]), name="B")
    return [A, B]


@TABLE.case(
    lambda a, b: a / b - a / b,
    tvm_differs="the difference of two equal floats is taken for 0, NaN included",
)
def difference_of_equal_quotients(te: Any) -> list[Any]:
    A, B = te.placeholder((64,), name="A"), te.placeholder((64,), name="B")
    return [A, B, te.compute((64,), lambda i: A[i] / B[i] - A[i] / B[i], name="C")]


@TABLE.case(
    lambda a: np.minimum(a, a + np.int32(1)),
    ranges={"A": (2**31 - 2, 2**31 - 1)},
    tvm_differs="sums of int32 tensor elements are taken for exact",
)
def minimum_of_wrapped_sum(te: Any) -> list[Any]:
    A = te.placeholder((16,), dtype="int32", name="A")
    return [A, te.compute((16,), lambda i: te.min(A[i], A[i] + 1), name="B")]


@TABLE.case(lambda a, b: a + b)
def broadcast_of_column_and_row(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 1), name="A"), te.placeholder((1, 5), name="B")
    return [A, B, te.compute((4, 5), lambda i, j: A[i, 0] + B[0, j], name="C")]


@TABLE.case(lambda a, b: a + b)
def broadcast_of_a_bias(te: Any) -> list[Any]:
    A, B = te.placeholder((2, 3, 4), name="A"), te.placeholder((4,), name="bias")
    return [A, B, te.compute((2, 3, 4), lambda n, h, c: A[n, h, c] + B[c], name="C")]


@TABLE.case(lambda a, s: a * s)
def broadcast_of_a_scalar_tensor(te: Any) -> list[Any]:
    A, S = te.placeholder((4, 5), name="A"), te.placeholder((), name="S")
    return [A, S, te.compute((4, 5), lambda i, j: A[i, j] * S(), name="C")]


@TABLE.case(lambda a, b: np.multiply.outer(a, b))
def outer_product(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((5,), name="B")
    return [A, B, te.compute((4, 5), lambda i, j: A[i] * B[j], name="C")]


@TABLE.case(lambda a: a * np.float32(0.1) + np.float32(1 / 3) - np.float32(1e-5))
def literals_that_float32_rounds(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    return [A, te.compute((4,), lambda i: A[i] * 0.1 + 1 / 3 - 1e-5, name="B")]


@TABLE.case(lambda a: np.stack([np.minimum(a, np.inf), np.maximum(a, -np.inf)], 1).astype("float32"))
def infinite_literals(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    high, low = te.const(float("inf"), "float32"), te.const(-float("inf"), "float32")
    B = te.compute((4, 2), lambda i, j: te.if_then_else(j < 1, te.min(A[i], high), te.max(A[i], low)), name="B")
    return [A, B]
