"""The module `tvm.testing`: comparison of arrays, targets to test with, and marks of tests."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .absent import report_absent
from .nd import Device, cuda, device
from .target.target import Target

__getattr__ = report_absent("tvm.testing")


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raises AssertionError with the differences unless two arrays are equal up to a tolerance."""
    np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), rtol=rtol, atol=atol, verbose=True)


def device_enabled(target: str) -> bool:
    """Whether programs for a target run here."""
    kind = Target(target).kind.name
    return kind in ("llvm", "cuda", "cuda-emulated") and device(kind).exist


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that programs run for here, with their devices: `llvm`, and `cuda` with a GPU."""
    return [(name, device(name)) for name in ("llvm", "cuda") if device_enabled(name)]


def _mark(is_available: Callable[[], bool], reason: str) -> Callable[..., Any]:
    """A decorator of tests that need a feature, callable with and without arguments."""

    def decorate(*functions: Any) -> Any:
        # lazy: pytest runs tests alone
        import pytest

        marks = [pytest.mark.skipif(not is_available(), reason=reason)]
        if not functions:
            return marks
        (function,) = functions
        for mark in marks:
            function = mark(function)
        return function

    return decorate


requires_llvm = _mark(lambda: True, "")
requires_x86 = _mark(lambda: Target("llvm -mtriple=x86_64").is_local, "needs a processor of the x86 family")
requires_gpu = _mark(lambda: cuda(0).exist, "needs a GPU")
requires_cuda = _mark(lambda: cuda(0).exist, "needs a GPU of NVIDIA")
requires_opencl = _mark(lambda: False, "no code is generated for OpenCL")
requires_vulkan = _mark(lambda: False, "no code is generated for Vulkan")
requires_metal = _mark(lambda: False, "no code is generated for Metal")
requires_rocm = _mark(lambda: False, "no code is generated for ROCm")
uses_gpu = _mark(lambda: True, "")


def requires_package(*packages: str) -> Callable[[Any], Any]:
    """A decorator of tests that need packages of Python."""
    # lazy: few tests need it
    from importlib.util import find_spec

    missing = [name for name in packages if find_spec(name) is None]
    return _mark(lambda: not missing, f"needs {', '.join(missing)}")


def parametrize_targets(*targets: Any) -> Any:
    """A decorator of tests with parameters `target` and `dev`: the named targets that are enabled, by default all."""
    # lazy: pytest runs tests alone
    import pytest

    is_bare = len(targets) == 1 and callable(targets[0])
    names: Sequence[str] = [str(each) for each in targets] if targets and not is_bare else ("llvm", "cuda")
    chosen = [(name, device(Target(name).kind.name)) for name in names if device_enabled(name)]
    mark = pytest.mark.parametrize(("target", "dev"), chosen)
    return mark(targets[0]) if is_bare else mark


def parameter(*values: Any, ids: Sequence[str] | None = None, by_dict: dict[str, Any] | None = None) -> Any:
    """A fixture of pytest that takes each of the values, in a class or module of tests: `size = parameter(1, 128)`.

    by_dict: the values by their ids.
    """
    # lazy: pytest runs tests alone
    import pytest

    params, names = (list(by_dict.values()), list(by_dict)) if by_dict else (list(values), ids)

    @pytest.fixture(params=params, ids=names)
    def fixture(request: Any) -> Any:
        return request.param

    return fixture


def fixture(func: Callable[..., Any] | None = None, *, cache_return_value: bool = False) -> Any:
    """A fixture of pytest; with `cache_return_value` it is computed once for a module of tests."""
    # lazy: pytest runs tests alone
    import pytest

    make = pytest.fixture(scope="module" if cache_return_value else "function")
    return make if func is None else make(func)


def main() -> None:
    """Runs the tests of the calling file, and ends the process with the status of pytest."""
    # lazy: pytest runs tests alone
    import pytest

    path = inspect.stack()[1].filename
    sys.exit(pytest.main([path, *sys.argv[1:]]))
