"""Random statements without undefined behaviour, built with `TirBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, StringAttr, TensorType, i32
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.regions.access_regions import infer_accesses
from ...core.dtypes import DType, dtype_of, mlir_type, parse_dtype
from ...dialects.tir import (
    CONCURRENT_KINDS,
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    AssertOp,
    AttrOp,
    Axis,
    BlockOp,
    BufferDataOp,
    CallOp,
    DeclBufferOp,
    EvaluateOp,
    ForOp,
    FuncOp,
    HandleType,
    IfOp,
    InitOp,
    LaunchThreadOp,
    MatchRegionOp,
    Mixed,
    PrintOp,
    SymbolOp,
    TirBuilder,
    WhileOp,
    YieldOp,
)
from .choices import Choices, flag, pick
from .environment import BoundedInteger, Budget, Environment, Features, Slot
from .expressions import Expressions

_INT32 = parse_dtype("int32")
_BOOL = parse_dtype("bool")
_EXTENTS = (4, 1, 3, 5, 7, 2, 8, 0)
_LANES = (4, 2, 8)
_THREADS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")
_DEEPEST = 5
_MOST_RUNS = 2000


class Statements:
    """Inserts random statements at the insertion point of its builder, which is in the body of a function.

    functions: the functions that may be called.
    """

    def __init__(self, choices: Choices, builder: TirBuilder, features: Features, functions: Sequence[FuncOp] = ()):
        self.choices, self.builder, self.features, self.functions = choices, builder, features, functions
        self.entry = builder.point.block
        self.expressions = Expressions(choices, builder, features)
        self.budget = Budget(features.size)

    def _dtype(self) -> DType:
        return parse_dtype(pick(self.choices, self.features.dtypes))

    @contextmanager
    def _in(self, block: Block) -> Generator[None]:
        with self.builder.at(block):
            yield

    # Sequences

    def body(self, env: Environment, least: int = 1) -> None:
        """Inserts at least `least` statements."""
        count = max(least, self.choices.integer(1, 3))
        for _ in range(count):
            env = self.statement(env)

    def statement(self, env: Environment) -> Environment:
        """Inserts a statement; returns the environment after it."""
        if not self.budget.take() or env.depth >= _DEEPEST:
            self._store(env)
            return env
        makers: list[Callable[[Environment], Environment | None]] = [
            self._store,
            self._loop,
            self._loop,
            self._if,
            self._let,
            self._nest,
            self._lane_reduction,
            self._tiles,
            self._while,
            self._allocate,
            self._remark,
        ]
        if self.features.blocks:
            makers += [self._block, self._block, self._split_block]
        if self.features.vectors:
            makers += [self._vector_store]
            makers += [self._tail_store] if self.features.legacy else []
        if self.features.prints:
            makers += [self._print, self._print]
        if self.functions and not env.is_concurrent and not env.in_block:
            makers += [self._call]
        return pick(self.choices, makers)(env) or env

    def _store(self, env: Environment) -> None:
        slots = env.reachable(writable=True)
        if not slots:
            self.builder.insert(EvaluateOp(self.expressions.value(env, self._dtype(), 2)))
            return
        slot = pick(self.choices, slots)
        indices = self.expressions.indices(env, slot)
        self.builder.store(self.expressions.value(env, slot.dtype, 3), slot.buffer, indices)

    def _vector_store(self, env: Environment) -> None:
        lanes = pick(self.choices, _LANES)
        slots = [s for s in env.reachable(writable=True) if self.expressions.has_room(s, lanes)]
        if not slots:
            self._store(env)
            return
        slot = pick(self.choices, slots)
        indices = self.expressions.indices(env, slot, lanes)
        value = self.expressions.value(env, slot.dtype.with_lanes(lanes), 2)
        predicate = self.expressions.predicate(env, lanes)
        self.builder.store(value, slot.buffer, indices, predicate)

    def _tail_store(self, env: Environment) -> None:
        """A vector store whose predicate masks the lanes beyond the extent."""
        slots = [s for s in env.reachable(writable=True) if s.shape and self.expressions.has_room(s, 1)]
        if not slots:
            self._store(env)
            return
        slot, lanes = pick(self.choices, slots), pick(self.choices, _LANES)
        *outer, last = self.expressions.indices(env, slot)
        ramp = self.builder.ramp(last, self.builder.const(1, dtype_of(last.type)), lanes)
        extent = slot.shape[-1]
        assert isinstance(extent, int)
        inside = self.builder.binary("lt", ramp, self.builder.const(extent, dtype_of(ramp.type)))
        value = self.expressions.value(env, slot.dtype.with_lanes(lanes), 2)
        self.builder.store(value, slot.buffer, [*outer, ramp], inside)

    def _let(self, env: Environment) -> Environment:
        dtype = self._dtype()
        value = self.builder.let(self.budget.name("x"), self.expressions.value(env, dtype, 2))
        return env.with_value(value, dtype)

    def _remark(self, env: Environment) -> None:
        """A statement without an effect on results: an assertion or a pragma."""
        if flag(self.choices):
            holds = self.expressions.value(env, _BOOL, 1)
            always = self.builder.binary("or", holds, self.builder.const(True, _BOOL))
            self.builder.insert(AssertOp(always, "it always holds"))
            return
        key = pick(self.choices, ("pragma_unroll_explicit", "pragma_auto_unroll_max_step"))
        op = self.builder.insert(AttrOp(key, IntegerAttr(0, i32), IntegerAttr(16, i32)))
        with self._in(op.body.block):
            self.body(env.nested_environment())

    def _print(self, env: Environment) -> None:
        values = [self.expressions.value(env, self._dtype(), 2) for _ in range(self.choices.integer(0, 2))]
        self.builder.insert(PrintOp(" ".join([f"line {self.budget.name('p')}:", *("{}" for _ in values)]), values))

    def _if(self, env: Environment) -> None:
        op = self.builder.insert(IfOp(self.expressions.value(env, _BOOL, 2)))
        with self._in(op.then.block):
            self.body(env.nested_environment())
        if flag(self.choices):
            with self._in(op.orelse.block):
                self.body(env.nested_environment())

    def _while(self, env: Environment) -> None:
        """A `while` loop of at most three iterations."""
        name = self.budget.name("count")
        pointer = self.builder.insert(AllocateOp(f"{name}_data", [1], HandleType(mlir_type(_INT32)))).pointer
        cell = self.builder.insert(DeclBufferOp(name, pointer, mlir_type(_INT32), [1])).buffer
        self.builder.store(0, cell, [0])
        condition, body = Region(Block()), Region(Block())
        with self._in(condition.block):
            going = self.builder.binary("lt", self.builder.load(cell, [0]), self.choices.integer(0, 3))
            self.builder.insert(YieldOp(going))
        with self._in(body.block):
            self.body(env.nested_environment())
            self.builder.store(self.builder.add(self.builder.load(cell, [0]), 1), cell, [0])
        self.builder.insert(WhileOp(condition, body))

    # Loops

    def _extent(self, env: Environment) -> Mixed:
        sizes = [e for slot in env.slots for e in slot.shape]
        options: list[Mixed] = [*(e for e in sizes if isinstance(e, int)), *_EXTENTS]
        options += [e for e in sizes if not isinstance(e, int)]
        return pick(self.choices, [e for e in options if env.runs * _count(e) <= _MOST_RUNS] or [1])

    def _loop(self, env: Environment) -> None:
        kinds = ["serial", "unrolled", "parallel", "vectorized"]
        if self.features.threads:
            kinds.append("thread_binding")
        kind = pick(self.choices, kinds)
        extent = self._extent(env)
        if kind == "thread_binding" and flag(self.choices):
            self._launch(env, extent)
            return
        if kind == "unrolled" and not isinstance(extent, int):
            kind = "serial"
        if kind == "serial" and isinstance(extent, int) and flag(self.choices, 3):
            self._uneven_loop(env, extent)
            return
        with self._for(env, extent, kind) as inner:
            self.body(inner)

    def _launch(self, env: Environment, extent: Mixed) -> None:
        """A thread launch with a body of statements."""
        type = extent.type if isinstance(extent, SSAValue) else i32
        op = LaunchThreadOp(self.budget.name("t"), pick(self.choices, _THREADS), extent, type)
        self.builder.insert(op)
        with self._in(op.body.block):
            self.body(self._inside_loop(env, op.variable, extent, True))

    def _lane_reduction(self, env: Environment) -> None:
        """A vectorized loop whose iterations accumulate into one element: integers, so that their order has no
        effect."""
        slots = [s for s in env.reachable(writable=True) if not s.dtype.is_float and not s.dtype.is_bool]
        if not slots:
            self._store(env)
            return
        slot = pick(self.choices, slots)
        # an index of a reduction must not be computed in its loop from memory that is not the function's own
        indices = [self.builder.let(self.budget.name("f"), each) for each in self.expressions.indices(env, slot)]
        kept = [self._kept(each) for each in indices] if flag(self.choices, 3) else []
        others = replace(env, slots=tuple(s for s in env.slots if _root(s.buffer) is not _root(slot.buffer)))
        kind = pick(self.choices, ("add", "min", "max", "mul", "xor", "and", "or", "sub"))
        with ExitStack() as nest:
            if flag(self.choices):
                others = nest.enter_context(self._for(others, self.choices.integer(0, 3)))
            lanes: list[Mixed] = [4, 2, 5, 8, *(n for each in env.slots for n in each.shape if not isinstance(n, int))]
            inner = nest.enter_context(self._for(others, pick(self.choices, lanes), "vectorized"))
            if flag(self.choices, 4):
                branch = self.builder.insert(IfOp(self.expressions.value(inner, _BOOL, 1)))
                nest.enter_context(self._in(branch.then.block))
            value = self.expressions.value(inner, slot.dtype, 2)
            if kept:
                indices = [self.builder.load(buffer, [self.builder.const(0, i32)]) for buffer in kept]
            total = self.builder.binary(kind, self.builder.load(slot.buffer, indices), value)
            self.builder.store(total, slot.buffer, indices)

    def _kept(self, value: SSAValue) -> SSAValue:
        """A new buffer of one element, with a value."""
        buffer = self._buffer("K", value.type, (1,))
        self.builder.store(value, buffer, [self.builder.const(0, i32)])
        return buffer

    def _tiles(self, env: Environment) -> None:
        """A loop over the tiles of a symbolic extent, and one over the elements of a tile, with a condition."""
        extents = [n for slot in env.slots for n in slot.shape if isinstance(n, SSAValue)]
        if not extents or env.runs * _count(extents[0]) > _MOST_RUNS:
            self._store(env)
            return
        extent, tile = pick(self.choices, extents), pick(self.choices, (4, 2, 3, 8))
        count = self.builder.binary("floordiv", self.builder.add(extent, tile - 1), tile)
        with (
            self._for(env, count) as outer,
            self._for(outer, tile, pick(self.choices, ("serial", "unrolled"))) as inner,
        ):
            (o, t) = (env.numbers[-1].value for env in (outer, inner))
            index = self.builder.let(self.budget.name("j"), self.builder.add(self.builder.mul(o, tile), t))
            branch = self.builder.insert(IfOp(self.builder.binary("lt", index, extent)))
            with self._in(branch.then.block):
                self.body(inner.nested_environment().with_number(BoundedInteger(index, 0, 2**31 - 2, extent)))

    @contextmanager
    def _for(self, env: Environment, extent: Mixed, kind: str = "serial") -> Generator[Environment]:
        """A loop over [0, extent)."""
        type = extent.type if isinstance(extent, SSAValue) else i32
        thread = pick(self.choices, _THREADS) if kind == "thread_binding" else None
        annotations: dict[str, Attribute] = {"note": StringAttr("x")} if flag(self.choices, 8) else {}
        name = self.budget.name("i")
        op = self.builder.insert(ForOp(name, 0, extent, type, kind=kind, thread=thread, annotations=annotations))
        with self._in(op.body.block):
            yield self._inside_loop(env, op.variable, extent, kind in CONCURRENT_KINDS)

    def _inside_loop(self, env: Environment, variable: SSAValue, extent: Mixed, concurrent: bool) -> Environment:
        env = replace(env, runs=env.runs * max(_count(extent), 1))
        if isinstance(extent, int):
            inner = env.nested_environment().with_number(BoundedInteger(variable, 0, extent - 1))
        else:
            inner = env.nested_environment().with_number(BoundedInteger(variable, 0, 2**31 - 2, extent))
            inner = replace(inner, sizes=(*inner.sizes, extent))
        if not concurrent:
            return inner
        # A region of a buffer and the buffer itself would be partitioned in different ways.
        whole = [slot for slot in env.slots if not isinstance(slot.buffer.owner, MatchRegionOp)]
        slots = tuple(self._apart(slot, variable, extent) for slot in whole)
        return replace(inner, slots=slots, is_concurrent=True)

    def _apart(self, slot: Slot, variable: SSAValue, extent: Mixed) -> Slot:
        """A buffer in the iterations of a concurrent loop: each iteration accesses its own part, or the buffer is
        read-only."""
        free = [d for d, n in enumerate(slot.shape) if n == extent and slot.fixed_index(d) is None]
        if not slot.writable or not free:
            return replace(slot, writable=False)
        return replace(slot, fixed=(*slot.fixed, (pick(self.choices, free), variable)))

    def _uneven_loop(self, env: Environment, extent: int) -> None:
        """A loop with a nonzero minimum or a step other than 1."""
        low, step = self.choices.integer(0, 3), self.choices.integer(1, 3)
        dtype = pick(self.choices, ("int32", "int64"))
        op = ForOp(self.budget.name("k"), low, extent, mlir_type(dtype), step=step)
        self.builder.insert(op)
        with self._in(op.body.block):
            self.body(env.nested_environment().with_number(BoundedInteger(op.variable, low, low + extent - 1)))

    def _nest(self, env: Environment) -> None:
        """A loop nest that writes each element of a buffer."""
        slots = [s for s in env.slots if s.writable and env.runs * prod(map(_count, s.shape)) <= _MOST_RUNS]
        if not slots:
            self._store(env)
            return
        self.fill(env, pick(self.choices, slots))

    def fill(self, env: Environment, slot: Slot, depth: int = 2) -> None:
        """Writes every element of a buffer, without reads of it."""

        def level(env: Environment, d: int, indices: list[SSAValue]) -> None:
            if d == len(slot.shape):
                self.builder.store(self.expressions.value(env, slot.dtype, depth), slot.buffer, indices)
                return
            fixed = slot.fixed_index(d)
            if fixed is not None:
                level(env, d + 1, [*indices, fixed])
                return
            with self._for(env, slot.shape[d]) as inner:
                level(inner, d + 1, [*indices, inner.numbers[-1].value])

        level(env, 0, [])

    # Memory

    def _shape(self, env: Environment) -> tuple[Mixed, ...]:
        symbols = [n for slot in env.slots for n in slot.shape if not isinstance(n, int)]
        extents: list[Mixed] = [*_EXTENTS, *symbols]
        return tuple(pick(self.choices, extents) for _ in range(self.choices.integer(1, 2)))

    def _separators(self, rank: int) -> list[int]:
        """Axis separators for a number of dimensions, usually none."""
        count = self.choices.integer(1, 2) if flag(self.choices, 6) else 0
        return sorted(self.choices.integer(0, rank) for _ in range(count))

    def _constants(self, env: Environment) -> Environment:
        """A constant array."""
        dtype, count = parse_dtype(pick(self.choices, ("int32", "float32", "int8"))), self.choices.integer(1, 5)
        numbers = [self.choices.integer(-5, 9) for _ in range(count)]
        value = DenseIntOrFPElementsAttr.from_list(TensorType(mlir_type(dtype), [count]), numbers)  # pyright: ignore[reportArgumentType, reportCallIssue]
        name = self.budget.name("K")
        pointer = self.builder.insert(AllocateConstOp(f"{name}_data", value, HandleType(mlir_type(dtype)))).pointer
        buffer = self.builder.insert(DeclBufferOp(name, pointer, mlir_type(dtype), [count])).buffer
        return env.with_slot(Slot(buffer, (count,), dtype, writable=False))

    def _allocate(self, env: Environment) -> Environment:
        """An allocation of a pointer, and a buffer that views it."""
        if self.features.legacy and flag(self.choices, 4):
            return self._constants(env)
        dtype, shape = self._dtype(), self._shape(env)
        if not all(isinstance(n, int) for n in shape):
            shape = (4,)
        slot = Slot(self._buffer("T", mlir_type(dtype), shape, self._separators(len(shape))), shape, dtype)
        self.fill(env, slot, 1)
        return env.with_slot(slot)

    def _buffer(self, name: str, type: Attribute, shape: Sequence[Mixed], separators: Sequence[int] = ()) -> SSAValue:
        """Allocates a pointer, and declares a buffer that views it. type: of an element."""
        name = self.budget.name(name)
        pointer = self.builder.insert(AllocateOp(f"{name}_data", shape, HandleType(type))).pointer
        return self.builder.insert(DeclBufferOp(name, pointer, type, shape, axis_separators=separators)).buffer

    def allocations(self, env: Environment) -> Environment:
        """Allocates at most one buffer of a function or a block."""
        for _ in range(self.choices.integer(0, 1)):
            dtype, shape = self._dtype(), self._shape(env)
            separators = self._separators(len(shape))
            op = AllocBufferOp(self.budget.name("S"), mlir_type(dtype), shape, axis_separators=separators)
            self.builder.insert(op)
            slot = Slot(op.buffer, shape, dtype)
            self.fill(env, slot, 1)
            env = env.with_slot(slot)
        return env

    # Blocks

    def _block(self, env: Environment) -> None:
        """A block over numbers in scope, or over a loop of its own."""
        fixed = {value for slot in env.slots if slot.writable for _, value in slot.fixed}
        usable = [n for n in env.numbers if n.low >= 0]
        chosen = [n for n in usable if n.value in fixed or flag(self.choices)][-3:]
        missing = fixed - {n.value for n in chosen}
        chosen = [n for n in usable if n.value in missing] + chosen
        if not chosen:
            with self._for(env, self._extent(env)) as inner:
                self._block_of(inner, [inner.numbers[-1]], fixed)
        else:
            self._block_of(env, chosen, fixed)

    def _block_of(self, env: Environment, numbers: Sequence[BoundedInteger], fixed: set[SSAValue]) -> None:
        kinds = ["spatial" if n.value in fixed else pick(self.choices, _KINDS) for n in numbers]
        axes = [self._axis(n, kind) for n, kind in zip(numbers, kinds, strict=True)]
        predicate = self.expressions.value(env, _BOOL, 1) if flag(self.choices, 4) else None
        self._write_block(env, numbers, axes, predicate)

    def _axis(self, number: BoundedInteger, kind: str) -> Axis:
        extent: Mixed = number.high + 1 if number.below is None else number.below
        return Axis(self.budget.name("v"), kind, 0, extent, number.value)

    def _split_block(self, env: Environment) -> None:
        """A block whose loop is split by a factor that need not divide the extent."""
        slots = [s for s in env.slots if s.writable and s.shape and s.fixed_index(0) is None]
        extents = [s.shape[0] for s in slots if isinstance(s.shape[0], int)]
        if not extents or any(s.fixed for s in env.slots if s.writable):
            self._block(env)
            return
        extent, factor = pick(self.choices, extents), self.choices.integer(1, 4)
        with self._for(env, -(-extent // factor)) as outer, self._for(outer, factor) as inner:
            high, low = (n.value for n in inner.numbers[-2:])
            kind = pick(self.choices, ("spatial", "reduce"))
            position = self.builder.add(self.builder.mul(high, factor), low)
            axis = Axis(self.budget.name("v"), kind, 0, extent, position)
            bound = self.builder.add(self.builder.mul(high, factor), low)
            predicate = self.builder.binary("lt", bound, extent)
            self._write_block(inner, [BoundedInteger(position, 0, extent - 1)], [axis], predicate)

    def _write_block(
        self, env: Environment, numbers: Sequence[BoundedInteger], axes: Sequence[Axis], predicate: SSAValue | None
    ) -> None:
        annotations: dict[str, Attribute] = {"mark": IntegerAttr(1, i32)} if flag(self.choices, 8) else {}
        op = BlockOp(self.budget.name("B"), axes, predicate=predicate, annotations=annotations)
        self.builder.insert(op)
        inner = self._inside_block(env, op, numbers)
        with self._in(op.body.block):
            inner = self.allocations(inner)
            if any(a.kind == "reduce" for a in axes) and flag(self.choices):
                init = self.builder.insert(InitOp())
                with self._in(init.body.block):
                    self._store(self._without_reductions(inner, op))
            inner = self._region(inner) if flag(self.choices, 3) else inner
            self.body(inner)
        infer_accesses(op)

    def _inside_block(self, env: Environment, op: BlockOp, numbers: Sequence[BoundedInteger]) -> Environment:
        """The environment of the body of a block, with its axes in place of the loop variables bound to them."""
        renamed = {n.value: v for n, v in zip(numbers, op.variables, strict=True)}
        axes = tuple(replace(n, value=v) for n, v in zip(numbers, op.variables, strict=True))
        slots = tuple(
            replace(s, fixed=tuple((d, renamed[v]) for d, v in s.fixed))
            if all(v in renamed for _, v in s.fixed)
            else replace(s, writable=False, fixed=())
            for s in env.slots
        )
        slots = tuple(s for s, old in zip(slots, env.slots, strict=True) if s.writable or not old.fixed)
        seen = (*env.numbers[: env.outer_numbers], *axes)
        values = env.values[: env.outer_values]
        inner = replace(env.nested_environment(), numbers=seen, values=values, slots=slots)
        return replace(inner, outer_numbers=len(seen), outer_values=len(values), in_block=True)

    def _without_reductions(self, env: Environment, op: BlockOp) -> Environment:
        reductions = {v for a, v in zip(op.axes, op.variables, strict=True) if a.kind == "reduce"}
        return replace(env, numbers=tuple(n for n in env.numbers if n.value not in reductions))

    def _region(self, env: Environment) -> Environment:
        """A `match_buffer` of a region of a buffer, whose leading extents of 1 may be omitted."""
        slots = [s for s in env.slots if not s.fixed and all(isinstance(n, int) and n > 0 for n in s.shape)]
        if not slots:
            return env
        slot = pick(self.choices, slots)
        sizes = [n for n in slot.shape if isinstance(n, int)]
        omitted = self.choices.integer(0, len(sizes))
        extents = [1] * omitted + [self.choices.integer(1, n) for n in sizes[omitted:]]
        box = [(self.expressions.index(env, n - e + 1), e) for n, e in zip(sizes, extents, strict=True)]
        shape = extents[omitted:]
        strides = _static_strides(slot.buffer) if flag(self.choices) else None
        offset = 0 if strides is None or flag(self.choices) else self._offset_symbol()
        strides = strides and strides[omitted:]
        separators = self._separators(len(sizes))
        op = MatchRegionOp(
            self.budget.name("M"), slot.buffer, box, shape, strides=strides, offset=offset, axis_separators=separators
        )
        self.builder.insert(op)
        return env.with_slot(Slot(op.buffer, tuple(shape), slot.dtype, slot.writable))

    def _offset_symbol(self) -> SSAValue:
        """A new variable of the function, which a `match_buffer` binds to the offset of its region."""
        start = TirBuilder(InsertPoint.at_start(self.entry))
        return start.insert(SymbolOp(self.budget.name("offset"), mlir_type(_INT32))).result

    # Calls

    def _call(self, env: Environment) -> None:
        """A call of a function with disjoint buffers."""
        callee = pick(self.choices, self.functions)
        args: list[SSAValue] = []
        used: set[SSAValue] = set()
        for _, param in callee.params:
            slots = [s for s in env.slots if s.writable and not s.fixed and s.buffer.type == param.type]
            slots = [s for s in slots if _root(s.buffer) not in used]
            if not slots:
                self._store(env)
                return
            slot = pick(self.choices, slots)
            used.add(_root(slot.buffer))
            args.append(slot.buffer)
        self.builder.insert(CallOp(callee.sym_name.data, [self.builder.insert(BufferDataOp(a)).pointer for a in args]))


_KINDS = ("spatial", "reduce", "spatial", "reduce", "opaque", "scan")


def _count(extent: Mixed) -> int:
    """The approximate trip count of a loop."""
    return extent if isinstance(extent, int) else 8


def _static_strides(buffer: SSAValue) -> list[int] | None:
    """The strides of a buffer in elements, for a region without declared strides those of its source; None if one of
    them is dynamic."""
    assert isinstance(buffer.type, MemRefType)
    if isinstance(buffer.owner, MatchRegionOp) and buffer.owner.mixed_strides is None:
        source = _static_strides(buffer.owner.source)
        return source and source[len(source) - buffer.type.get_num_dims() :]
    strides = [stride for stride in buffer.type.get_strides() or (None,) if stride is not None]
    return strides if len(strides) == buffer.type.get_num_dims() else None


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer underlying a region."""
    while isinstance(buffer.owner, MatchRegionOp):
        buffer = buffer.owner.source
    return buffer
