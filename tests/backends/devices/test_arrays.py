"""Arrays on devices: copies to and from the host, DLPack in both directions, streams and events."""

import datetime
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell import ArgumentError, Device, DeviceError, OptionError, nd
from stepwell.backends.runtime.dlpack import to_dlpack
from stepwell.tools.testing.tensors import ExchangeTensor, count_exported

DTYPES = ["float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "uint16", "int64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (7,), (0, 3), (2, 3, 4)])
def test_numbers_go_there_and_come_back(device: Device, dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 2, shape).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    array = nd.array(values, device)
    assert (array.shape, array.dtype, array.device, array.nbytes) == (shape, dtype, device, values.nbytes)
    back = array.numpy()
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


def test_an_array_is_a_copy(device: Device) -> None:
    values = np.arange(4, dtype=np.float32)
    a = nd.array(values, device)
    values[0] = 9
    b = a.copyto(device)
    a[:] = np.ones(4)
    assert b.numpy().tolist() == [0, 1, 2, 3]
    assert a.copyto(b) is b
    assert b[1] == 1
    assert len(b) == 4
    assert np.asarray(b).tolist() == b.copyto(stepwell.cpu()).numpy().tolist() == [1, 1, 1, 1]
    assert str(b) == "[1. 1. 1. 1.]"
    assert repr(b).startswith(f"<NDArray shape=(4,), {device}>")


class Foreign:
    """An array of another library; if old, without support of DLPack 1.0."""

    def __init__(self, array: Any, old: bool = False):
        self.array, self.old, self.streams = array, old, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        self.streams.append(options.get("stream"))
        if self.old and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_goes_both_ways_without_a_copy(device: Device, dtype: str, old: bool) -> None:
    a = nd.array(np.ones((2, 3)).astype(np.dtype(getattr(ml_dtypes, dtype, dtype))), device)
    foreign = Foreign(a, old)
    b = nd.from_dlpack(foreign)
    assert foreign.streams[-1] == 1
    assert (b.shape, b.dtype, b.device) == (a.shape, dtype, device)
    b[:] = np.zeros((2, 3))
    assert not a.numpy().any()
    del a, foreign
    assert not b.numpy().any()


def test_tensors_of_the_current_stream_are_exported_by_functions_of_c(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = nd.array(np.arange(6, dtype=np.float32), device)
    tensor = ExchangeTensor(a.layout, device.device_type)
    b = nd.from_dlpack(tensor)
    assert isinstance(b, nd.DeviceArray)
    assert isinstance(a, nd.DeviceArray)
    assert (b.address, b.device, tensor.calls["__dlpack__"]) == (a.address, device, 0)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    monkeypatch.setattr(ExchangeTensor, "stream", 5)  # another stream: `__dlpack__` waits for it
    with pytest.raises(ArgumentError, match="exported through the table alone"):
        nd.from_dlpack(tensor)
    del b
    assert count_exported() == 0


def test_what_dlpack_gives_may_be_a_part_of_an_array(device: Device) -> None:
    a = nd.array(np.arange(12, dtype=np.float32).reshape(3, 4), device)
    part = nd.DeviceArray(device, a.layout[1:, ::2], a)
    b = nd.from_dlpack(Foreign(part))
    np.testing.assert_array_equal(b.numpy(), [[4, 6], [8, 10]])
    np.testing.assert_array_equal(b.copyto(device).numpy(), [[4, 6], [8, 10]])
    with pytest.raises(ArgumentError, match=r"strides \(16, 8\) \(bytes\), expected a C-contiguous array to write to"):
        b[:] = np.zeros((2, 2))


def test_a_capsule_that_nobody_takes_is_forgotten(device: Device) -> None:
    from stepwell.backends.runtime import dlpack

    a = nd.array(np.ones(3), device)
    for version in (None, (1, 0)):
        capsule = a.__dlpack__(max_version=version)
        count = len(dlpack._exported)
        del capsule
        assert len(dlpack._exported) == count - 1


def test_a_capsule_says_where_it_is(device: Device) -> None:
    a = nd.array(np.ones(3), device)
    with pytest.raises(BufferError, match="not on DLPack's device"):
        a.__dlpack__(dl_device=(1, 0))
    a.layout.flags.writeable = False
    with pytest.raises(BufferError, match="a read-only array"):
        a.__dlpack__()
    a.__dlpack__(max_version=(1, 1))
    assert nd.from_dlpack(Foreign(a)).copyto(device).numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("versioned", [False, True])
def test_a_dlpack_capsule_is_an_array_of_the_same_memory(device: Device, versioned: bool) -> None:
    a = nd.array(np.arange(6, dtype="float32").reshape(2, 3), device)
    capsule = a.__dlpack__(max_version=(1, 0) if versioned else None)
    b, again = nd.from_dlpack(capsule), nd.from_dlpack(capsule)
    assert (b.device, b.shape, b.dtype) == (a.device, (2, 3), "float32")
    a.copyfrom(np.asarray([[7, 7, 7], [3, 4, 5]], "float32"))
    del a, capsule
    assert b.numpy().tolist() == again.numpy().tolist() == [[7, 7, 7], [3, 4, 5]]


def test_another_capsule_is_no_array() -> None:
    with pytest.raises(ArgumentError, match=r"expected a DLPack capsule, got one called b'datetime\.datetime_CAPI'"):
        nd.from_dlpack(datetime.datetime_CAPI)


def test_dlpack_knows_its_types() -> None:
    tensor = nd.ForeignTensor(0, (), None, np.dtype(ml_dtypes.float4_e2m1fn), (1, 0), False, None)
    with pytest.raises(BufferError, match="DLPack has no type for float4_e2m1fn"):
        to_dlpack(tensor, True)


def test_arrays_of_this_machine_are_of_the_same_kind() -> None:
    a = nd.array([1.0, 2.0])
    assert a.device == stepwell.cpu()
    assert isinstance(nd.from_dlpack(a), nd.NDArray)
    b = nd.from_dlpack(Foreign(a.numpy()))
    assert b.device == stepwell.cpu()
    assert np.from_dlpack(b).tolist() == [1.0, 2.0]


def test_memory_is_given_back(device: Device) -> None:
    if device.kind == "cuda_emulated":
        pytest.skip("the memory of this machine belongs to others too")
    before = device.memory()[0]
    a = nd.empty((1 << 26,), "float32", device)
    assert before - device.memory()[0] >= a.nbytes
    del a
    assert device.memory()[0] == before


def test_too_much_memory_is_refused_with_sizes(device: Device) -> None:
    with pytest.raises(DeviceError, match=rf"float32\[.*\]: out of memory of {device.kind}\(0\): 4194304.0 GiB asked"):
        nd.empty((1 << 50,), "float32", device)


def test_streams_and_events(device: Device) -> None:
    a = nd.empty((4,), "float32", device)
    stream = device.stream()
    assert device.current_stream.handle == 0
    with stream as entered:
        assert entered is stream
        assert device.current_stream is stream
        start = stream.record()
        a[:] = np.arange(4)
        end = stream.record()
    stream.sync()
    assert device.current_stream.handle == 0
    assert end.seconds_since(start) >= 0
    other = device.stream()
    other.wait(end)
    device.sync()
    assert a.numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Device("cudnn"), OptionError, "device 'cudnn'"),
        (lambda: stepwell.cpu(1), OptionError, r"there is no device cpu\(1\)"),
        (lambda: stepwell.cpu().stream(), OptionError, "has no driver"),
        (
            lambda: nd.from_dlpack([1]),
            ArgumentError,
            "with __dlpack__, or a DLPack capsule, got list",
        ),
        (lambda: Device.of_dlpack(7, 0), ArgumentError, "DLPack's device type 7"),
    ],
)
def test_a_mistake_is_an_error(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_device_that_is_not_there(device: Device) -> None:
    there = Device(device.kind, 99)
    assert not there.exist
    with pytest.raises(DeviceError, match=rf"there is no device {device.kind}\(99\)"):
        nd.empty((2,), "float32", there)


def test_copies_check_shapes(device: Device) -> None:
    with pytest.raises(ArgumentError, match=r"an array of shape \(3,\), expected \(2,\)"):
        nd.empty((2,), "float32", device).copyfrom(np.zeros(3))
    with pytest.raises(ArgumentError, match="are set all at once"):
        nd.empty((2,), "float32", device)[0] = 1


@pytest.mark.parametrize("name", ["cpu", "cuda_emulated"])
def test_bits_of_bfloat16_are_copied_as_numbers_of_numpy(name: str) -> None:
    new = nd.empty((2,), "bfloat16", Device(name)).copyfrom(np.array([0x3F80, 0x4000], np.uint16))
    np.testing.assert_array_equal(new.numpy(), np.array([1, 2], ml_dtypes.bfloat16))


def test_targets_name_devices() -> None:
    assert stepwell.device("cuda -arch=sm_90", 1) == stepwell.cuda(1)
    assert stepwell.device("cuda-emulated") == stepwell.cuda_emulated()
    assert stepwell.device("llvm") == stepwell.cpu()


@given(st.data())
def test_any_slice_is_read_as_numpy_reads_it(data: st.DataObject) -> None:
    device = stepwell.cuda_emulated()
    if not device.exist:
        pytest.skip("needs g++ and binutils")
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    index = tuple(data.draw(st.slices(extent)) for extent in shape)
    whole = nd.array(values, device)
    assert isinstance(whole, nd.DeviceArray)
    part = nd.DeviceArray(device, whole.layout[index], whole)
    np.testing.assert_array_equal(part.numpy(), values[index])


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_arrays_of_small_floats_are_exported_without_a_copy(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype))
    array = nd.array(np.array([[0, 1, 2], [3, 4, 6]], kind))
    seen = nd.from_dlpack(array)
    assert (seen.shape, seen.dtype) == ((2, 3), dtype)
    array[1, 2] = 8
    assert seen.numpy().astype("float32").tolist() == [[0, 1, 2], [3, 4, 8]]
    copy = nd.host_array(array)
    assert copy.dtype == kind
    assert copy.tolist() == seen.numpy().tolist()


def test_compiled_code_takes_arrays_of_bfloat16() -> None:
    a = stepwell.te.placeholder((3,), "bfloat16")
    c = stepwell.te.compute((3,), lambda i: a[i] + a[i])
    x, y = nd.array(np.array([1, 2, 3], ml_dtypes.bfloat16)), nd.empty((3,), "bfloat16")
    stepwell.build(stepwell.te.create_prim_func([a, c]))(x, y)
    assert y.numpy().astype("float32").tolist() == [2, 4, 6]
