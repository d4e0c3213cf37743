"""A model, its compiled package, and the results of a run: `tvm.driver.tvmc.model`."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from .....backends.devices import BenchmarkResult
from .....core.array_files import read_arrays, restore_dtype, write_arrays
from .....core.errors import ArgumentError, LoadError, StepwellError
from .....module import Module
from ....mlir import parse_mlir
from ...absent import refuse_options, report_absent
from ...contrib.utils import lasting_folder
from ...ir.module import IRModule
from ...nd import HostArray, NDArray
from ...params import save_param_dict
from ...relay.building import GraphExecutorFactoryModule
from ...runtime import load_module

__getattr__ = report_absent("tvm.driver.tvmc.model")

TVMCException = StepwellError
"""The errors of this package: those of Stepwell."""

_TEXT, _ARRAYS = "model.mlir", "model.npz"
_CONSTANT, _PARAMETER = "constant", "parameter"


class TVMCModel:
    """A graph and its parameters. mod: a module of relay.  params: arrays of parameters by name.  model_path: of a file
    of `save`, instead of both. ArgumentError for neither or both.
    """

    def __init__(
        self,
        mod: Module | None = None,
        params: Mapping[str, Any] | None = None,
        model_path: str | os.PathLike[str] | None = None,
    ):
        if (mod is None) == (model_path is None):
            raise ArgumentError("TVMCModel: expected either mod or model_path")
        self._folder = lasting_folder()
        self.mod: IRModule
        self.params: dict[str, NDArray]
        if mod is not None:
            self.mod = IRModule(mod.op, mod.constants)
            self.params = dict(params or {})
        else:
            self.load(str(model_path))

    def save(self, model_path: str | os.PathLike[str]) -> None:
        """Writes the graph and its arrays to a tar file: `model.mlir` and `model.npz`. OSError."""
        constants = {name: np.asarray(value) for name, value in self.mod.constants.items()}
        params = {name: value.numpy() for name, value in self.params.items()}
        folder = self._folder
        (folder / _TEXT).write_text(str(self.mod.op))
        write_arrays(folder / _ARRAYS, {**_keyed(_CONSTANT, constants), **_keyed(_PARAMETER, params)})
        with tarfile.open(model_path, "w") as archive:
            for name in (_TEXT, _ARRAYS):
                archive.add(folder / name, name)

    def load(self, model_path: str | os.PathLike[str]) -> None:
        """Reads a file of `save`. LoadError for another file, OSError."""
        folder = self._folder
        try:
            with tarfile.open(model_path) as archive:
                for name in (_TEXT, _ARRAYS):
                    archive.extract(name, folder, filter="data")
        except (tarfile.TarError, KeyError) as error:
            raise LoadError(f"{model_path}: no model of TVMCModel.save: {error}") from None
        mod = parse_mlir((folder / _TEXT).read_text())
        arrays = read_arrays(folder / _ARRAYS)
        mod.constants.update(_of_kind(_CONSTANT, arrays))
        self.mod = IRModule(mod.op, mod.constants)
        self.params = {name: HostArray(value) for name, value in _of_kind(_PARAMETER, arrays).items()}

    def summary(self, file: IO[str] | None = None) -> None:
        """Prints the graph."""
        print(self.mod, file=file)

    def default_tuning_records_path(self) -> str:
        """A file for records in a temporary folder of the process, the same at each call."""
        return str(self._folder / "tuning_records.json")

    def default_package_path(self) -> str:
        """The path of the compiled package of this model, in a temporary folder of the process."""
        return str(self._folder / "model_package.tar")


def _keyed(kind: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by kind, data type and name: files of numpy lack the data types of ml_dtypes."""
    return {f"{kind}:{array.dtype.name}:{name}": array for name, array in arrays.items()}


def _of_kind(kind: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of a kind by name."""
    found = {}
    for key, array in arrays.items():
        stored_kind, dtype, name = key.split(":", 2)
        if stored_kind == kind:
            found[name] = restore_dtype(array, dtype)
    return found


class TVMCPackage:
    """A compiled model in a file. package_path: of `compile`.  LoadError for another file, or another machine's."""

    def __init__(
        self,
        package_path: str | os.PathLike[str],
        project_dir: str | os.PathLike[str] | None = None,
        use_vm: bool = False,
    ):
        """project_dir: of a microcontroller, unsupported.  use_vm: unsupported."""
        refuse_options("TVMCPackage", project_dir=project_dir, use_vm=use_vm)
        self.package_path = str(package_path)
        self.executor_type = self.type = "graph"
        library = load_module(package_path)
        if not isinstance(library, GraphExecutorFactoryModule):
            raise LoadError(f"{package_path}: {type(library).__name__}, expected a graph")
        self.library = library

    @property
    def lib_path(self) -> str:
        """The path of the native code: that of the package."""
        return self.package_path

    @property
    def graph(self) -> str:
        """The graph in TVM's JSON."""
        return self.library.get_graph_json()

    @property
    def params(self) -> bytes:
        """The constants, as `relay.save_param_dict` writes them."""
        return save_param_dict(self.library.get_params())


class TVMCResult:
    """The results of a run. outputs: arrays by name, `output_0`, `output_1`, ....  times: seconds per run."""

    def __init__(self, outputs: Mapping[str, Any], times: BenchmarkResult):
        self.outputs = dict(outputs)
        self.times = times

    def format_times(self) -> str:
        """A table of the mean, median, greatest, least time and the standard deviation, in milliseconds."""
        return f"Execution time summary:\n{self.times}\n"

    def get_output(self, name: str) -> Any:
        """The array of an output. KeyError for another name."""
        return self.outputs[name]

    def save(self, output_path: str | os.PathLike[str]) -> None:
        """Writes the arrays of all outputs to a file of numpy (`.npz`). OSError."""
        write_arrays(Path(output_path), self.outputs)

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"
