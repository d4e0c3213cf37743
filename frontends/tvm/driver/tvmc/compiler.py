"""Compilation of models to packages: `tvm.driver.tvmc.compiler`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .....core.errors import OptionError
from ...absent import refuse_options, report_absent
from ...ir.module import IRModule
from ...relay.building import GraphExecutorFactoryModule, build
from ...relay.executors import Executor, Runtime
from ...relay.transform import ConvertLayout, ToMixedPrecision
from ...transform import PassContext, Sequential
from .model import TVMCModel, TVMCPackage

__getattr__ = report_absent("tvm.driver.tvmc.compiler")

LAYOUTS = {
    "NCHW": {"nn.conv2d": ["NCHW", "default"], "qnn.conv2d": ["NCHW", "default"]},
    "NHWC": {"nn.conv2d": ["NHWC", "default"], "qnn.conv2d": ["NHWC", "default"]},
}
"""The layouts of operators for a `desired_layout`, as the argument of `relay.transform.ConvertLayout`."""
_DUMPS: dict[str, Callable[[IRModule, GraphExecutorFactoryModule], str]] = {
    "relay": lambda mod, library: str(mod),
    "ll": lambda mod, library: library.get_source("ll"),
    "asm": lambda mod, library: library.get_source("asm"),
}
"""The texts that `dump_code` writes."""


def compile_model(
    tvmc_model: TVMCModel,
    target: Any,
    opt_level: int = 3,
    executor: Executor | None = None,
    runtime: Runtime | None = None,
    tuning_records: str | None = None,
    package_path: str | os.PathLike[str] | None = None,
    cross: str | Any = "",
    cross_options: str | None = None,
    output_format: str = "so",
    dump_code: Sequence[str] | str | None = None,
    dump_offloads: str = "",
    target_host: Any = None,
    disabled_pass: Sequence[str] | str | None = None,
    pass_context_configs: Sequence[str] | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    use_vm: bool = False,
    mod_name: str = "default",
    workspace_pools: Any = None,
    instruments: Sequence[Any] | None = None,
    desired_layout: str | None = None,
    desired_layout_ops: Sequence[str] | None = None,
    mixed_precision: bool = False,
    mixed_precision_ops: Sequence[str] | None = None,
    mixed_precision_calculation_type: str | None = None,
    mixed_precision_acc_type: str | None = None,
    alter_layout: str | None = None,
) -> TVMCPackage:
    """Compiles a graph for a target, with default schedules.

    package_path: a file that ends in `.tar`, or a folder; by default a temporary file of the process.  dump_code:
    "relay", "ll", "asm", one or several, or separated by commas; each is written beside the package.  disabled_pass: of
    the context.  pass_context_configs: `NAME=VALUE` of the context.  desired_layout, or alter_layout as of v0.8: "NCHW"
    or "NHWC", for convolutions, or for the operators `desired_layout_ops`.  mixed_precision: computes in
    `mixed_precision_calculation_type`, "float16" by default.  instruments: of the context.  target_host, executor,
    runtime, mod_name and mixed_precision_acc_type: as of `relay.build`.

    tuning_records: a file, which must exist; its records of kernels of graphs have the schedules that these have
    without records. UnsupportedError for cross, dump_offloads, use_vm, workspace_pools and mixed_precision_ops;
    OptionError for another output_format than "so" or "tar", and for an unknown layout or code.
    """
    refuse_options(
        "tvmc.compile", cross=cross, cross_options=cross_options,
        dump_offloads=dump_offloads, use_vm=use_vm, workspace_pools=workspace_pools,
        additional_target_options=additional_target_options, mixed_precision_ops=mixed_precision_ops,
    )  # fmt: skip
    if tuning_records is not None and not Path(tuning_records).is_file():
        raise FileNotFoundError(f"{tuning_records}: no such file of tuning records")
    if output_format not in ("so", "tar"):
        raise OptionError(f"tvmc.compile: output_format {output_format!r}, expected 'so' or 'tar'")
    dumps = _listed(dump_code)
    for code in dumps:
        if code not in _DUMPS:
            raise OptionError(f"tvmc.compile: dump_code {code!r}, expected {', '.join(_DUMPS)}")
    path = Path(package_path or tvmc_model.default_package_path())
    config = dict(_config(each) for each in pass_context_configs or ())
    with PassContext(
        opt_level=opt_level, disabled_pass=_listed(disabled_pass), config=config, instruments=list(instruments or ())
    ):
        mod = change_graph(
            tvmc_model.mod,
            desired_layout or alter_layout,
            desired_layout_ops,
            (mixed_precision_calculation_type or "float16") if mixed_precision else None,
        )
        library = build(mod, target, target_host, tvmc_model.params, mod_name, executor, runtime)
    library.export_library(path)
    for code in dumps:
        path.with_name(f"{path.name}.{code}").write_text(_DUMPS[code](mod, library))
    return TVMCPackage(path)


def change_graph(mod: IRModule, layout: str | None, operators: Sequence[str] | None, precision: str | None) -> IRModule:
    """A module in another layout and precision. layout: "NCHW" or "NHWC", for convolutions, or for the operators.
    precision: the data type of the computation."""
    passes: list[Any] = []
    if layout:
        if layout not in LAYOUTS:
            raise OptionError(f"tvmc.compile: desired_layout {layout!r}, expected {', '.join(LAYOUTS)}")
        wanted = {name: [layout, "default"] for name in operators} if operators else LAYOUTS[layout]
        passes.append(ConvertLayout(wanted))
    if precision is not None:
        passes.append(ToMixedPrecision(precision))
    return Sequential(passes)(mod) if passes else mod


def _listed(names: Sequence[str] | str | None) -> list[str]:
    """Names, or a text of names between commas, as a list."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return list(names or ())


def _config(text: str) -> tuple[str, Any]:
    """An option of the context as `NAME=VALUE`: a number, true, false or a text. OptionError for another text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise OptionError(f"pass config {text!r}, expected NAME=VALUE")
    known = {"true": True, "false": False}
    return name, known.get(value.lower(), int(value) if value.lstrip("-").isdecimal() else value)
