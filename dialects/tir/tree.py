"""Statement-tree form: every expression op directly precedes its only consuming statement.

Only other expression ops of that statement lie in between. A statement is an op with an effect or a declaration: a
store, a loop, a block, a `tir.let`, ... An expression op computes a value for a statement. Programs under a schedule
are in this form, so that a statement moves together with its expressions. Canonicalization, CSE and people may leave
another form; `treeify` restores it.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator
from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, VectorType
from xdsl.ir import Block, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, VariadicDef
from xdsl.rewriter import InsertPoint
from xdsl.traits import Pure

from ...core.dtypes import dtype_of
from . import (
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    AllocBufferOp,
    BufferDataOp,
    CallExternOp,
    CallIntrinOp,
    CallLlvmOp,
    CallOp,
    CallPackedOp,
    CastOp,
    CommReducerOp,
    ConstOp,
    EvaluateOp,
    FloormodOp,
    IfThenElseOp,
    IntrinsicOp,
    LetOp,
    LoadOp,
    MaxOp,
    MinOp,
    PrintOp,
    RampOp,
    ReinterpretOp,
    ShuffleOp,
    TirBuilder,
    YieldOp,
)

_PURE = frozenset(
    (
        AccessPtrOp,
        AddressOfOp,
        BufferDataOp,
        CallLlvmOp,
        CastOp,
        CommReducerOp,
        ConstOp,
        FloormodOp,
        IntrinsicOp,
        MaxOp,
        MinOp,
        RampOp,
        ReinterpretOp,
        ShuffleOp,
    )
)
_CALLS = frozenset((CallOp, CallExternOp, CallPackedOp, CallIntrinOp))
_DIALECTS = ("arith", "math", "vector")
_NUMBERS = (IntegerType, AnyFloat, VectorType)
_OWN_PACKAGES = ("stepwell", "xdsl")


def is_pure_expression(op: Operation) -> bool:
    """Whether `op` computes a value from values without any effect, so that it may be copied and moved anywhere."""
    kind = type(op)
    known = _IS_PURE[kind]
    if known is not None:
        return known
    if kind is CallExternOp:
        return op.properties.get("pure") is not None and bool(op.results)
    if kind is IfThenElseOp:
        return all(is_pure_expression(inner) for inner in _inner_ops(op))  # pyright: ignore[reportArgumentType]
    return len(op.results) == 1 and (_is_upstream_kind(kind) or _is_pure_computation(op))


def _is_pure_computation(op: Operation) -> bool:
    """Whether an op of another package computes a number, or a vector, without effects."""
    if not _is_pure_kind(type(op)) or op.regions:
        return False
    return isinstance(op.results[0].type, _NUMBERS)


class _Purity(dict[type[Operation], bool | None]):
    """Whether operations of a kind are pure expressions; None if this depends on the operation."""

    def __missing__(self, kind: type[Operation]) -> bool | None:
        answer = self[kind] = self._of(kind)
        return answer

    def _of(self, kind: type[Operation]) -> bool | None:
        if kind in _PURE:
            return True
        if kind is CallExternOp or kind is IfThenElseOp or _is_pure_kind(kind):
            return None
        if not _is_upstream_kind(kind):
            return False
        results = kind.get_irdl_definition().results if issubclass(kind, IRDLOperation) else []
        return True if len(results) == 1 and not isinstance(results[0][1], VariadicDef) else None


_IS_PURE = _Purity()


@cache
def _is_upstream_kind(kind: type[Operation]) -> bool:
    return Dialect.split_name(kind.name)[0] in _DIALECTS


@cache
def _is_pure_kind(kind: type[Operation]) -> bool:
    return kind.__module__.partition(".")[0] not in _OWN_PACKAGES and kind.has_trait(Pure)


def move_ops_before(block: Block, point: Operation) -> list[Operation]:
    """Moves the ops of a block before `point`. Returns the ops."""
    target = point.parent
    assert target is not None
    ops = list(block.ops)
    for op in ops:
        op.detach()
        target.insert_op_before(op, point)
    return ops


def is_expression_op(op: Operation) -> bool:
    """Whether `op` computes a value for a statement. A call without result is a statement, and so is `tir.let`."""
    kind = type(op)
    if kind in _CALLS:
        return bool(op.results)
    return kind is LoadOp or kind is IfThenElseOp or is_pure_expression(op)


def has_effect(op: Operation) -> bool:
    """Whether the execution of `op` may have an effect outside of the buffers of the program."""
    kind = type(op)
    if kind is IfThenElseOp:
        return any(has_effect(inner) for inner in _inner_ops(op))  # pyright: ignore[reportArgumentType]
    return kind is PrintOp or (kind in _CALLS and not is_pure_expression(op))


def _inner_ops(op: IfThenElseOp) -> Iterator[Operation]:
    """The expression ops in the regions of a lazy conditional."""
    for region in op.regions:
        yield from (inner for inner in region.block.ops if type(inner) is not YieldOp)


def _is_in_expression(op: Operation) -> bool:
    """Whether `op` is in a region of a lazy conditional, and so part of that expression."""
    return isinstance(op.parent_op(), IfThenElseOp)


class _Statements:
    """The statements that consume expression ops. The users of an op must be looked up before the op itself."""

    def __init__(self) -> None:
        self._of: dict[Operation, Operation] = {}

    def __getitem__(self, op: Operation) -> Operation:
        """The statement equal to or containing `op`."""
        parent = op.parent_op()
        while type(parent) is IfThenElseOp:
            op = parent
            parent = op.parent_op()
        return self._of.get(op, op)

    def __setitem__(self, op: Operation, statement: Operation) -> None:
        self._of[op] = statement

    def using(self, op: Operation) -> dict[Operation, list[Operation]]:
        """The statements that consume a result of `op`, each with its ops that use the result."""
        users: dict[Operation, list[Operation]] = {}
        for result in op.results:
            for use in result.uses:
                users.setdefault(self[use.operation], []).append(use.operation)
        return users


def is_tree_form(op: Operation) -> bool:
    """Whether everything inside `op` is in statement-tree form."""
    return next(_misplaced_ops(op), None) is None


def _misplaced_ops(root: Operation) -> Iterator[Operation]:
    """The expression ops that do not directly precede their only consuming statement."""
    statements = _Statements()
    for op in reversed(list(root.walk())):
        if not is_expression_op(op) or _is_in_expression(op):
            continue
        users = list(statements.using(op))
        if len(users) != 1 or not _is_in_place(op, users[0], statements):
            yield op
        statements[op] = users[0] if users else op


def _is_in_place(op: Operation, statement: Operation, statements: _Statements) -> bool:
    """Whether only expression ops of `statement` are between `op` and `statement`."""
    follower = op.next_op
    return follower is not None and statements[follower] is statement


def treeify(op: Operation) -> None:
    """Rewrites everything inside `op` into statement-tree form, in place.

    A pure expression op moves to its consuming statement, or is copied if several statements consume it. A load is
    moved or copied and a call is moved only where the result cannot differ; elsewhere it stays and a `tir.let` after it
    names its value. Ops with unused results are erased; an unused call becomes a `tir.evaluate`.
    """
    statements = _Statements()
    for expression in reversed(list(op.walk())):
        if is_expression_op(expression) and type(expression.parent_op()) is not IfThenElseOp:
            _place(expression, statements)


def _place(op: Operation, statements: _Statements) -> None:
    users = statements.using(op)
    if not users:
        _drop(op, statements)
    elif len(users) == 1 and _is_in_place(op, statement := next(iter(users)), statements):
        statements[op] = statement
    elif is_pure_expression(op) or ((len(users) == 1 or not has_effect(op)) and all(_may_move(op, s) for s in users)):
        _distribute(op, users, statements)
    else:
        _name(op, statements)


def _drop(op: Operation, statements: _Statements) -> None:
    if has_effect(op):
        statements[op] = insert_evaluate(op)
    else:
        op.detach()
        op.erase()


def insert_evaluate(op: Operation) -> EvaluateOp:
    """Inserts a `tir.evaluate` of an expression op that has an effect and an unused value."""
    return TirBuilder(InsertPoint.after(op), op.location).insert(EvaluateOp(op.results[0]))


def _distribute(op: Operation, users: dict[Operation, list[Operation]], statements: _Statements) -> None:
    """Inserts a copy of `op` at each consuming statement; `op` itself moves to the last."""
    for i, (statement, inside) in enumerate(users.items()):
        if i + 1 < len(users):
            copy = op.clone()
            for mine, theirs in zip(op.results, copy.results, strict=True):
                mine.replace_uses_with_if(theirs, lambda use, inside=inside: use.operation in inside)
        else:
            copy = op
            op.detach()
        _insert(copy, statement, inside, statements)


def _insert(op: Operation, statement: Operation, users: list[Operation], statements: _Statements) -> None:
    """Inserts `op` before the first op of `statement` that uses it."""
    block = statement.parent
    assert block is not None
    waiting = {block.find_ancestor_op_in_block(user) for user in users}
    first = statement
    cursor: Operation | None = statement
    while waiting and cursor is not None:
        if cursor in waiting:
            waiting.remove(cursor)
            first = cursor
        cursor = cursor.prev_op
    block.insert_op_before(op, first)
    statements[op] = statement


def _may_move(op: Operation, statement: Operation) -> bool:
    """Whether a load or a call may be computed at `statement`: no op in between changes its result."""
    if statement.parent is not op.parent:
        return False
    between = op.next_op
    while between is not None and between is not statement:
        harmless = is_pure_expression(between) or isinstance(between, LetOp | AccessOp | AllocBufferOp)
        if not harmless and (not is_expression_op(between) or has_effect(op) or has_effect(between)):
            return False
        between = between.next_op
    return between is statement


def _name(op: Operation, statements: _Statements) -> None:
    result = op.results[0]
    let = LetOp(result.name_hint or "value", result)
    let.location = op.location
    result.replace_uses_with_if(let.result, lambda use: use.operation is not let)
    block = op.parent
    assert block is not None
    block.insert_op_after(let, op)
    statements[op] = let


def erase_if_dead(value: SSAValue) -> None:
    """Erases the expression ops that compute `value` alone if `value` has no uses. Calls stay."""
    todo = [value]
    while todo:
        op = todo.pop().owner
        if isinstance(op, Block) or op.parent is None or any(r.first_use is not None for r in op.results):
            continue
        if is_expression_op(op) and not has_effect(op):
            todo += captured_operands(op)
            op.detach()
            op.erase()


def erase_statement(op: Operation) -> None:
    """Erases a statement and the expression ops that compute its operands alone."""
    values = captured_operands(op)
    op.detach()
    op.erase()
    for value in values:
        erase_if_dead(value)


def captured_operands(op: Operation) -> list[SSAValue]:
    """The values from outside that `op` and its nested ops use."""
    if not op.regions:
        return list(op.operands)
    return [o for inner in op.walk() for o in inner.operands if not op.is_ancestor(o.owner)]


def computing_ops(value: SSAValue) -> Iterator[Operation]:
    """The ops that compute `value`: the op of this result, its nested ops, and the ops of their operands."""
    todo: list[SSAValue] = [value]
    seen: set[Operation] = set()
    while todo:
        op = todo.pop().owner
        if isinstance(op, Operation) and op not in seen:
            for inner in op.walk():
                seen.add(inner)
                yield inner
                todo += inner.operands


def depends_on(value: SSAValue, variables: Container[SSAValue]) -> bool:
    """Whether a value is one of some values, or computed from one."""
    return value in variables or any(operand in variables for op in computing_ops(value) for operand in op.operands)


def conjuncts(condition: SSAValue) -> Iterator[SSAValue]:
    """The conjuncts of a condition, in order."""
    if isinstance(op := condition.owner, arith.AndIOp) and dtype_of(condition.type).is_bool:
        yield from conjuncts(op.lhs)
        yield from conjuncts(op.rhs)
    else:
        yield condition


def following_ops(op: Operation) -> list[Operation]:
    """The ops after `op` in its block."""
    ops: list[Operation] = []
    while op.next_op is not None:
        op = op.next_op
        ops.append(op)
    return ops


def expressions_before(op: Operation) -> list[Operation]:
    """The expression ops that are computed for a statement and directly precede it, in order."""
    ops: list[Operation] = []
    while (previous := (ops or [op])[-1].prev_op) is not None and is_expression_op(previous):
        ops.append(previous)
    return ops[::-1]


def with_expressions(op: Operation) -> list[Operation]:
    """A statement, and before it the expression ops that are computed for it, in order."""
    return [*expressions_before(op), op]


def insertion_point_before(op: Operation) -> InsertPoint:
    """The insertion point before a statement and the expressions computed for it."""
    return InsertPoint.before(with_expressions(op)[0])


def expression_key(value: SSAValue) -> Hashable:
    """A key of an expression, equal for expressions of the same ops on the same values."""
    op = value.owner
    if isinstance(op, Block) or op.regions or not is_pure_expression(op) or isinstance(op, LetOp):
        return value
    return op.name, tuple(sorted(op.properties.items(), key=str)), value.type, tuple(map(expression_key, op.operands))
