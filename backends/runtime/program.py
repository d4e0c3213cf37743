"""Compiled functions as Python callables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ...core.diagnostics import did_you_mean
from ...core.errors import ArgumentError, UnsupportedError
from ...core.html import table_html
from ..saving.format import Contents
from ..saving.writing import write_archive
from .checked_call import CheckedCall
from .forwarding import Forwarding
from .packed import PackedCalls
from .python_calls import CallCode, create_builtin, is_supported
from .signature import Failure, FunctionSignature
from .stand_ins import accept_types

if TYPE_CHECKING:
    from ..cuda.nvrtc import KernelUsage
    from ..devices.timing import BenchmarkResult, Clock


class CompiledFunction(Forwarding):
    """A native function: `function(*arguments)` runs it and returns its result.

    Arrays are passed without a copy and written in place. Python's lock is released during a call unless the call
    certainly ends within microseconds, so calls may run in several threads. Native code itself checks arrays of numpy,
    numbers of Python, and tensors of types with DLPack's C functions; all other arguments are converted first.

    A call raises ArgumentError for an argument that does not match its parameter or is passed by name (before any code
    runs), ExecutionError if an assertion or a packed function fails, LinkError if a packed function is not registered.
    """

    def __init__(
        self,
        signature: FunctionSignature,
        address: int,
        failures: Mapping[int, Failure],
        packed: PackedCalls,
        keep_alive: object,
        code: Callable[[], CallCode] | None = None,
    ) -> None:
        """`address`: an `i32 (ptr slots)`; `failures`: the meanings of positive statuses; `keep_alive`: owns it;
        `code`: returns that of builtin functions, None to check all arguments in Python.
        """
        self._native = CheckedCall(signature, address, failures, packed, keep_alive, code)
        self.forward_to(self._native)
        if code is not None and signature.direct and is_supported():
            shared = code()
            call = partial(_call_converted, self._native, shared.stand_ins)
            builtin = create_builtin(signature, shared, address, call, self._native.fail, keep_alive)
            self.forward_to(builtin, shared.forwarded)

    @property
    def signature(self) -> FunctionSignature:
        """The parameters and the result."""
        return self._native.signature

    @property
    def name(self) -> str:
        """The name of the function in its module."""
        return self.signature.name

    def bind(self, *arguments: Any, **named: Any) -> Callable[[], Any]:
        """The function bound to arguments, which are checked once, here. Raises the errors of a call."""
        return self._native.bind(*arguments, **named)

    def clock(self, *arguments: Any) -> Clock:
        """The clock for calls with these arguments: the host's, or the clock of the arrays' device."""
        # lazy: only measurements need clocks
        from ..devices.timing import host_clock

        del arguments  # all of them are in the memory of the host
        return host_clock

    def time_evaluator(
        self,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0.0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0.0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
    ) -> Callable[..., BenchmarkResult]:
        """A function that takes the arguments of this function and measures its run time, in the thread that calls it.

        Runs once, then `repeat` times `number` times; raises `number` until `number` runs take `min_repeat_ms`. The
        other numbers are those of `Repetition`. Arguments are checked before. Raises the errors of a call, and
        OptionError for numbers that are not positive.
        """
        # lazy: only measurements need clocks
        from ..devices.timing import Repetition

        repetition = Repetition(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes,
        )  # fmt: skip

        def evaluate(*arguments: Any, **named: Any) -> BenchmarkResult:
            return repetition.measure(self.bind(*arguments, **named), self.clock(*arguments))

        return evaluate

    def __repr__(self) -> str:
        return f"<compiled function {self.name}({', '.join(p.name for p in self.signature.parameters)})>"


class ForeignFunction(CompiledFunction):
    """A function of native code that this machine cannot run: a call raises UnsupportedError."""

    def __init__(self, signature: FunctionSignature, reason: str) -> None:
        """reason: completes the message after the name of the function: `made for ...`."""
        self._signature = signature
        self._reason = reason
        self.forward_to(self.bind)

    @property
    def signature(self) -> FunctionSignature:
        return self._signature

    def bind(self, *arguments: Any, **named: Any) -> NoReturn:
        del arguments, named
        raise UnsupportedError(f"function {self.name}: {self._reason}; it can be saved, not called")


def _call_converted(native: CheckedCall, stand_in_code: Callable[[], int], *arguments: Any, **named: Any) -> Any:
    """Calls a function with arguments that native code does not accept, some of them perhaps from now on."""
    result = native(*arguments, **named)
    accept_types(arguments, stand_in_code)
    return result


class Program(Forwarding):
    """The compiled functions of a module. `lib["main"]` returns a function, which keeps the code alive; `lib(...)`
    calls the only function, and raises ArgumentError for a module of several functions.
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
        names = tuple(self.functions)
        self.forward_to(self.functions[names[0]] if len(names) == 1 else partial(_reject_call, names))

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
        try:
            return self.functions[name]
        except KeyError:
            known = ", ".join(self.functions) or "none"
            near = did_you_mean(name, self.functions)
            raise ArgumentError(f"no function called {name!r}, there is {known}{near}") from None

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def source(self, kind: str, annotate: bool = False) -> str:
        """The program as text of a kind: "llvm" (as emitted), "llvm-optimized", "asm"; for kernels "cuda", "ptx".

        annotate: whether assembly has the lines of the source, and the counts of each loop
        (docs/performance.md#annotated-assembly). ArgumentError for an unknown kind, and for annotations of another kind
        than assembly; UnsupportedError for those of a program without debug information (`llvm -debug=1`).
        """
        if annotate and kind != "asm":
            raise ArgumentError(f"annotations are for the source 'asm', got {kind!r}")
        if kind not in self._sources:
            known = ", ".join(self._sources) or "none, for it was loaded"
            raise ArgumentError(f"no source called {kind!r}, there is {known}{did_you_mean(kind, self._sources)}")
        text = self._sources[kind]()
        # By name, as back ends stand above the runtime.
        return import_module("...llvm.annotation", __name__).annotate(text) if annotate else text

    @property
    def source_kinds(self) -> tuple[str, ...]:
        """The kinds of `source`; none for a loaded program."""
        return tuple(self._sources)

    def add_sources(self, sources: Mapping[str, Callable[[], str]]) -> None:
        """Adds texts for `source`: the function that produces each."""
        self._sources.update(sources)

    def _repr_html_(self) -> str:
        """The functions with their parameters, and the kinds of texts, as a notebook shows them."""
        rows = [
            (name, ", ".join(map(str, function.signature.parameters)), function.signature.result or "")
            for name, function in self.functions.items()
        ]
        sources = f"<p>sources: {', '.join(self._sources)}</p>" if self._sources else ""
        return table_html(("function", "parameters", "result"), rows) + sources

    def __repr__(self) -> str:
        return f"<library of {', '.join(self.functions)}>"


def _reject_call(names: tuple[str, ...], *_arguments: Any, **_named: Any) -> NoReturn:
    raise ArgumentError(
        f"expected a library of one function, got {', '.join(names) or 'none'}: name the function to call"
    )
