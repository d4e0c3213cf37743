"""Operators on images, defined once for images of one, two and three dimensions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, fields
from inspect import Parameter
from typing import Any, ClassVar

from ..expressions.errors import TeError
from .definition import Pattern, operator
from .extents import Extent
from .windows import SPATIAL, each_dimension, layout_axes


@dataclass(frozen=True)
class ImageOperator:
    """An operator on images of a rank, with values for its attributes: the fields of the subclass.

    A subclass has the methods `formula` and `reference`, from operands to results, as for `operator`. `{image}` in a
    default denotes the letters of the dimensions, `{rank}` in the docstring their number, and `{what}` the word `what`.
    """

    what: ClassVar[str] = ""
    name: str
    rank: int

    @property
    def image(self) -> str:
        """The letters of the dimensions."""
        return SPATIAL[3 - self.rank :]

    def order(self, layout: str, channels: str = "NC") -> list[int]:
        """The axes of `channels` and of the image in a layout. TeError for another layout."""
        return layout_axes(layout, channels + self.image, self.name)

    def numbers(self, attribute: str, least: int = 1) -> list[int]:
        """The value of an attribute for each dimension. TeError for numbers below `least`."""
        return each_dimension(getattr(self, attribute), self.rank, f"{self.name}: {attribute}", least)

    def require_rank(self, shape: Sequence[Extent]) -> None:
        """TeError unless data of a shape are images of the rank, with N and C."""
        if len(shape) != self.rank + 2:
            raise TeError(f"{self.name}: data of {len(shape)} dimensions, expected {self.rank + 2}")


def for_ranks(name: str, pattern: Pattern, definition: type[ImageOperator]) -> tuple[Any, Any, Any]:
    """Registers an operator for images of one, two and three dimensions; returns the three formulas.

    name: `nn.conv{rank}d`. ValueError for a registered name.
    """
    one, two, three = (for_rank(rank, name.format(rank=rank), pattern, definition) for rank in (1, 2, 3))
    return one, two, three


def for_rank(rank: int, name: str, pattern: Pattern, definition: Any) -> Any:
    """Registers an operator for images of a rank; returns its formula. ValueError for a registered name."""
    signature = _signature(definition, rank)
    attributes = [each.name for each in _attributes(definition)]

    def formula(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {key: bound.arguments.pop(key) for key in attributes}
        return definition(name, rank, **values).formula(**bound.arguments)

    def reference(*arrays: Any, **values: Any) -> Any:
        return definition(name, rank, **values).reference(*arrays)

    formula.__name__ = formula.__qualname__ = name.rpartition(".")[2]
    formula.__doc__ = (inspect.getdoc(definition) or "").format(rank=rank, what=definition.what)
    formula.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return operator(name, pattern, reference)(formula)


def _attributes(definition: type[ImageOperator]) -> list[Field[Any]]:
    """The attributes in the order of the operator's parameters: fields for keywords only are last."""
    common = {each.name for each in fields(ImageOperator)}
    own = [each for each in fields(definition) if each.name not in common]
    return sorted(own, key=lambda each: each.kw_only is True)


def _signature(definition: Any, rank: int) -> inspect.Signature:
    """The operands of the formula, then the attributes."""
    formula, image = inspect.signature(definition.formula), SPATIAL[3 - rank :]
    parameters = list(formula.parameters.values())[1:]
    for each in _attributes(definition):
        default = Parameter.empty if each.default is MISSING else each.default
        default = default.format(image=image) if isinstance(default, str) else default
        kind = Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(each.name, kind, default=default, annotation=each.type))
    return formula.replace(parameters=parameters)
