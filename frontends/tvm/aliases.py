"""The names `tvm` and `topi` for this package: programs run without any change of their imports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from ...core.errors import OptionError

_ROOT = __name__.rpartition(".")[0]
NAMES = {"tvm": _ROOT, "topi": f"{_ROOT}.topi", "tvm_ffi": f"{_ROOT}.tvm_ffi"}
"""The packages that programs import, each with its package here. `topi` was a package of its own until v0.6, `tvm_ffi`
is one since v0.22."""


def install() -> None:
    """Makes `import tvm` and `import topi` import this package, in the whole process, from now on.

    OptionError if another package called `tvm` or `topi` has been imported. Nothing happens at a second call.
    """
    for name, own in NAMES.items():
        if getattr(sys.modules.get(name), "__name__", own) != own:
            raise OptionError(f"package {name} has been imported from {sys.modules[name].__file__} already")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of `NAMES` in this package. A module keeps its own spec, so that it exists once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = _own_name(fullname)
        if name is None or find_spec(name) is None:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        name = _own_name(spec.name)
        assert name is not None
        module = importlib.import_module(name)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the spec of a module, which the import has replaced."""
        name = module.__spec__.name if module.__spec__ is not None else ""
        if name in self._specs:
            module.__spec__ = self._specs.pop(name)

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}


def _own_name(name: str) -> str | None:
    head, _, rest = name.partition(".")
    return None if head not in NAMES else ".".join(filter(None, (NAMES[head], rest)))
