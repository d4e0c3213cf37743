"""Why a transformation is not legal, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import islpy as isl
from xdsl.ir import Operation

from .affine import Point
from .flow import Flow
from .model import Init
from .points import at_point, render, smallest
from .sources import LIVE_IN, LIVE_OUT, Key, Memory, Source

if TYPE_CHECKING:
    from .compare import Reads


@dataclass(frozen=True)
class Violation:
    """Why a transformation is not legal.

    message: in words, with a pair of instances and an element.  statements: the ops involved.  names: what they are
    called.  not_affine: the accesses of unknown elements, which were taken for accesses of any.
    """

    message: str
    statements: tuple[Operation, ...] = ()
    names: tuple[str, ...] = ()
    not_affine: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.not_affine:
            return self.message
        verb = "is" if len(self.not_affine) == 1 else "are"
        return f"{self.message}; {', '.join(self.not_affine)} {verb} not affine, so it may be any element"


@dataclass(frozen=True)
class Difference:
    """Where two flows differ: for a reader, with all its sources before and after, the pairs of `source` that only one
    of them has. how: "changed"; or what is wrong with one flow alone: "some" executions of the reader only, "twice"."""

    reads: Reads
    old: dict[Source, isl.Map]
    new: dict[Source, isl.Map]
    source: Source
    pairs: isl.Map
    how: str = "changed"
    flow: Flow | None = None


def explain(difference: Difference, before: Flow, after: Flow, renamed: dict[Any, Any]) -> Violation:
    """The smallest case of a difference in words."""
    return _Explanation(difference, before, after, renamed).violation()


class _Explanation:
    def __init__(self, difference: Difference, before: Flow, after: Flow, renamed: dict[Any, Any]):
        self.difference = difference
        self.flows = (after, before) if difference.flow is None else (difference.flow, after, before)
        self.before = before
        self.originals = {image: key for key, image in renamed.items()}
        self.involved: dict[Operation, str] = {}

    def violation(self) -> Violation:
        message = self._message()
        not_affine = tuple(dict.fromkeys(t for flow in self.flows for t in flow.not_affine))
        return Violation(message, tuple(self.involved), tuple(self.involved.values()), not_affine)

    def _message(self) -> str:
        d = self.difference
        parameters, start, end = smallest(d.pairs)
        rank = self._rank(d.reads.memory)
        writer, element = end[: len(end) - rank], end[len(end) - rank :]
        at = self._element(d.reads.memory, element)
        reader, source = self._reader(start), self._source(d.source, writer)
        if d.how == "twice":
            return f"{at} {self._is_read(reader)} with the contribution of {source} counted twice"
        if d.how == "some":
            return f"{reader} runs several times, and only in some of them {at} is what {source} wrote"
        was, now = (self._sources(table, parameters, start, element) for table in (d.old, d.new))
        missing = [s for s in was if s not in now]
        extra = [s for s in now if s not in was]
        return self._changed(at, reader, missing, extra, start)

    def _changed(
        self, at: str, reader: str, missing: list[tuple[Source, Point]], extra: list[tuple[Source, Point]], start: Point
    ) -> str:
        if not missing:
            source = self._source(*extra[0])
            return (
                f"{at} {self._is_read(reader)} after {source} {self._writes(extra[0][0])} it, which did not come before"
            )
        lost = self._source(*missing[0])
        writes = self._writes(missing[0][0])
        if missing[0][0].writer == LIVE_IN:
            other = self._source(*extra[0]) if extra else "nothing"
            return f"{at} {self._is_read(reader)} after {other} {self._writes(extra[0][0]) if extra else ''} it"
        if extra and extra[0][0].writer != LIVE_IN and not missing[0][0].is_contribution:
            other = self._source(*extra[0])
            return f"{at} {self._is_read(reader)} as {other} {self._writes(extra[0][0])} it, not as {lost} does"
        if self.difference.reads.reader == LIVE_OUT:
            return f"{at} is left at the end without what {lost} {writes}"
        return f"{at} {self._is_read(reader)} before {lost} {writes} it"

    # Names

    def _is_read(self, reader: str) -> str:
        if self.difference.reads.reader == LIVE_OUT:
            return "is left at the end"
        return f"is {'accumulated into' if self.difference.reads.is_update else 'read'} by {reader}"

    def _writes(self, source: Source) -> str:
        if source.is_contribution:
            return "contributes to"
        return "initializes" if isinstance(source.writer, Init) else "writes"

    def _reader(self, point: Point) -> str:
        return self._instance(self.difference.reads.reader, point)

    def _source(self, source: Source, point: Point) -> str:
        if source.writer == LIVE_IN:
            return f"what {self._element(source.memory, point)} held before"
        return self._instance(source.writer, point)

    def _instance(self, key: Key, point: Point) -> str:
        if isinstance(key, str):
            return "the end"
        for flow in self.flows:
            statement = flow.statements.get(key) or flow.statements.get(self.originals.get(key, ""))
            if statement is not None:
                op = key.block if isinstance(key, Init) else key
                self.involved.setdefault(op, statement.label)
                kind = "block " if statement.is_block else ""
                return f"{kind}{statement.label}{f' at {render(statement.names, point)}' if point else ''}"
        return str(key)

    def _element(self, memory: Memory, element: Point) -> str:
        for flow in self.flows:
            for candidate in (memory, self.originals.get(memory)):
                if candidate in flow.memories:
                    name = flow.memories[candidate].name
                    return f"{name}[{', '.join(map(str, element))}]" if memory is not None else name
        return "an element"

    def _rank(self, memory: Memory) -> int:
        for flow in self.flows:
            for candidate in (memory, self.originals.get(memory)):
                if candidate in flow.memories:
                    return flow.memories[candidate].rank
        return 0

    def _sources(
        self, table: dict[Source, isl.Map], parameters: Point, start: Point, element: Point
    ) -> list[tuple[Source, Point]]:
        """The sources of one read, some of them."""
        found: list[tuple[Source, Point]] = []
        for source, relation in table.items():
            here = at_point(relation, parameters, start)
            width = here.dim(isl.dim_type.out)
            for n, number in enumerate(element):
                here = here.fix_val(isl.dim_type.out, width - len(element) + n, number)
            for _ in range(_MOST):
                if here.is_empty():
                    break
                _, _, end = smallest(here)
                found.append((source, end[: width - len(element)]))
                one = here
                for n, number in enumerate(end):
                    one = one.fix_val(isl.dim_type.out, n, number)
                here = here.subtract(one)
        return found


# Contributions to look at when naming one that is missing.
_MOST = 64
