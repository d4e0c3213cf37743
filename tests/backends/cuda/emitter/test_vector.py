"""Vectors as lanes, compared with the LLVM back end."""

import numpy as np
import pytest

from stepwell.tools.testing.upstream import align_array, masked_copy

LANES = """func.func @lanes(%x: f32, %i: index, %out: memref<8xf32>) {
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
  %r = vector.extract %e[%i] : f32 from vector<8xf32>
  %f = vector.insert %r, %e[0] : f32 into vector<8xf32>
  vector.store %f, %out[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}"""

SHUFFLE = """func.func @shuffle(%a: memref<4xi32>, %b: memref<2xi32>, %out: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %x = vector.load %a[%c0] : memref<4xi32>, vector<4xi32>
  %y = vector.load %b[%c0] : memref<2xi32>, vector<2xi32>
  %r = vector.shuffle %x, %y [5, 0, 3, 4, 3] : vector<4xi32>, vector<2xi32>
  vector.store %r, %out[%c0] : memref<8xi32>, vector<5xi32>
  %s = vector.shuffle %y, %x [2, 1] : vector<2xi32>, vector<4xi32>
  vector.store %s, %out[%c5] : memref<8xi32>, vector<2xi32>
  func.return
}"""

BITCASTS = """func.func @bitcasts(%a: memref<8xi8>, %out: memref<2xf32>, %halves: memref<4xf16>, %bytes: memref<8xi8>) {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<8xi8>, vector<8xi8>
  %y = vector.bitcast %x : vector<8xi8> to vector<2xf32>
  vector.store %y, %out[%c0] : memref<2xf32>, vector<2xf32>
  %h = vector.bitcast %y : vector<2xf32> to vector<4xf16>
  vector.store %h, %halves[%c0] : memref<4xf16>, vector<4xf16>
  %z = vector.bitcast %h : vector<4xf16> to vector<8xi8>
  vector.store %z, %bytes[%c0] : memref<8xi8>, vector<8xi8>
  func.return
}"""


INTEGER = ("add", "mul", "minsi", "maxsi", "minui", "maxui", "and", "or", "xor")
FLOAT = ("add", "mul", "minnumf", "maxnumf", "minimumf", "maximumf")
REDUCTIONS = [(name, kind) for names, kinds in ((INTEGER, ("i8", "i32", "i64")), (FLOAT, ("f32", "f64", "f16")))
              for name in names for kind in kinds]  # fmt: skip


def reduction(name: str, kind: str) -> str:
    return f"""func.func @{name}_{kind}(%a: memref<4x{kind}>, %x: memref<1x{kind}>, %out: memref<2x{kind}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = vector.load %a[%c0] : memref<4x{kind}>, vector<4x{kind}>
      %y = memref.load %x[%c0] : memref<1x{kind}>
      %r = vector.reduction <{name}>, %v : vector<4x{kind}> into {kind}
      %s = vector.reduction <{name}>, %v, %y : vector<4x{kind}> into {kind}
      memref.store %r, %out[%c0] : memref<2x{kind}>
      memref.store %s, %out[%c1] : memref<2x{kind}>
      func.return
    }}"""


KINDS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "i32": np.int32, "i64": np.int64,
         "i1": np.bool_, "index": np.int64}  # fmt: skip
MASKED = [masked_copy(kind, f"masked_{kind}") for kind in ("f32", "i8", "i1", "f16", "index")]
TEXT = "\n".join([LANES, SHUFFLE, BITCASTS, *MASKED, *(reduction(*each) for each in REDUCTIONS)])


@pytest.fixture(scope="module")
def both(compile_text, on_host):
    return compile_text(TEXT), on_host(TEXT)


def check(both, name: str, arguments: list) -> None:
    results = []
    for side in both:
        passed = [align_array(a, a.dtype) if isinstance(a, np.ndarray) else a for a in arguments]
        side[name](*passed)
        results.append(passed)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("lane", range(8))
def test_lanes_are_broadcast_extracted_and_inserted(both, lane: int) -> None:
    check(both, "lanes", [1.5, lane, np.zeros(8, np.float32)])


def test_shuffles_pick_lanes_of_both_sources(both) -> None:
    check(both, "shuffle", [np.array([1, 2, 3, 4], np.int32), np.array([5, 6], np.int32), np.zeros(8, np.int32)])


def test_bitcasts_regroup_the_bits(both) -> None:
    values = np.array([1.5, -2.0], np.float32).view(np.int8)
    check(both, "bitcasts", [values, np.zeros(2, np.float32), np.zeros(4, np.float16), np.zeros(8, np.int8)])


@pytest.mark.parametrize("kind", ["f32", "i8", "i1", "f16", "index"])
@pytest.mark.parametrize("count", [0, 3, 8, 9])
def test_masked_accesses_touch_only_lanes_of_the_mask(both, kind: str, count: int) -> None:
    check(both, f"masked_{kind}", [np.ones(8, KINDS[kind]), np.zeros(8, KINDS[kind]), count])


@pytest.mark.parametrize(("name", "kind"), REDUCTIONS)
def test_reductions(both, name: str, kind: str) -> None:
    a = np.array([3, -5, 7, 2]).astype(KINDS[kind])
    check(both, f"{name}_{kind}", [a, np.array([6]).astype(KINDS[kind]), np.zeros(2, KINDS[kind])])


def test_nvrtc_takes_vectors(emit_text, nvrtc) -> None:
    nvrtc(emit_text(TEXT).source)
