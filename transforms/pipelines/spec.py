"""Pipelines as text: `tir-resolve-blocks,tir-simplify{unit-loops=true}`."""

from __future__ import annotations

from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes as get_upstream_passes
from xdsl.utils.exceptions import ArgSpecParseError

from ...core.errors import OptionError
from ...core.plugins import installed_universe
from ...module import Module
from .. import get_all_passes
from .run import AfterPass, run_pipeline


def apply_passes(mod: Module, spec: str, after: AfterPass | None = None) -> Module:
    """Applies a pipeline, such as `tir-resolve-blocks,tir-simplify{unit-loops=true}`, to a copy of `mod`.

    Passes are Stepwell's, xDSL's and those of other packages, in the syntax of `stepwell-opt -p`. after: called with
    the module after each pass.
    Raises `OptionError` for a malformed pipeline, `PassError` for a pass that fails.
    """
    return run_pipeline(mod, parse_passes(spec), after)


def parse_passes(spec: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline in the syntax of `apply_passes`. Raises OptionError for a malformed pipeline."""
    known = {**installed_universe().all_passes, **get_upstream_passes(), **get_all_passes()}
    try:
        return PassPipeline.parse_spec(known, spec).passes
    except (ArgSpecParseError, ValueError) as error:
        raise OptionError(f"pipeline {spec!r}: {error}") from None
