"""Buffers: addresses, views, memory of blocks and threads, constant arrays, pointers; vectors in them."""

import ctypes

import numpy as np
import pytest

from stepwell.core.errors import UnsupportedError
from stepwell.tools.testing.upstream import ELEMENTS, LARGE_ADDRESS, POINTER, VIEWS, align_array


def copy(kind: str, lanes: int, size: str, start: int = 0) -> str:
    shown = f"vector<{lanes}x{kind}>"
    op, tail = ("memref", "") if lanes == 1 else ("vector", f", {shown}")
    return f"""func.func @copy_{kind}_{lanes}_{start}(%a: memref<{size}x{kind}>, %b: memref<{size}x{kind}>) {{
      %start = arith.constant {start} : index
      %end = arith.constant {start + 16} : index
      %step = arith.constant {lanes} : index
      scf.for %i = %start to %end step %step {{
        %x = {op}.load %a[%i] : memref<{size}x{kind}>{tail}
        {op}.store %x, %b[%i] : memref<{size}x{kind}>{tail}
      }}
      func.return
    }}"""


COPIES = [(kind, lanes, start) for kind in ELEMENTS for lanes in (1, 2, 4, 8, 16) for start in (0, 1)]


@pytest.fixture(scope="module")
def copies(on_host):
    return on_host("\n".join(copy(kind, lanes, "32", start) for kind, lanes, start in COPIES))


@pytest.mark.parametrize(("kind", "lanes", "start"), COPIES)
def test_elements_and_vectors_are_moved_in_accesses_as_wide_as_is_safe(copies, kind, lanes, start) -> None:
    kernel = copies[f"copy_{kind}_{lanes}_{start}"]
    size = np.dtype(ELEMENTS[kind]).itemsize
    a, out = align_array(np.arange(32), ELEMENTS[kind]), align_array(np.zeros(32), ELEMENTS[kind])
    kernel(a, out)
    np.testing.assert_array_equal(out[start : start + 16], a[start : start + 16])
    together = lanes > 1 and start == 0 and lanes * size <= 16
    assert kernel.kernel.parameters[0].alignment == (lanes * size if together else size)


def test_a_vector_that_is_only_moved_stays_one_value(emit_text) -> None:
    assert "*reinterpret_cast<float4*>(&b[i]) = x;" in emit_text(copy("f32", 4, "32")).source


def test_nvrtc_takes_every_access(emit_text, nvrtc) -> None:
    nvrtc(emit_text("\n".join(copy(kind, lanes, "32", start) for kind, lanes, start in COPIES)).source)


@pytest.mark.parametrize(
    ("index", "together"),
    [("%i, %j4", True), ("%i, %j", False), ("%i, %j4p8", True), ("%i, %j4p2", False), ("%j4, %i16", True)],
)
def test_only_multiples_by_construction_are_aligned(emit_text, index: str, together: bool) -> None:
    source = emit_text(f"""func.func @f(%a: memref<64x64xf32>, %n: i32, %m: i32, %b: memref<4xf32>) {{
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %i = arith.index_cast %n : i32 to index
      %j = arith.index_cast %m : i32 to index
      %j4 = arith.muli %j, %c4 : index
      %j4p8 = arith.addi %j4, %c8 : index
      %j4p2 = arith.addi %j4, %c2 : index
      %i16 = arith.muli %c16, %i : index
      %x = vector.load %a[{index}] : memref<64x64xf32>, vector<4xf32>
      vector.store %x, %b[%c0] : memref<4xf32>, vector<4xf32>
      func.return
    }}""").source
    assert ("const float4 x" in source) == together


def test_any_nonzero_byte_is_true_and_one_is_stored(on_host) -> None:
    run = on_host("""func.func @main(%a: memref<4xi1>, %b: memref<4xi1>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %a[%c0] : memref<4xi1>, vector<4xi1>
      vector.store %v, %b[%c0] : memref<4xi1>, vector<4xi1>
      %x = memref.load %a[%c0] : memref<4xi1>
      memref.store %x, %b[%c0] : memref<4xi1>
      func.return
    }""")["main"]
    a, out = align_array(np.array([2, 0, 255, 1]), np.uint8), align_array(np.zeros(4), np.uint8)
    run(a, out)
    np.testing.assert_array_equal(out[:4], [1, 0, 1, 1])


def test_views_share_their_bytes(on_host) -> None:
    kernel = on_host(VIEWS)["main"]
    a, out = np.arange(48, dtype=np.float32).reshape(6, 8), np.zeros(1, np.float32)
    kernel(a, 2, out)
    assert out[0] == a[3, 5] + a[2, 2] + 48
    assert a[0, 0] == 1
    assert kernel.kernel.parameters[0].writes


def test_byte_views_give_other_types_in_any_memory(on_host) -> None:
    for space in ("", ', "local"', ', "shared"', ', "shared.dyn"'):
        kernel = on_host(f"""func.func @main(%n: index) -> f32 {{
          %c0 = arith.constant 0 : index
          %c8 = arith.constant 8 : index
          %raw = memref.alloca() : memref<256xi8{space}>
          %v = memref.view %raw[%c8][%n] : memref<256xi8{space}> to memref<?x4xf32{space}>
          %w = memref.view %raw[%c0][] : memref<256xi8{space}> to memref<8xf32{space}>
          %x = arith.constant 3.5 : f32
          memref.store %x, %v[%c0, %c0] : memref<?x4xf32{space}>
          %two = arith.constant 2 : index
          %r = memref.load %w[%two] : memref<8xf32{space}>
          func.return %r : f32
        }}""")["main"]
        out = np.zeros(1, np.float32)
        kernel(3, out)
        assert out[0] == 3.5
        assert kernel.kernel.shared_bytes == (256 if space == ', "shared"' else 0)
        assert kernel.kernel.dynamic_shared_bytes == (256 if "dyn" in space else 0)


def test_dynamic_shared_memory_is_one_array(on_host) -> None:
    kernel = on_host("""func.func @main() -> f32 {
      %c2 = arith.constant 2 : index
      %one = arith.constant 1.0 : f32
      %h = arith.constant 3.0 : f16
      %A = memref.alloca() : memref<5xf16, "shared.dyn">
      %B = memref.alloca() : memref<4x4xf32, "shared.dyn">
      memref.store %one, %B[%c2, %c2] : memref<4x4xf32, "shared.dyn">
      memref.store %h, %A[%c2] : memref<5xf16, "shared.dyn">
      %x = memref.load %A[%c2] : memref<5xf16, "shared.dyn">
      %y = memref.load %B[%c2, %c2] : memref<4x4xf32, "shared.dyn">
      %z = arith.extf %x : f16 to f32
      %r = arith.addf %y, %z : f32
      func.return %r : f32
    }""")["main"]
    assert kernel.kernel.dynamic_shared_bytes == 16 + 64
    assert "float* const B = reinterpret_cast<float*>(shared_dyn + 16);" in kernel.source
    out = np.zeros(1, np.float32)
    kernel(out)
    assert out[0] == 4


def test_dimensions_and_metadata_are_what_the_buffer_has(on_host) -> None:
    run = on_host("""func.func @main(%a: memref<?x7x?xf32, strided<[?, ?, 1], offset: ?>>, %d: index) -> index {
      %r = memref.dim %a, %d : memref<?x7x?xf32, strided<[?, ?, 1], offset: ?>>
      %b, %o, %s:3, %t:3 = "memref.extract_strided_metadata"(%a) : (memref<?x7x?xf32, strided<[?, ?, 1], offset: ?>>)
        -> (memref<f32>, index, index, index, index, index, index, index)
      %k = arith.constant 100 : index
      %u = arith.muli %t#1, %k : index
      %v = arith.addi %r, %u : index
      func.return %v : index
    }""")["main"]
    a, out = np.zeros((3, 7, 5), np.float32), np.zeros(1, np.int64)
    for axis, size in enumerate(a.shape):
        run(a, axis, out)
        assert out[0] == size + 500


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64", "i64", "i8", "i1"])
def test_globals_of_every_width(on_host, kind: str) -> None:
    values = {"i64": "[3, -9223372036854775808]", "i8": "[3, -128]", "i1": "[true, false]"}.get(kind, "[1.5, -2.0]")
    run = on_host(f"""
    "memref.global"() <{{sym_name = "w", sym_visibility = "private", type = memref<2x{kind}>,
       initial_value = dense<{values}> : tensor<2x{kind}>, constant}}> : () -> ()
    func.func @main(%i: index) -> {kind} {{
      %w = memref.get_global @w : memref<2x{kind}>
      %r = memref.load %w[%i] : memref<2x{kind}>
      func.return %r : {kind}
    }}""")["main"]
    got = []
    for i in (0, 1):
        out = np.zeros(1, ELEMENTS[kind])
        run(i, out)
        got.append(out[0])
    assert str([value.item() for value in got]).lower() == values.lower()


def test_numbers_without_a_decimal_literal_are_declared_as_bits(on_host) -> None:
    kernel = on_host("""
    "memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<4xf32>,
       initial_value = dense<[3.0e38, 1.0e-45, 0.1, -0.0]> : tensor<4xf32>, constant}> : () -> ()
    func.func @main(%out: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %w = memref.get_global @w : memref<4xf32>
      %x = vector.load %w[%c0] : memref<4xf32>, vector<4xf32>
      vector.store %x, %out[%c0] : memref<4xf32>, vector<4xf32>
      func.return
    }""")["main"]
    out = align_array(np.zeros(4), np.float32)
    kernel(out)
    expected = np.array([3e38, 1e-45, 0.1, -0.0], np.float32)
    np.testing.assert_array_equal(out.view("u4"), expected.view("u4"))


def test_pointers_become_buffers(on_host) -> None:
    kernels = on_host(
        POINTER
        + """
    func.func @address(%a: memref<8xf32>, %i: i32) -> i64 {
      %base = "memref.extract_aligned_pointer_as_index"(%a) : (memref<8xf32>) -> index
      %n = arith.index_cast %i : i32 to index
      %c4 = arith.constant 4 : index
      %o = arith.muli %n, %c4 : index
      %s = arith.addi %base, %o : index
      %w = arith.index_cast %s : index to i64
      %p = llvm.inttoptr %w : i64 to !llvm.ptr
      %z = llvm.ptrtoint %p : !llvm.ptr to i64
      func.return %z : i64
    }
    func.func @null() -> i64 {
      %p = llvm.mlir.zero : !llvm.ptr
      %z = llvm.ptrtoint %p : !llvm.ptr to i64
      func.return %z : i64
    }"""
    )
    a, out, address = np.arange(8, dtype=np.float32), np.zeros(1, np.float32), np.ones(1, np.int64)
    kernels["main"](a.ctypes.data_as(ctypes.c_void_p), 3, out)
    assert out[0] == 3 + 2
    kernels["address"](a, 2**30, address)
    assert address[0] == a.ctypes.data + 2**32
    kernels["null"](address)
    assert address[0] == 0


def test_addresses_in_large_memory_have_64_bits(on_host) -> None:
    run = on_host(LARGE_ADDRESS)["main"]
    out = np.zeros(1, np.int64)
    run(0x100000, 60000, 5, out)
    assert out[0] == 0x100000 + 4 * (60000 * 70000 + 5)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%b = memref.alloca(%i) : memref<?xf32>\n memref.store %x, %b[%i] : memref<?xf32>", "static shape"),
        ('%b = memref.alloca() : memref<4xf32, "warp">\n memref.store %x, %b[%i] : memref<4xf32, "warp">',
         "no memory called 'warp' on the device"),
        ("%b = memref.alloca() : memref<4xf32, strided<[2]>>\n memref.store %x, %b[%i] : memref<4xf32, strided<[2]>>",
         "must be contiguous"),
        ("%k = arith.constant 3 : index\n%d = memref.dim %a, %k : memref<4xf32>", "dimension 3 of a buffer of rank 1"),
        ("%z = builtin.unrealized_conversion_cast %a : memref<4xf32> to i64", "cannot turn memref<4xf32> into i64"),
        ("%w = memref.get_global @w : memref<4xf32>", r"no memref\.global called 'w'"),
        ("%v = vector.load %s[%i] : memref<8xf32, strided<[2]>>, vector<4xf32>", "must have stride 1"),
        ("%q = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<?x?xf32>\n"
         "%y = memref.load %q[%i, %i] : memref<?x?xf32>", "only memref.reinterpret_cast knows the sizes"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(emit_text, body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        emit_text(f"""func.func @main(%a: memref<4xf32>, %s: memref<8xf32, strided<[2]>>, %p: !llvm.ptr, %i: index,
          %x: f32) {{ {body}\n func.return }}""")
