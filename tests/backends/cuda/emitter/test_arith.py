"""Every operation on scalars and lanes computes the same values as with the LLVM back end, on pairs of edge values.

The functions of `PART` consecutive cases form one module, so that each side is compiled seldom, and a process with a
share of the cases compiles little more than its share.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stepwell.backends.llvm.engine import Processor
from stepwell.core.dtypes import FLOAT_FORMATS, numpy_dtype

DTYPES = {
    "i1": np.dtype(bool), "i8": np.dtype("i1"), "i16": np.dtype("i2"), "i32": np.dtype("i4"), "i64": np.dtype("i8"),
    "index": np.dtype("i8"), "f16": np.dtype("f2"), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype("f4"),
    "f64": np.dtype("f8"), "i2": np.dtype(ml_dtypes.int2), "i4": np.dtype(ml_dtypes.int4),
    **{known.type.name: numpy_dtype(name) for name, known in FLOAT_FORMATS.items() if known.bits <= 8},
}  # fmt: skip
BITS = {"i1": 1, "i2": 2, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
FLOATS = ("f16", "bf16", "f32", "f64")
SMALL_FLOATS = tuple(kind for kind in DTYPES if kind[0] == "f" and kind[1:] not in ("16", "32", "64"))
SIGNED = tuple(known.type.name for known in FLOAT_FORMATS.values() if known.bits <= 8 and known.has_negative_zero)


@dataclass(frozen=True)
class Case:
    """An operation that computes `%r` from `%x0`, `%x1`, .... `inexact`: equal only up to rounding, because a library
    computes it."""

    name: str
    body: str
    inputs: tuple[str, ...]
    output: str
    lanes: int = 1
    inexact: bool = False

    def text(self) -> str:
        """A function on arrays of equal length."""
        types = [*self.inputs, self.output]
        arguments = ", ".join(f"%m{i}: memref<?x{t}>" for i, t in enumerate(types))
        shown = [t if self.lanes == 1 else f"vector<{self.lanes}x{t}>" for t in types]
        kind = "memref" if self.lanes == 1 else "vector"
        tail = [f"memref<?x{t}>" + (f", {s}" if self.lanes > 1 else "") for t, s in zip(types, shown, strict=True)]
        loads = "\n".join(f"%x{i} = {kind}.load %m{i}[%i] : {tail[i]}" for i in range(len(self.inputs)))
        return f"""func.func @{self.name}({arguments}) {{
          %c0 = arith.constant 0 : index
          %step = arith.constant {self.lanes} : index
          %n = memref.dim %m0, %c0 : memref<?x{types[0]}>
          scf.for %i = %c0 to %n step %step {{
            {loads}
            {self.body}
            {kind}.store %r, %m{len(self.inputs)}[%i] : {tail[-1]}
          }}
          func.return
        }}"""


def binary(op: str, kind: str, lanes: int = 1, **options) -> Case:
    shown = kind if lanes == 1 else f"vector<{lanes}x{kind}>"
    name = f"{op.replace('.', '_').replace(' ', '_').replace(',', '')}_{kind}_{lanes}"
    return Case(name, f"%r = {op} %x0, %x1 : {shown}", (kind, kind), kind, lanes, **options)


def compare(op: str, predicate: str, kind: str) -> Case:
    return Case(f"{op}_{predicate}_{kind}", f"%r = arith.{op} {predicate}, %x0, %x1 : {kind}", (kind, kind), "i1")


def unary(op: str, kind: str, lanes: int = 1, **options) -> Case:
    shown = kind if lanes == 1 else f"vector<{lanes}x{kind}>"
    return Case(f"{op.replace('.', '_')}_{kind}_{lanes}", f"%r = {op} %x0 : {shown}", (kind,), kind, lanes, **options)


def convert(op: str, source: str, target: str, lanes: int = 1) -> Case:
    types = (source, target) if lanes == 1 else (f"vector<{lanes}x{source}>", f"vector<{lanes}x{target}>")
    name = f"{op}_{source}_{target}_{lanes}"
    return Case(name, f"%r = arith.{op} %x0 : {types[0]} to {types[1]}", (source,), target, lanes)


INTEGER = ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui", "divsi", "remsi",
           "floordivsi", "ceildivsi", "divui", "remui", "ceildivui", "shli", "shrui", "shrsi")  # fmt: skip
NOT_ON_BOOLS = ("floordivsi", "ceildivsi", "ceildivui")  # the LLVM back end emits invalid text
ICMP = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FCMP = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno",
        "true")  # fmt: skip
WITH_CONSTANT = ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui", "shli", "shrui", "shrsi",
                 "addi", "subi", "muli")  # fmt: skip
EXACT = ("absf", "ceil", "floor", "trunc", "roundeven", "round", "sqrt", "rsqrt")
INEXACT = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
           "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf")  # fmt: skip


def with_constant(op: str, kind: str, value: int) -> Case:
    name = f"{op}_{kind}_by_{'minus_' if value < 0 else ''}{abs(value)}"
    return Case(name, f"%k = arith.constant {value} : {kind}\n%r = arith.{op} %x0, %k : {kind}", (kind,), kind)


def extended(op: str, kind: str) -> list[Case]:
    if op == "addui_extended":
        first, second = ((f"%{x}, %{y} = arith.addui_extended %x0, %x1 : {kind}, i1") for x, y in ("rs", "sr"))
        return [Case(f"sum_{kind}", first, (kind, kind), kind), Case(f"carry_{kind}", second, (kind, kind), "i1")]
    return [
        Case(f"{op}_{half}_{kind}", f"%{x}, %{y} = arith.{op} %x0, %x1 : {kind}", (kind, kind), kind)
        for half, (x, y) in (("low", "rs"), ("high", "sr"))
    ]


PART = 104
"""The number of cases of a module."""
CASES = [
    *(binary(f"arith.{op}", kind) for op in INTEGER for kind in ("i1", "i8", "i32", "index")
      if kind != "i1" or op not in NOT_ON_BOOLS),
    *(binary(f"arith.{op}", kind) for op in ("muli", "divsi", "remui", "shli", "shrui", "maxui", "minsi")
      for kind in ("i16", "i64")),
    *(binary(f"arith.{op}", "i16", 8) for op in ("addi", "floordivsi", "shrsi", "maxui", "xori")),
    *(with_constant(op, kind, value) for op in WITH_CONSTANT for kind in ("i8", "index")
      for value in (0, 1, -1, 3, 8, 63, -128)),
    *(compare("cmpi", predicate, kind) for predicate in ICMP for kind in ("i1", "i8", "index")),
    *(compare("cmpf", predicate, "f32") for predicate in FCMP),
    *(compare("cmpf", predicate, kind) for predicate in ("ole", "ueq") for kind in ("bf16", "f64")),
    *(binary(f"arith.{op}", kind) for op in ("addf", "subf", "mulf", "divf") for kind in FLOATS),
    *(binary(f"arith.{op}", kind, 4) for op in ("subf", "divf") for kind in ("f32", "f16")),
    *(binary(f"arith.{op}", kind) for op in ("maximumf", "minimumf", "maxnumf", "minnumf") for kind in FLOATS),
    *(unary("arith.negf", kind) for kind in FLOATS),
    *(convert(op, source, target) for source, target in itertools.combinations(("i1", "i8", "i16", "i32", "i64"), 2)
      for op in ("extsi", "extui")),
    *(convert("trunci", target, source) for source, target in
      itertools.combinations(("i1", "i8", "i16", "i32", "i64"), 2)),
    *(convert("index_cast", kind, "index") for kind in BITS if kind != "index"),
    *(convert("index_cast", "index", kind) for kind in BITS if kind != "index"),
    *(convert(f"{sign}itofp", source, target) for sign in "su" for source in BITS if source != "index"
      for target in ("f32", "f64")),
    *(convert(f"{sign}itofp", "i16", target) for sign in "su" for target in ("f16", "bf16")),
    *(convert(f"fpto{sign}i", source, target) for sign in "su" for source in ("f32", "f64") for target in BITS
      if target != "index"),
    *(convert(f"fpto{sign}i", source, "i8") for sign in "su" for source in ("f16", "bf16")),
    *(convert("extf", source, target) for source, target in
      (("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64"))),
    *(convert("truncf", source, target) for target, source in
      (("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64"))),
    *(convert(op, source, target, 8) for op, source, target in
      (("extf", "f16", "f32"), ("extf", "bf16", "f32"), ("truncf", "f32", "bf16"), ("truncf", "f32", "f16"))),
    *(convert("bitcast", source, target) for a, b in (("i32", "f32"), ("i64", "f64"), ("i16", "f16"), ("i16", "bf16"),
                                                     ("f16", "bf16")) for source, target in ((a, b), (b, a))),
    *(case for kind in ("i8", "i16", "i32", "i64") for op in ("addui_extended", "mului_extended", "mulsi_extended")
      for case in extended(op, kind)),
    *(unary(f"math.{op}", kind) for op in EXACT for kind in FLOATS if kind != "bf16" or op == "absf"),
    *(unary(f"math.{op}", kind, inexact=True) for op in INEXACT for kind in ("f32", "f64")),
    *(unary(f"math.{op}", "f32", 4, inexact=True) for op in ("exp", "rsqrt", "floor")),
    *(binary(f"math.{op}", kind, inexact=op != "copysign") for op in ("atan2", "powf", "copysign")
      for kind in FLOATS),
    *(Case(f"fma_{kind}", f"%r = math.fma %x0, %x1, %x0 : {kind}", (kind, kind), kind) for kind in FLOATS),
    # g++ calls these comparisons tautologies.
    *(Case(f"same_{kind}_{predicate}", f"%r = arith.cmpi {predicate}, %x0, %x0 : {kind}", (kind,), "i1")
      for kind in ("i8", "i32", "i64") for predicate in ("eq", "ne", "slt", "uge")),
    *(Case(f"masked_{predicate}", f"%one = arith.constant 1 : i32\n%two = arith.constant 2 : i32\n"
           f"%low = arith.andi %x0, %one : i32\n%r = arith.cmpi {predicate}, %low, %two : i32", ("i32",), "i1")
      for predicate in ("eq", "ne")),
    Case("vector_fma", "%r = vector.fma %x0, %x1, %x0 : vector<4xf32>", ("f32", "f32"), "f32", 4),
    *(unary(f"math.{op}", kind) for op in ("absi", "ctlz", "cttz", "ctpop") for kind in ("i8", "i16", "i32", "i64")),
    *(binary("math.ipowi", kind) for kind in ("i8", "i16", "i32", "i64")),
    *(Case(f"fpowi_{kind}", f"%r = math.fpowi %x0, %x1 : {kind}, i8", (kind, "i8"), kind, inexact=True)
      for kind in FLOATS),
    *(Case(f"select_{kind}", f"%r = arith.select %x2, %x0, %x1 : {kind}", (kind, kind, "i1"), kind)
      for kind in DTYPES),
    *(Case(f"select_lanes_{kind}", f"%r = arith.select %x2, %x0, %x1 : vector<8xi1>, vector<8x{kind}>",
           (kind, kind, "i1"), kind, 8) for kind in ("i32", "bf16")),
    # types of less than a byte, and floats of a byte
    *(binary(f"arith.{op}", "i4") for op in INTEGER),
    *(binary(f"arith.{op}", "i2") for op in ("muli", "divsi", "shrui")),
    *(binary(f"arith.{op}", "i4", 4) for op in ("addi", "divsi", "shrsi", "maxui")),
    *(compare("cmpi", predicate, "i4") for predicate in ICMP),
    *(unary(f"math.{op}", kind) for op in ("absi", "ctlz", "cttz", "ctpop") for kind in ("i2", "i4")),
    binary("math.ipowi", "i4"),
    *(convert(op, *kinds) for op in ("extsi", "extui") for kinds in (("i1", "i4"), ("i2", "i4"), ("i4", "i8"),
                                                                     ("i4", "i64"), ("i2", "i32"))),
    *(convert("trunci", *kinds) for kinds in (("i4", "i1"), ("i4", "i2"), ("i8", "i4"), ("i64", "i4"), ("i32", "i2"))),
    *(convert(f"fpto{sign}i", "f16", "i4") for sign in "su"),
    convert("fptosi", "f32", "i4", 8), convert("fptoui", "f32", "i2", 8),
    *(Case(f"fpowi_i4_{kind}", f"%r = math.fpowi %x0, %x1 : {kind}, i4", (kind, "i4"), kind, inexact=True)
      for kind in ("f32", "f64")),
    *(Case(f"select_lanes_{kind}", f"%r = arith.select %x2, %x0, %x1 : vector<8xi1>, vector<8x{kind}>",
           (kind, kind, "i1"), kind, 8) for kind in ("i4", "f8E5M2", "f4E2M1FN")),
    *(Case(f"reduction_{op}_i4", f"%v = vector.reduction <{op}>, %x0 : vector<4xi4> into i4\n"
           "%r = vector.broadcast %v : i4 to vector<4xi4>", ("i4",), "i4", 4)
      for op in ("add", "mul", "and", "xor", "minsi", "maxsi", "minui", "maxui")),
    *(convert("bitcast", *kinds) for kinds in (("i4", "f4E2M1FN"), ("f4E2M1FN", "i4"), ("i8", "f8E5M2"),
                                               ("f8E4M3FNUZ", "i8"), ("f8E4M3FN", "f8E5M2"))),
    *(convert("extf", kind, "f32") for kind in SMALL_FLOATS),
    *(convert("truncf", "f32", kind) for kind in SMALL_FLOATS),
    *(convert(op, *kinds) for wide in ("f16", "bf16", "f64")
      for op, kinds in (("extf", ("f8E5M2", wide)), ("truncf", (wide, "f8E5M2")))),
    *(convert("truncf", wide, kind, 4) for kind in ("f8E4M3FN", "f4E2M1FN") for wide in ("f32", "f64")),
    *(binary(f"arith.{op}", kind) for kind in ("f8E4M3FN", "f8E4M3FNUZ", "f4E2M1FN")
      for op in ("addf", "divf", "maximumf")),
    compare("cmpf", "olt", "f8E8M0FNU"),
    *(unary(op, kind) for kind in SIGNED for op in ("arith.negf", "math.absf")),
    *(unary(op, "f8E4M3FNUZ") for op in ("arith.negf", "math.absf")),
    binary("math.copysign", "f8E5M2"), unary("math.sqrt", "f8E5M2"),
    *(convert(f"fpto{sign}i", kind, target) for sign in "su" for kind in ("f8E5M2", "f4E2M1FN")
      for target in ("i4", "i32")),
    *(convert(f"{sign}itofp", "i4", kind) for sign in "su" for kind in ("f8E5M2", "f4E2M1FN")),
]  # fmt: skip


def edge_integers(bits: int) -> list[int]:
    if bits <= 8:
        return list(range(-(2 ** (bits - 1)), 2 ** (bits - 1))) if bits > 1 else [0, -1]
    top = 2 ** (bits - 1)
    values = {0, 1, 2, 3, 5, 7, 8, 31, 32, 33, bits - 1, bits, bits + 1, top - 1, top - 2, top // 3}
    return sorted(v for v in values | {-v for v in values} | {-top} if -top <= v < top)


EDGES = [0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 1.0, -1.0, 1.5, -2.5, 2.5, 3.7, -3.7, 20.0, -20.0, 1e-5, 1e5, 1e-30, 3e38,
         -3e38, 1e-42, 1e-320, 65504.0, 65519.9, 65520.0, 127.9, 128.0, -128.9, -129.0, 255.5, 256.0, -0.9, 2.0**31,
         2.0**31 - 1, -(2.0**31), 2.0**63, -(2.0**63), 2.0**64, 1e300, 1.0009765625, 1.00048828125,
         1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-45, float("inf"), float("-inf"), float("nan")]  # fmt: skip


def edges(kind: str) -> np.ndarray:
    if kind in SMALL_FLOATS:
        return np.arange(256 if "8" in kind[:2] else 2 ** int(kind[1]), dtype="u1").view(DTYPES[kind])
    with np.errstate(over="ignore"):
        return np.array(edge_integers(BITS[kind]) if kind in BITS else EDGES).astype(DTYPES[kind])


def arguments(case: Case) -> list[np.ndarray]:
    """All pairs of edge values, padded to a multiple of the lanes; a third operand cycles through its edge values."""
    columns = [edges(kind) for kind in case.inputs[:2]]
    grid = [np.ascontiguousarray(part.reshape(-1)) for part in np.meshgrid(*columns, indexing="ij")]
    grid += [np.resize(edges(kind), len(grid[0])) for kind in case.inputs[2:]]
    return [np.resize(part, -(-len(part) // case.lanes) * case.lanes) for part in grid]


@pytest.fixture(scope="module")
def both(compile_text, on_host) -> Callable[[Case], tuple[Callable, Callable]]:
    """`both(case)`: the function of a case in native code and as a kernel on the host."""

    @cache
    def compile_part(part: int) -> tuple[Any, Any]:
        text = "\n".join(case.text() for case in CASES[part * PART : (part + 1) * PART])
        return compile_text(text, target=replace(Processor.host(), optimized=False)), on_host(text)

    def of(case: Case) -> tuple[Callable, Callable]:
        llvm, host = compile_part(CASES.index(case) // PART)
        return llvm[case.name], host[case.name]

    return of


def as_numbers(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind not in "ib" else array


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operations_compute_what_native_code_computes(both: Callable, case: Case) -> None:
    llvm, host = both(case)
    inputs = arguments(case)
    expected, got = (np.zeros(len(inputs[0]), DTYPES[case.output]) for _ in range(2))
    llvm(*inputs, expected)
    host(*inputs, got)
    if case.output in SMALL_FLOATS or case.output in ("i2", "i4"):
        nan = np.isnan(expected.astype(np.float32))
        np.testing.assert_array_equal(nan, np.isnan(got.astype(np.float32)))
        np.testing.assert_array_equal(got.view("u1")[~nan], expected.view("u1")[~nan])
        return
    with np.errstate(all="ignore"):
        a, b = as_numbers(got), as_numbers(expected)
        if case.inexact:
            tolerance = 4 * float(ml_dtypes.finfo(DTYPES[case.output]).eps)
            tiny = float(ml_dtypes.finfo(DTYPES[case.output]).smallest_subnormal)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tiny)
        else:
            np.testing.assert_array_equal(a, b)
    if case.output in FLOATS:
        numbers = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))


def test_nvrtc_takes_operations_of_all_kinds(emit_text, nvrtc) -> None:
    nvrtc(emit_text("\n".join(case.text() for case in CASES[::4])).source)
