"""Spaces of configurations: `tvm.autotvm.task.space`."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .....core.errors import LoadError, OptionError
from .....expressions.expr import FloatImm, IntImm
from ...absent import report_absent
from .knobs import (
    ANNOTATIONS,
    ENTITIES,
    AnnotateEntity,
    AnnotateSpace,
    Entity,
    OtherOptionEntity,
    OtherOptionSpace,
    ReorderEntity,
    ReorderSpace,
    SplitEntity,
    SplitSpace,
    TransformSpace,
    VirtualAxis,
    get_factors,
    get_pow2s,
)

__getattr__ = report_absent("tvm.autotvm.task.space")


class InstantiationError(OptionError):
    """A configuration that is not possible, as a template states by `cfg.raise_error`."""


@dataclass(frozen=True)
class Axis:
    """A loop of a transformation of a space: its index among them. space: None outside of the collection."""

    space: TransformSpace[Any] | None
    index: int


class ConfigSpace:
    """The configurations of a template: the product of its knobs, which the template defines when it runs.

    space_map: the choices of each knob.  flop: the operations that the template states.  errors: the messages of
    `raise_error`. `cfg[name]` is the first choice of a knob. Configuration `n` has the choices whose indices are the
    digits of `n`; the first knob is the least significant digit.
    """

    is_fallback = False

    def __init__(self) -> None:
        self.space_map: dict[str, TransformSpace[Any]] = {}
        self._entity_map: dict[str, Entity] = {}
        self._collects = True
        self._filter: Callable[[Mapping[str, Entity]], bool] | None = None
        self._valid: list[bool] | None = None
        self.errors: list[str] = []
        self.code_hash: str | None = None
        self.template_key: str | None = None
        self.flop: float = 0
        self.cost: float | None = None

    # Definition

    @staticmethod
    def axis(var: Any) -> VirtualAxis:
        """The axis of a loop, or of a length."""
        return VirtualAxis(var)

    reduce_axis = axis

    def define_split(self, name: str, axis: Any, policy: str = "factors", **kwargs: Any) -> list[Axis]:
        """Defines a knob for the split of a loop. policy, kwargs: as of `SplitSpace`. Returns the loops."""
        return self._define(SplitSpace, name, [axis], policy, kwargs)

    def define_reorder(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> list[Axis]:
        """Defines a knob for the order of loops. policy, kwargs: as of `ReorderSpace`. Returns the loops."""
        return self._define(ReorderSpace, name, axes, policy, kwargs)

    def define_annotate(self, name: str, axes: Sequence[Any], policy: str, **kwargs: Any) -> list[Axis]:
        """Defines a knob for annotations of loops. policy, kwargs: as of `AnnotateSpace`. Returns the loops."""
        return self._define(AnnotateSpace, name, axes, policy, kwargs)

    def define_knob(self, name: str, candidate: Sequence[Any]) -> list[Axis]:
        """Defines a knob for a value."""
        return self._define(OtherOptionSpace, name, [], None, {"candidate": candidate})

    def _define(
        self, kind: Any, name: str, axes: Sequence[Any], policy: str | None, options: Mapping[str, Any]
    ) -> list[Axis]:
        """Adds a knob, unless the configuration has its choice already. OptionError for a knob without a choice."""
        if not self._collects or (self.is_fallback and name in self._entity_map):
            count = options.get("num_outputs", 0) if kind is SplitSpace else len(axes)
            return [Axis(None, n) for n in range(count)]
        known = [each if isinstance(each, VirtualAxis | Axis) else VirtualAxis(each) for each in axes]
        space = kind(known, policy, **options)
        if not len(space):
            raise OptionError(f"knob {name}: {space}, expected at least one choice")
        self.space_map[name] = space
        self._entity_map[name] = space[0]
        self._valid = None
        return [Axis(space, n) for n in range(space.num_output)]

    def add_flop(self, flop: Any) -> None:
        """Adds to the floating-point operations of the task."""
        self.flop += float(flop.value if isinstance(flop, IntImm | FloatImm) else flop)

    def raise_error(self, msg: str) -> None:
        """Records that the configuration is not possible."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Whether the template has recorded no error."""
        return not self.errors

    def multi_filter(self, filter: Callable[[Mapping[str, Entity]], bool]) -> None:
        """Restricts combinations of choices. filter: whether choices by name belong to the space."""
        if self._collects:
            self._filter = filter
            self._valid = None

    # Indices

    @property
    def dims(self) -> list[int]:
        """The number of choices of each knob."""
        return [len(space) for space in self.space_map.values()]

    @property
    def range_length(self) -> int:
        """The number of configurations without a filter."""
        return prod(self.dims)

    def __len__(self) -> int:
        return self.range_length if self._filter is None else sum(self._validity)

    @property
    def _validity(self) -> list[bool]:
        """Whether the filter accepts each configuration."""
        if self._valid is None:
            keep = self._filter or (lambda _: True)
            self._valid = [bool(keep(self._entities(index))) for index in range(self.range_length)]
        return self._valid

    def is_index_valid(self, index: int) -> bool:
        """Whether the filter accepts a configuration. OptionError for an index out of range."""
        self._check_range(index, index + 1)
        return self._filter is None or self._validity[index]

    def _check_range(self, start: int, end: int) -> None:
        if not 0 <= start <= end <= self.range_length:
            raise OptionError(f"configurations {start} to {end}, expected a range of 0 to {self.range_length}")

    def subrange_length(self, start: int, end: int) -> int:
        """The number of configurations from `start` to before `end`. OptionError for a range out of range."""
        self._check_range(start, end)
        return end - start if self._filter is None else sum(self._validity[start:end])

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Container[int] | None = None
    ) -> int:
        """A random configuration from `start` to before `end` that is not excluded. OptionError if there is none."""
        first, last = start or 0, end or self.range_length
        for _ in range(64):  # the usual case, without a list of all
            index = random.randrange(first, last)
            if self.is_index_valid(index) and index not in (to_exclude or ()):
                return index
        rest = [n for n in range(first, last) if self.is_index_valid(n) and n not in (to_exclude or ())]
        if not rest:
            raise OptionError(f"configurations {first} to {last}: all are excluded")
        return random.choice(rest)

    def get_next_index(self, index: int, n: int = 1, start: int | None = None, end: int | None = None) -> int | None:
        """The configuration `n` after another, before it for a negative number; None outside of the range."""
        step, first, last = (1 if n > 0 else -1), start or 0, end or self.range_length
        for _ in range(abs(n)):
            index += step
            while first <= index < last and not self.is_index_valid(index):
                index += step
            if not first <= index < last:
                return None
        return index

    def sample_ints(self, m: int) -> list[int]:
        """Different random configurations. OptionError for more than the space has."""
        if m > len(self):
            raise OptionError(f"{m} configurations of a space of {len(self)}")
        found: dict[int, None] = {}
        while len(found) < m:
            found[self.get_rand_index(to_exclude=found)] = None
        return list(found)

    def point2knob(self, point: int) -> list[int]:
        """The index of the choice of each knob of a configuration."""
        knob: list[int] = []
        for size in self.dims:
            point, digit = divmod(point, size)
            knob.append(digit)
        return knob

    def knob2point(self, knob: Sequence[int]) -> int:
        """The configuration with a choice of each knob."""
        point = 0
        for digit, size in zip(reversed(knob), reversed(self.dims), strict=True):
            point = point * size + digit
        return point

    def random_walk(self, point: int) -> int:
        """A configuration that differs in one knob from another, which is returned if all others are filtered."""
        movable = [n for n, size in enumerate(self.dims) if size > 1]
        for _ in range(64 if movable else 0):
            knob = self.point2knob(point)
            n = random.choice(movable)
            knob[n] = random.choice([k for k in range(self.dims[n]) if k != knob[n]])
            if self.is_index_valid(self.knob2point(knob)):
                return self.knob2point(knob)
        return point

    def _entities(self, index: int) -> dict[str, Entity]:
        knob = self.point2knob(index)
        return {name: space[n] for (name, space), n in zip(self.space_map.items(), knob, strict=True)}

    def get(self, index: int) -> ConfigEntity:
        """A configuration by its index. IndexError out of range, or for a configuration that the filter excludes."""
        if not 0 <= index < self.range_length:
            raise IndexError(f"Index out of range: size {self.range_length}, got index {index}")
        if not self.is_index_valid(index):
            raise IndexError(f"Index {index} does not correspond to the multi-filter condition")
        return ConfigEntity(index, self.code_hash, self._entities(index), [])

    # Choices

    def __getitem__(self, name: str) -> Any:
        """The choice of a knob. OptionError for another name."""
        if name not in self._entity_map:
            has = ", ".join(self._entity_map) or "none"
            raise OptionError(f"configuration: no knob {name!r} (has: {has})")
        return self._entity_map[name]

    def __setitem__(self, name: str, entity: Entity) -> None:
        self._entity_map[name] = entity

    def __iter__(self) -> Iterator[str]:
        return iter(self._entity_map)

    def __contains__(self, name: object) -> bool:
        return name in self._entity_map

    def __bool__(self) -> bool:
        return True

    def _choices(self) -> str:
        return str(list(self._entity_map.items()))

    def __repr__(self) -> str:
        knobs = "".join(f"  {n:2d} {name}: {space}\n" for n, (name, space) in enumerate(self.space_map.items()))
        return f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map=\n{knobs})"


class ConfigEntity(ConfigSpace):
    """A configuration of a template: one choice of each knob. index: in its space.  cost: the seconds in its record."""

    def __init__(self, index: int, code_hash: str | None, entity_map: Mapping[str, Entity], constraints: Any = ()):
        """constraints: ignored."""
        super().__init__()
        self._collects = False
        self.index = index
        self.code_hash = code_hash
        self._entity_map = dict(entity_map)

    def get_flatten_feature(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The choices as numbers: sizes, orders, an indicator for each annotation, and values. OptionError for a value
        that is no number."""
        numbers: list[float] = []
        for name, entity in self._entity_map.items():
            if isinstance(entity, AnnotateEntity):
                numbers += [float(known == each) for each in entity.anns for known in ANNOTATIONS]
            elif not isinstance(entity, OtherOptionEntity):
                numbers += map(float, entity.value)
            elif isinstance(entity.val, int | float):
                numbers.append(float(entity.val))
            else:
                raise OptionError(f"knob {name}: value {entity.val!r}, expected a number")
        return np.array(numbers, np.float32)

    def get_other_option(self) -> dict[str, Any]:
        """The values of the knobs of `define_knob`, by name."""
        return {name: each.val for name, each in self._entity_map.items() if isinstance(each, OtherOptionEntity)}

    def to_json_dict(self) -> dict[str, Any]:
        """The configuration as JSON, as of records."""
        entities = [[name, each.kind, each.value] for name, each in self._entity_map.items()]
        return {"index": int(self.index), "code_hash": self.code_hash, "entity": entities}

    @staticmethod
    def from_json_dict(json_dict: Mapping[str, Any]) -> ConfigEntity:
        """The configuration of `to_json_dict`, here or in TVM; the short names of v0.6 too. LoadError for another
        dictionary."""
        named = {**json_dict, **{_SHORT[key]: value for key, value in json_dict.items() if key in _SHORT}}
        try:
            entities = {str(name): ENTITIES[kind](value) for name, kind, value in named["entity"]}
            config = ConfigEntity(int(named["index"]), named["code_hash"], entities)
        except (KeyError, TypeError, ValueError) as error:
            raise LoadError(f"configuration {json_dict!r}: expected index, code_hash and entity: {error}") from None
        config.template_key = named.get("template_key")
        return config

    def __repr__(self) -> str:
        return f"{self._choices()},{self.code_hash},{self.index}"


_SHORT = {"i": "index", "t": "template_key", "c": "code_hash", "e": "entity"}
"""The names of the fields of configurations in records until v0.6."""


class FallbackConfigEntity(ConfigSpace):
    """The configuration of a template without a record: the first choice of each knob, or the template's own."""

    is_fallback = True

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Chooses the sizes of a split: the greatest divisors up to the constraints, from the innermost loop outwards.

        constraints: for each loop, -1 for none. OptionError for a knob that is no split, and for constraints that no
        split satisfies.
        """
        space = self.space_map.get(name)
        if not isinstance(space, SplitSpace) or len(constraints) != space.num_output:
            raise OptionError(f"fallback_split {name}: {space} with constraints {constraints}")
        rest, sizes = space.product, [0] * space.num_output
        for n in reversed(range(space.num_output)):
            fitting = [each for each in get_factors(rest) if constraints[n] == -1 or each <= constraints[n]]
            if not fitting:
                raise FallbackError(f"fallback_split {name}: no split of {space.product} within {constraints}")
            sizes[n] = fitting[-1]
            rest //= sizes[n]
        self._entity_map[name] = SplitEntity(sizes)

    def fallback_with_reference_log(self, ref_log: Any) -> None:
        """Chooses as the record of the most similar space: the one whose split loops share most divisors with those
        here. ref_log: records of other workloads of the template; without one, nothing changes."""
        splits = {name: space for name, space in self.space_map.items() if isinstance(space, SplitSpace)}
        best, most = None, 0.0
        for inp, _ in ref_log:
            score = sum(_likeness(space.product, inp.config[name].size) for name, space in splits.items())
            if score > most:
                best, most = inp.config, score
        if best is None:
            return
        for name in self.space_map:
            if name in splits:
                self.fallback_split(name, [-1, *best[name].size[1:]])
            else:
                self._entity_map[name] = best[name]

    def __repr__(self) -> str:
        return f"{self._choices()},{self.code_hash}"


class FallbackError(OptionError, RuntimeError):
    """Constraints that no split satisfies."""


def _likeness(length: int, sizes: Sequence[int]) -> float:
    """The share of the divisors of a length that divide the product of sizes, too."""
    factors = get_factors(length)
    other = abs(prod(sizes))
    return sum(other % factor == 0 for factor in factors) / len(factors)


__all__ = [
    "AnnotateEntity", "AnnotateSpace", "Axis", "ConfigEntity", "ConfigSpace", "FallbackConfigEntity",
    "InstantiationError", "OtherOptionEntity", "OtherOptionSpace", "ReorderEntity", "ReorderSpace", "SplitEntity",
    "SplitSpace", "TransformSpace", "VirtualAxis", "get_factors", "get_pow2s",
]  # fmt: skip
