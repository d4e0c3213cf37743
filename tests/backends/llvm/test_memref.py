"""Buffers: addresses, views, allocation, copies, globals, pointers."""

import ctypes

import numpy as np
import pytest

from stepwell.core.errors import ExecutionError, UnsupportedError
from stepwell.tools.testing.upstream import ELEMENTS, LARGE_ADDRESS, POINTER, STRIDED_COPY, VIEWS


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_every_element_type_is_loaded_and_stored(elementwise, kind: str, lanes: int) -> None:
    a = np.arange(16).astype(ELEMENTS[kind])
    out = np.zeros_like(a)
    shown = kind if lanes == 1 else f"vector<4x{kind}>"
    zero = "%t = arith.constant true\n%r = arith.select %t, %x0, %x0 : " + shown
    elementwise(zero, [kind], kind, lanes=lanes)(a, out)
    np.testing.assert_array_equal(out, a)


def test_any_nonzero_byte_is_true_and_one_is_stored(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<4xi1> {stepwell.dtype = "bool"}, %b: memref<4xi1>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %a[%c0] : memref<4xi1>, vector<4xi1>
      vector.store %v, %b[%c0] : memref<4xi1>, vector<4xi1>
      %x = memref.load %a[%c0] : memref<4xi1>
      memref.store %x, %b[%c0] : memref<4xi1>
      func.return
    }""")
    out = np.zeros(4, bool)
    lib(np.array([2, 0, 255, 1], np.uint8).view(bool), out)
    np.testing.assert_array_equal(out.view(np.uint8), [1, 0, 1, 1])


def test_strides_and_offsets_place_elements(compile_text) -> None:
    lib = compile_text(STRIDED_COPY)
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (a.T, a[::2, 1::2], a[::-1], a[1:, 2:]):
        out = np.zeros(view.shape, np.float32)
        lib(view, out)
        np.testing.assert_array_equal(out, view)


def test_a_static_offset_counts_from_the_first_element_of_the_array(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<4xf32, strided<[1], offset: 3>>) -> f32 {
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%c1] : memref<4xf32, strided<[1], offset: 3>>
      func.return %x : f32
    }""")
    assert lib(np.array([5, 6, 7, 8], np.float32)) == 6


def test_views_share_their_bytes(compile_text) -> None:
    lib = compile_text(VIEWS)
    a = np.arange(48, dtype=np.float32).reshape(6, 8)
    assert lib(a, 2) == a[3, 5] + a[2, 2] + 48
    assert a[0, 0] == 1


def test_byte_views_give_other_types(compile_text) -> None:
    lib = compile_text("""func.func @main(%n: index) -> f32 {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %raw = memref.alloc() : memref<256xi8>
      %v = memref.view %raw[%c8][%n] : memref<256xi8> to memref<?x4xf32>
      %w = memref.view %raw[%c0][] : memref<256xi8> to memref<8xf32>
      %x = arith.constant 3.5 : f32
      memref.store %x, %v[%c0, %c0] : memref<?x4xf32>
      %two = arith.constant 2 : index
      %r = memref.load %w[%two] : memref<8xf32>
      memref.dealloc %raw : memref<256xi8>
      func.return %r : f32
    }""")
    assert lib(3) == 3.5


def test_dimensions_can_be_asked_by_a_computed_number(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<?x7x?xf32>, %d: index) -> index {
      %r = memref.dim %a, %d : memref<?x7x?xf32>
      func.return %r : index
    }""")
    a = np.zeros((3, 7, 5), np.float32)
    assert [lib(a, d) for d in range(3)] == [3, 7, 5]


def test_strided_metadata_is_what_the_buffer_has(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>) -> index {
      %b, %o, %s:2, %t:2 = "memref.extract_strided_metadata"(%a) :
        (memref<?x?xf32, strided<[?, 1], offset: ?>>) -> (memref<f32>, index, index, index, index, index)
      %k = arith.constant 100 : index
      %u = arith.muli %t#0, %k : index
      %v = arith.addi %s#1, %u : index
      func.return %v : index
    }""")
    assert lib(np.zeros((4, 6), np.float32)[:, 1:4]) == 3 + 600


@pytest.mark.parametrize("layout", ["", ", strided<[?, ?]>"])
def test_copies_move_every_element(compile_text, layout: str) -> None:
    kind = f"memref<?x?xi16{layout}>"
    lib = compile_text(f"""func.func @main(%a: {kind}, %b: memref<?x?xi16>) {{
      "memref.copy"(%a, %b) : ({kind}, memref<?x?xi16>) -> ()
      func.return
    }}""")
    a = np.arange(20, dtype=np.int16).reshape(4, 5)
    for source in (a, a[:0], a[:1]):
        out = np.zeros_like(source)
        lib(source, out)
        np.testing.assert_array_equal(out, source)


def test_new_buffers_are_aligned_and_separate(compile_text) -> None:
    lib = compile_text("""func.func @main(%n: index, %out: memref<4xindex>) {
      %a = memref.alloc(%n) : memref<?x3xf32>
      %b = memref.alloc() {alignment = 4096 : i64} : memref<0xf32>
      %c = memref.alloca() : memref<3xi8>
      %d = memref.alloca(%n) : memref<?xi8>
      %pa = "memref.extract_aligned_pointer_as_index"(%a) : (memref<?x3xf32>) -> index
      %pb = "memref.extract_aligned_pointer_as_index"(%b) : (memref<0xf32>) -> index
      %pc = "memref.extract_aligned_pointer_as_index"(%c) : (memref<3xi8>) -> index
      %pd = "memref.extract_aligned_pointer_as_index"(%d) : (memref<?xi8>) -> index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      memref.store %pa, %out[%c0] : memref<4xindex>
      memref.store %pb, %out[%c1] : memref<4xindex>
      memref.store %pc, %out[%c2] : memref<4xindex>
      memref.store %pd, %out[%c3] : memref<4xindex>
      memref.dealloc %a : memref<?x3xf32>
      memref.dealloc %b : memref<0xf32>
      func.return
    }""")
    out = np.zeros(4, np.int64)
    for n in (0, 1, 1000):
        lib(n, out)
        assert n == 0 or len(set(out)) == 4
        assert not (out % [64, 4096, 64, 64]).any()


@pytest.mark.parametrize("size", [2**62, 2**60, -1, -(2**63), 2**44])
def test_too_large_an_allocation_is_an_error(compile_text, size: int) -> None:
    lib = compile_text("""func.func @main(%n: index, %out: memref<1xf32>) {
      %a = memref.alloc(%n) : memref<?x100xf32>
      %c0 = arith.constant 0 : index
      %x = memref.load %out[%c0] : memref<1xf32>
      memref.store %x, %a[%c0, %c0] : memref<?x100xf32>
      %y = memref.load %a[%c0, %c0] : memref<?x100xf32>
      memref.store %y, %out[%c0] : memref<1xf32>
      %p = "memref.extract_aligned_pointer_as_index"(%a) : (memref<?x100xf32>) -> index
      %q = arith.index_cast %p : index to i64
      %h = llvm.inttoptr %q : i64 to !llvm.ptr
      func.call @time(%h) : (!llvm.ptr) -> i64
      memref.dealloc %a : memref<?x100xf32>
      func.return
    }
    func.func private @time(!llvm.ptr) -> i64""")
    with pytest.raises(ExecutionError, match="main: out of memory"):
        lib(size, np.zeros(1, np.float32))
    lib(1, np.zeros(1, np.float32))


def test_stack_buffers_in_a_long_loop_do_not_grow_the_stack(compile_text) -> None:
    lib = compile_text("""func.func @main(%n: index, %size: index) -> i64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i64
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (i64) {
        %a = memref.alloca(%size) : memref<?xi8>
        %p = "memref.extract_aligned_pointer_as_index"(%a) : (memref<?xi8>) -> index
        %q = arith.index_cast %p : index to i64
        %h = llvm.inttoptr %q : i64 to !llvm.ptr
        %t = func.call @time(%h) : (!llvm.ptr) -> i64
        %next = arith.addi %acc, %zero : i64
        scf.yield %next : i64
      }
      func.return %r : i64
    }
    func.func private @time(!llvm.ptr) -> i64""")
    assert lib(1000, 100_000) == 0


def test_globals_hold_their_values(compile_text) -> None:
    lib = compile_text("""
    "memref.global"() <{sym_name = "w", sym_visibility = "private", type = memref<2x3xf32>,
       initial_value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>, constant}> : () -> ()
    "memref.global"() <{sym_name = "s", sym_visibility = "private", type = memref<5xi8>,
       initial_value = dense<-7> : tensor<5xi8>, constant}> : () -> ()
    "memref.global"() <{sym_name = "m", sym_visibility = "private", type = memref<3xi1>,
       initial_value = dense<[true, false, true]> : tensor<3xi1>, constant}> : () -> ()
    "memref.global"() <{sym_name = "counter", sym_visibility = "private", type = memref<1xi32>,
       initial_value}> : () -> ()
    func.func @main(%i: index, %j: index, %out: memref<3xi32>) -> f32 {
      %w = memref.get_global @w : memref<2x3xf32>
      %s = memref.get_global @s : memref<5xi8>
      %m = memref.get_global @m : memref<3xi1>
      %r = memref.load %w[%i, %j] : memref<2x3xf32>
      %a = memref.load %s[%j] : memref<5xi8>
      %b = memref.load %m[%j] : memref<3xi1>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %ae = arith.extsi %a : i8 to i32
      %be = arith.extui %b : i1 to i32
      %one = arith.constant 1 : i32
      %c = memref.get_global @counter : memref<1xi32>
      %n = memref.load %c[%c0] : memref<1xi32>
      %n1 = arith.addi %n, %one : i32
      memref.store %n1, %c[%c0] : memref<1xi32>
      memref.store %ae, %out[%c0] : memref<3xi32>
      memref.store %be, %out[%c1] : memref<3xi32>
      memref.store %n1, %out[%c2] : memref<3xi32>
      func.return %r : f32
    }""")
    out = np.zeros(3, np.int32)
    assert lib(1, 2, out) == 6
    np.testing.assert_array_equal(out, [-7, 1, 1])
    assert lib(0, 1, out) == 2
    np.testing.assert_array_equal(out, [-7, 0, 2])


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64", "i64"])
def test_globals_of_every_width(compile_text, kind: str) -> None:
    value = "[1.5, -2.0]" if kind.endswith(("f16", "f64")) else "[3, -4]"
    lib = compile_text(f"""
    "memref.global"() <{{sym_name = "w", sym_visibility = "private", type = memref<2x{kind}>,
       initial_value = dense<{value}> : tensor<2x{kind}>, constant}}> : () -> ()
    func.func @main(%i: index) -> {kind} {{
      %w = memref.get_global @w : memref<2x{kind}>
      %r = memref.load %w[%i] : memref<2x{kind}>
      func.return %r : {kind}
    }}""")
    assert str([lib(0), lib(1)]) == value


def test_pointers_become_buffers(compile_text) -> None:
    lib = compile_text(
        POINTER
        + """
    func.func @null() -> !llvm.ptr {
      %z = llvm.mlir.zero : !llvm.ptr
      func.return %z : !llvm.ptr
    }
    func.func @address(%p: !llvm.ptr) -> i64 {
      %z = llvm.ptrtoint %p : !llvm.ptr to i64
      func.return %z : i64
    }"""
    )
    a = np.arange(8, dtype=np.float32)
    assert lib["main"](a.ctypes.data_as(ctypes.c_void_p), 3) == 3 + 2
    assert lib["null"]() == 0
    assert lib["address"](12345) == 12345


def test_addresses_are_computed_in_64_bits(compile_text) -> None:
    lib = compile_text(LARGE_ADDRESS)
    assert lib(0x100000, 60000, 5) == 0x100000 + 4 * (60000 * 70000 + 5)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%b = memref.alloc() : memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>", "strided layouts"),
        ("%b = memref.alloc() : memref<4xf32, strided<[2]>>", "must be contiguous"),
        ("memref.dealloc %a : memref<4xf32>", r"memref\.dealloc.*must come from an allocation"),
        ("%k = arith.constant 3 : index\n%d = memref.dim %a, %k : memref<4xf32>", "dimension 3 of a buffer of rank 1"),
        ('%u = "memref.cast"(%a) : (memref<4xf32>) -> memref<*xf32>', "cannot cast"),
        ("%z = builtin.unrealized_conversion_cast %a : memref<4xf32> to i64", "cannot turn memref<4xf32> into i64"),
    ],
)
def test_what_cannot_be_compiled_is_refused(compile_text, body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        compile_text(f"func.func @main(%a: memref<4xf32>) {{ {body}\n func.return }}")
