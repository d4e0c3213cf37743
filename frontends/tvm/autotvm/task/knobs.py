"""The choices of a template: sizes of splits, orders of loops, annotations, and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, permutations, product
from math import prod
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from .....core.errors import OptionError, UnsupportedError
from .....expressions.axes import IterVar, thread_axis
from .....expressions.expr import IntImm

THREADS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread")
ANNOTATIONS = ("none", "vec", "unroll", *THREADS, "fuse")
"""The annotations of a loop."""
_MOST_FACTOR = 1 << 31


class VirtualAxis:
    """A loop of a space, by its length. name: in printed spaces."""

    count = 0

    def __init__(self, var: Any, name: str | None = None):
        """var: a loop, an axis of a space, or a length. UnsupportedError for a loop whose length is no constant,
        OptionError for another value."""
        if name is None:
            name = f"axis_{VirtualAxis.count}"
            VirtualAxis.count += 1
        self.name = var.var.name if isinstance(var, IterVar) else name
        self.length = _length(var)

    def __repr__(self) -> str:
        return f"vaxis({self.name})"


def _length(var: Any) -> int:
    """The length of a loop, -1 for a loop that has been derived from others."""
    if isinstance(var, VirtualAxis):
        return var.length
    if isinstance(var, IterVar):
        if var.dom is None:
            return -1
        if isinstance(var.dom.extent, int):  # of a domain of users
            return var.dom.extent
        if not isinstance(var.dom.extent, IntImm):
            raise UnsupportedError(f"axis {var.var.name} of extent {var.dom.extent}, expected a constant")
        return var.dom.extent.value
    if isinstance(var, int | np.integer | IntImm) and not isinstance(var, bool):
        return int(var)
    raise OptionError(f"axis {var!r}, expected a loop or a length")


def get_factors(n: int) -> list[int]:
    """The divisors of a number, in order."""
    return [k for k in range(1, n + 1) if n % k == 0] if n < 1024 else _factors_of_large(n)


def _factors_of_large(n: int) -> list[int]:
    low = [k for k in range(1, int(n**0.5) + 1) if n % k == 0]
    return sorted({*low, *(n // k for k in low)})


def get_pow2s(n: int) -> list[int]:
    """The powers of two up to a number."""
    return [1 << k for k in range(n.bit_length())]


# Entities: one choice of a knob each


class _Choice:
    """A choice of a knob. kind: its name in records."""

    kind: ClassVar[str]

    @property
    def value(self) -> Any:
        """The choice as JSON."""
        raise NotImplementedError(f"{type(self).__name__} has no value")

    def __repr__(self) -> str:
        return str(self.value)


class SplitEntity(_Choice):
    """The extents of the loops of a split, outermost first. The first may be -1, which the extent of the loop
    determines."""

    kind = "sp"

    def __init__(self, size: Sequence[int]):
        self.size = list(size)

    def apply(self, sch: Any, op: Any, axis: Any) -> list[Any]:
        """Splits a loop of a stage. Returns the loops, outermost first."""
        loops: list[Any] = []
        for n in range(1, len(self.size)):
            outer, axis = sch[op].split(axis, prod(self.size[n:]))
            loops.append(outer)
        return [*loops, axis]

    @property
    def value(self) -> Any:
        return self.size


class ReorderEntity(_Choice):
    """An order of loops. perm: the index of the loop at each position."""

    kind = "re"

    def __init__(self, perm: Sequence[int]):
        self.perm = list(perm)

    def apply(self, sch: Any, op: Any, axes: Sequence[Any]) -> list[Any]:
        """Reorders loops of a stage. Returns them in order."""
        ordered = [axes[n] for n in self.perm if n < len(axes)]
        sch[op].reorder(*ordered)
        return ordered

    @property
    def value(self) -> Any:
        return self.perm


class AnnotateEntity(_Choice):
    """An annotation of each loop, of `ANNOTATIONS`; or the indices of the loops at which caches are computed."""

    kind = "an"

    def __init__(self, anns: Sequence[Any]):
        self.anns = list(anns)

    def apply(
        self, sch: Any, op: Any, axes: Sequence[Any], axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None, vec_size: Sequence[int] | None = None, cfg: Any = None,
        source: Sequence[Sequence[Any]] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Annotates loops of a stage. Returns the loops, fused ones at their last position.

        axis_lens: the extents of the loops.  max_unroll: the greatest extent to unroll; vec_size: the extents to
        vectorize; others are recorded as errors of `cfg`.  source: the tensors that each index computes at its loop.
        """
        loops = list(axes)
        if source is not None:
            for tensors, place in zip(source, self.anns, strict=False):
                for tensor in tensors:
                    sch[tensor].compute_at(sch[op], loops[place])
            return loops
        extents = axis_lens or [0] * len(loops)
        for n, annotation in enumerate(self.anns):
            if annotation == "unroll" and max_unroll and extents[n] > max_unroll:
                cfg.raise_error("Too large factor for unrolling")
            if annotation == "vec" and vec_size and extents[n] not in vec_size:
                cfg.raise_error("Wrong size of lanes in vectorization")
            _annotate(sch[op], loops, n, annotation)
        return loops

    @property
    def value(self) -> Any:
        return self.anns


def _annotate(stage: Any, loops: list[Any], n: int, annotation: str) -> None:
    if annotation == "unroll":
        stage.unroll(loops[n])
    elif annotation == "vec":
        stage.vectorize(loops[n])
    elif annotation in THREADS:
        stage.bind(loops[n], thread_axis(annotation))
    elif annotation == "fuse":
        loops[n + 1] = stage.fuse(loops[n], loops[n + 1])
    elif annotation != "none":
        raise OptionError(f"annotation {annotation!r}, expected one of {', '.join(ANNOTATIONS)}")


class OtherOptionEntity(_Choice):
    """A value. val: the value."""

    kind = "ot"

    def __init__(self, val: Any):
        self.val = val

    @property
    def value(self) -> Any:
        return self.val


Entity: TypeAlias = SplitEntity | ReorderEntity | AnnotateEntity | OtherOptionEntity
ENTITIES: dict[str, Any] = {each.kind: each for each in (SplitEntity, ReorderEntity, AnnotateEntity, OtherOptionEntity)}
"""The classes of entities by their names in records."""

# Spaces: the choices of a knob

E = TypeVar("E", bound=Entity)


class TransformSpace(Generic[E]):
    """The choices of a knob. entities: in the order of their indices.  policy: the name of the enumeration.
    num_output: the number of loops after the transformation."""

    name: ClassVar[str] = ""

    def __init__(self, policy: str | None, entities: Sequence[E], num_output: int):
        self.policy = policy
        self.entities = list(entities)
        self.num_output = num_output

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, index: int) -> E:
        return self.entities[index]

    def __repr__(self) -> str:
        return f"{self.name}(policy={self.policy}) len={len(self)}"


class SplitSpace(TransformSpace[SplitEntity]):
    """The splits of a loop. product: its length."""

    name = "Split"

    def __init__(
        self, axes: Sequence[VirtualAxis], policy: str, num_outputs: int = 0, max_factor: int = _MOST_FACTOR,
        filter: Callable[[SplitEntity], bool] | None = None, no_tail: bool | None = None,
        candidate: Sequence[Sequence[int]] = (), **_others: Any,
    ):  # fmt: skip
        """policy: "factors" for divisors of the length, "power2" for powers of two, "verbose" for both, "candidate" for
        the given sizes.  num_outputs: of loops.  max_factor: the greatest extent of an inner loop.  filter: whether a
        split belongs to the space.  no_tail: whether the product of the inner extents divides the length, by default
        for "factors" alone. OptionError for other values.
        """
        if num_outputs < 1:
            raise OptionError(f"define_split: num_outputs {num_outputs}, expected at least 1")
        self.product = axes[0].length
        if policy == "candidate":
            sizes: Iterator[Sequence[int]] = iter(candidate)
        else:
            tail = policy == "factors" if no_tail is None else no_tail
            sizes = self._sizes(self._factors(policy, max_factor), num_outputs, tail)
        entities = [SplitEntity(size) for size in sizes]
        for entity in entities:
            if len(entity.size) != num_outputs:
                raise OptionError(f"define_split: candidate {entity}, expected {num_outputs} sizes")
        kept = [each for each in entities if filter is None or filter(each)]
        if not kept and filter is not None:  # as until v0.5, where the first size was a number
            whole = [SplitEntity([self.product // prod(each.size[1:]), *each.size[1:]]) for each in entities]
            kept = [each for each in whole if filter(each)]
        super().__init__(policy, kept, num_outputs)

    def _factors(self, policy: str, most: int) -> list[int]:
        tables = {
            "factors": lambda n: get_factors(n),
            "power2": lambda n: get_pow2s(n),
            "verbose": lambda n: sorted({*get_factors(n), *get_pow2s(n)}),
        }
        if policy not in tables:
            raise OptionError(f"define_split: policy {policy!r}, expected {', '.join(tables)} or candidate")
        if self.product < 1:
            raise OptionError(f"define_split: length {self.product}, expected a loop of the operation: cfg.axis(n)")
        return [factor for factor in tables[policy](self.product) if factor <= most]

    def _sizes(self, factors: Sequence[int], count: int, no_tail: bool) -> Iterator[list[int]]:
        """The sizes with each choice of the inner extents; the innermost changes slowest."""
        for inner in product(factors, repeat=count - 1):
            part = prod(inner)
            if part <= self.product and (self.product % part == 0 or not no_tail):
                yield [-1, *reversed(inner)]

    def __repr__(self) -> str:
        text = f"policy={self.policy}, product={self.product}, num_outputs={self.num_output}"
        return f"Split({text}) len={len(self)}"


class ReorderSpace(TransformSpace[ReorderEntity]):
    """The orders of loops."""

    name = "Reorder"

    def __init__(self, axes: Sequence[Any], policy: str, **options: Any):
        """policy: "identity", "all" orders, "interval_all" orders of the loops from `interval[0]` to before
        `interval[1]`, "candidate": the orders in the list `candidate`, "interleave" and "interleave_cuda": the chains
        of loops in `spatial` and `reduce` interleaved by their lengths. OptionError for another policy."""
        policies: dict[str, Callable[..., Iterator[Sequence[int]]]] = {
            "identity": lambda: iter([range(len(axes))]),
            "all": lambda: permutations(range(len(axes))),
            "interval_all": lambda interval: _orders_of_interval(len(axes), *interval),
            "candidate": lambda candidate: ([axes.index(axis) for axis in order] for order in candidate),
            "interleave": lambda spatial, reduce: _interleaved(_indices(axes, spatial), _indices(axes, reduce)),
            "interleave_cuda": lambda spatial, reduce: _interleaved_cuda(
                _indices(axes, spatial), _indices(axes, reduce)
            ),
        }
        if policy not in policies:
            raise OptionError(f"define_reorder: policy {policy!r}, expected {', '.join(policies)}")
        super().__init__(policy, [ReorderEntity(order) for order in policies[policy](**options)], len(axes))


def _indices(axes: Sequence[Any], chains: Sequence[Sequence[Any]]) -> list[list[int]]:
    return [[axes.index(axis) for axis in chain] for chain in chains]


def _orders_of_interval(count: int, begin: int, end: int) -> Iterator[Sequence[int]]:
    for inner in permutations(range(begin, end)):
        yield [*range(begin), *inner, *range(end, count)]


def _interleaved(spatial: list[list[int]], reduce: list[list[int]]) -> Iterator[Sequence[int]]:
    outer, inner = _merge([chain[:-1] for chain in spatial]), _merge([*(chain[-1:] for chain in spatial), *reduce])
    for first in outer:
        for last in inner:
            yield first + last


def _interleaved_cuda(spatial: list[list[int]], reduce: list[list[int]]) -> Iterator[Sequence[int]]:
    for first in _merge([chain[:-1] for chain in spatial]):
        for middle in _merge(reduce):
            yield [*first, *middle, *(chain[-1] for chain in spatial)]


def _merge(chains: list[list[int]]) -> list[list[int]]:
    """The orders of the loops of several chains in which the longest rest of a chain, the first of several, is next."""
    longest = max(chains, key=len, default=[])
    if not longest:
        return [[]]
    n = chains.index(longest)
    rest = [chain[1:] if k == n else chain for k, chain in enumerate(chains)]
    return [[longest[0], *order] for order in _merge(rest)]


class AnnotateSpace(TransformSpace[AnnotateEntity]):
    """The annotations of loops."""

    name = "Annotate"

    def __init__(self, axes: Sequence[Any], policy: str, num_anchor: int = 0, **_others: Any):
        """policy: "bind_gpu" or "bind_gpu_virtual" for axes of a grid, "locate_cache" for `num_anchor` of the loops, or
        choices for each loop as in "try_unroll_vec", of which one loop at most is vectorized. OptionError for another
        policy."""
        choices = policy.replace("try", "none").split("_")
        if policy in _GRIDS:
            entities = [AnnotateEntity(_grid(policy, len(axes)))]
        elif policy == "locate_cache":
            entities = [AnnotateEntity(each) for each in combinations(range(len(axes)), num_anchor)]
        elif set(choices) <= {"none", "unroll", "vec"}:
            found = product(choices, repeat=len(axes))
            entities = [AnnotateEntity(each) for each in found if each.count("vec") <= 1]
        else:
            raise OptionError(f"define_annotate: policy {policy!r}, expected try_unroll_vec, bind_gpu, locate_cache")
        super().__init__(policy, entities, len(axes))


_GRIDS: Mapping[str, tuple[str, ...]] = {
    "bind_gpu": ("blockIdx", "threadIdx"),
    "bind_gpu_virtual": ("blockIdx", "vthread", "threadIdx"),
}
"""The kinds of axes of a grid by policies, outermost first."""


def _grid(policy: str, count: int) -> list[str]:
    """The axes of a grid for loops: of three dimensions if there are enough loops, else of two or one; the outermost
    loops are fused. OptionError for too few loops."""
    parts = _GRIDS[policy]
    dimensions = min(3, count // len(parts))
    if not dimensions:
        raise OptionError(f"define_annotate: {policy} of {count} loops, expected at least {len(parts)}")
    names = [part if part == "vthread" else f"{part}.{axis}" for part in parts for axis in "zyx"[3 - dimensions :]]
    return ["fuse"] * (count - len(names)) + names


class OtherOptionSpace(TransformSpace[OtherOptionEntity]):
    """The values of an option."""

    name = "OtherOption"

    def __init__(self, axes: Sequence[Any], policy: str | None, candidate: Sequence[Any] = (), **_others: Any):
        """candidate: the values."""
        super().__init__(policy, [OtherOptionEntity(value) for value in candidate], 0)

    def __repr__(self) -> str:
        return f"OtherOption({self.entities}) len={len(self)}"
