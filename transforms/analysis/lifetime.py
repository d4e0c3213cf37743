"""Whether the contents of a buffer must survive from one iteration of a loop to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import islpy as isl
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...core.dtypes import dtype_of
from ...dialects.tir import (
    AttrOp,
    BufferOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    LaunchThreadOp,
    LoadOp,
    Mixed,
    RampOp,
    StoreOp,
    WhileOp,
    comparison_name,
)
from .index import Analyzer, isl_text


def is_fresh_in_each_iteration(loop: Operation, buffer: SSAValue) -> bool:
    """Whether each iteration of `loop` reads only those elements of `buffer` that it has itself written before.

    Exact for accesses and conditions that are affine in loop variables and in values that are fixed while an iteration
    runs; where they are not, a read may be of any element and a write is none. False when the buffer is used by
    anything but loads and stores.
    """
    try:
        accesses = _Collector(loop, buffer).collect()
    except _OpaqueUse:
        return False
    reads, writes = ([a for a in accesses if a.is_write is kind] for kind in (False, True))
    if not reads:
        return True
    depth = max(len(a.time) for a in accesses)
    rank = _type(buffer).get_num_dims()
    parameters = sorted({p for a in accesses for p in a.parameters})
    read, written = (_relation(group, parameters, depth, rank) for group in (reads, writes))
    # All times that are later than one at which an element was written, with that element.
    later = isl.Map.lex_gt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, depth))
    covered = later.align_params(written.get_space()).apply_range(written)
    return bool(read.is_subset(covered))


@dataclass(frozen=True)
class _Context:
    """Where in an iteration an access is: its time (as isl tuple entries), the loop variables inside the loop, the
    conditions it runs under, and whether these are all of them."""

    time: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    names: dict[SSAValue, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    exact: bool = True

    def at(self, *time: str) -> _Context:
        return replace(self, time=self.time + time)

    def under(self, condition: str | None) -> _Context:
        if condition is None:
            return replace(self, exact=False)
        return replace(self, conditions=(*self.conditions, condition))


@dataclass(frozen=True)
class _Access:
    is_write: bool
    time: tuple[str, ...]
    elements: tuple[str | None, ...]
    conditions: tuple[str, ...]
    parameters: frozenset[str]
    lanes: int | None


class _OpaqueUse(Exception):
    """The buffer is used by something else than a load or store."""


class _NotAffine(Exception):
    """A value changes in an iteration in a way that no formula says."""


class _Collector:
    """The accesses of one buffer in one iteration of a loop."""

    def __init__(self, loop: Operation, buffer: SSAValue):
        self.loop = loop
        self.buffer = buffer
        self.analyzer = Analyzer()
        self.parameters: dict[SSAValue, str] = {}
        self.found: list[_Access] = []
        self._used: set[str] = set()

    def collect(self) -> list[_Access]:
        for n, region in enumerate(self.loop.regions):
            # What a while computes or does may not be done in the last round.
            context = _Context().at(str(n))
            self._block(region.block, context)
        return self.found

    def _block(self, block: Block, context: _Context) -> None:
        for position, op in enumerate(block.ops):
            self._op(op, context.at(str(position)))

    def _op(self, op: Operation, context: _Context) -> None:
        if isinstance(op, LoadOp | StoreOp) and op.buffer is self.buffer:
            if isinstance(op, StoreOp) and op.value is self.buffer:
                raise _OpaqueUse
            self._access(op, context)
        elif self.buffer in op.operands:
            raise _OpaqueUse
        match op:
            case ForOp():
                self._loop(op, context, op.mixed_bounds)
            case LaunchThreadOp():
                self._loop(op, context, (0, op.mixed_extent, 1))
            case IfOp() | IfThenElseOp():
                self._branches(op, context)
            case AttrOp():
                self._block(op.body.block, context)
            case _:
                # Bodies that run any number of times: reads are possible, writes not certain.
                for n, region in enumerate(op.regions):
                    for block in region.blocks:
                        self._block(block, replace(context.at(str(n)), exact=False))

    def _loop(self, op: ForOp | LaunchThreadOp, context: _Context, bounds: tuple[Mixed, Mixed, Mixed]) -> None:
        name = f"i{len(context.variables)}"
        low, extent, step = (self._text(b, context) for b in bounds)
        inner = replace(
            context.at(name), variables=(*context.variables, name), names={**context.names, op.variable: name}
        )
        if low is None or extent is None:
            inner = inner.under(None)
        else:
            inner = inner.under(f"{low} <= {name} < ({low}) + ({extent})")
        if step != "1":
            known = low is not None and step is not None and step.isdecimal()
            inner = inner.under(f"({name} - ({low})) mod {step} = 0" if known else None)
        with self.analyzer.assumptions():
            self.analyzer.enter(op, op.body.block)
            self._block(op.body.block, inner)

    def _branches(self, op: IfOp | IfThenElseOp, context: _Context) -> None:
        condition = self._condition(op.condition, context)
        for n, region in enumerate((op.then, op.orelse)):
            holds = condition if condition is None or n == 0 else f"not ({condition})"
            with self.analyzer.assumptions():
                self.analyzer.enter(op, region.block)
                self._block(region.block, context.at(str(n)).under(holds))

    # Accesses and formulas

    def _access(self, op: LoadOp | StoreOp, context: _Context) -> None:
        is_write = isinstance(op, StoreOp)
        elements = [self._text(i, context) if not isinstance(i.type, VectorType) else None for i in op.indices]
        conditions, lanes, exact = list(context.conditions), None, context.exact and op.predicate is None
        if op.indices and isinstance(ramp := op.indices[-1].owner, RampOp):
            base, stride = self._text(ramp.base, context), self._text(ramp.stride, context)
            if base is not None and stride is not None and stride.lstrip("-").isdecimal():
                elements[-1], lanes = f"{base} + {stride}*lane", ramp.lanes
        if is_write and (not exact or None in elements):
            return
        # What is out of bounds is excluded.
        conditions += [f"0 <= e{n} < {d}" for n, d in enumerate(self._shape(context)) if d is not None]
        self.found.append(
            _Access(is_write, context.time, tuple(elements), tuple(conditions), frozenset(self._used), lanes)
        )

    def _shape(self, context: _Context) -> list[str | None]:
        if isinstance(op := self.buffer.owner, BufferOp):
            return [self._text(d, context) for d in op.mixed_shape]
        return [str(d) for d in _type(self.buffer).get_shape()]

    def _text(self, value: Mixed, context: _Context) -> str | None:
        """An integer as a formula of isl in loop variables and parameters."""
        try:
            return isl_text(self.analyzer.exact(value), lambda v: self._name(v, context))
        except _NotAffine:
            return None

    def _name(self, value: SSAValue, context: _Context) -> str:
        if value in context.names:
            return context.names[value]
        if not self._is_fixed(value):
            raise _NotAffine
        name = self.parameters.setdefault(value, f"p{len(self.parameters)}")
        self._used.add(name)
        return name

    def _is_fixed(self, value: SSAValue) -> bool:
        """Whether a value is the same all through an iteration: no loop inside the loop computes it anew."""
        block = value.owner if isinstance(value, BlockArgument) else value.owner.parent  # pyright: ignore[reportAttributeAccessIssue]
        while isinstance(block, Block) and (op := block.parent_op()) is not None and op is not self.loop:
            if not isinstance(op, IfOp | IfThenElseOp | AttrOp) and self.loop.is_ancestor(op):
                return False
            block = op.parent
        return not isinstance(self.loop, WhileOp) or not self._is_in_loop(value)

    def _is_in_loop(self, value: SSAValue) -> bool:
        owner = value.owner
        return self.loop.is_ancestor(owner) if isinstance(owner, Operation) else False

    def _condition(self, value: SSAValue, context: _Context) -> str | None:
        op: Any = value.owner
        match op:
            case arith.CmpiOp():
                return self._comparison(op, context)
            case arith.AndIOp() | arith.OrIOp() if dtype_of(value.type).is_bool:
                a, b = (self._condition(o, context) for o in op.operands)
                joint = "and" if isinstance(op, arith.AndIOp) else "or"
                return None if a is None or b is None else f"(({a}) {joint} ({b}))"
            case _:
                return f"{self._name(value, context)} != 0" if self._is_fixed(value) else None

    def _comparison(self, op: arith.CmpiOp, context: _Context) -> str | None:
        name, dtype = comparison_name(op), dtype_of(op.lhs.type)
        unsigned = op.predicate.value.data > _LAST_SIGNED
        if name is None or (unsigned and dtype.kind != "uint"):
            return None
        a, b = self._text(op.lhs, context), self._text(op.rhs, context)
        return None if a is None or b is None else f"{a} {_SIGNS[name]} {b}"


_LAST_SIGNED = 5
_SIGNS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _type(buffer: SSAValue) -> MemRefType[Any]:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type


def _relation(accesses: Iterable[_Access], parameters: Sequence[str], depth: int, rank: int) -> isl.Map:
    """{ time -> element } of accesses, as one map."""
    head = f"[{', '.join(parameters)}] -> "
    time = [f"t{n}" for n in range(depth)]
    result = isl.Map(f"{head}{{ [{', '.join(time)}] -> [{', '.join(f'e{n}' for n in range(rank))}] : false }}")
    for access in accesses:
        at = [*access.time, *["0"] * (depth - len(access.time))]
        conditions = [
            *access.conditions,
            *(f"e{n} = {text}" for n, text in enumerate(access.elements) if text is not None),
        ]
        body = " and ".join(conditions) or "true"
        if access.lanes is not None:
            body = f"exists lane : 0 <= lane < {access.lanes} and {body}"
        elements = ", ".join(f"e{n}" for n in range(rank))
        result = result.union(isl.Map(f"{head}{{ [{', '.join(at)}] -> [{elements}] : {body} }}"))
    return result
