"""Child processes that `os.fork` creates while other threads compile or run programs."""

import os

import pytest

from stepwell.backends.cuda.emulation import compiler
from stepwell.tools.warm_python import WarmPython

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

_PROGRAM = """
import os
import signal
import sys
import threading
import warnings

import numpy as np

import stepwell

warnings.simplefilter("ignore")  # Python warns of forks of a process with threads
TEXT = '''
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj]) + A[vj, vi]
'''
target, shared = sys.argv[1], stepwell.build(stepwell.parse_tvmscript(TEXT), target=sys.argv[1])
stopped = threading.Event()


def work():
    a = np.zeros((16, 16), "float32")
    while not stopped.is_set():
        if target == "llvm":
            stepwell.build(stepwell.parse_tvmscript(TEXT))
        else:
            shared(a, a.copy())


def child():
    signal.alarm(60)
    a, b = np.zeros((16, 16), "float32"), np.zeros((16, 16), "float32")
    (stepwell.build(stepwell.parse_tvmscript(TEXT)) if target == "llvm" else shared)(a, b)
    os._exit(0 if (b == 1).all() else 3)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(2):
    process = os.fork()
    if not process:
        child()
    _, status = os.waitpid(process, 0)
    print(status)
stopped.set()
"""


@pytest.mark.parametrize("target", ["llvm", pytest.param("cuda-emulated", marks=pytest.mark.slow)])
def test_a_child_builds_and_runs_while_threads_of_its_parent_do(warm_python: WarmPython, target: str) -> None:
    if target != "llvm" and compiler() is None:
        pytest.skip("needs g++ and binutils")
    done = warm_python.run("-c", _PROGRAM, target)
    assert done.stdout.split() == ["0"] * 2, done.stderr


_PARALLEL = """
import os
import signal
import threading
import warnings

import numpy as np

import stepwell

warnings.simplefilter("ignore")  # Python warns of forks of a process with threads
TEXT = '''
@T.prim_func
def main(A: T.Buffer((200, 64), "float32"), B: T.Buffer((200, 64), "float32")):
    C = T.alloc_buffer((200, 64), "float32")
    for i in T.parallel(200):
        for j in range(64):
            C[i, j] = A[i, j] * T.float32(2)
    for i in T.parallel(200):
        for j in range(64):
            B[i, j] = C[199 - i, j]
'''
main = stepwell.build(stepwell.parse_tvmscript(TEXT))["main"]
stepwell.set_num_threads(3)
stopped = threading.Event()
a = np.random.default_rng(0).random((200, 64), "float32")


def is_right():
    b = np.zeros_like(a)
    main(a, b)
    return np.array_equal(b, 2 * a[::-1])


def work():
    while not stopped.is_set():
        assert is_right()


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
statuses = set()
for _ in range(30):
    process = os.fork()
    if not process:
        signal.alarm(60)
        os._exit(0 if all(is_right() for _ in range(5)) else 3)
    statuses.add(os.waitpid(process, 0)[1])
    assert is_right()
stopped.set()
print(statuses)
"""


def test_a_child_runs_parallel_loops_while_threads_of_its_parent_do(warm_python: WarmPython) -> None:
    done = warm_python.run("-c", _PARALLEL)
    assert (done.stdout, done.stderr) == ("{0}\n", "")
