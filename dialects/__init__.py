"""One module per dialect: its types, operations, verifiers and the `Dialect` value. No rewriting here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect

DIALECTS = {
    "tir": "Tir",
}
"""Every dialect of Stepwell: its name, which is its module's too, and the name of its `Dialect` value there."""


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """A loader for every dialect, by name; nothing is imported before one is called."""
    return {name: partial(_load, name) for name in DIALECTS}


def _load(name: str) -> Dialect:
    return getattr(import_module(f".{name}", __name__), DIALECTS[name])
