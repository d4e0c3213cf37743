"""The memory of a process that compiles, runs, saves and loads for long."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import gc
import sys
from pathlib import Path

import numpy as np

import stepwell
from stepwell.backends.graph import Executable, GraphExecutor, build_graph
from stepwell.backends.runtime import Program

LOOPS = '''
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            B[vi] = A[vi] + {n}.0
'''
GRAPH = '''
relay.func @main("x" %x: tensor<4x8xf32>) {
  %w = relay.constant "w" : tensor<3x8xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  relay.return %0 : tensor<4x3xf32>
}
'''
path = Path(sys.argv[3])


def build(n):
    n = n % 500 + 1
    b = np.zeros(n, "float32")
    stepwell.build(stepwell.parse_tvmscript(LOOPS.format(n=n)))(b, b.copy())


def run_oracle(n):
    n = n % 50 + 1
    b = np.zeros(n, "float32")
    stepwell.build(stepwell.parse_tvmscript(LOOPS.format(n=n)), target="python")(b, b.copy())


def schedule(n):
    s = stepwell.Schedule(stepwell.parse_tvmscript(LOOPS.format(n=n % 500 + 1)))
    (i,) = s.get_loops(s.get_block("B"))
    s.split(i, [None, 4])
    s.mod.script()


def graph():
    mod = stepwell.parse_mlir(GRAPH)
    mod.constants["w"] = np.ones((3, 8), "float32")
    return build_graph(mod)


def build_and_run_graph(n):
    executor = GraphExecutor(graph())
    executor.run(x=np.zeros((4, 8), "float32"))


def save_and_load(n):
    if not path.exists():
        graph().save(path)
    executor = GraphExecutor(Executable.load(path))
    executor.run(x=np.zeros((4, 8), "float32"))


def resident():
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


work, times = globals()[sys.argv[1]], int(sys.argv[2])
for n in range(times // 5):
    work(n)
start = resident()
for n in range(times):
    work(n)
print(resident() - start)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the resident memory from /proc")
@pytest.mark.parametrize(
    ("work", "times"),
    [("build", 1000), ("run_oracle", 500), ("schedule", 300), ("build_and_run_graph", 100), ("save_and_load", 300)],
)
def test_memory_does_not_grow_with_the_number_of_programs(tmp_path: Path, work: str, times: int) -> None:
    command = [sys.executable, "-c", _PROGRAM, work, str(times), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kilobytes = int(done.stdout)
    assert kilobytes < 10_000, f"{kilobytes / times:.1f} KB for each"
