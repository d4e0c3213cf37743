"""The accesses of a statement, as relations between its instances and elements of buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.dtypes import dtype_of
from ...dialects.tir import (
    DYNAMIC,
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    AssertOp,
    AttrOp,
    Axis,
    BlockOp,
    BufferDataOp,
    BufferOp,
    CallIntrinOp,
    DeclBufferOp,
    ForOp,
    HandleType,
    IfOp,
    IfThenElseOp,
    InitOp,
    LaunchThreadOp,
    LetOp,
    LoadOp,
    MatchBufferOp,
    MatchRegionOp,
    Mixed,
    PrintOp,
    RampOp,
    ReinterpretOp,
    ReturnOp,
    StoreOp,
    constant_value,
)
from ...dialects.tir.tree import has_effect
from .. import isl
from ..index import Analyzer, Atom, type_range
from ..scopes import ancestors
from ..threads.atomics import is_atomic
from ..threads.fragments import is_matrix_operation, matrix_accesses
from ..threads.memories import buffer_of, memory_of, pointer_views
from .affine import Affine, IndexAnalyzer, NotAffineValue, Parameters, condition, iterations, map_to
from .reductions import accumulation


@dataclass(frozen=True)
class StatementAccess:
    """One access in the code of a statement.

    memory: the buffer that owns the memory, or a pointer to it, or None for the world outside of buffers.
    relation: instance -> element.  exact: whether every element of the relation is certainly accessed.
    reduction: the reduction that the access is part of, as the load or store of a contribution.
    in_init: whether the access is in the init of the statement's block.  not_affine: whether the element is unknown.
    """

    op: Operation
    memory: SSAValue | None
    is_write: bool
    relation: isl.Map
    exact: bool = True
    reduction: str | None = None
    in_init: bool = False
    not_affine: bool = False


@dataclass(frozen=True)
class AccessContext:
    """The conditions that an op of a statement runs under: a set in the dimensions of the statement and of the loops
    and blocks nested in it, and whether the op certainly runs there."""

    where: isl.Set
    exact: bool = True
    in_init: bool = False

    def under(self, where: isl.Set | None) -> AccessContext:
        """The context under a further condition; None for an unknown condition."""
        if where is None:
            return replace(self, exact=False)
        return replace(self, where=self.where.intersect(where))


@dataclass
class AccessCollector:
    """Collects the accesses of one statement.

    variables: the values of its dimensions: axes of a block, loop variables of another op.
    is_left_out: a predicate for memory to skip.
    """

    parameters: Parameters
    variables: Sequence[Atom]
    analyzer: IndexAnalyzer = field(default_factory=IndexAnalyzer)
    is_left_out: Callable[[SSAValue], bool] | None = None
    collected_accesses: list[StatementAccess] = field(default_factory=list[StatementAccess])

    def block(self, op: BlockOp) -> list[StatementAccess]:
        """The accesses of a block, over its axes."""
        self._start([op])
        self._top = op
        self._visit_block(op.body.block, self._context)
        return self._finish()

    def ops(self, ops: Sequence[Operation]) -> list[StatementAccess]:
        """The accesses of ops that run one after the other."""
        self._start(ops)
        for op in ops:
            self._op(op, self._context)
        return self._finish()

    def _start(self, ops: Sequence[Operation]) -> None:
        inner = sum(_dimensions(op) for top in ops for op in top.walk() if op not in ops or not isinstance(op, BlockOp))
        self._next = len(self.variables)
        self.affine = Affine(self.analyzer, self.parameters, self._next + inner)
        self.affine.dims.update({v: n for n, v in enumerate(self.variables)})
        self._context = AccessContext(self.affine.universe())
        self._locals: set[SSAValue] = set()
        self._top: BlockOp | None = None
        self._points: dict[Operation, isl.Map] = {}
        self.collected_accesses = []

    def _finish(self) -> list[StatementAccess]:
        self._recognize()
        self._remove_reads_of_results()
        return self.collected_accesses

    # Walking

    def _visit_block(self, block: Block, context: AccessContext) -> None:
        for op in block.ops:
            self._op(op, context)

    def _op(self, op: Operation, context: AccessContext) -> None:
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op, context)
        else:
            self._visit_other(op, context)

    def _visit_other(self, op: Operation, context: AccessContext) -> None:
        """Visits an op without an access of its own: calls, pointers, bodies that run any number of times."""
        for operand in op.operands:
            if isinstance(operand.type, MemRefType | HandleType):
                self._add_opaque(op, operand, context)
        if _is_ordered(op):
            self._add_effect(op, context)
        for region in op.regions:
            for block in region.blocks:
                self._visit_block(block, context.under(None))

    def _add_effect(self, op: Operation, context: AccessContext) -> None:
        """Records an effect outside of buffers, which depends on all earlier such effects."""
        relation = isl.Map.from_domain(self._instances(context))
        for is_write in (False, True):
            self.collected_accesses.append(
                StatementAccess(op, None, is_write, relation, context.exact, None, context.in_init)
            )

    def _add_opaque(self, op: Operation, value: SSAValue, context: AccessContext) -> None:
        """Records a use of a buffer or pointer that may read and write any element of its memory, or that may only read
        it: a pointer that declares reads alone."""
        memory = self._memory(value)
        if memory is None or self._is_skipped(memory):
            return
        relation = self._anywhere(memory, self._instances(context))
        for is_write in (False,) if _is_only_read(value) else (False, True):
            self.collected_accesses.append(
                StatementAccess(op, memory, is_write, relation, False, None, context.in_init)
            )

    def builtin(self, op: CallIntrinOp, context: AccessContext) -> None:
        """Visits a builtin: a matrix operation accesses the views that it has pointers to, or else their memory."""
        if not is_matrix_operation(op):
            self._visit_other(op, context)
            return
        for access in matrix_accesses(op):
            memory = self._memory(access.pointer)
            if memory is None or self._is_skipped(memory):
                continue
            view = _view_at(access.pointer)
            relation = None if view is None else self._region(view, memory, context)
            exact = context.exact and relation is not None and view is not None and _size(view) == access.size
            if relation is None:
                relation = self._anywhere(memory, self._instances(context))
            self.collected_accesses.append(
                StatementAccess(op, memory, access.is_write, relation, exact, None, context.in_init)
            )

    def _region(self, view: MatchRegionOp, memory: SSAValue, context: AccessContext) -> isl.Map | None:
        """{ instance -> elements of a view }; None if they are not known."""
        if not _is_whole_view(_source(view.buffer), memory) or not all(isinstance(n, int) for n in view.mixed_shape):
            return None
        where, functions = context.where, list[isl.PwAff | None]()
        for extent in view.mixed_shape:
            position, self._next = self._next, self._next + 1
            where = where.intersect(self.affine.range(position, 0, extent))
            functions.append(self.affine.variable(position))
        functions = self._translate_regions(view.buffer, functions)
        if any(function is None for function in functions):
            return None
        return self._relation(where, functions, memory)

    def loop(self, op: ForOp, context: AccessContext) -> None:
        """Visits a loop."""
        low, extent, step = op.mixed_bounds
        self._iterate(op, context, low, extent, step)

    def launch(self, op: LaunchThreadOp, context: AccessContext) -> None:
        """Visits a loop over threads."""
        self._iterate(op, context, 0, op.mixed_extent, 1)

    def _iterate(
        self, op: ForOp | LaunchThreadOp, context: AccessContext, low: Mixed, extent: Mixed, step: Mixed
    ) -> None:
        position = self._new_dimension(op.variable)
        inner = context.under(iterations(self.affine, position, low, extent, step))
        if not inner.exact:
            inner = inner.under(self.affine.between(position, *type_range(op.variable.type)))
        self._visit_block(op.body.block, inner)

    def branches(self, op: IfOp | IfThenElseOp, context: AccessContext) -> None:
        """Visits a conditional."""
        holds = condition(self.affine, op.condition)
        self._visit_block(op.then.block, context.under(holds))
        self._visit_block(op.orelse.block, context.under(None if holds is None else holds.complement()))

    def attr(self, op: AttrOp, context: AccessContext) -> None:
        """Visits the body of a `tir.attr`."""
        self._visit_block(op.body.block, context)

    def nested_block(self, op: BlockOp, context: AccessContext) -> None:
        """Visits a nested block: each axis is a dimension equal to its binding."""
        positions = [self._new_dimension(v) for v in op.variables]
        for axis, position, variable in zip(op.axes, positions, op.variables, strict=True):
            try:
                context = context.under(self.affine.equal(position, self.affine.function(axis.binding)))
            except NotAffineValue:
                context = context.under(None).under(axis_values(self.affine, position, axis, variable.type))
        if op.predicate is not None:
            context = context.under(condition(self.affine, op.predicate))
        self._visit_block(op.body.block, context)

    def init_body(self, op: InitOp, context: AccessContext) -> None:
        """Visits an init, which runs where all reduction axes have their minimum."""
        block = op.parent_op()
        assert isinstance(block, BlockOp)
        inner = context.under(first_steps(self.affine, block))
        self._visit_block(op.body.block, replace(inner, in_init=context.in_init or block is self._top))

    def allocation(self, op: Any, _context: AccessContext) -> None:
        """Records memory allocated inside the statement, whose accesses are skipped."""
        self._locals.add(op.results[0])

    def _new_dimension(self, value: SSAValue) -> int:
        position = self._next
        self._next += 1
        self.affine.dims[value] = position
        return position

    # Accesses

    def load(self, op: LoadOp, context: AccessContext) -> None:
        """Records a load."""
        self._add_access(op, context, is_write=False)

    def store(self, op: StoreOp, context: AccessContext) -> None:
        """Records a store."""
        self._add_access(op, context, is_write=True)

    def _add_access(self, op: LoadOp | StoreOp, context: AccessContext, *, is_write: bool) -> None:
        if op.predicate is not None or len(op.vector_indices) > 1:  # of several indices, the lanes go together
            context = context.under(None)
        base = _source(op.buffer)
        memory = self._memory(op.buffer)
        if memory is None or self._is_skipped(memory) or base in self._locals:
            return
        if not _is_whole_view(base, memory):
            self._add_opaque_access(op, memory, context, is_write=is_write)
            return
        functions: list[isl.PwAff | None] = []
        where, exact = context.where, context.exact
        lane: int | None = None
        for index in op.indices:
            if isinstance(index.type, VectorType):
                function, lane = self._ramp(index)
                if lane is not None:
                    where = where.intersect(self.affine.between(lane, 0, dtype_of(index.type).lanes - 1))
            else:
                function = self._function(index)
            functions.append(function)
        functions = self._translate_regions(op.buffer, functions)
        affine = all(f is not None for f in functions)
        self._points[op] = self._relation_of_points(where, functions, memory)
        relation = self._project(self._points[op])
        self.collected_accesses.append(
            StatementAccess(op, memory, is_write, relation, exact and affine, None, context.in_init, not affine)
        )

    def _add_opaque_access(self, op: Operation, memory: SSAValue, context: AccessContext, *, is_write: bool) -> None:
        relation = self._anywhere(memory, self._instances(context))
        self.collected_accesses.append(
            StatementAccess(op, memory, is_write, relation, False, None, context.in_init, True)
        )

    def _function(self, index: Mixed) -> isl.PwAff | None:
        try:
            return self.affine.function(index)
        except NotAffineValue:
            return None

    def _ramp(self, index: SSAValue) -> tuple[isl.PwAff | None, int | None]:
        """The function of a vector of indices, and the dimension of its lanes."""
        ramp = index.owner
        if not isinstance(ramp, RampOp):
            return None, None
        base, stride = self._function(ramp.base), constant_value(ramp.stride)
        if base is None or not isinstance(stride, int):
            return None, None
        lane = self._new_dimension(index) if index not in self.affine.dims else self.affine.dims[index]
        return base.add(self.affine.variable(lane).scale_val(isl.Val(stride))), lane

    def _translate_regions(self, buffer: SSAValue, functions: list[isl.PwAff | None]) -> list[isl.PwAff | None]:
        """Translates indices of a matched region into indices of its source buffer."""
        while isinstance(op := buffer.owner, MatchRegionOp):
            lows = [self._function(low) for low, _ in op.region]
            missing: list[isl.PwAff | None] = [self.affine.constant(0)] * (len(lows) - len(functions))
            pairs = zip(lows, missing + functions, strict=True)
            functions = [None if a is None or b is None else a.add(b) for a, b in pairs]
            buffer = op.source
        return functions

    def _relation(self, where: isl.Set, functions: Sequence[isl.PwAff | None], memory: SSAValue) -> isl.Map:
        return self._project(self._relation_of_points(where, functions, memory))

    def _project(self, points: isl.Map) -> isl.Map:
        """{ instance -> element } of { values of all dimensions -> element }."""
        return points.project_out(isl.dim_type.in_, len(self.variables), self.affine.rank - len(self.variables))

    def _relation_of_points(self, where: isl.Set, functions: Sequence[isl.PwAff | None], memory: SSAValue) -> isl.Map:
        extents = _extents(memory)
        values = [
            self._any_index(extents[n] if n < len(extents) else None) if function is None else function
            for n, function in enumerate(functions)
        ]
        return map_to(where, values)

    def _any_index(self, extent: Mixed | None) -> isl.Set:
        elements = Affine(self.analyzer, self.parameters, 1)
        values = elements.universe()
        if extent is not None:
            try:
                values = elements.range(0, 0, extent)
            except NotAffineValue:
                pass
        return values

    def _anywhere(self, memory: SSAValue, instances: isl.Set) -> isl.Map:
        return map_to(instances, [self._any_index(extent) for extent in _extents(memory)])

    def _instances(self, context: AccessContext) -> isl.Set:
        """The instances of the statement in which an op runs."""
        return context.where.project_out(isl.dim_type.set, len(self.variables), self.affine.rank - len(self.variables))

    def _is_skipped(self, memory: SSAValue) -> bool:
        return memory in self._locals or (self.is_left_out is not None and self.is_left_out(memory))

    def _memory(self, value: SSAValue) -> SSAValue | None:
        return memory_of(value)

    # Reductions

    def _recognize(self) -> None:
        """Marks the accesses to buffers that are only accumulated into, by a single reduction."""
        by_memory: dict[SSAValue, list[int]] = {}
        for n, access in enumerate(self.collected_accesses):
            if access.memory is not None and not access.in_init:
                by_memory.setdefault(access.memory, []).append(n)
        written = {a.memory for a in self.collected_accesses if a.is_write and not a.in_init}
        for numbers in by_memory.values():
            name = _reduction([self.collected_accesses[n] for n in numbers], written)
            if name is not None:
                for n in numbers:
                    self.collected_accesses[n] = replace(self.collected_accesses[n], reduction=name)

    # Results

    def _remove_reads_of_results(self) -> None:
        """Removes from the reads the elements that the same instance has certainly written before."""
        written = dict[tuple[SSAValue | None, bool], dict[Block, isl.Map]]()  # by memory and part, by block of stores
        for n, access in enumerate(self.collected_accesses):
            points, block = self._points.get(access.op), access.op.parent
            if points is None or block is None:
                continue
            part = access.memory, access.in_init
            if access.is_write and access.exact:
                stores = written.setdefault(part, {})
                stores[block] = stores[block].union(points) if block in stores else points
            elif not access.is_write and access.reduction is None and part in written:
                for of_stores, elements in written[part].items():
                    points = points.subtract(self._written_before(elements, of_stores, block))
                self.collected_accesses[n] = replace(access, relation=self._project(points))

    def _written_before(self, elements: isl.Map, stores: Block, load: Block) -> isl.Map:
        """{ values of all dimensions -> elements that stores in a block have written before a load in a block }: by any
        iteration of a loop that ends before the load, and by the same iteration of a loop around both."""
        around = _around(stores) & _around(load)
        common = {op.variable for op in around if isinstance(op, ForOp | LaunchThreadOp)}
        common.update(v for op in around if isinstance(op, BlockOp) for v in op.variables)
        kept = {*range(len(self.variables)), *(n for v, n in self.affine.dims.items() if v in common)}
        for n in range(self.affine.rank):
            if n not in kept:
                elements = elements.project_out(isl.dim_type.in_, n, 1).insert_dims(isl.dim_type.in_, n, 1)
        return elements


def _around(block: Block) -> set[Operation]:
    """The operations around a block."""
    op = block.parent_op()
    return set() if op is None else {op, *ancestors(op)}


def _reduction(accesses: Sequence[StatementAccess], written: set[SSAValue | None]) -> str | None:
    """The single reduction that all accesses to a buffer are part of, else None."""
    loads, names = set[Operation](), set[str]()
    for access in accesses:
        if isinstance(access.op, StoreOp):
            contribution = accumulation(access.op)
            if contribution is None or any(memory_of(b) in written for b in _buffers_in_indices(access.op)):
                return None
            names.add(contribution[0])
            loads.add(contribution[1])
    others = [a for a in accesses if not isinstance(a.op, StoreOp) and a.op not in loads]
    return names.pop() if len(names) == 1 and not others else None


def _buffers_in_indices(op: StoreOp) -> list[SSAValue]:
    todo, buffers = list(op.indices), list[SSAValue]()
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, LoadOp):
            buffers.append(owner.buffer)
        if isinstance(owner, Operation):
            todo += owner.operands
    return [b for b in buffers if isinstance(b.type, MemRefType)]


def axis_values(affine: Affine, position: int, axis: Axis, type_: Attribute) -> isl.Set:
    """The points at which a dimension has a value that an axis can have: a value in its domain; others are excluded."""
    try:
        return affine.range(position, axis.low, axis.extent)
    except NotAffineValue:
        return affine.between(position, *type_range(type_))


def first_steps(affine: Affine, block: BlockOp) -> isl.Set | None:
    """The points at which all reduction axes of a block, which are dimensions or parameters, have the minimum of their
    domains; None if no formula describes them."""
    where = affine.universe()
    for axis, variable in zip(block.axes, block.variables, strict=True):
        if axis.kind == "reduce":
            try:
                where = where.intersect(affine.function(variable).eq_set(affine.function(axis.low)))
            except NotAffineValue:
                return None
    return where


def _dimensions(op: Operation) -> int:
    """The number of dimensions that an op inside a statement adds."""
    match op:
        case ForOp() | LaunchThreadOp() | RampOp():
            return 1
        case BlockOp():
            return len(op.variables)
        case CallIntrinOp() if is_matrix_operation(op):
            views = [_view_at(access.pointer) for access in matrix_accesses(op)]
            return sum(view.type.get_num_dims() for view in views if view is not None)
        case _:
            return 0


# Memory


def _is_ordered(op: Operation) -> bool:
    """Whether an op has an effect that keeps its order relative to other effects. Printed lines do not: they have the
    order of the transformed program."""
    if isinstance(op, PrintOp):
        return False
    return (has_effect(op) and not is_atomic(op)) or isinstance(op, AssertOp | ReturnOp)


def _is_only_read(value: SSAValue) -> bool:
    """Whether a pointer is an `access_ptr` that declares reads alone."""
    while isinstance(op := value.owner, LetOp | ReinterpretOp):
        value = op.value
    return isinstance(op, AccessPtrOp) and op.is_read


def _view_at(pointer: SSAValue) -> MatchRegionOp | None:
    """The view that a pointer is the data of, or the address of the first element of."""
    if isinstance(access := pointer.owner, AccessPtrOp):
        pointer = access.data
    view = pointer.owner.buffer.owner if isinstance(pointer.owner, BufferDataOp) else None
    if not isinstance(view, MatchRegionOp):
        return None
    if not isinstance(access, AccessPtrOp) or access.offset is view.mixed_offset:
        return view
    analyzer = Analyzer()
    return view if analyzer.lin(access.offset) == analyzer.lin(view.mixed_offset) else None


def _size(view: MatchRegionOp) -> int:
    """The number of elements of a view of static shape."""
    return prod(n for n in view.mixed_shape if isinstance(n, int))


def _source(buffer: SSAValue) -> SSAValue:
    """The buffer at the root of matched regions."""
    while isinstance(op := buffer.owner, MatchRegionOp):
        buffer = op.source
    return buffer


def _is_whole_view(buffer: SSAValue, memory: SSAValue) -> bool:
    """Whether an index of a buffer refers to the same element in all buffers over its memory."""
    if buffer is memory:
        return True
    views = pointer_views(memory)
    return buffer in views and all(v.type == buffer.type for v in views) and not isinstance(memory.type, MemRefType)


def _extents(memory: SSAValue) -> list[Mixed | None]:
    """The shape of some memory, with None for unknown extents."""
    buffer = buffer_of(memory)
    if buffer is None:
        return []
    if isinstance(op := buffer.owner, BufferOp):
        return list(op.mixed_shape)
    assert isinstance(buffer.type, MemRefType)
    return [None if d == DYNAMIC else d for d in buffer.type.get_shape()]


_HANDLERS: dict[type[Any], Callable[[AccessCollector, Any, AccessContext], None]] = {
    LoadOp: AccessCollector.load,
    CallIntrinOp: AccessCollector.builtin,
    StoreOp: AccessCollector.store,
    ForOp: AccessCollector.loop,
    LaunchThreadOp: AccessCollector.launch,
    IfOp: AccessCollector.branches,
    IfThenElseOp: AccessCollector.branches,
    AttrOp: AccessCollector.attr,
    BlockOp: AccessCollector.nested_block,
    InitOp: AccessCollector.init_body,
    AllocBufferOp: AccessCollector.allocation,
    AllocateOp: AccessCollector.allocation,
    AllocateConstOp: AccessCollector.allocation,
    AccessOp: lambda self, op, context: None,
    MatchRegionOp: lambda self, op, context: None,
    DeclBufferOp: lambda self, op, context: None,
    MatchBufferOp: lambda self, op, context: None,
    BufferDataOp: lambda self, op, context: None,
    AddressOfOp: lambda self, op, context: None,
    AccessPtrOp: lambda self, op, context: None,
    LetOp: lambda self, op, context: None,
    ReinterpretOp: lambda self, op, context: None,
}
