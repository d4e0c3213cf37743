"""The names `tvm` and `topi` for this package: programs run without any change of their imports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

from ...core.errors import OptionError
from .absent import ABSENT, ABSENT_MODULES, AbsentModule, absent_module
from .submodules import PARTS

_ROOT = __name__.rpartition(".")[0]
_PACKAGE = _ROOT.partition(".")[0]
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
        if fullname.startswith(f"{_ROOT}."):
            _report_absent(fullname.replace(_ROOT, "tvm", 1))
            return None
        if _absent_of(fullname) is None and _own_module(fullname) is None:
            _report_absent(fullname)
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        absent = _absent_of(spec.name)
        if absent is not None:
            return absent
        module = _own_module(spec.name)
        assert module is not None
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the spec of a module, which the import has replaced. A module that is no package gets a path, as
        modules of TVM have that are packages there."""
        name = module.__spec__.name if module.__spec__ is not None else ""
        if name in self._specs:
            module.__spec__ = self._specs.pop(name)
        if not hasattr(module, "__path__"):
            module.__path__ = []

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}


class _FunctionModule(ModuleType):
    """A module of TVM that has the name of a function in its package, `tvm.topi.nn.pad`. The import of a module
    replaces the attribute of its package, so the module is called as the function is; its names are those of the
    package."""

    def __init__(self, name: str, function: Callable[..., Any], package: ModuleType):
        super().__init__(name, function.__doc__)
        public = [each for each in vars(package) if not each.startswith("_")]
        self.__all__: list[str] = [*getattr(package, "__all__", public)]
        self._function, self._package = function, package

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._function(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._package, name)


def _absent_of(name: str) -> AbsentModule | None:
    """The absent module of a name, if programs may import it: of `tvm.autotvm`, and of the modules inside of it."""
    return next((absent_module(each) for each in ABSENT_MODULES if f"{name}.".startswith(f"{each}.")), None)


def _report_absent(name: str) -> None:
    """ImportError with a replacement, if a module of TVM is absent and has one."""
    parent, _, last = name.rpartition(".")
    hint = ABSENT.get(parent, {}).get(last)
    if hint is not None:
        raise ImportError(f"module {name!r} is absent in Stepwell: {hint}", name=name)


def _own_module(name: str) -> ModuleType | None:
    """The module of this package for a name of TVM: a file of it, or an attribute that is a module of another package
    (`tvm.relay.op`)."""
    head, _, rest = name.partition(".")
    if head not in NAMES:
        return None
    module = importlib.import_module(NAMES[head])
    for part in filter(None, rest.split(".")):
        inner = f"{module.__name__}.{part}"
        if inner.startswith(_ROOT) and _is_module(inner):
            module = importlib.import_module(inner)
            continue
        if part == module.__name__.rpartition(".")[2]:
            continue  # `tvm.relay.op.nn.nn`: the file that has the names of the package around it
        is_part = part in PARTS.get(module.__name__.replace(_ROOT, "tvm", 1), ())
        is_of_topi = f"{module.__name__}.".startswith(f"{NAMES['topi']}.")
        attribute: Any = getattr(module, part, module if is_part else None)
        if isinstance(attribute, FunctionType) and (is_part or is_of_topi):
            attribute = _FunctionModule(name, attribute, module)
        if not isinstance(attribute, ModuleType):
            return None
        if not attribute.__name__.startswith(_PACKAGE) and not isinstance(attribute, _FunctionModule):
            return None
        module = attribute
    return module


def _is_module(name: str) -> bool:
    """Whether a name is that of a module that has been imported, or of a file."""
    return name in sys.modules or (name.rpartition(".")[0] in sys.modules and find_spec(name) is not None)
