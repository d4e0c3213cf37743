"""Calls of functions of the module, of C symbols, and of Python functions."""

import ctypes
import itertools

import ml_dtypes
import numpy as np
import pytest

from stepwell.backends.runtime import register_func
from stepwell.core.errors import ExecutionError, LinkError, UnsupportedError

_names = (f"test.calls.{number}" for number in itertools.count())


def register(f) -> str:
    """Registers `f` under a fresh name."""
    name = next(_names)
    register_func(name, f)
    return name


def test_functions_of_the_module_call_each_other(compile_text) -> None:
    lib = compile_text("""
    func.func private @fib(%n: i32) -> i32 {
      %two = arith.constant 2 : i32
      %one = arith.constant 1 : i32
      %small = arith.cmpi slt, %n, %two : i32
      %r = scf.if %small -> (i32) {
        scf.yield %n : i32
      } else {
        %a = arith.subi %n, %one : i32
        %b = arith.subi %n, %two : i32
        %x = func.call @fib(%a) : (i32) -> i32
        %y = func.call @fib(%b) : (i32) -> i32
        %z = arith.addi %x, %y : i32
        scf.yield %z : i32
      }
      func.return %r : i32
    }
    func.func @main(%n: i32) -> i32 {
      %r = func.call @fib(%n) : (i32) -> i32
      func.return %r : i32
    }
    func.func @is_even(%n: i32) -> i1 {
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %b = arith.andi %n, %one : i32
      %r = arith.cmpi eq, %b, %zero : i32
      func.return %r : i1
    }
    func.func @next_even(%n: i32) -> i1 {
      %one = arith.constant 1 : i32
      %m = arith.addi %n, %one : i32
      %r = func.call @is_even(%m) : (i32) -> i1
      func.return %r : i1
    }""")
    assert lib["main"](15) == 610
    assert (lib["is_even"](3), lib["next_even"](3)) == (False, True)
    assert "fib" not in lib


@pytest.mark.parametrize("name", ["free", "exp", "main", "entry", 'a b"c', "llvm.exp.f32"])
def test_functions_may_be_called_like_anything(compile_text, name: str) -> None:
    quoted = name.replace('"', '\\"')
    lib = compile_text(f"""func.func @"{quoted}"(%x: f32) -> f32 {{
      %a = memref.alloc() : memref<4xf32>
      memref.dealloc %a : memref<4xf32>
      %y = math.exp %x : f32
      func.return %y : f32
    }}""")
    assert lib[name](0.0) == 1.0


def test_buffers_are_passed_on_with_their_open_sizes(compile_text) -> None:
    lib = compile_text("""
    func.func private @fill(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %a, %c0 : memref<?x?xf32, strided<[?, 1], offset: ?>>
      %m = memref.dim %a, %c1 : memref<?x?xf32, strided<[?, 1], offset: ?>>
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %m step %c1 {
          memref.store %x, %a[%i, %j] : memref<?x?xf32, strided<[?, 1], offset: ?>>
        }
      }
      func.return
    }
    func.func @main(%a: memref<?x?xf32>, %i: index, %n: index) {
      %x = arith.constant 1.0 : f32
      %s = memref.subview %a[%i, 1] [%n, %n] [1, 1] : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      func.call @fill(%s, %x) : (memref<?x?xf32, strided<[?, 1], offset: ?>>, f32) -> ()
      func.return
    }""")
    a, expected = np.zeros((5, 6), np.float32), np.zeros((5, 6), np.float32)
    lib(a, 2, 3)
    expected[2:5, 1:4] = 1
    np.testing.assert_array_equal(a, expected)


def test_c_symbols_of_the_process_are_called(compile_text) -> None:
    lib = compile_text("""
    func.func private @hypot(f64, f64) -> f64
    func.func private @abs(i32) -> i32
    func.func private @memset(!llvm.ptr, i32, i64) -> !llvm.ptr
    func.func private @strlen(memref<?xi8>) -> i64
    func.func @main(%a: memref<?xi8>, %x: f64, %y: f64, %i: i32, %n: i64) -> f64 {
      %h = func.call @hypot(%x, %y) : (f64, f64) -> f64
      %b = func.call @abs(%i) : (i32) -> i32
      %f = arith.sitofp %b : i32 to f64
      %p = builtin.unrealized_conversion_cast %a : memref<?xi8> to !llvm.ptr
      %q = func.call @memset(%p, %i, %n) : (!llvm.ptr, i32, i64) -> !llvm.ptr
      %l = func.call @strlen(%a) : (memref<?xi8>) -> i64
      %g = arith.sitofp %l : i64 to f64
      %s = arith.addf %h, %f : f64
      %r = arith.addf %s, %g : f64
      func.return %r : f64
    }""")
    a = np.zeros(8, np.int8)
    assert lib(a, 3.0, 4.0, -2, 5) == 5 + 2 + 5
    np.testing.assert_array_equal(a, [-2] * 5 + [0] * 3)


def test_small_integers_reach_c_with_their_sign(compile_text) -> None:
    seen: list = []

    def callback(*values):
        seen.extend(values)
        return values[0]

    signature = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_int8, ctypes.c_uint8, ctypes.c_int16, ctypes.c_bool)
    f = signature(callback)
    lib = compile_text(
        """
    "func.func"() <{sym_name = "f", sym_visibility = "private", function_type = (i8, i8, i16, i1) -> i8,
      arg_attrs = [{}, {stepwell.dtype = "uint8"}, {}, {}]}> ({}) : () -> ()
    func.func @main(%a: i8, %b: i8 {stepwell.dtype = "uint8"}, %c: i16, %d: i1) -> i8 {
      %r = func.call @f(%a, %b, %c, %d) : (i8, i8, i16, i1) -> i8
      func.return %r : i8
    }""",
        symbols={"f": ctypes.cast(f, ctypes.c_void_p).value},
    )
    assert lib(-3, 200, -30000, True) == -3
    assert seen == [-3, 200, -30000, True]
    assert "i8 @f(i8 signext, i8 zeroext, i16 signext, i1 zeroext)" in lib.source("llvm")


def test_half_floats_reach_c_as_half_floats(compile_text) -> None:
    lib = compile_text("""
    func.func private @unused(f16, bf16) -> f16
    func.func @main(%a: f16, %b: bf16) -> f16 {
      %r = func.call @unused(%a, %b) : (f16, bf16) -> f16
      func.return %r : f16
    }""", symbols={"unused": ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value})  # fmt: skip
    assert "half @unused(half, bfloat)" in lib.source("llvm")


def test_a_missing_c_symbol_is_named(compile_text) -> None:
    with pytest.raises(LinkError, match="'no_such_function' is in no library of this process"):
        compile_text("""
        func.func private @no_such_function(f32) -> f32
        func.func @main(%x: f32) -> f32 {
          %r = func.call @no_such_function(%x) : (f32) -> f32
          func.return %r : f32
        }""")


def test_a_declaration_that_is_not_called_needs_no_symbol(compile_text) -> None:
    lib = compile_text("func.func private @no_such_function(f32) -> f32\nfunc.func @main() { func.return }")
    assert lib() is None


def test_a_symbol_of_two_types_is_refused(compile_text) -> None:
    with pytest.raises(UnsupportedError, match="'free' is used with two types"):
        compile_text("""
        func.func private @free(i32) -> i32
        func.func @main(%x: i32) -> i32 {
          %a = memref.alloc() : memref<4xf32>
          memref.dealloc %a : memref<4xf32>
          %r = func.call @free(%x) : (i32) -> i32
          func.return %r : i32
        }""")


# Python


def test_packed_functions_get_arrays_and_numbers(compile_text) -> None:
    seen: list = []

    def packed(*arguments):
        a = arguments[0]
        seen.append((a.shape, a.strides, a.dtype, a.copy()))
        seen.extend(arguments[1:])
        a[...] = 7
        return 42

    name = register(packed)
    lib = compile_text(f"""
    "func.func"() <{{sym_name = "p", sym_visibility = "private",
      function_type = (memref<?x2xf32, strided<[8, 1], offset: ?>>, i32, f64, i1, i8, !llvm.ptr, index) -> i64,
      arg_attrs = [{{}}, {{}}, {{}}, {{}}, {{stepwell.dtype = "uint8"}}, {{}}, {{}}]}}> ({{}})
      {{stepwell.packed = "{name}"}} : () -> ()
    func.func @main(%a: memref<4x8xf32>, %i: index, %n: i32, %x: f64, %b: i1, %u: i8, %h: !llvm.ptr) -> i64 {{
      %s = memref.subview %a[%i, 1] [%i, 2] [1, 1] : memref<4x8xf32> to memref<?x2xf32, strided<[8, 1], offset: ?>>
      %r = func.call @p(%s, %n, %x, %b, %u, %h, %i)
        : (memref<?x2xf32, strided<[8, 1], offset: ?>>, i32, f64, i1, i8, !llvm.ptr, index) -> i64
      func.return %r : i64
    }}""")
    a = np.arange(32, dtype=np.float32).reshape(4, 8)
    before = a.copy()
    assert lib(a, 2, -5, 2.5, True, -1, 99) == 42
    shape, strides, dtype, contents = seen[0]
    assert (shape, strides, dtype) == ((2, 2), (32, 4), np.float32)
    np.testing.assert_array_equal(contents, before[2:4, 1:3])
    assert seen[1:] == [-5, 2.5, True, 255, 99, 2]
    assert [type(v) for v in seen[1:]] == [int, float, bool, int, int, int]
    before[2:4, 1:3] = 7
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("kind", ["f16", "bf16", "i1", "i8"])
def test_packed_functions_get_every_element_type(compile_text, kind: str) -> None:
    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_, "i8": np.int8}[kind]

    def packed(a, x):
        assert a.dtype == dtype
        a[0] = x
        return x

    lib = compile_text(f"""
    func.func private @p(memref<2x{kind}>, {kind}) -> {kind} attributes {{stepwell.packed = "{register(packed)}"}}
    func.func @main(%a: memref<2x{kind}>, %x: {kind}) -> {kind} {{
      %r = func.call @p(%a, %x) : (memref<2x{kind}>, {kind}) -> {kind}
      func.return %r : {kind}
    }}""")
    a = np.zeros(2, dtype)
    assert lib(a, 1) == 1
    assert a[0] == 1


def packed_program(name: str, result: str = "i8") -> str:
    return f"""
    func.func private @p(f32) -> {result} attributes {{stepwell.packed = "{name}"}}
    func.func @main(%x: f32) -> {result} {{
      %r = func.call @p(%x) : (f32) -> {result}
      func.return %r : {result}
    }}"""


def test_exceptions_of_packed_functions_come_out(compile_text) -> None:
    def packed(x):
        raise KeyError("inside")

    lib = compile_text(packed_program(register(packed)))
    with pytest.raises(ExecutionError, match=r"packed function 'test\.calls\.\d+' failed: KeyError: 'inside'") as info:
        lib(1.0)
    assert isinstance(info.value.__cause__, KeyError)
    assert any("packed" in str(entry.name) for entry in info.traceback)


def test_interrupts_in_packed_functions_stay_interrupts(compile_text) -> None:
    def packed(x):
        raise KeyboardInterrupt

    lib = compile_text(packed_program(register(packed)))
    with pytest.raises(KeyboardInterrupt):
        lib(1.0)


def test_unregistered_packed_functions_are_named_at_the_call(compile_text) -> None:
    lib = compile_text(packed_program("test.calls.nobody"))
    with pytest.raises(LinkError, match=r"packed function 'test\.calls\.nobody' is not registered"):
        lib(1.0)
    register_func("test.calls.nobody", lambda x: 3, override=True)
    assert lib(1.0) == 3


@pytest.mark.parametrize(("kind", "value"), [("i8", 128), ("i8", "x"), ("i8", None), ("f32", "x"), ("i1", 2)])
def test_results_of_packed_functions_are_checked(compile_text, kind: str, value: object) -> None:
    lib = compile_text(packed_program(register(lambda x: value), kind))
    with pytest.raises(ExecutionError, match="expected a result of type"):
        lib(1.0)


def test_failing_packed_functions_free_the_callers_memory(compile_text) -> None:
    def packed(a):
        raise ValueError

    lib = compile_text(f"""
    func.func private @p(memref<?xf32>) attributes {{stepwell.packed = "{register(packed)}"}}
    func.func @main(%n: index) {{
      %a = memref.alloc(%n) : memref<?xf32>
      func.call @p(%a) : (memref<?xf32>) -> ()
      memref.dealloc %a : memref<?xf32>
      func.return
    }}""")

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks "
                    "fordblks keepcost".split()]  # fmt: skip

    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Info

    def used() -> int:
        info = mallinfo()
        return info.uordblks + info.hblkhd

    def call() -> None:
        with pytest.raises(ExecutionError):
            lib(100_000)

    call()
    before = used()
    for _ in range(100):
        call()
    assert used() - before < 100_000 * 4 * 10


def test_packed_functions_may_call_compiled_ones(compile_text) -> None:
    inner = compile_text(packed_program(register(lambda x: 5 if x > 0 else 1 / 0)))
    outer = compile_text(packed_program(register(lambda x: inner(x) + 1)))
    assert outer(1.0) == 6
    with pytest.raises(ExecutionError, match="ZeroDivisionError"):
        outer(-1.0)
