"""Pipelines: the landings of the lowering, the passes between them, and the check after each of them.

`landings` lists the landings as data, `checks` the operations that may remain after each, `run` applies passes, `spec`
reads a pipeline from text, `lowering` goes down a list of landings, `division` divides a program into parts that are
lowered apart.
"""

from __future__ import annotations

from .division import Part
from .landings import Landing, Options
from .lowering import (
    import_passes,
    lower,
    lower_graph,
    lower_launches,
    lower_part,
    lower_to_c,
    lower_to_parts,
    lower_to_tir,
    lower_with,
)
from .run import AfterPass, run_in_place, run_pipeline
from .spec import known_passes, parse_passes

__all__ = [
    "AfterPass",
    "Landing",
    "Options",
    "Part",
    "import_passes",
    "known_passes",
    "lower",
    "lower_graph",
    "lower_launches",
    "lower_part",
    "lower_to_c",
    "lower_to_parts",
    "lower_to_tir",
    "lower_with",
    "parse_passes",
    "run_in_place",
    "run_pipeline",
]
