"""Runs of packages: `tvm.driver.tvmc.runner`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .....backends.devices import Device
from .....backends.graph.inputs import complete_inputs
from .....core.array_files import read_arrays
from .....core.arrays import plain_array
from .....core.diagnostics import did_you_mean
from .....core.errors import OptionError
from .....core.fills import FILLS
from ...absent import refuse_options, report_absent
from ...contrib.debugger.debug_executor import GraphModuleDebug
from ...devices import device as device_named
from ...params import load_param_dict
from .model import TVMCPackage, TVMCResult

__getattr__ = report_absent("tvm.driver.tvmc.runner")

Inputs = Mapping[str, Any] | str | os.PathLike[str]


def run_module(
    tvmc_package: TVMCPackage,
    device: str | Device = "cpu",
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 9090,
    inputs: Inputs | None = None,
    fill_mode: str = "random",
    benchmark: bool = False,
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    options: Mapping[str, Any] | None = None,
) -> TVMCResult:
    """Runs a package, once or to measure times.

    device: "cpu" or "cuda".  inputs: arrays by name, or the path of a file of numpy (`.npz`).  fill_mode: the contents
    of other inputs, "random" (floats are standard normal, integers 0 or 1), "zeros" or "ones".  benchmark: measures the
    mean of `number` runs, `repeat` times; else the time of one run is measured.  profile: prints a table of kernels.
    end_to_end: with the copies of inputs and outputs.  port and options: without effect.

    OptionError for an unknown fill_mode, device or input; ArgumentError for an array that does not fit, and for an
    input of unknown size that is not given; UnsupportedError for rpc_key and hostname: programs run on this machine.
    """
    refuse_options("tvmc.run", rpc_key=rpc_key, hostname=hostname)
    if fill_mode not in FILLS:
        raise OptionError(f"tvmc.run: fill_mode {fill_mode!r}, expected {', '.join(FILLS)}")
    where = device if isinstance(device, Device) else device_named(device)
    module = tvmc_package.library["default"](where)
    specs = tvmc_package.library.executable.inputs
    arrays = complete_inputs(specs, make_inputs_dict(tvmc_package, inputs), fill_mode, {})
    module.set_input(**arrays)
    if benchmark:
        copied = arrays if end_to_end else {}
        times = module.benchmark(where, repeat=repeat, number=number, end_to_end=end_to_end, **copied)
    else:
        times = module.benchmark(where, repeat=1, number=1)
    if profile:
        print(GraphModuleDebug(module).profile(None, **arrays))
    outputs = {f"output_{index}": module.get_output(index).numpy() for index in range(module.get_num_outputs())}
    return TVMCResult(outputs, times)


def get_input_info(
    graph_str: str, params: bytes | bytearray | Mapping[str, Any]
) -> tuple[dict[str, list[int]], dict[str, str]]:
    """The shapes and the data types of the inputs of a graph, by name. graph_str, params: of a `TVMCPackage`."""
    graph = json.loads(graph_str)
    constants = load_param_dict(params) if isinstance(params, bytes | bytearray) else params
    starts = graph.get("node_row_ptr") or list(range(len(graph["nodes"])))
    shapes, dtypes = (graph["attrs"][key][1] for key in ("shape", "dltype"))
    inputs = {graph["nodes"][n]["name"]: starts[n] for n in graph["arg_nodes"]}
    names = [name for name in inputs if name not in constants]
    return {name: shapes[inputs[name]] for name in names}, {name: dtypes[inputs[name]] for name in names}


def make_inputs_dict(tvmc_package: TVMCPackage, inputs: Inputs | None) -> dict[str, np.ndarray[Any, Any]]:
    """The given arrays by name. OptionError for the name of another input than those of the package."""
    given = read_arrays(Path(inputs)) if isinstance(inputs, str | os.PathLike) else inputs or {}
    names = [spec.name for spec in tvmc_package.library.executable.inputs]
    for name in given:
        if name not in names:
            expected = ", ".join(names) or "none"
            raise OptionError(f"tvmc.run: input {name!r}{did_you_mean(name, names)}, expected {expected}")
    return {name: plain_array(value) for name, value in given.items()}
