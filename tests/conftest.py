"""Hypothesis profiles (the same examples in each run, except under `make fuzz`), and the tools of peer projects."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from stepwell.backends.cuda.emulation import module as emulation
from stepwell.backends.cuda.emulation.compile import compile_kernels
from stepwell.backends.llvm import engine
from stepwell.backends.llvm.engine import Processor
from stepwell.frontends.tvmscript import reader
from stepwell.tools.warm_python import WarmPython

# Tests compile: results must not depend on earlier runs. Tests of the cache have their own.
os.environ["STEPWELL_CACHE"] = "off"
os.environ["STEPWELL_REPRODUCERS"] = "off"  # failures of passes are expected in tests

# Tests often build a program again. What a text alone determines is made once: the syntax tree, LLVM's code (a quarter
# of the time of tests), and the library that g++ makes of emulated kernels. All else runs in each build.
_read, _compile = reader._read, engine._compile
reader._read = lru_cache(maxsize=256)(_read)
engine._compile = _compile_once = lru_cache(maxsize=1024)(_compile)


def _compile_plainly(text: str, target: Processor) -> tuple[bytes, str]:
    """The object file of LLVM IR that LLVM does not optimize, and the LLVM IR."""
    return _compile_once(text, replace(target, optimized=False))


@lru_cache(maxsize=128)
def _emulated_kernels(source: str, kernels: tuple[str, ...], checks: bool) -> bytes:
    """The library of kernels for the emulation."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "kernels.so"
        compile_kernels(source, kernels, library, checks)
        return library.read_bytes()


def _write_emulated_kernels(source: str, kernels: Sequence[str], library: Path, checks: bool) -> None:
    library.write_bytes(_emulated_kernels(source, tuple(kernels), checks))


emulation.compile_kernels = _write_emulated_kernels


# Programs are cyclic and long-lived: less frequent garbage collection saves a tenth of the time.
gc.set_threshold(50_000, 20, 50)


def pytest_collection_finish() -> None:
    """Keeps the thousands of collected tests, which live to the end, out of garbage collection."""
    gc.freeze()


# The time of an example is meaningless on a shared machine.
settings.register_profile(
    "test",
    max_examples=6,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", settings.get_profile("test"), derandomize=False, max_examples=int(os.environ.get("FUZZ_EXAMPLES", "100"))
)
settings.load_profile("test")


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Draws no constants of the source of imported modules: which modules are imported depends on the earlier tests of
    the process, and the same examples must run each time. hypothesis has no setting for it.
    """
    if settings.get_current_profile_name() == "test":
        assert callable(providers._get_local_constants)
        providers._get_local_constants = Constants


_UNOPTIMIZED = tuple(
    Path(__file__).parent / folder
    for folder in ("frontends", "decoding", "backends/cuda", "backends/graph", "backends/relax", "backends/saving")
)
"""The folders of tests of programs, not of their native code, which LLVM does not optimize: a third of their time."""


@pytest.fixture(scope="module", autouse=True)
def _optimization(request: pytest.FixtureRequest) -> Iterator[None]:
    """Native code is optimized as that of users in tests of operators, schedules, passes, the LLVM back end and
    properties, and everywhere by `make fuzz` and `make slow`."""
    is_complete = settings.get_current_profile_name() == "fuzz" or request.config.getoption("markexpr") == "slow"
    if is_complete or not any(request.path.is_relative_to(folder) for folder in _UNOPTIMIZED):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_compile", _compile_plainly)
        yield


@pytest.fixture
def compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syntax trees, native code and emulated kernels are made in each build, for tests of how they are made."""
    monkeypatch.setattr(reader, "_read", _read)
    monkeypatch.setattr(engine, "_compile", _compile)
    monkeypatch.setattr(emulation, "compile_kernels", compile_kernels)


@pytest.fixture(scope="session")
def warm_python() -> WarmPython:
    """Python that has imported Stepwell, for programs in processes of their own that are not about imports."""
    return WarmPython()


@pytest.fixture(scope="session")
def fuzz_seed(pytestconfig: pytest.Config) -> int:
    """The seed of tests that draw random inputs without hypothesis: 0, or the seed of the round of `make fuzz`."""
    return int(pytestconfig.getoption("--hypothesis-seed") or 0)


def _peer_tool(name: str) -> Path:
    """The tool `name` from the venv of the peers (`make peer-test`) or from the folder of the running Python; skips the
    test without the tool."""
    folders = (os.environ.get("STEPWELL_PEER_BIN", ""), str(Path(sys.executable).parent))
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    if found is None:
        pytest.skip(f"{name} is not installed (make peer-test installs it)")
    return Path(found)


@pytest.fixture(scope="session")
def iree_opt() -> Path:
    """IREE's `iree-opt`, which parses upstream MLIR."""
    return _peer_tool("iree-opt")


@pytest.fixture(scope="session")
def tvm_python() -> Path:
    """A Python that can import the real `tvm`."""
    if "STEPWELL_PEER_BIN" not in os.environ:
        pytest.skip("apache-tvm is installed by `make peer-test` only")
    return _peer_tool("python")
