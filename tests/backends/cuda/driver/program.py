"""GPU programs launched by the real bindings on a fake libcuda. test_cuda_driver.py runs this file."""

import gc
import threading
from functools import partial

import numpy as np

import stepwell
from stepwell import ArgumentError, DeviceError, GraphExecutor, Schedule, build_graph, nd, parse_tvmscript, relay
from stepwell.backends.runtime import Program

TEXT = """
@T.prim_func
def {name}(A: T.Buffer(({size},), "float32"), B: T.Buffer(({size},), "float32")):
    for i in range({size}):
        with T.block("B"):
            vi = T.axis.spatial({size}, i)
            B[vi] = A[vi] + 1.0
"""


BRANCH = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), N: T.Buffer((2,), "int32")):
    if A[3] > T.float32(0):
        for n in range(N[1]):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                B[tx] = A[tx] + 1.0
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                A[tx] = B[tx] + 1.0
"""


def add(name: str = "main", size: int = 8, blocks: int = 2, target: str = "cuda") -> Program:
    sch = Schedule(parse_tvmscript(TEXT.format(name=name, size=size)))
    outer, inner = sch.split(sch.get_loops(sch.get_block("B"))[0], [blocks, None])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return stepwell.build(sch.mod, target=target)


def message(error: type[Exception], run) -> str:
    try:
        run()
    except error as found:
        return str(found)
    raise AssertionError(f"no {error.__name__}")


device = stepwell.cuda(0)
found = device.properties
assert (found.name, found.architecture, found.memory, found.version) == ("Fake", "sm_90", 1 << 30, "13.1")
assert device.exist
assert not stepwell.cuda(1).exist

# Arrays
values = np.arange(8, dtype="float32")
a, b = nd.array(values, device), nd.empty((8,), "float32", device)
np.testing.assert_array_equal(a.numpy(), values)
np.testing.assert_array_equal(a.copyto(b).numpy(), values)
free, whole = device.memory()
assert whole - free == 64
assert message(DeviceError, lambda: nd.empty((1 << 20,), "float32", device)) == (
    "float32[1048576]: out of memory of cuda(0): 4.0 MiB asked for, 1024.0 MiB of 1.0 GiB are free"
)

# Launches: the architecture is that of the device
lib = add()
assert list(lib.usage) == ["main_kernel"]
assert lib.usage["main_kernel"].registers > 0
assert ".target sm_90" in lib.source("ptx")
lib(a, b)
device.sync()
np.testing.assert_array_equal(b.numpy(), values + 1)
with device.stream() as stream:
    lib(b, a)
    stream.sync()
np.testing.assert_array_equal(a.numpy(), values + 2)
threads = [threading.Thread(target=lib, args=(a, b)) for _ in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()
np.testing.assert_array_equal(b.numpy(), values + 3)
assert lib["main"].time_evaluator(number=2, repeat=3)(a, b).results == (0.001,) * 3
event = stream.record()
device.current_stream.wait(event)

# Branches on values in device memory
branch, counts = stepwell.build(parse_tvmscript(BRANCH), target="cuda"), nd.array(np.array([0, 2], "int32"), device)
for start, expected in ((values, values + 4), (-values, -values)):
    a.copyfrom(start)
    with device.stream():
        branch(a, b, counts)
    np.testing.assert_array_equal(a.numpy(), expected)
a.copyfrom(values + 2)
b.copyfrom(values + 3)
x, flag = relay.var("x", shape=(8,)), relay.var("flag", shape=(), dtype="bool")
model = relay.module(relay.Function([flag, x], relay.If(flag, x + 1, x + 1 + 1)))
executor = GraphExecutor(build_graph(model, target="cuda", opt_level=0))
for taken, more in ((True, 1), (False, 2)):
    executor.run(flag=np.asarray(taken), x=values)
    np.testing.assert_array_equal(executor.get_output(0).numpy(), values + more)
assert [len(executor.profile(1))] == [2]
del executor, counts, branch

# DLPack
np.testing.assert_array_equal(nd.from_dlpack(a).numpy(), a.numpy())
assert a.__dlpack_device__() == (2, 0)
a.__dlpack__(stream=1)
consumer = device.stream()
a.__dlpack__(stream=consumer.handle)

# Mistakes
assert "expected an array on cuda, got an array of numpy's" in message(ArgumentError, lambda: lib(values, b))
many = add(size=1024, blocks=1)
big = [nd.empty((1024,), "float32", device) for _ in range(2)]
said = message(DeviceError, partial(many, *big))
assert said == (
    "main: main_kernel: the launch of (1, 1, 1) blocks of (1024, 1, 1) threads with 0 bytes of dynamic shared memory "
    "failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (something is wrong)"
), said
said = message(DeviceError, lambda: add(target="cuda -arch=compute_80")(a, b))
assert "cuda(0), Fake of sm_90, does not load main_kernel, which is made for compute_80" in said, said
assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in said

# Memory is freed, in any thread
del big, many
kept = [a, b]
del a, b
worker = threading.Thread(target=kept.clear)
worker.start()
worker.join()
del threads, each
gc.collect()
free, whole = device.memory()
assert whole == free, whole - free

# A failing kernel raises its error at the next synchronization: here in a function that branches
a, b = nd.array(values, device), nd.empty((8,), "float32", device)
counts = nd.array(np.array([0, 2], "int32"), device)
branch = stepwell.build(parse_tvmscript(BRANCH), target="cuda")
branch(a, b, counts)
add("breaks")(a, b)
said = message(DeviceError, lambda: branch(a, b, counts))
assert said.startswith("main: A: the copy of 4 bytes to the host failed: CUDA_ERROR_ILLEGAL_ADDRESS"), said
assert "A kernel that was launched before" in said
said = message(DeviceError, device.sync)
assert said.startswith("cuCtxSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)")
assert "A kernel that was launched before" in said
print("done")
