"""Properties of maps decided by isl: exact for every quasi-affine map, whatever its form."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import SSAValue

from .. import isl
from ..index import Lin, isl_text
from ..isl_budget import MAPS, isl_operation_limit
from .terms import Domain, axis_name


class UndecidedMap(Exception):
    """The map is not quasi-affine, or requires too much work by isl."""


@contextmanager
def map_work_limit() -> Generator[None]:
    """Limits the work of isl in the body; Undecided beyond the limit."""
    try:
        with isl_operation_limit(MAPS):
            yield
    except isl.Error as error:
        raise UndecidedMap(f"too large: {error}") from error


class ExactMap:
    """Bindings on a domain as an isl map. Undecided if a part of it is not quasi-affine.

    Values that are neither variables of the domain nor computed from them are parameters: fixed, unknown numbers.
    """

    def __init__(self, domain: Domain, bindings: Sequence[Lin]):
        self.domain = domain
        self._names: dict[SSAValue, str] = {v.value: f"i{n}" for n, v in enumerate(domain.variables)}
        conditions = [c for v in domain.variables for c in self._range(v.value, v.low, v.extent, v.step)]
        conditions += [f"{self._text(c)} >= 0" for c in domain.constraints]
        values = [self._text(b) for b in bindings]
        self._body = (values, conditions)

    def _text(self, lin: Lin) -> str:
        text = isl_text(lin, self._name)
        if text is None:
            raise UndecidedMap("it is not quasi-affine")
        return text

    def _name(self, value: SSAValue) -> str:
        return self._names.setdefault(value, f"p{len(self._names)}")

    def _range(self, value: SSAValue, low: Lin, extent: Lin, step: int) -> list[str]:
        name, first, count = self._name(value), self._text(low), self._text(extent)
        conditions = [f"{first} <= {name} < ({first}) + {step}*({count})"]
        return conditions if step == 1 else [*conditions, f"({name} - ({first})) mod {step} = 0"]

    def _head(self) -> str:
        own = len(self.domain.variables)
        return f"[{', '.join(list(self._names.values())[own:])}] -> "

    @property
    def _tuple(self) -> str:
        return ", ".join(f"i{n}" for n in range(len(self.domain.variables)))

    def map(self) -> isl.Map:
        """{ point -> values of the bindings }."""
        values, conditions = self._body
        return isl.Map(f"{self._head()}{{ [{self._tuple}] -> [{', '.join(values)}] : {_conjunction(conditions)} }}")

    def box(self, sides: Sequence[tuple[Lin, Lin]]) -> isl.Set:
        """The points of a box of (low, extent)."""
        texts = [(self._text(low), self._text(extent)) for low, extent in sides]
        conditions = [f"{low} <= a{n} < ({low}) + ({extent})" for n, (low, extent) in enumerate(texts)]
        names = ", ".join(f"a{n}" for n in range(len(sides)))
        return isl.Set(f"{self._head()}{{ [{names}] : {_conjunction(conditions)} }}")

    def why_not_injective(self) -> str | None:
        """None if the map is injective, else two points with the same values."""
        with map_work_limit():
            mapping = self.map()
            if mapping.is_injective():
                return None
            same = mapping.apply_range(mapping.reverse())
            pair = same.subtract(isl.Map.identity(same.get_space())).lexmin().sample().wrap()
            point = pair.sample_point()
            count = len(self.domain.variables)
            numbers = [_coordinate(point, n) for n in range(2 * count)]
            first, second = (self._point(numbers[k : k + count]) for k in (0, count))
        return f"{first} and {second} give the same values"

    def _point(self, numbers: Sequence[int]) -> str:
        pairs = zip(self.domain.variables, numbers, strict=True)
        return f"({', '.join(f'{v.name}={n}' for v, n in pairs)})"

    def why_not_onto(self, sides: Sequence[tuple[Lin, Lin]], names: Sequence[str] | None = None) -> str | None:
        """None if the map is onto the box, else a point of the box without a preimage, or a value outside of the
        box."""
        box = self.box(sides)  # first, because it may add parameters
        with map_work_limit():
            reached = self.map().range()
            for points, problem in (
                (box.subtract(reached), "is never reached"),
                (reached.subtract(box), "is outside of the expected domain"),
            ):
                if not points.is_empty():
                    point = points.sample_point()
                    values = [f"{axis_name(names, n)} = {_coordinate(point, n)}" for n in range(len(sides))]
                    return f"{', '.join(values)} {problem}"
        return None


def _coordinate(point: isl.Point, n: int) -> int:
    return point.get_coordinate_val(isl.dim_type.set, n).to_python()


def _conjunction(conditions: Sequence[str]) -> str:
    return " and ".join(conditions) or "true"
