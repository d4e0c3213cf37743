"""Building graphs, as `tvm.relay.build` does it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....backends.graph import Executable, GraphExecutor, build_graph
from ....backends.graph.json import graph_json
from ....module import Module
from ...relay import Function, module
from ...relay.parameters import bind_parameters
from ..contrib.graph_executor import GraphModule
from ..nd import NDArray, array, cpu
from ..transform import PassContext


class GraphExecutorFactoryModule:
    """A compiled graph. `factory["default"](device)` gives what runs it; iterated, it is graph, library and params."""

    def __init__(self, executable: Executable):
        self.executable = executable

    def __getitem__(self, name: str) -> Any:
        """What makes an executor on a device, by the name "default"; else a kernel by its name."""
        if name == "default":
            return lambda *devices: GraphModule(GraphExecutor(self.executable))  # pyright: ignore[reportUnknownLambdaType]
        return self.executable.library[name]

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
    """Compile the function `main` of a graph. target: as `Target.of` takes it, this machine if missing.  params: arrays
    that are known now, by the names of parameters.

    How much is rewritten and fused is the `opt_level` of the context. Errors as of `stepwell.backends.graph`.
    """
    mod = module(ir_mod) if isinstance(ir_mod, Function) else ir_mod
    if params:
        mod = bind_parameters(mod, {name: np.asarray(value) for name, value in params.items()})
    level = PassContext.current().opt_level
    return GraphExecutorFactoryModule(build_graph(mod, target=target or "llvm", opt_level=level))
