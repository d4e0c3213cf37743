"""Former name of `stepwell.analysis.regions.access_regions`."""

from __future__ import annotations

from ...core.aliases import former_module

__getattr__ = former_module(__name__, "stepwell.analysis.regions.access_regions")
