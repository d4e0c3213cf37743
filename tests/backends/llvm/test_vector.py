"""One-dimensional vectors."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

from stepwell.backends.build import build
from stepwell.backends.oracle import run_oracle
from stepwell.core.errors import UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.upstream import masked_copy


def test_lanes_are_broadcast_extracted_and_inserted(compile_text) -> None:
    lib = compile_text("""func.func @main(%x: f32, %i: index, %out: memref<8xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %k = arith.constant 2.0 : f32
      %a = vector.broadcast %x : f32 to vector<8xf32>
      %b = vector.insert %k, %a[3] : f32 into vector<8xf32>
      %c = vector.insert %k, %b[%i] : f32 into vector<8xf32>
      %one = vector.broadcast %x : f32 to vector<1xf32>
      %many = vector.broadcast %one : vector<1xf32> to vector<8xf32>
      %d = arith.addf %c, %many : vector<8xf32>
      %s = vector.broadcast %k : f32 to vector<8xf32>
      %e = arith.mulf %d, %s : vector<8xf32>
      vector.store %e, %out[%c0] : memref<8xf32>, vector<8xf32>
      %r = vector.extract %e[%i] : f32 from vector<8xf32>
      func.return %r : f32
    }""")
    out = np.zeros(8, np.float32)
    assert lib(1.0, 5, out) == 6
    np.testing.assert_array_equal(out, [4, 4, 4, 6, 4, 6, 4, 4])


def test_shuffles_pick_lanes_of_both_sources(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<4xi32>, %b: memref<2xi32>, %out: memref<5xi32>) {
      %c0 = arith.constant 0 : index
      %x = vector.load %a[%c0] : memref<4xi32>, vector<4xi32>
      %y = vector.load %b[%c0] : memref<2xi32>, vector<2xi32>
      %r = vector.shuffle %x, %y [5, 0, 3, 4, 3] : vector<4xi32>, vector<2xi32>
      vector.store %r, %out[%c0] : memref<5xi32>, vector<5xi32>
      %s = vector.shuffle %y, %x [2, 1] : vector<2xi32>, vector<4xi32>
      vector.store %s, %b[%c0] : memref<2xi32>, vector<2xi32>
      func.return
    }""")
    a, b, out = np.array([1, 2, 3, 4], np.int32), np.array([5, 6], np.int32), np.zeros(5, np.int32)
    lib(a, b, out)
    np.testing.assert_array_equal(out, [6, 1, 4, 5, 4])
    np.testing.assert_array_equal(b, [1, 6])


@pytest.mark.parametrize("kind", ["f32", "i8", "i1", "bf16", "index"])
def test_masked_accesses_touch_only_lanes_of_the_mask(compile_text, kind: str) -> None:
    dtype = {"f32": np.float32, "i8": np.int8, "i1": np.bool_, "bf16": ml_dtypes.bfloat16, "index": np.int64}[kind]
    lib = compile_text(masked_copy(kind))
    a = np.ones(8, dtype)
    for n in (0, 3, 8):
        b = np.zeros(8, dtype)
        lib(a, b, n)
        np.testing.assert_array_equal(b, [1] * n + [0] * (8 - n))


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
@pytest.mark.parametrize(
    ("name", "reduce"),
    [("add", sum), ("mul", math.prod), ("minsi", min), ("maxsi", max), ("and", np.bitwise_and.reduce),
     ("or", np.bitwise_or.reduce), ("xor", np.bitwise_xor.reduce),
     ("minui", lambda v: v[np.argmin(v.view(f"u{v.itemsize}"))]),
     ("maxui", lambda v: v[np.argmax(v.view(f"u{v.itemsize}"))])],
)  # fmt: skip
def test_integer_reductions(compile_text, kind: str, name: str, reduce) -> None:
    lib = compile_text(f"""func.func @main(%a: memref<4x{kind}>, %x: {kind}, %out: memref<2x{kind}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = vector.load %a[%c0] : memref<4x{kind}>, vector<4x{kind}>
      %r = vector.reduction <{name}>, %v : vector<4x{kind}> into {kind}
      %s = vector.reduction <{name}>, %v, %x : vector<4x{kind}> into {kind}
      memref.store %r, %out[%c0] : memref<2x{kind}>
      memref.store %s, %out[%c1] : memref<2x{kind}>
      func.return
    }}""")
    dtype = np.dtype(f"i{int(kind[1:]) // 8}")
    a, out = np.array([3, -5, 7, 2], dtype), np.zeros(2, dtype)
    lib(a, 6, out)
    with np.errstate(over="ignore"):
        both = [reduce(a), reduce(np.append(a, dtype.type(6)))]
        np.testing.assert_array_equal(out, np.array([int(v) for v in both]).astype(dtype))


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [("add", (3.25, 9.25)), ("mul", (-30.0, -180.0)), ("maxnumf", (5.0, 6.0)), ("minnumf", (-4.0, -4.0)),
     ("maximumf", (5.0, 6.0)), ("minimumf", (-4.0, -4.0))],
)  # fmt: skip
def test_float_reductions(compile_text, kind: str, name: str, expected: tuple[float, float]) -> None:
    lib = compile_text(f"""func.func @main(%a: memref<4x{kind}>, %x: {kind}, %out: memref<2x{kind}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = vector.load %a[%c0] : memref<4x{kind}>, vector<4x{kind}>
      %r = vector.reduction <{name}>, %v : vector<4x{kind}> into {kind}
      %s = vector.reduction <{name}>, %v, %x : vector<4x{kind}> into {kind}
      memref.store %r, %out[%c0] : memref<2x{kind}>
      memref.store %s, %out[%c1] : memref<2x{kind}>
      func.return
    }}""")
    dtype = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[kind]
    out = np.zeros(2, dtype)
    lib(np.array([5, -4, 0.75, 2], dtype) if name != "add" else np.array([5, -4, 0.25, 2], dtype), 6.0, out)
    np.testing.assert_array_equal(out, expected)


def test_float_sums_go_from_the_first_lane_on(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<4xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %v = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
      %r = vector.reduction <add>, %v : vector<4xf32> into f32
      func.return %r : f32
    }""")
    assert lib(np.array([1e20, -1e20, 1, 2], np.float32)) == 3
    assert math.copysign(1, lib(np.array([-0.0] * 4, np.float32))) == -1


@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_fused_multiply_add(elementwise, kind: str) -> None:
    dtype = {"f32": np.float32, "f16": np.float16}[kind]
    a = np.arange(8).astype(dtype)
    out = np.zeros_like(a)
    elementwise(f"%r = vector.fma %x0, %x1, %x0 : vector<4x{kind}>", [kind] * 2, kind, lanes=4)(a, a, out)
    np.testing.assert_array_equal(out, a * a + a)


def test_bitcasts_regroup_the_bits(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<8xi8>, %out: memref<2xf32>) {
      %c0 = arith.constant 0 : index
      %x = vector.load %a[%c0] : memref<8xi8>, vector<8xi8>
      %y = vector.bitcast %x : vector<8xi8> to vector<2xf32>
      vector.store %y, %out[%c0] : memref<2xf32>, vector<2xf32>
      func.return
    }""")
    value, out = np.array([1.5, -2.0], np.float32), np.zeros(2, np.float32)
    lib(value.view(np.int8), out)
    np.testing.assert_array_equal(out, value)


def test_comparisons_and_selection_by_lane(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<4xf32>, %b: memref<4xi32>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant dense<0.0> : vector<4xf32>
      %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
      %c = "arith.cmpf"(%x, %zero) <{predicate = 4 : i64, fastmath = #arith.fastmath<none>}>
        : (vector<4xf32>, vector<4xf32>) -> vector<4xi1>
      %n = "arith.negf"(%x) : (vector<4xf32>) -> vector<4xf32>
      %y = "arith.select"(%c, %n, %x) : (vector<4xi1>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
      %i = "arith.fptosi"(%y) : (vector<4xf32>) -> vector<4xi32>
      vector.store %i, %b[%c0] : memref<4xi32>, vector<4xi32>
      func.return
    }""")
    out = np.zeros(4, np.int32)
    lib(np.array([-1.5, 2.5, -7, np.nan], np.float32), out)
    np.testing.assert_array_equal(out, [1, 2, 7, 0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%v = vector.load %a[%i] : memref<8xf32, strided<[2]>>, vector<4xf32>", "must have stride 1"),
        ("%w = arith.constant dense<0.0> : vector<2x2xf32>", "one fixed dimension"),
    ],
)
def test_what_cannot_be_compiled_is_refused(compile_text, body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        compile_text(f"func.func @main(%a: memref<8xf32, strided<[2]>>, %i: index) {{ {body}\n func.return }}")


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_lanes_out_of_range_become_the_nearest_integer(source: str, target: str) -> None:
    limits = [s * 2.0**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for d in (-1, -0.5, 0, 1)]
    with np.errstate(over="ignore"):
        values = np.array([0.0, -0.5, 1.9, -1.9, 1e30, -1e30, np.inf, -np.inf, np.nan, *limits], source)
    module = parse_tvmscript(f"""
@T.prim_func
def main(A: T.Buffer(({len(values)},), "{source}"), C: T.Buffer(({len(values)},), "{target}")):
    for i in T.vectorized({len(values)}):
        C[i] = T.Cast("{target}", A[i])
""")
    got, expected = np.zeros(len(values), target), np.zeros(len(values), target)
    lib = build(module)
    lib["main"](values, got)
    run_oracle(module, "main", [values, expected])
    np.testing.assert_array_equal(got, expected)
    assert "sat" not in lib.source("llvm")


@pytest.mark.parametrize(("level", "locality"), [("", 3), (", stepwell.prefetch_level = 2 : i64", 2)])
def test_a_load_requests_the_cache_line_at_its_distance(compile_text, level: str, locality: int) -> None:
    lib = compile_text(f"""func.func @main(%a: memref<64xi32>, %out: memref<4xi32>) {{
      %c0 = arith.constant 0 : index
      %c60 = arith.constant 60 : index
      %x = vector.load %a[%c60] {{stepwell.prefetch = array<i64: 1048576>{level}}} : memref<64xi32>, vector<4xi32>
      vector.store %x, %out[%c0] : memref<4xi32>, vector<4xi32>
      func.return
    }}""")
    request = r"getelementptr i8, ptr .*, i64 1048576\n.*call void @llvm\.prefetch\.p0\(ptr .*, i32 0, i32 {}, i32 1\)"
    assert re.search(request.format(locality), lib.source("llvm"))
    a, out = np.arange(64, dtype=np.int32), np.zeros(4, np.int32)
    lib(a, out)
    np.testing.assert_array_equal(out, a[60:])


def test_a_load_requests_cache_lines_at_a_distance_that_changes_with_loops(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<64xi32>, %out: memref<4xi32>) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      scf.for %j = %c0 to %c4 step %c4 {
        scf.for %k = %c0 to %c64 step %c4 {
          %x = vector.load %a[%k] {stepwell.prefetch_panel = array<i64: 4096, -12, 77>} : memref<64xi32>, vector<4xi32>
          vector.store %x, %out[%c0] : memref<4xi32>, vector<4xi32>
        }
      }
      func.return
    }""")
    text = lib.source("llvm")
    for part in (r"getelementptr i8, ptr .*, i64 4096", r"mul i64 %k\S*, -12", r"mul i64 %j\S*, 77"):
        assert len(re.findall(part, text)) == 1
    assert re.search(r"call void @llvm\.prefetch.*i32 2, i32 1\)", text)
    a, out = np.arange(64, dtype=np.int32), np.zeros(4, np.int32)
    lib(a, out)
    np.testing.assert_array_equal(out, a[60:])


def test_a_load_of_an_element_without_uses_is_a_request_alone(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<64xi32>, %out: memref<1xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      scf.for %k = %c0 to %c64 step %c1 {
        %next = memref.load %a[%k] {stepwell.prefetch = array<i64: 4096, 60>} : memref<64xi32>
        %x = memref.load %a[%k] {stepwell.prefetch = array<i64: 512>} : memref<64xi32>
        memref.store %x, %out[%c0] : memref<1xi32>
      }
      func.return
    }""")
    text = lib.source("llvm")
    for part in (r"getelementptr i8, ptr .*, i64 4096", r"mul i64 %k\S*, 60", r"i64 512\n", r"load i32", r"store i32"):
        assert len(re.findall(part, text)) == 1, part
    a, out = np.arange(64, dtype=np.int32), np.zeros(1, np.int32)
    lib(a, out)
    assert out[0] == 63
