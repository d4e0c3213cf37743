"""The pass `relay-fuse-operators`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...core.remarks import PassRemarks
from ...operators import Pattern
from ...operators.relay import OperatorOp
from .graphs import graph_blocks, graphs_of
from .outline import Outliner, erase_unused_scalars, operator_names

_remarks = PassRemarks("relay-fuse-operators")


@dataclass(frozen=True)
class RelayFuseOperatorsPass(ModulePass):
    """Fuses operators: outlines each group of operators that is to be one kernel into a function, and calls it.

    An operator is fused with its immediate post-dominator, through which all its value flow passes, and with all
    operators between, if their patterns allow it: elementwise, broadcasting and then injective operators with each
    other and before a reduction; elementwise operators after a product or convolution. Functions with equal bodies are
    merged.

    level: the highest phase of fusion; 0 outlines each operator by itself.

    Before
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relay.nn.relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %1 : tensor<8xf32>
        }

    After
        relay.func primitive @fused_exp_nn_relu("p0" %p0: tensor<8xf32>) {
          %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relay.nn.relu(%0) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %1 : tensor<8xf32>
        }
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.call @fused_exp_nn_relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    Must hold before: nothing.

    Gone after: operators outside of primitive functions.
    """

    name = "relay-fuse-operators"

    level: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = Outliner(op)
        for func in graphs_of(op):
            for block in graph_blocks(func):
                nodes = [node for node in block.ops if isinstance(node, OperatorOp)]
                for group in operator_groups(nodes, self.level, _remarks):
                    _remark_group(group)
                    outliner.outline(group, func, f"fused_{operator_names(group)}", primitive=True)
            erase_unused_scalars(func)


def _remark_group(group: Sequence[OperatorOp]) -> None:
    names = [node.operator.name for node in group]
    if len(names) > 1:
        _remarks.applied(group[-1], lambda: f"one kernel computes {', '.join(names[:-1])} and {names[-1]}")


# Groups


def operator_groups(
    nodes: Sequence[OperatorOp], level: int = 2, remarks: PassRemarks | None = None
) -> list[list[OperatorOp]]:
    """The groups of the operators of a block that are to be one kernel each, in the order of their last operators.

    level: as of `RelayFuseOperatorsPass`.  remarks: receive the operators that are not in the group of a reader.
    """
    groups = _Groups(nodes, level, {node: node.operator.pattern for node in nodes})
    if remarks is not None and remarks.are_collected:
        groups.remark_obstacles(remarks)
    return [[node for node in group if isinstance(node, OperatorOp)] for group in groups.all()]


def fusion_groups(patterns: Mapping[Operation, Pattern]) -> list[list[Operation]]:
    """The groups of ops of a block that are to be one kernel each, as of `operator_groups`.

    patterns: of the ops, in the order of the block."""
    return _Groups(list(patterns), 2, patterns).all()


@dataclass(frozen=True)
class _Limits:
    """The most general patterns with which an operator is fused. edge: on the paths to its post-dominator.  at_sink: of
    the group of the post-dominator.  between: of the groups of the operators on the paths."""

    edge: Pattern
    at_sink: Pattern
    between: Pattern


_BEFORE_SUMS = _Limits(Pattern.COMM_REDUCE, Pattern.OUT_FUSABLE, Pattern.INJECTIVE)
_LIMITS = {
    Pattern.ELEMWISE: _BEFORE_SUMS,
    Pattern.BROADCAST: _BEFORE_SUMS,
    Pattern.INJECTIVE: _Limits(Pattern.OPAQUE, Pattern.INJECTIVE, Pattern.INJECTIVE),
    Pattern.OUT_FUSABLE: _Limits(Pattern.ELEMWISE, Pattern.BROADCAST, Pattern.BROADCAST),
}
"""The limits of the operators of each pattern; others are fused with none of their readers."""


class _Groups:
    """A partition of the operators of a block into groups (a union-find structure). own: their patterns."""

    def __init__(self, nodes: Sequence[Operation], level: int, own: Mapping[Operation, Pattern]):
        self.nodes = nodes
        self.level = level
        self.own = own
        self.order = {node: n for n, node in enumerate(nodes)}
        self.root: dict[Operation, Operation] = {node: node for node in nodes}
        self.pattern: dict[Operation, Pattern] = dict(own)
        self.users = {node: _users(node) for node in nodes}
        self.depth: dict[Operation | None, int] = {None: 0}
        self.above: dict[Operation, tuple[Operation | None, Pattern]] = {}
        for node in reversed(nodes):
            self._dominate(node)
        for phase in range(level):
            for node in nodes:
                self._fuse(node, phase)

    def all(self) -> list[list[Operation]]:
        """The groups, each in the order of the block, in the order of their last operators."""
        groups: dict[Operation, list[Operation]] = {}
        for node in self.nodes:
            groups.setdefault(self._find(node), []).append(node)
        return sorted(groups.values(), key=lambda group: self.order[group[-1]])

    def _find(self, node: Operation) -> Operation:
        while self.root[node] is not node:
            self.root[node] = node = self.root[self.root[node]]
        return node

    def _kind(self, node: Operation) -> Pattern:
        return self.pattern[self._find(node)]

    # Dominators

    def _dominate(self, node: Operation) -> None:
        """Records the immediate post-dominator of an operator, and the most general pattern on the paths to it."""
        users, top, pattern = self.users[node], None, Pattern.OPAQUE
        if users and all(user in self.order for user in users):
            pattern = max(self._edge(node, user) for user in users)
            top = users[0]
            for user in users[1:]:
                top, pattern = self._meet(top, user, pattern)
        self.above[node] = top, pattern
        self.depth[node] = self.depth[top] + 1

    def _meet(self, a: Operation | None, b: Operation | None, pattern: Pattern) -> tuple[Operation | None, Pattern]:
        while a is not b:
            if self.depth[a] < self.depth[b]:
                a, b = b, a
            assert a is not None
            a, step = self.above[a]
            pattern = max(pattern, step)
        return a, pattern

    def _edge(self, node: Operation, user: Operation) -> Pattern:
        """The pattern by which `user` reads an operator: elementwise for a broadcasting user if the types are equal."""
        pattern = self.own[user]
        same = any(result.type == user.results[0].type for result in node.results if result in user.operands)
        return Pattern.ELEMWISE if pattern == Pattern.BROADCAST and same else pattern

    # Fusion

    def _fuse(self, node: Operation, phase: int) -> None:
        sink, _ = self.above[node]
        own = self.own[node]
        is_due = phase == (own == Pattern.INJECTIVE) or own <= Pattern.BROADCAST
        if is_due and sink is not None and self._find(sink) is not self._find(node):
            nodes = self._between(node, sink)
            if self._obstacle(node, sink, nodes) is None:
                self._join(nodes, sink)

    def _obstacle(self, node: Operation, sink: Operation, nodes: Iterable[Operation]) -> str | None:
        """The reason for which an operator and all operators on the paths to `sink` are no group with `sink`; None if
        they may be. A reason remains when other operators are fused. nodes: the operator and those on the paths."""
        own, (_, edge) = self.own[node], self.above[node]
        limits = _LIMITS.get(own)
        if limits is None:
            return f"its pattern is {_name(own)}"
        name = _operator_name(sink)
        if edge > limits.edge:
            return f"{name} reads it by the pattern {_name(edge)}, expected at most {_name(limits.edge)}"
        if self._kind(sink) > limits.at_sink:
            found, most = _name(self._kind(sink)), _name(limits.at_sink)
            return f"the kernel of {name} has the pattern {found}, expected at most {most}"
        if not self._has_one_anchor(nodes, sink):
            return f"the kernel of {name} would have two reductions or products"
        for each in nodes:
            if each is not node and self._kind(each) > limits.between:
                return f"{_operator_name(each)} is on a path to {name} and has the pattern {_name(self._kind(each))}"
        return None

    def remark_obstacles(self, remarks: PassRemarks) -> None:
        """Reports each operator that is not in the group of a reader, with the reason."""
        for node in self.nodes:
            readers = [user for user in self.users[node] if user in self.order]
            apart = [user for user in readers if self._find(user) is not self._find(node)]
            if apart:
                names = ", ".join(dict.fromkeys(map(_operator_name, apart)))
                reason = self._reason(node)
                remarks.missed(
                    node, lambda n=names, r=reason, x=node: f"{_operator_name(x)} is not fused with {n}: {r}"
                )

    def _reason(self, node: Operation) -> str:
        """The reason for which an operator is not in the group of its readers."""
        sink, _ = self.above[node]
        if self.level == 0:
            return "level is 0"
        if sink is None:
            outside = [user for user in self.users[node] if user not in self.order]
            if outside:
                return f"its result leaves the operators of the block, by {outside[0].name}"
            return "its readers have no common reader that all paths reach"
        if self.level == 1 and self.own[node] == Pattern.INJECTIVE:
            return "level 1 fuses no injective operator with its readers"
        reason = self._obstacle(node, sink, self._between(node, sink))
        assert reason is not None, "a reason remains when other operators are fused"
        return reason

    def _between(self, node: Operation, sink: Operation) -> set[Operation]:
        """An operator and all operators on the paths to `sink`, without `sink`."""
        nodes, todo = set[Operation](), [node]
        while todo:
            top = todo.pop()
            if top is not sink and top not in nodes:
                nodes.add(top)
                todo += self.users[top]  # pyright: ignore[reportArgumentType]
        return nodes

    def _has_one_anchor(self, nodes: Iterable[Operation], sink: Operation) -> bool:
        """Whether the merged group would have at most one reduction, product or convolution."""
        roots = {self._find(each) for each in (*nodes, sink)}
        return sum(self.pattern[root] >= Pattern.COMM_REDUCE for root in roots) <= 1

    def _join(self, nodes: Iterable[Operation], sink: Operation) -> None:
        target = self._find(sink)
        for each in nodes:
            root = self._find(each)
            self.root[root] = target
            self.pattern[target] = max(self.pattern[target], self.pattern[root])


def _name(pattern: Pattern) -> str:
    return pattern.name.lower()


def _operator_name(node: Operation) -> str:
    return node.operator.name if isinstance(node, OperatorOp) else node.name


def _users(node: Operation) -> list[Operation]:
    """The ops of the same block that use the results of an operator; for users nested in a branch, the branch."""
    users: dict[Operation, None] = {}
    for result in node.results:
        for use in result.uses:
            user: Operation | None = use.operation
            while user is not None and user.parent is not node.parent:
                user = user.parent_op()
            assert user is not None
            users[user] = None
    return list(users)
