"""Saved programs and graphs, and random changes of their files."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...backends.build import build
from ...backends.graph import Executable, GraphExecutor, build_graph
from ...backends.runtime import Program
from ...backends.runtime.packed import register_func
from ...backends.saving.format import checksum
from ...core.errors import LoadError
from ...frontends.mlir import parse_mlir
from ...frontends.tvmscript import parse_tvmscript
from .choices import Choices, flag, pick, shuffle

MANIFEST = "stepwell.json"

_LOOPS = """
@T.prim_func
def main(a: T.handle, b: T.handle, x: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32", strides=[T.int32(), 1])
    B = T.match_buffer(b, (n,), "float32")
    assert x > T.float32(0), "x must be positive"
    T.evaluate(T.call_packed("stepwell.testing.double", B))
    for i in range(n):
        B[i] = A[i, 1] + T.call_extern("float32", "hypotf", B[i], x)
"""
_KERNEL = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        B[i] = A[i] + 1.0
"""
_ROWS = '#relay.sizes<"n">'
_GRAPH = f"""
relay.func @main("x" %x: tensor<?x8xf32, {_ROWS}>, "y" %y: tensor<4x4xf32>) {{
  %w = relay.constant "w" : tensor<3x8xf32>
  %b = relay.constant "b" : tensor<3x8xf32>
  %0 = relay.nn.dense(%x, %w) : (tensor<?x8xf32, {_ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {_ROWS}>
  %1 = relay.nn.softmax(%0) : (tensor<?x3xf32, {_ROWS}>) -> tensor<?x3xf32, {_ROWS}>
  %2 = relay.nn.dense(%x, %b) : (tensor<?x8xf32, {_ROWS}>, tensor<3x8xf32>) -> tensor<?x3xf32, {_ROWS}>
  %3 = relay.nn.dense(%y, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = relay.nn.softmax(%3) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = relay.nn.dense(%4, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  relay.return %1 : tensor<?x3xf32, {_ROWS}>, %2 : tensor<?x3xf32, {_ROWS}>, %5 : tensor<4x4xf32>
}}
"""


@dataclass(frozen=True)
class _Kind:
    """A kind of saved file. save: writes it to a path.  run: loads it and returns its results."""

    save: Callable[[Path], object]
    run: Callable[[Path], bytes]


def _double(array: Any) -> None:
    array *= 2


def _save_program(path: Path) -> None:
    register_func("stepwell.testing.double", _double, override=True)
    build(parse_tvmscript(_LOOPS)).export(path)


def _run_program(path: Path) -> bytes:
    a, b = np.arange(12, dtype="float32").reshape(3, 4), np.ones(3, "float32")
    Program.load(path)(a, b, 2.0)
    return b.tobytes()


def _save_kernel(path: Path) -> None:
    build(parse_tvmscript(_KERNEL), target="cuda-emulated").export(path)


def _run_kernel(path: Path) -> bytes:
    b = np.zeros(64, "float32")
    Program.load(path)(np.arange(64, dtype="float32"), b)
    return b.tobytes()


def _save_graph(path: Path) -> None:
    mod = parse_mlir(_GRAPH)
    mod.constants["w"] = np.arange(24, dtype="float32").reshape(3, 8)
    mod.constants["b"] = -mod.constants["w"]
    build_graph(mod).save(path)


def _run_graph(path: Path) -> bytes:
    executor = GraphExecutor(Executable.load(path))
    executor.run(x=np.linspace(-1, 1, 40, dtype="float32").reshape(5, 8), y=np.eye(4, dtype="float32"))
    executor.profile(1)
    return b"".join(np.asarray(executor.get_output(n)).tobytes() for n in range(3))


KINDS = {
    "program": _Kind(_save_program, _run_program),
    "graph": _Kind(_save_graph, _run_graph),
    "kernel": _Kind(_save_kernel, _run_kernel),
}


@cache
def _original(kind: str, name: str) -> tuple[dict[str, bytes], bytes]:
    """The contents of the files of a saved program, by path relative to its folder, and the results."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        KINDS[kind].save(path)
        files = [file for file in Path(folder).rglob("*") if file.is_file()]
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}, KINDS[kind].run(path)


@dataclass(frozen=True)
class ChangedArtifact:
    """A saved program with changed files. name: `out`, a folder, or `out.tar`, an archive.  files: the contents by
    path."""

    kind: str
    name: str
    files: dict[str, bytes]
    change: str

    def check(self) -> bool:
        """Whether the program can be loaded. Raises AssertionError if it then computes other results."""
        _, expected = _original(self.kind, self.name)
        with TemporaryDirectory() as folder:
            for file, content in self.files.items():
                Path(folder, file).parent.mkdir(exist_ok=True)
                Path(folder, file).write_bytes(content)
            try:
                got = KINDS[self.kind].run(Path(folder, self.name))
            except LoadError:
                return False
        assert got == expected, f"a {self.kind} computes other results after {self.change}"
        return True


def changed_metadata(choices: Choices, kind: str) -> ChangedArtifact:
    """A saved program with one to three changes of its metadata, and their right checksum."""
    files, _ = _original(kind, "out")
    manifest = json.loads(files[f"out/{MANIFEST}"])
    for _ in range(pick(choices, (1, 1, 3))):
        _change(choices, pick(choices, (manifest, manifest.get("content"))))
    manifest["checksum"] = checksum(manifest)
    text = json.dumps(manifest)
    return ChangedArtifact(kind, "out", {**files, f"out/{MANIFEST}": text.encode()}, f"changed metadata: {text}")


def changed_bytes(choices: Choices, kind: str) -> ChangedArtifact:
    """A saved program, as a folder or an archive, one of whose files has other bytes, or fewer, or more, or is
    missing."""
    name = pick(choices, ("out", "out.tar"))
    files, _ = _original(kind, name)
    file = pick(choices, sorted(files))
    content = bytearray(files[file])
    place, count = choices.integer(0, max(len(content) - 1, 0)), pick(choices, (1, 4, 100))
    where = f"{file} at {place} of {len(content)}"
    match choices.integer(0, 4):
        case 0:
            content[place : place + 1] = bytes([choices.integer(0, 255)])
            change = f"another byte of {where}"
        case 1:
            del content[place : place + count]
            change = f"{count} bytes less of {where}"
        case 2:
            content[place:place] = bytes(choices.integer(0, 255) for _ in range(count))
            change = f"{count} bytes more in {where}"
        case 3:
            del content[place:]
            change = f"the end of {where}"
        case _:
            return ChangedArtifact(kind, name, {n: c for n, c in files.items() if n != file}, f"the loss of {file}")
    return ChangedArtifact(kind, name, {**files, file: bytes(content)}, change)


_NUMBERS = (-1, 0, 1, 7, 64, 2**31, 2**63, -(2**63), 2**100, 0.5, float("nan"), float("inf"))
_STRINGS = ("", "main", "x", "float64", "int8", "handle", "cpu", "n", "n * n", "9" * 5000)
_VALUES: tuple[Any, ...] = (None, True, False, *_NUMBERS, *_STRINGS, [], {}, [1], {"name": "x"})


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each member of a JSON value, as its list or object, and its index or key."""
    keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()  # pyright: ignore
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _change(choices: Choices, value: Any) -> None:
    """Changes one member of a JSON value in place."""
    places = list(_places(value))
    if not places:
        return
    holder, key = pick(choices, places)
    old = holder[key]
    match choices.integer(0, 5):
        case 0:
            del holder[key]
        case 1 if isinstance(old, int):
            holder[key] = old + (1 if flag(choices) else -1)
        case 2 if isinstance(old, list):
            shuffle(choices, old)  # pyright: ignore[reportUnknownArgumentType]
        case 3 if isinstance(old, list) and old:
            old.append(copy.deepcopy(pick(choices, old)))  # pyright: ignore
        case 4:
            others = [each[name] for each, name in places if type(each[name]) is type(old)]
            holder[key] = copy.deepcopy(pick(choices, others))
        case _:
            holder[key] = copy.deepcopy(pick(choices, _VALUES))
