"""`stepwell compile MODEL -o OUT`: compiles a graph of operators to native code in a folder or tar."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from ..backends.graph import Executable, build_graph
from ..backends.saving.writing import check_replaceable
from ..core.array_files import read_arrays
from ..core.diagnostics import did_you_mean
from ..core.dtypes import numpy_dtype
from ..core.errors import OptionError
from ..core.target import Target
from ..frontends.mlir import parse_mlir
from ..module import Module
from ..operators.relay import FuncOp, Size, dtype_of_tensor, normal_size, shape_of
from ..transforms.pipelines import AfterPass
from ..transforms.pipelines.landings import CALLS, CUDA, GRAPHS, LLVM, Options
from ..transforms.pipelines.lowering import passes_of
from ..transforms.relay.to_tir import arrays_of
from .phases import Phases
from .programs import entry_of
from .remarks import add_remarks_options, report_decisions


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `stepwell compile` to a parser."""
    add = parser.add_argument
    add("file", type=Path, metavar="MODEL", help="a model of ONNX (.onnx), or a graph of relay (.mlir)")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="a folder, or a file that ends in .tar")
    add("--entry", metavar="NAME", help="the function to compile (main, or the only one)")
    add_graph_options(parser)
    add("--target", default="llvm", help="what to compile for: 'llvm -libs=cblas' (this machine), cuda")
    add("--sanitize", action="store_true", help="detect undefined behavior at run time (llvm)")
    add_remarks_options(parser)
    add("--print-after", action="append", default=[], metavar="PASS", help="show the program behind a pass")
    parser.set_defaults(command=compile_command)


def add_graph_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Adds the options of `read_graph` and of the optimization of graphs to a parser; returns them."""
    add = parser.add_argument
    return [
        add(
            "--input-shape", type=_input_shape, action="append", default=[], metavar="NAME:1,3,224,224",
            help="of an input of ONNX; a size that is known when it runs is a name",
        ),
        add("--constants", type=Path, metavar="FILE.npz", help="the arrays that a .mlir file refers to"),
        add("-O", type=int, choices=[0, 1, 2], default=2, help="0: a kernel per operator; 1: fused; 2: all (default)"),
        add("--no-winograd", action="store_true", help="compute all convolutions directly"),
    ]  # fmt: skip


def _input_shape(text: str) -> tuple[str, tuple[Size, ...]]:
    name, colon, sizes = text.rpartition(":")
    try:
        if not colon or not name:
            raise ValueError(text)
        return name, tuple(_size(size.strip()) for size in sizes.split(",")) if sizes else ()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected NAME:SIZE,SIZE,..., got {text!r}") from None


def _size(text: str) -> Size:
    return int(text) if text.isdecimal() else normal_size(text)


def compile_command(options: argparse.Namespace) -> int:
    """Runs the `compile` command; returns the exit code."""
    check_replaceable(options.output.resolve())
    target = Target.from_value(options.target)
    below = _lowering_passes(target, options.sanitize)
    _check_passes(options.print_after, below)
    phases = Phases()
    # An observer of passes sees whole modules: without one, processes share the functions.
    observer = _observer(phases, set(options.print_after), below[-1]) if options.print_after else None
    with phases.show_status():
        phases.begin("read")
        module = read_graph(options)
        entry = entry_of(module, options.entry)
        phases.begin("compile" if observer is None else "optimise")
        with report_decisions(options):
            executable = build_graph(
                module,
                target=target,
                entry=entry,
                opt_level=options.O,
                winograd=not options.no_winograd,
                after=observer,
                sanitize=options.sanitize,
            )
        phases.begin("write")
        with _exit_on_sigterm():
            executable.save(options.output)
    print(_summary(executable, phases.seconds))
    return 0


@contextmanager
def _exit_on_sigterm() -> Generator[None, None, None]:
    """Raises SystemExit at SIGTERM, so that the files of an unfinished write are deleted."""

    def stop(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _lowering_passes(target: Target, sanitize: bool) -> list[str]:
    """The names of the passes that follow the passes of graphs, in order."""
    landings = LLVM if target.kind == "llvm" else CUDA
    return [each.name for each in passes_of(landings, Options(sanitize=sanitize))]


def _check_passes(names: list[str], below: list[str]) -> None:
    graphs = [each.name for each in passes_of(GRAPHS, Options(winograd=True, pack=True))]
    known = list(dict.fromkeys([*graphs, *below]))
    for name in names:
        if name not in known:
            raise OptionError(
                f"--print-after {name}: no such pass runs{did_you_mean(name, known)} (there are {', '.join(known)})"
            )


# Input


def read_graph(options: argparse.Namespace) -> Module:
    """The graph in the file of the options. Raises OptionError for a file of another kind, and the errors of the front
    ends."""
    readers: dict[str, Callable[[argparse.Namespace], Module]] = {".onnx": _read_onnx, ".mlir": _read_mlir}
    read = readers.get(options.file.suffix)
    if read is None:
        raise OptionError(f"{options.file}: expected a file that ends in {' or '.join(readers)}")
    return read(options)


def _read_onnx(options: argparse.Namespace) -> Module:
    # lazy: an optional dependency, needed for .onnx only
    from ..frontends.onnx import from_onnx

    if options.constants is not None:
        raise OptionError("--constants: a model of ONNX has its own")
    return from_onnx(options.file, shapes=dict(options.input_shape))


def _read_mlir(options: argparse.Namespace) -> Module:
    if options.input_shape:
        raise OptionError("--input-shape: a .mlir file says the shapes of its inputs")
    module = parse_mlir(options.file.read_text(encoding="utf-8"), str(options.file))
    module.verify()
    if options.constants is not None:
        module.constants.update(read_arrays(options.constants))
    _check_constants(module)
    return module


def _check_constants(module: Module) -> None:
    """OptionError unless each referenced constant exists, with the shape and data type of its type."""
    for func in module.functions.values():
        for name, op in arrays_of(func).items() if isinstance(func, FuncOp) else ():
            expected = op.result.type
            array = module.constants.get(name)
            if array is None:
                raise OptionError(f"constant {name!r}, {expected}, is missing: --constants FILE.npz")
            if array.shape != shape_of(expected) or array.dtype != numpy_dtype(dtype_of_tensor(expected)):
                raise OptionError(f"constant {name!r}: {array.dtype} of shape {array.shape}, expected {expected}")


# Output


def _observer(phases: Phases, printed: set[str], last: str) -> AfterPass:
    """A callback that shows progress after each pass, and the program after the passes in `printed`. last: the last
    pass before native code."""
    last_of_graph = CALLS.passes(Options())[-1].name
    seen: set[str] = set()

    def after(name: str, module: Module) -> None:
        if name in printed:
            phases.show(f"//===== after {name} =====//\n{module}\n")
        if name == last_of_graph and name not in seen:
            phases.begin("lower")
        elif name == last:
            phases.begin("native")
        else:
            phases.show_activity(f"after {name}")
        seen.add(name)

    return after


def _summary(executable: Executable, seconds: dict[str, float]) -> str:
    calls = executable.calls
    constants = sum(array.nbytes for array in executable.constants.values())
    times = ", ".join(f"{name} {each:.2f}" for name, each in seconds.items())
    lines = {
        "inputs": ", ".join(f"{spec.name}: {spec}" for spec in executable.inputs) or "none",
        "outputs": ", ".join(f"{spec.name}: {spec}" for spec in executable.outputs),
        "kernels": f"{len({call.kernel for call in calls})} in {len(calls)} calls",
        "constants": f"{constants:,} bytes",
        "workspace": f"{executable.workspace:,} bytes, {executable.unshared:,} before sharing",
        "seconds": f"{sum(seconds.values()):.2f}: {times}",
    }
    return "\n".join(f"{name:12}{text}" for name, text in lines.items())
