"""Arguments of compiled functions: accepted arguments, and the message for each rejected argument."""

# pyright: reportInvalidTypeForm=false

import ctypes
import math

import ml_dtypes
import numpy as np
import pytest

import stepwell
from stepwell.core.errors import ArgumentError, StepwellError
from stepwell.script import ir as I
from stepwell.script import tir as T

F32 = np.float32


@pytest.fixture(scope="module")
def add(compile_text):
    """B[i] += A[i] for 4 elements, C of any even length."""
    return compile_text("""
    func.func @main(%a: memref<4xf32> {stepwell.name = "A"}, %b: memref<4xf32> {stepwell.name = "B"},
                    %c: memref<?x2xi32> {stepwell.name = "C"}) attributes {stepwell.noalias} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %x = memref.load %a[%i] : memref<4xf32>
        %y = memref.load %b[%i] : memref<4xf32>
        %z = arith.addf %x, %y : f32
        memref.store %z, %b[%i] : memref<4xf32>
      }
      %n = memref.dim %c, %c0 : memref<?x2xi32>
      %m = arith.index_cast %n : index to i32
      scf.for %i = %c0 to %n step %c1 {
        memref.store %m, %c[%i, %c1] : memref<?x2xi32>
      }
      func.return
    }""")


def arguments() -> list:
    return [np.ones(4, F32), np.ones(4, F32), np.zeros((3, 2), np.int32)]


def test_right_arguments_are_written_in_place(add) -> None:
    a, b, c = arguments()
    assert add(a, b, c) is None
    np.testing.assert_array_equal(b, [2] * 4)
    np.testing.assert_array_equal(c, [[0, 3]] * 3)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def misaligned() -> np.ndarray:
    return np.zeros(17, np.uint8)[1:].view(F32)


WRONG = {
    "type": (0, np.ones(4), r"main: argument A: expected elements of type float32, got float64"),
    "byte order": (0, np.ones(4, ">f4"), r"argument A: expected elements of type float32, got >f4"),
    "rank": (0, np.ones((4, 1), F32), r"argument A: expected 1 dimensions, shape \(4,\), got 2 dimensions, "
                                      r"shape \(4, 1\)"),
    "size": (1, np.ones(5, F32), r"argument B: expected shape \(4,\), got \(5,\)"),
    "open size": (2, np.zeros((3, 3), np.int32), r"argument C: expected shape \(\?, 2\), got \(3, 3\)"),
    "open rank": (2, np.zeros(3, np.int32), r"argument C: expected 2 dimensions, shape \(\?, 2\), got 1 dimensions"),
    "stride": (0, np.ones(8, F32)[::2], r"argument A: expected a C-contiguous array, got strides \(8,\) \(bytes\)"),
    "order": (2, np.zeros((2, 3), np.int32).T, r"argument C: expected a C-contiguous array"),
    "alignment": (0, misaligned(), r"argument A: expected elements aligned to 4 bytes, got an address 1 past one"),
    "read-only": (1, read_only(np.ones(4, F32)), r"argument B: expected a writeable array, got a read-only one"),
    "list": (0, [1, 2, 3, 4], r"argument A: expected an array of float32, got list"),
    "number": (0, 1.5, r"argument A: expected an array of float32, got float 1\.5"),
    "none": (2, None, r"argument C: expected an array of int32, got NoneType None"),
    "scalar of numpy": (0, F32(1), r"argument A: expected an array of float32, got float32\[\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arrays_are_refused_before_anything_runs(add, case: str) -> None:
    position, value, message = WRONG[case]
    values = arguments()
    before = [v.copy() for v in values]
    values[position] = value
    with pytest.raises(ArgumentError, match=message):
        add(*values)
    for index, (now, was) in enumerate(zip(values, before, strict=True)):
        if index != position:
            np.testing.assert_array_equal(now, was)


def test_errors_are_ours_and_value_errors() -> None:
    assert issubclass(ArgumentError, StepwellError)
    assert issubclass(ArgumentError, ValueError)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_the_number_of_arguments_is_checked(add, count: int) -> None:
    with pytest.raises(ArgumentError, match=rf"main: expected 3 arguments \(A, B, C\), got {count}"):
        add(*[np.ones(4, F32)] * count)


def test_read_only_arrays_may_be_read(add) -> None:
    a, b, c = arguments()
    add(read_only(a), b, c)
    np.testing.assert_array_equal(b, [2] * 4)


def test_read_only_arrays_may_be_read_through_pointers() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def double(a: T.handle("float32"), B: T.Buffer((4,), "float32")):
            A = T.decl_buffer((4,), data=a)
            for i in range(4):
                B[i] = A[i] * T.float32(2)

        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            Module.double(T.address_of(A[0]), B.data)

    program = stepwell.build(Module)
    result = np.zeros(4, F32)
    program["main"](read_only(np.arange(4, dtype=F32)), result)
    np.testing.assert_array_equal(result, [0, 2, 4, 6])
    with pytest.raises(ArgumentError, match="argument B: expected a writeable array"):
        program["main"](result, read_only(np.zeros(4, F32)))


def test_written_buffers_must_not_overlap_others(add) -> None:
    memory = np.ones(12, F32)
    c = np.zeros((3, 2), np.int32)
    for a, b in ((memory[:4], memory[:4]), (memory[:4], memory[3:7]), (memory[5:9], memory[4:8])):
        with pytest.raises(ArgumentError, match="main: arguments A and B must not overlap"):
            add(a, b, c)
    add(memory[:4], memory[4:8], c)
    with pytest.raises(ArgumentError, match="main: arguments B and C must not overlap"):
        add(memory[:4], memory[4:8], memory[4:10].view(np.int32).reshape(3, 2))


def test_buffers_that_are_only_read_may_overlap(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<2xf32>, %b: memref<2xf32>, %c: memref<2xf32>)
      attributes {stepwell.noalias} {
      %c0 = arith.constant 0 : index
      %x = memref.load %a[%c0] : memref<2xf32>
      %y = memref.load %b[%c0] : memref<2xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %c[%c0] : memref<2xf32>
      func.return
    }""")
    a, c = np.ones(2, F32), np.zeros(2, F32)
    lib(a, a, c)
    assert c[0] == 2


def test_overlap_is_allowed_where_nothing_else_is_promised(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<2xf32>, %b: memref<2xf32>) {
      "memref.copy"(%a, %b) : (memref<2xf32>, memref<2xf32>) -> ()
      func.return
    }""")
    a = np.array([1, 2, 3], F32)
    lib(a[:2], a[1:])
    np.testing.assert_array_equal(a, [1, 1, 2])


def test_strided_buffers_overlap_only_if_they_share_bytes(compile_text) -> None:
    kind = "memref<?xf32, strided<[?], offset: ?>>"
    lib = compile_text(f"""func.func @main(%a: {kind}, %b: {kind}) attributes {{stepwell.noalias}} {{
      "memref.copy"(%a, %b) : ({kind}, {kind}) -> ()
      func.return
    }}""")
    a = np.arange(6, dtype=F32)
    lib(a[::2], a[1::2])
    np.testing.assert_array_equal(a, [0, 0, 2, 2, 4, 4])
    with pytest.raises(ArgumentError, match="must not overlap"):
        lib(a[::2], a[2::-1])


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (5, 2)])
def test_any_number_of_rows_is_taken_none_included(add, shape) -> None:
    a, b, _ = arguments()
    c = np.zeros(shape, np.int32)
    add(a, b, c)
    assert (c[:, 1] == shape[0]).all()
    empty = np.zeros((0, 2, 7), np.int32)[:, :, 0]
    add(a, b, empty)


def test_strides_that_the_type_fixes_are_checked(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<?x4xf32, strided<[?, 2]>> {stepwell.name = "A"}) -> f32 {
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%c1, %c1] : memref<?x4xf32, strided<[?, 2]>>
      func.return %x : f32
    }""")
    memory = np.arange(64, dtype=F32).reshape(4, 16)
    assert lib(memory[:, 1:9:2]) == 19
    with pytest.raises(ArgumentError, match=r"argument A: expected stride 1 to be 2 elements, got 4 bytes"):
        lib(memory[:, :4])
    packed = np.zeros((4, 4), np.dtype([("x", "f4"), ("y", "f4"), ("z", "u1")]))["x"]
    with pytest.raises(ArgumentError, match=r"aligned|2 elements"):
        lib(packed)


def test_dimensions_of_one_element_may_have_any_stride(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<1x3xf32, strided<[3, 1]>>, %b: memref<1x3xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%c0, %c1] : memref<1x3xf32, strided<[3, 1]>>
      func.return %x : f32
    }""")
    a = np.lib.stride_tricks.as_strided(np.arange(3, dtype=F32), (1, 3), (400, 4))
    assert lib(a, a) == 1


# scalars


@pytest.fixture(scope="module")
def identity(compile_text):
    """identity(kind, dtype) returns its argument."""

    def make(kind: str, dtype: str):
        return compile_text(f"""func.func @main(%x: {kind} {{stepwell.name = "x", stepwell.dtype = "{dtype}"}})
          -> ({kind} {{stepwell.dtype = "{dtype}"}}) {{
          func.return %x : {kind}
        }}""")

    return make


INTEGERS = [(f"i{b}", f"{u}int{b}") for b in (8, 16, 32, 64) for u in ("", "u")]


@pytest.mark.parametrize(("kind", "dtype"), [*INTEGERS, ("index", "int64")])
def test_integers_are_taken_in_their_range(identity, kind: str, dtype: str) -> None:
    f = identity(kind, dtype)
    info = np.iinfo(dtype)
    for value in (0, 1, info.min, info.max):
        for given in (int(value), np.dtype(dtype).type(value), np.array(value, dtype)):
            assert f(given) == value
            assert type(f(given)) is int
    assert f(True) == 1
    assert f(np.True_) == 1
    for value in (info.min - 1, info.max + 1, 2**100):
        with pytest.raises(ArgumentError, match=rf"argument x: expected {dtype}, from {info.min} to {info.max}"):
            f(value)
    for wrong in (1.0, "1", None, [1], np.ones(2, dtype), np.float32(1)):
        with pytest.raises(ArgumentError, match=f"argument x: expected {dtype}, got"):
            f(wrong)


def test_booleans(identity) -> None:
    f = identity("i1", "bool")
    for value in (True, False, 1, 0, np.True_, np.False_):
        assert f(value) is bool(value)
    with pytest.raises(ArgumentError, match="expected bool, from 0 to 1, got 2"):
        f(2)


@pytest.mark.parametrize(
    ("kind", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", F32), ("f64", np.float64)]
)
def test_floats_are_rounded_to_the_type_but_must_fit(identity, kind: str, dtype) -> None:
    name = np.dtype(dtype).name
    f = identity(kind, name)
    for value in (0.0, -0.0, 1, True, 0.1, -3.7, math.inf, -math.inf, np.float32(2.5), np.int8(3), np.array(1.5)):
        assert f(value) == float(np.array(float(value)).astype(dtype))
        assert type(f(value)) is float
    assert math.isnan(f(math.nan))
    assert f(ml_dtypes.bfloat16(1.5)) == 1.5
    assert f(dtype(1.5)) == 1.5
    for large in (1e300,) if kind != "f64" else ():
        with pytest.raises(ArgumentError, match=rf"expected {name}, got 1e\+300, which is out of its range"):
            f(large)
    with pytest.raises(ArgumentError, match="out of its range"):
        f(10**400)
    for wrong in ("1", None, 1j, np.complex64(1), [1.0], np.ones(1)):
        with pytest.raises(ArgumentError, match=f"argument x: expected {name}, got"):
            f(wrong)


# handles


@pytest.fixture(scope="module")
def address(compile_text):
    return compile_text("""func.func @main(%h: !llvm.ptr {stepwell.name = "h"}) -> !llvm.ptr {
      func.return %h : !llvm.ptr
    }""")


def test_addresses_come_as_numbers_and_ctypes_pointers(address) -> None:
    array = (ctypes.c_int * 3)(1, 2, 3)
    here = ctypes.addressof(array)
    for value in (here, ctypes.c_void_p(here), ctypes.pointer(array), array,
                  ctypes.cast(array, ctypes.POINTER(ctypes.c_int)), np.uint64(here)):  # fmt: skip
        assert address(value) == here
    assert address(None) == 0
    assert address(ctypes.c_void_p(None)) == 0
    assert address(2**64 - 1) == 2**64 - 1
    function = ctypes.CFUNCTYPE(None)(lambda: None)
    assert address(function) == ctypes.cast(function, ctypes.c_void_p).value


def test_other_addresses_are_refused(address) -> None:
    for wrong in ("x", 1.5, np.zeros(2), object()):
        with pytest.raises(ArgumentError, match=r"argument h: expected an address \(int or ctypes pointer\), got"):
            address(wrong)
    with pytest.raises(ArgumentError, match="from 0 to"):
        address(-1)


# half floats and booleans as arrays


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("bf16", ml_dtypes.bfloat16),
        ("f16", np.float16),
        ("i1", np.bool_),
        ("f8E5M2", ml_dtypes.float8_e5m2),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
        ("f4E2M1FN", ml_dtypes.float4_e2m1fn),
        ("i4", ml_dtypes.int4),
    ],
)
def test_arrays_of_special_types(compile_text, kind: str, dtype) -> None:
    lib = compile_text(f"""func.func @main(%a: memref<?x{kind}> {{stepwell.name = "A"}}, %b: memref<?x{kind}>) {{
      "memref.copy"(%a, %b) : (memref<?x{kind}>, memref<?x{kind}>) -> ()
      func.return
    }}""")
    a, b = np.array([0, 1, 1]).astype(dtype), np.zeros(3, dtype)
    lib(a, b)
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ArgumentError, match="expected elements of type"):
        lib(np.zeros(3, np.int16 if kind != "i1" else np.uint8), b)
    if kind == "bf16":  # the bits, as numbers of numpy
        lib(np.array([0x3F80, 0x4000, 0], np.uint16), b.view(np.uint16))
        np.testing.assert_array_equal(b, np.array([1, 2, 0], dtype))


def test_subclasses_of_arrays_are_taken_as_arrays(add) -> None:
    a, b, c = arguments()
    add(a.view(np.recarray), b, c)
    np.testing.assert_array_equal(b, [2] * 4)


# Arguments of any kind


class Raising:
    """A number or array whose methods raise an error that is none of conversions."""

    def __index__(self) -> int:
        raise KeyError("index")

    @property
    def __dlpack__(self) -> object:
        raise KeyError("dlpack")


class RaisingFloat(float):
    def __float__(self) -> float:
        raise KeyError("float")


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_errors_of_the_methods_of_an_argument_name_it(target: str) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((3,), "float32"), n: T.int32, x: T.float32, p: T.handle):
    A[0] = x
"""
    main = stepwell.build(stepwell.parse_tvmscript(text), target=target)
    array = np.zeros(3, np.float32)
    wrong = {
        "A: KeyError: 'dlpack'": (Raising(), 1, 1.0, None),
        "n: KeyError: 'index'": (array, Raising(), 1.0, None),
        "x: KeyError: 'float'": (array, 1, RaisingFloat(), None),
        "p: KeyError: 'index'": (array, 1, 1.0, Raising()),
    }
    for message, arguments in wrong.items():
        with pytest.raises(ArgumentError, match=f"main: argument {message}") as info:
            main(*arguments)
        assert isinstance(info.value.__cause__, KeyError)


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_arguments_by_name_are_refused(target: str) -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((3,), "float32"), n: T.int32):\n    A[0] = 1'
    program = stepwell.build(stepwell.parse_tvmscript(text), target=target)
    array = np.zeros(3, np.float32)
    message = r"main: argument n is passed by name, expected 2 arguments by position \(A, n\)"
    for call in (program, program["main"]):
        with pytest.raises(ArgumentError, match=message):
            call(array, n=1)
    if target == "llvm":
        with pytest.raises(ArgumentError, match=message):
            program["main"].bind(array, n=1)
        with pytest.raises(ArgumentError, match=message):
            program["main"].time_evaluator()(array, n=1)


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_masks_are_refused(target: str) -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((3,), "float32"), n: T.int32, x: T.float32):\n    A[0] = 1'
    main = stepwell.build(stepwell.parse_tvmscript(text), target=target)
    array = np.zeros(3, np.float32)
    for mask in ([False, True, False], False):
        with pytest.raises(ArgumentError, match="main: argument A: expected an array without a mask, got a masked"):
            main(np.ma.masked_array(array, mask), 1, 1.0)
    with pytest.raises(ArgumentError, match="main: argument n: expected int32, got a masked array"):
        main(array, np.ma.masked_array(1, True), 1.0)
    with pytest.raises(ArgumentError, match="main: argument x: expected float32, got a masked array"):
        main(array, 1, np.ma.masked)
