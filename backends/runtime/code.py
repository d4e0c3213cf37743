"""Native code before linking, with all information that a process needs to run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .signature import Failure, FunctionSignature, PackedSignature


@dataclass(frozen=True)
class NativeCode:
    """Object files and their requirements of a process.

    images: the files; the first contains the signature table.  triple: LLVM's name of the machine and system.  cpu,
    features: the processor, as in `llvm.Processor`.  functions: the callable functions.  failures: the meanings of
    positive statuses.  packed: the packed functions, which native code calls by number.  externals: the required C
    symbols.
    """

    images: tuple[bytes, ...]
    triple: str
    cpu: str
    features: str
    functions: tuple[FunctionSignature, ...]
    failures: Mapping[int, Failure]
    packed: Mapping[int, PackedSignature]
    externals: tuple[str, ...]


TABLE_BEGIN = b"stepwell signatures\n"


def signature_table(
    functions: Iterable[FunctionSignature],
    failures: Mapping[int, Failure],
    packed: Mapping[int, PackedSignature],
    externals: Iterable[str],
    device: Iterable[object] = (),
) -> bytes:
    """All facts that callers of native code rely on, as text: a line for each signature, failure and C symbol, and for
    each fact about a device and its kernels.

    Native code contains its table, so that a loader can compare the facts in other files with it.
    """
    facts = (functions, failures.items(), packed.items(), externals, device)
    lines = [repr(each) for part in facts for each in part]
    return TABLE_BEGIN + "".join(f"{line}\n" for line in lines).encode() + b"\0"


def table_of(image: bytes) -> bytes | None:
    """The signature table in an object file; None if it contains no table."""
    start = image.find(TABLE_BEGIN)
    end = image.find(b"\0", start)
    return image[start : end + 1] if start >= 0 and end >= 0 else None
