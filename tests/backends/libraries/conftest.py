"""Fixtures of fake libraries, and of graphs for the emulated GPU that call them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import GraphExecutor, Module
from stepwell.backends.cuda.build import build_emulated
from stepwell.backends.cuda.emulation import compiler
from stepwell.backends.graph import Executable
from stepwell.backends.graph.build import describe
from stepwell.core.target import Target
from stepwell.transforms.relay.libraries import library_symbols


@pytest.fixture(scope="session")
def compiled_stand_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    """The shared library of `fake_NAME.c`."""

    def compiled(name: str) -> ctypes.CDLL:
        if compiler() is None or shutil.which("gcc") is None:
            pytest.skip("needs gcc, g++ and binutils")
        library = tmp_path_factory.mktemp(name) / f"lib{name}.so"
        source = Path(__file__).parent / f"fake_{name}.c"
        flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wl,-Bsymbolic"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library)], check=True)
        found = ctypes.CDLL(str(library))
        found.current_stream.restype = ctypes.c_void_p
        return found

    return compiled


@pytest.fixture(scope="session")
def emulated() -> Callable[[Module, str], Executable]:
    """Builds a graph for the emulated GPU with the library calls that `build_graph` emits for `cuda`."""

    def made(graph: Module, library: str) -> Executable:
        symbols = library_symbols(graph, Target("cuda", libs=(library,)))
        return describe(graph, build_emulated(graph, Target("cuda-emulated"), symbols=symbols), "main")

    return made


@pytest.fixture(scope="session")
def ran() -> Callable[..., np.ndarray[Any, Any]]:
    """The first output of an executable."""

    def output(executable: Executable, **inputs: Any) -> np.ndarray[Any, Any]:
        executor = GraphExecutor(executable)
        executor.run(**inputs)
        return executor.get_output(0).numpy()

    return output
