"""Arrays in files of numpy (`.npz`), by name."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..core.errors import OptionError

Array: TypeAlias = npt.NDArray[Any]


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file. OptionError if it has another form, OSError."""
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.lib.npyio.NpzFile):
                return {name: found[name] for name in found.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise OptionError(f"{path}: no arrays of numpy: {error}") from None
    raise OptionError(f"{path}: one array without a name, expected an .npz of several")


def _storable(array: Array) -> Array:
    """What only ml_dtypes has as bytes: that is what numpy writes anyway, but for float8_e5m2, which it cannot read."""
    return array.view(f"V{array.itemsize}") if array.dtype.isbuiltin == 2 else array


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Save arrays: all of them, or nothing. OSError."""
    scratch = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        with scratch.open("wb") as file:
            np.savez(file, allow_pickle=False, **{name: _storable(array) for name, array in arrays.items()})
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
