"""Equivalence of programs up to names and to the form of index expressions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerType, MemRefType, NoneAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...analysis.index import Analyzer, Lin
from ...dialects.text import expression_text
from ...dialects.tir import (
    AccessOp,
    AllocBufferOp,
    AttrOp,
    Axis,
    BlockOp,
    ForOp,
    FuncOp,
    IfOp,
    InitOp,
    LetOp,
    Mixed,
    StoreOp,
)
from ...dialects.tir.tree import is_expression_op, treeify
from ...module import Module
from .conjuncts import Conjunct, Points, conjunct_strategy, divide_by_gcd, yielded_value

_NAMES = frozenset(("axis_names", "block_name", "buffer_name", "loop_var", "param_names", "var_name"))
_DECLARATIONS = (AccessOp, AllocBufferOp)

_KNOWN: dict[str, Callable[[Lin], list[Lin]]] = {"ge": lambda x: [x], "eq": lambda x: [x, -x], "ne": lambda _: []}
"""The nonnegative sums implied by `sum >= 0`, `sum == 0` and `sum != 0`."""

Where: TypeAlias = Operation | str


class _DifferenceFoundError(Exception):
    """Unwinds the walk at the first difference."""


def program_difference(a: Module, b: Module, *, block_names: bool = False, regions: bool = True) -> str | None:
    """A description of the first difference between two `tir` modules; None if they are the same program.

    Not compared: names of loops, axes, buffers and variables; the form of integer expressions that have the same value
    wherever they are computed (a loop variable of extent 1 is its minimum); the order of conjuncts, of the entries of
    reads and writes, and of the allocations of one block. Compared, for instance: extents and kinds of loops, axes,
    predicates, annotations, regions, types, and the form of float expressions.

    block_names: whether names of blocks are compared; users look up blocks by name.  regions: whether declared reads
    and writes are compared.
    """
    a, b = a.clone(), b.clone()
    for module in (a, b):
        treeify(module.op)
    try:
        _modules(a, b, block_names, regions)
    except _DifferenceFoundError as found:
        return str(found)
    return None


def _modules(a: Module, b: Module, block_names: bool, regions: bool) -> None:
    if list(a.function_ops) != list(b.function_ops):
        raise _DifferenceFoundError(f"functions differ:\n  {', '.join(a.function_ops)}\n  {', '.join(b.function_ops)}")
    for f, g in zip(a.function_ops.values(), b.function_ops.values(), strict=True):
        if not isinstance(f, FuncOp) or not isinstance(g, FuncOp):
            raise ValueError(f"function {f.sym_name.data} is not at the tir landing")
        _Comparison(f, g, block_names, regions).run()


class _Comparison:
    """Walks two functions in lockstep. `partner` maps variables of the second function to values of the first."""

    def __init__(self, a: FuncOp, b: FuncOp, block_names: bool, regions: bool):
        self.a, self.b = a, b
        self.block_names = block_names
        self.regions = regions
        self.left, self.right = Analyzer(), Analyzer()
        self.partner: dict[SSAValue, SSAValue] = {}
        self.where: list[Lin] = []
        """Sums of the first function that are nonnegative where the currently compared expressions are computed."""
        self._taken: set[SSAValue] = set()

    def fail(self, what: str, a: Where, b: Where) -> None:
        """Raises the first difference."""
        texts = [x if isinstance(x, str) else _line(x) for x in (a, b)]
        raise _DifferenceFoundError(f"{self.a.sym_name.data}: {what}\n  {texts[0]}\n  {texts[1]}")

    def require(self, same: bool, what: str, a: Where, b: Where) -> None:
        if not same:
            self.fail(what, a, b)

    def run(self) -> None:
        f, g = self.a, self.b
        types = [[str(_type(v.type)) for _, v in x.params] for x in (f, g)]
        self.require(types[0] == types[1], "parameters differ", *map(", ".join, types))
        self.require(_properties(f) == _properties(g), "attributes of the function differ", f, g)
        self.blocks(f.body.block, g.body.block, f, g)

    # Variables

    def bind(self, a: SSAValue, b: SSAValue) -> None:
        """Records that `a` and `b` are the same variable."""
        self.partner[b] = a
        self._taken.add(a)

    @contextmanager
    def trial(self) -> Generator[list[bool]]:
        """Discards the bindings made inside the context unless it sets the element of the list to True."""
        known, taken, verdict = dict(self.partner), set(self._taken), [False]
        yield verdict
        if not verdict[0]:
            self.partner, self._taken = known, taken

    def matches(self, same: Callable[[], bool]) -> bool:
        """Whether `same()` is true; keeps its bindings only in this case."""
        with self.trial() as verdict:
            verdict[0] = same()
        return verdict[0]

    # Statements

    def blocks(self, a: Block, b: Block, above: Operation, below: Operation) -> None:
        """Compares two blocks, whose parents are `above` and `below`."""
        for x, y in zip(a.args, b.args, strict=True):
            self.bind(x, y)
        left, right = _statements(a), _statements(b)
        for x, y in zip(left, right, strict=False):
            self.statement(x, y)
        if len(left) != len(right):
            more, position = max(left, right, key=len), min(len(left), len(right))
            lines = [_line(more[position]), "nothing more"]
            self.fail(f"number of statements in {_line(above)}", *(lines if more is left else lines[::-1]))
        self._accesses(a, b, above, below)
        self._allocations(a, b, above)

    def statement(self, a: Operation, b: Operation) -> None:
        self.require(type(a) is type(b), "statements differ", a, b)
        _STATEMENTS.get(type(a), _Comparison.operation)(self, a, b)

    def operation(self, a: Operation, b: Operation) -> None:
        """Compares the properties, the operands, the results and the regions of two statements."""
        self.require(_properties(a) == _properties(b), "attributes differ", a, b)
        self.require(len(a.operands) == len(b.operands), "number of operands differs", a, b)
        for x, y in zip(a.operands, b.operands, strict=True):
            self.value(x, y, "values differ", a, b)
        for x, y in zip(a.results, b.results, strict=True):
            self.require(_type(x.type) == _type(y.type), "types differ", a, b)
            self.bind(x, y)
        for x, y in zip(a.regions, b.regions, strict=True):
            self.blocks(x.block, y.block, a, b)

    def value(self, a: SSAValue, b: SSAValue, what: str, above: Operation, below: Operation) -> None:
        self.require(self.same(a, b), what, above, below)

    def loop(self, a: ForOp, b: ForOp) -> None:
        self.require(a.kind == b.kind and a.thread == b.thread, "kinds of loop differ", a, b)
        self.require(a.annotations == b.annotations, "annotations of a loop differ", a, b)
        self.require(a.variable.type == b.variable.type, "types of a loop variable differ", a, b)
        for what, x, y in zip(("minima", "extents", "steps"), a.mixed_bounds, b.mixed_bounds, strict=True):
            self.require(self.same_number(x, y), f"{what} of a loop differ", a, b)
        self.blocks(a.body.block, b.body.block, a, b)

    def block(self, a: BlockOp, b: BlockOp) -> None:
        if self.block_names:
            self.require(a.block_name == b.block_name, "names of a block differ", a, b)
        self.require(a.annotations == b.annotations, "annotations of a block differ", a, b)
        self.require(len(a.axes) == len(b.axes), "numbers of axes differ", a, b)
        texts = [f"{_line(op)} {_predicate(op)}" for op in (a, b)]
        self.require(self._same_condition(a.predicate, b.predicate), "predicates differ", *texts)
        known = [c for c in conjunct_strategy(self.left, a.predicate) if c.lin is not None]
        self.where = [x for c in known if c.lin is not None for x in _KNOWN[c.name](c.lin)]
        for x, y in zip(a.axes, b.axes, strict=True):
            self._axis(x, y, *(_line(op) for op in (a, b)))
        self.where = []
        self.blocks(a.body.block, b.body.block, a, b)

    def _axis(self, a: Axis, b: Axis, *blocks: str) -> None:
        texts = [f"{line} {x.kind} {x.name}: {_range(x.low, x.extent)}" for line, x in zip(blocks, (a, b), strict=True)]
        self.require(a.kind == b.kind, "kinds of an axis differ", *texts)
        self.require(a.binding.type == b.binding.type, "types of an axis differ", *texts)
        domains = self.same_number(a.low, b.low) and self.same_number(a.extent, b.extent)
        self.require(domains, "domains of an axis differ", *texts)
        texts = [f"{line} {x.name} = {expression_text(x.binding)}" for line, x in zip(blocks, (a, b), strict=True)]
        self.require(self.same(a.binding, b.binding), "bindings of an axis differ", *texts)

    def store(self, a: StoreOp, b: StoreOp) -> None:
        self.require(self.same(a.buffer, b.buffer), "stores to different buffers", a, b)
        indices = zip(a.indices, b.indices, strict=True)
        self.require(all(self.same(x, y) for x, y in indices), "indices of a store differ", a, b)
        self.require(self.same(a.value, b.value), "values of a store differ", a, b)
        self.require((a.predicate is None) == (b.predicate is None), "predicates of a store differ", a, b)
        if a.predicate is not None and b.predicate is not None:
            self.require(self.same(a.predicate, b.predicate), "predicates of a store differ", a, b)

    # Declarations, whose order is irrelevant

    def _accesses(self, a: Block, b: Block, above: Operation, below: Operation) -> None:
        for kind in ("reads", "writes") if self.regions else ():
            left, right = ([op for op in x.ops if isinstance(op, AccessOp) and op.kind.data == kind] for x in (a, b))
            lines = [f"{_line(op)} {kind} {_boxes(x)}" for op, x in ((above, left), (below, right))]
            self.require(self._pair(left, right, self._same_access), f"{kind} differ", *lines)

    def _allocations(self, a: Block, b: Block, above: Operation) -> None:
        left, right = ([op for op in x.ops if isinstance(op, AllocBufferOp)] for x in (a, b))
        lines = [f"{', '.join(map(_line, x)) or 'nothing'}" for x in (left, right)]
        self.require(self._pair(left, right, self._same_allocation), f"allocations in {_line(above)} differ", *lines)

    def _pair(self, left: Sequence[Any], right: Sequence[Any], same: Callable[[Any, Any], bool]) -> bool:
        """Whether the elements of `left` and `right` match one to one."""
        rest = list(right)
        for x in left:
            match = next((y for y in rest if self.matches(lambda x=x, y=y: same(x, y))), None)
            if match is None:
                return False
            rest.remove(match)
        return not rest

    def _same_access(self, a: AccessOp, b: AccessOp) -> bool:
        return self.same(a.buffer, b.buffer) and all(
            self.same_number(m, n) and self.same_number(e, f) for (m, e), (n, f) in zip(a.region, b.region, strict=True)
        )

    def _same_allocation(self, a: AllocBufferOp, b: AllocBufferOp) -> bool:
        return self.same(a.buffer, b.buffer)

    # Values

    def same_number(self, a: Mixed, b: Mixed) -> bool:
        if isinstance(a, SSAValue) and isinstance(b, SSAValue) and a.type != b.type:
            return False
        return self._same_sum(self.left.lin(a), self.right.lin(b))

    def same(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether two values are the same expression."""
        if b in self.partner or a in self._taken:
            if self.partner.get(b) is a:
                return True
            if not isinstance(b.type, IntegerType):
                return False
        if _type(a.type) != _type(b.type):
            return False
        if isinstance(a.type, MemRefType):
            return self._same_buffer(a, b)
        if isinstance(a.type, IntegerType):
            if self.matches(lambda: self._same_structure(a, b)):
                return True
            if a.type == IntegerType(1):
                return self._same_condition(a, b)
            return self._same_sum(self.left.lin(a), self.right.lin(b))
        return self._same_structure(a, b)

    def _same_buffer(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether two allocations match; binds the buffers at their first use, since declarations may be in any
        order."""
        x, y = a.owner, b.owner
        if not isinstance(x, AllocBufferOp) or not isinstance(y, AllocBufferOp) or _properties(x) != _properties(y):
            return False
        if not all(self.same(d, e) for d, e in zip(x.operands, y.operands, strict=True)):
            return False
        self.bind(a, b)
        return True

    def _same_structure(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether two values are computed by the same ops from the same values."""
        x, y = a.owner, b.owner
        if not isinstance(x, Operation) or not isinstance(y, Operation):
            return self.partner.get(b) is a
        if type(x) is not type(y) or isinstance(x, LetOp) or not is_expression_op(x):
            return self.partner.get(b) is a
        if _properties(x) != _properties(y) or len(x.operands) != len(y.operands):
            return False
        operands = zip(x.operands, y.operands, strict=True)
        if not all(self.same(d, e) for d, e in operands):
            return False
        ends = zip(map(yielded_value, x.regions), map(yielded_value, y.regions), strict=True)
        return all(self.same(d, e) for d, e in ends)

    def _same_sum(self, a: Lin, b: Lin) -> bool:
        translated = self._translate(a, b)
        if translated is None:
            return False
        return a == translated or self.left.bounds(rest := a - translated) == (0, 0) or self._is_zero(rest)

    def _translate(self, a: Lin, b: Lin) -> Lin | None:
        """`b` in the variables of the first function; None if it has a variable without a partner. A load counts as a
        variable, and is equal to a load of `a` from the same address."""
        loaded = [v for v in a.leaves() if _is_computed(v)]
        partners: dict[SSAValue, Lin] = {}
        for leaf in b.leaves():
            if _is_computed(leaf):
                partner = next((v for v in loaded if v.type == leaf.type and self._same_structure(v, leaf)), None)
            else:
                partner = self.partner.get(leaf)
            if partner is None:
                return None
            partners[leaf] = self.left.lin(partner)
        return self.left.substitute(b, partners)

    def _is_zero(self, lin: Lin) -> bool:
        """Whether isl proves that a sum is 0 for all values of its variables in their ranges."""
        points = Points(self.left, [lin, *self.where])
        facts = [fact for x in self.where if (fact := points.constraint("ge", x)) is not None]
        points_off_zero = points.set([*facts, points.constraint("ne", lin)])
        return points_off_zero is not None and bool(points_off_zero.is_empty())

    # Conditions

    def _same_condition(self, a: SSAValue | None, b: SSAValue | None) -> bool:
        left, right = (list(conjunct_strategy(n, v)) for n, v in ((self.left, a), (self.right, b)))
        return self._pair(left, right, self._same_conjunct) or self._same_points(left, right)

    def _same_points(self, left: Sequence[Conjunct], right: Sequence[Conjunct]) -> bool:
        """Whether isl proves that two integer conditions hold for the same values of the variables in their ranges."""
        a = [c.lin for c in left if c.lin is not None]
        b = [self._translate(Lin(), c.lin) for c in right if c.lin is not None]
        known = [x for x in b if x is not None]
        if not (len(a) == len(left) and len(known) == len(right)):
            return False
        points = Points(self.left, [*a, *known])
        there, here = (
            points.set([points.constraint(c.name, x) for c, x in zip(side, sums, strict=True)])
            for side, sums in ((left, a), (right, known))
        )
        return there is not None and here is not None and bool(there.is_equal(here))

    def _same_conjunct(self, a: Conjunct, b: Conjunct) -> bool:
        if a.name != b.name:
            return False
        if a.value is not None and b.value is not None:
            return self._same_structure(a.value, b.value)
        if a.operands is not None and b.operands is not None:
            return all(self.same(x, y) for x, y in zip(a.operands, b.operands, strict=True))
        if a.lin is None or b.lin is None:
            return False
        if (translated := self._translate(a.lin, b.lin)) is None:
            return False
        either_sign = a.name in ("eq", "ne") and divide_by_gcd(-translated, a.name) == divide_by_gcd(a.lin, a.name)
        return either_sign or divide_by_gcd(a.lin, a.name) == divide_by_gcd(translated, a.name)


_STATEMENTS: dict[type[Operation], Callable[[_Comparison, Any, Any], None]] = {
    BlockOp: _Comparison.block,
    ForOp: _Comparison.loop,
    StoreOp: _Comparison.store,
}


def _statements(block: Block) -> list[Operation]:
    """The statements of a block whose order is significant."""
    return [op for op in block.ops if not is_expression_op(op) and not isinstance(op, _DECLARATIONS)]


def _type(type: Attribute) -> Attribute:
    """The normal form of a type, with the memory space "global" omitted."""
    if isinstance(type, MemRefType) and type.memory_space == StringAttr("global"):
        return MemRefType(type.element_type, type.shape, type.layout, NoneAttr())
    return type


def _properties(op: Operation) -> dict[str, Attribute]:
    return {k: v for k, v in op.properties.items() if k not in _NAMES}


def _is_computed(value: SSAValue) -> bool:
    """Whether a value is an expression, not a variable."""
    return isinstance(value.owner, Operation) and is_expression_op(value.owner)


# Text


def _line(op: Operation) -> str:
    """The line of TVMScript for an op, or its first line."""
    match op:
        case FuncOp():
            return f"def {op.sym_name.data} {op.func_attrs or ''}".rstrip()
        case ForOp():
            low, extent, step = op.mixed_bounds
            rest = [op.kind.data, _range(low, extent), *([] if step == 1 else [f"step {_number(step)}"])]
            rest += [str(x) for x in (op.thread, op.annotations) if x is not None]
            return f"for {op.loop_var.data} in {', '.join(rest)}"
        case BlockOp():
            return f'block "{op.block_name.data}"{"" if op.annotations is None else f" {op.annotations}"}'
        case InitOp():
            return "init"
        case IfOp():
            return f"if {expression_text(op.condition)}"
        case StoreOp():
            indices = ", ".join(map(expression_text, op.indices))
            return f"{expression_text(op.buffer)}[{indices}] = {expression_text(op.value)}"
        case AllocBufferOp():
            return f"{op.buffer_name.data}: {op.type}"
        case AttrOp():
            return f'attr "{op.key.data}" {op.value_attr if op.value is None else expression_text(op.value)}'
        case _:
            operands = ", ".join(map(expression_text, op.operands))
            return f"{op.name} {operands}"


def _number(value: Mixed) -> str:
    return str(value) if isinstance(value, int) else expression_text(value)


def _range(low: Mixed, extent: Mixed) -> str:
    return f"{_number(low)} +: {_number(extent)}"


def _boxes(accesses: Iterable[AccessOp]) -> str:
    boxes = (f"{expression_text(a.buffer)}[{', '.join(_range(*r) for r in a.region)}]" for a in accesses)
    return ", ".join(boxes) or "nothing"


def _predicate(op: BlockOp) -> str:
    return "has none" if op.predicate is None else f"where {expression_text(op.predicate)}"
