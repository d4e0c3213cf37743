"""`Analyzer`: integer SSA values as sums in normal form, and conditions decided by their ranges."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...core.dtypes import DType, dtype_of, wrap_int
from ...core.intervals import Interval, bit_and, bit_or, hull, truncdiv, truncmod, within
from ...dialects.tir import (
    BlockOp,
    CastOp,
    FloormodOp,
    ForOp,
    IfOp,
    IfThenElseOp,
    LaunchThreadOp,
    LetOp,
    MatchBufferOp,
    Mixed,
    SymbolOp,
    constant_value,
    element_limit,
)
from .conditions import assume, decide, yielded_values
from .ranges import type_range
from .rules import Rules
from .terms import Atom, Lin, ProductAtom

_INTEGERS = (IntegerType, IndexType)

# Conditions nested deeper than this are opaque.
_MAX_CONDITION_DEPTH = 64


class Analyzer(Rules):
    """An analysis of the integer values of a program: their sums, their ranges, and the conditions that always hold.

    A result for a value holds wherever the value is visible, under the current assumptions (`assuming`, `inside`). An
    analyzer may be created anywhere: the range of a loop variable or a block axis is read off the loop or the block.
    Results are cached, so create a new analyzer after a change of the program.

    Wrapping. `lin(v)` is congruent to v modulo 2**(width of v's type), and equal to it whenever `fits(lin(v), v.type)`:
    additions, subtractions and products wrap, and are sums all the same. `exact(v)` is always equal to v: where the sum
    may not fit, it is v itself. Quotients, minima and comparisons are built from exact operands only. So no result
    assumes that index arithmetic does not overflow.

    Also not assumed: that a divisor is not zero (a quotient by a divisor that may be zero is opaque), that the bindings
    of a block lie in its domains (an axis has the range of its binding, intersected with its domain where the binding
    is proved to lie in it). Assumed, because arguments are checked for it: that a symbol which is the extent of a
    parameter is at least 0, and that the parameter has fewer elements than `element_limit`.

    through_lets: whether a value named by `tir.let` is replaced by the named value; else it is an atom with the range
    of the named value, unless that is a single number.
    """

    def __init__(self, *, through_lets: bool = True):
        super().__init__()
        self.through_lets = through_lets
        self._condition_depth = 0

    # Values

    def lin(self, value: Mixed) -> Lin:
        """The sum for an integer value, modulo 2**width. ValueError if its type is not an integer."""
        if isinstance(value, int):
            return Lin(value)
        imports = self.scope.imports
        known = imports.get(value)
        if known is not None:
            return known
        type_range(value.type)
        todo = [value]
        while todo:
            top = todo[-1]
            if top in imports:
                todo.pop()
                continue
            missing = [o for o in _integer_operands(top.owner) if o not in imports]
            if missing:  # operands first, so that the recursion depth does not grow with the expression
                todo += missing
                continue
            self.remember(imports, top, self._import(top))
        return imports[value]

    def exact(self, value: Mixed) -> Lin:
        """The sum equal to an integer value."""
        lin = self.lin(value)
        if isinstance(value, int) or not lin.terms or self.fits(lin, value.type):
            return lin
        return self._opaque(value)

    def same(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether two values of one integer type are provably the same number, wrapping included."""
        if a is b:
            return True
        difference = self.lin(a) - self.lin(b)
        modulus = 2 ** dtype_of(a.type).bits
        return all(k % modulus == 0 for k in (difference.const, *difference.terms.values()))

    def number(self, value: Mixed) -> int | None:
        """The number that a value is always equal to, or None."""
        if isinstance(value, int):
            return value
        return self.constant(self.exact(value))

    def is_multiple(self, value: Mixed, factor: int) -> bool:
        """Whether an integer value is provably a multiple of a positive number, wrapping included."""
        exact = self.exact(value)
        if self.constant(self.floormod(exact, factor)) == 0:
            return True
        if isinstance(value, int) or 2 ** dtype_of(value.type).bits % factor:
            return False
        lin = self.lin(value)  # congruent to the value modulo `factor` too
        return all(k % factor == 0 for k in (lin.const, *lin.terms.values()))

    def _import(self, value: SSAValue) -> Lin:
        number = constant_value(value)
        if isinstance(number, int):
            return Lin(number)
        handler, lin = _IMPORT.get(type(value.owner)), None
        if handler is not None and dtype_of(value.type).kind == "int":
            lin = handler(self, value.owner)
        if lin is None or not self.within_limits(lin):
            return self._opaque(value)
        if not lin.terms:
            return Lin(wrap_int(lin.const, dtype_of(value.type)))
        low, high = self.bounds(lin)
        if low == high and within((low, high), type_range(value.type)):
            return Lin(low)
        return lin

    def _opaque(self, value: SSAValue) -> Lin:
        low, high = self.atom_bounds(value)
        return Lin(low) if low == high else Lin.of(value)

    def value_range(self, value: SSAValue) -> tuple[Interval, list[Lin]]:
        """The range of an SSA value and facts about it, from the op or block that defines it. A vector denotes the
        number of a lane (`Lanes`)."""
        is_lane = isinstance(value.type, VectorType)
        whole = (0, dtype_of(value.type).lanes - 1) if is_lane else type_range(value.type)
        if isinstance(value, BlockArgument):
            parent = value.owner.parent_op()
            handler = _ARGUMENT_RANGE.get(type(parent))
            return (whole, []) if handler is None else handler(self, parent, value)
        handler = None if is_lane else _RESULT_RANGE.get(type(value.owner))
        interval = whole if handler is None else handler(self, value.owner)
        return (interval if interval is not None and within(interval, whole) else whole), []

    def product_limit(self, atom: ProductAtom) -> int | None:
        """The limit of a product of extents of one parameter: the number of its elements."""
        first = atom.factors[0]
        if not isinstance(first, SSAValue) or not isinstance(first.owner, SymbolOp):
            return None
        limits = (_product_limit(op, atom.factors) for op in _parameters(first.owner))
        return min((limit for limit in limits if limit is not None), default=None)

    # Conditions

    def decide(self, condition: SSAValue) -> bool | None:
        """Whether a bool is always true or always false under the current assumptions, or None."""
        decisions = self.scope.decisions
        if condition not in decisions:
            if self._condition_depth > _MAX_CONDITION_DEPTH:
                return None
            self._condition_depth += 1
            try:
                self.remember(decisions, condition, decide(self, condition))
            finally:
                self._condition_depth -= 1
        return decisions[condition]

    def assume(self, condition: SSAValue, truth: bool = True) -> None:
        """Adds the assumption that a bool equals `truth` to the current scope."""
        assume(self, condition, truth)

    @contextmanager
    def assuming(self, condition: SSAValue | None, truth: bool = True) -> Generator[None]:
        """Assumes a bool to be `truth` in the body; None is no condition."""
        if condition is None:
            yield
            return
        with self.assumptions():
            self.assume(condition, truth)
            yield

    @contextmanager
    def inside(self, op: Operation) -> Generator[None]:
        """Assumes in the body the conditions that hold at `op`: the branches of the `tir.if`s around it, predicates of
        blocks, and that the loops around it run at least once."""
        with self.assumptions():
            for parent, block in reversed(list(_ancestors(op))):
                self.enter(parent, block)
            yield

    def enter(self, op: Operation, block: Block) -> None:
        """Assumes in the current scope the conditions that `op` guarantees in a block of its regions (not those around
        `op`)."""
        match op:
            case IfOp() | IfThenElseOp():
                self.assume(op.condition, block is op.then.block)
            case BlockOp(predicate=SSAValue() as predicate):
                self.assume(predicate)
            case ForOp() if not isinstance(op.mixed_bounds[1], int):
                self.assume_not_negative(self.exact(op.mixed_bounds[1]) - 1)
            case _:
                pass


def _ancestors(op: Operation) -> Iterator[tuple[Operation, Block]]:
    """The ops around `op`, innermost first, each with its block that contains `op`."""
    block = op.parent
    while block is not None and (parent := block.parent_op()) is not None:
        yield parent, block
        block = parent.parent


def _integer_operands(op: Any) -> list[SSAValue]:
    """The integers that the sum or range of the result of `op` depends on."""
    kind = type(op)
    if kind not in _IMPORT and kind not in _RESULT_RANGE:
        return []
    operands = yielded_values(op) if kind is IfThenElseOp else op.operands
    return [o for o in operands if isinstance(o.type, _INTEGERS)]


# The sum for the result of an op, or None where it is opaque


def _import_product(analyzer: Analyzer, op: arith.MuliOp) -> Lin | None:
    lhs, rhs = analyzer.lin(op.lhs), analyzer.lin(op.rhs)
    if lhs.terms and rhs.terms and len(lhs.terms) * len(rhs.terms) > 8:
        return None
    return analyzer.mul(lhs, rhs)


def _import_floor(
    rule: Callable[[Analyzer, Lin, Lin], Lin], *, truncating: bool
) -> Callable[[Analyzer, arith.FloorDivSIOp], Lin | None]:
    def handler(analyzer: Analyzer, op: Any) -> Lin | None:
        a, b = analyzer.exact(op.lhs), analyzer.exact(op.rhs)
        if not analyzer.may_be_0(b):
            return divide(analyzer, a, b)
        with analyzer.assumptions():
            assume_iterations(analyzer, a)
            b = analyzer.exact(op.rhs)  # `n` rather than `max(n, 0)`
            return divide(analyzer, a, b) if analyzer.bounds(b)[0] > 0 else None

    def divide(analyzer: Analyzer, a: Lin, b: Lin) -> Lin | None:
        if b.terms and analyzer.bounds(b)[1] < 0:
            return None
        if truncating and (analyzer.bounds(b)[0] < 0 or analyzer.bounds(a)[0] < 0):
            return None
        return rule(analyzer, a, b)

    return handler


def assume_iterations(analyzer: Analyzer, lin: Lin) -> None:
    """Assumes that the loops whose variables are in a sum have iterations: else the sum has no value. A quotient by an
    extent of a fused loop is defined for this reason: `f // n` with `f` in `range(n * 32)`."""
    for leaf in dict.fromkeys(lin.leaves()):
        loop = leaf.owner.parent_op() if isinstance(leaf, BlockArgument) else None
        if isinstance(loop, ForOp) and not isinstance(extent := loop.mixed_bounds[1], int):
            analyzer.assume_not_negative(analyzer.exact(extent) - 1)


def _import_shift_left(analyzer: Analyzer, op: arith.ShLIOp) -> Lin | None:
    amount = analyzer.number(op.rhs)
    if amount is None or not 0 <= amount < dtype_of(op.lhs.type).bits:
        return None
    return analyzer.lin(op.lhs) * 2**amount


def _import_shift_right(analyzer: Analyzer, op: arith.ShRSIOp) -> Lin | None:
    amount = analyzer.number(op.rhs)
    if amount is None or not 0 <= amount < dtype_of(op.lhs.type).bits - 1:
        return None
    return analyzer.floordiv(analyzer.exact(op.lhs), 2**amount)


def _import_mask(analyzer: Analyzer, op: arith.AndIOp) -> Lin | None:
    mask = analyzer.number(op.rhs)
    if mask is None or mask <= 0 or mask & (mask + 1) or mask == type_range(op.lhs.type)[1]:
        return None
    return analyzer.floormod(analyzer.exact(op.lhs), mask + 1)


def _import_conversion(analyzer: Analyzer, source: SSAValue, result: SSAValue) -> Lin | None:
    if not isinstance(source.type, IntegerType | IndexType):
        return None
    narrower = dtype_of(result.type).bits <= dtype_of(source.type).bits
    return analyzer.lin(source) if narrower else analyzer.exact(source)


def _import_sign_extension(analyzer: Analyzer, op: arith.ExtSIOp) -> Lin | None:
    bits = dtype_of(op.input.type).bits  # the analyzer takes an i1 as 0 or 1, but this op as 0 or -1
    return None if bits == 1 else _import_conversion(analyzer, op.input, op.result)


def _import_zero_extension(analyzer: Analyzer, op: arith.ExtUIOp) -> Lin | None:
    exact = analyzer.exact(op.input)
    return exact if analyzer.bounds(exact)[0] >= 0 else None


def _import_let(analyzer: Analyzer, op: LetOp) -> Lin | None:
    lin = analyzer.lin(op.value)
    return lin if analyzer.through_lets or not lin.terms else None


def _import_choice(analyzer: Analyzer, op: arith.SelectOp) -> Lin | None:
    chosen = analyzer.decide(op.cond)
    if chosen is not None:
        return analyzer.lin(op.lhs if chosen else op.rhs)
    lhs, rhs = analyzer.lin(op.lhs), analyzer.lin(op.rhs)
    return lhs if lhs == rhs else None


def _import_absolute(analyzer: Analyzer, op: math.AbsIOp) -> Lin | None:
    low, high = analyzer.bounds(exact := analyzer.exact(op.operand))
    return exact if low >= 0 else -exact if high <= 0 else None


_IMPORT: dict[type[Any], Callable[[Analyzer, Any], Lin | None]] = {
    arith.AddiOp: lambda a, op: a.add(a.lin(op.lhs), a.lin(op.rhs)),
    arith.SubiOp: lambda a, op: a.sub(a.lin(op.lhs), a.lin(op.rhs)),
    arith.MuliOp: _import_product,
    arith.FloorDivSIOp: _import_floor(Analyzer.floordiv, truncating=False),
    FloormodOp: _import_floor(Analyzer.floormod, truncating=False),
    arith.DivSIOp: _import_floor(Analyzer.floordiv, truncating=True),
    arith.RemSIOp: _import_floor(Analyzer.floormod, truncating=True),
    arith.MinSIOp: lambda a, op: a.minimum(a.exact(op.lhs), a.exact(op.rhs)),
    arith.MaxSIOp: lambda a, op: a.maximum(a.exact(op.lhs), a.exact(op.rhs)),
    arith.ShLIOp: _import_shift_left,
    arith.ShRSIOp: _import_shift_right,
    arith.AndIOp: _import_mask,
    arith.ExtSIOp: _import_sign_extension,
    arith.ExtUIOp: _import_zero_extension,
    arith.TruncIOp: lambda a, op: _import_conversion(a, op.input, op.result),
    arith.IndexCastOp: lambda a, op: _import_conversion(a, op.input, op.result),
    arith.SelectOp: _import_choice,
    math.AbsIOp: _import_absolute,
    CastOp: lambda a, op: _import_conversion(a, op.value, op.result),
    LetOp: _import_let,
}


def is_index_arithmetic(op: Operation) -> bool:
    """Whether `op` computes a signed scalar integer that the normal form can represent."""
    if type(op) not in _IMPORT:
        return False
    type_ = op.results[0].type
    return isinstance(type_, IntegerType | IndexType) and dtype_of(type_).kind == "int"


# Ranges of opaque results


def _bits(op: Operation) -> DType:
    return dtype_of(op.results[0].type)


def _choice_range(analyzer: Analyzer, *values: SSAValue) -> Interval:
    return hull(*(analyzer.bounds(analyzer.exact(v)) for v in values))


def _symbol_range(_analyzer: Analyzer, op: SymbolOp) -> Interval:
    low, high = type_range(op.result.type)
    parameters = list(_parameters(op))
    limits = (_product_limit(parameter, (op.result,)) for parameter in parameters)
    return (max(low, 0) if parameters else low), min((high, *(limit for limit in limits if limit is not None)))


def _parameters(op: SymbolOp) -> Iterator[MatchBufferOp]:
    """The parameters with a symbol as an extent. The arguments of the function have fewer uses than the symbol,
    which is in every index of a buffer."""
    arguments = () if op.parent is None else op.parent.args
    users = (use.operation for argument in arguments for use in argument.uses)
    return (user for user in users if type(user) is MatchBufferOp and op.result in user.dims)


def _product_limit(op: MatchBufferOp, factors: Sequence[Atom]) -> int | None:
    """The maximum product of some extents of a parameter, from the limit on its elements; None if unknown."""
    limit = element_limit(op)
    rest = list(op.dims)
    for factor in factors:
        if factor not in rest:
            return None
        rest.remove(factor)  # pyright: ignore[reportArgumentType]
    known = prod(max(extent, 1) for extent in op.mixed_shape if isinstance(extent, int))
    return None if limit is None else (limit - 1) // known


def _absolute_range(analyzer: Analyzer, op: math.AbsIOp) -> Interval | None:
    low, high = analyzer.bounds(analyzer.exact(op.operand))
    return (0, max(-low, high)) if low > type_range(op.result.type)[0] else None


def _operand_ranges(analyzer: Analyzer, op: Any) -> tuple[Interval, Interval]:
    lhs, rhs = (analyzer.bounds(analyzer.exact(o)) for o in op.operands)
    return lhs, rhs


def _division_range(
    rule: Callable[[Interval, Interval], Interval], *, signed: bool
) -> Callable[[Analyzer, Any], Interval | None]:
    """The range of a truncating quotient or remainder by a positive divisor. signed: whether the op interprets negative
    numbers as such."""

    def handler(analyzer: Analyzer, op: Any) -> Interval | None:
        dividend, divisor = _operand_ranges(analyzer, op)
        return rule(dividend, divisor) if divisor[0] > 0 and (signed or dividend[0] >= 0) else None

    return handler


_RESULT_RANGE: dict[type[Any], Callable[[Analyzer, Any], Interval | None]] = {
    SymbolOp: _symbol_range,
    LetOp: lambda a, op: a.bounds(a.exact(op.value)),
    arith.SelectOp: lambda a, op: _choice_range(a, op.lhs, op.rhs),
    IfThenElseOp: lambda a, op: _choice_range(a, *yielded_values(op)),
    math.AbsIOp: _absolute_range,
    math.CtPopOp: lambda a, op: (0, _bits(op).bits),
    math.CountLeadingZerosOp: lambda a, op: (0, _bits(op).bits),
    arith.AndIOp: lambda a, op: bit_and(*_operand_ranges(a, op)),
    arith.OrIOp: lambda a, op: bit_or(*_operand_ranges(a, op)),
    arith.XOrIOp: lambda a, op: bit_or(*_operand_ranges(a, op)),
    arith.DivSIOp: _division_range(truncdiv, signed=True),
    arith.DivUIOp: _division_range(truncdiv, signed=False),
    arith.RemSIOp: _division_range(truncmod, signed=True),
    arith.RemUIOp: _division_range(truncmod, signed=False),
}


# Ranges of variables


def _iteration_range(analyzer: Analyzer, variable: SSAValue, low: Mixed, extent: Mixed) -> tuple[Interval, list[Lin]]:
    """The range of a variable from `low` to below `low + extent`, and facts about it."""
    whole = type_range(variable.type)
    if isinstance(low, int) and isinstance(extent, int) and extent > 0 and within((low, low + extent), whole):
        return (low, low + extent - 1), []  # as below, without sums
    first, count = analyzer.exact(low), analyzer.exact(extent)
    if analyzer.bounds(count)[0] < 1:
        with analyzer.assumptions():  # what is known of the variable holds where the loop has iterations
            analyzer.assume_not_negative(count - 1)
            count = analyzer.exact(extent)
    last = first + count - 1
    if not analyzer.fits(last + 1, variable.type):
        # The end may have wrapped: then either no iteration runs, or the end is the true one.
        last = Lin(whole[1])
    bounds = analyzer.bounds(first)[0], analyzer.bounds(last)[1]
    if bounds[0] > bounds[1]:  # never runs
        return whole, []
    this = Lin.of(variable)
    return bounds, [fact for fact, known in ((this - first, first), (last - this, last)) if known.terms]


def _loop_range(analyzer: Analyzer, op: ForOp, variable: BlockArgument) -> tuple[Interval, list[Lin]]:
    low, extent, step = op.mixed_bounds
    (least, most), facts = _iteration_range(analyzer, variable, low, extent)
    if isinstance(low, int) and isinstance(extent, int) and isinstance(step, int):
        most -= (most - least) % step
    return (least, most), facts


def _axis_range(analyzer: Analyzer, op: BlockOp, variable: BlockArgument) -> tuple[Interval, list[Lin]]:
    least, extent = op.domain(variable.index)
    this = Lin.of(variable)
    with analyzer.assuming(op.predicate):
        binding = analyzer.exact(op.bindings[variable.index])
        bounds = analyzer.bounds(binding)
        if isinstance(least, int) and isinstance(extent, int) and within(bounds, (least, least + extent - 1)):
            return bounds, []  # as below, without sums
        low = analyzer.exact(least)
        end = low + analyzer.exact(extent)
        facts: list[Lin] = []
        if analyzer.is_provably("ge", binding, low):
            bounds = max(bounds[0], analyzer.bounds(low)[0]), bounds[1]
            facts += [this - low] if low.terms else []
        if analyzer.is_provably("lt", binding, end):
            bounds = bounds[0], min(bounds[1], analyzer.bounds(end)[1] - 1)
            facts += [end - 1 - this] if end.terms else []
    return bounds, facts


_ARGUMENT_RANGE: dict[type[Any], Callable[[Analyzer, Any, BlockArgument], tuple[Interval, list[Lin]]]] = {
    ForOp: _loop_range,
    LaunchThreadOp: lambda a, op, variable: _iteration_range(a, variable, 0, op.mixed_extent),
    BlockOp: _axis_range,
}
