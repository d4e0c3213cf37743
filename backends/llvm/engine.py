"""Native code from LLVM IR text, in this process, through llvmlite: O2, and a linker that reports undefined symbols."""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from ...core.cpu import features_of_named
from ...core.cpu_features import enabled_features
from ...core.errors import IncompleteCodeError, LinkError, StepwellError
from ...core.processors import available_processors
from ...core.target import Target
from . import perf_map

_lock = threading.RLock()
_calls = ffi.lib._lock  # pyright: ignore[reportPrivateUsage]
"""The lock of llvmlite, held during each call of a function of LLVM, the destructors of its objects included."""
_names = itertools.count()
_running: list[int] = []
"""The threads that compile a unit: `_lock` protects the list, `_ended` announces that a thread has left it."""
_ended = threading.Condition(_lock)


@contextmanager
def _compiling() -> Generator[None]:
    """The compilation of a unit, which calls LLVM without its locks."""
    thread = threading.get_ident()
    with _lock:
        _running.append(thread)
    try:
        yield
    finally:
        with _lock:
            _running.remove(thread)
            _ended.notify_all()


def _enter_llvm() -> None:
    """Waits until no other thread is inside LLVM."""
    _lock.acquire()
    while any(each != threading.get_ident() for each in _running):
        _ended.wait()
    _calls.__enter__()


def _leave_llvm() -> None:
    _calls.__exit__()
    _lock.release()


# A child process has the locks and half-built modules of all threads of its parent, but only the thread that forked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_enter_llvm, after_in_parent=_leave_llvm, after_in_child=_leave_llvm)


@dataclass(frozen=True)
class Processor:
    """A processor to compile for: LLVM's name of the CPU, and features as `+avx2,-fma`.

    Code that uses features the host lacks must not be run. debug: whether code has debug information.  optimized:
    whether it is optimized.
    """

    cpu: str
    features: str = ""
    debug: bool = False
    optimized: bool = True

    @staticmethod
    @cache
    def host() -> Processor:
        """The processor of this machine."""
        return Processor(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())

    @staticmethod
    def of(target: Target) -> Processor:
        """The processor of a compilation target: the host's, except for the options of the target."""
        host = Processor.host()
        cpu = target.mcpu or host.cpu
        features = features_of_named(target) if target.mcpu else (host.features, *target.mattr)
        return Processor(cpu, ",".join(features), target.debug > 0, target.debug < 2)

    @property
    def instructions(self) -> frozenset[str]:
        """The features of the processor, by LLVM's names, with those of its name in `FEATURES_OF_NAMES`. Every 64-bit
        Arm processor has `f16c`, conversions between f16 and f32."""
        present = enabled_features(self.cpu, self.features.split(","))
        return present | ({"f16c"} if platform.machine() == "aarch64" else set())

    def machine(self, effort: int = 3) -> llvm.TargetMachine:
        """A new target machine, for one module. `effort`: 0 to 3, the code generator's optimization level."""
        _initialize()
        return llvm.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=self.features, opt=effort, jit=True
        )


def host_triple() -> str:
    """LLVM's triple of this machine and system: `x86_64-unknown-linux-gnu`."""
    return llvm.get_default_triple()


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@dataclass(frozen=True)
class ObjectCode:
    """Machine code before linking. images: the object file of each unit.  optimized: the LLVM IR they are generated
    from."""

    images: tuple[bytes, ...]
    optimized: tuple[str, ...]
    target: Processor

    @staticmethod
    def of(units: Sequence[str], target: Processor) -> ObjectCode:
        """Compiles the LLVM IR of units, in as many threads as there are processors. Raises InvalidCodeError if LLVM
        rejects it."""
        if len(units) == 1:
            return ObjectCode.join([_compile(units[0], target)], target)
        with ThreadPoolExecutor(min(len(units), available_processors())) as threads:
            return ObjectCode.start(units, target, threads)()

    @staticmethod
    def start(units: Sequence[str], target: Processor, threads: Executor) -> Callable[[], ObjectCode]:
        """Starts the compilation of units in `threads`; the function that is returned waits for its end. Errors: as of
        `of`."""
        compiled = [_start(threads, unit, target) for unit in units]
        return lambda: ObjectCode.join([finish() for finish in compiled], target)

    @staticmethod
    def join(units: Iterable[tuple[bytes, str]], target: Processor) -> ObjectCode:
        """The code of units, each an object file and its optimized LLVM IR."""
        images, optimized = zip(*units, strict=True)
        return ObjectCode(images, optimized, target)

    @staticmethod
    def join_all(codes: Sequence[ObjectCode]) -> ObjectCode:
        """The code of all units of some codes, for one processor."""
        images = tuple(image for code in codes for image in code.images)
        return ObjectCode(images, tuple(text for code in codes for text in code.optimized), codes[0].target)

    @property
    def optimized_text(self) -> str:
        """The optimized LLVM IR of all units."""
        return "\n".join(self.optimized)

    def assembly(self) -> str:
        """The machine code as assembly text."""
        return "\n".join(map(self._assembly, self.optimized))

    def _assembly(self, optimized: str) -> str:
        with _lock:
            machine = self.target.machine(_effort(optimized, self.target))
            return machine.emit_assembly(_parse(optimized, machine))


def _start(threads: Executor, unit: str, target: Processor) -> Callable[[], tuple[bytes, str]]:
    """Starts the compilation of a unit; the function that is returned waits for its end."""
    try:
        return threads.submit(_compile, unit, target).result
    except RuntimeError:  # the main thread has ended, after which executors accept no work; other threads still compile
        result = _compile(unit, target)
        return lambda: result


def _compile(text: str, target: Processor) -> tuple[bytes, str]:
    """The object file of LLVM IR, and the optimized LLVM IR."""
    with _compiling():
        module = _optimize(text, target.machine(), 2 if target.optimized else 0)
        optimized = str(module)
        return _emit_object(module, target.machine(_effort(optimized, target))), optimized


def generate_object(text: str, target: Processor) -> bytes:
    """The object file of LLVM IR that is written as LLVM's optimization would leave it: only functions with
    `alwaysinline` are expanded. Takes a third of the time of `ObjectCode.of`."""
    with _compiling():
        return _emit_object(_optimize(text, target.machine(), 0), target.machine(2))


_PROGRAMS = 64
"""The number of programs that a linker links. To make a linker takes ten times as long as to link a small program; a
linker keeps 9 KB of each of its programs that is dropped, until all are."""


@lru_cache(maxsize=1)
def _linker(_group: int) -> llvm.LLJIT:
    """The linker of a group of programs."""
    return llvm.create_lljit_compiler(suppress_errors=True)


class NativeModule:
    """Linked native code of one module. Addresses are valid during the lifetime of this object."""

    def __init__(
        self, images: Sequence[bytes], exports: Sequence[str], externals: Iterable[str], symbols: Mapping[str, int]
    ):
        """images: object files for this machine.  externals: the C symbols they use; each must be in `symbols` or in
        the process.

        Raises LinkError for an undefined C symbol, IncompleteCodeError for another symbol that the object files lack.
        """
        imports = {name: _resolve(name, symbols) for name in externals} | dict(symbols)
        with _lock:
            _initialize()
            number = next(_names)
            self._jit = _linker(number // _PROGRAMS)
            builder = llvm.JITLibraryBuilder().add_current_process()
            for image in images:
                builder.add_object_img(image)
            for name in exports:
                builder.export_symbol(name)
            for name, address in imports.items():
                builder.import_symbol(name, address)
            try:
                self._library = builder.link(self._jit, f"stepwell.{number}")
            except RuntimeError as error:
                raise IncompleteCodeError(f"native code does not link: {error}") from error
            if perf_map.is_requested():
                perf_map.add_to_perf_map(images, {name: self.address(name) for name in exports})

    def call_at_end(self, name: str) -> None:
        """Calls an exported function without parameters when this object is no longer used."""
        function = ctypes.CFUNCTYPE(None)(self.address(name))
        weakref.finalize(self, _run_once, function, self._library, self._jit).atexit = False

    def address(self, name: str) -> int:
        """The address of an exported function."""
        return self._library[name]


def _run_once(function: Callable[[], object], *_keep_alive: object) -> None:
    function()


UNFINISHED_LOOPS = "unfinished-loops"
"""The attribute of functions with loops of scalars, which LLVM may turn into vectors, or with debug information, whose
invariant instructions remain in their loops."""

# Above its first level the code generator takes superlinear time in the length of the longest block: 6.7 s against 1.5
# s for a block of 13,000 instructions, a completely unrolled product of small matrices. The code is hardly worse.
_LONG_BLOCK = 4000


def _effort(optimized: str, target: Processor) -> int:
    """The code generator's optimization level for a module as text."""
    if not target.optimized:
        return 0
    if optimized.count("\n") <= _LONG_BLOCK:
        return 3
    longest = length = 0
    for line in optimized.splitlines():
        length = length + 1 if line.startswith("  ") else 0
        longest = max(longest, length)
    return 1 if longest > _LONG_BLOCK else 3


def _resolve(name: str, symbols: Mapping[str, int]) -> int:
    address = symbols.get(name) or llvm.address_of_symbol(name)
    if address is None and platform.system() == "Linux":
        # A statically linked interpreter may contain no libm.
        llvm.load_library_permanently("libm.so.6")
        address = llvm.address_of_symbol(name)
    if address is None:
        raise LinkError(f"external symbol {name!r} is in no library of this process")
    return address


def _parse(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InvalidCodeError(
            f"LLVM does not accept the code made for it, which is a defect of stepwell: {error}"
        ) from error
    return module


class InvalidCodeError(StepwellError):
    """LLVM IR text that LLVM rejects: a defect of the emitter or of LLVM, never of the user's program."""


def _optimize(text: str, machine: llvm.TargetMachine, level: int) -> llvm.ModuleRef:
    """The module of LLVM IR text, optimized at a level, 0 for no optimization.

    The SLP vectorizer of LLVM 22.1 breaks some modules (values that do not dominate their uses), on which the code
    generator ends the process: those are optimized again without it.
    """
    for slp_vectorization in (True, False):
        module = _parse(text, machine)
        _run_passes(module, machine, level, slp_vectorization)
        try:
            module.verify()
        except RuntimeError as error:
            defect = error
        else:
            return module
    raise InvalidCodeError(f"LLVM's optimization breaks the code, which is a defect of LLVM: {defect}")


def _run_passes(module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int, slp_vectorization: bool) -> None:
    # Level 3 unrolls and copies more, in twice the time; the code of operators, models and plain loops is as fast.
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = level > 0
    options.slp_vectorization = slp_vectorization
    passes = llvm.create_pass_builder(machine, options)
    manager = passes.getModulePassManager() if level == 0 or _has_unfinished_loops(module) else _passes_of_vectors()
    try:
        _unlocked("LLVMPY_RunNewModulePassManager")(manager, module, passes)
    finally:
        _delete(manager)


def _has_unfinished_loops(module: llvm.ModuleRef) -> bool:
    """Whether a module defines a function with the attribute `UNFINISHED_LOOPS`."""
    return any(
        f'"{UNFINISHED_LOOPS}"'.encode() in attributes
        for function in module.functions
        if not function.is_declaration
        for attributes in function.attributes
    )


def _passes_of_vectors() -> llvm.ModulePassManager:
    """The passes for functions whose innermost loops compute vectors. The passes on `tir` have unrolled, hoisted and
    divided their loops; LLVM keeps their buffers in registers, simplifies their addresses, and omits stores of elements
    that the next steps of unrolled reductions store again."""
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.add_loop_unroll_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_dead_store_elimination_pass()
    manager.add_simplify_cfg_pass()
    return manager


def _emit_object(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    with ffi.OutputString() as error:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not buffer:
            raise InvalidCodeError(f"LLVM's code generator fails, which is a defect of stepwell: {error}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _unlocked(name: str) -> Callable[..., Any]:
    """A function of LLVM, called without llvmlite's lock: several threads may call it, each for a module with a context
    of its own. A fork waits for them."""
    return getattr(ffi.lib, name)._cfn


def _delete(manager: llvm.ModulePassManager) -> None:
    """Frees a pass manager. `close` of llvmlite 0.50 does not: in the order of its base classes the empty `_dispose` of
    all objects precedes the `_dispose` of pass managers. An optimized module leaves 60 KB then.
    """
    llvm.NewPassManager._dispose(manager)  # pyright: ignore[reportPrivateUsage]
    manager.detach()
