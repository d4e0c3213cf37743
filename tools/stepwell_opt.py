"""`stepwell-opt`: the opt driver of xDSL with the front ends of Stepwell, and short names for its targets.

Reads MLIR or TVMScript (`.py` files, or `-f tvmscript`), applies a pipeline (`-p tir-simplify,convert-tir-to-scf`) and
prints MLIR (default), TVMScript (`-t tvmscript`), LLVM IR (`-t llvm`), assembly (`-t asm`) or the CUDA C++ of the
kernels (`-t cuda`). The last three accept any landing and run the rest of the default pipeline. The module is verified
after each pass. Remarks, times, the changes of passes and other observations are printed on stderr. A user error
results in a message on stderr and exit code 1; the fault of a pass also in a file that reproduces it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.target import Target as OutputTarget
from xdsl.xdsl_opt_main import xDSLOptMain

from ..backends.validation import validate_passes
from ..core import xdsl_compat as xdsl_compat  # arith on vectors, for upstream modules too
from ..core.cpu import cpu_of
from ..core.diagnostics import did_you_mean
from ..core.errors import OptionError
from ..core.plugins import installed_universe
from ..core.target import Target
from ..core.versions import versions
from ..module import Module
from ..transforms.observers import PassObserver, observe_passes
from ..transforms.pipelines import Landing, Options, parse_passes, run_in_place
from ..transforms.pipelines.landings import landings_until
from ..transforms.pipelines.lowering import go_down_in_place
from ..transforms.reproducers import ReproducerWriter, read_reproducer
from ..transforms.timing import report_times
from . import universe
from .frontends import STANDARD_INPUT, ReadsTvmscript
from .pass_printing import ALL, PassPrinter
from .remarks import add_remarks_options, complete_remarks_option, report_decisions
from .usage import refuse_arguments
from .user_errors import report_user_errors

_SHORT_TARGETS = {"llvm": "stepwell-llvm", "asm": "stepwell-asm", "cuda": "stepwell-cuda", "c": "stepwell-c"}
_VALIDATE = "--validate"
_LOWERING_TARGETS = (*_SHORT_TARGETS, *_SHORT_TARGETS.values())
"""The targets that lower programs."""


class StepwellOptMain(ReadsTvmscript, xDSLOptMain):
    """The driver of xDSL with the extensions of this module."""

    version_format: ClassVar[str] = "stepwell-opt built from xdsl version {xdsl_version}"

    passes: tuple[ModulePass, ...]
    """The passes of the option `-p`, or of the reproducer that is the input."""
    landings: tuple[Landing, ...]
    """The landings of the option `--stop-after`."""

    def __init__(self, description: str, words: Sequence[str]) -> None:
        self._words = words
        super().__init__(description, words)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        add_remarks_options(arg_parser)
        add = arg_parser.add_argument
        add("--diff", action="store_true", help="show the changes of each pass on stderr, function by function")
        add(
            "--print-before", metavar="PASS", action="append", default=[], help="show the program before a pass, or all"
        )
        add("--print-after", metavar="PASS", action="append", default=[], help="show the program after a pass, or all")
        add("--stop-after", metavar="LANDING", help="lower the program to a landing, after the passes")
        add(_VALIDATE, action="store_true", help="run the program before and after each pass on small inputs")
        add("--reproducer", metavar="FILE", type=Path, help="where to write a program on which a pass fails")
        self._check_words(arg_parser)

    def _check_words(self, parser: argparse.ArgumentParser) -> None:
        """Exits with the usage for an unknown option or target."""
        options, unknown = parser.parse_known_args(self._words)
        refuse_arguments(parser, unknown)
        name, known = parse_spec(options.target).name, [*self.available_targets]
        if name not in known:
            parser.error(f"unknown target {name!r}{did_you_mean(name, known)} (there are {', '.join(known)})")

    def register_all_passes(self) -> None:
        for name, load in installed_universe().all_passes.items():
            self.register_pass(name, load)

    def register_all_targets(self) -> None:
        self.available_targets.update(installed_universe().all_targets)
        ours = universe.get_all_targets()
        for short, name in _SHORT_TARGETS.items():
            self.available_targets[short] = partial(_rename, short, ours[name])

    def setup_pipeline(self) -> None:
        self._read_reproducer()
        self.passes = parse_passes(self.args.passes, self.available_passes)
        launches = parse_spec(self.args.target).name in ("cuda", _SHORT_TARGETS["cuda"])
        self.landings = landings_until(self.args.stop_after, launches) if self.args.stop_after else ()
        self._check_names("--print-before", self.args.print_before)
        self._check_names("--print-after", self.args.print_after)

    def _read_reproducer(self) -> None:
        """Takes the pipeline and the options of the input if it is a reproducer and the command has no pipeline."""
        file = self.args.input_file
        if self.args.passes or file in (None, STANDARD_INPUT) or not Path(file).is_file():
            return
        reproducer = read_reproducer(Path(file))
        if reproducer is None:
            return
        self.args.passes = reproducer.passes
        self.args.validate |= _VALIDATE in reproducer.options
        print(f"{file}: -p {reproducer.passes}", file=sys.stderr)
        if reproducer.versions != versions():
            print(f"{file}: of {reproducer.versions}; this is {versions()}", file=sys.stderr)

    def _check_names(self, option: str, names: Sequence[str]) -> None:
        """OptionError for the name of a pass that does not run."""
        names_run = [*dict.fromkeys(each.name for each in self.passes), ALL]
        lowers = bool(self.landings) or parse_spec(self.args.target).name in _LOWERING_TARGETS
        known = [*self.available_passes, ALL] if lowers else names_run
        for name in names:
            if name not in known:
                pipeline = "no pass" if lowers else f"the pipeline {self.args.passes!r} has no pass"
                raise OptionError(f"{option}: {pipeline} {name!r}{did_you_mean(name, known)}")

    def run(self) -> None:
        args = self.args
        shown = PassPrinter(args.print_before, args.print_after, args.diff)
        between = _BetweenPasses(self.passes) if args.print_between_passes else None
        show_times = partial(print, file=sys.stderr) if args.time_passes else None
        validates = args.validate or None  # None: by the environment
        reproducer = ReproducerWriter(args.reproducer, (_VALIDATE,) if args.validate else ())
        with report_times(show_times), observe_passes(shown, between, reproducer):
            with validate_passes(validates) as validator:  # after the others, which show the fault
                super().run()
        if args.validate:
            print(validator, file=sys.stderr)

    def apply_passes(self, prog: ModuleOp) -> None:
        module, verify = Module(prog), not self.args.disable_verify
        if verify:
            module.verify()
        run_in_place(module, self.passes, verify=verify, context=self.ctx)
        go_down_in_place(module, self.landings, Options(cpu=cpu_of(Target())), verify=verify)


class _BetweenPasses(PassObserver):
    """Prints the program after each pass but the last one, as xDSL's driver prints it."""

    def __init__(self, passes: Sequence[ModulePass]) -> None:
        self._earlier = passes[:-1]

    def after_pass(self, module_pass: ModulePass, module: Module, seconds: float) -> None:
        del seconds
        if any(module_pass is each for each in self._earlier):
            print(f"IR after {module_pass.name}:\n{module}\n\n\n")


def _rename(name: str, load: Callable[[], type[OutputTarget]]) -> type[OutputTarget]:
    """A subclass of a target with another name."""
    target = load()
    return type(target.__name__, (target,), {"name": name})


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell-opt` with `args`, by default the command line; exits with 1 on a user error."""
    sys.setrecursionlimit(20_000)  # xDSL parses and prints nested regions by recursion
    with report_user_errors(ValueError):  # an unknown pass, or an invalid option of a pass or target
        tool = StepwellOptMain("Stepwell's modular optimiser driver", complete_remarks_option(args))
        spec = parse_spec(tool.args.target)
        load_target = cast("Callable[[], type[OutputTarget]]", tool.available_targets[spec.name])
        load_target().from_spec(spec)
    with report_user_errors(), report_decisions(tool.args):
        tool.check_frontend()
        tool.run()
