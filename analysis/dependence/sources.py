"""Readers, sources, and the pseudo-sources LIVE_IN and LIVE_OUT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from .. import isl
from .order import AccessEvent
from .statements import Init

Memory: TypeAlias = SSAValue | None
"""A buffer, or another value that represents memory; None is the world outside of buffers."""

LIVE_IN = "live in"
LIVE_OUT = "live out"

Key: TypeAlias = Operation | Init | str
"""A statement, or the source of values from before the region (LIVE_IN), or the reader after it (LIVE_OUT)."""


@dataclass(frozen=True)
class Sink:
    """The reads of one memory by one statement; contributions read the elements that they are added to, and have a sink
    of their own."""

    key: Key
    memory: Memory
    is_update: bool = False


@dataclass(frozen=True)
class ValueSource:
    """The writer of a value: a statement; or, for values from before the region (LIVE_IN), their memory, whose
    instances are its elements."""

    writer: Key
    memory: Memory = None
    is_contribution: bool = False


NamedSources: TypeAlias = "dict[Sink, list[tuple[ValueSource, isl.Map]]]"
"""The sources of each sink: { reader's instance -> [writer's instance, element] }."""


@dataclass(frozen=True)
class MemoryAccesses:
    """The accesses to one memory in a region, by kind.

    updates: contributions to reductions.  last: the reader of all elements after the region, if any.  everything: the
    elements of the memory, as that reader reads them.
    """

    memory: Memory
    reads: Sequence[tuple[Sink, AccessEvent]]
    writes: Sequence[AccessEvent]
    updates: Sequence[tuple[Sink, AccessEvent]]
    last: Sink | None
    everything: isl.Map


class AmbiguousSources(Exception):
    """An instance runs several times and does not always read the same values.

    how: "some": the pairs are sources in only some executions of the reader; "twice": the pairs are contributions that
    a reader sees more than once.
    """

    def __init__(self, sink: Sink, source: ValueSource, pairs: isl.Map, how: str):
        super().__init__(how)
        self.sink = sink
        self.source = source
        self.pairs = pairs
        self.how = how
