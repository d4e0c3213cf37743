"""Saving and loading of compiled graphs: native code, constants, and metadata.

Constants are mapped into memory, not read, so that processes which run the same graph share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.parser import Parser

from ...core.dtypes import dtype_of_numpy, numpy_dtype
from ...core.target import Target
from ...dialects import mlir_context
from ...module import Module
from ...transforms.relay.libraries import library_symbols
from ...transforms.relay.plan_memory import ALIGNMENT
from ..llvm.compile import link_code
from ..llvm.saving import IMAGE, code_of, describe_code, read_code
from ..runtime.archive import Archive, Chunks, reading, write_archive
from ..runtime.program import Program
from .executable import Array, Branch, Executable, Step, Steps, TensorSpec

KIND = "graph"
CONSTANTS = "constants.bin"
GRAPH = "graph.mlir"
_TARGETS = {"cpu": "llvm", "cuda": "cuda", "cuda_emulated": "cuda-emulated"}
"""The kind of target for each kind of device."""


def save_executable(executable: Executable, path: Path) -> None:
    """Implements `Executable.save`."""
    content, files = _describe_library(executable.library)
    files[CONSTANTS] = _constant_chunks(executable.constants)
    files[GRAPH] = [str(executable.graph).encode()]
    write_archive(path, KIND, {**content, "graph": _describe(executable)}, files)


def _describe_library(library: Program) -> tuple[dict[str, Any], dict[str, Chunks]]:
    """The archive content and the files of a library."""
    from ..cuda.program import DeviceProgram
    from ..cuda.saving import describe_device_library

    if isinstance(library, DeviceProgram):
        return describe_device_library(library)
    code = code_of(library)
    return {"code": describe_code(code)}, {IMAGE: [code.image]}


def load_executable(path: Path, symbols: Mapping[str, int] | None = None) -> Executable:
    """Implements `Executable.load`."""
    with reading(path):
        archive = Archive(path, KIND)
        link = _read_library(archive)
        parts = _read(archive.content["graph"])
        constants = _read_constants(archive)
        graph = Module(Parser(mlir_context(), archive.read(GRAPH).decode(), GRAPH).parse_module(), constants)
    known = library_symbols(graph, Target(_TARGETS[archive.content.get("device", "cpu")]))
    library = link({**known, **(symbols or {})})
    return Executable(constants=constants, library=library, graph=graph, **parts)


def _read_library(archive: Archive) -> Callable[[Mapping[str, int]], Program]:
    """A function that links the library of an archive, given addresses of C symbols."""
    if "device" in archive.content:
        from ..cuda.program import DeviceProgram
        from ..cuda.saving import read_device_library

        parts = read_device_library(archive)
        return lambda symbols: DeviceProgram(**parts, symbols=symbols)
    code = read_code(archive)
    return lambda symbols: link_code(code, symbols=symbols)


# As JSON


def _describe(executable: Executable) -> dict[str, Any]:
    return {
        "inputs": [asdict(spec) for spec in executable.inputs],
        "outputs": [asdict(spec) for spec in executable.outputs],
        "constants": _describe_constants(executable.constants),
        "entry": executable.entry,
        "workspace": executable.workspace,
        "unshared": executable.unshared,
        "tensors": [{**asdict(spec), "offset": offset} for spec, offset in executable.tensors],
        "steps": [asdict(step) for step in executable.steps],
        "returned": list(executable.returned),
    }


def _read(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an `Executable` that are stored as JSON."""
    tensors = [(_read_spec(**each), each["offset"]) for each in fields["tensors"]]
    return {
        "inputs": tuple(_read_spec(**each) for each in fields["inputs"]),
        "outputs": tuple(_read_spec(**each) for each in fields["outputs"]),
        "entry": fields["entry"],
        "workspace": fields["workspace"],
        "unshared": fields["unshared"],
        "tensors": tuple(tensors),
        "steps": _read_steps(fields["steps"]),
        "returned": tuple(fields["returned"]),
    }


def _read_spec(name: str, shape: list[Any], dtype: str, offset: int | None = None) -> TensorSpec:
    return TensorSpec(name, tuple(shape), dtype)


def _read_steps(steps: list[dict[str, Any]]) -> Steps:
    return tuple(_read_branch(**each) if "condition" in each else _read_step(**each) for each in steps)


def _read_branch(condition: int, then: list[dict[str, Any]], orelse: list[dict[str, Any]]) -> Branch:
    return Branch(condition, _read_steps(then), _read_steps(orelse))


def _read_step(kernel: str, sizes: list[str], inputs: list[int], outputs: list[int]) -> Step:
    return Step(kernel, tuple(sizes), tuple(inputs), tuple(outputs))


# Constants, consecutive, each at a multiple of `ALIGNMENT`


def _constant_offsets(constants: Mapping[str, Array]) -> Iterator[tuple[str, Array, int]]:
    """Yields the name, array and byte offset of each constant."""
    offset = 0
    for name, array in constants.items():
        yield name, array, offset
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT


def _describe_constants(constants: Mapping[str, Array]) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(array.shape), "dtype": dtype_of_numpy(array.dtype).name, "offset": offset}
        for name, array, offset in _constant_offsets(constants)
    ]


def _constant_chunks(constants: Mapping[str, Array]) -> Chunks:
    for array in constants.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % ALIGNMENT)


def _read_constants(archive: Archive) -> dict[str, Array]:
    memory = archive.map(CONSTANTS)
    constants: dict[str, Array] = {}
    for entry in archive.content["graph"]["constants"]:
        shape, dtype, offset = tuple(entry["shape"]), numpy_dtype(entry["dtype"]), entry["offset"]
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        constants[entry["name"]] = memory[offset : offset + size].view(dtype).reshape(shape)
    return constants
