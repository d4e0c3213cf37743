"""Arrays of other libraries, through DLPack."""

import ctypes
import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stepwell
from stepwell.backends.runtime import dlpack
from stepwell.backends.runtime.dlpack import ManagedTensor, _UnversionedTensor, from_dlpack
from stepwell.backends.runtime.exchange import exchange_of
from stepwell.core.errors import ArgumentError
from stepwell.tools.testing.tensors import ExchangeTensor, count_exported

CODES = {"i": 0, "u": 1, "f": 2, "b": 6, "V": 4}


_capsules: list["Tensor"] = []  # a capsule refers to its producer, which must outlive it


class Tensor:
    """A producer of DLPack capsules with freely chosen fields. `deleted` counts calls of the deleter."""

    def __init__(
        self,
        array: np.ndarray,
        *,
        versioned: bool = True,
        device: int = 1,
        flags: int = 0,
        major: int = 1,
        code: int | None = None,
        lanes: int = 1,
        bits: int | None = None,
        strides: bool = True,
        name: bytes | None = None,
    ) -> None:
        self.array, self.versioned, self.device, self.flags, self.major = array, versioned, device, flags, major
        self.code, self.lanes, self.strides, self.name = code, lanes, strides, name
        self.bits = 8 * array.itemsize if bits is None else bits
        self.deleted = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self, **options):
        if not self.versioned and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        array = self.array
        managed = ManagedTensor() if self.versioned else _UnversionedTensor()
        if isinstance(managed, ManagedTensor):
            managed.major, managed.flags = self.major, self.flags
        tensor = managed.tensor
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.steps = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
        tensor.data, tensor.byte_offset = array.ctypes.data - 64, 64
        tensor.device_type, tensor.ndim = self.device, array.ndim
        tensor.code = CODES[array.dtype.kind] if self.code is None else self.code
        tensor.bits, tensor.lanes = self.bits, self.lanes
        tensor.shape = self.shape
        if self.strides:
            tensor.strides = self.steps
        self.managed = managed
        return self._capsule(self.name or (b"dltensor_versioned" if self.versioned else b"dltensor"))

    def _capsule(self, name: bytes):
        _capsules.append(self)

        def destroy(_: int) -> None:
            self.deleted += 1

        self.name_kept = ctypes.c_char_p(name)
        self.destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroy)
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ("PyCapsule_New", ctypes.pythonapi)
        )
        return new(ctypes.addressof(self.managed), self.name_kept, ctypes.cast(self.destructor, ctypes.c_void_p))


DTYPES = [np.bool_, np.int8, np.uint16, np.int64, np.float16, np.float32, np.float64, ml_dtypes.bfloat16]


FLOAT8 = ["e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"]


@pytest.mark.parametrize(("code", "name"), list(enumerate(FLOAT8, 7)))
def test_float8_has_a_code_for_each_type(code: int, name: str) -> None:
    array = np.array([1, 2, 4]).astype(getattr(ml_dtypes, f"float8_{name}"))
    seen = from_dlpack(Tensor(array, code=code))
    assert seen.dtype == array.dtype
    np.testing.assert_array_equal(seen, array)


def test_what_is_packed_is_refused() -> None:
    for code, bits in ((0, 4), (1, 2), (15, 6), (17, 4)):
        with pytest.raises(ArgumentError, match=f"type code {code}, {bits} bits, 1 lanes"):
            from_dlpack(Tensor(np.zeros(3, np.uint8), code=code, bits=bits))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("versioned", [True, False])
def test_tensors_share_their_memory(dtype, versioned: bool) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    seen = from_dlpack(Tensor(array, versioned=versioned))
    assert (seen.shape, seen.strides, seen.dtype) == (array.shape, array.strides, array.dtype)
    seen[1, 2] = 1
    assert array[1, 2] == 1
    np.testing.assert_array_equal(seen, array)


def test_strides_may_be_left_out_and_be_any() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(from_dlpack(Tensor(array, strides=False)), array)
    np.testing.assert_array_equal(from_dlpack(Tensor(array.T)), array.T)
    assert from_dlpack(Tensor(np.zeros((0, 3), np.int32))).shape == (0, 3)
    assert from_dlpack(Tensor(np.array(5, np.int32))) == 5


def test_the_memory_lives_as_long_as_the_array() -> None:
    tensor = Tensor(np.arange(6, dtype=np.int32))
    seen = from_dlpack(tensor)
    part = seen[2:]
    del seen
    gc.collect()
    assert tensor.deleted == 0
    del part
    gc.collect()
    assert tensor.deleted == 1


def test_read_only_tensors_make_read_only_arrays() -> None:
    assert not from_dlpack(Tensor(np.zeros(3, np.int32), flags=1)).flags.writeable
    assert from_dlpack(Tensor(np.zeros(3, np.int32))).flags.writeable


def test_tensors_that_cannot_be_shown_are_refused() -> None:
    array = np.zeros(3, np.float32)
    with pytest.raises(ArgumentError, match="expected an array in CPU memory, got one on CUDA"):
        from_dlpack(Tensor(array, device=2))
    with pytest.raises(ArgumentError, match="type code 5, 32 bits, 1 lanes"):
        from_dlpack(Tensor(array, code=5))
    with pytest.raises(ArgumentError, match="type code 2, 32 bits, 4 lanes"):
        from_dlpack(Tensor(array, lanes=4))
    with pytest.raises(ArgumentError, match="expected DLPack version 1, got 2"):
        from_dlpack(Tensor(array, major=2))
    with pytest.raises(ArgumentError, match="a DLPack capsule, got one called b'used_dltensor'"):
        from_dlpack(Tensor(array, name=b"used_dltensor"))


def test_what_a_producer_raises_is_chained(compile_text) -> None:
    class Refusing:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            raise BufferError("requires grad")

    lib = compile_text('func.func @main(%a: memref<3xf32> {stepwell.name = "A"}) { func.return }')
    message = "main: argument A: Refusing cannot be exported through DLPack: requires grad"
    with pytest.raises(ArgumentError, match=message) as info:
        lib(Refusing())
    assert isinstance(info.value.__cause__, BufferError)


class Producer:
    """A producer whose methods return or raise any value."""

    def __init__(self, device: object, capsule: object = None) -> None:
        self.device, self.capsule = device, capsule

    def __dlpack_device__(self) -> object:
        return self._answer(self.device)

    def __dlpack__(self, **options: object) -> object:
        return self._answer(self.capsule)

    def _answer(self, value: object) -> object:
        if isinstance(value, Exception):
            raise value
        return value


@pytest.mark.parametrize(
    ("producer", "message"),
    [
        (Producer(1), "expected two integers from __dlpack_device__ of Producer, got 1"),
        (Producer([1, 0]), r"expected two integers from __dlpack_device__ of Producer, got \[1, 0\]"),
        (Producer((1,)), r"expected two integers from __dlpack_device__ of Producer, got \(1,\)"),
        (Producer(("cpu", 0)), r"expected two integers from __dlpack_device__ of Producer, got \('cpu', 0\)"),
        (Producer(KeyError("x")), "Producer cannot be exported through DLPack: KeyError: 'x'"),
        (Producer((1, 0), KeyError("x")), "Producer cannot be exported through DLPack: KeyError: 'x'"),
        (Producer((1, 0), 5), "expected a DLPack capsule, got int"),
        (Producer((1, 0), None), "expected a DLPack capsule, got NoneType"),
    ],
)
@pytest.mark.parametrize("target", ["llvm", "python"])
def test_what_a_producer_does_wrong_is_an_error_of_its_argument(producer: Producer, message: str, target: str) -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((3,), "float32")):\n    A[0] = 1'
    with pytest.raises(ArgumentError, match=f"main: argument A: {message}"):
        stepwell.build(stepwell.parse_tvmscript(text), target=target)(producer)
    with pytest.raises(ArgumentError, match=message):
        stepwell.nd.from_dlpack(producer)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensor: setattr(tensor, "ndim", -1), r"expected a shape of -1 sizes, got \(\)"),
        (lambda tensor: setattr(tensor, "shape", None), r"expected a shape of 1 sizes, got \(\)"),
        (lambda tensor: tensor.shape.__setitem__(0, -3), r"expected a shape of 1 sizes, got \(-3,\)"),
        (lambda tensor: setattr(tensor, "data", None), r"expected memory for shape \(3,\), got none"),
    ],
)
def test_capsules_with_impossible_tensors_are_refused(change: Any, message: str) -> None:
    producer = Tensor(np.zeros(3, np.float32))
    capsule = producer.__dlpack__(max_version=(1, 0))
    address = dlpack._get_pointer(capsule, dlpack._get_name(capsule))
    change(ManagedTensor.from_address(address).tensor)
    with pytest.raises(ArgumentError, match=message):
        dlpack.read_dlpack(Producer((1, 0), capsule))


def test_compiled_functions_write_into_tensors(compile_text) -> None:
    lib = compile_text("""func.func @main(%a: memref<3xbf16> {stepwell.name = "A"}) {
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.5 : bf16
      memref.store %x, %a[%c0] : memref<3xbf16>
      func.return
    }""")
    array = np.zeros(3, ml_dtypes.bfloat16)
    lib(Tensor(array))
    assert array[0] == 1.5
    with pytest.raises(ArgumentError, match="argument A: expected a writeable array, got a read-only one"):
        lib(Tensor(array, flags=1))
    with pytest.raises(ArgumentError, match="argument A: expected an array in CPU memory, got one on CUDA"):
        lib(Tensor(array, device=2))
    with pytest.raises(ArgumentError, match="argument A: expected elements of type bfloat16, got int16"):
        lib(Tensor(array.view(np.int16)))


@pytest.mark.parametrize("written", [False, True])
def test_native_calls_read_tensors_through_the_table_of_functions(written: bool) -> None:
    text = "@T.prim_func\ndef main(A: T.Buffer((3,), 'float32'), B: T.Buffer((3,), 'float32')):\n"
    text += "    for i in range(3):\n        B[i] = A[i] * T.float32(2)\n"
    main = stepwell.build(stepwell.parse_tvmscript(text))["main"]
    source, target = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    first, second = ExchangeTensor(source), ExchangeTensor(target) if written else target
    main(first, second)
    before = first.calls["export"]
    for _ in range(3):
        target[:] = 0
        main(first, second)
        np.testing.assert_array_equal(target, 2 * source)
    assert first.calls == {"describe": first.calls["describe"], "export": before, "__dlpack__": 0}
    assert first.calls["describe"] >= 3
    assert count_exported() == 0


def test_a_read_only_tensor_is_not_written() -> None:
    text = "@T.prim_func\ndef main(A: T.Buffer((3,), 'float32')):\n    A[0] = T.float32(1)\n"
    main = stepwell.build(stepwell.parse_tvmscript(text))["main"]
    array = np.zeros(3, np.float32)
    main(ExchangeTensor(array))
    assert array[0] == 1
    array[0] = 0
    array.flags.writeable = False
    with pytest.raises(ArgumentError, match="expected a writeable array, got a read-only one"):
        main(ExchangeTensor(array))
    assert array[0] == 0


def test_a_type_with_a_dlpack_of_its_own_does_not_inherit_the_table() -> None:
    class Own(ExchangeTensor):
        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__()

    assert exchange_of(ExchangeTensor) is not None
    assert exchange_of(type("Inherits", (ExchangeTensor,), {})) == exchange_of(ExchangeTensor)
    assert exchange_of(Own) is None
    assert exchange_of(type("Wrong", (), {"__dlpack_c_exchange_api__": 3})) is None
    assert from_dlpack(Own(np.ones(2, np.float32))).sum() == 2
