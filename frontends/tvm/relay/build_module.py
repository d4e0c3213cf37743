"""Building graphs, as `tvm.relay.build` does it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....backends.cuda.library import DeviceLibrary
from ....backends.graph import Executable, GraphExecutor, build_graph
from ....backends.graph.json import graph_json
from ....core.errors import ArgumentError
from ....module import Module
from ....transforms.pipelines import optimize_relay, run_pipeline
from ...relay import Function, module
from ...relay.parameters import bind_parameters
from ..contrib.graph_executor import GraphModule
from ..driver.build_module import DeviceModule
from ..ir.module import IRModule
from ..nd import Device, NDArray, array, cpu
from ..transform import PassContext


class GraphExecutorFactoryModule:
    """A compiled graph. `factory["default"](device)` gives what runs it; iterated, it is graph, library and params."""

    def __init__(self, executable: Executable):
        self.executable = executable

    def __getitem__(self, name: str) -> Any:
        """What makes an executor on a device, by the name "default"; else a kernel by its name."""
        if name == "default":
            return self._executor
        return self.executable.library[name]

    def _executor(self, *devices: Device | Sequence[Device] | None) -> GraphModule:
        """What runs the graph on a device. ArgumentError for several, or one of another kind."""
        given: list[Device] = []
        for each in devices:
            given += [each] if isinstance(each, Device) else each or []
        if len(given) > 1:
            raise ArgumentError(f"devices {', '.join(map(str, given))}, expected one: a graph runs on one device")
        return GraphModule(GraphExecutor(self.executable, *given))

    def get_graph_json(self) -> str:
        """The graph in TVM's JSON: nodes, which kernel each calls, and where its tensors are kept."""
        return graph_json(self.executable)

    graph_json = property(get_graph_json)

    def get_lib(self) -> GraphExecutorFactoryModule:
        """The native code, which knows its graph."""
        return self

    lib = property(get_lib)

    def get_params(self) -> dict[str, NDArray]:
        """The constants, by name."""
        return {name: array(values, cpu()) for name, values in self.executable.constants.items()}

    params = property(get_params)

    @property
    def imported_modules(self) -> list[DeviceModule]:
        """What the graph launches: one module if it is for a GPU, else none."""
        library = self.executable.library
        return [DeviceModule(library)] if isinstance(library, DeviceLibrary) else []

    def get_source(self, fmt: str = "") -> str:
        """The native code as LLVM IR, or as assembly for "asm"."""
        return self.executable.library.source("asm" if fmt in ("s", "asm") else "llvm-optimized")

    def export_library(self, file_name: str | os.PathLike[str]) -> None:
        """Save all of it, for `tvm.runtime.load_module`: as one file if the name ends in `.tar`, else as a folder.

        OptionError if something else is there, OSError.
        """
        self.executable.save(file_name)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.get_graph_json(), self, self.get_params()))


def build(
    ir_mod: Module | Function,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphExecutorFactoryModule:
    """Compile the function `main` of a graph. params: arrays that are known now, by the names of parameters.

    target: `llvm` if missing, `cuda` for a GPU; libraries compute what they can with `llvm -libs=cblas`.  target_host,
    mod_name: are not needed. How much is rewritten and fused is the `opt_level` of the context. Errors as of
    `stepwell.backends.graph`.
    """
    mod = _bound(ir_mod, params)
    level = PassContext.current().opt_level
    return GraphExecutorFactoryModule(build_graph(mod, target=_target(target), opt_level=level))


def optimize(
    mod: Module | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """A graph as `build` rewrites it in front of fusion, and its constants by name."""
    found = run_pipeline(_bound(mod, params), optimize_relay())
    constants = {name: array(values, cpu()) for name, values in found.constants.items()}
    return IRModule(found.op, found.constants), constants


def bind_params_by_name(func: Module | Function, params: Mapping[str, Any]) -> IRModule:
    """A module whose function `main` has arrays for some of its parameters, by name. ArgumentError as of `build`."""
    mod = _bound(func, params)
    return IRModule(mod.op, mod.constants)


def _bound(mod: Module | Function, params: Mapping[str, Any] | None) -> Module:
    graph = module(mod) if isinstance(mod, Function) else mod
    return bind_parameters(graph, {name: np.asarray(value) for name, value in params.items()}) if params else graph


def _target(target: Any) -> Any:
    """A target, also as a dictionary of one by the number or name of its device."""
    if isinstance(target, Mapping) and "kind" not in target and len(target) == 1:
        (target,) = target.values()
    return "llvm" if target is None else target
