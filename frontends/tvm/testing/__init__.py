"""The module `tvm.testing`: comparison of arrays, targets to test with, and marks of tests."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from ..absent import report_absent
from ..nd import Device, cuda, device
from ..target.target import Target
from .checks import assert_prim_expr_equal as assert_prim_expr_equal
from .checks import check_bool_expr_is_true as check_bool_expr_is_true
from .checks import check_numerical_grads as check_numerical_grads

_report_absent = report_absent("tvm.testing")


def __getattr__(name: str) -> Any:
    if name == "CompareBeforeAfter":
        # lazy: pytest runs tests alone
        from .comparison import CompareBeforeAfter

        return CompareBeforeAfter
    if name in ("auto_scheduler", "autotvm"):
        # lazy: workloads for tests of searches
        return import_module(f".{name}", __name__)
    return _report_absent(name)


IS_IN_CI = os.environ.get("CI", "").lower() == "true"
"""Whether a service for continuous integration runs the program, which says so in the environment."""
SKIP_SLOW_TESTS = os.environ.get("SKIP_SLOW_TESTS", "").lower() in ("true", "1", "yes")
"""Whether the environment asks to skip tests that take long."""


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raises AssertionError with the differences unless two arrays are equal up to a tolerance."""
    np.testing.assert_allclose(np.asarray(actual), np.asarray(desired), rtol=rtol, atol=atol, verbose=True)


def device_enabled(target: str) -> bool:
    """Whether programs for a target run here."""
    kind = next(iter(target.split()), "")
    return kind in ("llvm", "cuda", "cuda-emulated") and device(kind).exist


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that programs run for here, with their devices: `llvm`, and `cuda` with a GPU."""
    return [(name, device(name)) for name in ("llvm", "cuda") if device_enabled(name)]


def _mark(is_available: Callable[[], bool], reason: str) -> Callable[..., Any]:
    """A decorator of tests that need a feature, callable with and without arguments."""

    def decorate(*functions: Any, support_required: str = "") -> Any:
        # lazy: pytest runs tests alone
        import pytest

        marks = _Marks([pytest.mark.skipif(not is_available(), reason=reason)])
        if not functions:
            return marks
        (function,) = functions
        return marks(function)

    return decorate


class _Marks(list[Any]):
    """Marks of tests, which decorate a test, too."""

    def __call__(self, function: Any) -> Any:
        for mark in self:
            function = mark(function)
        return function


def _has_feature(name: str) -> bool:
    """Whether the processor of this machine has a feature with a name of LLVM."""
    # lazy: few tests need it
    import llvmlite.binding as llvm

    return bool(llvm.get_host_cpu_features().get(name))


requires_llvm = _mark(lambda: True, "")
requires_x86 = _mark(lambda: Target("llvm -mtriple=x86_64").is_local, "needs a processor of the x86 family")
requires_gpu = _mark(lambda: cuda(0).exist, "needs a GPU")
requires_cuda = _mark(lambda: cuda(0).exist, "needs a GPU of NVIDIA")
requires_opencl = _mark(lambda: False, "no code is generated for OpenCL")
requires_vulkan = _mark(lambda: False, "no code is generated for Vulkan")
requires_metal = _mark(lambda: False, "no code is generated for Metal")
requires_rocm = _mark(lambda: False, "no code is generated for ROCm")
requires_x86_vnni = _mark(lambda: _has_feature("avx512vnni"), "needs a processor with AVX-512 VNNI")
requires_x86_avx512 = _mark(lambda: _has_feature("avx512f"), "needs a processor with AVX-512")
requires_arm_dot = _mark(lambda: False, "needs a processor of ARM")
requires_micro = _mark(lambda: False, "needs a microcontroller")
requires_cmsisnn = requires_corstone300 = requires_hexagon = requires_micro
requires_cudnn = requires_cublas = requires_cuda
requires_skylake_avx512 = requires_x86_avx512
requires_cascadelake = requires_x86_vnni
requires_x86_amx = requires_sapphirerapids = _mark(
    lambda: _has_feature("amx-int8"), "needs a processor with matrices in registers (AMX)"
)
requires_tensorcore = _mark(lambda: False, "no code is generated for matrix units")
requires_arm_fp16 = requires_aarch64_sme = requires_aarch64_sve = requires_arm_dot
requires_rpc = _mark(lambda: False, "programs run on this machine, in this process")
requires_cudagraph = requires_nvptx = requires_cuda
requires_multi_gpu = requires_nccl = _mark(lambda: False, "programs run on one device")
requires_matrixcore = requires_rocm
requires_openclml = requires_opencl
requires_ethosn = requires_ethosu = requires_mrvl = requires_vitis_ai = requires_micro
requires_cutlass = requires_libtorch = _mark(lambda: False, "no code is generated for the library")
uses_gpu = skip_if_wheel_test = _mark(lambda: True, "")


def requires_package(*packages: str) -> Callable[[Any], Any]:
    """A decorator of tests that need packages of Python."""
    # lazy: few tests need it
    from importlib.util import find_spec

    missing = [name for name in packages if find_spec(name) is None]
    return _mark(lambda: not missing, f"needs {', '.join(missing)}")


def requires_nvcc_version(major_version: int, minor_version: int = 0, release_version: int = 0) -> Any:
    """A decorator of tests that need a version of nvcc, which this package does not use."""
    return _mark(lambda: False, "needs nvcc")


def requires_cuda_compute_version(major_version: int, minor_version: int = 0) -> Any:
    """A decorator of tests that need a GPU of a compute capability."""
    version = (major_version, minor_version)

    def is_available() -> bool:
        return cuda(0).exist and tuple(map(int, cuda(0).compute_version.split("."))) >= version

    return _mark(is_available, f"needs a GPU of compute capability {major_version}.{minor_version}")


def echo(value: Any) -> Any:
    """The value, as a packed function would return it."""
    return value


def device_test(dev: Device, dtype: int, did: int) -> Device:
    """A device whose type and index are as given. AssertionError for others."""
    if (dev.device_type, dev.device_id) != (dtype, did):
        raise AssertionError(f"device {dev} of type {dev.device_type}, expected type {dtype} and index {did}")
    return dev


@contextmanager
def enable_span_filling() -> Generator[None]:
    """A context in which TVM's front ends record places in models. Those of this package record none."""
    yield


disable_span_filling = enable_span_filling


def install_request_hook(depth: int) -> None:
    """Nothing: outside of the tests of TVM itself, downloads of tutorials stay as they are. depth: ignored."""


def skip_if_32bit(reason: str) -> Any:
    """A decorator of tests that need 64 bits, which every machine of this package has."""
    return _mark(lambda: True, reason)


def parametrize_targets(*targets: Any) -> Any:
    """A decorator of tests with parameters `target` and `dev`, or `target` alone: the named targets that are enabled,
    by default all.
    """
    is_bare = len(targets) == 1 and callable(targets[0])
    names: Sequence[str] = [str(each) for each in targets] if targets and not is_bare else ("llvm", "cuda")
    chosen = [(name, device(Target(name).kind.name)) for name in names if device_enabled(name)]

    def decorate(function: Any) -> Any:
        # lazy: pytest runs tests alone
        import pytest

        if "dev" in inspect.signature(function).parameters:
            return pytest.mark.parametrize(("target", "dev"), chosen)(function)
        return pytest.mark.parametrize("target", [name for name, _ in chosen])(function)

    return decorate(targets[0]) if is_bare else decorate


def parameter(*values: Any, ids: Sequence[str] | None = None, by_dict: dict[str, Any] | None = None) -> Any:
    """A fixture of pytest that takes each of the values, in a class or module of tests: `size = parameter(1, 128)`.

    by_dict: the values by their ids.
    """
    # lazy: pytest runs tests alone
    import pytest

    params, names = (list(by_dict.values()), list(by_dict)) if by_dict else (list(values), ids)

    @pytest.fixture(params=params, ids=names)
    def fixture(*_tests: Any, request: Any) -> Any:
        return request.param

    return fixture


@dataclass(frozen=True)
class Column:
    """The values of one of several parameters that vary together. group: the identity of their table."""

    group: int
    values: Sequence[Any]


_groups = count()


def parameters(*value_sets: Sequence[Any], ids: Sequence[str] | None = None) -> list[Any]:
    """Fixtures of pytest that vary together: `m, n = parameters((1, 2), (3, 4))` runs a test for both pairs. They need
    the plugin `tvm.testing.plugin`. ids: ignored.
    """
    group = next(_groups)
    return [_column(Column(group, values)) for values in zip(*value_sets, strict=True)]


def _column(column: Column) -> Any:
    # lazy: pytest runs tests alone
    import pytest

    def fixture(*_tests: Any, request: Any) -> Any:
        return request.param

    fixture.column = column  # pyright: ignore[reportFunctionMemberAccess]
    return pytest.fixture(fixture)


def exclude_targets(*targets: str) -> Callable[[Any], Any]:
    """A decorator of tests that do not run for targets."""

    def decorate(function: Any) -> Any:
        function.excluded_targets = targets
        return function

    return decorate


known_failing_targets = exclude_targets


def fixture(func: Callable[..., Any] | None = None, *, cache_return_value: bool = False) -> Any:
    """A fixture of pytest. cache_return_value: ignored; it is computed for each test."""
    # lazy: pytest runs tests alone
    import pytest

    return pytest.fixture if func is None else pytest.fixture(func)


def main() -> None:
    """Runs the tests of the calling file, and ends the process with the status of pytest."""
    # lazy: pytest runs tests alone
    import pytest

    path = inspect.stack()[1].filename
    sys.exit(pytest.main([path, *sys.argv[1:]]))
