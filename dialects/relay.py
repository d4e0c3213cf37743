"""Former name of `stepwell.operators.relay`."""

from __future__ import annotations

from ..core.aliases import former_module

__getattr__ = former_module(__name__, "stepwell.operators.relay")
