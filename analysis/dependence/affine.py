"""Integer values and conditions of a program as functions and sets of isl, built without text.

isl's parser costs more than most computations on its result, so sums are built through isl's coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...core.comparisons import UNSIGNED_PREDICATES, predicate_of
from ...core.dtypes import dtype_of
from ...core.intervals import Interval, add, floordiv, floormod, mul, signed_range, sub, within
from ...dialects.text import expression_text
from ...dialects.tir import (
    DYNAMIC,
    BlockOp,
    BufferOp,
    CastOp,
    FloormodOp,
    ForOp,
    FuncOp,
    IfThenElseOp,
    IntrinsicOp,
    LaunchThreadOp,
    LetOp,
    Mixed,
    SymbolOp,
    YieldOp,
    comparison_name,
    constant_value,
)
from ...dialects.tir.base import static_values
from ...dialects.tir.tree import is_expression_op
from .. import isl
from ..index import Analyzer, Atom, Compound, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, render_sum, type_range
from ..names import memory_name

Point: TypeAlias = tuple[int, ...]

_WORD = 32


class NotAffineValue(Exception):
    """A value that is no affine function of the dimensions and parameters. Holds the value."""

    def __init__(self, value: SSAValue):
        super().__init__(value)
        self.value = value


class _NewParameterError(Exception):
    """The space has gained a parameter: functions computed before do not match functions computed afterwards."""


class IndexAnalyzer(Analyzer):
    """An analyzer that takes the ranges of block axes from their domains, and arithmetic on unknown sizes as exact.

    A binding outside of its domain is excluded, and so are sizes so large that index arithmetic on them would wrap
    (docs/legality.md).
    """

    def value_range(self, value: SSAValue) -> tuple[Interval, list[Lin]]:
        """The range of an SSA value and facts about it, with the range of a block axis from its domain."""
        if isinstance(value, BlockArgument) and isinstance(block := value.owner.parent_op(), BlockOp):
            axis = block.axes[value.index]
            if isinstance(axis.low, int) and isinstance(axis.extent, int) and axis.extent > 0:
                return (axis.low, axis.low + axis.extent - 1), []
            this, low = Lin.of(value), self.lin(axis.low)
            return type_range(value.type), [this - low, low + self.lin(axis.extent) - 1 - this]
        return super().value_range(value)

    def fits(self, lin: Lin, type: Any) -> bool:
        """Whether every value of a sum is in the range of a type, or the sum depends on a symbolic size."""
        if super().fits(lin, type):
            return True
        return dtype_of(type).bits >= _WORD and any(_is_size(v) for v in lin.leaves())


def _is_size(value: SSAValue) -> bool:
    """Whether a value, or its domain or range, depends on a symbolic size: a symbol, or a parameter in a shape."""
    owner = value.owner
    if isinstance(owner, SymbolOp):
        return True
    parent = owner.parent_op() if isinstance(owner, Block) else None
    if isinstance(parent, FuncOp):
        return _is_in_shape(value)
    bounds: Iterable[SSAValue] = ()
    if isinstance(parent, BlockOp):
        bounds = parent.domains
    elif parent is not None and parent.name in ("tir.for", "tir.launch_thread"):
        bounds = parent.operands
    return any(any(_is_size(leaf) for leaf in _leaves(b)) for b in bounds)


def _is_in_shape(value: SSAValue) -> bool:
    """Whether the shape of a buffer is computed from a value."""
    users = [use.operation for use in value.uses]
    return any(
        isinstance(user, BufferOp) or (is_expression_op(user) and any(map(_is_in_shape, user.results)))
        for user in users
    )


def _leaves(value: SSAValue) -> list[SSAValue]:
    op = value.owner
    if isinstance(op, Operation) and not isinstance(op, SymbolOp) and op.operands and not op.regions:
        return [leaf for operand in op.operands for leaf in _leaves(operand)]
    return [value]


class Parameters:
    """The values that are fixed during the region, each with its name in isl."""

    def __init__(self, is_fixed: Callable[[SSAValue], bool]):
        self.is_fixed = is_fixed
        self.names: dict[Atom, str] = {}

    def name(self, value: Atom) -> str:
        """The name of a value in isl, or of a quotient or remainder of fixed values by a symbolic divisor;
        NotAffineValue if the value is not fixed."""
        if value not in self.names:
            for leaf in Lin.of(value).leaves():
                if not self.is_fixed(leaf):
                    raise NotAffineValue(leaf)
            self.names[value] = f"p{len(self.names)}"
        return self.names[value]


def parameter_name(value: Atom) -> str:
    """The text of a parameter in messages."""
    return memory_name(value) if isinstance(value, SSAValue) else render_sum(Lin.of(value), expression_text)


def integer(number: int) -> isl.Val:
    """A number of any size as an isl value: islpy itself accepts at most 64 bits."""
    return isl.Val(number) if -(2**63) <= number < 2**63 else isl.Val(str(number))


def _is_by_symbol(atom: Atom) -> bool:
    """Whether an atom is a quotient or remainder by a symbolic divisor."""
    return isinstance(atom, DivAtom | ModAtom) and bool(atom.divisor.terms)


def ranges_of(parameters: Mapping[Atom, str]) -> isl.Set:
    """The values that parameters can have, for instance the ranges of their loops, as a set of parameters by name."""
    analyzer = IndexAnalyzer()
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(parameters))
    for n, name in enumerate(parameters.values()):
        space = space.set_dim_name(isl.dim_type.param, n, name)
    result = isl.Set.universe(space)
    for n, value in enumerate(parameters):
        low, high = analyzer.atom_bounds(value)
        result = result.lower_bound_val(isl.dim_type.param, n, integer(low)).upper_bound_val(
            isl.dim_type.param, n, integer(high)
        )
    return result


class Affine:
    """Functions and sets on a space of `rank` dimensions, some of which represent values of the program.

    dims: the dimension of each value, or quotient or remainder of a value.
    """

    def __init__(self, analyzer: Analyzer, parameters: Parameters, rank: int):
        self.analyzer = analyzer
        self.parameters = parameters
        self.rank = rank
        self.dims: dict[Atom, int] = {}
        self._directly: dict[SSAValue, _Ranged | None] = {}
        self._space: isl.Space | None = None
        self._known = -1

    def space(self) -> isl.Space:
        """The space of the dimensions and of all parameters met so far."""
        names = self.parameters.names
        if self._space is None or self._known != len(names):
            space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, len(names), self.rank)
            for n, name in enumerate(names.values()):
                space = space.set_dim_name(isl.dim_type.param, n, name)
            self._space, self._known = space, len(names)
            self._directly.clear()
        return self._space

    def universe(self) -> isl.Set:
        """All points of the space."""
        return isl.Set.universe(self.space())

    # Functions

    def function(self, value: Mixed) -> isl.PwAff:
        """An integer as a function of the dimensions. NotAffineValue if the integer is not one."""
        if isinstance(value, int):
            return self.constant(value)
        self.space()  # drops the functions cached for a smaller space
        try:
            direct = self._direct_function(value)
        except _NewParameterError:
            return self.function(value)
        return self.function_of(self.analyzer.exact(value)) if direct is None else isl.PwAff.from_aff(direct[0])

    def _direct_function(self, value: SSAValue) -> _Ranged | None:
        """The function and the range of an integer computed from dimensions and parameters with known ranges by
        arithmetic that does not wrap; None where only the analyzer may know more. This covers most integers, ten times
        as fast."""
        if value not in self._directly:
            self._directly[value] = self._compute_directly(value)
        return self._directly[value]

    def _compute_directly(self, value: SSAValue) -> _Ranged | None:
        type = value.type
        if not isinstance(type, IntegerType) or type.width.data == 1 or type.signedness.data is not Signedness.SIGNLESS:
            return None
        op: Any = value.owner
        if isinstance(value, BlockArgument):
            return self._direct_variable(value)
        if isinstance(op, arith.ConstantOp):
            number = constant_value(value)
            assert isinstance(number, int)
            local = isl.LocalSpace.from_space(self.space())
            return isl.Aff.zero_on_domain(local).set_constant_val(integer(number)), (number, number)
        rule = _DIRECT.get(op.__class__)
        if rule is None:
            return None
        a, b = self._direct_function(op.lhs), self._direct_function(op.rhs)
        function = None if a is None or b is None else rule(a, b)
        return function if function is not None and within(function[1], signed_range(type.width.data)) else None

    def _direct_variable(self, value: BlockArgument) -> _Ranged | None:
        bounds = _static_range(value)
        if bounds is None or not (value in self.dims or self.parameters.is_fixed(value)):
            return None
        if value in self.dims:
            return isl.Aff.var_on_domain(
                isl.LocalSpace.from_space(self.space()), isl.dim_type.set, self.dims[value]
            ), bounds
        if value not in self.parameters.names:
            self.parameters.name(value)
            raise _NewParameterError
        position = list(self.parameters.names).index(value)
        return isl.Aff.var_on_domain(isl.LocalSpace.from_space(self.space()), isl.dim_type.param, position), bounds

    def function_of(self, lin: Lin) -> isl.PwAff:
        """A sum as a function of the dimensions. NotAffineValue if the sum is not one."""
        self._name_parameters(lin)
        return self._sum(lin)

    def _name_parameters(self, lin: Lin) -> None:
        for atom in lin.terms:
            if atom in self.dims:
                continue
            if isinstance(atom, Compound) and not _is_by_symbol(atom):
                for arg in atom.args:
                    self._name_parameters(arg if isinstance(arg, Lin) else Lin.of(arg))
            else:
                self.parameters.name(atom)

    def _sum(self, lin: Lin) -> isl.PwAff:
        aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self.space()))
        rest: list[isl.PwAff] = []
        for atom, k in lin.terms.items():
            position = self.dims.get(atom)
            if position is not None:
                aff = aff.set_coefficient_val(isl.dim_type.in_, position, k)
            elif not isinstance(atom, Compound) or _is_by_symbol(atom):
                index = list(self.parameters.names).index(atom)
                aff = aff.set_coefficient_val(isl.dim_type.param, index, k)
            else:
                compound = self._compound(atom)
                rest.append(compound if k == 1 else compound.scale_val(integer(k)))
        total = isl.PwAff.from_aff(aff.set_constant_val(integer(lin.const)))
        for term in rest:
            total = total.add(term)
        return total

    def _compound(self, atom: Any) -> isl.PwAff:
        if isinstance(atom, MinAtom | MaxAtom):
            functions = [self._sum(s) for s in atom.sums]
            result = functions[0]
            for function in functions[1:]:
                result = result.max(function) if isinstance(atom, MaxAtom) else result.min(function)
            return result
        if isinstance(atom, DivAtom | ModAtom) and (c := atom.divisor.constant) is not None and c > 0:
            dividend = self._sum(atom.dividend)
            if isinstance(atom, ModAtom):
                return dividend.mod_val(integer(c))
            return dividend.scale_down_val(integer(c)).floor()
        raise NotAffineValue(next(iter(Lin.of(atom).leaves())))

    def variable(self, position: int) -> isl.PwAff:
        """The projection onto a dimension, as a function."""
        return isl.PwAff.from_aff(
            isl.Aff.var_on_domain(isl.LocalSpace.from_space(self.space()), isl.dim_type.set, position)
        )

    def constant(self, number: int) -> isl.PwAff:
        """A constant function."""
        space = isl.LocalSpace.from_space(self.space())
        return isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(integer(number)))

    # Sets

    def range(self, position: int, low: Mixed, extent: Mixed) -> isl.Set:
        """The points with `low <= dimension < low + extent`. NotAffineValue if no formula describes them."""
        if isinstance(low, int) and isinstance(extent, int):
            return self.between(position, low, low + extent - 1)
        first = self.analyzer.exact(low)
        variable = self.variable(position)
        start = self.function_of(first)
        end = self.function_of(first + self.analyzer.exact(extent))
        return start.le_set(variable).intersect(variable.lt_set(end))

    def between(self, position: int, first: int, last: int) -> isl.Set:
        """The points with `first <= dimension <= last`."""
        universe = self.universe()
        return universe.lower_bound_val(isl.dim_type.set, position, first).upper_bound_val(
            isl.dim_type.set, position, last
        )

    def equal(self, position: int, function: isl.PwAff) -> isl.Set:
        """The points at which a dimension equals a function."""
        return self.variable(position).eq_set(function)

    def condition(self, value: SSAValue) -> isl.Set:
        """The set of points where a bool is true. NotAffineValue if no formula describes the set."""
        number = constant_value(value)
        if number is not None:
            universe = self.universe()
            return universe if number else isl.Set.empty(universe.get_space())
        op: Any = value.owner
        match op:
            case arith.CmpiOp():
                return self._comparison(op, value)
            case arith.AndIOp() | arith.OrIOp() if dtype_of(value.type).is_bool:
                a, b = self.condition(op.lhs), self.condition(op.rhs)
                return a.intersect(b) if isinstance(op, arith.AndIOp) else a.union(b)
            case arith.XOrIOp() if dtype_of(value.type).is_bool and constant_value(op.rhs) == 1:
                return self.condition(op.lhs).complement()
            case IfThenElseOp():
                return self._lazy_choice(op)
            case LetOp():
                return self.condition(op.value)
            case IntrinsicOp() if op.intrinsic.data == "likely":
                return self.condition(op.args[0])
            case CastOp() if isinstance(op.value.type, IntegerType):
                return self.function(op.value).ne_set(self.constant(0))
            case _:
                self.parameters.name(value)
                return self.function_of(Lin.of(value)).ne_set(self.constant(0))

    def _comparison(self, op: arith.CmpiOp, value: SSAValue) -> isl.Set:
        name, dtype = comparison_name(op), dtype_of(op.lhs.type)
        unsigned = predicate_of(op) in UNSIGNED_PREDICATES
        if name is None or dtype.lanes != 1 or (unsigned and dtype.kind != "uint"):
            raise NotAffineValue(value)
        a, b = self.function(op.lhs), self.function(op.rhs)
        return getattr(a, f"{name}_set")(b)

    def _lazy_choice(self, op: IfThenElseOp) -> isl.Set:
        """The set of points where `if a then b else c` on bools is true."""
        condition, (then, orelse) = self.condition(op.condition), (_yielded_value(r.block) for r in op.regions)
        return condition.intersect(self.condition(then)).union(condition.complement().intersect(self.condition(orelse)))


def iterations(affine: Affine, position: int, low: Mixed, extent: Mixed, step: Mixed) -> isl.Set | None:
    """The values of a loop variable; None if no formula describes them."""
    try:
        values = affine.range(position, low, extent)
        if step == 1:
            return values
        if not isinstance(step, int):
            return None
        distance = affine.variable(position).sub(affine.function(low))
        return values.intersect(distance.mod_val(integer(step)).eq_set(affine.constant(0)))
    except NotAffineValue:
        return None


def condition(affine: Affine, value: SSAValue) -> isl.Set | None:
    """The set of points where a bool is true; None if no formula describes the set."""
    try:
        return affine.condition(value)
    except NotAffineValue:
        return None


def function_to(space: isl.Space, values: Sequence[isl.Aff]) -> isl.MultiAff:
    """The function from the points of a space to a tuple of values."""
    affs = isl.AffList.alloc(isl.DEFAULT_CONTEXT, len(values))
    for value in values:
        affs = affs.add(value)
    return isl.MultiAff.from_aff_list(
        space.map_from_domain_and_range(space.params().add_unnamed_tuple_ui(len(values))), affs
    )


def map_to(where: isl.Set, values: Sequence[isl.PwAff | isl.Set]) -> isl.Map:
    """The relation from the points of a set to a tuple of values: a function of the point, or any element of a set."""
    functions = [v.as_aff() for v in values if isinstance(v, isl.PwAff) and v.isa_aff()]
    space = where.get_space()
    if len(functions) == len(values):  # a fourth of the work
        return isl.Map.from_multi_aff(function_to(space, functions)).intersect_domain(where)
    result = isl.Map.from_domain(where)
    for value in values:
        if isinstance(value, isl.PwAff):
            side = isl.Map.from_pw_aff(value)
        else:
            side = isl.Map.from_domain_and_range(isl.Set.universe(space), value)
        result = result.flat_range_product(side)
    return result


# Arithmetic on functions with ranges

_Ranged: TypeAlias = "tuple[isl.Aff, Interval]"


def _add(a: _Ranged, b: _Ranged) -> _Ranged:
    return a[0].add(b[0]), add(a[1], b[1])


def _subtract(a: _Ranged, b: _Ranged) -> _Ranged:
    return a[0].sub(b[0]), sub(a[1], b[1])


def _multiply(a: _Ranged, b: _Ranged) -> _Ranged | None:
    (function, _), (_, (low, high)) = a, b
    if low != high:
        return _multiply(b, a) if a[1][0] == a[1][1] else None
    return function.scale_val(integer(low)), mul(a[1], b[1])


def _divide(a: _Ranged, b: _Ranged) -> _Ranged | None:
    (function, dividend), (_, (low, high)) = a, b
    if low != high or low <= 0:
        return None
    return function.scale_down_val(integer(low)).floor(), floordiv(dividend, (low, high))


def _remainder(a: _Ranged, b: _Ranged) -> _Ranged | None:
    (function, dividend), (_, (low, high)) = a, b
    if low != high or low <= 0:
        return None
    return function.mod_val(integer(low)), floormod(dividend, (low, high))


_DIRECT: dict[type[Any], Callable[[_Ranged, _Ranged], _Ranged | None]] = {
    arith.AddiOp: _add,
    arith.SubiOp: _subtract,
    arith.MuliOp: _multiply,
    arith.FloorDivSIOp: _divide,
    FloormodOp: _remainder,
}


def _static_range(variable: SSAValue) -> Interval | None:
    """The minimum and maximum of a loop variable or axis with known bounds."""
    block = variable.owner
    parent = block.parent_op() if isinstance(block, Block) else None
    match parent:
        case ForOp():
            low, extent, _ = parent.mixed_bounds
        case LaunchThreadOp():
            low, extent = 0, parent.mixed_extent
        case BlockOp():
            assert isinstance(variable, BlockArgument)
            values = static_values(parent.static_domains)  # pyright: ignore[reportArgumentType]
            low, extent = values[2 * variable.index : 2 * variable.index + 2]
            if DYNAMIC in (low, extent):
                return None
        case _:
            return None
    return (low, low + extent - 1) if isinstance(low, int) and isinstance(extent, int) and extent > 0 else None


def _yielded_value(block: Block) -> SSAValue:
    last = block.last_op
    assert isinstance(last, YieldOp)
    return last.value
