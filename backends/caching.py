"""Compiled programs and graphs in the cache of the user: each is compiled once, until the compiler changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..core.arrays import plain_array
from ..core.cache import digest, user_cache, warn_of_cache
from ..core.cpu import cpu_of
from ..core.errors import LoadError
from ..core.remarks import is_collecting
from ..core.target import Target
from ..dialects import mlir_context
from ..module import Module, has_graphs
from ..transforms.observers import pass_observers
from .llvm import perf_map
from .runtime.program import Program

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = ("xdsl", "llvmlite", "islpy", "numpy", "ml_dtypes")
"""The packages that determine code, besides ours."""
_FOLDERS = ("analysis", "backends", "core", "dialects", "expressions", "operators", "schedule", "transforms")
_SUFFIXES = (".py", ".h", ".ll")
_NATIVE_SOURCES = ("llvm", "llvm-optimized", "asm")
_SOURCES = {"llvm": _NATIVE_SOURCES, "cuda": (*_NATIVE_SOURCES, "ptx"), "cuda-emulated": _NATIVE_SOURCES}
"""The texts of a compiled program that a saved one lacks, for each kind of target."""

T = TypeVar("T")


@dataclass(frozen=True)
class CachedKind(Generic[T]):
    """A kind of compiled object. load, save: from and to a file.  program_of: the program of an object."""

    name: str
    load: Callable[[Path], T]
    save: Callable[[T, Path], None]
    program_of: Callable[[T], Program]


def machine_of(target: Target) -> tuple[object, ...]:
    """The facts besides a target that determine its code: the processor, the architecture of GPUs and the compiler for
    them."""
    # lazy: LLVM is needed for native code only
    from .llvm.engine import Processor

    if target.kind == "llvm":
        return Processor.of(target), cpu_of(target)
    if target.kind == "cuda-emulated":  # kernels are compiled when they are loaded
        return (Processor.host(),)
    # lazy: the compilers for GPUs are needed for them only
    from .cuda.nvrtc import architecture_of, compiler_version

    return Processor.host(), architecture_of(target), compiler_version()


def program_kind(symbols: Mapping[str, int]) -> CachedKind[Program]:
    """Programs. symbols: the addresses of C symbols to link."""
    load = partial(Program.load, symbols=symbols)
    return CachedKind("program", load, Program.export, lambda program: program)


def compile_once(
    kind: CachedKind[T], module: Module, target: Target, options: Sequence[object], make: Callable[[Module], T]
) -> T:
    """The object that `make` compiles from a module, loaded from the cache if it has been compiled before.

    options: the other arguments of the compilation. Compiles without the cache with debug information, which names the
    current folder; for the map of `perf`; where the module has operations or operators of
    other packages, whose lowering may change without notice; and where passes are observed: by remarks, by observers,
    or by the verifier after each pass (`STEPWELL_VERIFY`). Constants of more than half the limit of the cache would
    displace all other entries. A module that an entry has been made from is valid:
    `make` verifies modules. Raises the errors of `make`.
    """
    store = user_cache()
    if store is None or is_collecting() or pass_observers() or os.environ.get("STEPWELL_VERIFY") == "1":
        return make(module)
    if target.kind not in _SOURCES or target.debug or perf_map.is_requested() or not _is_ours(module):
        return make(module)
    constants = {name: np.ascontiguousarray(plain_array(value)) for name, value in sorted(module.constants.items())}
    if sum(array.nbytes for array in constants.values()) > store.limit // 2:
        return make(module)
    try:
        text = _text(module)
    except Exception:  # of a module that breaks its constraints
        return make(module)
    key = f"{digest(_compiler(), text, *map(str, (target, *machine_of(target), *options)), *_contents(constants))}.tar"
    path = store.find(kind.name, key)
    if path is not None:
        try:
            compiled = kind.load(path)
        except (LoadError, OSError) as error:
            warn_of_cache(f"a {kind.name} is compiled again: {error}")
        else:
            again = cache(lambda: kind.program_of(make(_parse(text, module))))
            kind.program_of(compiled).add_sources(
                {each: partial(_source, again, each) for each in _SOURCES[target.kind]}
            )
            return compiled
    made = make(module)
    store.add(kind.name, key, partial(kind.save, made))
    return made


def _source(program: Callable[[], Program], kind: str) -> str:
    return program().source(kind)


def _text(module: Module) -> str:
    """The module as text, with the source locations, which error messages contain."""
    printer = _KeyPrinter()
    printer.print_op(module.op)
    return "".join(printer.parts)


class _KeyPrinter(Printer):
    """A printer without indentation and without counts of lines and columns, which take half of the time.

    parts: the text.
    """

    def __init__(self) -> None:
        super().__init__(print_generic_format=True, print_debuginfo=True)
        self.parts: list[str] = []
        self._texts: dict[int, tuple[Attribute, str]] = {}
        """The texts of attributes by their identity, since those of 0.0 and -0.0 are equal."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        self.parts.append(text)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        self.parts.append("\n")

    def print_attribute(self, attribute: Attribute) -> None:
        if id(attribute) not in self._texts:
            start = len(self.parts)
            super().print_attribute(attribute)
            self._texts[id(attribute)] = attribute, "".join(self.parts[start:])
            del self.parts[start:]
        self.parts.append(self._texts[id(attribute)][1])


def _parse(text: str, module: Module) -> Module:
    """The module of a text, with the constants of `module`, which may have changed since."""
    return Module(Parser(mlir_context(), text).parse_module(), module.constants)


def _contents(constants: Mapping[str, np.ndarray[Any, Any]]) -> Iterator[str | memoryview]:
    for name, array in constants.items():
        yield from (name, array.dtype.name, str(array.shape), array.reshape(-1).view(np.uint8).data)


def _is_ours(module: Module) -> bool:
    """Whether the operations and operators of a module are ours or xDSL's."""
    packages = {type(op).__module__.partition(".")[0] for op in module.op.walk()}
    if not packages <= {_PACKAGE, "xdsl"}:
        return False
    return not has_graphs(module.op) or _are_operators_ours()


def _are_operators_ours() -> bool:
    # lazy: the operators are needed for graphs only
    from ..operators import OPERATORS

    return all(operator.formula.__module__.partition(".")[0] == _PACKAGE for operator in OPERATORS.values())


@cache
def _compiler() -> str:
    """The digest of the version of the compiler: of the paths, sizes and times of its files and of the packages that it
    uses, since the files of an editable installation change without a version."""
    root = Path(__file__).parents[1]
    folders = [root, *(Path(folder) for name in _FOLDERS for folder, _, _ in os.walk(root / name))]
    files = [Path(entry) for folder in folders for entry in os.scandir(folder) if entry.name.endswith(_SUFFIXES)]
    files += [Path(spec.origin) for spec in map(find_spec, _LIBRARIES) if spec is not None and spec.origin]
    return digest(sys.version, *sorted(map(_stamp, files)))


def _stamp(file: Path) -> str:
    status = file.stat()
    return f"{file} {status.st_size} {status.st_mtime_ns}"
