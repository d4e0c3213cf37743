"""Compiled functions and graphs as modules of PyTorch: `tvm.contrib.torch`. Requires the extra `torch`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ....backends.graph import Executable, GraphFunction
from ....core.errors import ArgumentError, OptionError, UnsupportedError
from ....module import Module
from ...torch.library import torch
from ...torch.tensors import call_with_tensors
from ..absent import report_absent
from ..driver.build_module import OperatorModule
from ..driver.build_module import build as build_functions
from ..ir.module import IRModule
from ..meta_schedule.relay_integration import compile_relay, tune_relay
from ..meta_schedule.tir_integration import compile_tir, tune_tir
from ..relay import build as build_graph
from ..relay.building import GraphExecutorFactoryModule
from ..relay.frontend import from_pytorch
from ..target.target import TargetLike

__getattr__ = report_absent("tvm.contrib.torch")

_OPTIONS = (
    "input_infos", "default_dtype", "target", "export_dir", "tuning_n_trials", "tuning_log_file", "num_outputs",
    "device",
)  # fmt: skip
"""The options of `compile`."""


class OperatorModuleWrapper(torch.nn.Module):
    """A function as a module of PyTorch: a call passes the tensors to the function, which writes its outputs in place.

    The first call compiles the function for the device of its first tensor.
    """

    def __init__(self, module: Module):
        """module: with one function, as of `tvm.build`."""
        super().__init__()
        self.ir_module = module
        self.rt_module: OperatorModule | None = None

    def tune(self, target: TargetLike = "cpu", max_trials_global: int = 32, **options: Any) -> None:
        """Gives the function the fastest of the measured schedules, and compiles it. target: "cpu" or one of
        `tvm.target.Target`.  options: of `meta_schedule.tir_integration.tune_tir`, whose errors it raises."""
        target = _target(target)
        options = {"num_trials_per_iter": 32, "task_scheduler": "round-robin", "strategy": "replay-trace", **options}
        schedule = compile_tir(
            tune_tir(self.ir_module, target, None, max_trials_global, **options), self.ir_module, target
        )
        if schedule is not None:
            self.ir_module = schedule.mod
        self.build(target)

    def script(self) -> str:
        """The function as TVMScript."""
        return self.ir_module.script()

    def build(self, target: TargetLike | None = None) -> OperatorModule:
        """Compiles the function. Errors as of `tvm.build`."""
        self.rt_module = built = build_functions(self.ir_module, target=target)
        return built

    def forward(self, *torch_inputs: Any) -> None:
        """Calls the function. Errors as of a compiled function; UnsupportedError for other devices, and in a trace."""
        _refuse_trace()
        module = self.rt_module
        if module is None:
            device = torch_inputs[0].device.type if torch_inputs else "cpu"
            if device not in ("cpu", "cuda"):
                raise UnsupportedError(f"as_torch: a tensor on device {device}, expected cpu or cuda")
            module = self.build("cuda" if device == "cuda" else None)
        module(*torch_inputs)


TVMScriptIRModule = OperatorModuleWrapper


def as_torch(func: Module | Callable[..., Module]) -> OperatorModuleWrapper | Callable[..., OperatorModuleWrapper]:
    """A function as a module of PyTorch; for a function of Python that returns a function, the one that returns its
    module of PyTorch. Also a decorator. ArgumentError for another value."""
    if isinstance(func, Module):
        return OperatorModuleWrapper(func)
    if not callable(func):
        raise ArgumentError(f"as_torch: {type(func).__name__}, expected a function, a module, or a Python function")
    make = func

    def wrapped(*args: Any, **named: Any) -> OperatorModuleWrapper:
        return OperatorModuleWrapper(make(*args, **named))

    return wrapped


class GraphExecutorFactoryWrapper(torch.nn.Module):
    """A compiled graph as a module of PyTorch, for tensors on the processor, which are read in place.

    It is saved by `torch.save` with its native code: load only trusted files.
    """

    def __init__(self, module: GraphExecutorFactoryModule):
        super().__init__()
        self.inner_module = module
        self._function = GraphFunction(module.executable)

    def forward(self, *torch_inputs: Any) -> Any:
        """The output, or a tuple of several outputs, as new tensors. ArgumentError for other shapes or types;
        UnsupportedError in a trace."""
        _refuse_trace()
        outputs = call_with_tensors(self._function, torch_inputs)[0]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_function"], state["inner_module"]
        with TemporaryDirectory() as folder:
            archive = Path(folder) / "graph.tar"
            self.inner_module.export_library(archive)
            return {"state": state, "graph": archive.read_bytes()}

    def __setstate__(self, saved: Mapping[str, Any]) -> None:
        self.__dict__.update(saved["state"])
        with TemporaryDirectory() as folder:
            archive = Path(folder) / "graph.tar"
            archive.write_bytes(saved["graph"])
            self.inner_module = GraphExecutorFactoryModule(Executable.load(archive))
        self._function = GraphFunction(self.inner_module.executable)


def optimize_torch(
    func: Callable[..., Any],
    example_inputs: Any,
    *,
    max_trials_global: int | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    target: TargetLike = "cpu",
    **options: Any,
) -> GraphExecutorFactoryWrapper:
    """A model or a function of tensors, compiled for the shapes of its example inputs, as a module of PyTorch.

    func: traced by `torch.jit.trace` with the example inputs, a tensor or a sequence of tensors; or a trace.
    max_trials_global: the greatest number of measured schedules; None, which TVM does not accept, for default
    schedules.  target: "cpu" or one of `tvm.target.Target`, a processor.  options: of
    `meta_schedule.relay_integration.tune_relay`.

    Errors as of `tune_relay` and of `relay.frontend.from_pytorch`; ArgumentError for another target.
    """
    inputs = [example_inputs] if isinstance(example_inputs, torch.Tensor) else list(example_inputs)
    trace = func if isinstance(func, torch.jit.ScriptModule) else torch.jit.trace(func, tuple(inputs))
    infos = [(f"inp_{n}", tuple(each.shape)) for n, each in enumerate(inputs)]
    options = {"work_dir": work_dir, "max_trials_global": max_trials_global, **options}
    return GraphExecutorFactoryWrapper(_compile(from_pytorch(trace, infos), target, options))


def compile(script_module: Any, option: Mapping[str, Any]) -> GraphExecutorFactoryWrapper:
    """A model of TorchScript, compiled, as a module of PyTorch.

    option: `input_infos` and `default_dtype` of `relay.frontend.from_pytorch`; `target`, "cuda" by default as in TVM,
    expected is a processor; `export_dir`, a folder for the compiled graph, which is created; `tuning_n_trials`: the
    greatest number of measured schedules, 20 by default, 0 for default schedules; `tuning_log_file`, `num_outputs` and
    `device`, ignored. OptionError for other options, and without `input_infos`.
    """
    if "input_infos" not in option or not option.keys() <= set(_OPTIONS):
        known = ", ".join(_OPTIONS)
        raise OptionError(f"compile: options {', '.join(option)}, expected input_infos, and some of {known}")
    imported = from_pytorch(script_module, option["input_infos"], default_dtype=option.get("default_dtype", "float32"))
    trials = option.get("tuning_n_trials", 20) or None
    graph = _compile(imported, option.get("target", "cuda"), {"max_trials_global": trials})
    folder = Path(option.get("export_dir", "pytorch_compiled"))
    folder.mkdir(parents=True, exist_ok=True)
    graph.export_library(folder / "mod.tar")
    return GraphExecutorFactoryWrapper(graph)


def _compile(
    imported: tuple[IRModule, Mapping[str, Any]], target: TargetLike, options: Mapping[str, Any]
) -> GraphExecutorFactoryModule:
    """A compiled graph: with measured schedules if the options of `tune_relay` limit their number, else with default
    schedules."""
    (mod, params), target = imported, _target(target)
    if options["max_trials_global"] is None:
        return build_graph(mod, target, params=params)
    graph = compile_relay(tune_relay(mod, params, target, **options), mod, target, params)
    assert isinstance(graph, GraphExecutorFactoryModule)
    return graph


def _target(target: TargetLike) -> TargetLike:
    return "llvm" if target == "cpu" else target


def _refuse_trace() -> None:
    """UnsupportedError in a trace of PyTorch, which would record results as constants."""
    if torch.jit.is_tracing():
        raise UnsupportedError("a compiled module in a trace of PyTorch, expected a call with tensors")


__all__ = [
    "GraphExecutorFactoryWrapper", "OperatorModuleWrapper", "TVMScriptIRModule", "as_torch", "compile",
    "optimize_torch",
]  # fmt: skip
