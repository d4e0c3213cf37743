"""The module `tvm.tir.ir_builder`: statements written one by one, for `te.extern` and `te.decl_tensor_intrin`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import Any

from ....core.dtypes import parse_dtype
from ....expressions.axes import IterVar
from ....expressions.buffers import Buffer
from ....expressions.errors import TeError
from ....expressions.expr import FloatImm, IntImm, PrimExpr, Var, as_condition, as_expr, cast, promote_operands
from ....expressions.extern import decl_buffer
from ....expressions.functions import floordiv, floormod
from ....expressions.statements import (
    STATEMENTS,
    Allocation,
    Branch,
    BufferElement,
    Let,
    Loop,
    Statement,
    Store,
    While,
    flatten_statements,
)
from ....expressions.tensor import shape_as_extents
from ..nodes.conversion import nodes_of
from ..nodes.expr import PointedBuffer, PointerVar, StatementBuffer
from ..nodes.stmt import Stmt
from .functions import likely

_KINDS = {
    "serial": "serial",
    "parallel": "parallel",
    "vectorize": "vectorized",
    "vectorized": "vectorized",
    "unroll": "unrolled",
    "unrolled": "unrolled",
}
_THREADS = ("thread_extent", "virtual_thread")


def create() -> IRBuilder:
    """A builder without statements."""
    return IRBuilder()


class BufferVar(StatementBuffer):
    """A buffer whose elements are read and written: `a[i]`, `a[i, j] = value`. One index of a buffer of several
    dimensions is a position in row-major order.
    """

    def __init__(self, builder: IRBuilder, buffer: Buffer, shape: Sequence[PrimExpr] | None = None):
        self._builder = builder
        self._shape = buffer.shape if shape is None else tuple(shape)
        self.buffer = buffer

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    def asobject(self) -> Buffer:
        """The buffer."""
        return self.buffer

    def _element(self, index: Any) -> BufferElement:
        indices = [as_expr(each) for each in (index if isinstance(index, tuple) else (index,))]  # pyright: ignore[reportUnknownVariableType]
        if len(indices) != 1 and len(indices) != len(self._shape):
            raise TeError(f"{len(indices)} indices into {self.buffer.name} of {len(self._shape)} dimensions")
        if len(indices) == len(self.buffer.shape) and self._shape == self.buffer.shape:
            return BufferElement(self.buffer, indices)
        position = indices[0]
        for place, extent in zip(indices[1:], self._shape[1:], strict=False):
            position = position * extent + place
        return BufferElement(self.buffer, _places(position, self.buffer.shape))

    def __getitem__(self, index: Any) -> PrimExpr:
        return self._element(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._builder.emit(Store(self._element(index), _as_element(value, self.buffer)))


def _places(position: PrimExpr, shape: Sequence[PrimExpr]) -> list[PrimExpr]:
    """The indices of a position in row-major order."""
    places: list[PrimExpr] = []
    for n, extent in enumerate(reversed(shape)):
        is_outermost = n == len(shape) - 1
        places.append(position if is_outermost else floormod(position, extent))
        position = position if is_outermost else floordiv(position, extent)
    return places[::-1]


def _as_element(value: Any, buffer: Buffer) -> PrimExpr:
    """A value to store in a buffer. TeError for a value of another data type that is no constant."""
    expr = as_expr(value, buffer.data_type)
    if expr.dtype != buffer.dtype and not isinstance(expr, IntImm | FloatImm):
        raise TeError(f"store of {expr.dtype} to {buffer.name} of {buffer.dtype}")
    return cast(buffer.dtype, expr)


class IRBuilder:
    """Gathers statements: those of its methods, and calls (`emit`). `get` returns them, for `te.extern`."""

    def __init__(self) -> None:
        self._levels: list[_Level] = [_Level()]

    def emit(self, stmt: Any) -> None:
        """Adds a statement, or several. TeError for other values."""
        for each in flatten_statements(stmt):
            if not isinstance(each, STATEMENTS):
                raise TeError(f"emit of {each!r}, expected a statement")
            self._levels[-1].add(each)

    def get(self) -> Stmt:
        """The statements, in order, as a node. TeError within a scope."""
        return nodes_of(self.statements())

    def statements(self) -> list[Statement]:
        """The statements, in order, as those of `te.extern`. TeError within a scope."""
        if len(self._levels) != 1:
            raise TeError("get within a scope, expected all scopes to be left")
        return self._levels[0].close()

    @contextmanager
    def _scope(
        self, create: Callable[[tuple[Statement, ...]], Statement | tuple[Statement, ...]], value: Any = None
    ) -> Generator[Any]:
        """A context whose statements become one, or others."""
        self._levels.append(_Level())
        try:
            yield value
        finally:
            level = self._levels.pop()
        self.emit(create(tuple(level.close())))

    # Scopes

    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: str | None = None, kind: str = "serial", for_type: str = ""
    ) -> AbstractContextManager[Var]:
        """A loop over `[begin, end)`; the context is the variable. kind, or for_type until v0.7: serial, parallel,
        vectorize or unroll. TeError for another kind.
        """
        how = for_type or kind
        if how not in _KINDS:
            raise TeError(f"for_range {name}: kind {how!r}, expected one of {', '.join(_KINDS)}")
        low, high = promote_operands(begin, end)
        variable = Var(name, dtype or low.dtype)
        first, extent = cast(variable.dtype, low), cast(variable.dtype, high - low)
        return self._scope(lambda body: Loop(variable, first, extent, body, _KINDS[how]), variable)

    def while_loop(self, condition: Any) -> AbstractContextManager[None]:
        """A loop that runs while a condition holds."""
        test = as_condition(condition)
        return self._scope(lambda body: While(test, body))

    def new_scope(self) -> AbstractContextManager[None]:
        """Statements at whose end their memory and thread axes end."""
        return self._scope(lambda body: body)

    def if_scope(self, cond: Any) -> AbstractContextManager[None]:
        """Statements that run if a condition holds."""
        test = as_condition(cond)
        return self._scope(lambda body: Branch(test, body))

    @contextmanager
    def else_scope(self) -> Generator[None]:
        """Statements that run if the condition of the `if_scope` before does not hold. TeError without one."""
        last = self._levels[-1].pop_branch()
        with self._scope(lambda body: Branch(last.condition, last.then, body)):
            yield

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """Binds a thread axis for all statements up to the end of the scope: `scope_attr(tx, "thread_extent", 64)`.
        TeError for other attributes.
        """
        if attr_key not in _THREADS or not isinstance(node, IterVar) or not node.thread_tag:
            raise TeError(f"scope_attr {attr_key!r}, expected a thread axis and thread_extent")
        extent = cast(node.var.dtype, value)
        tag = "vthread" if attr_key == "virtual_thread" else node.thread_tag
        self._levels[-1].open(lambda body: Loop(node.var, as_expr(0), extent, body, "thread_binding", tag))

    def thread_scope(self, axis: IterVar, extent: Any) -> AbstractContextManager[None]:
        """Statements that each thread of an axis runs."""
        count = cast(axis.var.dtype, extent)
        return self._scope(lambda body: Loop(axis.var, as_expr(0), count, body, "thread_binding", axis.thread_tag))

    # Memory

    def allocate(
        self,
        dtype: str,
        shape: Any,
        name: str = "buf",
        axis_separators: Sequence[int] | None = None,
        scope: str = "",
    ) -> BufferVar:
        """Memory up to the end of the scope. shape: a number, or a number for each dimension.  axis_separators, scope:
        of the memory, as of `te.decl_buffer`. TeError as of that.
        """
        extents = shape if isinstance(shape, list | tuple) else (shape,)
        buffer = decl_buffer(extents, dtype, name, scope=scope, axis_separators=axis_separators or ())
        self.emit(Allocation(buffer))
        return BufferVar(self, buffer)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """The elements at an address, which is a parameter of the function, `asobject().data`. content_type: their data
        type.  scope: of the memory."""
        variable = PointerVar(name, content_type, scope)
        return BufferVar(
            self,
            PointedBuffer(
                Buffer(name, (as_expr(1),), parse_dtype(content_type), (), as_expr(0), scope or "global"), variable
            ),
        )

    def buffer_ptr(self, buf: Buffer, shape: Sequence[Any] | None = None) -> BufferVar:
        """The elements of a buffer of `te.extern`. shape: the extents by which several indices denote a position in
        row-major order, by default those of the buffer. TeError for a shape of another number of elements.
        """
        if not isinstance(buf, Buffer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"buffer_ptr of {buf!r}, expected one of ins and outs")
        extents = None if shape is None else shape_as_extents(shape, buf.name)
        known = [prod(e.value for e in each if isinstance(e, IntImm)) for each in (buf.shape, extents or buf.shape)]
        if all(isinstance(extent, IntImm) for extent in (*buf.shape, *(extents or ()))) and known[0] != known[1]:
            raise TeError(f"buffer_ptr of {buf.name}: {known[1]} elements, expected {known[0]}")
        return BufferVar(self, buf, extents)

    def let(self, var_name: str, value: Any) -> Var:
        """A variable with a value."""
        expr = as_expr(value)
        variable = Var(var_name, expr.dtype)
        self.emit(Let(variable, expr))
        return variable

    def likely(self, expr: Any) -> PrimExpr:
        """A condition that holds most of the time."""
        return likely(expr)


class _Level:
    """The statements of a scope. A thread axis encloses those that follow it."""

    def __init__(self) -> None:
        self._parts: list[tuple[Callable[[tuple[Statement, ...]], Statement] | None, list[Statement]]] = [(None, [])]

    def add(self, statement: Statement) -> None:
        self._parts[-1][1].append(statement)

    def open(self, create: Callable[[tuple[Statement, ...]], Statement]) -> None:
        """Starts the statements that become one with all that follow."""
        self._parts.append((create, []))

    def pop_branch(self) -> Branch:
        """Removes the last statement, a branch without an else."""
        statements = self._parts[-1][1]
        if not statements or not isinstance(statements[-1], Branch) or statements[-1].orelse:
            raise TeError("else_scope: expected an if_scope before it")
        last = statements.pop()
        assert isinstance(last, Branch)
        return last

    def close(self) -> list[Statement]:
        """All statements."""
        inner: list[Statement] = []
        for create, statements in reversed(self._parts):
            body = [*statements, *inner]
            inner = body if create is None else [create(tuple(body))]
        return inner


__all__ = ["BufferVar", "IRBuilder", "create"]
