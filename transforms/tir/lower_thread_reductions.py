"""The pass `tir-lower-thread-reductions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.index import Analyzer, export
from ...analysis.loop_accesses import constant_extent
from ...analysis.names import block_name, buffer_name, fresh_block_name, fresh_buffer_name, loop_name
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import BLOCK_AXES, thread_axis_of
from ...analysis.threads.memories import LOCAL
from ...analysis.threads.reductions import (
    ThreadReduction,
    thread_reduction,
    warp_lanes_of,
)
from ...analysis.threads.shuffles import shuffle_down
from ...core.walking import find_ops
from ...dialects.tir import AllocBufferOp, BlockOp, ForOp, FuncOp, IfOp, LoadOp, StoreOp, TirBuilder, memory_space
from ...dialects.tir.operands import redirect_access
from ...dialects.tir.tree import treeify, with_expressions
from ...schedule.rewriting.init_nests import InitPlan, build_init_nest, plan_result
from ...schedule.rewriting.nest import builder_before_expressions, function_of, renew_accesses
from .pointers import replace_pointers

Values: TypeAlias = Mapping[SSAValue, SSAValue]
"""{ loop variable -> its replacement in a copy of the loop }."""


class TirLowerThreadReductionsPass(ModulePass):
    """Lowers reductions across threads to a partial reduction by each thread and a binary tree over the threads.

    A reduction across threads is a block with an init and a known reducer, one of whose reduce axes is bound to
    `threadIdx`. Each thread starts from the identity element and reduces in a register. Then, step by step, half of the
    threads combine their value with the value of a thread of the other half, until one thread is left: by shuffles
    among threads that are lanes of one warp, with the results of warps exchanged through shared memory; through shared
    memory alone where neighbouring threads are no lanes. Finally the result is combined with the value of the init and
    stored at the element that the block wrote, where later threads read it.

    Before
        tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
          tir.for serial "k" %k : i32 in [0 +: 8] {
            %vk = 8 * %tx + %k
            tir.block "C" (reduce "vk" %vk : i32 in [0 +: 32]) {
              tir.init { C[0] = 0 }
              C[0] = C[0] + A[vk]
            }
          }
        }

    After
        tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
          C_part[0] = 0
        }
        tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
          tir.for serial "k" %k : i32 in [0 +: 8] {
            tir.block "C" (reduce "vk" ...) {
              C_part[0] = C_part[0] + A[vk]
            }
          }
        }
        tir.for thread_binding "tx" %tx : i32 in [0 +: 4] thread "threadIdx.x" {
          C_other[0] = T.tvm_warp_shuffle_down(T.uint32(4294967295), C_part[0], 2, 32, 32)
          C_part[0] = C_part[0] + C_other[0]
          C_other[0] = T.tvm_warp_shuffle_down(T.uint32(4294967295), C_part[0], 1, 32, 32)
          C_part[0] = C_part[0] + C_other[0]
          tir.if tx == 0 { C_parts[0] = C_part[0] }
        }
        tir.block "C_result" {
          C[0] = 0 + C_parts[0]
        }

    Must hold before: nothing. Raises ThreadReductionError for an unknown reducer, and where the iterations reduced by
    each thread or the element of the result cannot be determined: `rfactor` splits such a reduction in two.

    Gone after: reductions across threads.
    """

    name = "tir-lower-thread-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            replace_pointers(function)
            reductions = [r for b in find_ops(function, BlockOp) if (r := thread_reduction(b)) is not None]
            if reductions:
                treeify(function)
            for reduction in reductions:
                _Lowering(reduction).write()


class _Lowering:
    """The lowering of one reduction.

    parts: the private accumulators of a thread, one for each accumulator of the block.  others: buffers for values
    received from other threads.  shared: buffers in shared memory for partial results.  lanes: the threads that are
    lanes of one warp.
    """

    def __init__(self, reduction: ThreadReduction):
        self.reduction = reduction
        self.block = reduction.block
        self.accumulators = reduction.reducer.accumulators
        self.count = prod(constant_extent(loop) for loop in reduction.threads)

    def write(self) -> None:
        plan = plan_result(self.reduction)
        self._open_kernel()
        self.lanes = warp_lanes_of(self.reduction)
        self._allocate()
        self._start()
        self._add_up(plan)
        self._reduce()

    # Memory

    def _open_kernel(self) -> None:
        """Nests a reduction outside of all kernels in a kernel of one block."""
        position = self.reduction.outermost_loop
        if any(thread_axis_of(op) is not None for op in ancestors(position)):
            return
        builder = builder_before_expressions(position)
        kernel = builder.insert(ForOp("bx", 0, 1, i32, kind="thread_binding", thread=BLOCK_AXES[0]))
        for op in with_expressions(position):
            op.detach()
            kernel.body.block.add_op(op)

    def _allocate(self) -> None:
        rows = [constant_extent(loop) for loop in self.reduction.rows]
        teams = [_low(loop) + constant_extent(loop) for loop in self.reduction.team]
        builder, function = builder_before_expressions(self.reduction.outermost_loop), function_of(self.block)

        def allocate(buffer: SSAValue, what: str, shape: Sequence[int], scope: str) -> SSAValue:
            name = fresh_buffer_name(function, f"{buffer_name(buffer)}_{what}")
            return builder.insert(AllocBufferOp(name, _element(buffer), shape, space=memory_space(scope))).buffer

        buffers = [a.buffer for a in self.accumulators]
        self.parts = [allocate(b, "part", rows or [1], LOCAL) for b in buffers]
        self.others = [allocate(b, "other", [1], LOCAL) for b in buffers] if self.lanes.count > 1 else []
        number = _ceildiv(self.count, self.lanes.count)
        self.shared = [allocate(b, "parts", [*rows, number, *teams], "shared") for b in buffers]

    def _result_index(self, builder: TirBuilder, known: Values) -> list[SSAValue]:
        """The index of this result among the partial results of the thread."""
        return [_iteration(r, builder, known) for r in self.reduction.rows]

    def _private_index(self, builder: TirBuilder, known: Values) -> list[SSAValue]:
        """The index of a result in the private memory of a thread."""
        return self._result_index(builder, known) or [builder.const(0, "int32")]

    def _shared_index(self, builder: TirBuilder, known: Values, number: SSAValue) -> list[SSAValue]:
        """The index of a partial result in shared memory, where threads with other results are neighbours."""
        team = [known.get(loop.variable, loop.variable) for loop in self.reduction.team]
        return [*self._result_index(builder, known), number, *team]

    def _thread(self, builder: TirBuilder, known: Values) -> SSAValue:
        """The index of a thread among the threads that reduce to the same element."""
        number: SSAValue | int = 0
        for loop in self.reduction.threads:
            variable = _iteration(loop, builder, known)
            number = variable if number == 0 else builder.add(builder.mul(number, constant_extent(loop)), variable)
        assert isinstance(number, SSAValue)
        return number

    # Partial results

    def _nest(self, builder: TirBuilder) -> tuple[TirBuilder, dict[SSAValue, SSAValue], ForOp]:
        """Builds a copy of the loops over all results and threads; returns the builder inside, the new variables, and
        the outermost loop.
        """
        rows = self.reduction.rows
        threads = [loop for loop in self.reduction.chain if thread_axis_of(loop) is not None]
        known: dict[SSAValue, SSAValue] = {}
        loops: list[ForOp] = []
        for loop in (*rows, *threads):
            thread = thread_axis_of(loop)
            low, extent, type = _low(loop), constant_extent(loop), loop.variable.type
            kind = "serial" if thread is None else "thread_binding"
            loops.append(builder.insert(ForOp(loop_name(loop), low, extent, type, kind=kind, thread=thread)))
            known[loop.variable] = loops[-1].variable
            builder = TirBuilder(loops[-1].body.block, builder.location)
        return builder, known, loops[0]

    def _start(self) -> None:
        builder, known, _ = self._nest(builder_before_expressions(self.reduction.outermost_loop))
        for part, number, a in zip(self.parts, self.reduction.reducer.identity(), self.accumulators, strict=True):
            builder.store(builder.const(number, a.dtype), part, self._private_index(builder, known))

    def _reduce(self) -> None:
        """Redirects the reduction of the block to the private accumulators."""
        parts = {a.buffer: part for a, part in zip(self.accumulators, self.parts, strict=True)}
        for op in list(self.block.walk()):
            if not isinstance(op, LoadOp | StoreOp) or op.buffer not in parts:
                continue
            builder = TirBuilder(InsertPoint.before(op), op.location)
            indices = self._private_index(builder, {})
            redirect_access(op, parts[op.buffer], indices)
        renew_accesses([self.block])

    # The tree

    def _add_up(self, plan: InitPlan) -> None:
        """Emits the tree over the threads after the reduction, and the store of the result."""
        position = self.reduction.outermost_loop
        builder, known, nest = self._nest(TirBuilder(InsertPoint.after(position), self.block.location))
        if self.lanes.count > 1:
            self._add_up_lanes(builder, known)
        else:
            self._write_parts(builder, known, self._thread(builder, known))
            for count, half in _halves(self.count):
                self._halve(builder, known, count, half)
        self._write_result(plan, nest)

    def _add_up_lanes(self, builder: TirBuilder, known: Values) -> None:
        """Emits reductions within warps, then reductions of the partial results of all warps by the first threads."""
        alive = self.count
        while alive > 1:
            width = min(self.lanes.count, alive)
            for count, half in _halves(width):
                self._shuffle(builder, known, alive, width, count, half)
            left = _ceildiv(alive, width)
            number = self._thread(builder, known)
            first = builder.binary("eq", builder.binary("floormod", number, width), 0)
            if left == 1:
                first = builder.binary("eq", number, 0)
            elif alive < self.count:
                first = builder.binary("and", first, builder.binary("lt", number, alive))
            with builder.at(builder.insert(IfOp(first)).then.block):
                number = self._thread(builder, known)
                part = builder.binary("floordiv", number, width) if left > 1 else builder.const(0, "int32")
                self._write_parts(builder, known, part)
            if left > 1:
                self._read_parts(builder, known, left)
            alive = left

    def _shuffle(self, builder: TirBuilder, known: Values, alive: int, width: int, count: int, half: int) -> None:
        """Combines the values of the first `count` of each `width` lanes with the values of the lanes at offset `half`.

        alive: the number of threads with a value. Other lanes combine as well where no later step uses their values;
        but not with several accumulators, which are one statement: all values are computed before any value is stored.
        """
        mine = self._private_index(builder, known)
        zero = [builder.const(0, "int32")]
        for part, other in zip(self.parts, self.others, strict=True):
            value = shuffle_down(builder, builder.load(part, mine), half * self.lanes.stride)
            builder.store(value, other, zero)
        number = self._thread(builder, known)
        conditions: list[SSAValue] = []
        if count < half or len(self.parts) > 1:
            lane = number if width == alive else builder.binary("floormod", number, width)
            conditions.append(builder.binary("lt", lane, count))
        if alive % width:
            conditions.append(builder.binary("lt", builder.add(number, half), alive))
        if conditions:
            branch = builder.insert(IfOp(builder.conjunction(conditions)))
            builder = TirBuilder(branch.then.block, builder.location)
        values = self.reduction.reducer.combine(
            builder,
            [builder.load(part, self._private_index(builder, known)) for part in self.parts],
            [builder.load(other, [builder.const(0, "int32")]) for other in self.others],
        )
        for value, part in zip(values, self.parts, strict=True):
            builder.store(value, part, self._private_index(builder, known))

    def _write_parts(self, builder: TirBuilder, known: Values, number: SSAValue) -> None:
        for part, shared in zip(self.parts, self.shared, strict=True):
            value = builder.load(part, self._private_index(builder, known))
            builder.store(value, shared, self._shared_index(builder, known, number))

    def _read_parts(self, builder: TirBuilder, known: Values, count: int) -> None:
        """Loads a partial result into each of the first `count` threads."""
        guard = builder.insert(IfOp(builder.binary("lt", self._thread(builder, known), count)))
        with builder.at(guard.then.block):
            for part, shared in zip(self.parts, self.shared, strict=True):
                value = builder.load(shared, self._shared_index(builder, known, self._thread(builder, known)))
                builder.store(value, part, self._private_index(builder, known))

    def _halve(self, builder: TirBuilder, known: Values, count: int, half: int) -> None:
        """Combines the partial results of the first `count` threads with the partial results at offset `half`."""
        condition = builder.binary("lt", self._thread(builder, known), count)
        guard = builder.insert(IfOp(condition))
        with builder.at(guard.then.block):
            number = self._thread(builder, known)
            mine, other = (self._shared_index(builder, known, each) for each in (number, builder.add(number, half)))
            values = self.reduction.reducer.combine(
                builder,
                [builder.load(shared, mine) for shared in self.shared],
                [builder.load(shared, other) for shared in self.shared],
            )
            for value, shared in zip(values, self.shared, strict=True):
                builder.store(value, shared, mine)

    def _write_result(self, plan: InitPlan, behind: ForOp) -> None:
        """Moves the init after the tree, where it stores its value combined with the result of the threads."""
        name = fresh_block_name(function_of(self.block), f"{block_name(self.block)}_result")
        taken = build_init_nest(plan, name)
        point = InsertPoint.after(behind)
        for op in with_expressions(taken.outermost):
            op.detach()
            Rewriter.insert_op(op, point)
        builder = TirBuilder(taken.block.body.block, self.block.location)
        analyzer = Analyzer()
        fixed = {v: export(analyzer, lin, builder, v.type) for v, lin in plan.fixed.items()}
        indices = self._shared_index(builder, {**fixed, **taken.loops}, builder.const(0, "int32"))
        stores = {op.buffer: op for op in find_ops(taken.block, StoreOp)}
        first = [stores[a.buffer] for a in self.accumulators]
        start = [store.value for store in first]
        for n, store in enumerate(first):
            values = [builder.load(shared, indices) for shared in self.shared]
            values = self.reduction.reducer.combine(builder, start, values)
            builder.store(values[n], store.buffer, store.indices)
        for store in first:
            store.detach()
            store.erase()
        treeify(taken.block)
        renew_accesses([taken.block])


def _halves(count: int) -> Iterator[tuple[int, int]]:
    """The (active threads, offset) of each step of a binary-tree reduction of `count` values."""
    while count > 1:
        half = _ceildiv(count, 2)
        yield count - half, half
        count = half


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def _element(buffer: SSAValue) -> Attribute:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.element_type


def _low(loop: ForOp) -> int:
    low = loop.mixed_bounds[0]
    assert isinstance(low, int)
    return low


def _iteration(loop: ForOp, builder: TirBuilder, known: Values) -> SSAValue:
    """The index of the current iteration of a loop, from 0."""
    variable = known.get(loop.variable, loop.variable)
    return variable if _low(loop) == 0 else builder.sub(variable, _low(loop))
