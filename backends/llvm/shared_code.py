"""Native code that the programs of a process share, from LLVM IR text that is part of this package."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from pathlib import Path

import llvmlite

from ...core.cache import digest, user_cache
from .engine import Processor, generate_object


def read_texts(names: Iterable[str], values: Mapping[str, object]) -> str:
    """The texts of files beside this module. values: replace `{name}`."""
    folder = Path(__file__).parent
    text = "\n".join((folder / name).read_text() for name in names)
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def python_symbols(names: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of CPython."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names}


def shared_object(text: str) -> bytes:
    """The object file of LLVM IR, which the cache of the user keeps."""
    store, processor = user_cache(), Processor.host()
    key = f"{digest(text, processor.cpu, processor.features, llvmlite.__version__)}.o"
    kept = None if store is None else store.read("runtime", key)
    if kept is not None:
        return kept
    image = generate_object(text, processor)
    if store is not None:
        store.keep("runtime", key, image)
    return image
