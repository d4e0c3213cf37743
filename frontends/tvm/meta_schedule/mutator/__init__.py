"""Changes of measured schedules: `tvm.meta_schedule.mutator`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...absent import report_absent
from .choices import MutateParallel, MutateThreadBinding, MutateTileSize, MutateUnroll
from .mutate_compute_location import MutateComputeLocation
from .mutator import Mutator, PyMutator

__getattr__ = report_absent("tvm.meta_schedule.mutator")


def _processor() -> dict[Mutator, float]:
    return {MutateTileSize(): 0.9, MutateComputeLocation(): 0.05, MutateUnroll(): 0.03}


DEFAULTS: Mapping[str, Callable[[], dict[Mutator, float]]] = {
    "llvm": lambda: {**_processor(), MutateParallel(16): 0.02},
    "cuda": lambda: {MutateTileSize(): 0.9, MutateUnroll(): 0.08, MutateThreadBinding(): 0.02},
    "hexagon": lambda: {**_processor(), MutateParallel(16): 0.02},
    "c": _processor,
}
"""The mutators by the kind of a target, each with its probability in TVM 0.16."""

__all__ = [
    "MutateComputeLocation", "MutateParallel", "MutateThreadBinding", "MutateTileSize", "MutateUnroll", "Mutator",
    "PyMutator",
]  # fmt: skip
