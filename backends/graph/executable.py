"""A compiled graph: inputs and outputs, constants, and native code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from xdsl.parser import Parser

from ...core.diagnostics import did_you_mean
from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, LoadError
from ...core.target import Target
from ...dialects import mlir_context
from ...expressions.sizes import evaluate_size
from ...module import Module
from ...operators.relay import SizeLimit
from ...transforms.relay.libraries import symbols_of_libraries
from ...transforms.relay.placement import DynamicPlace, DynamicWorkspace
from ..devices.device import Device
from ..devices.nd import HostArray, NDArray, empty_device_array
from ..devices.nd import array as nd_array
from ..runtime.memory import empty_array
from ..runtime.program import Program
from ..saving.files import MANIFEST
from ..saving.format import Archive, Contents, reading
from ..saving.loading import load_part
from ..saving.writing import write_archive
from .description import CONSTANTS, GraphDescription, constant_chunks, read_constants
from .steps import Array, Step, Steps, TensorSpec, calls

KIND = "graph"
"""The kind of archive of a graph."""
GRAPH = "graph.mlir"
TARGETS = {"cpu": "llvm", "cuda": "cuda", "cuda_emulated": "cuda-emulated"}
"""The kind of target for each kind of device."""


@dataclass(frozen=True)
class Executable:
    """A compiled graph.

    inputs, outputs: the tensors it takes and returns, in order.  constants: arrays by name.  program: native code,
    whose `entry` takes inputs, constants, outputs and the workspace, in the memory of a device of the program's kind.
    workspace, unshared: the bytes of the memory that its tensors share, and the bytes without sharing.  tensors: all
    tensors, each with its offset in the workspace; places: their places in the `dynamic_workspaces`, which each run
    allocates; steps: the kernels in order.  returned: the indices of the outputs
    among `tensors`.  size_limits: the bounds that sizes must satisfy.  read_graph: returns `graph`.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: Mapping[str, Array]
    program: Program
    entry: str
    workspace: int
    unshared: int
    tensors: tuple[tuple[TensorSpec, int | None], ...]
    dynamic_workspaces: tuple[DynamicWorkspace, ...]
    places: tuple[DynamicPlace | None, ...]
    steps: Steps
    returned: tuple[int, ...]
    size_limits: tuple[SizeLimit, ...]
    read_graph: Callable[[], Module] = field(repr=False, compare=False)
    _placed: dict[Device, Mapping[str, NDArray]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def graph(self) -> Module:
        """The program, with a call of each kernel. LoadError if it is the one of a file that is broken."""
        return self.read_graph()

    def device(self, device: Device | None = None) -> Device:
        """The device on which the graph runs: `device`, by default the first device of the graph's kind. Raises
        ArgumentError for a device of another kind.
        """
        kind = self.program.device_kind
        if device is not None and device.kind != kind:
            raise ArgumentError(f"the graph is compiled for {kind}, expected such a device, got {device}")
        return device or Device(kind)

    def constants_on(self, device: Device) -> Mapping[str, NDArray]:
        """The constants in the memory of a device, copied there on first use. Raises the errors of `nd.array`."""
        if device not in self._placed:
            self._placed[device] = {name: to_device(array, device) for name, array in self.constants.items()}
        return self._placed[device]

    @property
    def library(self) -> Program:
        """`program` by its former name."""
        warnings.warn("Executable.library is now Executable.program", DeprecationWarning, stacklevel=2)
        return self.program

    @property
    def calls(self) -> list[Step]:
        """The kernel calls of all branches; a run executes a subset of them."""
        return list(calls(self.steps))

    def input(self, key: str | int) -> TensorSpec:
        """The input with a name or index. Raises ArgumentError for an unknown key."""
        return self.inputs[_index("input", self.inputs, key)]

    def output_index(self, key: str | int) -> int:
        """The index of the output with a name or index. Raises ArgumentError for an unknown key."""
        return _index("output", self.outputs, key)

    def bind_sizes(self, inputs: Sequence[Array]) -> dict[str, int]:
        """The values of the symbolic sizes for arrays of all inputs. Raises ArgumentError for another number of arrays,
        for an array that does not match, and for a size out of its limits.
        """
        if len(inputs) != len(self.inputs):
            raise ArgumentError(f"{len(inputs)} inputs, expected {len(self.inputs)}")
        sizes: dict[str, int] = {}
        for spec, array in zip(self.inputs, inputs, strict=True):
            spec.bind(array, sizes)
        for limit in self.size_limits:
            number = evaluate_size(limit.size, sizes)
            if not limit.admits(number):
                raise ArgumentError(f"size {limit.size} is {number}, expected {limit.requirement}")
        return sizes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the graph with its code and constants: as one file if `path` ends in `.tar`, else as a folder.

        Replaces a graph saved at `path`. Raises OptionError if `path` holds anything else, and OSError.
        """
        code = self.program.contents()
        constants, graph = constant_chunks(self.constants), [str(self.graph).encode()]
        content = {**code.content, "graph": GraphDescription.of(self.graph, self.entry).as_json()}
        write_archive(Path(path), Contents(KIND, content, {**code.files, CONSTANTS: constants, GRAPH: graph}))

    @staticmethod
    def load(path: str | os.PathLike[str], symbols: Mapping[str, int] | None = None) -> Executable:
        """Loads a graph that `save` saved. It is native code: load only files you trust.

        symbols: addresses of C symbols, which take precedence over those of the graph's libraries and of the process.
        Raises LoadError if the files are broken or for another machine; LinkError for an undefined C symbol; the errors
        of `library_symbols`.
        """
        return _load(Path(path), symbols or {}, _checked_graph)

    @staticmethod
    def load_cached(path: Path) -> Executable:
        """Loads a graph that `save` saved and nothing has edited: as `load`, but parses the graph on first use, and
        does not compare its description with it.
        """
        return _load(path, {}, _described_graph)


_Graph: TypeAlias = tuple[Callable[[], Module], GraphDescription]


def _load(path: Path, symbols: Mapping[str, int], read: Callable[[Archive], _Graph]) -> Executable:
    """Loads a graph. read: reads the graph, without constants, and its description."""
    with reading(path):
        archive = Archive(path, (KIND,), mapped=(CONSTANTS,))
        link = load_part(archive)
        read_graph, description = read(archive)
        target = Target(TARGETS[archive.content.get("device", "cpu")])
    program = link({**symbols_of_libraries(description.libraries, target), **symbols})
    description.check(archive.path, program)
    constants = read_constants(archive, description.constants)

    def graph() -> Module:
        module = read_graph()
        module.constants.update(constants)
        return module

    return Executable(constants=constants, program=program, read_graph=graph, **description.fields())


def _parse(text: str) -> Module:
    return Module(Parser(mlir_context(), text, GRAPH).parse_module())


def _described_graph(archive: Archive) -> _Graph:
    text = archive.read(GRAPH).decode()
    return lambda: _parse(text), GraphDescription.from_json(archive.content["graph"])


def _checked_graph(archive: Archive) -> _Graph:
    """The graph of an archive. Raises LoadError if its description is another."""
    saved: dict[str, object] = archive.content["graph"]
    entry = str(saved["entry"])
    with reading(archive.path, GRAPH):
        graph = _parse(archive.read(GRAPH).decode())
        graph.function_ops[entry].verify()
        description = GraphDescription.of(graph, entry)
    expected = description.as_json()
    for name in {**expected, **saved}:
        if saved.get(name) != expected.get(name):
            raise LoadError(f"{archive.path}: the {name} of the graph in {MANIFEST} are not those of {GRAPH}")
    return lambda: graph, description


def _index(kind: str, specs: Sequence[TensorSpec], key: str | int) -> int:
    names = [spec.name for spec in specs]
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    if key not in names:
        near = did_you_mean(key, names) if isinstance(key, str) else ""
        raise ArgumentError(f"no {kind} {key!r}{near}, there is {', '.join(names) or 'none'}")
    return names.index(str(key))


# Memory


def allocate_array(shape: Sequence[int], dtype: str, device: Device, name: str = "") -> NDArray:
    """Allocates an uninitialized array on a device, aligned as by `empty_array`. name: its name in error messages.
    Raises DeviceError if the device does not exist or has no memory left, SizeError for a shape that no array has.
    """
    kind = numpy_dtype(dtype)
    if device.kind != "cpu":
        return empty_device_array(device, tuple(shape), kind, name)
    return HostArray(empty_array(shape, kind, name or f"{dtype}{list(shape)}"))


def to_device(array: Array, device: Device) -> NDArray:
    """An array in the memory of a device, without a copy for the CPU."""
    return HostArray(array) if device.kind == "cpu" else nd_array(array, device)
