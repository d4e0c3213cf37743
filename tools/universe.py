"""The dialects, passes and targets of Stepwell for the tools of xDSL (entry point group `xdsl.universe`).

Every tool of xDSL imports this module at start, and a duplicate name stops every tool. Therefore the loaders import
nothing before they are called, and targets whose short name exists upstream have a prefix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.universe import Universe

from ..dialects import get_all_dialects
from ..transforms import get_all_passes

if TYPE_CHECKING:
    from xdsl.utils.target import Target

TARGETS = {
    "stepwell-asm": "StepwellAsmTarget",
    "stepwell-c": "StepwellCTarget",
    "stepwell-cuda": "StepwellCudaTarget",
    "stepwell-llvm": "StepwellLlvmTarget",
    "tvmscript": "TvmscriptTarget",
}
"""The exported targets: each name, and its class in `tools.targets`."""


def get_all_targets() -> dict[str, Callable[[], type[Target]]]:
    """The loaders of all targets, by name; a loader imports its target when it is called."""
    return {name: partial(_load, name) for name in TARGETS}


def _load(name: str) -> type[Target]:
    return getattr(import_module(".targets", __package__), TARGETS[name])


STEPWELL_UNIVERSE = Universe(
    all_dialects=get_all_dialects(),
    all_passes=get_all_passes(),
    all_targets=get_all_targets(),
)
