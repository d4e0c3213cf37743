"""Whether a change kept the flow of values: the bridge from primitives to `analysis.dependence`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from xdsl.ir import Operation

from .state import Change


def flow_of(moved: Collection[Operation]) -> Any:
    """The flow of values that the statements in `moved` take part in."""
    return None


def require_same_flow(before: Any, change: Change) -> None:
    """ScheduleError unless the flow of values is the one it was `before` the change."""
    # TODO
