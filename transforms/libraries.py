"""Former name of `stepwell.transforms.relay.libraries`."""

from __future__ import annotations

from ..core.aliases import former_module

__getattr__ = former_module(__name__, "stepwell.transforms.relay.libraries")
