"""The module `tvm.script.ir_builder.tir`: frames of functions on buffers, their statements, and expressions.

Other names are those of `tvm.tir` and the data types: `T.exp(x)`, `T.int32(1)`, `T.int32()` for a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Operation

from ....analysis.regions.access_regions import infer_accesses
from ....core.dtypes import parse_dtype
from ....core.errors import PassError
from ....dialects.tir import BlockOp, FuncOp
from ....expressions.axes import IterVar as Axis
from ....expressions.axes import Range
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import ExternCall
from ....expressions.expr import (
    ExprLike,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    as_condition,
    as_expr,
    cast,
    const,
    promote_operands,
)
from ....expressions.statements import BufferElement
from .. import tir
from ..absent import report_absent
from ..ir.module import PrimFunc
from ..nodes import declarations
from ..nodes.blocks import Block, BlockRealize, MatchBufferRegion, memory_of
from ..nodes.expr import Broadcast, BufferLoad, BufferRegion, PointerVar, Ramp
from ..nodes.stmt import Allocate as AllocateNode
from ..nodes.stmt import (
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Stmt,
)
from ..nodes.stmt import LetStmt as LetNode
from ..nodes.stmt import (
    While as WhileNode,
)
from .base import BuilderError, Frame, IRBuilder, StatementFrame, around, innermost
from .ir import IRModuleFrame

DETECT = "tir.script_parsing_detect_access"
"""The annotation of a block whose regions follow from its body: 1 for those it reads, 2 for those it writes."""

# Functions


class PrimFuncFrame(Frame):
    """The parameters, buffers and statements of a function."""

    def __init__(self, is_private: bool):
        super().__init__()
        self.is_private = is_private
        self.name: str | None = None
        self.params: list[Any] = []
        self.buffers: dict[Any, DeclaredBuffer] = {}
        self.memory: list[DeclaredBuffer] = []
        self.attrs: dict[str, Any] = {}
        self.ret_type: Any = None

    def close(self, builder: IRBuilder) -> None:
        body = self.body
        for buffer in reversed(self.memory):
            body = memory_of(buffer, body)
        named = {} if self.name is None or self.is_private else {"global_symbol": self.name}
        func = PrimFunc(self.params, body, self.ret_type, self.buffers, {**named, **self.attrs})
        if _detect_accesses(func.op):
            (op,) = (each for each in func.op.walk() if isinstance(each, FuncOp))
            func = PrimFunc(op)
        frame = around(IRModuleFrame)
        if frame is None:
            builder.add(func)
        elif self.name is None:
            raise BuilderError("a function of a module without a name: expected T.func_name")
        else:
            frame.functions[self.name] = func


def _detect_accesses(root: Operation) -> bool:
    """Declares the regions of the blocks that have the annotation `DETECT`, inner blocks first. True if there are any.
    BuilderError for a block whose regions do not follow from its body."""
    blocks = [op for op in root.walk(reverse=True) if isinstance(op, BlockOp)]
    found = False
    for block in blocks:
        annotations = {} if block.annotations is None else dict(block.annotations.data)
        mask = annotations.pop(DETECT, None)
        if mask is None:
            continue
        found = True
        block.annotations = DictionaryAttr(annotations) if annotations else None
        kinds = [kind for bit, kind in ((1, "reads"), (2, "writes")) if mask.value.data & bit]  # pyright: ignore
        try:
            infer_accesses(block, kinds)
        except PassError as error:
            raise BuilderError(f"block {block.block_name.data}: {error}; write T.reads and T.writes") from None
    return found


def prim_func(is_private: bool = False) -> PrimFuncFrame:
    """The frame of a function."""
    return PrimFuncFrame(is_private)


def arg(name: str, obj: Any) -> Any:
    """A parameter: a variable or a buffer, which gets the name."""
    innermost(PrimFuncFrame, f"arg {name}").params.append(obj)
    return IRBuilder.name(name, obj)


def func_name(name: str) -> None:
    """The name of the function."""
    innermost(PrimFuncFrame, "func_name").name = name


def func_attr(attrs: dict[str, Any]) -> None:
    """The attributes of the function."""
    innermost(PrimFuncFrame, "func_attr").attrs.update(attrs)


def func_ret(ret_type: Any) -> Any:
    """The type of the result."""
    innermost(PrimFuncFrame, "func_ret").ret_type = ret_type
    return ret_type


def match_buffer(param: Any, shape: Any = None, dtype: str = "float32", *layout: Any, **named: Any) -> DeclaredBuffer:
    """The buffer of a parameter, or a buffer that is a region of another one. layout, named: the further arguments of
    `buffer`. BuilderError for another object."""
    source = _region(param)
    if source is not None and shape is None:
        shape = [each.extent for each in source.region]
    made = buffer(shape, dtype, *layout, **named)
    if source is not None:
        innermost(BlockFrame, "match_buffer of a region").views.append(MatchBufferRegion(made, source))
        return made
    frame = around(PrimFuncFrame)
    if frame is None or param not in frame.params:
        raise BuilderError(f"match_buffer of {param!r}, expected a parameter of the function or a region")
    frame.buffers[param] = made
    return made


def alloc_buffer(shape: Any, dtype: str = "float32", *layout: Any, **named: Any) -> DeclaredBuffer:
    """The memory of the block around, or of the function. layout, named: the further arguments of `buffer`.
    BuilderError elsewhere."""
    made = buffer(shape, dtype, *layout, **named)
    frame = IRBuilder.current().frames[-1:]
    if not frame or not isinstance(frame[0], BlockFrame | PrimFuncFrame):
        raise BuilderError("alloc_buffer: expected a block or a function around it")
    frame[0].memory.append(made)
    return made


# Blocks


class BlockFrame(Frame):
    """The axes, regions, memory and statements of a block."""

    def __init__(self, name: str, no_realize: bool):
        super().__init__()
        self.name, self.no_realize = name, no_realize
        self.axes: list[Axis] = []
        self.bindings: list[PrimExpr] = []
        self.predicate: PrimExpr | None = None
        self.regions: dict[str, list[BufferRegion]] = {}
        self.init: Stmt | None = None
        self.memory: list[DeclaredBuffer] = []
        self.views: list[MatchBufferRegion] = []
        self.annotations: dict[str, Any] = {}

    def state(self, what: str, regions: Sequence[Any]) -> None:
        """States the regions that the block reads or writes. BuilderError for a second statement."""
        if what in self.regions:
            raise BuilderError(f"block {self.name}: a second list of {what}")
        flat = [inner for each in regions for inner in (each if isinstance(each, list | tuple) else [each])]  # pyright: ignore[reportUnknownVariableType]
        found = [_region(each) for each in flat]
        if None in found:
            raise BuilderError(f"block {self.name}: {what} of {flat!r}, expected regions of buffers")
        self.regions[what] = [each for each in found if each is not None]

    def close(self, builder: IRBuilder) -> None:
        mask = sum(bit for bit, kind in ((1, "reads"), (2, "writes")) if kind not in self.regions)
        annotations = {**self.annotations, **({DETECT: const(mask, "int64")} if mask else {})}
        block = Block(
            self.axes,
            self.regions.get("reads", ()),
            self.regions.get("writes", ()),
            self.name,
            self.body,
            self.init,
            self.memory,
            self.views,
            annotations,
        )
        if self.no_realize:
            builder.add(block)
        else:
            builder.add(BlockRealize(self.bindings, True if self.predicate is None else self.predicate, block))


class BlockInitFrame(Frame):
    """The statements before the first update of a reduction."""

    def close(self, builder: IRBuilder) -> None:
        frame = innermost(BlockFrame, "init")
        if frame.init is not None:
            raise BuilderError(f"block {frame.name}: a second init")
        frame.init = self.body


def _region(value: Any) -> BufferRegion | None:
    """The region of an element or a region of a buffer; None for another object."""
    if isinstance(value, BufferRegion):
        return value
    if isinstance(value, BufferElement | BufferLoad):
        return BufferRegion(value.buffer, tuple(Range(each, const(1, each.dtype)) for each in value.indices))
    return None


def block(name: str = "", no_realize: bool = False) -> BlockFrame:
    """The frame of a block."""
    return BlockFrame(name, no_realize)


def init() -> BlockInitFrame:
    """The frame of the statements before the first update of a reduction."""
    return BlockInitFrame()


def where(predicate: ExprLike) -> None:
    """The condition under which the block runs. BuilderError for a second one."""
    frame = innermost(BlockFrame, "where")
    if frame.predicate is not None:
        raise BuilderError(f"block {frame.name}: a second condition")
    frame.predicate = as_condition(predicate)


def reads(*buffer_slices: Any) -> None:
    """The regions that the block reads: `T.reads(a[0:16, j], b[i])`."""
    innermost(BlockFrame, "reads").state("reads", buffer_slices)


def writes(*buffer_slices: Any) -> None:
    """The regions that the block writes."""
    innermost(BlockFrame, "writes").state("writes", buffer_slices)


def block_attr(attrs: dict[str, Any]) -> None:
    """The annotations of the block."""
    innermost(BlockFrame, "block_attr").annotations.update(attrs)


def _domain(dom: Any, dtype: str) -> Range:
    match dom:
        case Range():
            low, extent = dom.min, dom.extent
        case list() | tuple():
            low, end = promote_operands(*dom)  # pyright: ignore[reportUnknownArgumentType]
            extent = end - low
        case _:
            low, extent = as_expr(0), as_expr(dom)
    return Range(cast(dtype, low), cast(dtype, extent))


def _axis(kind: str) -> Callable[..., Var]:
    def declare(dom: Any, binding: ExprLike, dtype: str = "int32") -> Var:
        frame = innermost(BlockFrame, f"axis.{kind}")
        variable = Var("v", dtype)
        frame.axes.append(Axis(_domain(dom, dtype), variable, kind))
        frame.bindings.append(cast(dtype, binding))
        return variable

    declare.__doc__ = f"A {kind} axis of the block. dom: the number of its values, the first and the end, or a range."
    return declare


class axis:
    """The axes of a block."""

    spatial = staticmethod(_axis("spatial"))
    reduce = staticmethod(_axis("reduce"))
    scan = staticmethod(_axis("scan"))
    opaque = staticmethod(_axis("opaque"))
    S, R = spatial, reduce

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Var], dtype: str = "int32") -> Any:  # noqa: ARG004  as in TVM
        """Axes that are loops around, of their data types: `vi, vk = T.axis.remap("SR", [i, k])`. BuilderError for
        another variable."""
        loops = {
            variable: domain
            for frame in IRBuilder.current().frames
            if isinstance(frame, ForFrame)
            for variable, domain in zip(frame.variables, frame.domains, strict=True)
        }
        for each in bindings:
            if each not in loops:
                raise BuilderError(f"axis.remap: {each!r}, expected the variable of a loop around the block")
        declare = {"S": axis.spatial, "R": axis.reduce}
        found = [declare[kind](loops[each], each, each.dtype) for kind, each in zip(kinds, bindings, strict=True)]
        return found[0] if len(found) == 1 else found


# Loops


class ForFrame(Frame):
    """Loops, one inside of the other."""

    def __init__(self, domains: Sequence[Range], kind: ForKind, thread: str | None, annotations: dict[str, Any] | None):
        self.domains = list(domains)
        self.variables = [Var("v", domain.extent.dtype) for domain in domains]
        self._kind, self._thread, self._annotations = kind, thread, annotations
        super().__init__(self.variables[0] if len(self.variables) == 1 else self.variables)

    def close(self, builder: IRBuilder) -> None:
        body = self.body
        for variable, domain in reversed(list(zip(self.variables, self.domains, strict=True))):
            body = For(variable, domain.min, domain.extent, self._kind, body, self._thread, self._annotations)
        builder.add(body)


def _loop(start: Any, stop: Any, kind: ForKind, annotations: dict[str, Any] | None, thread: str | None = None) -> Frame:
    low, end = promote_operands(*((0, start) if stop is None else (start, stop)))
    is_number = isinstance(low, IntImm) and isinstance(end, IntImm)
    extent = const(end.value - low.value, end.dtype) if is_number else end if stop is None else end - low  # pyright: ignore
    return ForFrame([Range(low, extent)], kind, thread, annotations)


def serial(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> Frame:
    """A loop over `[start, stop)`, or `[0, start)`."""
    return _loop(start, stop, ForKind.SERIAL, annotations)


def parallel(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> Frame:
    """A loop whose iterations run in parallel."""
    return _loop(start, stop, ForKind.PARALLEL, annotations)


def vectorized(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> Frame:
    """A loop whose iterations are lanes of a vector."""
    return _loop(start, stop, ForKind.VECTORIZED, annotations)


def unroll(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> Frame:
    """A loop whose iterations are written one after the other."""
    return _loop(start, stop, ForKind.UNROLLED, annotations)


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: dict[str, Any] | None = None
) -> Frame:
    """A loop over the threads of an axis of a GPU. BuilderError without the name of the axis."""
    if isinstance(stop, str) and thread is None:
        stop, thread = None, stop
    if thread is None:
        raise BuilderError("thread_binding: expected the name of an axis of threads")
    return _loop(start, stop, ForKind.THREAD_BINDING, annotations, thread)


def grid(*extents: Any) -> Frame:
    """Loops from 0, one inside of the other: `with T.grid(8, 8) as (i, j)`."""
    numbers = [as_expr(extent) for extent in extents]
    return ForFrame([Range(const(0, each.dtype), each) for each in numbers], ForKind.SERIAL, None, None)


# Other statements


class IfFrame(Frame):
    """A branch, of `T.Then` and `T.Else`."""

    def __init__(self, condition: ExprLike):
        super().__init__()
        self.condition = as_condition(condition)
        self.then: Stmt | None = None
        self.orelse: Stmt | None = None

    def add(self, made: Any) -> None:
        raise BuilderError(f"{made!r} in a branch, expected T.Then and T.Else")

    def close(self, builder: IRBuilder) -> None:
        if self.then is None:
            raise BuilderError("a branch without T.Then")
        builder.add(IfThenElse(self.condition, self.then, self.orelse))


class CaseFrame(Frame):
    """One of the two cases of a branch."""

    def __init__(self, field: str):
        super().__init__()
        self._field = field

    def close(self, builder: IRBuilder) -> None:
        frame = innermost(IfFrame, self._field)
        if getattr(frame, self._field) is not None:
            raise BuilderError(f"a second case {self._field} of a branch")
        setattr(frame, self._field, self.body)


def If(condition: ExprLike) -> Frame:
    """A branch."""
    return IfFrame(condition)


def Then() -> Frame:
    """The case of a branch where its condition holds."""
    return CaseFrame("then")


def Else() -> Frame:
    """The case of a branch where its condition does not hold."""
    return CaseFrame("orelse")


def While(condition: ExprLike) -> Frame:
    """A loop that runs while a condition holds."""
    return StatementFrame(lambda body: WhileNode(condition, body))


def Assert(condition: ExprLike, message: str) -> Frame:
    """A check before statements."""
    return StatementFrame(lambda body: AssertStmt(condition, message, body))


def LetStmt(value: Any, type_annotation: Any = None, *, var: Var | None = None) -> Frame:
    """A variable with a value. var: the variable, by default a new one."""
    given = as_expr(value)
    dtype = given.dtype if type_annotation is None else getattr(type_annotation, "dtype", type_annotation)
    variable = Var("v", dtype) if var is None else var
    return StatementFrame(lambda body: LetNode(variable, given, body), variable)


def let(v: Var, value: Any, body: Any = None) -> Any:
    """A variable with a value in a body, or in the statements of a frame."""
    if body is None:
        return LetStmt(value, var=v)
    return LetNode(v, value, body) if isinstance(body, Stmt) else tir.Let(v, value, body)


def Let(expr: Any, where: dict[Var, Any]) -> Any:
    """An expression with a value in place of a variable."""
    ((variable, value),) = where.items()
    return tir.Let(variable, value, expr)


def allocate(
    extents: Sequence[Any],
    dtype: str,
    scope: str = "global",
    condition: Any = None,
    annotations: dict[str, Any] | None = None,
) -> Frame:
    """Memory; the context is the variable of its address."""
    pointer = PointerVar("v", dtype, scope)
    holds = True if condition is None else condition
    return StatementFrame(lambda body: AllocateNode(pointer, dtype, extents, holds, body, annotations), pointer)


def allocate_const(data: Any, dtype: str, extents: Sequence[Any], annotations: dict[str, Any] | None = None) -> Frame:
    """Memory that contains a constant array; the context is the variable of its address."""
    pointer = PointerVar("v", dtype, "global")
    values = _array(data, dtype, extents)
    return StatementFrame(lambda body: AllocateConst(pointer, dtype, extents, values, body, annotations), pointer)


def _array(data: Any, dtype: str, extents: Sequence[Any]) -> Any:
    # lazy: numpy is used for constants alone
    import numpy as np

    return np.asarray(data, dtype).reshape([int(each) for each in extents])


def decl_buffer(shape: Any, dtype: str = "float32", data: Any = None, *layout: Any, **named: Any) -> Frame:
    """A buffer on the memory of an address, by default on memory of its own; the context is the buffer. layout, named:
    the further arguments of `buffer`."""
    made = buffer(shape, dtype, data, *layout, **named)

    def declare(body: Stmt) -> Stmt:
        inner = DeclBuffer(made, body)
        return inner if data is not None else AllocateNode(made.data, dtype, made.shape, True, inner)

    return StatementFrame(declare, made)


def attr(node: Any, attr_key: str, value: Any) -> Frame:
    """Statements with an attribute."""
    return StatementFrame(lambda body: AttrStmt(node, attr_key, value, body))


def env_thread(thread_tag: str) -> Axis:
    """An axis of the threads of a GPU, for `launch_thread`."""
    return Axis(None, Var("v", "int32"), "thread", thread_tag)


def launch_thread(thread: Axis | str, extent: Any) -> Frame:
    """Statements that each thread of an axis runs; the context is the variable of the axis."""
    chosen = env_thread(thread) if isinstance(thread, str) else thread
    key = "virtual_thread" if chosen.thread_tag == "vthread" else "thread_extent"
    return StatementFrame(lambda body: AttrStmt(chosen, key, extent, body), chosen.var)


def buffer_store(buffer: DeclaredBuffer, value: Any, indices: Sequence[Any], predicate: Any = None) -> None:
    """A store to an element of a buffer. BuilderError for a predicate: expected a branch."""
    if predicate is not None:
        raise BuilderError(f"buffer_store to {buffer.name}: a predicate, expected T.If around it")
    places = [_place(each) for each in indices]
    IRBuilder.current().add(BufferStore(buffer, value, places))


def _place(index: Any) -> Any:
    """An index; a slice as a vector."""
    if not isinstance(index, slice):
        return index
    step = 1 if index.step is None else index.step
    count, rest = divmod(index.stop - index.start, step)
    if rest or count < 1:
        raise BuilderError(f"index {index}: expected a multiple of the step")
    return index.start if count == 1 else Ramp(index.start, step, count)


def evaluate(value: Any) -> None:
    """An expression or a call, for its effect."""
    made = StringImm(value) if isinstance(value, str) else value
    IRBuilder.current().add(Evaluate(made if isinstance(made, ExternCall) else as_expr(made)))


# Expressions


def _word_of(dtype: str) -> Callable[..., Any]:
    """The word of a data type: a number of the type, or a variable without a number."""

    def word(expr: Any = None, *, is_size_var: bool = False) -> Any:
        if expr is None:
            return (tir.SizeVar if is_size_var else Var)("v", dtype)
        return cast(dtype, float(expr) if isinstance(expr, str) else expr)

    word.__name__ = dtype
    return word


def handle(dtype: str | None = None, storage_scope: str = "global", *, is_size_var: bool = False) -> Var:
    """A variable for an address. dtype: of the elements there.  is_size_var: ignored."""
    return PointerVar("v", dtype, storage_scope if dtype is not None else "")


def ptr(dtype: str, storage_scope: str = "global", is_size_var: bool = False) -> Var:
    """A variable for the address of elements of a data type."""
    return handle(dtype, storage_scope)


buffer_var = ptr


def var(dtype: str, name: str = "") -> Var:
    """A variable."""
    return PointerVar(name) if dtype == "handle" else Var(name, dtype)


def buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> DeclaredBuffer:
    """A buffer, for `T.arg`."""
    named = [Var(each, "int32") if isinstance(each, str) else each for each in strides or ()]
    return declarations.decl_buffer(
        shape, dtype, "buffer", data, named, elem_offset, scope, align, offset_factor, buffer_type, axis_separators
    )


Buffer = buffer_decl = buffer


class meta_var:
    """A value of Python, which the builder does not record."""

    def __init__(self, value: Any):
        self.value = value

    def __iter__(self) -> Any:
        return (meta_var(each) for each in self.value)


def ramp(base: Any, stride: Any, lanes: Any) -> PrimExpr:
    """The vector `base, base + stride, ...`."""
    return Ramp(base, stride, lanes)


def broadcast(value: Any, lanes: Any) -> PrimExpr:
    """A vector of equal lanes."""
    return Broadcast(value, lanes)


def min(a: Any, b: Any) -> PrimExpr:
    """The smaller of two numbers."""
    return tir.Min(*promote_operands(a, b))


def max(a: Any, b: Any) -> PrimExpr:
    """The larger of two numbers."""
    return tir.Max(*promote_operands(a, b))


def iter_var(v: Var | str, dom: Any, iter_type: str, thread_tag: str) -> Axis:
    """An axis. iter_type: `DataPar`, `ThreadIndex`, `CommReduce`, `Ordered` or `Opaque`."""
    return tir.IterVar(dom, v, getattr(tir.IterVar, iter_type), thread_tag)


def boolean(expr: Any = None, is_size_var: bool = False) -> Any:
    """A condition, or a variable for one."""
    return _word_of("bool")(expr, is_size_var=is_size_var)


_absent = report_absent("tvm.script.ir_builder.tir")


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        try:
            return _word_of(parse_dtype(name).name)
        except ValueError:
            pass
        if name in tir.__all__:
            return getattr(tir, name)
    return _absent(name)


__all__ = [
    "Assert", "Buffer", "Else", "If", "Let", "LetStmt", "Then", "While", "alloc_buffer", "allocate",
    "allocate_const", "arg", "attr", "axis", "block", "block_attr", "boolean", "broadcast", "buffer", "buffer_decl",
    "buffer_store", "buffer_var", "decl_buffer", "env_thread", "evaluate", "func_attr", "func_name", "func_ret",
    "grid", "handle", "init", "iter_var", "launch_thread", "let", "match_buffer", "max", "meta_var", "min",
    "parallel", "prim_func", "ptr", "ramp", "reads", "serial", "thread_binding", "unroll", "var", "vectorized",
    "where", "writes",
]  # fmt: skip
