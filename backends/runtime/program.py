"""Compiled functions as Python callables."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.assertions import UNDEFINED_BEHAVIOR, failure_error
from ...core.diagnostics import did_you_mean
from ...core.dtypes import numpy_dtype
from ...core.errors import ArgumentError, ExecutionError, UnsupportedError
from ..saving.format import Contents
from ..saving.writing import write_archive
from .arguments import ArgumentPacker, describe_argument
from .packed import FailedAssertion, PackedCalls
from .signature import Failure, FunctionSignature

if TYPE_CHECKING:
    from ..cuda.nvrtc import KernelUsage
    from ..devices.timing import BenchmarkResult, Clock

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class CompiledFunction:
    """A native function. Arrays are passed without a copy and written in place; Python's lock is released during a
    call, so calls may run in several threads.
    """

    def __init__(
        self,
        signature: FunctionSignature,
        address: int,
        failures: Sequence[Failure],
        packed: PackedCalls,
        keep_alive: object,
    ) -> None:
        """`address`: an `i32 (ptr slots)`; `failures`: the status messages; `keep_alive`: owns the code."""
        self.signature = signature
        self._entry = _ENTRY(address)
        self._packer = ArgumentPacker(signature)
        self._slots = ctypes.c_int64 * (signature.slot_count + 1)
        self._failures = failures
        self._packed = packed
        self._keep_alive = keep_alive
        self._result = _result_reader(signature)

    @property
    def name(self) -> str:
        """The name of the function in its module."""
        return self.signature.name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Runs the function and returns its result.

        Raises ArgumentError for an argument that does not match its parameter or is passed by name (before any code
        runs), ExecutionError if an assertion or a packed function fails, LinkError if a packed function is not
        registered.
        """
        self._packer.reject_names(named)
        values, _arrays = self._packer.pack(arguments)
        return self._call(self._slots(*values), arguments)

    def bind(self, *arguments: Any, **named: Any) -> Callable[[], Any]:
        """The function bound to arguments, which are checked once, here. Raises the errors of a call."""
        self._packer.reject_names(named)
        values, arrays = self._packer.pack(arguments)

        def run(_alive: object = arrays) -> Any:
            return self._call(self._slots(*values), arguments)

        return run

    def clock(self, *arguments: Any) -> Clock:
        """The clock for calls with these arguments: the host's, or the clock of the arrays' device."""
        # lazy: only measurements need clocks
        from ..devices.timing import host_clock

        del arguments  # all of them are in the memory of the host
        return host_clock

    def time_evaluator(
        self, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0.0
    ) -> Callable[..., BenchmarkResult]:
        """A function that takes the arguments of this function and measures its run time.

        Runs once, then `repeat` times `number` times; raises `number` until `number` runs take `min_repeat_ms`.
        Arguments are checked before. Raises the errors of a call, and OptionError for numbers that are not positive.
        """
        # lazy: only measurements need clocks
        from ..devices.timing import measure

        def evaluate(*arguments: Any, **named: Any) -> BenchmarkResult:
            return measure(self.bind(*arguments, **named), self.clock(*arguments), number, repeat, min_repeat_ms)

        return evaluate

    def _call(self, slots: Any, arguments: Sequence[Any]) -> Any:
        status = self._entry(ctypes.addressof(slots))
        if status:
            self._fail(status, arguments)
        return self._result(slots) if self._result is not None else None

    def _fail(self, status: int, arguments: Sequence[Any]) -> None:
        failure = self._take_error(status) if status < 0 else self._failures[status - 1]
        names = (parameter.name for parameter in self.signature.parameters)
        called = ", ".join(f"{name}: {describe_argument(value)}" for name, value in zip(names, arguments, strict=True))
        family = ArgumentError if failure.argument else ExecutionError
        raise family(f"{self.name}: {failure.message} (called with {called or 'no arguments'})")

    def _take_error(self, status: int) -> Failure:
        """The failed assertion that native code has reported. Raises the error itself if it is another one."""
        error = self._packed.take_error(status)
        if not isinstance(error, FailedAssertion):
            raise error
        if error.kind == UNDEFINED_BEHAVIOR:
            raise failure_error(error.kind, error.text)
        return Failure(f"assertion failed: {error.text}")

    def __repr__(self) -> str:
        return f"<compiled function {self.name}({', '.join(p.name for p in self.signature.parameters)})>"


def _result_reader(signature: FunctionSignature) -> Callable[[Any], Any] | None:
    if signature.result is None:
        return None
    dtype = np.dtype(np.uint64) if signature.result == "handle" else numpy_dtype(signature.result)
    position = 8 * signature.slot_count

    def read(slots: Any) -> Any:
        value = np.frombuffer(slots, dtype, 1, position)[0]
        return value.item()

    return read


class Program:
    """The compiled functions of a module. `lib["main"]` returns a function, which keeps the code alive; `lib(...)`
    calls the only function.
    """

    device_kind = "cpu"
    """The kind of device whose memory holds the arrays of a call."""

    def __init__(
        self,
        functions: Mapping[str, CompiledFunction],
        sources: Mapping[str, Callable[[], str]],
        contents: Callable[[], Contents] | None = None,
    ) -> None:
        """`sources`: the function that produces each text of `source`. `contents`: the function that produces the
        archive of the program, if it has native code.
        """
        self.functions = dict(functions)
        self.usage: dict[str, KernelUsage] = {}
        """The resources that each kernel uses of a GPU, as reported by the compiler."""
        self._sources = dict(sources)
        self._contents = contents

    def contents(self) -> Contents:
        """The contents of the archive that `export` writes. Raises UnsupportedError for a program without native
        code.
        """
        if self._contents is None:
            raise UnsupportedError("a library of Python's functions cannot be saved, expected one of native code")
        return self._contents()

    def export(self, path: str | os.PathLike[str]) -> None:
        """Saves the functions: as one file if `path` ends in `.tar`, else as a folder.

        Replaces a program saved at `path`. Raises OptionError if `path` holds anything else, UnsupportedError for a
        program without native code, and OSError.
        """
        write_archive(Path(path), self.contents())

    @staticmethod
    def load(path: str | os.PathLike[str], symbols: Mapping[str, int] | None = None) -> Program:
        """Loads the functions that `export` saved. They are native code: load only files you trust.

        `symbols`: addresses of C symbols, which take precedence over those of the process. Raises LoadError if the
        files are broken or for another machine; LinkError for an undefined C symbol.
        """
        # By name, as loaders stand above the back ends, whose programs derive from this class.
        return import_module("...saving.loading", __name__).load_program(Path(path), symbols)

    def __getitem__(self, name: str) -> CompiledFunction:
        if name not in self.functions:
            known = ", ".join(self.functions) or "none"
            raise ArgumentError(f"no function called {name!r}, there is {known}{did_you_mean(name, self.functions)}")
        return self.functions[name]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the only function. Raises ArgumentError for a module of several functions."""
        if len(self.functions) != 1:
            raise ArgumentError(
                f"expected a library of one function, got {', '.join(self.functions) or 'none'}: "
                "name the function to call"
            )
        return next(iter(self.functions.values()))(*arguments, **named)

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def source(self, kind: str) -> str:
        """The program as text of a kind: "llvm" (as emitted), "llvm-optimized", "asm"; for kernels "cuda", "ptx"."""
        if kind not in self._sources:
            known = ", ".join(self._sources) or "none, for it was loaded"
            raise ArgumentError(f"no source called {kind!r}, there is {known}{did_you_mean(kind, self._sources)}")
        return self._sources[kind]()

    def add_sources(self, sources: Mapping[str, Callable[[], str]]) -> None:
        """Adds texts for `source`: the function that produces each."""
        self._sources.update(sources)

    def __repr__(self) -> str:
        return f"<library of {', '.join(self.functions)}>"
