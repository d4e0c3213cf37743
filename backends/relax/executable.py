"""A compiled program of `relax`: native code, constants, and the functions that the virtual machine executes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from xdsl.parser import Parser

from ...core.errors import ArgumentError, LoadError
from ...core.target import Target
from ...core.walking import find_ops
from ...dialects import mlir_context
from ...module import Module
from ...operators.relax import FuncOp
from ...operators.relax.devices import device_names
from ...operators.relay import CallOp, ConstantOp, dtype_of_tensor, shape_of
from ...operators.relay import FuncOp as GraphOp
from ...transforms.relay.libraries import libraries_in, symbols_of_libraries
from ...transforms.relay.placement import offsets_of, planned_bytes, workspace_of
from ..devices.device import Device
from ..devices.device import device as device_of
from ..devices.nd import NDArray
from ..graph.description import CONSTANTS, GraphDescription, constant_chunks, read_constants
from ..graph.executable import TARGETS, to_device
from ..graph.steps import Array, TensorSpec
from ..runtime.program import Program
from ..saving.format import PARTS, Archive, Contents, reading, with_parts
from ..saving.loading import load_part
from ..saving.writing import write_archive

KIND = "program"
"""The kind of archive of a program."""
PROGRAM = "program.mlir"


@dataclass(frozen=True)
class VMExecutable:
    """A compiled program of `relax`, for a `VirtualMachine`.

    program: native code of its graphs and kernels.  constants: arrays by name.  read_module: returns `module`.
    others: native code for devices of other kinds, by the kind.
    """

    program: Program
    constants: Mapping[str, Array]
    read_module: Callable[[], Module] = field(repr=False, compare=False)
    others: Mapping[str, Program] = field(default_factory=dict[str, Program], repr=False, compare=False)
    _placed: dict[Device, Mapping[str, NDArray]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def module(self) -> Module:
        """The program, whose functions of relax call graphs of kernels. LoadError if it is one of a broken file."""
        return self.read_module()

    @property
    def functions(self) -> dict[str, FuncOp]:
        """The functions that the virtual machine executes, by name."""
        return {name: func for name, func in self.module.function_ops.items() if isinstance(func, FuncOp)}

    @cached_property
    def graphs(self) -> dict[str, GraphDescription]:
        """The graphs that these functions call, by name."""
        called = {call.callee.string_value() for func in self.functions.values() for call in find_ops(func, CallOp)}
        return {
            name: GraphDescription.of(self.module, name)
            for name, func in self.module.function_ops.items()
            if isinstance(func, GraphOp) and name in called
        }

    def device(self, device: Device | None = None) -> Device:
        """The device on which the program runs: `device`, by default the first of the program's kind. Raises
        ArgumentError for a device of another kind.
        """
        kind = self.program.device_kind
        if device is not None and device.kind != kind:
            raise ArgumentError(f"the program is compiled for {kind}, expected such a device, got {device}")
        return device or Device(kind)

    @cached_property
    def device_names(self) -> list[str]:
        """The names of the devices of the program, if it has several."""
        names = device_names(self.module.op)
        return names if len(names) > 1 else []

    def devices(self, given: Device | Sequence[Device] | None = None) -> list[Device]:
        """The devices on which the program runs: by default those with the numbers of its devices; each device of the
        kind `llvm` is the processor. Raises ArgumentError for other devices than the program is compiled for.
        """
        devices = None if given is None else [given] if isinstance(given, Device) else list(given)
        if not self.device_names:
            if devices is not None and len(devices) != 1:
                raise ArgumentError(f"{len(devices)} devices, expected one: the program is compiled for one device")
            return [self.device(None if devices is None else devices[0])]
        kinds = [name.partition(":") for name in self.device_names]
        expected = [Device("cpu") if kind == "llvm" else device_of(kind, int(number)) for kind, _, number in kinds]
        if devices is None:
            return expected
        if [each.kind for each in devices] != [each.kind for each in expected]:
            wanted, got = (", ".join(each.kind for each in some) or "none" for some in (expected, devices))
            raise ArgumentError(f"devices of kinds {got}, expected {wanted}, as {', '.join(self.device_names)}")
        return devices

    def program_for(self, device: Device) -> Program:
        """The native code for a device."""
        return self.others.get(device.kind, self.program)

    def constants_on(self, device: Device) -> Mapping[str, NDArray]:
        """The constants in the memory of a device, copied there on first use. Raises the errors of `nd.array`."""
        if device not in self._placed:
            self._placed[device] = {name: to_device(array, device) for name, array in self.constants.items()}
        return self._placed[device]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the program with its code and constants: as one file if `path` ends in `.tar`, else as a folder.

        Replaces a program saved at `path`. Raises OptionError if `path` holds anything else, UnsupportedError for a
        program without native code, and OSError.
        """
        code = self.program.contents()
        files = {CONSTANTS: constant_chunks(self.constants), PROGRAM: [str(self.module).encode()]}
        content = {**code.content, "constants": list(self.constants)}
        contents = Contents(KIND, content, {**code.files, **files})
        others = {kind: program.contents() for kind, program in self.others.items()}
        write_archive(Path(path), with_parts(contents, others) if others else contents)

    @staticmethod
    def load(path: str | os.PathLike[str], symbols: Mapping[str, int] | None = None) -> VMExecutable:
        """Loads a program that `save` saved. It is native code: load only files you trust.

        symbols: addresses of C symbols, which take precedence over those of the program's libraries and of the process.
        Raises LoadError if the files are broken or for another machine; LinkError for an undefined C symbol.
        """
        executable = _load(Path(path), symbols or {})
        for graph in executable.graphs.values():
            programs = (executable.program, *executable.others.values())
            graph.check(Path(path), next((each for each in programs if graph.entry in each), executable.program))
        for func in executable.functions.values():
            _check_memory(Path(path), func)
        return executable

    @staticmethod
    def load_cached(path: Path) -> VMExecutable:
        """Loads a program that `save` saved and nothing has edited: as `load`, without checks of its graphs."""
        return _load(path, {})


def _check_memory(path: Path, func: FuncOp) -> None:
    """Raises LoadError for a result outside of the memory of its function."""
    whole = workspace_of(func)
    for op in func.body.block.ops:
        for n, offset in enumerate(offsets_of(op)):
            size = None if offset is None else planned_bytes(op.results[n], func.size_bounds)
            if offset is not None and (size is None or not 0 <= offset <= whole - size):
                place = f"at byte {offset} of a workspace of {whole} bytes"
                raise LoadError(f"{path}: result {n} of {op.name} in {func.sym_name.data} is {place}")


def _load(path: Path, symbols: Mapping[str, int]) -> VMExecutable:
    with reading(path):
        archive = Archive(path, (KIND,), mapped=(CONSTANTS,))
        link = load_part(archive)
        links = {kind: load_part(archive.part(kind)) for kind in archive.content.get(PARTS, ())}
        target = Target(TARGETS[archive.content.get("device", "cpu")])
        names: list[str] = archive.content["constants"]
    with reading(path, PROGRAM):
        module = Module(Parser(mlir_context(), archive.read(PROGRAM).decode(), PROGRAM).parse_module())
        for func in module.function_ops.values():
            if isinstance(func, FuncOp | GraphOp):
                func.verify()
        specs = {
            op.array_name.data: TensorSpec(op.array_name.data, shape_of(op.result), dtype_of_tensor(op.result))
            for op in find_ops(module.op, ConstantOp)
            if op.array_name is not None
        }
        constants = read_constants(archive, [specs[name] for name in names])
    module.constants.update(constants)
    program = link({**symbols_of_libraries(libraries_in(module), target), **symbols})
    others = {kind: link_other(symbols) for kind, link_other in links.items()}
    return VMExecutable(program, constants, lambda: module, others)
