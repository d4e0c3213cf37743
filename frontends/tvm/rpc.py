"""Sessions that run programs elsewhere: `tvm.rpc`. The only session is that of this machine, `LocalSession`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NoReturn

from ...core.errors import UnsupportedError
from . import devices, runtime
from .absent import report_absent
from .contrib.utils import tempdir
from .registry import get_global_func

__getattr__ = report_absent("tvm.rpc")


class LocalSession:
    """A session on this machine, with a folder of its own for uploaded files."""

    def __init__(self) -> None:
        self._folder = tempdir()

    def upload(self, data: str | os.PathLike[str] | bytes | bytearray, target: str | None = None) -> None:
        """Copies a file or its bytes to the folder of the session. target: its name there, by default that of the
        file."""
        if isinstance(data, bytes | bytearray):
            if target is None:
                raise ValueError("upload: bytes without a target, expected a name")
            self._path(target).write_bytes(data)
        elif Path(data).is_dir():
            shutil.copytree(data, self._path(target or Path(data).name), dirs_exist_ok=True)
        else:
            shutil.copyfile(data, self._path(target or Path(data).name))

    def download(self, path: str) -> bytearray:
        """The bytes of a file in the folder of the session."""
        return bytearray(self._path(path).read_bytes())

    def remove(self, path: str) -> None:
        """Removes a file from the folder of the session."""
        self._path(path).unlink()

    def listdir(self, path: str = ".") -> list[str]:
        """The names of the files in the folder of the session."""
        return sorted(each.name for each in self._path(path).iterdir())

    def load_module(self, path: str) -> Any:
        """The module in a file of the session, as `tvm.runtime.load_module` loads it."""
        return runtime.load_module(self._path(path))

    def get_function(self, name: str) -> Any:
        """The function registered under a name. UndefinedNameError, as of `tvm.get_global_func`."""
        return get_global_func(name)

    def device(self, dev_type: str, dev_id: int = 0) -> devices.Device:
        """A device of this machine."""
        return devices.device(dev_type, dev_id)

    context = device

    def cpu(self, dev_id: int = 0) -> devices.Device:
        """The processor of this machine."""
        return devices.device("cpu", dev_id)

    def cuda(self, dev_id: int = 0) -> devices.Device:
        """A GPU of this machine."""
        return devices.cuda(dev_id)

    gpu = cuda

    def _path(self, name: str) -> Path:
        """The path of a file of the session. ValueError for a path outside of its folder."""
        folder = self._folder.path.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise ValueError(f"{name}: outside of the folder of the session")
        return path


def connect(url: str, port: int, *args: Any, **options: Any) -> NoReturn:
    """Raises UnsupportedError: there are no sessions on other machines."""
    del args, options
    raise UnsupportedError(f"rpc.connect {url}:{port}: programs run on this machine only, expected LocalSession()")


def connect_tracker(url: str, port: int) -> NoReturn:
    """Raises UnsupportedError, as `connect` does."""
    connect(url, port)


__all__ = ["LocalSession", "connect", "connect_tracker"]
