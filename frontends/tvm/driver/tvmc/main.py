"""The command line of tvmc: `tvm.driver.tvmc.main`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....core.errors import StepwellError
from .....core.fills import FILLS
from ... import version
from ...absent import report_absent
from .autotuner import TUNERS, tune_model
from .compiler import LAYOUTS, compile_model
from .frontends import get_frontend_names, load_model
from .model import TVMCPackage
from .runner import run_module

__getattr__ = report_absent("tvm.driver.tvmc.main")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs `compile`, `run` or `tune` with arguments, by default those of the process; returns the exit code. A mistake
    of the user is a message on stderr, and the exit code 1.
    """
    parser = argparse.ArgumentParser(prog="tvmc", description="Compiles models, and runs them.")
    parser.add_argument("--version", action="version", version=f"Stepwell, as TVM {version.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_compile(commands.add_parser("compile", help="compile a model to a package"))
    _add_run(commands.add_parser("run", help="run a package"))
    _add_tune(commands.add_parser("tune", help="measure the kernels of a model"))
    options = parser.parse_args(argv)
    try:
        options.function(options)
    except (StepwellError, OSError) as error:
        print(f"tvmc: error: {error}", file=sys.stderr)
        return 1
    return 0


def _add_model(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds the arguments of a model; returns the method that adds others."""
    add = parser.add_argument
    add("FILE", help="the file of the model")
    add("--model-format", choices=get_frontend_names(), help="by default that of the file's suffix")
    add("--input-shapes", type=parse_shape_string, metavar='"NAME:[1,3,224,224]"', help="shapes of inputs")
    add("--desired-layout", choices=list(LAYOUTS), help="the layout of convolutions")
    return add


def _add_compile(parser: argparse.ArgumentParser) -> None:
    add = _add_model(parser)
    add("--target", default="llvm", help="what to compile for: 'llvm -mcpu=...', cuda")
    add("-o", "--output", default="module.tar", help="the package: a file that ends in .tar, or a folder")
    add("-O", "--opt-level", type=int, choices=range(5), default=3, help="the level of optimization")
    add("--tuning-records", metavar="RECORDS", help="a file that tune wrote, without an effect")
    add("--dump-code", default="", metavar="CODE", help="relay, ll or asm, separated by commas")
    add("--disabled-pass", default="", metavar="PASSES", help="names of passes, separated by commas")
    add("--pass-config", action="append", metavar="NAME=VALUE", help="an option of the context of passes")
    add("--mixed-precision", action="store_true", help="compute products in float16")
    parser.set_defaults(function=_compile)


def _add_tune(parser: argparse.ArgumentParser) -> None:
    add = _add_model(parser)
    add("-o", "--output", required=True, metavar="RECORDS", help="the file of the records")
    add("--target", default="llvm", help="what to measure on: 'llvm -mcpu=...', cuda")
    add("--tuning-records", metavar="RECORDS", help="a file of records that precede the new ones")
    add("--enable-autoscheduler", action="store_true", help="write records of the auto-scheduler")
    add("--trials", type=int, default=1000, help="0 for no measurements: kernels have one configuration")
    add("--tuner", choices=TUNERS, default="xgb", help="without an effect: kernels have one configuration")
    add("--timeout", type=int, default=10, help="the longest seconds of a measurement")
    add("--repeat", type=int, default=1, help="the number of measurements")
    add("--number", type=int, default=10, help="the number of runs of a measurement")
    add("--min-repeat-ms", type=int, help="the least milliseconds of a measurement")
    add("--early-stopping", type=int, help="without an effect: kernels have one configuration")
    add("--parallel", type=int, help="without an effect: kernels are measured one after another")
    parser.set_defaults(function=_tune)


def _add_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("PATH", help="the package")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("-i", "--inputs", metavar="FILE.npz", help="arrays of inputs by name")
    add("-o", "--outputs", "--output", metavar="FILE.npz", help="the file for the arrays of the outputs")
    add("--fill-mode", choices=FILLS, default="random", help="the contents of inputs that are not given")
    add("--print-top", type=int, metavar="N", help="print the N greatest elements of each output, and their indices")
    add("--print-time", action="store_true", help="measure and print the run time")
    add("--profile", action="store_true", help="print a table of the kernels")
    add("--end-to-end", action="store_true", help="measure with the copies of inputs and outputs")
    add("--benchmark", action="store_true", help="measure the run time")
    add("--repeat", type=int, default=10, help="the number of measurements")
    add("--number", type=int, default=10, help="the number of runs of a measurement")
    parser.set_defaults(function=_run)


def _compile(options: argparse.Namespace) -> None:
    model = load_model(options.FILE, options.model_format, options.input_shapes)
    compile_model(
        model,
        options.target,
        opt_level=options.opt_level,
        package_path=options.output,
        dump_code=options.dump_code,
        disabled_pass=options.disabled_pass,
        pass_context_configs=options.pass_config,
        desired_layout=options.desired_layout,
        tuning_records=options.tuning_records,
        mixed_precision=options.mixed_precision,
    )


def _tune(options: argparse.Namespace) -> None:
    tune_model(
        load_model(options.FILE, options.model_format, options.input_shapes),
        options.target,
        options.output,
        options.tuning_records,
        options.enable_autoscheduler,
        trials=options.trials,
        tuner=options.tuner,
        min_repeat_ms=options.min_repeat_ms,
        timeout=options.timeout,
        repeat=options.repeat,
        number=options.number,
        desired_layout=options.desired_layout,
    )


def _run(options: argparse.Namespace) -> None:
    result = run_module(
        TVMCPackage(options.PATH),
        options.device,
        inputs=options.inputs,
        fill_mode=options.fill_mode,
        benchmark=options.benchmark or options.print_time,
        repeat=options.repeat,
        number=options.number,
        profile=options.profile,
        end_to_end=options.end_to_end,
    )
    if options.print_time:
        print(result.format_times())
    if options.print_top:
        for name, values in result.outputs.items():
            print(f"{name}:\n{_top(values, options.print_top)}")
    if options.outputs:
        result.save(options.outputs)


def _top(values: Any, count: int) -> np.ndarray[Any, Any]:
    """A row of the indices of the greatest elements of a flat array, and a row of their values, greatest first."""
    flat = values.reshape(-1)
    order = np.argsort(flat)[::-1][:count]
    return np.array([order, flat[order]])


_SHAPE = re.compile(r"\s*(?P<name>[^\s\[\]]+)\s*:\s*\[(?P<sizes>[^\]]*)\][\s,]*")


def parse_shape_string(text: str) -> dict[str, list[int | str]]:
    """Shapes of inputs by name, from `data:[1,3,224,224] mask:[1,n]`. A size that is no number is a name.
    argparse.ArgumentTypeError for another text.
    """
    shapes: dict[str, list[int | str]] = {}
    position = 0
    while position < len(text):
        match = _SHAPE.match(text, position)
        if match is None:
            raise argparse.ArgumentTypeError(f"shapes {text!r}, expected NAME:[SIZE,SIZE,...]")
        sizes = [size.strip() for size in match["sizes"].split(",") if size.strip()]
        shapes[match["name"].strip("'\"")] = [int(size) if size.isdecimal() else size for size in sizes]
        position = match.end()
    return shapes
