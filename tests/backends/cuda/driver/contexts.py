"""Contexts, streams and arrays of others on a fake libcuda with two GPUs. test_cuda_driver.py runs this file."""

import ctypes
import gc
import threading
from importlib import import_module
from typing import Any

import numpy as np

import stepwell
from stepwell import ArgumentError, GraphExecutor, Schedule, build_graph, nd, parse_tvmscript, relay
from stepwell.backends.runtime import Program

TEXT = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
"""
VALUES = np.arange(8, dtype="float32")
cu: Any = import_module("cuda.bindings.driver")


def build(text: str = TEXT) -> Program:
    sch = Schedule(parse_tvmscript(text))
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "threadIdx.x")
    return stepwell.build(sch.mod, target="cuda")


def call(name: str, *arguments: Any) -> Any:
    status, *results = getattr(cu, name)(*arguments)
    assert status == cu.CUresult.CUDA_SUCCESS, (name, status)
    return results[0] if results else None


class Foreign:
    """An array of a CUDA library without DLPack, allocated in the current context."""

    def __init__(self, values: Any = VALUES, **changes: Any):
        self.address = int(call("cuMemAlloc", max(1, values.nbytes)))
        call("cuMemcpyHtoDAsync", self.address, values.ctypes.data, values.nbytes, 0)
        self.values = values
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "strides": values.strides,
            "data": (self.address if values.size else 0, False),
            "typestr": values.dtype.str,
            "stream": None,
            "version": 3,
            **changes,
        }

    def get(self) -> np.ndarray:
        result = np.empty_like(self.values)
        call("cuMemcpyDtoHAsync", result.ctypes.data, self.address, result.nbytes, 0)
        return result


class Handle:
    """A stream of another library, as PyCUDA has it."""

    def __init__(self, handle: Any):
        self.handle = handle


def open_context(index: int = 0) -> Any:
    """A new context, which becomes current."""
    context = ctypes.c_void_p()
    library = ctypes.CDLL("libcuda.so.1")
    assert library.cuCtxCreate_v4(ctypes.byref(context), None, 0, index) == 0
    return context.value


def on_device(values: Any = VALUES) -> nd.DeviceArray:
    result = nd.array(values, device)
    assert isinstance(result, nd.DeviceArray)
    return result


def message(error: type[Exception], run: Any) -> str:
    try:
        run()
    except error as found:
        return str(found)
    raise AssertionError(f"no {error.__name__}")


def waits(stream: Any) -> int:
    return ctypes.CDLL("libcuda.so.1").fake_stream_waits(ctypes.c_void_p(int(stream.handle)))


device = stepwell.cuda(0)
lib = build()

# A context of another library is used as it is, and no other is created
made = open_context()
a, b = Foreign(), Foreign(np.zeros(8, "float32"))
lib(a, b)
np.testing.assert_array_equal(b.get(), VALUES + 1)
assert int(call("cuCtxGetCurrent")) == made
assert nd.from_cuda_array(b).device == device
np.testing.assert_array_equal(nd.from_cuda_array(b).numpy(), VALUES + 1)
ours = on_device()
lib(ours, b)
lib(b, ours)
np.testing.assert_array_equal(ours.numpy(), VALUES + 2)
bound = lib["main"].bind(a, b)
assert lib["main"].time_evaluator(number=2, repeat=2)(a, b).results == (0.001,) * 2
on_device().copyto(ours)

_, _, active = cu.cuDevicePrimaryCtxGetState(0)
assert not active

# ... also where another context is current: that of the arrays
call("cuCtxPopCurrent")
primary = [on_device() for _ in range(2)]
lib(*primary)
np.testing.assert_array_equal(primary[1].numpy(), VALUES + 1)
lib(ours, b)
bound()
assert lib["main"].time_evaluator(number=2, repeat=2)(a, b).results == (0.001,) * 2
np.testing.assert_array_equal(nd.from_cuda_array(b).numpy(), VALUES + 1)
np.testing.assert_array_equal(primary[0].copyto(device).numpy(), VALUES)
ours.copyfrom(primary[1])
np.testing.assert_array_equal(ours.numpy(), VALUES + 1)
failures: list[BaseException] = []


def work(*arrays: Any) -> None:
    try:
        lib(*arrays)  # no context is current in this thread
        assert int(call("cuCtxGetCurrent")) == 0
    except BaseException as error:
        failures.append(error)


worker = threading.Thread(target=work, args=(ours, b))
worker.start()
worker.join()
del worker
assert not failures, failures

# Contexts do not mix
said = message(ArgumentError, lambda: lib(primary[0], b))
assert said.startswith("main: argument B: expected an array in the same context of cuda(0) as others, got one in"), said

# Streams of other libraries
call("cuCtxPushCurrent", made)
theirs = call("cuStreamCreate", 0)
for stream in (theirs, Handle(int(theirs)), int(theirs), device.stream(theirs), 0):
    with device.stream(stream) as current:
        lib(a, b)
        current.record().sync()
    current.sync()
assert device.stream().__cuda_stream__()[0] == 0
assert device.stream(1).handle == device.stream(0).handle == 0
before = waits(current := device.stream(theirs))
other = device.stream()
with current:
    lib(Foreign(stream=int(other.handle)), b)
    lib(Foreign(stream=int(theirs)), b)  # does not wait for itself
    lib(Foreign(stream=int(other.handle), version=2), b)  # version 2 has no streams
    lib(Foreign(stream=1), b)
assert waits(current) == before + 2
before = waits(other)
with current:
    view = ours.__cuda_array_interface__
assert view == {
    "shape": (8,),
    "typestr": "<f4",
    "data": (ours.address, False),
    "strides": None,
    "stream": int(theirs),
    "version": 3,
}
assert ours.__cuda_array_interface__["stream"] == 1
assert on_device(np.empty((0, 3), "int8")).__cuda_array_interface__["data"] == (0, False)
assert not hasattr(nd.empty((2,), "bfloat16", device), "__cuda_array_interface__")
part = nd.DeviceArray(device, ours.layout[::2], ours, ours.context)
part.layout.flags.writeable = False
assert part.__cuda_array_interface__["strides"] == (8,)
assert part.__cuda_array_interface__["data"] == (ours.address, True)
call("cuCtxPopCurrent")
before = waits(current)
current.wait(current.record())  # in the context of the stream, which is not current
current.sync()
assert waits(current) == before + 1
with current:
    said = message(ArgumentError, lambda: lib(*primary))
    assert "is a stream of another context than the arrays" in said, said
    said = message(ArgumentError, lambda: primary[0].numpy())
    assert "is a stream of another context than the arrays" in said, said
with device.stream():
    said = message(ArgumentError, lambda: lib(a, b))
    assert "is a stream of another context than the arrays" in said, said
assert "expected a stream" in message(ArgumentError, lambda: device.stream("fast"))
assert "expected a stream" in message(ArgumentError, lambda: device.stream(Handle("none")))
assert "handle of a stream, got -1" in message(ArgumentError, lambda: device.stream(-1))

# Arguments are checked
call("cuCtxPushCurrent", made)
address = VALUES.ctypes.data
for changes, expected in (
    ({"data": (address, False)}, f"expected memory of a GPU, got address {address:#x}, which CUDA has not allocated"),
    ({"data": (0, False)}, "expected memory for shape (8,), got none"),
    ({"mask": 1}, "expected an array without a mask"),
    ({"shape": (7,), "strides": None}, "expected shape (8,), got (7,)"),
    ({"strides": (8,)}, "expected a C-contiguous array"),
    ({"typestr": "<f8", "strides": None}, "expected elements of type float32, got float64"),
):
    said = message(ArgumentError, lambda: lib(Foreign(**changes), b))
    assert said.startswith("main: argument A: expected"), said
    assert expected in said, said
said = message(ArgumentError, lambda: lib(a, Foreign(data=(b.address, True))))
assert said == "main: argument B: expected a writeable array, got a read-only one", said
call("cuCtxPopCurrent")

# Two GPUs
second = open_context(1)
there = Foreign(), Foreign()
lib(*there)
np.testing.assert_array_equal(there[1].get(), VALUES + 1)
assert nd.from_cuda_array(there[0]).device == stepwell.cuda(1)
empty = nd.from_cuda_array(Foreign(np.empty((0, 2), "float32")))
assert (empty.device, empty.shape) == (stepwell.cuda(1), (0, 2))
said = message(ArgumentError, lambda: lib(there[0], b))
assert said.startswith("main: argument B: expected an array on cuda(1), as others, got one on cuda(0)"), said
other = call("cuStreamCreate", 0)
said = message(ArgumentError, lambda: device.stream(other))
assert said == "expected a stream of cuda(0), got a stream of cuda(1)", said
lib(ours, b)  # on the other GPU, whose context is not current
assert on_device().context == primary[0].context

# A graph takes such arrays, and runs in the current context
call("cuCtxPopCurrent")
call("cuCtxPushCurrent", made)
x = relay.var("x", shape=(8,))
executor = GraphExecutor(build_graph(relay.module(relay.Function([x], x + 1)), target="cuda"))
executor.run(x=a)
np.testing.assert_array_equal(executor.get_output(0).numpy(), VALUES + 1)
del executor
call("cuCtxPopCurrent")

# Arrays, streams and events may outlive their context, whose handle is then another's
left = on_device()
call("cuCtxPushCurrent", made)
stale: list[Any] = [on_device(), device.stream(), device.stream().record()]
assert left.context != stale[0].context
call("cuCtxDestroy", made)
again = open_context()
assert again == made
fresh = [Foreign() for _ in range(64)]
del stale, ours, part, bound
gc.collect()
for each in fresh:
    np.testing.assert_array_equal(each.get(), VALUES)
lib(fresh[0], fresh[1])  # its kernels are loaded again
np.testing.assert_array_equal(fresh[1].get(), VALUES + 1)

# Memory of a context is freed in any thread
before = device.memory()[0]
kept = [on_device()]
call("cuCtxPopCurrent")
worker = threading.Thread(target=kept.clear)
worker.start()
worker.join()
assert device.memory()[0] == before
print("done")
