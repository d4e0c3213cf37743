"""Programs that are built, run and dropped leave no memory, mappings, files, threads or objects of LLVM."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = '''
import gc
import os
import sys
from pathlib import Path

import numpy as np

import stepwell
from stepwell import GraphExecutor, build_graph, relay
from stepwell.backends.llvm.engine import NativeModule

count, folder = int(sys.argv[1]), sys.argv[2]
TEXT = """
@T.prim_func
def main(A: T.Buffer(({size},), "float32"), B: T.Buffer(({size},), "float32")):
    C = T.alloc_buffer(({size},), "float32")
    for i in T.{kind}({size}):
        assert A[i] >= T.float32(0), "negative"
        C[i] = A[i] * T.float32(3)
    for i in range({size}):
        B[i] = C[{size} - 1 - i] + T.float32({n})
"""


def run_program(n):
    size = 16 + n % 50
    text = TEXT.format(size=size, n=n, kind="parallel" if n % 2 else "serial")
    main = stepwell.build(stepwell.parse_tvmscript(text))["main"]
    a, b = np.arange(size, dtype="float32"), np.empty(size, "float32")
    main(a, b)
    assert (b == 3 * a[::-1] + np.float32(n)).all()
    bound = main.bind(a, b)
    bound()
    try:
        main(a - 1, b)
    except stepwell.ExecutionError:
        pass
    try:
        main(a, b[1:])
    except stepwell.ArgumentError:
        pass


def run_graph(n):
    x = relay.var("x", shape=("n", 4))
    net = relay.nn.relu(relay.nn.dense(x, relay.const(np.full((3, 4), n + 1, "float32")), units=3))
    executor = GraphExecutor(build_graph(relay.module(relay.Function([x], net))))
    executor.run(x=np.ones((2, 4), "float32"))
    assert (executor.get_output(0) == 4 * n + 4).all()


def run(n):
    for place in ("off", folder, folder):  # compiles, compiles and keeps, loads
        os.environ["STEPWELL_CACHE"] = place
        run_program(n)
        if n % 5 == 0:
            run_graph(n)


def state():
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    (memory,) = (int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))  # without pages of code
    mappings = len(Path("/proc/self/maps").read_text().splitlines())
    files, threads = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    modules = sum(isinstance(each, NativeModule) for each in gc.get_objects())
    return np.array([memory, mappings, files, threads, modules])


stepwell.set_num_threads(2)
for n in range(count // 2):
    run(n)
# Caches fill, the heap extends in steps, and LLVM keeps some 4 KB of each compilation: a leak grows in every round.
limits = [2**20 + 20_000 * count, 10, 1, 1, 1]
for start in range(count // 2, count // 2 + 4 * count, count):
    before = state()
    for n in range(start, start + count):
        run(n)
    growth = state() - before
    if (growth < limits).all():
        break
else:
    sys.exit(f"memory, mappings, files, threads and modules grow by {growth} in {count} programs, limits {limits}")
'''


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_programs_leave_nothing(count: int, tmp_path: Path) -> None:
    code = [sys.executable, "-c", _PROGRAM, str(count), str(tmp_path)]
    # Which heap of glibc a thread extends, and so the memory of all of them, depends on the times of threads.
    environment = os.environ | {"MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(code, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
