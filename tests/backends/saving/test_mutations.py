"""Saved programs with random changes of their metadata, with right checksums: a LoadError, or the same results."""

import subprocess
import sys
from pathlib import Path

import pytest

from stepwell.backends.cuda.emulation import compiler

_PROGRAM = """
import copy
import json
import random
import sys
from pathlib import Path

import numpy as np

import stepwell
from stepwell.backends.runtime import Program
from stepwell.backends.saving.format import checksum

kind, times, path = sys.argv[1], int(sys.argv[3]), Path(sys.argv[4])
random.seed(int(sys.argv[2]))

LOOPS = '''
@T.prim_func
def main(a: T.handle, b: T.handle, x: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32", strides=[T.int32(), 1])
    B = T.match_buffer(b, (n,), "float32")
    assert x > T.float32(0), "x must be positive"
    T.evaluate(T.call_packed("test.mutations.double", B))
    for i in range(n):
        B[i] = A[i, 1] + T.call_extern("float32", "hypotf", B[i], x)
'''
KERNEL = '''
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        B[i] = A[i] + 1.0
'''
ROWS = '#relay.sizes<"n">'
GRAPH = f'''
relay.func @main("x" %x: tensor<?x8xf32, {ROWS}>, "y" %y: tensor<4x4xf32>) {{
  %w = relay.constant "w" : tensor<3x8xf32>
  %b = relay.constant "b" : tensor<3x8xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<?x8xf32, {ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {ROWS}>
  %1 = relay.nn.softmax(%0) : (tensor<?x3xf32, {ROWS}>) -> tensor<?x3xf32, {ROWS}>
  %2 = relay.nn.dense(%x, %b) : (tensor<?x8xf32, {ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {ROWS}>
  %3 = relay.nn.dense(%y, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = relay.nn.softmax(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = relay.nn.dense(%4, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  relay.return %1 : tensor<?x3xf32, {ROWS}>, %2 : tensor<?x3xf32, {ROWS}>, %5 : tensor<4x4xf32>
}}
'''


@stepwell.register_func("test.mutations.double")
def double(b):
    b *= 2


def save_program():
    stepwell.build(stepwell.parse_tvmscript(LOOPS)).export(path)


def run_program():
    program = Program.load(path)
    a, b = np.arange(12, dtype="float32").reshape(3, 4), np.ones(3, "float32")
    program(a, b, 2.0)
    return b.tobytes()


def save_kernel():
    stepwell.build(stepwell.parse_tvmscript(KERNEL), target="cuda-emulated").export(path)


def run_kernel():
    b = np.zeros(64, "float32")
    Program.load(path)(np.arange(64, dtype="float32"), b)
    return b.tobytes()


def save_graph():
    mod = stepwell.parse_mlir(GRAPH)
    mod.constants["w"] = np.arange(24, dtype="float32").reshape(3, 8)
    mod.constants["b"] = -mod.constants["w"]
    stepwell.build_graph(mod).save(path)


def run_graph():
    executor = stepwell.GraphExecutor(stepwell.Executable.load(path))
    executor.run(x=np.linspace(-1, 1, 40, dtype="float32").reshape(5, 8), y=np.eye(4, dtype="float32"))
    executor.profile(1)
    return b"".join(executor.get_output(n).tobytes() for n in range(3))


VALUES = [None, True, False, -1, 0, 1, 7, 64, 2**31, 2**63, -(2**63), 2**100, 0.5, float("nan"), float("inf"), "",
          "main", "x", "float64", "int8", "handle", "cpu", "n", "n * n", "9" * 5000, [], {}, [1], {"name": "x"}]


def places(value):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def mutate(value):
    holder, key = random.choice(list(places(value)) or [({"": 0}, "")])
    old = holder[key]
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(old, int):
            holder[key] = old + random.choice([-1, 1])
        case 2 if isinstance(old, list):
            random.shuffle(old)
        case 3 if isinstance(old, list) and old:
            old.append(copy.deepcopy(random.choice(old)))
        case 4:
            others = [each[name] for each, name in places(value) if type(each[name]) is type(old)]
            holder[key] = copy.deepcopy(random.choice(others or [old]))
        case _:
            holder[key] = random.choice(VALUES)


save, run = globals()[f"save_{kind}"], globals()[f"run_{kind}"]
save()
expected, text = run(), (path / "stepwell.json").read_text()
loaded = 0
for _ in range(times):
    manifest = json.loads(text)
    for _ in range(random.choice([1, 1, 3])):
        mutate(random.choice([manifest, manifest.get("content")]))
    manifest["checksum"] = checksum(manifest)
    (path / "stepwell.json").write_text(json.dumps(manifest))
    try:
        actual = run()
    except stepwell.LoadError:
        continue
    assert actual == expected
    loaded += 1
print(loaded)
"""


def run_mutations(kind: str, seed: int, times: int, path: Path) -> int:
    """The number of changed programs that could be loaded; each of them had the results of the original."""
    command = [sys.executable, "-c", _PROGRAM, kind, str(seed), str(times), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"exit code {done.returncode} for {(path / 'stepwell.json').read_text()}\n{done.stderr[-3000:]}")
    return int(done.stdout)


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("kind", "times"), [("program", 150), ("graph", 60), pytest.param("kernel", 60, marks=pytest.mark.slow)]
)
def test_changed_metadata_are_refused_or_mean_the_same(fuzz_seed: int, tmp_path: Path, kind: str, times: int) -> None:
    if kind == "kernel" and compiler() is None:
        pytest.skip("needs g++ and binutils")
    assert run_mutations(kind, fuzz_seed, times, tmp_path / "out") < times
