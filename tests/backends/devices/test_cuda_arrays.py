"""Arrays with `__cuda_array_interface__`, streams of others, modules of PyCUDA. cuda(0) is emulated."""

import sys
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell import ArgumentError, DeviceError, PluginError, UnsupportedError, nd, parse_tvmscript
from stepwell.backends.cuda import build as cuda_build
from stepwell.backends.cuda.emulated_driver import EmulatedDriver
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.cuda.nvrtc import CompiledCuda
from stepwell.backends.cuda.program import DeviceProgram
from stepwell.backends.devices.cuda_array import CudaArray, read_cuda_array, write_cuda_array
from stepwell.core.target import Target

devices = import_module("stepwell.backends.devices.device")  # the package has a function of the same name
TEXT = """
@T.prim_func
def {name}(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        B[tx] = A[tx] + T.float32(1)
"""
VALUES = np.arange(8, dtype="float32")


class Exporter:
    """An array of a CUDA library without DLPack. changes: entries of its interface."""

    def __init__(self, array: nd.NDArray, **changes: Any) -> None:
        self.array = array
        layout = array.layout
        self.__cuda_array_interface__: Any = {
            "shape": layout.shape,
            "typestr": layout.dtype.str,
            "data": (layout.ctypes.data if layout.size else 0, False),
            "strides": layout.strides,
            "stream": None,
            "version": 3,
            **changes,
        }


class Driver(EmulatedDriver):
    """The emulated driver as that of a GPU, which records the streams that wait. foreign: addresses of no device."""

    kind = "cuda"
    architecture = "sm_90"

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[tuple[int, int]] = []
        self.recorded: dict[int, int] = {}
        self.foreign: set[int] = set()

    def memory_owner(self, address: int) -> Any:
        return None if address in self.foreign else (0, None)

    def record(self, index: int, event: int, stream: int) -> None:
        super().record(index, event, stream)
        self.recorded[event] = stream

    def stream_wait_event(self, index: int, stream: int, event: int) -> None:
        self.waits.append((stream, self.recorded[event]))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The driver of cuda(0) in the test."""
    if compiler() is None:
        pytest.skip("needs g++ and binutils")
    driver, emulated = Driver(), devices.driver_of("cuda_emulated")
    monkeypatch.setattr(devices, "driver_of", lambda kind: driver if kind == "cuda" else emulated)
    return driver


@pytest.fixture
def build(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Callable[..., DeviceProgram]:
    """`build(*names)`: a program of functions that add 1, whose kernels run emulated on cuda(0)."""
    compiled = CompiledCuda("sm_90", b"image", "", "", {})
    monkeypatch.setattr(cuda_build, "compile_cuda", lambda source, architecture: compiled)

    def make(*names: str) -> DeviceProgram:
        text = "".join(TEXT.format(name=name) for name in names or ("main",))
        return cuda_build.build_cuda(parse_tvmscript(text), Target("cuda", arch="sm_90"))

    return make


def device_array(values: Any = VALUES) -> nd.DeviceArray:
    array = nd.array(values, stepwell.cuda(0))
    assert isinstance(array, nd.DeviceArray)
    return array


def test_arrays_are_arguments_and_results(build: Callable[..., DeviceProgram]) -> None:
    lib, a, b = build(), device_array(), device_array()
    lib(Exporter(a), Exporter(b))
    np.testing.assert_array_equal(b.numpy(), VALUES + 1)
    lib(Exporter(b, strides=None), a)
    np.testing.assert_array_equal(a.numpy(), VALUES + 2)
    again = lib["main"].bind(Exporter(a), Exporter(b))
    del a
    again()
    np.testing.assert_array_equal(b.numpy(), VALUES + 3)
    np.testing.assert_array_equal(nd.array(Exporter(b)).numpy(), VALUES + 3)
    np.testing.assert_array_equal(b.copyfrom(Exporter(device_array())).numpy(), VALUES)


def test_the_owner_of_the_memory_lives_as_long_as_the_array(driver: Driver) -> None:
    array = nd.from_cuda_array(Exporter(device_array()))
    np.testing.assert_array_equal(array.numpy(), VALUES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask": [1]}, "expected an array without a mask, got one with a mask"),
        ({"data": (0, False)}, r"expected memory for shape \(8,\), got none"),
        ({"data": (64, False)}, "expected memory of a GPU, got address 0x40, which CUDA has not allocated"),
        ({"data": 64}, "expected an address and a flag as data, got 64"),
        ({"data": (-64, False)}, "expected an address and a flag as data"),
        ({"shape": (7,), "strides": None}, r"expected shape \(8,\), got \(7,\)"),
        ({"shape": (-8,)}, "expected a shape of sizes, got"),
        ({"shape": 8}, "expected integers as shape, got 8"),
        ({"shape": ("8",)}, "expected integers as shape"),
        ({"strides": (8,)}, "expected a C-contiguous array"),
        ({"strides": (6,)}, "expected strides that are multiples of 4 bytes"),
        ({"strides": (4, 4)}, r"expected 1 strides for shape \(8,\)"),
        ({"typestr": "<i4"}, "expected elements of type float32, got int32"),
        ({"typestr": ">f4"}, "expected elements of a type compiled code knows, got typestr '>f4'"),
        ({"typestr": "<c8"}, "got typestr '<c8'"),
        ({"typestr": 4}, "got typestr 4"),
        ({"stream": 0}, "expected the handle of a stream, or None, got stream 0"),
        ({"stream": "1"}, "expected the handle of a stream, or None, got stream '1'"),
        ({"version": 4}, "expected __cuda_array_interface__ of version 0 to 3, got 4"),
    ],
)  # fmt: skip
def test_wrong_arrays_are_errors_of_their_argument(
    driver: Driver, build: Callable[..., DeviceProgram], changes: dict[str, Any], message: str
) -> None:
    driver.foreign.add(64)
    with pytest.raises(ArgumentError, match=f"main: argument A: .*{message}"):
        build()(Exporter(device_array(), **changes), device_array())


def test_results_are_written_to_writeable_memory(build: Callable[..., DeviceProgram]) -> None:
    a, b = device_array(), device_array()
    read_only = Exporter(b, data=(b.layout.ctypes.data, True))
    build()(read_only, a)
    with pytest.raises(ArgumentError, match="argument B: expected a writeable array, got a read-only one"):
        build()(a, read_only)


def test_an_interface_must_be_readable(build: Callable[..., DeviceProgram]) -> None:
    class Broken:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise RuntimeError("no context")

    for interface, message in (
        ([], "expected a dict of __cuda_array_interface__, got list"),
        ({}, "expected shape in __cuda_array_interface__, got nothing"),
        ({"shape": (8,)}, "expected typestr in __cuda_array_interface__, got shape"),
    ):
        value = Exporter(device_array())
        value.__cuda_array_interface__ = interface
        with pytest.raises(ArgumentError, match=f"argument A: {message}"):
            build()(value, device_array())
    with pytest.raises(ArgumentError, match=r"argument A: Broken cannot be exported through .*: no context"):
        build()(Broken(), device_array())


def test_the_current_stream_waits_for_that_of_the_array(driver: Driver) -> None:
    device, array = stepwell.cuda(0), device_array()
    producer, current = device.stream(), device.stream()
    with current:
        nd.from_cuda_array(Exporter(array, stream=producer.handle))
        nd.from_cuda_array(Exporter(array, stream=1))
        for changes in ({"stream": current.handle}, {"stream": None}, {"stream": producer.handle, "version": 2}):
            nd.from_cuda_array(Exporter(array, **changes))
    nd.from_cuda_array(Exporter(array, stream=1))
    assert driver.waits == [(current.handle, producer.handle), (current.handle, 0)]


def test_streams_of_others_are_current(driver: Driver, build: Callable[..., DeviceProgram]) -> None:
    class Stream:
        handle = 77

    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 78

    device, lib = stepwell.cuda(0), build()
    for stream, handle in ((Stream(), 77), (Protocol(), 78), (79, 79), (device.stream(77), 77), (1, 0), (0, 0)):
        with device.stream(stream) as current:
            assert current.handle == handle
            lib(device_array(), device_array())
            assert lib.launcher.table.stream == (handle or None)
            assert device_array().__cuda_array_interface__["stream"] == (handle or 1)


@pytest.mark.parametrize("stream", ["fast", 1.5, -1, object()])
def test_other_streams_are_refused(driver: Driver, stream: Any) -> None:
    with pytest.raises(ArgumentError, match=r"expected (a|the handle of a) stream"):
        stepwell.cuda(0).stream(stream)


def test_a_stream_of_a_later_version_is_refused(driver: Driver) -> None:
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 1, 78

    with pytest.raises(ArgumentError, match="expected version 0 of __cuda_stream__, got 1"):
        stepwell.cuda(0).stream(Protocol())


def test_arrays_are_exported(driver: Driver) -> None:
    array = device_array(np.zeros((2, 3), "int16"))
    assert array.__cuda_array_interface__ == {
        "shape": (2, 3), "typestr": "<i2", "data": (array.address, False), "strides": None, "stream": 1, "version": 3,
    }  # fmt: skip
    part = nd.DeviceArray(array.device, array.layout[:, ::2], array)
    part.layout.flags.writeable = False
    assert part.__cuda_array_interface__["strides"] == (6, 4)
    assert part.__cuda_array_interface__["data"] == (array.address, True)
    empty = device_array(np.zeros((0, 3), "bool"))
    assert empty.__cuda_array_interface__["data"] == (0, False)
    assert nd.from_cuda_array(Exporter(empty)).shape == (0, 3)
    with pytest.raises(AttributeError, match="has no type for bfloat16"):
        _ = device_array(np.zeros(3, ml_dtypes.bfloat16)).__cuda_array_interface__


def test_arrays_elsewhere_are_not_exported() -> None:
    assert not hasattr(nd.array(VALUES), "__cuda_array_interface__")
    if stepwell.cuda_emulated(0).exist:
        assert not hasattr(nd.array(VALUES, stepwell.cuda_emulated(0)), "__cuda_array_interface__")


def test_arrays_of_a_gpu_are_not_on_other_devices(driver: Driver) -> None:
    lib: Any = stepwell.build(parse_tvmscript(TEXT.format(name="main")), target="cuda-emulated")
    with pytest.raises(ArgumentError, match=r"argument A: expected an array on cuda_emulated, got one on cuda\(0\)"):
        lib(Exporter(device_array()), VALUES.copy())


@st.composite
def _views(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], Any]:
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(["float16", "float32", "float64", "int8", "uint16", "int64", "bool"]))
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    return values, tuple(draw(st.slices(extent)) for extent in shape)


@given(_views())
def test_any_view_is_written_and_read_as_it_is(drawn: tuple[np.ndarray[Any, Any], Any]) -> None:
    values, index = drawn
    view = values[(..., *index)]
    strides = None if view.flags.c_contiguous else tuple(stride // view.itemsize for stride in view.strides)
    address = view.ctypes.data if view.size else 0
    array = CudaArray(address, view.shape, strides, view.dtype, True, 7)
    exported = types.SimpleNamespace(__cuda_array_interface__=write_cuda_array(array))
    assert read_cuda_array(exported) == array
    # numpy reads the same interface by another name
    host = types.SimpleNamespace(
        __array_interface__={**exported.__cuda_array_interface__, "data": (view.ctypes.data, True)}
    )
    np.testing.assert_array_equal(np.asarray(host), view)


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**65) | st.text(max_size=3) | st.floats(), st.lists, max_leaves=4
)


@given(st.dictionaries(st.sampled_from(["shape", "typestr", "data", "strides", "stream", "version", "mask"]), _JUNK))
def test_any_interface_is_read_or_refused(changes: dict[str, Any]) -> None:
    good = {"shape": (2,), "typestr": "<f4", "data": (256, False), "version": 3}
    try:
        array = read_cuda_array(types.SimpleNamespace(__cuda_array_interface__={**good, **changes}))
    except ArgumentError:
        return
    assert all(extent >= 0 for extent in array.shape)
    assert array.strides is None or len(array.strides) == len(array.shape)
    assert 0 in array.shape or array.address > 0


# Modules of PyCUDA


class FakePycuda(types.ModuleType):
    """`pycuda.driver` with the functions that are called of it."""

    class Error(Exception):
        pass

    function_attribute = types.SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.context: object = object()
        self.images: list[bytes] = []
        self.attributes: list[tuple[str, int, int]] = []
        self.Context = types.SimpleNamespace(get_current=lambda: self.context)

    def module_from_buffer(self, image: bytes) -> Any:
        if not image:
            raise self.Error("cuModuleLoadDataEx failed: invalid image")
        self.images.append(image)
        function = lambda name: types.SimpleNamespace(  # noqa: E731
            set_attribute=lambda attribute, value: self.attributes.append((name, attribute, value))
        )
        return types.SimpleNamespace(get_function=function)


@pytest.fixture
def pycuda(monkeypatch: pytest.MonkeyPatch) -> FakePycuda:
    """A module in the place of `pycuda.driver`."""
    fake = FakePycuda()
    monkeypatch.setitem(sys.modules, "pycuda", types.ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", fake)
    return fake


def test_a_program_gives_its_module(build: Callable[..., DeviceProgram], pycuda: FakePycuda) -> None:
    lib = build()
    assert hasattr(lib.pycuda_module(), "get_function")
    lib.pycuda_module("main_kernel")
    assert pycuda.images == [b"image"] * 2
    assert pycuda.attributes == []
    with pytest.raises(ArgumentError, match="no kernel called 'main_kernl', there is main_kernel, did you mean"):
        lib.pycuda_module("main_kernl")


def test_each_function_has_a_module(build: Callable[..., DeviceProgram], pycuda: FakePycuda) -> None:
    lib = build("add", "sub")
    lib.pycuda_module("sub_kernel")
    with pytest.raises(ArgumentError, match=r"expected the name of a kernel, .*: add_kernel, sub_kernel"):
        lib.pycuda_module()


def test_large_shared_memory_is_allowed_for(
    driver: Driver, pycuda: FakePycuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((16384,), "float32"), B: T.Buffer((16384,), "float32")):
    S = T.alloc_buffer((16384,), "float32", scope="shared.dyn")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(256, thread="threadIdx.x"):
            for i in range(64):
                S[i * 256 + tx] = A[i * 256 + tx]
        for tx in T.thread_binding(256, thread="threadIdx.x"):
            for i in range(64):
                B[i * 256 + tx] = S[(255 - tx) * 64 + i]
"""
    monkeypatch.setattr(cuda_build, "compile_cuda", lambda *_: CompiledCuda("sm_90", b"image", "", "", {}))
    cuda_build.build_cuda(parse_tvmscript(text), Target("cuda", arch="sm_90")).pycuda_module()
    assert pycuda.attributes == [("main_kernel", 8, 65536)]


def test_what_pycuda_refuses_is_an_error(
    build: Callable[..., DeviceProgram], pycuda: FakePycuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = build()
    pycuda.context = None
    with pytest.raises(DeviceError, match="main_kernel: expected a current context of PyCUDA, got none"):
        lib.pycuda_module()
    pycuda.context = object()
    monkeypatch.setattr(cuda_build, "compile_cuda", lambda *_: CompiledCuda("sm_90", b"", "", "", {}))
    lib = cuda_build.build_cuda(parse_tvmscript(TEXT.format(name="main")), Target("cuda", arch="sm_90"))
    with pytest.raises(DeviceError, match="PyCUDA does not load main_kernel, which is made for sm_90: cuModuleLoadD"):
        lib.pycuda_module()


def test_without_pycuda_the_extra_is_named(
    build: Callable[..., DeviceProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    with pytest.raises(PluginError, match=r"pip install 'stepwell\[pycuda\]'"):
        build().pycuda_module()


def test_emulated_kernels_are_no_module() -> None:
    if compiler() is None:
        pytest.skip("needs g++ and binutils")
    lib: Any = stepwell.build(parse_tvmscript(TEXT.format(name="main")), target="cuda-emulated")
    with pytest.raises(UnsupportedError, match="kernels for cuda_emulated are no modules of PyCUDA"):
        lib.pycuda_module()
