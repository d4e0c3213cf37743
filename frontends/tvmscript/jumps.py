"""`break` and `continue`, as conditions.

The program has no jumps: the statements that a jump skips become the other branch of the condition that leads to the
jump. Where a branch jumps in some cases only, a cell of memory (`active`) states whether the iteration goes on; for
`break`, another one (`running`) states whether the loop does.

    for i in range(8):                      running[0] = True
        if A[i] == 0:                       for i in range(8):
            break                               if running[0]:
        B[i] = A[i]                                 if A[i] == 0:
                                                        running[0] = False
                                                    else:
                                                        B[i] = A[i]
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.diagnostics import Span
from ...core.dtypes import mlir_type
from ...dialects.tir import AllocateOp, DeclBufferOp, HandleType, IfOp, WhileOp, memory_space
from . import syntax
from .context import ElaborationContext
from .dispatch import evaluate, run_statements

_SCOPE = "local"  # the memory of each thread
_JUMPS = {"break_loop": syntax.Break, "continue_loop": syntax.Continue}


Enter = Callable[[ElaborationContext, syntax.With, Callable[[], None]], None]
"""The function that runs a body inside the frames of a `with`."""


def jumps_of(body: syntax.Body) -> Iterator[syntax.Stmt]:
    """The jumps of a loop with this body: those in its statements, but not in loops and functions inside."""
    for statement in body:
        if _jump_kind(statement) is not None:
            yield statement
        elif isinstance(statement, syntax.If):
            yield from jumps_of(statement.body)
            yield from jumps_of(statement.orelse)
        elif isinstance(statement, syntax.With):
            yield from jumps_of(statement.body)


def _jump_kind(statement: syntax.Stmt) -> type[syntax.Stmt] | None:
    """Break or Continue, for the statements `break` and `continue` and TVM's calls of the same meaning."""
    match statement:
        case syntax.Break() | syntax.Continue():
            return type(statement)
        case syntax.ExprStmt(value=syntax.Call(func=syntax.Attribute(attr=name), args=())):
            return _JUMPS.get(name)
        case _:
            return None


def _always_jumps(body: syntax.Body) -> bool:
    """Whether every way through the statements ends with a jump."""
    return any(
        _jump_kind(statement) is not None
        or (isinstance(statement, syntax.If) and _always_jumps(statement.body) and _always_jumps(statement.orelse))
        for statement in body
    )


class LoopWithJumps:
    """The elaboration of the body of a loop that contains jumps. Created before the loop is opened.

    breaks: the `break` statements.  running: the cell that states whether the loop goes on, if it has a `break`.
    active: the cells of the open branches that may jump.
    """

    def __init__(self, context: ElaborationContext, body: syntax.Body, enter: Enter):
        self.context = context
        self.body = body
        self.enter = enter
        self.breaks = [jump for jump in jumps_of(body) if _jump_kind(jump) is syntax.Break]
        self.blocks = len(context.blocks)
        self.running = self._new_cell("running", self.breaks[0].span) if self.breaks else None
        self.active: list[SSAValue] = []

    def run(self, *, guarded: bool) -> None:
        """Emits the body. guarded: whether the loop itself does not end at a `break`, so that the later iterations
        must have no effect.
        """
        self.block = self.context.builder.point.block
        if self.running is None or not guarded:
            self._statements(self.body)
            return
        with self._branch_on(self.running, self.breaks[0].span):
            self._statements(self.body)

    def condition(self, test: Callable[[], SSAValue], span: Span) -> SSAValue:
        """The condition of a `while`, whose test is not evaluated after a `break`."""
        if self.running is None:
            return test()
        builder = self.context.locate(span)
        return builder.logical("and", builder.load(self.running, [0]), test)

    # Cells

    def _new_cell(self, name: str, span: Span) -> SSAValue:
        """A new buffer of one bool, which is true."""
        builder, type = self.context.locate(span), mlir_type("bool")
        pointer = builder.insert(AllocateOp(f"{name}_data", [1], HandleType(type, _SCOPE))).pointer
        cell = builder.insert(DeclBufferOp(name, pointer, type, [1], space=memory_space(_SCOPE))).buffer
        self._set(cell, True)
        return cell

    def _set(self, cell: SSAValue, state: bool) -> None:
        self.context.builder.store(state, cell, [0])

    def _branch_on(self, cell: SSAValue, span: Span) -> AbstractContextManager[None]:
        builder = self.context.locate(span)
        op = builder.insert(IfOp(builder.load(cell, [0])))
        return self.context.emit_branch(op.then.block, span)

    # Statements

    def _statements(self, body: syntax.Body) -> None:
        for position, statement in enumerate(body):
            rest = body[position + 1 :]
            if (kind := _jump_kind(statement)) is not None:
                self._jump(statement.span, leaves=kind is syntax.Break)
                return
            if not any(jumps_of((statement,))):
                run_statements(self.context, (statement,))
            elif isinstance(statement, syntax.If):
                self._if(statement, rest)
                return
            else:
                assert isinstance(statement, syntax.With)
                self._with(statement, rest)
                return

    def _jump(self, span: Span, *, leaves: bool) -> None:
        self._check_jump(span)
        self.context.locate(span)
        for cell in self.active:
            self._set(cell, False)
        if leaves and self.running is not None:
            self._set(self.running, False)

    def _check_jump(self, span: Span) -> None:
        if len(self.context.blocks) != self.blocks:
            raise span.error("break and continue cannot leave a block")
        block = self.context.builder.point.block
        while block is not self.block and (parent := block.parent_op()) is not None and parent.parent is not None:
            if isinstance(parent, WhileOp):
                raise span.error("break and continue have their place in for and while statements, not in T.While")
            block = parent.parent

    def _if(self, statement: syntax.If, rest: syntax.Body) -> None:
        """Emits a branch with jumps, and the rest of the body in the branch that does not jump, or after both."""
        context = self.context
        last = context.builder.point.block.last_op
        test = evaluate(context, statement.test)
        if context.is_python(test, statement.test.span):
            self._statements((*(statement.body if test else statement.orelse), *rest))
            return
        condition = context.truth(test, statement.test.span)
        branches = (statement.body, statement.orelse)
        if any(map(_always_jumps, branches)):
            branches = tuple(part if _always_jumps(part) else (*part, *rest) for part in branches)
            rest = ()
        with self._cell_after(last, statement.span, rest):
            op = context.locate(statement.span).insert(IfOp(condition))
            for region, part in zip((op.then, op.orelse), branches, strict=True):
                with context.emit_branch(region.block, statement.span):
                    self._statements(part)

    def _with(self, statement: syntax.With, rest: syntax.Body) -> None:
        with self._cell_after(self.context.builder.point.block.last_op, statement.span, rest):
            self.enter(self.context, statement, lambda: self._statements(statement.body))

    @contextmanager
    def _cell_after(self, last: Operation | None, span: Span, rest: syntax.Body) -> Generator[None]:
        """Emits `rest` after the statements of the body of the context manager, on the condition that none of their
        jumps was taken. The cell for it is allocated after the op `last` of the current block.
        """
        if not rest:
            yield
            return
        block = self.context.builder.point.block
        with self.context.builder.at(InsertPoint.at_start(block) if last is None else InsertPoint.after(last)):
            cell = self._new_cell("active", span)
        self.active.append(cell)
        yield
        self.active.pop()
        with self._branch_on(cell, rest[0].span):
            self._statements(rest)
