"""GPU programs beside the real PyCUDA, on a fake libcuda or a GPU. test_cuda_driver.py runs this file.

argument: `fake` for the fake libcuda, which has the functions that this file calls.
"""

import os
import sys
import threading
from functools import partial
from importlib import import_module
from typing import Any

if "fake" in sys.argv:
    sys.setdlopenflags(os.RTLD_LAZY)  # PyCUDA links more functions than the fake has

import numpy as np

import stepwell
from stepwell import ArgumentError, DeviceError, GraphExecutor, Schedule, build_graph, nd, parse_tvmscript, relay
from stepwell.backends.cuda.program import DeviceProgram

TEXT = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
"""
VALUES = np.arange(8, dtype="float32")
drv: Any = import_module("pycuda.driver")
gpuarray: Any = import_module("pycuda.gpuarray")


def message(error: type[Exception], run) -> str:
    try:
        run()
    except error as found:
        return str(found)
    raise AssertionError(f"no {error.__name__}")


def check(got, expected) -> None:
    np.testing.assert_array_equal(got.get() if isinstance(got, gpuarray.GPUArray) else got.numpy(), expected)


def check_arrays(lib: DeviceProgram) -> None:
    """Arrays of PyCUDA are arguments and results, and ours are arguments of PyCUDA's functions."""
    a, b = gpuarray.to_gpu(VALUES), gpuarray.empty(8, np.float32)
    lib(a, b)
    check(b, VALUES + 1)
    ours = nd.array(VALUES, stepwell.cuda(0))
    lib(b, ours)
    check(ours, VALUES + 2)
    lib(ours, a)
    check(a, VALUES + 3)
    check(nd.from_cuda_array(b), VALUES + 1)
    check(nd.array(b), VALUES + 1)
    whole = gpuarray.to_gpu(np.arange(16, dtype=np.float32))
    lib(whole[8:], b)
    check(b, VALUES + 9)
    assert "expected shape (8,), got (16,)" in message(ArgumentError, lambda: lib(whole, b))
    assert "expected a C-contiguous array" in message(ArgumentError, lambda: lib(whole[::2], b))
    double = gpuarray.to_gpu(VALUES.astype("float64"))
    assert "argument A: expected elements of type float32, got float64" in message(
        ArgumentError, lambda: lib(double, b)
    )
    x = relay.var("x", shape=(8,))
    executor = GraphExecutor(build_graph(relay.module(relay.Function([x], x + 1)), target="cuda"))
    executor.run(x=gpuarray.to_gpu(VALUES))
    check(executor.get_output(0), VALUES + 1)

    module = lib.pycuda_module()
    assert isinstance(module, drv.Module)
    run = module.get_function("main_kernel")
    run(gpuarray.to_gpu(VALUES), b, grid=(1, 1), block=(8, 1, 1))
    check(b, VALUES + 1)
    run(b, ours, grid=(1, 1), block=(8, 1, 1))
    check(ours, VALUES + 2)
    assert isinstance(lib.pycuda_module("main_kernel"), drv.Module)


def check_streams(lib: DeviceProgram) -> None:
    """Streams and events of PyCUDA order and time our calls."""
    a, b = gpuarray.to_gpu(VALUES), gpuarray.to_gpu(VALUES)
    stream, start, end = drv.Stream(), drv.Event(), drv.Event()
    with stepwell.cuda(0).stream(stream) as current:
        assert current.handle == stream.handle
        start.record(stream)
        for _ in range(3):
            lib(a, b)
            lib(b, a)
        end.record(stream)
        event = current.record()
    end.synchronize()
    assert end.time_since(start) > 0
    event.sync()
    check(a, VALUES + 6)
    other = drv.Stream()
    other.wait_for_event(end)
    stepwell.cuda(0).stream(other).wait(event)
    other.synchronize()


def build() -> DeviceProgram:
    sch = Schedule(parse_tvmscript(TEXT))
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "threadIdx.x")
    lib = stepwell.build(sch.mod, target="cuda")
    assert isinstance(lib, DeviceProgram)
    return lib


drv.init()
lib = build()
assert "expected a current context of PyCUDA, got none" in message(DeviceError, lib.pycuda_module)
primary = drv.Device(0).retain_primary_context()
primary.push()
check_arrays(lib)
check_streams(lib)
primary.pop()

# A context of PyCUDA's own, as pycuda.autoinit makes one
before = nd.array(VALUES, stepwell.cuda(0))
for _ in range(2):  # the second may have the handle of the first
    made = drv.Device(0).make_context()
    check_arrays(lib)
    check_streams(lib)
    assert drv.Context.get_current() == made
    array = gpuarray.to_gpu(VALUES)
    assert "in the same context" in message(ArgumentError, partial(lib, before, array))
    lib(before, before)  # in its own context
    ours = nd.empty((8,), "float32", stepwell.cuda(0))
    made.pop()
    lib(array, ours)
    check(ours, VALUES + 1)
    worker = threading.Thread(target=lib, args=(array, ours))
    worker.start()
    worker.join()
    made.push()
    del array, ours
    made.pop()
    made.detach()
print("done")
