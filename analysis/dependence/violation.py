"""The reason why a transformation is not legal, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.ir import Operation

from .. import isl
from .affine import Point
from .flow import Flow
from .points import at_point, lexicographic_minimum, render_parameters, render_point
from .sources import LIVE_IN, LIVE_OUT, Key, Memory, ValueSource
from .statements import Init

if TYPE_CHECKING:
    from .compare import Reads


@dataclass(frozen=True)
class Violation:
    """The reason why a transformation is not legal.

    message: in words, with a pair of instances and an element.  statements: the ops involved.  names: their names.
    not_affine: the accesses of unknown elements, which count as accesses of any element.  is_ambiguous: whether the
    flow of one program alone does not determine the reads of an instance.
    """

    message: str
    statements: tuple[Operation, ...] = ()
    names: tuple[str, ...] = ()
    not_affine: tuple[str, ...] = ()
    is_ambiguous: bool = False

    def __str__(self) -> str:
        if not self.not_affine:
            return self.message
        verb = "is" if len(self.not_affine) == 1 else "are"
        return f"{self.message}; {', '.join(self.not_affine)} {verb} not affine, so it may be any element"


@dataclass(frozen=True)
class Difference:
    """A difference between two flows: a reader, all its sources before and after, and the pairs of `source` in only one
    of the flows. how: "changed"; or a defect of one flow alone: "some" executions of the reader only, "twice"."""

    reads: Reads
    old: dict[ValueSource, isl.Map]
    new: dict[ValueSource, isl.Map]
    source: ValueSource
    pairs: isl.Map
    how: str = "changed"
    flow: Flow | None = None


def explain(difference: Difference, before: Flow, after: Flow, renamed: dict[Any, Any]) -> Violation:
    """The smallest case of a difference, in words."""
    return _Explanation(difference, before, after, renamed).violation()


_Instance: TypeAlias = tuple[ValueSource, Point]


class _Explanation:
    def __init__(self, difference: Difference, before: Flow, after: Flow, renamed: dict[Any, Any]):
        self.difference = difference
        self.flows = (after, before) if difference.flow is None else (difference.flow, after, before)
        self.before = before
        self.originals = {image: key for key, image in renamed.items()}
        self.involved: dict[Operation, str] = {}

    def violation(self) -> Violation:
        """The violation with its message."""
        message = self._message()
        not_affine = tuple(dict.fromkeys(t for flow in self.flows for t in flow.not_affine))
        return Violation(
            message, tuple(self.involved), tuple(self.involved.values()), not_affine, self.difference.how == "some"
        )

    def _message(self) -> str:
        d = self.difference
        parameters, start, end = lexicographic_minimum(d.pairs)
        return self._case(parameters, start, end) + render_parameters(parameters, self.before.label)

    def _case(self, parameters: dict[str, int], start: Point, end: Point) -> str:
        d = self.difference
        rank = self._rank(d.reads.memory)
        writer, element = end[: len(end) - rank], end[len(end) - rank :]
        at = self._element(d.reads.memory, element)
        reader = self._instance(d.reads.reader, start)
        if d.how == "some":
            return f"{reader} runs several times, and not always reads the same {at}"
        read = f"{at} {self._is_read(reader)}"
        if d.how == "twice":
            return f"{read} with the contribution of {self._instance(d.source.writer, writer)} counted twice"
        was, now = (self._sources(table, parameters, start, element) for table in (d.old, d.new))
        missing = [s for s in was if s not in now]
        extra = [s for s in now if s not in was]
        return self._describe_change(read, missing, extra, parameters)

    def _describe_change(
        self,
        read: str,
        missing: list[_Instance],
        extra: list[_Instance],
        parameters: dict[str, int],
    ) -> str:
        """Describes a change of sources. missing, extra: sources only before, sources only after."""
        written = next((s for s in extra if s[0].writer != LIVE_IN), None)
        lost = missing[0] if missing else None
        if lost is None or lost[0].writer == LIVE_IN:
            if written is None:
                return f"{read} with what was there before"
            return f"{read} after {self._does(*written)}" + ("" if lost else ", which it was not before")
        if not self._still_runs(*lost, parameters):
            return f"{read}, but {self._instance(lost[0].writer, lost[1])} no longer runs"
        if lost[0].is_contribution:
            return f"{read} without what {self._does(*lost, 'contributes')}"
        if written is not None:
            return f"{read} as {self._does(*written)}, not as {self._does(*lost, 'does')}"
        return f"{read} before {self._does(*lost)}"

    def _still_runs(self, source: ValueSource, point: Point, parameters: dict[str, int]) -> bool:
        """Whether an instance of the program before also runs in the program after."""
        statement = self.flows[0].statements.get(source.writer)
        if statement is None:
            return False
        instances = isl.Map.from_range(statement.instances.range())
        return not at_point(instances, parameters, ()).intersect_range(_singleton(instances, point)).is_empty()

    # Names

    def _is_read(self, reader: str) -> str:
        if self.difference.reads.reader == LIVE_OUT:
            return "is left at the end"
        return f"is {'accumulated into' if self.difference.reads.is_update else 'read'} by {reader}"

    def _does(self, source: ValueSource, point: Point, verb: str = "") -> str:
        """The phrase for an action of an instance, such as `block C writes it at (vi=0)`."""
        if not verb:
            verb = "contributes to it" if source.is_contribution else "writes it"
            if isinstance(source.writer, Init):
                verb = "initializes it"
        label, where = self._names(source.writer, point)
        return f"{label} {verb}{where}"

    def _instance(self, key: Key, point: Point) -> str:
        return "".join(self._names(key, point))

    def _names(self, key: Key, point: Point) -> tuple[str, str]:
        """The name of a statement, and the name of one of its instances."""
        for flow in self.flows:
            for candidate in (key, self.originals.get(key, key)):
                statement = flow.statements.get(candidate)
                if statement is not None:
                    op = key.block if isinstance(key, Init) else key
                    if isinstance(op, Operation):
                        self.involved.setdefault(op, statement.label)
                    label = f"block {statement.label}" if statement.is_block else statement.label
                    return label, f" at {render_point(statement.names, point)}" if point else ""
        return str(key), ""

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
        self, table: dict[ValueSource, isl.Map], parameters: dict[str, int], start: Point, element: Point
    ) -> list[_Instance]:
        """The sources of one read, at most `_MOST` per statement."""
        sources: list[_Instance] = []
        for source, relation in table.items():
            here = at_point(relation, parameters, start)
            width = here.dim(isl.dim_type.out)
            for n, number in enumerate(element):
                here = here.fix_val(isl.dim_type.out, width - len(element) + n, number)
            for _ in range(_MOST):
                if here.is_empty():
                    break
                _, _, end = lexicographic_minimum(here)
                sources.append((source, end[: width - len(element)]))
                one = here
                for n, number in enumerate(end):
                    one = one.fix_val(isl.dim_type.out, n, number)
                here = here.subtract(one)
        return sources


def _singleton(like: isl.Map, point: Point) -> isl.Set:
    """The set of one point, in the range of a relation."""
    result = isl.Set.universe(like.get_space().range())
    for n, number in enumerate(point):
        result = result.fix_val(isl.dim_type.set, n, number)
    return result


# Contributions to examine for the name of a missing one.
_MOST = 64
