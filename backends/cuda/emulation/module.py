"""CUDA C++ text as kernels that can be launched on the CPU."""

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
    Symbol,
    compile_kernels,
    constant_names,
    dynamic_shared_name,
    parameter_names,
    symbols,
)
from .driver import DeviceMemory, driver, forget_source, last_error, remember_source

Argument = np.ndarray[Any, Any] | np.generic | DeviceMemory

_MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of cuda.h."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. kind: of its type, `pointer`, `signed`, `unsigned`, `float` or `other`.  size: in bytes.

    pointee: the bytes of what a pointer points to, 0 if that is void.
    """

    name: str
    kind: str
    size: int
    pointee: int


@dataclass(frozen=True)
class Kernel:
    """A kernel of a module. address: the handle that launches take.  static_shared: bytes of `__shared__` variables."""

    name: str
    address: int
    parameters: tuple[Parameter, ...]
    max_threads: int
    static_shared: int


class EmulatedModule:
    """Kernels on the CPU. Handles and addresses are valid as long as this lives.

    source: their text.  kernels: by name.
    """

    def __init__(self, source: str, kernels: Sequence[str]):
        self.source = source
        folder = Path(tempfile.mkdtemp(prefix="stepwell-"))
        self._library = folder / "kernels.so"
        weakref.finalize(self, _discard, folder, self._library)
        compile_kernels(source, kernels, self._library)
        self._native = ctypes.CDLL(str(self._library))
        remember_source(self._library, source)
        self.kernels: Mapping[str, Kernel] = self._register(kernels, symbols(self._library))

    def _register(self, names: Sequence[str], found: Sequence[Symbol]) -> dict[str, Kernel]:
        """Tell the runtime of the variables and kernels."""
        handles = {name: _Handle.in_dll(self._native, f"stepwell_kernel_{name}") for name in names}
        first = ctypes.addressof(handles[names[0]])
        base = first - next(each.address for each in found if each.name == f"stepwell_kernel_{names[0]}")
        variables = [each for each in found if each.size and not each.name.startswith("stepwell_")]
        module = driver()["module"](str(self._library).encode(), dynamic_shared_name(self.source).encode(), base)
        weakref.finalize(self, driver()["forget"], module).atexit = False
        constants = constant_names(self.source)
        for each in variables:
            name = each.name.rpartition("::")[2]
            space = _SPACE_CONSTANT if name in constants else _SPACES.get(each.section, _SPACE_GLOBAL)
            driver()["variable"](module, name.encode(), base + each.address, each.size, space)
        return {name: self._kernel(name, handle, module, variables) for name, handle in handles.items()}

    def _kernel(self, name: str, handle: _Handle, module: int, variables: Sequence[Symbol]) -> Kernel:
        own = (each for each in variables if each.section == _SHARED and _is_of(each.name, name))
        shared = sum(each.size for each in own)
        if shared > STATIC_SHARED_LIMIT:
            raise InvalidCudaError(
                f"kernel {name}: {shared} bytes of static shared memory, expected {STATIC_SHARED_LIMIT} at most"
            )
        address = ctypes.addressof(handle)
        driver()["kernel"](module, address, shared)
        names = parameter_names(self.source, name)
        if len(names) != handle.parameter_count:
            names = [f"argument {i}" for i in range(handle.parameter_count)]
        parameters = tuple(
            Parameter(names[i], _KINDS[each.kind], each.size, each.pointee)
            for i, each in enumerate(handle.parameters[: handle.parameter_count])
        )
        return Kernel(name, address, parameters, handle.max_threads, shared)

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
    ) -> None:
        """Run a kernel and wait for it.

        grid, block: one to three extents, x first.  arguments: for pointers arrays, which are copied to memory of their
        own and back when the kernel has run, or `DeviceMemory`; numpy's scalars of the same size for the rest.
        shared_bytes: of dynamic shared memory, as much as the hardware has. Raises ArgumentError for arguments that do
        not fit, EmulationError for all that the emulation finds.
        """
        kernel = self.kernels[name]
        if len(arguments) != len(kernel.parameters):
            raise ArgumentError(f"{name}: {len(arguments)} arguments, expected {len(kernel.parameters)}")
        held = [_Argument.of(each, parameter) for each, parameter in zip(arguments, kernel.parameters, strict=True)]
        pointers = (ctypes.c_void_p * max(1, len(held)))(*(ctypes.addressof(each.value) for each in held))
        if shared_bytes > STATIC_SHARED_LIMIT - kernel.static_shared:
            driver()["set_attribute"](kernel.address, _MAX_DYNAMIC_SHARED, shared_bytes)
        sizes = (*_extents(grid, "grid"), *_extents(block, "block"))
        if driver()["launch"](kernel.address, *sizes, shared_bytes, None, pointers, None) != 0:
            raise last_error(self._library)
        for each in held:
            each.copy_back()


def compile_emulated(source: str, kernels: Sequence[str]) -> EmulatedModule:
    """Compile CUDA C++ for the CPU.

    source: text that NVRTC takes as well.  kernels: the names of those that are to be launched, one at least.
    Raises PluginError if g++ is not installed, InvalidCudaError if it does not take the text.
    """
    if not kernels:
        raise ArgumentError("no kernel is named, expected one at least")
    return EmulatedModule(source, kernels)


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
    """Whether a demangled name is of a variable of a function: `kernel::A_shared`, `kernel(float*)::A_shared`."""
    return re.match(rf"{kernel}(\(.*\))?::", variable) is not None


def _discard(folder: Path, library: Path) -> None:
    forget_source(library)
    shutil.rmtree(folder, ignore_errors=True)


# Arguments


def _extents(given: Sequence[int], what: str) -> tuple[int, int, int]:
    if not 1 <= len(given) <= 3:
        raise ArgumentError(f"{what} has {len(given)} extents, expected 1 to 3")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


@dataclass
class _Argument:
    """An argument as a launch takes it. value: what the kernel gets.  array: what `memory` is a copy of."""

    value: Any
    memory: DeviceMemory | None = None
    array: np.ndarray[Any, Any] | None = None

    @staticmethod
    def of(given: Argument, parameter: Parameter) -> _Argument:
        expected = f"{parameter.name}: expected a {parameter.kind}"
        if isinstance(given, np.generic):
            if parameter.kind == "pointer" or given.nbytes != parameter.size or not _is_kind(given, parameter.kind):
                raise ArgumentError(f"{expected} of {parameter.size} bytes, got {given.dtype}")
            return _Argument((ctypes.c_char * given.nbytes).from_buffer_copy(given.tobytes()))
        if parameter.kind != "pointer":
            raise ArgumentError(f"{expected} of {parameter.size} bytes, got {type(given).__name__}")
        if isinstance(given, DeviceMemory):
            return _Argument(ctypes.c_void_p(given.address), given)
        if parameter.pointee and given.nbytes % parameter.pointee:
            raise ArgumentError(f"{expected} to elements of {parameter.pointee} bytes, got an array of {given.dtype}")
        memory = DeviceMemory.of(given, parameter.name)
        return _Argument(ctypes.c_void_p(memory.address), memory, given)

    def copy_back(self) -> None:
        if self.memory is not None and self.array is not None and self.array.flags.writeable:
            self.array[...] = self.memory.view(self.array.shape, self.array.dtype)


def _is_kind(given: np.generic, kind: str) -> bool:
    """Whether a scalar is of a kind of type. Integers may be of another sign: it is their bits that are passed."""
    return (given.dtype.kind == "f") == (kind == "float") or kind == "other"
