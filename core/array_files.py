"""Named arrays in files of numpy (`.npz`)."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .dtypes import numpy_dtype
from .errors import OptionError

Array: TypeAlias = npt.NDArray[Any]


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file. OptionError for another format, OSError."""
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.lib.npyio.NpzFile):
                return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise OptionError(f"{path}: no arrays of numpy: {error}") from None
    raise OptionError(f"{path}: one array without a name, expected an .npz of several")


def _to_bytes(array: Array) -> Array:
    """The array with types of ml_dtypes viewed as bytes, as numpy stores them anyway, except float8_e5m2, which numpy
    cannot read."""
    return array.view(f"V{array.itemsize}") if array.dtype.isbuiltin == 2 else array


def restore_dtype(array: Array, dtype: str) -> Array:
    """An array of a file. dtype: of the array that was written; of a type unknown to numpy (`bfloat16`) the file has
    the bytes."""
    expected = numpy_dtype(dtype)
    is_bytes = array.dtype.kind == "V" and array.dtype.itemsize == expected.itemsize
    return array.view(expected) if is_bytes else array


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Writes all arrays to a file, or none. OSError."""
    scratch = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        with scratch.open("wb") as file:
            np.savez(file, allow_pickle=False, **{name: _to_bytes(array) for name, array in arrays.items()})
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
