"""CUDA C++ text as kernels for launches on the CPU."""

from __future__ import annotations

import ctypes
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import ArgumentError
from .compile import (
    STATIC_SHARED_LIMIT,
    InvalidCudaError,
    LibraryVariable,
    compile_kernels,
    constant_names,
    dynamic_shared_name,
    library_variables,
    parameter_names,
)
from .driver import DeviceMemory, forget_source, last_error, remember_source, runtime_functions

Argument = np.ndarray[Any, Any] | np.generic | DeviceMemory

_MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h."""


@dataclass(frozen=True)
class EmulatedParameter:
    """A parameter of a kernel. kind: of its type, `pointer`, `signed`, `unsigned`, `float` or `other`.  size: in bytes.

    pointee: the bytes of the pointee, 0 for void.
    """

    name: str
    kind: str
    size: int
    pointee: int


@dataclass(frozen=True)
class EmulatedKernel:
    """A kernel of a module. address: the handle for launches.  static_shared: bytes of `__shared__` variables."""

    name: str
    address: int
    parameters: tuple[EmulatedParameter, ...]
    max_threads: int
    static_shared: int


class EmulatedModule:
    """Kernels on the CPU. Handles and addresses are valid during the lifetime of this object.

    source: their text.  kernels: by name.
    """

    def __init__(self, source: str, kernels: Sequence[str], checks: bool = True):
        self.source = source
        folder = Path(tempfile.mkdtemp(prefix="stepwell-"))
        self._library = folder / "kernels.so"
        weakref.finalize(self, _discard, folder, self._library)
        compile_kernels(source, kernels, self._library, checks)
        self._native = ctypes.CDLL(str(self._library))
        remember_source(self._library, source)
        self.kernels: Mapping[str, EmulatedKernel] = self._register(kernels, library_variables(self._library), checks)

    def _register(
        self, names: Sequence[str], library_symbols: Sequence[LibraryVariable], checks: bool
    ) -> dict[str, EmulatedKernel]:
        """Registers the variables and kernels with the runtime."""
        handles = {name: _Handle.in_dll(self._native, f"stepwell_kernel_{name}") for name in names}
        first = ctypes.addressof(handles[names[0]])
        base = first - next(each.address for each in library_symbols if each.name == f"stepwell_kernel_{names[0]}")
        variables = [each for each in library_symbols if each.size and not each.name.startswith("stepwell_")]
        module = runtime_functions()["module"](
            str(self._library).encode(), dynamic_shared_name(self.source).encode(), base, checks
        )
        weakref.finalize(self, runtime_functions()["forget"], module).atexit = False
        constants = constant_names(self.source)
        for each in variables:
            name = each.name.rpartition("::")[2]
            space = _SPACE_CONSTANT if name in constants else _SPACES.get(each.section, _SPACE_GLOBAL)
            runtime_functions()["variable"](module, name.encode(), base + each.address, each.size, space)
        return {name: self._kernel(name, handle, module, variables) for name, handle in handles.items()}

    def _kernel(self, name: str, handle: _Handle, module: int, variables: Sequence[LibraryVariable]) -> EmulatedKernel:
        own = (each for each in variables if each.section == _SHARED and _is_of(each.name, name))
        shared = sum(each.size for each in own)
        if shared > STATIC_SHARED_LIMIT:
            raise InvalidCudaError(
                f"kernel {name}: {shared} bytes of static shared memory, expected {STATIC_SHARED_LIMIT} at most"
            )
        address = ctypes.addressof(handle)
        runtime_functions()["kernel"](module, address, shared)
        names = parameter_names(self.source, name)
        if len(names) != handle.parameter_count:
            names = [f"argument {i}" for i in range(handle.parameter_count)]
        parameters = tuple(
            EmulatedParameter(names[i], _KINDS[each.kind], each.size, each.pointee)
            for i, each in enumerate(handle.parameters[: handle.parameter_count])
        )
        return EmulatedKernel(name, address, parameters, handle.max_threads, shared)

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
    ) -> None:
        """Runs a kernel and waits for it.

        grid, block: one to three extents, x first.  arguments: for pointers arrays, which are copied to device memory
        and back after the launch, or `DeviceMemory`; numpy scalars of the same size for other parameters. shared_bytes:
        of dynamic shared memory, up to the hardware's limit. Raises ArgumentError for mismatched arguments,
        EmulationError for all errors that the emulation detects.
        """
        kernel = self.kernels[name]
        if len(arguments) != len(kernel.parameters):
            raise ArgumentError(f"{name}: {len(arguments)} arguments, expected {len(kernel.parameters)}")
        copies = [_Argument.of(each, parameter) for each, parameter in zip(arguments, kernel.parameters, strict=True)]
        pointers = (ctypes.c_void_p * max(1, len(copies)))(*(ctypes.addressof(each.value) for each in copies))
        if shared_bytes > STATIC_SHARED_LIMIT - kernel.static_shared:
            runtime_functions()["set_attribute"](kernel.address, _MAX_DYNAMIC_SHARED, shared_bytes)
        sizes = (*_extents(grid, "grid"), *_extents(block, "block"))
        if runtime_functions()["launch"](kernel.address, *sizes, shared_bytes, None, pointers, None) != 0:
            raise last_error(self._library)
        for each in copies:
            each.copy_back()


def compile_emulated(source: str, kernels: Sequence[str], checks: bool = True) -> EmulatedModule:
    """Compiles CUDA C++ for the CPU.

    source: text that NVRTC accepts as well.  kernels: the names of the kernels to launch, at least one.  checks:
    whether each access is checked; optimized code without these checks is up to 80 times faster. Raises PluginError if
    g++ is not installed, InvalidCudaError if g++ rejects the text.
    """
    if not kernels:
        raise ArgumentError("no kernel is named, expected one at least")
    return EmulatedModule(source, kernels, checks)


# The structs of emulation.h


class _ParameterStruct(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char), ("size", ctypes.c_uint), ("pointee", ctypes.c_uint)]


class _Handle(ctypes.Structure):
    _fields_ = [
        ("magic", ctypes.c_ulonglong),
        ("name", ctypes.c_char_p),
        ("run", ctypes.c_void_p),
        ("parameter_count", ctypes.c_uint),
        ("parameters", ctypes.POINTER(_ParameterStruct)),
        ("max_threads", ctypes.c_uint),
        ("dynamic_shared", ctypes.c_uint),
        ("static_shared", ctypes.c_uint),
        ("module", ctypes.c_void_p),
    ]


_SHARED = "stepwell_shared"
_SPACES = {_SHARED: 1}
_SPACE_GLOBAL, _SPACE_CONSTANT = 0, 2
_KINDS = {b"p": "pointer", b"i": "signed", b"u": "unsigned", b"f": "float", b"x": "other"}


def _is_of(variable: str, kernel: str) -> bool:
    """Whether a demangled name is a variable of a function: `kernel::A_shared`, `kernel(float*)::A_shared`."""
    return re.match(rf"{kernel}(\(.*\))?::", variable) is not None


def _discard(folder: Path, library: Path) -> None:
    forget_source(library)
    shutil.rmtree(folder, ignore_errors=True)


# Arguments


def _extents(extents: Sequence[int], name: str) -> tuple[int, int, int]:
    if not 1 <= len(extents) <= 3:
        raise ArgumentError(f"{name} has {len(extents)} extents, expected 1 to 3")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


@dataclass
class _Argument:
    """An argument of a launch. value: the kernel's argument.  array: the source of the copy in `memory`."""

    value: Any
    memory: DeviceMemory | None = None
    array: np.ndarray[Any, Any] | None = None

    @staticmethod
    def of(argument: Argument, parameter: EmulatedParameter) -> _Argument:
        expected = f"{parameter.name}: expected a {parameter.kind}"
        if isinstance(argument, np.generic):
            if (
                parameter.kind == "pointer"
                or argument.nbytes != parameter.size
                or not _is_kind(argument, parameter.kind)
            ):
                raise ArgumentError(f"{expected} of {parameter.size} bytes, got {argument.dtype}")
            return _Argument((ctypes.c_char * argument.nbytes).from_buffer_copy(argument.tobytes()))
        if parameter.kind != "pointer":
            raise ArgumentError(f"{expected} of {parameter.size} bytes, got {type(argument).__name__}")
        if isinstance(argument, DeviceMemory):
            return _Argument(ctypes.c_void_p(argument.address), argument)
        if parameter.pointee and argument.nbytes % parameter.pointee:
            raise ArgumentError(
                f"{expected} to elements of {parameter.pointee} bytes, got an array of {argument.dtype}"
            )
        memory = DeviceMemory.of(argument, parameter.name)
        return _Argument(ctypes.c_void_p(memory.address), memory, argument)

    def copy_back(self) -> None:
        if self.memory is not None and self.array is not None and self.array.flags.writeable:
            self.array[...] = self.memory.view(self.array.shape, self.array.dtype)


def _is_kind(argument: np.generic, kind: str) -> bool:
    """Whether a scalar matches a kind of type. Integers may differ in signedness: their bits are passed."""
    return (argument.dtype.kind == "f") == (kind == "float") or kind == "other"
