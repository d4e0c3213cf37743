"""Native code with all that a process must know to run it, before it is linked."""

from __future__ import annotations

from dataclasses import dataclass

from .signature import Failure, FunctionSignature, PackedSignature


@dataclass(frozen=True)
class NativeCode:
    """An object file and what it asks of a process.

    image: the file.  triple: LLVM's name of the machine and system it is for.  cpu, features: the processor, as
    `llvm.Target` has them.  functions: what may be called.  failures: what positive statuses mean.  packed: what it
    calls by number.  externals: the C symbols it needs.
    """

    image: bytes
    triple: str
    cpu: str
    features: str
    functions: tuple[FunctionSignature, ...]
    failures: tuple[Failure, ...]
    packed: tuple[PackedSignature, ...]
    externals: tuple[str, ...]
