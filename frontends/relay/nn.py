"""Operators of neural networks: `relay.nn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .operators import functions_in

if not TYPE_CHECKING:
    globals().update(functions_in("nn."))
