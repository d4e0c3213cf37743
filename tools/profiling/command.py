"""The command `stepwell profile`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...backends.build import build
from ...backends.graph import Executable, GraphExecutor, build_graph
from ...backends.validation.inputs import InputGenerator
from ...core.cpu import CpuModel, cpu_of
from ...core.errors import OptionError, UnsupportedError
from ...core.fills import FILLS
from ...core.processors import get_num_threads
from ...core.target import Target
from ...dialects.tir import FuncOp
from ...module import has_graphs
from ..compiling import add_graph_options, read_graph
from ..programs import check_sizes, entry_of, read_program, refuse_options
from ..running import graph_inputs
from ..usage import named_size, positive_numbers
from .drawing import FORMATS, check_format, draw
from .kernels import Kernel, kernel_of_program, kernels_of_graph
from .machine import measure_limits
from .report import report


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell profile` to a parser."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="a model (.onnx), a program (.py, .mlir), or a compiled graph")
    add("--threads", type=positive_numbers, metavar="N,...", help="the numbers of threads to measure with")
    add("--number", type=int, default=10, help="measured runs (default 10)")
    add("--size", type=named_size, action="append", default=[], metavar="NAME=N", help="a symbolic size")
    add("--seed", type=int, default=0, help="of the made-up inputs")
    of_graphs = [
        add("-i", "--inputs", type=Path, metavar="FILE.npz", help="arrays by the names of inputs of a graph"),
        add("--fill", choices=FILLS, help="the contents of inputs of a graph that are not given"),
    ]
    add("-o", "--output", type=Path, metavar="PICTURE", help=f"the roofline, a file that ends in {', '.join(FORMATS)}")
    of_models = add_graph_options(parser)
    of_sources = [
        add("--entry", metavar="NAME", help="the function to compile (main, or the only one)"),
        add("--target", default="llvm", help="the processor and libraries: 'llvm -libs=cblas'"),
    ]
    parser.set_defaults(
        command=profile_command, of_graphs=[*of_graphs, *of_models], of_sources=[*of_models, *of_sources]
    )


def profile_command(options: argparse.Namespace) -> int:
    """Runs the `profile` command; returns the exit code."""
    if options.output is not None:
        check_format(options.output)
    if options.number < 1:
        raise OptionError(f"--number {options.number}, expected a positive number")
    Target.from_value(options.target).require_processor("profile")
    counts = options.threads or [get_num_threads()]
    kernels = _kernels(options, counts)
    limits = [measure_limits(count) for count in counts]
    print(report(kernels, limits))
    if options.output is not None:
        draw(kernels, limits, options.output, options.file.name)
        print(f"\nroofline: {options.output}")
    return 0


def _kernels(options: argparse.Namespace, counts: list[int]) -> list[Kernel]:
    if options.file.is_dir() or options.file.suffix == ".tar":
        refuse_options(options, options.of_sources, "sources, and this is a compiled graph")
        return _of_graph(Executable.load(options.file), options, counts)
    if options.file.suffix == ".onnx":
        return _compile_graph(options, counts)
    module = read_program(options.file)
    if has_graphs(module.op):
        return _compile_graph(options, counts)
    refuse_options(options, options.of_graphs, "graphs, and this is a program of loops")
    entry = entry_of(module, options.entry)
    func = module.functions[entry]
    if not isinstance(func, FuncOp):
        raise UnsupportedError(f"{entry}: inputs can be made up for tir functions only, got {func.name}")
    generator = InputGenerator(func, options.seed, dict(options.size))
    check_sizes(generator.sizes, generator.size_names)
    program = build(module, target=options.target)
    arguments = list(generator.arguments().values())
    cpu = _processor(options)
    return [kernel_of_program(module, program, entry, arguments, generator.size, cpu, counts, options.number)]


def _compile_graph(options: argparse.Namespace, counts: list[int]) -> list[Kernel]:
    module = read_graph(options)
    executable = build_graph(
        module,
        target=options.target,
        entry=entry_of(module, options.entry),
        opt_level=options.O,
        winograd=not options.no_winograd,
    )
    return _of_graph(executable, options, counts)


def _of_graph(executable: Executable, options: argparse.Namespace, counts: list[int]) -> list[Kernel]:
    if executable.program.device_kind != "cpu":
        raise UnsupportedError(f"{options.file}: a graph for {executable.program.device_kind}, expected a processor")
    executor = GraphExecutor(executable)
    executor.set_input(**graph_inputs(executable, options))
    return kernels_of_graph(executor, _processor(options), counts, options.number)


def _processor(options: argparse.Namespace) -> CpuModel:
    """The processor of the target."""
    return cpu_of(Target.from_value(options.target))
