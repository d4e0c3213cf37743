"""Statements as a tree, modeled on TVM's: a declaration is visible in its `body`.

Nodes are immutable. Nodes read from the same op of a program are equal, so `op in loops` and dictionaries keyed by node
work.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import ClassVar

from xdsl.ir import Operation

from ....expressions.errors import TeError
from ....expressions.expr import ExprLike, PrimExpr, Var, as_condition, as_expr, cast
from .expr import Buffer


class ForKind(IntEnum):
    """The execution mode of the iterations of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


class Stmt:
    """A statement. underneath: the op from which the node was read, None for a node created in Python."""

    __slots__ = ("underneath",)

    FIELDS: ClassVar[tuple[str, ...]] = ()
    """The attributes that hold expressions and statements, or sequences of them, in execution order."""

    underneath: Operation | None

    def __init__(self) -> None:
        self.underneath = None

    def same_as(self, other: object) -> bool:
        """Whether both are the same node, or were read from the same op."""
        return self == other

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Stmt) and self.underneath is not None and self.underneath is other.underneath

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

    def __init__(
        self,
        loop_var: Var,
        min: ExprLike,
        extent: ExprLike,
        kind: ForKind | int,
        body: Stmt | int,
        thread_tag: str | Stmt | None = None,
        annotations: object = None,
    ):
        super().__init__()
        if isinstance(body, int) and isinstance(thread_tag, Stmt):
            body, thread_tag = thread_tag, None
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
        self.annotations = annotations


class BufferStore(Stmt):
    """A store to an element of a buffer."""

    __slots__ = ("buffer", "indices", "value")
    FIELDS = ("value", "indices")

    def __init__(self, buffer: Buffer, value: ExprLike, indices: Sequence[ExprLike]):
        super().__init__()
        self.buffer = buffer
        self.indices = tuple(as_expr(index) for index in indices)
        if len(self.indices) != len(buffer.shape):
            raise TeError(f"{len(self.indices)} indices into buffer {buffer.name} of {len(buffer.shape)} dimensions")
        self.value = as_expr(value)


class IfThenElse(Stmt):
    """A conditional statement; the else case is optional."""

    __slots__ = ("condition", "else_case", "then_case")
    FIELDS = ("condition", "then_case", "else_case")

    def __init__(self, condition: ExprLike, then_case: Stmt, else_case: Stmt | None = None):
        super().__init__()
        self.condition = as_condition(condition)
        self.then_case = then_case
        self.else_case = else_case


class LetStmt(Stmt):
    """A binding of a variable to a value in a body."""

    __slots__ = ("body", "value", "var")
    FIELDS = ("value", "body")

    def __init__(self, var: Var, value: ExprLike, body: Stmt):
        super().__init__()
        self.var = var
        self.value = cast(var.dtype, value)
        self.body = body


class SeqStmt(Stmt):
    """A sequence of statements."""

    __slots__ = ("seq",)
    FIELDS = ("seq",)

    def __init__(self, seq: Sequence[Stmt]):
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

    def __init__(self, value: ExprLike):
        super().__init__()
        self.value = as_expr(value)


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


class OtherStmt(Stmt):
    """A statement without a node class of its own: a block, a thread, an assertion, ... `name` is the op's name.

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


def seq(*statements: Stmt) -> Stmt:
    """The sequence of `statements` as one statement."""
    flat = [inner for s in statements for inner in (s.seq if isinstance(s, SeqStmt) else (s,))]
    return flat[0] if len(flat) == 1 else SeqStmt(flat)


__all__ = [
    "BufferStore", "Declaration", "Evaluate", "For", "ForKind", "IfThenElse", "LetStmt", "OtherStmt", "SeqStmt",
    "Stmt", "seq",
]  # fmt: skip
