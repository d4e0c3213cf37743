"""The pass `tir-distribute-threads`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, StringAttr, i32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer
from ...analysis.lanes import free_values
from ...analysis.names import loop_name
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import (
    THREAD_AXES,
    BoundLoop,
    bound_loop_range,
    is_thread_loop,
    is_uniform_across_threads,
    outermost_bound_loops,
    team_of,
    thread_axes_of,
    thread_axis_of,
    written_memory,
)
from ...analysis.threads.barriers import is_barrier
from ...analysis.threads.fragments import (
    builtin_of,
    check_warp,
    has_fragment_nests,
    is_fragment_nest,
    is_in_fragment_nest,
)
from ...analysis.threads.memories import LOCAL, OF_WARP, has_copy_for_each_warp, is_fragment, is_of_warp, is_shared
from ...analysis.threads.registers import is_load_of_matrices
from ...core.diagnostics import where
from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.walking import find_ops
from ...dialects.attributes import THREAD_AXES_OF_DIMENSIONS
from ...dialects.tir import (
    AccessOp,
    AllocateOp,
    AllocBufferOp,
    AttrOp,
    BlockOp,
    CallIntrinOp,
    ForOp,
    FuncOp,
    HandleType,
    IfOp,
    LetOp,
    LoadOp,
    Mixed,
    StoreOp,
    TirBuilder,
    memory_space,
)
from ...dialects.tir.copying import copy_bound
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import (
    captured_operands,
    erase_statement,
    following_ops,
    is_expression_op,
    is_pure_expression,
    treeify,
)
from .pointers import replace_pointers


class TirDistributeThreadsPass(ModulePass):
    """Distributes loops over threads into their bodies, so that each statement has its own loops over threads.

    The threads of a block run in lockstep: all threads execute a statement that all of them reach before any thread
    executes the next statement. So the loops over threads move inwards, around each such statement, and enclosing loops
    and branches that are uniform over the threads stay outside. Memory of scope `local` gets a leading dimension for
    each thread axis; memory of scope `warp` gets such dimensions except for `threadIdx.x`, and becomes shared memory;
    so do fragments, which keep their scope, and the loops of a matrix operation get none over `threadIdx.x`. A loop
    nested in a loop bound to the same axis runs for the current thread. A branch or loop that depends on the thread is
    one statement with its body.

    Before
        tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
          tir.for serial "k" %k : i32 in [0 +: 4] {
            tir.store %a, %S[%tx] : memref<8xf32, "shared">
            tir.store %b, %L[%k] : memref<4xf32, "local">
          }
        }

    After
        tir.for serial "k" %k : i32 in [0 +: 4] {
          tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
            tir.store %a, %S[%tx] : memref<8xf32, "shared">
          }
          tir.for thread_binding "tx" %tx : i32 in [0 +: 8] thread "threadIdx.x" {
            tir.store %b, %L[%tx, %k] : memref<8x4xf32, "local">
          }
        }

    Must hold before: nothing. Raises UnsupportedError for numbers of threads that differ between threads, and for
    `T.tvm_storage_sync` that not all threads reach.

    Gone after: loops over threads with more than one statement; `T.tvm_storage_sync`.
    """

    name = "tir-distribute-threads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            distribute_threads(function)


def distribute_threads(function: FuncOp) -> None:
    """Gives each statement of a function its own loops over the threads of a block, in place."""
    roots = list(outermost_bound_loops(function, THREAD_AXES))
    if not roots:
        return
    treeify(function)
    replace_pointers(function)
    _sink_views(function)
    expanded = _expand_outer(function, roots)
    for root in roots:
        _Distributor(root, dict(expanded)).run()
    for buffer, new in expanded.items():
        if new.axes:
            _declare_for_all_threads(buffer, new)
        else:  # statements outside of loops over threads may use the memory
            buffer.replace_all_uses_with(new.buffer)
        erase_statement(buffer.owner)  # pyright: ignore[reportArgumentType]


# Memory of each thread


def _sink_views(function: FuncOp) -> None:
    """Moves allocations that are private to a thread, and have uses other than loads and stores, into its loops."""
    for alloc in [a for a in find_ops(function, AllocBufferOp) if team_of(a) is None]:
        if has_copy_for_each_warp(alloc.buffer):
            continue
        if thread_axes_of(alloc.buffer) and not _is_addressed_simply(alloc.buffer):
            users = [use.operation for use in alloc.buffer.uses]
            loops = [op for op in function.walk() if is_thread_loop(op) and all(op.is_ancestor(u) for u in users)]
            if loops and not any(isinstance(v.owner, Operation) for v in alloc.operands):
                alloc.detach()
                Rewriter.insert_op(alloc, InsertPoint.at_start(loops[-1].body.block))


def _is_addressed_simply(buffer: SSAValue) -> bool:
    """Whether all uses of a buffer are loads, stores and access declarations."""
    return all(isinstance(use.operation, LoadOp | StoreOp | AccessOp) for use in buffer.uses)


@dataclass
class ExpandedBuffer:
    """A buffer with leading dimensions for thread axes, one for each of `axes`."""

    axes: tuple[str, ...]
    buffer: SSAValue


def _expand_outer(function: FuncOp, roots: Sequence[BoundLoop]) -> dict[SSAValue, ExpandedBuffer]:
    """Expands the private memory of threads that is allocated outside of the loops over threads."""
    expanded: dict[SSAValue, ExpandedBuffer] = {}
    for alloc in [a for a in find_ops(function, AllocBufferOp) if team_of(a) is None]:
        axes = thread_axes_of(alloc.buffer)
        if has_copy_for_each_warp(alloc.buffer) and not _is_addressed_simply(alloc.buffer):
            raise UnsupportedError(
                f"{where(alloc)}memory of a warp is only loaded and stored, which is not so of {alloc.buffer_name.data}"
            )
        if axes or has_copy_for_each_warp(alloc.buffer):
            loops = [loop for root in roots for loop in _loops_over(axes, root)]
            expanded[alloc.buffer] = expand_buffer(alloc, loops, InsertPoint.before(alloc), {})
    return expanded


def _loops_over(axes: Container[str], root: BoundLoop) -> list[BoundLoop]:
    """The loops below and including `root` that are bound to one of some thread axes."""
    loops = [op for op in root.walk() if is_thread_loop(op)]
    return [loop for loop in loops if (axis := thread_axis_of(loop)) is not None and axis in axes]


def expand_buffer(
    alloc: AllocBufferOp, loops: Sequence[BoundLoop], point: InsertPoint, values: dict[SSAValue, SSAValue]
) -> ExpandedBuffer:
    """Allocates a buffer with leading dimensions, one copy for each thread.

    loops: the loops over the threads.  values: { value of the program -> value at the insertion point }.
    """
    if alloc.mixed_strides is not None:
        raise UnsupportedError(f"{where(alloc)}local buffer {alloc.buffer_name.data} has strides, expected none")
    builder = TirBuilder(point, alloc.location)
    mine = {axis: [loop for loop in loops if thread_axis_of(loop) == axis] for axis in reversed(THREAD_AXES)}
    counts = {axis: _thread_count(alloc, bound, builder, values) for axis, bound in mine.items() if bound}
    shape = [*counts.values(), *(n if isinstance(n, int) else values.get(n, n) for n in alloc.mixed_shape)]
    together = is_of_warp(alloc.buffer)
    space = memory_space("shared") if together else alloc.type.memory_space
    new = alloc.copy_with_shape(shape, space)
    if not together:
        new.attributes[THREAD_AXES_OF_DIMENSIONS] = ArrayAttr([StringAttr(axis) for axis in counts])
    builder.insert(new)
    return ExpandedBuffer(tuple(counts), new.buffer)


def _thread_count(
    alloc: AllocBufferOp, loops: Sequence[BoundLoop], builder: TirBuilder, values: dict[SSAValue, SSAValue]
) -> Mixed:
    """The number of threads along an axis: the greatest end of the loops bound to it, before which `alloc` stands."""
    analyzer = Analyzer(through_lets=False)
    ranges = [bound_loop_range(loop) for loop in loops]
    ends = {analyzer.exact(low) + analyzer.exact(extent): (low, extent) for low, extent in ranges}
    numbers = [number for end in ends if (number := end.constant) is not None]
    count: Mixed | None = max(numbers, default=None)
    for end, bounds in ends.items():
        if end.constant is None:
            symbolic = _end_before(alloc, bounds, builder, values)
            count = symbolic if count is None else builder.binary("max", count, symbolic)
    assert count is not None
    return count


def _end_before(
    alloc: AllocBufferOp, bounds: tuple[Mixed, Mixed], builder: TirBuilder, values: dict[SSAValue, SSAValue]
) -> SSAValue:
    """The sum of the low bound and the extent of a loop, computed before an allocation outside of the loop."""
    for bound in bounds:
        if isinstance(bound, SSAValue) and not _is_computable_before(bound, alloc, values):
            raise UnsupportedError(
                f"{where(alloc)}buffer {alloc.buffer_name.data} has a copy for each thread, but the number of "
                "threads is not known where it is allocated"
            )
    low, extent = (copy_bound(bound, builder, values) for bound in bounds)
    return builder.value(extent) if low == 0 else builder.add(low, extent)


def _is_computable_before(value: SSAValue, op: Operation, values: Container[SSAValue]) -> bool:
    """Whether the expression of a value consists of `values` and of values that are visible before `op`."""
    if value in values:
        return True
    owner = value.owner
    if isinstance(owner, Operation) and is_expression_op(owner):
        inputs = captured_operands(owner)
        return is_pure_expression(owner) and all(_is_computable_before(each, op, values) for each in inputs)
    around = [op, *ancestors(op)]
    if isinstance(owner, Block):
        return any(each.parent is owner for each in around)
    return any(each.parent is owner.parent and owner.is_before_in_block(each) for each in around)


def _declare_for_all_threads(buffer: SSAValue, new: ExpandedBuffer) -> None:
    """Makes blocks around loops over threads declare their accesses to the memory of all threads."""
    alloc = new.buffer.owner
    assert isinstance(alloc, AllocBufferOp)
    threads: list[tuple[Mixed, Mixed]] = [(0, extent) for extent in alloc.mixed_shape[: len(new.axes)]]
    for op in [use.operation for use in buffer.uses]:
        if isinstance(op, AccessOp):
            _redeclare(op, new.buffer, threads)


def _redeclare(op: AccessOp, buffer: SSAValue, threads: Sequence[tuple[Mixed, Mixed]]) -> None:
    """Replaces a declared access by one to a buffer with additional leading dimensions. threads: the box there."""
    builder = TirBuilder(InsertPoint.before(op), op.location)
    builder.insert(AccessOp(op.kind.data, buffer, [*threads, *op.region]))
    op.detach()
    op.erase()


# Distribution


@dataclass(frozen=True)
class _Thread:
    """An axis of the threads that execute a statement. loop: the outermost loop bound to the axis."""

    axis: str
    loop: BoundLoop
    bounds: tuple[Mixed, Mixed]


@dataclass(frozen=True)
class _Context:
    """The insertion point of statements, and the threads that execute them.

    aliases: variables of loops nested in a loop bound to the same axis.  limits: nested loops that cover only a part of
    the threads, which restrict the threads that execute a statement.
    """

    point: InsertPoint
    team: tuple[_Thread, ...] = ()
    aliases: tuple[tuple[SSAValue, str], ...] = ()
    limits: tuple[BoundLoop, ...] = ()


@dataclass
class _Distributor:
    """Rewrites a kernel, from its outermost loop over threads: the new kernel precedes the old kernel, which is erased.

    values: { uniform value of the old kernel -> value of the new kernel }.  varying: the declarations of values that
    differ between threads, with the expressions that precede them, by value.
    """

    root: BoundLoop
    expanded: dict[SSAValue, ExpandedBuffer]
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    varying: dict[SSAValue, tuple[Operation, ...]] = field(default_factory=dict[SSAValue, tuple[Operation, ...]])

    def __post_init__(self) -> None:
        self._written = written_memory(self.root)

    def run(self) -> None:
        self._statement(self.root, (), _Context(InsertPoint.before(self.root)))
        self.root.detach()
        self.root.erase()

    # Statements

    def _statements(self, block: Block, context: _Context) -> None:
        pending: list[Operation] = []
        op = block.first_op
        while op is not None:
            if is_expression_op(op):
                pending.append(op)
            elif not op.results or self._is_plain_allocation(op, pending):
                self._statement(op, pending, context)
                pending = []
            elif self._declare(op, pending, context):
                pending = []
            else:
                self._leaf([*pending, op, *following_ops(op)], context)
                return
            op = op.next_op  # `_declare` inserts ops after the declaration

    def _is_plain_allocation(self, op: Operation, pending: Sequence[Operation]) -> bool:
        """Whether an allocation is shared by the threads, or can get dimensions for them."""
        if not isinstance(op, AllocBufferOp) or not self._is_uniform(pending, [*op.operands]):
            return False
        if _is_shared(op) or has_copy_for_each_warp(op.buffer):
            return True
        return op.mixed_strides is None and _is_addressed_simply(op.buffer)

    def _declare(self, op: Operation, pending: Sequence[Operation], context: _Context) -> bool:
        """Copies a declaration of a value or buffer; False if the rest of the block must be one statement with it."""
        ops = (*pending, op)
        is_private = isinstance(op, AllocBufferOp) or (isinstance(op, AllocateOp) and not is_shared(op.pointer))
        if self._is_uniform(ops) and not is_private:
            self._copy(ops, context.point)
        elif all(isinstance(each, LetOp) or is_pure_expression(each) for each in ops):
            self.varying[op.results[0]] = ops
        elif isinstance(op, LetOp) and not isinstance(op.result.type, HandleType | MemRefType):
            self._keep(op, pending, context)
        else:
            return False
        return True

    def _keep(self, op: LetOp, pending: Sequence[Operation], context: _Context) -> None:
        """Stores a value that has effects, or may change later, in memory of each thread."""
        builder = TirBuilder(InsertPoint.before(op), op.location)
        alloc = builder.insert(AllocBufferOp(op.var_name.data, op.result.type, [1], space=memory_space(LOCAL)))
        for use in list(op.result.uses):
            reader = TirBuilder(InsertPoint.before(use.operation), use.operation.location)
            use.operation.operands[use.index] = reader.load(alloc.buffer, [reader.const(0, i32)])
        builder.store(op.value, alloc.buffer, [builder.const(0, i32)])
        self._expand(alloc, [thread.axis for thread in context.team], context)
        written: list[Operation] = []
        while (before := (written or [op])[-1].prev_op) is not None and before is not alloc:
            written.append(before)
        self._leaf([*pending, *reversed(written)], context)

    def _statement(self, op: Operation, pending: Sequence[Operation], context: _Context) -> None:
        match op:
            case _ if is_thread_loop(op):
                self._threads(op, pending, context)
            case ForOp() | IfOp() | AttrOp() if not _is_whole(op) and self._is_uniform(pending, [*op.operands]):
                self._copy(pending, context.point)
                self._inside(op, context)
            case AllocBufferOp():
                self._copy(pending, context.point)
                self._allocate(op, context)
            case CallIntrinOp() if is_barrier(op):
                pass
            case AccessOp():
                pass
            case _:
                self._leaf([*pending, op], context)

    def _threads(self, op: BoundLoop, pending: Sequence[Operation], context: _Context) -> None:
        if not self._is_uniform(pending, [*op.operands]):
            raise UnsupportedError(
                f"{where(op)}the bounds of loop {loop_name(op)} differ between threads of {thread_axis_of(op)}"
            )
        self._copy(pending, context.point)
        low, extent = (self._map_mixed(n) for n in bound_loop_range(op))
        axis = thread_axis_of(op)
        assert axis is not None
        outer = next((t for t in context.team if t.axis == axis), None)
        if outer is None:
            context = replace(context, team=(*context.team, _Thread(axis, op, (low, extent))))
        else:
            limits = context.limits if outer.bounds == (low, extent) else (*context.limits, op)
            context = replace(context, aliases=(*context.aliases, (op.variable, axis)), limits=limits)
        self._statements(op.body.block, context)

    def _inside(self, op: ForOp | IfOp | AttrOp, context: _Context) -> None:
        """Copies a uniform op, and distributes its body."""
        shell = op.clone_without_regions(self.values)
        for old, new in zip(op.regions, shell.regions, strict=True):
            for block in old.blocks:
                copy = Block(arg_types=[a.type for a in block.args])
                new.add_block(copy)
                for a, b in zip(block.args, copy.args, strict=True):
                    self._rename(a, b)
        _insert(context.point, shell)
        for old, new in zip(op.regions, shell.regions, strict=True):
            for block, copy in zip(old.blocks, new.blocks, strict=True):
                self._statements(block, replace(context, point=InsertPoint.at_end(copy)))

    def _rename(self, old: BlockArgument, new: BlockArgument) -> None:
        new.name_hint = old.name_hint
        self.values[old] = new

    def _allocate(self, op: AllocBufferOp, context: _Context) -> None:
        """Copies an allocation inside the loops over threads if it is shared; else expands it."""
        if _is_shared(op):
            self._copy([op], context.point)
            return
        self._expand(op, thread_axes_of(op.buffer), context)

    def _expand(self, op: AllocBufferOp, axes: Container[str], context: _Context) -> None:
        """Allocates memory once for each thread."""
        loops = _loops_over(axes, self.root)
        self.expanded[op.buffer] = expand_buffer(op, loops, context.point, self.values)

    # Statements of one thread

    def _leaf(self, ops: Sequence[Operation], context: _Context) -> None:
        """Copies ops that each thread executes by itself into loops over the threads."""
        for op in (inner for outer in ops for inner in outer.walk()):
            if is_barrier(op):
                raise UnsupportedError(f"{where(op)}threads wait for each other where not all of them come")
        if any(map(has_fragment_nests, ops)):
            context = self._of_warps(ops, context)
        values = dict(self.values)
        variables: dict[str, SSAValue] = {}
        point, location = context.point, ops[-1].location
        for thread in context.team:
            low, extent = thread.bounds
            type = thread.loop.variable.type
            loop = ForOp(loop_name(thread.loop), low, extent, type, kind="thread_binding", thread=thread.axis)
            loop.location = thread.loop.location
            loop.variable.name_hint = thread.loop.variable.name_hint
            _insert(point, loop)
            point = InsertPoint.at_end(loop.body.block)
            values[thread.loop.variable] = variables[thread.axis] = loop.variable
        for alias, axis in context.aliases:
            builder = TirBuilder(point, location)
            values[alias] = builder.cast(variables[axis], dtype_of(alias.type))
        for limit in context.limits:
            guard = _guard(
                TirBuilder(point, location), values[limit.variable], *map(self._map_mixed, bound_loop_range(limit))
            )
            if guard is not None:
                _insert(point, guard)
                point = InsertPoint.at_end(guard.then.block)
        copies = [op.clone(values) for op in (*self._declarations(ops), *ops)]
        for copy in copies:
            _insert(point, copy)
        for copy in copies:
            self._address(copy, variables)

    def _of_warps(self, ops: Sequence[Operation], context: _Context) -> _Context:
        """The context without `threadIdx.x`, of ops that the threads along this axis, a warp, execute together.

        Raises UnsupportedError for ops that depend on the thread of the warp, and for other statements among the ops.
        """
        nest = next(inner for op in ops for inner in op.walk() if is_fragment_nest(inner))
        lanes = THREAD_AXES[0]
        mine = [thread for thread in context.team if thread.axis == lanes]
        for thread in mine:
            check_warp(nest, thread.bounds[1])
        variables = {thread.loop.variable for thread in mine} | {v for v, axis in context.aliases if axis == lanes}
        used = {value for op in (*self._declarations(ops), *ops) for value in free_values(op)}
        if used & variables or any(thread_axis_of(limit) == lanes for limit in context.limits):
            raise UnsupportedError(
                f"{where(nest)}T.{builtin_of(nest)}: differs between the threads of a warp, or not all of them come; "
                "expected indices, conditions and bounds without threadIdx.x"
            )
        for op in (inner for outer in ops for inner in outer.walk()):
            is_around = isinstance(op, BlockOp | AccessOp | ForOp | IfOp | AttrOp | LetOp)
            if not is_around and not is_in_fragment_nest(op) and not is_expression_op(op):
                raise UnsupportedError(
                    f"{where(op)}{op.name} beside T.{builtin_of(nest)} in a branch or loop that depends on the thread; "
                    "expected matrix operations alone"
                )
        aliases = tuple(each for each in context.aliases if each[1] != lanes)
        return replace(context, team=tuple(t for t in context.team if t.axis != lanes), aliases=aliases)

    def _declarations(self, ops: Iterable[Operation]) -> list[Operation]:
        """The declarations of the values that differ between threads and that `ops` use, in order."""
        declarations: dict[Operation, None] = {}

        def visit(op: Operation) -> None:
            for value in free_values(op):
                for before in self.varying.get(value, ()):
                    if before not in declarations:
                        visit(before)
                        declarations[before] = None

        for op in ops:
            visit(op)
        return list(declarations)

    def _address(self, op: Operation, variables: dict[str, SSAValue]) -> None:
        """Redirects the accesses of a statement to the memory of its own thread."""
        for inner in list(op.walk()):
            for buffer in [value for value in inner.operands if value in self.expanded]:
                expanded = self.expanded[buffer]
                builder = TirBuilder(InsertPoint.before(inner), inner.location)
                mine = [variables.get(axis) for axis in expanded.axes]
                indices = [builder.const(0, i32) if v is None else v for v in mine]
                _readdress(inner, expanded.buffer, indices)

    # Values

    def _is_uniform(self, ops: Iterable[Operation], values: Sequence[SSAValue] = ()) -> bool:
        """Whether the results of `ops`, and `values`, are the same for all threads of a block."""
        return all(
            is_uniform_across_threads(v, self._written) for v in (*(r for op in ops for r in op.results), *values)
        )

    def _copy(self, ops: Iterable[Operation], point: InsertPoint) -> None:
        for op in ops:
            _insert(point, op.clone(self.values))

    def _map_mixed(self, number: Mixed) -> Mixed:
        return number if isinstance(number, int) else self.values.get(number, number)


def _is_shared(op: AllocBufferOp) -> bool:
    """Whether all threads of a block see a buffer, by its scope."""
    space = op.type.memory_space
    return isinstance(space, StringAttr) and space.data not in (LOCAL, OF_WARP) and not is_fragment(op.buffer)


def _insert(point: InsertPoint, op: Operation) -> None:
    if point.insert_before is None:
        point.block.add_op(op)
    else:
        point.block.insert_op_before(op, point.insert_before)


def _guard(builder: TirBuilder, value: SSAValue, low: Mixed, extent: Mixed) -> IfOp | None:
    """A branch that selects the threads of a nested loop."""
    conditions = list[SSAValue]()
    if low != 0:
        conditions.append(builder.binary("ge", value, low))
    end = low + extent if isinstance(low, int) and isinstance(extent, int) else builder.binary("add", low, extent)
    conditions.append(builder.binary("lt", value, end))
    return IfOp(builder.conjunction(conditions))


def _readdress(op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    """Makes an op access a buffer with additional leading indices."""
    match op:
        case LoadOp() | StoreOp():
            redirect_access(op, buffer, [*indices, *op.indices])
        case AccessOp():
            _redeclare(op, buffer, [(index, 1) for index in indices])
        case _:
            raise UnsupportedError(
                f"{where(op)}{op.name} of a local buffer: a thread's memory is only loaded and stored"
            )


def _is_whole(op: Operation) -> bool:
    """Whether an op has loops that stand for one operation."""
    return is_fragment_nest(op) or is_load_of_matrices(op)
