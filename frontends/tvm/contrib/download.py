"""Files of the network: `tvm.contrib.download`."""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from ....core.errors import LoadError

CACHE = Path(os.environ.get("TEST_DATA_ROOT_PATH", Path.home() / ".tvm_test_data"))
"""The folder of `download_testdata`, as in TVM."""


def download(url: str, path: str | os.PathLike[str], overwrite: bool = False, size_compare: bool = False) -> None:
    """Copies a file from the network to a path. An existing file stays, unless `overwrite`. size_compare: ignored.

    LoadError if the file cannot be loaded; no file is left then.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        urllib.request.urlretrieve(url, partial)
        partial.replace(target)
    except (OSError, ValueError) as error:
        raise LoadError(f"{url}: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def download_testdata(
    url: str, relpath: str | Sequence[str], module: str | Sequence[str] | None = None, overwrite: bool = False
) -> str:
    """The path of a file of the network in the user's folder of test data. module: a folder in it. Paths may be lists
    of folders. LoadError as of `download`.
    """
    folder = CACHE.joinpath(*_parts(module)) if module else CACHE / hashlib.sha256(url.encode()).hexdigest()[:16]
    target = folder.joinpath(*_parts(relpath))
    download(url, target, overwrite)
    return str(target)


def _parts(path: str | Sequence[str]) -> Sequence[str]:
    return (path,) if isinstance(path, str) else path


__all__ = ["download", "download_testdata"]
