"""The output of `convert-tir-to-scf` agrees with the oracle, and unsupported programs are refused."""

from typing import Any

import ml_dtypes  # noqa: F401  (registers bfloat16 with numpy)
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends.build import build
from stepwell.backends.llvm.compile import compile_module
from stepwell.backends.oracle import run_oracle
from stepwell.backends.runtime import register_func
from stepwell.core.dtypes import SCALAR_DTYPES, int_range, mlir_type, numpy_dtype, parse_dtype
from stepwell.core.errors import ArgumentError, ExecutionError, UnsupportedError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.guarded import array_before_guard
from stepwell.transforms.pipelines import lower, run_pipeline
from stepwell.transforms.tir.to_scf import ConvertTirToScfPass

GRID = np.arange(64, dtype="float32").reshape(8, 8)


def _copies(arguments: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def _assert_same(a: Any, b: Any) -> None:
    """Asserts equality, NaN equal to NaN; numpy does not recognize the NaN of ml_dtypes' types."""
    if isinstance(a, np.ndarray) and a.dtype.isbuiltin == 2:
        a, b = a.astype("float64"), b.astype("float64")
    np.testing.assert_array_equal(a, b)


def run(text: str, *arguments: Any) -> tuple[Any, list[Any]]:
    """The result of @main and its arguments after the call in native code, asserted to be equal to the oracle's."""
    module = parse_mlir(text)
    module.verify()
    lowered = lower(module)
    lowered.verify()
    expected, native = _copies(arguments), _copies(arguments)
    expected_result = run_oracle(module, "main", expected)
    result = compile_module(lowered.op)["main"](*native)
    for a, b in zip(expected, native, strict=True):
        _assert_same(a, b)
    assert result == expected_result
    return result, native


def refuse(text: str) -> str:
    """The message of the refusal of a program."""
    module = parse_mlir(text, "program.mlir")
    module.verify()
    with pytest.raises(UnsupportedError) as error:
        lower(module)
    return str(error.value)


# Numbers


def _interesting(dtype: str) -> np.ndarray[Any, Any]:
    """Zeros, ones, limits, and values out of the range of integer types."""
    kind = parse_dtype(dtype)
    if kind.is_bool:
        return np.array([False, True] * 8)
    if kind.is_int:
        low, high = int_range(kind)
        numbers = [0, 1, 2, 3, 100, high, high - 1, high // 2, low, low + 1, low // 2, high // 3]
        return np.array([*numbers, *([-1, -2, -3, -100] if low else [200, 127, 128, 129])], dtype)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.75, -3.25, 100.0, 1e4, -1e4, 70000.0, np.inf, -np.inf, np.nan]
    with np.errstate(over="ignore"):
        return np.array(numbers).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("source", SCALAR_DTYPES)
def test_casts_from_a_type_to_every_other_compute_what_the_oracle_says(source: str) -> None:
    have = mlir_type(source)
    params = ", ".join(f'"B{n}" %B{n}: memref<16x{mlir_type(t)}>' for n, t in enumerate(SCALAR_DTYPES))
    body = ""
    for n, target in enumerate(SCALAR_DTYPES):
        want = mlir_type(target)
        body += f"%y{n} = tir.cast %x : {have} -> {want}\n tir.store %y{n}, %B{n}[%i] : memref<16x{want}>\n"
    text = f"""
    tir.func @main("A" %A: memref<16x{have}>, {params}) {{
      tir.for serial "i" %i : i32 in [0 +: 16] {{
        %x = tir.load %A[%i] : memref<16x{have}>
        {body}
      }}
    }}"""
    run(text, _interesting(source), *(np.zeros(16, numpy_dtype(t)) for t in SCALAR_DTYPES))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float16"])
def test_casts_of_vectors_are_those_of_their_lanes(dtype: str) -> None:
    targets = [t for t in SCALAR_DTYPES if t != "float64"]
    have = mlir_type(dtype)
    params = ", ".join(f'"B{n}" %B{n}: memref<16x{mlir_type(t)}>' for n, t in enumerate(targets))
    body = ""
    for n, target in enumerate(targets):
        want = mlir_type(target)
        body += f"%y{n} = tir.cast %x : vector<16x{have}> -> vector<16x{want}>\n"
        body += f"tir.store %y{n}, %B{n}[%i : vector<16xi32>] : memref<16x{want}>\n"
    text = f"""
    tir.func @main("A" %A: memref<16x{have}>, {params}) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %i = tir.ramp %zero, %one : vector<16xi32>
      %x = tir.load %A[%i : vector<16xi32>] : memref<16x{have}>
      {body}
    }}"""
    run(text, _interesting(dtype), *(np.zeros(16, numpy_dtype(t)) for t in targets))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_floormod_has_the_sign_of_the_divisor(dtype: str) -> None:
    type = mlir_type(dtype)
    text = f"""
    tir.func @main("A" %A: memref<49x{type}>, "B" %B: memref<49x{type}>, "C" %C: memref<49x{type}>) {{
      tir.for serial "i" %i : i32 in [0 +: 49] {{
        %x = tir.load %A[%i] : memref<49x{type}>
        %y = tir.load %B[%i] : memref<49x{type}>
        %z = tir.floormod %x, %y : {type}
        tir.store %z, %C[%i] : memref<49x{type}>
      }}
    }}"""
    low, high = int_range(parse_dtype(dtype))
    numbers = np.array([low, -7, -1, 1, 3, 7, high], dtype)
    a, b = (m.reshape(-1).copy() for m in np.meshgrid(numbers, numbers))
    _, (_, _, c) = run(text, a, b, np.zeros(49, dtype))
    np.testing.assert_array_equal(c, np.where(b == -1, 0, np.mod(a, np.where(b == -1, 1, b))))


@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max_take_the_second_operand_of_two_zeros_and_beside_nan(name: str) -> None:
    text = f"""
    tir.func @main("A" %A: memref<16xf32>, "B" %B: memref<16xf32>, "C" %C: memref<16xf32>) {{
      tir.for serial "i" %i : i32 in [0 +: 16] {{
        %x = tir.load %A[%i] : memref<16xf32>
        %y = tir.load %B[%i] : memref<16xf32>
        %z = tir.{name} %x, %y : f32
        tir.store %z, %C[%i] : memref<16xf32>
      }}
    }}"""
    numbers = np.array([0.0, -0.0, np.nan, 1.0], "float32")
    a, b = (m.reshape(-1).copy() for m in np.meshgrid(numbers, numbers))
    _, (_, _, c) = run(text, a, b, np.zeros(16, "float32"))
    chosen = (a < b) if name == "min" else (a > b)
    np.testing.assert_array_equal(np.signbit(c), np.signbit(np.where(chosen, a, b)))


INTRINSICS = {
    "sigmoid": (1, lambda x, _: 1 / (1 + np.exp(-x))),
    "exp10": (1, lambda x, _: 10.0**x),
    "hypot": (2, np.hypot),
    "fmod": (2, np.fmod),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", INTRINSICS)
def test_float_intrinsics_are_those_of_numpy(name: str, dtype: str) -> None:
    arity, reference = INTRINSICS[name]
    type = mlir_type(dtype)
    arguments, types = ("%x, %y", f"{type}, {type}") if arity == 2 else ("%x", str(type))
    text = f"""
    tir.func @main("A" %A: memref<16x{type}>, "B" %B: memref<16x{type}>, "C" %C: memref<16x{type}>) {{
      tir.for serial "i" %i : i32 in [0 +: 16] {{
        %x = tir.load %A[%i] : memref<16x{type}>
        %y = tir.load %B[%i] : memref<16x{type}>
        %z = tir.intrinsic "{name}"({arguments}) : {types} -> {type}
        tir.store %z, %C[%i] : memref<16x{type}>
      }}
    }}"""
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.5, 3, 16).astype(numpy_dtype(dtype)) for _ in range(2))
    c = np.zeros(16, numpy_dtype(dtype))
    compile_module(lower(parse_mlir(text)).op)["main"](a, b, c)
    tolerance = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-14}[dtype]
    expected = reference(a.astype("float64"), b.astype("float64"))
    np.testing.assert_allclose(c.astype("float64"), expected, rtol=tolerance)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nextafter_walks_the_grid_of_its_type(dtype: str) -> None:
    type = mlir_type(dtype)
    text = f"""
    tir.func @main("A" %A: memref<64x{type}>, "B" %B: memref<64x{type}>, "C" %C: memref<64x{type}>) {{
      tir.for serial "i" %i : i32 in [0 +: 64] {{
        %x = tir.load %A[%i] : memref<64x{type}>
        %y = tir.load %B[%i] : memref<64x{type}>
        %z = tir.intrinsic "nextafter"(%x, %y) : {type}, {type} -> {type}
        tir.store %z, %C[%i] : memref<64x{type}>
      }}
    }}"""
    numbers = np.array([0.0, -0.0, 1.0, -1.0, 3.5, np.inf, -np.inf, np.nan]).astype(numpy_dtype(dtype))
    a, b = (m.reshape(-1).copy() for m in np.meshgrid(numbers, numbers))
    c = np.zeros(64, numpy_dtype(dtype))
    compile_module(lower(parse_mlir(text)).op)["main"](a, b, c)
    _assert_same(c, np.nextafter(a, b))


@pytest.mark.parametrize("exponent", ["i32", "i64", "ui32", "i8"])
def test_ldexp_takes_exponents_of_any_size(exponent: str) -> None:
    text = f"""
    tir.func @main("x" %x: f32, "n" %n: {exponent}, "C" %C: memref<1xf32>) {{
      %i = arith.constant 0 : i32
      %z = tir.intrinsic "ldexp"(%x, %n) : f32, {exponent} -> f32
      tir.store %z, %C[%i] : memref<1xf32>
    }}"""
    main = compile_module(lower(parse_mlir(text)).op)["main"]
    for n, expected in ((3, 12.0), (100, 1.5 * 2.0**100), (2**40, np.inf) if exponent == "i64" else (0, 1.5)):
        c = np.zeros(1, "float32")
        main(1.5, n, c)
        assert c[0] == np.float32(expected)


def test_q_multiply_shift_rounds_halves_up() -> None:
    text = """
    tir.func @main("x" %x: i32, "y" %y: i32, "q" %q: i32, "s" %s: i32) -> i32 {
      %z = tir.intrinsic "q_multiply_shift"(%x, %y, %q, %s) : i32, i32, i32, i32 -> i32
      tir.return %z : i32
    }"""
    main = compile_module(lower(parse_mlir(text)).op)["main"]
    for x, y, q, s in (
        (1000, 1 << 30, 31, 0),
        (1001, 1 << 30, 31, 0),
        (-1001, 1 << 30, 31, 1),
        (77, 123456789, 31, -3),
    ):
        assert main(x, y, q, s) == int(np.floor(x * y / 2 ** (q - s) + 0.5))


def test_classes_of_floats_are_told_apart() -> None:
    body = "".join(
        f"""
        %{name} = tir.intrinsic "{name}"(%x) : f32 -> i1
        tir.store %{name}, %{name[2:]}[%i] : memref<16xi1>"""
        for name in ("isnan", "isinf", "isfinite")
    )
    params = ", ".join(f'"{n}" %{n}: memref<16xi1>' for n in ("nan", "inf", "finite"))
    text = f"""
    tir.func @main("A" %A: memref<16xf32>, {params}) {{
      tir.for serial "i" %i : i32 in [0 +: 16] {{
        %x = tir.load %A[%i] : memref<16xf32>{body}
      }}
    }}"""
    run(text, _interesting("float32"), *(np.zeros(16, bool) for _ in range(3)))


def test_reinterpret_keeps_the_bits_of_scalars_and_vectors() -> None:
    text = """
    tir.func @main("A" %A: memref<1xf32>, "B" %B: memref<4xui8>, "C" %C: memref<1xi32>) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r = tir.ramp %c0, %c1 : vector<4xi32>
      %x = tir.load %A[%c0] : memref<1xf32>
      %bytes = tir.reinterpret %x : f32 -> vector<4xui8>
      tir.store %bytes, %B[%r : vector<4xi32>] : memref<4xui8>
      %word = tir.reinterpret %bytes : vector<4xui8> -> i32
      tir.store %word, %C[%c0] : memref<1xi32>
    }"""
    a = np.array([-1.5], "float32")
    _, (_, b, c) = run(text, a, np.zeros(4, "uint8"), np.zeros(1, "int32"))
    assert b.tobytes() == c.tobytes() == a.tobytes()


def _extremes(dtype: str) -> list[int]:
    """Values at the ends of an integer type, and small values."""
    least, most = int_range(parse_dtype(dtype))
    return sorted({least, least + 1, 0, 1, 2, 5, most // 2, most // 2 + 1, most - 1, most})


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("constant", [2**63 - 1, 2**63, 2**64 - 1])
def test_unsigned_extrema_of_an_index_and_a_number_of_64_bits(op: str, constant: int) -> None:
    _, (a,) = run(
        f"""
tir.func @main("A" %A: memref<4xui64>) {{
  tir.for serial "i" %i : i32 in [0 +: 4] {{
    %x = tir.cast %i : i32 -> ui64
    %c = tir.const {constant} : ui64
    %v = arith.{op}ui %x, %c : ui64
    tir.store %v, %A[%i] : memref<4xui64>
  }}
}}""",
        np.zeros(4, "uint64"),
    )
    assert a.tolist() == ([0, 1, 2, 3] if op == "min" else [constant] * 4)


@given(data=st.data())
def test_integer_arithmetic_on_loop_variables_and_extreme_constants(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["int8", "int32", "int64", "uint8", "uint32", "uint64"]))
    sign, type = ("u" if dtype.startswith("u") else "s"), mlir_type(parse_dtype(dtype))
    const = "tir.const" if sign == "u" else "arith.constant"
    lines, values = [f"%x = tir.cast %i : i32 -> {type}"], ["%x", "%p"]
    for number in range(data.draw(st.integers(1, 4))):
        op = data.draw(st.sampled_from([f"arith.min{sign}i", f"arith.max{sign}i", "arith.addi", "arith.muli", "cmp"]))
        constant = data.draw(st.sampled_from(_extremes(dtype)))
        lines.append(f"%c{number} = {const} {constant} : {type}")
        a, b = data.draw(st.permutations([data.draw(st.sampled_from(values)), f"%c{number}"]))
        if op == "cmp":
            predicate = data.draw(st.sampled_from([f"{sign}lt", f"{sign}ge", "eq"]))
            lines.append(f"%t{number} = arith.cmpi {predicate}, {a}, {b} : {type}")
            lines.append(f"%v{number} = tir.cast %t{number} : i1 -> {type}")
        else:
            lines.append(f"%v{number} = {op} {a}, {b} : {type}")
        values.append(f"%v{number}")
    body = "\n    ".join(lines)
    text = f"""
tir.func @main("A" %A: memref<4x{type}>, "p" %p: {type}) {{
  tir.for serial "i" %i : i32 in [0 +: 4] {{
    {body}
    tir.store {values[-1]}, %A[%i] : memref<4x{type}>
  }}
}}"""
    run(text, np.zeros(4, dtype), data.draw(st.sampled_from(_extremes(dtype))))


# Memory


def test_vectors_are_loaded_and_stored_lane_by_lane_in_order() -> None:
    text = """
    tir.func @main("A" %A: memref<8x8xf32>, "B" %B: memref<8x8xf32>, "i" %i: i32, "s" %s: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %four = arith.constant 4 : i32
      %neighbours = tir.ramp %i, %c1 : vector<2xi32>
      %spread = tir.ramp %c0, %s : vector<4xi32>
      %start = tir.ramp %c0, %c1 : vector<4xi32>
      %fours = vector.broadcast %four : i32 to vector<4xi32>
      %x = tir.load %A[%i, %neighbours : vector<2xi32>] : memref<8x8xf32>
      tir.store %x, %B[%s, %neighbours : vector<2xi32>] : memref<8x8xf32>
      %y = tir.load %A[%s, %spread : vector<4xi32>] : memref<8x8xf32>
      %p = arith.cmpi slt, %spread, %fours : vector<4xi32>
      %yy = arith.addf %y, %y : vector<4xf32>
      tir.store %yy, %B[%c0, %spread : vector<4xi32>] if %p : vector<4xi1> : memref<8x8xf32>
      %z = tir.load %A[%s, %spread : vector<4xi32>] if %p : vector<4xi1> : memref<8x8xf32>
      tir.store %z, %B[%c1, %start : vector<4xi32>] : memref<8x8xf32>
      %m = tir.load %A[%s, %start : vector<4xi32>] if %p : vector<4xi1> : memref<8x8xf32>
      %chosen = arith.select %p, %m, %y : vector<4xi1>, vector<4xf32>
      tir.store %chosen, %B[%c2, %start : vector<4xi32>] if %p : vector<4xi1> : memref<8x8xf32>
      %shuffled = tir.shuffle %chosen, %x [5, 0, 2, 4] : vector<4xf32>, vector<2xf32> -> vector<4xf32>
      %moved = arith.addi %spread, %fours : vector<4xi32>
      %floats = tir.cast %moved : vector<4xi32> -> vector<4xf32>
      %least = tir.min %floats, %shuffled : vector<4xf32>
      tir.store %least, %B[%four, %start : vector<4xi32>] : memref<8x8xf32>
      %back = arith.subi %moved, %fours : vector<4xi32>
      tir.store %shuffled, %B[%i, %back : vector<4xi32>] : memref<8x8xf32>
    }"""
    run(text, GRID, np.zeros_like(GRID), 2, 2)


@pytest.mark.parametrize("lanes", [2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_vectors_at_distances_end_with_their_last_lane(lanes: int, step: int) -> None:
    span = (lanes - 1) * step + 1
    text = f"""
@T.prim_func
def main(A: T.Buffer((2, {span + 1}), "float32"), B: T.Buffer((2, {lanes}), "float32")):
    for i in range(2):
        for j in T.vectorized({lanes}):
            B[i, j] = A[i, j * {step} + 1]
"""
    a, b = array_before_guard((2, span + 1), "float32"), np.zeros((2, lanes), "float32")
    a[:] = np.arange(a.size).reshape(a.shape)
    build(parse_tvmscript(text))["main"](a, b)
    np.testing.assert_array_equal(b, a[:, 1::step])


def test_a_vector_in_a_column_is_not_one_access() -> None:
    layout = "memref<4x4xf32, strided<[1, 4]>>"
    text = f"""
    tir.func @main("A" %A: memref<16xf32>, "B" %B: memref<4xf32>) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r = tir.ramp %c0, %c1 : vector<4xi32>
      %p = tir.buffer_data %A : memref<16xf32> -> !tir.handle<f32>
      %T = tir.decl_buffer "T" %p : !tir.handle<f32> -> {layout}
      %x = tir.load %T[%c1, %r : vector<4xi32>] : {layout}
      tir.store %x, %B[%r : vector<4xi32>] : memref<4xf32>
    }}"""
    _, (_, b) = run(text, np.arange(16, dtype="float32"), np.zeros(4, "float32"))
    np.testing.assert_array_equal(b, [1, 5, 9, 13])


def test_pointers_lead_to_the_elements_they_say() -> None:
    text = """
    tir.func @main("A" %A: memref<8x8xf32>, "B" %B: memref<8xf32>, "n" %n: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %c4 = arith.constant 4 : i32
      %c5 = arith.constant 5 : i32
      %p = tir.buffer_data %A : memref<8x8xf32> -> !tir.handle<f32>
      %F = tir.decl_buffer "F" %p offset [%n] : !tir.handle<f32> -> memref<16xf32, strided<[2], offset: ?>>
      %x = tir.load %F[%c5] : memref<16xf32, strided<[2], offset: ?>>
      tir.store %x, %B[%c0] : memref<8xf32>
      %q = tir.address_of %F[%c5] : memref<16xf32, strided<[2], offset: ?>> -> !tir.handle<f32>
      %G = tir.decl_buffer "G" %q : !tir.handle<f32> -> memref<4xf32>
      %y = tir.load %G[%c1] : memref<4xf32>
      tir.store %y, %B[%c1] : memref<8xf32>
      %o = tir.access_ptr %p[%c5 +: %c5] access 1 : !tir.handle<f32> -> !tir.handle<f32>
      %H = tir.decl_buffer "H" %o : !tir.handle<f32> -> memref<4xf32>
      %z = tir.load %H[%c1] : memref<4xf32>
      tir.store %z, %B[%c2] : memref<8xf32>
      %I = tir.decl_buffer "I" %p : !tir.handle<f32> -> memref<64xi32>
      %w = tir.load %I[%c5] : memref<64xi32>
      %v = tir.reinterpret %w : i32 -> f32
      tir.store %v, %B[%c3] : memref<8xf32>
      %memory = tir.allocate "memory" [4, %n] : !tir.handle<f32>
      %K = tir.decl_buffer "K" %memory dims [%n] : !tir.handle<f32> -> memref<?xf32>
      tir.store %z, %K[%c1] : memref<?xf32>
      %L = tir.decl_buffer "L" %memory : !tir.handle<f32> -> memref<4xi32>
      %l = tir.load %L[%c1] : memref<4xi32>
      %k = tir.reinterpret %l : i32 -> f32
      tir.store %k, %B[%c4] : memref<8xf32>
      %constant = tir.allocate_const "w" dense<[1.5, 2.5]> : tensor<2xf32> : !tir.handle<f32>
      %W = tir.decl_buffer "W" %constant : !tir.handle<f32> -> memref<2xf32>
      %u = tir.load %W[%c1] : memref<2xf32>
      tir.store %u, %B[%c5] : memref<8xf32>
    }"""
    _, (_, b, _) = run(text, GRID, np.zeros(8, "float32"), 7)
    np.testing.assert_array_equal(b, [17, 18, 6, 5, 6, 2.5, 0, 0])


def test_an_offset_of_a_pointer_counts_elements_of_what_it_points_to() -> None:
    text = """
    tir.func @main("A" %A: memref<8xf32>, "B" %B: memref<1xi16>) {
      %c0 = arith.constant 0 : i32
      %c3 = arith.constant 3 : i32
      %p = tir.buffer_data %A : memref<8xf32> -> !tir.handle<f32>
      %q = tir.access_ptr %p[%c3 +: %c3] access 1 : !tir.handle<f32> -> !tir.handle<i16>
      %H = tir.decl_buffer "H" %q : !tir.handle<i16> -> memref<1xi16>
      %x = tir.load %H[%c0] : memref<1xi16>
      tir.store %x, %B[%c0] : memref<1xi16>
    }"""
    a, b = np.arange(8, dtype="float32") + 0.1, np.zeros(1, "int16")
    compile_module(lower(parse_mlir(text)).op)["main"](a, b)
    assert b[0] == a.view("int16")[3]


@pytest.mark.parametrize("size", ["memref<4x4xf32, strided<[8, 1], offset: 2>>", "memref<4x4xf32>"])
@pytest.mark.parametrize("memory", ["stack", "heap"])
def test_temporaries_have_the_layout_they_say(size: str, memory: str) -> None:
    text = f"""
    tir.func @main("A" %A: memref<4x4xf32>, "B" %B: memref<4x4xf32>) {{
      %t = tir.alloc_buffer "T" on {memory} : {size}
      tir.for serial "i" %i : i32 in [0 +: 4] {{
        tir.for serial "j" %j : i32 in [0 +: 4] {{
          %x = tir.load %A[%i, %j] : memref<4x4xf32>
          tir.store %x, %t[%j, %i] : {size}
        }}
      }}
      tir.for serial "i" %i : i32 in [0 +: 4] {{
        tir.for serial "j" %j : i32 in [0 +: 4] {{
          %x = tir.load %t[%i, %j] : {size}
          tir.store %x, %B[%i, %j] : memref<4x4xf32>
        }}
      }}
    }}"""
    run(text, GRID[:4, :4].copy(), np.zeros((4, 4), "float32"))


def test_every_heap_allocation_is_freed_in_the_region_it_is_in() -> None:
    text = """
    tir.func @main("n" %n: i32, "p" %p: i1, "x" %x: f32) -> i32 {
      %a = tir.alloc_buffer "a" dims [%n] : memref<?xf32>
      tir.for serial "i" %i : i32 in [0 +: %n] {
        %b = tir.alloc_buffer "b" dims [%n] : memref<?xf32>
        tir.if %p {
          %c = tir.allocate "c" [%n] : !tir.handle<f32>
        }
      }
      tir.if %p {
        %d = tir.alloc_buffer "d" dims [%n] : memref<?xf32>
        tir.return %n : i32
      }
      %e = tir.alloc_buffer "e" dims [%n] : memref<?xf32>
      tir.return %n : i32
    }"""
    from stepwell.transforms.pipelines import Options, run_pipeline
    from stepwell.transforms.pipelines.landings import UPSTREAM

    module = run_pipeline(parse_mlir(text), UPSTREAM.passes(Options()))
    module.verify()
    for op in module.op.walk():
        if op.name == "memref.alloc":
            (use,) = op.results[0].uses
            assert use.operation.name == "memref.dealloc"
            assert use.operation.parent is op.parent


# Control


def test_loops_run_as_often_as_their_bounds_say() -> None:
    text = """
    tir.func @main("C" %C: memref<64xi32>, "low" %low: i32, "n" %n: i32, "step" %step: i32) {
      %one = arith.constant 1 : i32
      tir.for serial "i" %i : i32 in [%low +: %n] step %step {
        %c = tir.load %C[%i] : memref<64xi32>
        %d = arith.addi %c, %one : i32
        tir.store %d, %C[%i] : memref<64xi32>
      }
    }"""
    for low, n, step in ((0, 8, 1), (3, 10, 4), (5, 0, 1), (5, -3, 1), (0, 1, 7)):
        _, (c, *_) = run(text, np.zeros(64, "int32"), low, n, step)
        np.testing.assert_array_equal(np.flatnonzero(c), range(low, low + n, step))


@pytest.mark.parametrize("type", ["i8", "ui8", "i16", "i64", "ui32"])
def test_loop_variables_have_any_integer_type(type: str) -> None:
    text = f"""
    tir.func @main("C" %C: memref<256x{type}>, "n" %n: {type}) {{
      tir.for serial "i" %i : {type} in [3 +: %n] {{
        tir.store %i, %C[%i : {type}] : memref<256x{type}>
      }}
    }}"""
    run(text, np.zeros(256, str(parse_mlir_dtype(type))), 100)


def parse_mlir_dtype(type: str) -> str:
    return f"{'u' if type.startswith('u') else ''}int{type.lstrip('ui')}"


def test_an_unsigned_index_is_never_negative() -> None:
    text = """
    tir.func @main("C" %C: memref<256xi32>, "A" %A: memref<4xui8>) {
      %one = arith.constant 1 : i32
      tir.for serial "i" %i : i32 in [0 +: 4] {
        %at = tir.load %A[%i] : memref<4xui8>
        tir.store %one, %C[%at : ui8] : memref<256xi32>
      }
    }"""
    _, (c, _) = run(text, np.zeros(256, "int32"), np.array([0, 127, 128, 255], "uint8"))
    np.testing.assert_array_equal(np.flatnonzero(c), [0, 127, 128, 255])


def test_only_the_chosen_branch_of_a_lazy_value_is_computed() -> None:
    text = """
    tir.func @main("A" %A: memref<4xf32>, "B" %B: memref<8xf32>) {
      %four = arith.constant 4 : i32
      tir.for serial "i" %i : i32 in [0 +: 8] {
        %c = arith.cmpi slt, %i, %four : i32
        %x = tir.if_then_else %c {
          %a = tir.load %A[%i] : memref<4xf32>
          tir.yield %a : f32
        } else {
          %z = arith.constant -1.0 : f32
          tir.yield %z : f32
        } : f32
        tir.store %x, %B[%i] : memref<8xf32>
      }
    }"""
    run(text, np.arange(4, dtype="float32"), np.zeros(8, "float32"))


def test_while_runs_until_its_condition_fails() -> None:
    text = """
    tir.func @main("x" %x: i32, "C" %C: memref<2xi32>) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      tir.store %x, %C[%c0] : memref<2xi32>
      tir.while {
        %v = tir.load %C[%c0] : memref<2xi32>
        %more = arith.cmpi sgt, %v, %c1 : i32
        tir.yield %more : i1
      } do {
        %v = tir.load %C[%c0] : memref<2xi32>
        %half = arith.divsi %v, %c2 : i32
        tir.store %half, %C[%c0] : memref<2xi32>
        %n = tir.load %C[%c1] : memref<2xi32>
        %m = arith.addi %n, %c1 : i32
        tir.store %m, %C[%c1] : memref<2xi32>
      }
    }"""
    for x, rounds in ((1000, 9), (1, 0), (-5, 0)):
        _, (_, c) = run(text, x, np.zeros(2, "int32"))
        assert c[1] == rounds


RETURNS = """
tir.func @main("p" %p: i1, "q" %q: i1, "C" %C: memref<1xi32>) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  tir.attr "key" of 0 : i32 is 0 : i32 {
    tir.if %p {
      tir.if %q {
        tir.return %c1 : i32
      }
      tir.store %c1, %C[%c0] : memref<1xi32>
    } else {
      tir.if %q {
        tir.return %c2 : i32
      } else {
        tir.store %c2, %C[%c0] : memref<1xi32>
      }
    }
  }
  tir.return %c0 : i32
}"""


@pytest.mark.parametrize("p", [False, True])
@pytest.mark.parametrize("q", [False, True])
def test_what_follows_a_return_is_not_run(p: bool, q: bool) -> None:
    run(RETURNS, p, q, np.zeros(1, "int32"))


def test_a_failing_assert_is_an_execution_error() -> None:
    text = """
    tir.func @main("p" %p: i1) {
      tir.assert %p, "p must hold"
    }"""
    main = compile_module(lower(parse_mlir(text)).op)["main"]
    main(True)
    with pytest.raises(ExecutionError, match="p must hold"):
        main(False)


# Arguments


SYMBOLS = """
tir.func @main("a" %a: !tir.handle, "b" %b: !tir.handle, "k" %k: i32) {
  %n = tir.symbol "n" : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %twice = arith.muli %n, %c2 : i32
  %more = arith.addi %twice, %c1 : i32
  %A = tir.match_buffer "A" %a dims [%more, %k] : !tir.handle -> memref<?x?xf32>
  %B = tir.match_buffer "B" %b dims [%n] : !tir.handle -> memref<?xf32>
  tir.for serial "i" %i : i32 in [0 +: %n] {
    %x = tir.load %B[%i] : memref<?xf32>
    tir.store %x, %A[%i, %c1] : memref<?x?xf32>
  }
}"""


def test_symbols_are_bound_where_they_stand_alone_and_checked_everywhere_else() -> None:
    b = np.arange(3, dtype="float32")
    run(SYMBOLS, np.zeros((7, 2), "float32"), b, 2)
    main = compile_module(lower(parse_mlir(SYMBOLS)).op)["main"]
    a = np.zeros((6, 2), "float32")
    with pytest.raises(ArgumentError, match=r"A: shape\[0\] must be n \* 2 \+ 1"):
        main(a, b, 2)
    assert not a.any()
    with pytest.raises(ArgumentError, match=r"A: shape\[1\] must be k"):
        main(np.zeros((7, 2), "float32"), b, 3)


def test_strides_and_offset_of_an_argument_are_symbols_too() -> None:
    layout = "memref<4x4xf32, strided<[?, ?], offset: ?>>"
    text = f"""
    tir.func @main("a" %a: !tir.handle, "S" %S: memref<3xi64>) {{
      %s = tir.symbol "s" : i64
      %t = tir.symbol "t" : i64
      %o = tir.symbol "o" : i64
      %A = tir.match_buffer "A" %a strides [%s : i64, %t : i64] offset [%o : i64] : !tir.handle -> {layout}
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      tir.store %s, %S[%c0] : memref<3xi64>
      tir.store %t, %S[%c1] : memref<3xi64>
      tir.store %o, %S[%c2] : memref<3xi64>
      %x = tir.load %A[%c1, %c2] : {layout}
      tir.store %x, %A[%c2, %c1] : {layout}
    }}"""
    grid = GRID.copy()
    s = np.zeros(3, "int64")
    compile_module(lower(parse_mlir(text)).op)["main"](grid[:4, ::2], s)
    assert list(s) == [8, 2, 0]
    assert grid[2, 2] == GRID[1, 4]


def test_names_and_types_of_parameters_are_attributes_of_the_function() -> None:
    text = """
    tir.func @main("A" %A: memref<4xui8>, "flag" %f: i1, "h" %h: !tir.handle) attrs {tir.noalias = true} {
    }"""
    function = lower(parse_mlir(text)).op.body.block.first_op
    assert [str(a) for a in function.arg_attrs] == [  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        '{stepwell.name = "A", stepwell.dtype = "uint8"}',
        '{stepwell.name = "flag", stepwell.dtype = "bool"}',
        '{stepwell.name = "h", stepwell.dtype = "handle"}',
    ]
    assert "stepwell.noalias" in function.attributes  # pyright: ignore[reportOptionalMemberAccess]


# Calls


def test_functions_of_the_module_take_buffers_and_pointers_for_each_other() -> None:
    text = """
    tir.func @main("A" %A: memref<8x8xf32>, "B" %B: memref<8x8xf32>) -> i32 {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %p = tir.buffer_data %A : memref<8x8xf32> -> !tir.handle<f32>
      tir.call @column(%p, %B, %c1) : !tir.handle<f32>, memref<8x8xf32>, i32
      %q = tir.address_of %A[%c1, %c0] : memref<8x8xf32> -> !tir.handle<f32>
      tir.call @row(%q) : !tir.handle<f32>
      tir.call @raw(%A) : memref<8x8xf32>
      %r = tir.call @twice(%c1) : i32 -> i32
      tir.return %r : i32
    }
    tir.func private @column("a" %a: !tir.handle, "b" %b: !tir.handle, "k" %k: i32) {
      %A = tir.match_buffer "A" %a : !tir.handle -> memref<8x8xf32>
      %B = tir.match_buffer "B" %b : !tir.handle -> memref<8x8xf32>
      tir.for serial "i" %i : i32 in [0 +: 8] {
         %x = tir.load %A[%i, %k] : memref<8x8xf32>
         tir.store %x, %B[%k, %i] : memref<8x8xf32>
      }
    }
    tir.func private @row("a" %a: !tir.handle) {
      %A = tir.match_buffer "A" %a : !tir.handle -> memref<8xf32>
      %c0 = arith.constant 0 : i32
      %x = arith.constant 99.0 : f32
      tir.store %x, %A[%c0] : memref<8xf32>
    }
    tir.func private @raw("a" %a: !tir.handle) {
      %A = tir.decl_buffer "A" %a : !tir.handle -> memref<64xf32>
      %c3 = arith.constant 3 : i32
      %x = arith.constant 77.0 : f32
      tir.store %x, %A[%c3] : memref<64xf32>
    }
    tir.func private @twice("x" %x: i32) -> i32 {
      %y = arith.addi %x, %x : i32
      tir.return %y : i32
    }"""
    result, (a, b) = run(text, GRID, np.zeros_like(GRID))
    assert result == 2
    assert a[1, 0] == 99
    assert a[0, 3] == 77
    np.testing.assert_array_equal(b[1], GRID[:, 1])


def test_a_buffer_of_known_size_may_be_passed_where_the_size_is_open() -> None:
    text = """
    tir.func @main("A" %A: memref<4xf32>, "d" %d: !tir.handle) {
      %n = tir.symbol "n" : i32
      %D = tir.match_buffer "D" %d dims [%n] : !tir.handle -> memref<?xf32>
      tir.call @fill(%A) : memref<4xf32>
      tir.call @four(%D) : memref<?xf32>
    }
    tir.func private @fill("a" %a: !tir.handle) {
      %n = tir.symbol "n" : i32
      %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
      %x = arith.constant 5.0 : f32
      tir.for serial "i" %i : i32 in [0 +: %n] {
        tir.store %x, %A[%i] : memref<?xf32>
      }
    }
    tir.func private @four("a" %a: !tir.handle) {
      %A = tir.match_buffer "A" %a : !tir.handle -> memref<4xf32>
      %c3 = arith.constant 3 : i32
      %x = arith.constant 6.0 : f32
      tir.store %x, %A[%c3] : memref<4xf32>
    }"""
    main = compile_module(lower(parse_mlir(text)).op)["main"]
    a, d = np.zeros(4, "float32"), np.zeros(4, "float32")
    main(a, d)
    assert list(a) == [5, 5, 5, 5]
    assert list(d) == [0, 0, 0, 6]
    with pytest.raises(ExecutionError, match=r"argument 0: shape\[0\] must be 4"):
        main(a, np.zeros(3, "float32"))


def _call_with_layout(extents: str, layout: str, indices: str) -> str:
    """A program that passes a view of A with a layout to a function of a buffer without, which stores an element."""
    return f"""
    tir.func @main("A" %A: memref<64xf32>) {{
      %p = tir.buffer_data %A : memref<64xf32> -> !tir.handle<f32>
      %V = tir.decl_buffer "V" %p : !tir.handle<f32> -> memref<{extents}xf32, strided<{layout}>>
      tir.call @mark(%V) : memref<{extents}xf32, strided<{layout}>>
    }}
    tir.func private @mark("v" %v: !tir.handle) {{
      %V = tir.match_buffer "V" %v : !tir.handle -> memref<{extents}xf32>
      %c1 = arith.constant 1 : i32
      %x = arith.constant 99.0 : f32
      tir.store %x, %V[{indices}] : memref<{extents}xf32>
    }}"""


@pytest.mark.parametrize(
    ("extents", "layout", "indices", "position"),
    [
        ("3", "[1]", "%c1", 1),
        ("3", "[1], offset: 5", "%c1", 6),
        ("3x8", "[8, 1]", "%c1, %c1", 9),
        ("3x8", "[8, 1], offset: 5", "%c1, %c1", 14),
        ("2x3x4", "[12, 4, 1]", "%c1, %c1, %c1", 17),
        ("2x3x4", "[12, 4, 1], offset: 5", "%c1, %c1, %c1", 22),
    ],
)
def test_a_buffer_with_default_strides_may_be_passed_where_none_are_stated(
    extents: str, layout: str, indices: str, position: int
) -> None:
    _, (array,) = run(_call_with_layout(extents, layout, indices), np.zeros(64, "float32"))
    assert list(np.flatnonzero(array)) == [position]


@pytest.mark.parametrize("layout", ["[4, 8, 1]", "[24, 8, 1], offset: 5"])
def test_a_buffer_with_other_strides_is_refused_where_none_are_stated(layout: str) -> None:
    message = f"argument 0 is memref<2x3x4xf32, strided<{layout}>>, expected memref<2x3x4xf32>"
    assert message in refuse(_call_with_layout("2x3x4", layout, "%c1, %c1, %c1"))


def test_c_functions_are_declared_once_and_called() -> None:
    text = """
    tir.func @main("C" %C: memref<2xf64>, "x" %x: f64) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %y = tir.call_extern pure "cbrt"(%x) : f64 -> f64
      %z = tir.call_extern pure "cbrt"(%y) : f64 -> f64
      tir.store %y, %C[%c0] : memref<2xf64>
      tir.store %z, %C[%c1] : memref<2xf64>
      %p = tir.address_of %C[%c0] : memref<2xf64> -> !tir.handle<f64>
      %s = tir.const "ab" : !tir.handle
      %n = tir.call_extern "strlen"(%s) : !tir.handle -> i64
      %d = tir.cast %n : i64 -> f64
      tir.store %d, %C[%c0] : memref<2xf64>
    }"""
    lowered = lower(parse_mlir(text))
    assert str(lowered).count("func.func private @cbrt") == 1
    c = np.zeros(2)
    compile_module(lowered.op)["main"](c, 512.0)
    np.testing.assert_allclose(c, [2, 2])


# Refusals


def _function(body: str, params: str = '"n" %n: i32') -> str:
    return f"tir.func @main({params}) {{\n{body}\n}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _function('tir.for thread_binding "i" %i : i32 in [0 +: 8] thread "blockIdx.x" {\n}'),
            "target llvm has no threads: loop i is bound to blockIdx.x",
        ),
        (
            _function('tir.launch_thread "t" %t : i32 in 32 thread "threadIdx.x" {\n}'),
            "target llvm has no threads: t is the index of threadIdx.x",
        ),
        (_function('tir.call_intrin "tvm_storage_sync"()'), "target llvm does not know T.tvm_storage_sync"),
        (
            _function('tir.for serial "i" %i : i32 in [0 +: 8] {\n tir.return\n}'),
            "return is supported only where the function would end anyway",
        ),
        (
            'tir.func @main("p" %p: i1, "x" %x: i32) -> i32 {\n tir.if %p {\n tir.return %x : i32\n}\n}',
            "function main must return i32, but may end without",
        ),
        (
            _function('%s = tir.symbol "s" : i32\n tir.call_extern "f"(%s) : i32'),
            "symbol s is not the extent, stride or offset of any parameter",
        ),
        (
            _function(
                '%A = tir.match_buffer "A" %a : !tir.handle -> memref<4xf32>\n'
                '%B = tir.match_buffer "B" %a : !tir.handle -> memref<4xf32>',
                '"a" %a: !tir.handle',
            ),
            "a parameter can be matched by one buffer only",
        ),
        (
            _function('tir.call_extern "f"(%n) : i32\n tir.call_extern "f"()'),
            "C function f is called with different types",
        ),
        (
            _function('%s = tir.const "x" : !tir.handle\n tir.call_packed "f"(%s) : !tir.handle'),
            "argument 0 of packed function f is a string, which cannot be passed",
        ),
    ],
)
def test_what_cannot_be_lowered_is_refused_with_its_reason(text: str, message: str) -> None:
    assert message in refuse(text)


def test_a_pointer_cannot_stand_for_a_buffer_of_open_size() -> None:
    text = """
    tir.func @main("h" %h: !tir.handle) {
      tir.call @callee(%h) : !tir.handle
    }
    tir.func private @callee("a" %a: !tir.handle) {
      %n = tir.symbol "n" : i32
      %A = tir.match_buffer "A" %a dims [%n] : !tir.handle -> memref<?xf32>
    }"""
    assert "argument 0 is a pointer, whose shape nobody knows" in refuse(text)


def test_a_refusal_says_where_the_statement_was_written() -> None:
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    module = parse_mlir(_function('tir.launch_thread "t" %t : i32 in 32 thread "threadIdx.x" {\n}'))
    for op in module.op.walk():
        if op.name == "tir.launch_thread":
            op.location = FileLineColLoc(StringAttr("kernel.py"), IntAttr(7), IntAttr(5))
    with pytest.raises(UnsupportedError, match=r"^kernel\.py:7:5: error: tir\.launch_thread: target llvm"):
        lower(module)


def test_locations_of_statements_are_those_of_what_they_become() -> None:
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    module = parse_mlir(
        _function("tir.store %x, %A[%n] : memref<8xf32>", '"A" %A: memref<8xf32>, "x" %x: f32, "n" %n: i32')
    )
    here = FileLineColLoc(StringAttr("kernel.py"), IntAttr(7), IntAttr(5))
    for op in module.op.walk():
        if op.name == "tir.store":
            op.location = here
    stores = [op for op in lower(module).op.walk() if op.name == "memref.store"]
    assert [op.location for op in stores] == [here]


def test_a_declaration_that_is_there_already_is_used() -> None:
    upstream = "func.func private @cbrt(f64) -> f64\n"
    text = _function(
        '%c0 = arith.constant 0 : i32\n%y = tir.call_extern "cbrt"(%x) : f64 -> f64\n'
        "tir.store %y, %C[%c0] : memref<1xf64>",
        '"C" %C: memref<1xf64>, "x" %x: f64',
    )
    lowered = lower(parse_mlir(upstream + text))
    assert str(lowered).count("func.func private @cbrt") == 1


def test_python_functions_get_arrays_over_the_same_memory_and_give_numbers() -> None:
    text = """
    tir.func @main("A" %A: memref<4x4xui8>, "x" %x: f32) -> i32 {
      %c0 = arith.constant 0 : i32
      %row = tir.match_region "row" %A[0 +: 4, 1] : memref<4x4xui8> -> memref<4x1xui8>
      %r = tir.call_packed "tests.column"(%row, %x) : memref<4x1xui8>, f32 -> i32
      tir.call_packed "tests.all"(%A) : memref<4x4xui8>
      tir.call_packed "tests.all"(%x) : f32
      tir.return %r : i32
    }"""
    seen: list[Any] = []

    def column(array: np.ndarray[Any, Any], x: float) -> int:
        seen.append((array.dtype.name, array.shape, array.reshape(-1).tolist(), x))
        array[:] = 9
        return 42

    register_func("tests.column", column, override=True)
    register_func("tests.all", lambda value: seen.append(np.shape(value)), override=True)
    a = np.arange(16, dtype="uint8").reshape(4, 4)
    assert compile_module(lower(parse_mlir(text)).op)["main"](a, 1.5) == 42
    assert seen == [("uint8", (4, 1), [1, 5, 9, 13], 1.5), (4, 4), ()]
    np.testing.assert_array_equal(a[:, 1], 9)


def test_the_number_of_blocks_is_computed_before_the_launch() -> None:
    text = """
    tir.func @main("A" %A: memref<8xi32>, "n" %n: i32) {
      tir.launch_thread "by" %by : i32 in 2 thread "blockIdx.y" {
        %c1 = arith.constant 1 : i32
        %m = arith.addi %n, %c1 : i32
        %k = arith.muli %m, %m : i32
        tir.launch_thread "bx" %bx : i32 in %k thread "blockIdx.x" {
          tir.store %m, %A[%bx] : memref<8xi32>
        }
      }
    }"""
    launches = ConvertTirToScfPass(launches=True)
    module = run_pipeline(parse_mlir(text), [launches])
    module.verify()
    (function,) = module.functions.values()
    before = [op.name for op in function.body.block.ops if op.name != "arith.constant"]
    assert before[: before.index("gpu.launch")] == ["arith.addi", "arith.muli", "arith.index_cast"]
    loaded = text.replace("arith.addi %n, %c1 : i32", "tir.load %A[%by] : memref<8xi32>")
    with pytest.raises(UnsupportedError, match="the kernel computes how many blockIdx"):
        run_pipeline(parse_mlir(loaded), [launches])


# Buffers of vectors


@pytest.mark.parametrize("pointer", ['V.access_ptr("w", offset=2)', "T.address_of(V[2])"])
def test_pointers_count_all_lanes_of_elements(pointer: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    V = T.alloc_buffer((4,), "int32x4")
    all = T.decl_buffer((16,), "int32", data=T.reinterpret("handle", V.data))
    for i in range(16):
        all[i] = 0
    one = T.decl_buffer((4,), "int32", data=T.reinterpret("handle", {pointer}))
    one[0] = 7
    for i in range(16):
        A[i] = all[i]
"""
    array = np.empty(16, "int32")
    compile_module(lower(parse_tvmscript(text)).op)["main"](array)
    np.testing.assert_array_equal(array, [0] * 8 + [7] + [0] * 7)


@pytest.mark.parametrize("stored", ["%v", "%x"])
def test_accesses_of_vectors_as_elements_are_refused(stored: str) -> None:
    module = parse_mlir(
        f"""
tir.func @main("v" %v: vector<4xf32>, "i" %i: i32) {{
  %V = tir.alloc_buffer "V" : memref<4xvector<4xf32>>
  %x = tir.load %V[%i] : memref<4xvector<4xf32>>
  tir.store {stored}, %V[%i] : memref<4xvector<4xf32>>
}}
"""
    )
    with pytest.raises(UnsupportedError, match="the elements of V are vectors, expected scalars"):
        lower(module)


@pytest.mark.parametrize("grain", ["0", "-1", '"many"', "2.0"])
def test_a_grain_is_a_positive_integer(grain: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.parallel(8, annotations={{"grain": {grain}}}):
        A[i] = T.float32(1)
"""
    with pytest.raises(UnsupportedError, match="annotation grain of loop i: expected a positive integer, got"):
        run_pipeline(parse_tvmscript(text), [ConvertTirToScfPass()])


def test_the_grain_of_a_loop_reaches_the_worker_pool() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.parallel(8, annotations={"grain": 3, "least_per_thread": 2}):
        A[i] = T.float32(1)
"""
    library = build(parse_tvmscript(text))
    assert "i64 0, i64 8, i64 3, i64 2)" in library.source("llvm")
    array = np.zeros(8, np.float32)
    library["main"](array)
    assert array.tolist() == [1] * 8
