"""Statements as a tree, modeled on TVM's: a declaration is visible in its `body`.

Nodes are immutable. Nodes read from the same op of a program are equal, so `op in loops` and dictionaries keyed by node
work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as Block_

from ....core.dtypes import mlir_type, parse_dtype
from ....dialects.tir import (
    AllocateConstOp,
    AllocateOp,
    AssertOp,
    AttrOp,
    DeclBufferOp,
    HandleType,
    LaunchThreadOp,
    WhileOp,
    YieldOp,
    memory_space,
)
from ....dialects.tir.annotations import annotation_value
from ....expressions.axes import IterVar, Range
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import BufferPointer, ExternCall
from ....expressions.errors import TeError
from ....expressions.expr import (
    ExprLike,
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    as_condition,
    as_expr,
    cast,
    const,
)
from ....expressions.statements import Statement, StatementConvertible
from ..former_names import former_names
from .expr import Buffer, ExternCallExpr, PointedBuffer, PointerVar, pointer_of, refuse_predicate


class ForKind(IntEnum):
    """The execution mode of the iterations of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


class Stmt(StatementConvertible):
    """A statement. underneath: the op from which the node was read, None for a node created in Python."""

    __slots__ = ("underneath",)

    FIELDS: ClassVar[tuple[str, ...]] = ()
    """The attributes that hold expressions and statements, or sequences of them, in execution order."""

    underneath: Operation | None
    span: ClassVar[None] = None
    """The place in a source text, which nodes lack: operations have locations."""

    def __init__(self) -> None:
        self.underneath = None

    def same_as(self, other: object) -> bool:
        """Whether both are the same node, or were read from the same op."""
        return self == other

    def asstatements(self) -> Sequence[Statement]:
        # lazy: conversions are written in terms of nodes
        from .conversion import statements_of

        return statements_of(self)

    def script(self, **options: Any) -> str:
        """The TVMScript. options: of TVM's printer, which the text does not depend on."""
        return str(self)

    def show(self, *style: Any, **options: Any) -> None:
        """Prints the TVMScript. style, options: of TVM's printer, which the text does not depend on."""
        print(self)

    def __str__(self) -> str:
        # lazy: conversions are written in terms of nodes
        from .construction import script_of

        return script_of(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Stmt) or type(self) is not type(other):
            return False
        return self.underneath is not None and self.underneath is other.underneath

    def __hash__(self) -> int:
        return id(self) if self.underneath is None else hash(self.underneath)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class For(Stmt):
    """A loop: `loop_var` starts at `min` and takes `extent` consecutive values. Until v0.7 the number of a device,
    which is ignored, preceded the body.
    """

    __slots__ = ("annotations", "body", "extent", "kind", "loop_var", "min", "thread_tag")
    FIELDS = ("min", "extent", "body")

    Serial, Parallel, Vectorized, Unrolled = (ForKind(n) for n in range(4))

    @former_names(min="min_val", kind="for_type")
    def __init__(
        self,
        loop_var: Var,
        min: ExprLike,
        extent: ExprLike,
        kind: ForKind | int,
        body: Stmt | int,
        thread_binding: str | IterVar | Stmt | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: None = None,
    ):
        """thread_binding: the axis of threads that the loop is bound to, or its tag.  annotations: the attributes."""
        super().__init__()
        if isinstance(body, int) and isinstance(thread_binding, Stmt):
            body, thread_binding = thread_binding, None
        thread_tag = thread_binding.thread_tag if isinstance(thread_binding, IterVar) else thread_binding
        if isinstance(thread_tag, Stmt):
            raise TeError(f"loop {loop_var.name}: two bodies")
        self.loop_var = loop_var
        self.min = cast(loop_var.dtype, min)
        self.extent = cast(loop_var.dtype, extent)
        self.kind = ForKind(kind)
        if not isinstance(body, Stmt):
            raise TeError(f"body of loop {loop_var.name}: {body!r}, expected a statement")
        if (self.kind is ForKind.THREAD_BINDING) != (thread_tag is not None):
            raise TeError(f"loop {loop_var.name} of kind {self.kind.name} with thread {thread_tag}")
        self.body = body
        self.thread_tag = thread_tag
        self.annotations = dict(annotations or {})

    @property
    def thread_binding(self) -> IterVar | None:
        """The axis of threads that the loop is bound to."""
        if self.thread_tag is None:
            return None
        return IterVar(Range(self.min, self.extent), Var("", self.loop_var.dtype), "thread", self.thread_tag)


class BufferStore(Stmt):
    """A store to an element of a buffer."""

    __slots__ = ("buffer", "indices", "value")
    FIELDS = ("value", "indices")
    predicate = None
    """The condition of the store: a store under a condition is another node."""

    def __init__(
        self,
        buffer: DeclaredBuffer,
        value: ExprLike,
        indices: Sequence[ExprLike],
        predicate: None = None,
        span: None = None,
    ):
        """predicate: TeError for a condition."""
        super().__init__()
        refuse_predicate("BufferStore", buffer, predicate)
        self.buffer = buffer
        self.indices = tuple(as_expr(index) for index in indices)
        if len(self.indices) != len(buffer.shape):
            raise TeError(f"{len(self.indices)} indices into buffer {buffer.name} of {len(buffer.shape)} dimensions")
        self.value = as_expr(value, buffer.data_type)
        if isinstance(self.value, IntImm | FloatImm) and self.value.data_type.scalar != buffer.data_type:
            self.value = cast(buffer.dtype, self.value)


class IfThenElse(Stmt):
    """A conditional statement; the else case is optional."""

    __slots__ = ("condition", "else_case", "then_case")
    FIELDS = ("condition", "then_case", "else_case")

    def __init__(self, condition: ExprLike, then_case: Stmt, else_case: Stmt | None = None, span: None = None):
        super().__init__()
        self.condition = as_condition(condition)
        self.then_case = then_case
        self.else_case = else_case


class LetStmt(Stmt):
    """A binding of a variable to a value in a body."""

    __slots__ = ("body", "value", "var")
    FIELDS = ("value", "body")

    def __init__(self, var: Var, value: ExprLike, body: Stmt, span: None = None):
        super().__init__()
        self.var = var
        self.value = cast(var.dtype, value)
        self.body = body


class SeqStmt(Stmt):
    """A sequence of statements."""

    __slots__ = ("seq",)
    FIELDS = ("seq",)

    def __init__(self, seq: Sequence[Stmt], span: None = None):
        super().__init__()
        self.seq = tuple(seq)

    def __len__(self) -> int:
        return len(self.seq)

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]


class Evaluate(Stmt):
    """An expression evaluated for its side effects."""

    __slots__ = ("value",)
    FIELDS = ("value",)

    def __init__(self, value: ExprLike | ExternCall, span: None = None):
        super().__init__()
        self.value = ExternCallExpr(value) if isinstance(value, ExternCall) else as_expr(value)


class Declaration(Stmt):
    """Memory or a view, visible in `body`: `tir.alloc_buffer`, `tir.allocate`, ... `name` is the op's name."""

    __slots__ = ("args", "body", "op")
    FIELDS = ("args", "body")

    def __init__(self, op: Operation, args: Sequence[PrimExpr], body: Stmt):
        super().__init__()
        self.op = op
        self.args = tuple(args)
        self.body = body

    @property
    def name(self) -> str:
        return self.op.name


class Allocate(Declaration):
    """Memory, visible in `body`.

    buffer: its buffer, None for a pointer.  buffer_var: the variable of its pointer.  dtype: of the elements.
    extents: of its dimensions.  scope: its memory.
    """

    __slots__ = ("buffer", "buffer_var", "dtype", "extents", "scope")

    buffer: DeclaredBuffer | None

    def __init__(
        self,
        buffer_var: Var | BufferPointer,
        dtype: str,
        extents: Sequence[ExprLike],
        condition: ExprLike,
        body: Stmt,
        annotations: object = None,
        span: None = None,
    ):
        """buffer_var: the variable of the pointer, or the `data` of a buffer.  annotations: ignored."""
        if isinstance(buffer_var, BufferPointer):
            buffer_var = pointer_of(buffer_var)
        sizes = [as_expr(extent) for extent in extents]
        holds = as_condition(condition)
        scope = buffer_var.scope if isinstance(buffer_var, PointerVar) else ""
        given = [] if isinstance(holds, IntImm) and holds.value else [holds]
        numbers, values = placeholders([*sizes, *given])
        type = HandleType(mlir_type(parse_dtype(dtype)), scope or "global")
        op = AllocateOp(buffer_var.name, numbers[: len(sizes)], type, condition=values[-1] if given else None)
        super().__init__(op, [each for each in (*sizes, *given) if not isinstance(each, IntImm)], body)
        self._set(None, buffer_var, dtype, sizes, scope or "global")

    def _set(
        self, buffer: DeclaredBuffer | None, buffer_var: Var, dtype: str, extents: Sequence[PrimExpr], scope: str
    ) -> None:
        self.buffer, self.buffer_var, self.dtype, self.extents, self.scope = (
            buffer, buffer_var, dtype, tuple(extents), scope,
        )  # fmt: skip

    @classmethod
    def of_op(
        cls,
        op: Operation,
        args: Sequence[PrimExpr],
        body: Stmt,
        buffer: DeclaredBuffer | None,
        buffer_var: Var,
        dtype: str,
        extents: Sequence[PrimExpr],
        scope: str,
    ) -> Allocate:
        """The node of an op."""
        node = cls.__new__(cls)
        Declaration.__init__(node, op, args, body)
        node._set(buffer, buffer_var, dtype, extents, scope)
        return node

    @property
    def condition(self) -> PrimExpr:
        """Whether the memory is needed."""
        condition = getattr(self.op, "condition", None)
        return const(True, "bool") if condition is None else self.args[-1]


class DeclBuffer(Declaration):
    """A buffer on existing memory, visible in `body`. buffer: the buffer."""

    __slots__ = ("buffer",)

    buffer: DeclaredBuffer

    def __init__(self, buffer: DeclaredBuffer, body: Stmt, span: None = None):
        """buffer: on the memory of a pointer, or on that of `Allocate(buffer.data, ...)` around the declaration."""
        pointer = buffer.pointer if isinstance(buffer, PointedBuffer) else pointer_of(buffer.data)
        shape, strides, offset, operands = layout_of(buffer)
        op = DeclBufferOp(
            buffer.name,
            placeholder_of(pointer),
            mlir_type(buffer.data_type),
            shape,
            strides=strides,
            offset=offset,
            space=memory_space(buffer.memory),
            axis_separators=buffer.axis_separators,
        )
        super().__init__(op, [pointer, *operands], body)
        self.buffer = buffer

    @classmethod
    def of_op(cls, op: Operation, args: Sequence[PrimExpr], body: Stmt, buffer: Buffer) -> DeclBuffer:
        """The node of an op."""
        node = cls.__new__(cls)
        Declaration.__init__(node, op, args, body)
        node.buffer = buffer
        return node


class AllocateConst(Declaration):
    """Memory that contains a constant array, visible in `body`.

    buffer_var: the variable of its pointer.  dtype: of the elements.  extents: of its dimensions.  data: the array.
    """

    __slots__ = ("buffer_var", "data", "dtype", "extents")

    def __init__(
        self,
        buffer_var: Var,
        dtype: str,
        extents: Sequence[ExprLike],
        data_or_idx: Any,
        body: Stmt,
        annotations: Mapping[str, Any] | None = None,
        span: None = None,
    ):
        """data_or_idx: the array. TeError for an array of another shape or data type."""
        array = np.asarray(data_or_idx.numpy() if hasattr(data_or_idx, "numpy") else data_or_idx)
        shape = [int(as_expr(extent).value) for extent in extents]  # pyright: ignore[reportAttributeAccessIssue]
        kind = parse_dtype(dtype)
        if list(array.shape) != shape or str(array.dtype) != kind.name:
            raise TeError(f"AllocateConst {buffer_var.name}: {array.dtype} {array.shape}, expected {dtype} {shape}")
        element = mlir_type(kind)
        op = AllocateConstOp(
            buffer_var.name,
            DenseIntOrFPElementsAttr.from_list(TensorType(element, shape), array.flatten().tolist()),  # pyright: ignore
            HandleType(element),
            {key: annotation_value(value) for key, value in (annotations or {}).items()} or None,
        )
        super().__init__(op, (), body)
        self.buffer_var, self.dtype, self.extents, self.data = buffer_var, dtype, tuple(map(as_expr, shape)), array


class OtherStmt(Stmt):
    """A statement without a node class of its own: a barrier, a print, ... `name` is the op's name.

    args: its operands.  variables: the block arguments of each body.
    """

    __slots__ = ("args", "bodies", "op", "variables")
    FIELDS = ("args", "bodies")

    def __init__(
        self, op: Operation, args: Sequence[PrimExpr], variables: Sequence[Sequence[Var]], bodies: Sequence[Stmt]
    ):
        super().__init__()
        self.op = op
        self.args = tuple(args)
        self.variables = tuple(tuple(group) for group in variables)
        self.bodies = tuple(bodies)

    @property
    def name(self) -> str:
        return self.op.name


class AttrStmt(OtherStmt):
    """A statement with an attribute: `attr_key` of `node` is `value`.

    The index of a thread is the attribute `thread_extent` of its axis.
    """

    __slots__ = ("_node", "_value")

    def __init__(self, node: Any, attr_key: str, value: Any, body: Stmt, span: None = None):
        """node: an expression, an axis or text.  value: an expression or text. TeError for other values, and for a node
        of `thread_extent` and `virtual_thread` that is no axis of threads."""
        args: list[PrimExpr] = []
        variables: list[Var] = []
        op: Operation
        if attr_key in THREAD_KEYS:
            if not isinstance(node, IterVar) or not node.thread_tag:
                raise TeError(f"AttrStmt {attr_key}: {node!r}, expected an axis of threads")
            extent = cast(node.var.dtype, value)
            ((number,), _) = placeholders([extent])
            tag = "vthread" if attr_key == "virtual_thread" else node.thread_tag
            op = LaunchThreadOp(node.var.name, tag, number, mlir_type(node.var.data_type))
            variables = [node.var]
            args = [] if isinstance(number, int) else [extent]
        else:
            parts: list[SSAValue | Attribute] = []
            for each in (node, value):
                each = each.var if isinstance(each, IterVar) else each
                if isinstance(each, PrimExpr) and not isinstance(each, IntImm | FloatImm | StringImm):
                    args.append(each)
                    parts.append(placeholder_of(each))
                else:
                    parts.append(
                        annotation_value(each.value if isinstance(each, IntImm | FloatImm | StringImm) else each)
                    )
            named, stated = parts
            op = AttrOp(attr_key, named, stated)
        super().__init__(op, args, (variables,), (body,))
        self._node, self._value = node, as_expr(value) if isinstance(value, int) else value

    @classmethod
    def of_op(
        cls,
        op: Operation,
        args: Sequence[PrimExpr],
        variables: Sequence[Sequence[Var]],
        bodies: Sequence[Stmt],
        node: object,
        value: object,
    ) -> AttrStmt:
        """The node of an op."""
        result = cls.__new__(cls)
        OtherStmt.__init__(result, op, args, variables, bodies)
        result._node, result._value = node, value
        return result

    @property
    def attr_key(self) -> str:
        """The name of the attribute."""
        return self.op.key.data if isinstance(self.op, AttrOp) else "thread_extent"

    @property
    def node(self) -> Any:
        """The expression or object that has the attribute."""
        return self.args[0] if isinstance(self.op, AttrOp) and self.op.node is not None else self._node

    @property
    def value(self) -> Any:
        """The value of the attribute."""
        is_operand = not isinstance(self.op, AttrOp) or self.op.value is not None
        return self.args[-1] if is_operand and self.args else self._value

    @property
    def body(self) -> Stmt:
        """The statements with the attribute."""
        return self.bodies[0]


THREAD_KEYS = ("thread_extent", "virtual_thread")
"""The attributes of axes of threads."""


class AssertStmt(OtherStmt):
    """A check of a condition, with the message of its failure. The statements that follow are its `body`, if it was
    built with one."""

    __slots__ = ("body",)
    FIELDS = ("args", "bodies", "body")

    body: Stmt | None

    def __init__(self, condition: ExprLike, message: Any, body: Stmt | None = None, span: None = None):
        holds = as_condition(condition)
        text = message.value if isinstance(message, StringImm) else str(message)
        super().__init__(AssertOp(placeholder_of(holds), text), (holds,), (), ())
        self.body = body

    @classmethod
    def of_op(cls, op: Operation, args: Sequence[PrimExpr]) -> AssertStmt:
        """The node of an op."""
        node = cls.__new__(cls)
        OtherStmt.__init__(node, op, args, (), ())
        node.body = None
        return node

    @property
    def condition(self) -> PrimExpr:
        """The condition."""
        return self.args[0]

    @property
    def message(self) -> StringImm:
        """The message; `{}` stands for the values of the check, in order."""
        assert isinstance(self.op, AssertOp)
        return StringImm(self.op.message.data)


class While(OtherStmt):
    """A loop while a condition holds."""

    __slots__ = ()

    def __init__(self, condition: ExprLike, body: Stmt, span: None = None):
        holds = as_condition(condition)
        test = OtherStmt(YieldOp(placeholder_of(holds)), (holds,), (), ())
        super().__init__(WhileOp(Region(Block_()), Region(Block_())), (), ((), ()), (test, body))

    @classmethod
    def of_op(cls, op: Operation, bodies: Sequence[Stmt]) -> While:
        """The node of an op."""
        node = cls.__new__(cls)
        OtherStmt.__init__(node, op, (), ((), ()), bodies)
        return node

    @property
    def condition(self) -> PrimExpr:
        """The condition, computed before each iteration."""
        test = self.bodies[0]
        last = test.seq[-1] if isinstance(test, SeqStmt) else test
        assert isinstance(last, OtherStmt)
        return last.args[0]

    @property
    def body(self) -> Stmt:
        """The statements of an iteration."""
        return self.bodies[1]


class BufferRealize(Stmt):
    """A statement of TVM before its memory is flat. No program has any: buffers are memory (`Allocate`) at once, and
    tensors are functions of `te`. TeError for a new one."""

    def __init__(self, *args: object, **options: object):
        raise TeError(f"{type(self).__name__}: expected Allocate or BufferStore; buffers are memory at once")


class ProducerRealize(BufferRealize):
    """Memory for a tensor, as of `BufferRealize`."""


class ProducerStore(BufferRealize):
    """A store to an element of a tensor, as of `BufferRealize`."""


class Store(BufferRealize):
    """A store to a pointer, as of `BufferRealize`: elements of memory are stored by `BufferStore`."""


class Prefetch(BufferRealize):
    """A hint of memory that is read later, as of `BufferRealize`."""


def placeholder_of(expr: PrimExpr) -> SSAValue:
    """A value of the type of an expression, which takes its place in the op of a new node."""
    type = HandleType() if isinstance(expr, PointerVar) else mlir_type(expr.data_type)
    return Block_(arg_types=[type]).args[0]


def placeholders(exprs: Sequence[PrimExpr]) -> tuple[list[int | SSAValue], list[SSAValue]]:
    """The numbers that expressions are, with values in place of those that are no numbers, and these values alone."""
    mixed = [each.value if isinstance(each, IntImm) else placeholder_of(each) for each in exprs]
    return mixed, [each for each in mixed if not isinstance(each, int)]


def layout_of(
    buffer: DeclaredBuffer,
) -> tuple[list[int | SSAValue], list[int | SSAValue] | None, int | SSAValue, list[PrimExpr]]:
    """The shape, strides and offset of a buffer for an op, as of `placeholders`, and the expressions among them, which
    are its operands."""
    layout = [*buffer.shape, *buffer.strides, as_expr(buffer.elem_offset)]
    numbers, _ = placeholders(layout)
    rank = len(buffer.shape)
    operands = [each for each in layout if not isinstance(each, IntImm)]
    return numbers[:rank], numbers[rank:-1] or None, numbers[-1], operands


def stmt_seq(*args: Stmt | PrimExpr) -> SeqStmt:
    """The sequence of statements, and of the evaluations of expressions."""
    return SeqStmt([each if isinstance(each, Stmt) else Evaluate(each) for each in args])


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """The statements of a sequence, those of inner sequences among them; a list of another statement."""
    return [inner for each in stmt.seq for inner in stmt_list(each)] if isinstance(stmt, SeqStmt) else [stmt]


def seq(*statements: Stmt) -> Stmt:
    """The sequence of `statements` as one statement."""
    flat = [inner for s in statements for inner in (s.seq if isinstance(s, SeqStmt) else (s,))]
    return flat[0] if len(flat) == 1 else SeqStmt(flat)


__all__ = [
    "Allocate", "AllocateConst", "AssertStmt", "AttrStmt", "BufferRealize", "BufferStore", "DeclBuffer",
    "Declaration", "Evaluate", "For", "ForKind", "IfThenElse", "LetStmt", "OtherStmt", "Prefetch", "ProducerRealize",
    "ProducerStore", "SeqStmt", "Stmt", "Store", "While", "seq", "stmt_list", "stmt_seq",
]  # fmt: skip
