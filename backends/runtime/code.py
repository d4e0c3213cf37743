"""Native code before linking, with all information that a process needs to run it."""

from __future__ import annotations

from dataclasses import dataclass

from .signature import Failure, FunctionSignature, PackedSignature


@dataclass(frozen=True)
class NativeCode:
    """An object file and its requirements of a process.

    image: the file.  triple: LLVM's name of the machine and system.  cpu, features: the processor, as in
    `llvm.Processor`. functions: the callable functions.  failures: the meanings of positive statuses.  packed: the
    packed functions, which native code calls by index.  externals: the required C symbols.
    """

    image: bytes
    triple: str
    cpu: str
    features: str
    functions: tuple[FunctionSignature, ...]
    failures: tuple[Failure, ...]
    packed: tuple[PackedSignature, ...]
    externals: tuple[str, ...]
