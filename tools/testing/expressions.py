"""Random expressions without undefined behaviour: indices in range, nonzero divisors, shifts within the width."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import cast

from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import DType, dtype_of, int_range, mlir_type, nearest_float, parse_dtype
from ...dialects.tir import COMPARISONS, Mixed, ShuffleOp, TirBuilder
from ...dialects.tir.tree import erase_if_dead
from .choices import Choices, flag, pick
from .environment import BoundedInteger, Environment, Features, Slot

_INT32 = parse_dtype("int32")
_BOOL = parse_dtype("bool")

_INT_OPERATORS = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
_FLOAT_OPERATORS = ("add", "sub", "mul", "div", "min", "max")
_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
_EXACT_FUNCTIONS = ("abs", "floor", "ceil", "trunc", "nearbyint", "sqrt")
_LIBM_FUNCTIONS = ("exp", "tanh", "sin", "cos", "log", "erf", "atan", "exp2", "log2", "rsqrt", "tan", "sinh")
_FLOAT_CONSTANTS = (1.0, 0.0, 0.5, -1.5, 3.0, 100.0, -0.0)


class Expressions:
    """Builds random expressions of given types."""

    def __init__(self, choices: Choices, builder: TirBuilder, features: Features):
        self.choices, self.builder, self.features = choices, builder, features

    # Values

    def value(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        """A random expression of a scalar or vector type."""
        makers: list[Callable[[Environment, DType, int], SSAValue | None]] = [self._constant, self._load, self._name]
        if depth > 0:
            makers += [self._operator, self._select, self._cast]
            if dtype.is_bool:
                makers = [self._constant, self._load, self._comparison, self._logic, self._classification]
            elif dtype.is_float:
                makers += [self._function, self._fma, self._with_sign, self._from_bits]
            else:
                makers += [self._division, self._shift, self._bits, self._other_sign]
            if dtype.lanes == 1:
                makers += [self._lazy]
            if self.features.operations:
                makers += [self._operation]
        value = pick(self.choices, makers)(env, dtype, depth - 1)
        return self._constant(env, dtype, 0) if value is None else value

    def constant(self, dtype: DType) -> SSAValue:
        """A random constant of a type."""
        return self._constant(Environment(), dtype, 0)

    def _constant(self, _env: Environment, dtype: DType, _depth: int) -> SSAValue:
        if dtype.is_float:
            fitting = [number for number in _FLOAT_CONSTANTS if nearest_float(number, dtype.scalar) is not None]
            return self.builder.const(pick(self.choices, fitting), dtype)
        if dtype.is_bool:
            return self.builder.const(flag(self.choices), dtype)
        low, high = int_range(dtype)
        number = self.choices.integer(-3, 9)
        edges = (number, number, number, low, high)
        return self.builder.const(min(max(pick(self.choices, edges), low), high), dtype)

    def _load(self, env: Environment, dtype: DType, _depth: int) -> SSAValue | None:
        slots = env.reachable(dtype=dtype.scalar)
        if dtype.lanes != 1:
            slots = [s for s in slots if self.has_room(s, dtype.lanes)]
        return self.load(env, pick(self.choices, slots), dtype.lanes) if slots else None

    def load(self, env: Environment, slot: Slot, lanes: int = 1) -> SSAValue:
        """A load of an element of a buffer, or of a vector of elements."""
        predicate = self.predicate(env, lanes)
        return self.builder.load(slot.buffer, self.indices(env, slot, lanes), predicate)

    def predicate(self, env: Environment, lanes: int) -> SSAValue | None:
        """The predicate of a vector access, or None."""
        if lanes == 1 or not self.features.legacy or not flag(self.choices, 4):
            return None
        return self.value(env, _BOOL.with_lanes(lanes), 1)

    def _name(self, env: Environment, dtype: DType, _depth: int) -> SSAValue | None:
        known = [v for v, d in env.values if d == dtype]
        if known:
            return pick(self.choices, known)
        if dtype.is_bool or not env.numbers:
            return None
        return self.builder.cast(pick(self.choices, env.numbers).value, dtype)

    def _operator(self, env: Environment, dtype: DType, depth: int) -> SSAValue | None:
        if dtype.is_bool:
            return self._logic(env, dtype, depth)
        name = pick(self.choices, _FLOAT_OPERATORS if dtype.is_float else _INT_OPERATORS)
        return self.builder.binary(name, self.value(env, dtype, depth), self.value(env, dtype, depth))

    def _logic(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        lhs = self.value(env, dtype, depth)
        match self.choices.integer(0, 2):
            case 0:
                return self.builder.logical_not(lhs)
            case kind if dtype.lanes == 1:
                return self.builder.logical("and" if kind == 1 else "or", lhs, lambda: self.value(env, dtype, depth))
            case kind:
                return self.builder.binary("and" if kind == 1 else "or", lhs, self.value(env, dtype, depth))

    def _comparison(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        other = parse_dtype(pick(self.choices, [d for d in self.features.dtypes if d != "bool"])).with_lanes(
            dtype.lanes
        )
        name = pick(self.choices, COMPARISONS)
        return self.builder.binary(name, self.value(env, other, depth), self.value(env, other, depth))

    def _select(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        condition = self.value(env, _BOOL.with_lanes(dtype.lanes), depth)
        return self.builder.select(condition, self.value(env, dtype, depth), self.value(env, dtype, depth))

    def _lazy(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        condition = self.value(env, _BOOL, depth)
        return self.builder.if_then_else(
            condition,
            mlir_type(dtype),
            lambda: self.value(env, dtype, depth),
            lambda: self.value(env, dtype, depth),
        )

    def _cast(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        source = parse_dtype(pick(self.choices, self.features.dtypes)).with_lanes(dtype.lanes)
        return self.builder.cast(self.value(env, source, depth), dtype)

    def _operation(self, env: Environment, dtype: DType, depth: int) -> SSAValue | None:
        """An operation of another package, whose operands have its type, and whose other parameters are small integers
        in order; None if it does not verify."""
        kind = pick(self.choices, self.features.operations)
        operands = {name for name, _ in cast("type[IRDLOperation]", kind).get_irdl_definition().operands}
        parameters = list(inspect.signature(kind.__init__).parameters)[1:]
        numbers = iter(sorted(self.choices.integer(-9, 9) for name in parameters if name not in operands))
        arguments = [self.value(env, dtype, depth) if name in operands else next(numbers) for name in parameters]
        op = kind(*arguments)
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException:
            op.erase()
            for argument in arguments:
                if isinstance(argument, SSAValue):
                    erase_if_dead(argument)
            return None
        result = self.builder.insert(op).results[0]
        return self.builder.cast(result, dtype)

    # Integers

    def _division(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        divisor = self.builder.binary("or", self.value(env, dtype, depth), self.builder.const(1, dtype))
        return self.builder.binary(pick(self.choices, _DIVISIONS), self.value(env, dtype, depth), divisor)

    def _shift(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        mask = self.builder.const(dtype.bits - 1, dtype)
        amount = self.builder.binary("and", self.value(env, dtype, depth), mask)
        return self.builder.binary(pick(self.choices, ("shl", "shr")), self.value(env, dtype, depth), amount)

    def _bits(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        names = ["popcount"]
        names += ["clz"] if dtype.lanes == 1 else []  # not expressible in TVMScript for vectors
        names += ["abs"] if dtype.kind == "int" else []
        return self.builder.cast(self.builder.unary(pick(self.choices, names), self.value(env, dtype, depth)), dtype)

    # Floats

    def _function(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        names = (*_EXACT_FUNCTIONS, *_LIBM_FUNCTIONS) if self.features.libm else _EXACT_FUNCTIONS
        return self.builder.unary(pick(self.choices, names), self.value(env, dtype, depth))

    def _fma(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        return self.builder.fma(*(self.value(env, dtype, depth) for _ in range(3)))

    def _with_sign(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        """A number with the sign of a converted integer, never of a NaN, whose sign is unspecified."""
        sign = self.builder.cast(self.value(env, _INT32.with_lanes(dtype.lanes), depth), dtype)
        return self.builder.binary("copysign", self.value(env, dtype, depth), sign)

    def _from_bits(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        """A number from its bits; never a NaN, whose payload may not be preserved."""
        bits = DType("int", dtype.bits, dtype.lanes)
        finite = 2 ** (dtype.bits - 2) - 1  # less than 2: the highest bit of the exponent is clear
        masked = self.builder.binary("and", self.value(env, bits, depth), self.builder.const(finite, bits))
        return self.builder.reinterpret(masked, mlir_type(dtype))

    def _other_sign(self, env: Environment, dtype: DType, depth: int) -> SSAValue:
        """The bits of an integer of the opposite signedness."""
        other = DType("uint" if dtype.kind == "int" else "int", dtype.bits, dtype.lanes)
        return self.builder.reinterpret(self.value(env, other, depth), mlir_type(dtype))

    def _classification(self, env: Environment, dtype: DType, depth: int) -> SSAValue | None:
        floats = [d for d in map(parse_dtype, self.features.dtypes) if d.is_float]
        if not floats:
            return None
        name = pick(self.choices, ("isnan", "isinf", "isfinite"))
        return self.builder.intrinsic(name, self.value(env, pick(self.choices, floats).with_lanes(dtype.lanes), depth))

    # Indices

    def index(self, env: Environment, extent: Mixed) -> SSAValue:
        """An index in [0, extent). Requires `env.can_index(extent)`."""
        direct = [n.value for n in env.numbers if n.indexes(extent)]
        makers: list[Callable[[], SSAValue]] = [lambda v=v: v for v in direct[-2:]]
        if extent in env.sizes or (isinstance(extent, int) and extent > 0):
            makers += [lambda: self.builder.const(0, _INT32), lambda: self._remainder(env, extent)]
        if isinstance(extent, int) and extent > 0:
            last = extent - 1
            makers += [lambda: self.builder.const(self.choices.integer(0, last), _INT32)]
            makers += [lambda: self._clamp(env, last)]
            near = [n for n in env.numbers if n.low >= 0 and n.high < last]
            if near:
                makers += [lambda: self._offset(near[0], last)]
        if direct:
            makers += [lambda: self._mirror(pick(self.choices, direct), extent)]
        return pick(self.choices, makers)()

    def _offset(self, number: BoundedInteger, last: int) -> SSAValue:
        return self.builder.add(number.value, self.choices.integer(1, last - number.high))

    def _remainder(self, env: Environment, extent: Mixed) -> SSAValue:
        return self.builder.binary("floormod", self._raw(env), extent)

    def _clamp(self, env: Environment, last: int) -> SSAValue:
        return self.builder.binary("max", self.builder.binary("min", self._raw(env), last), 0)

    def _mirror(self, index: SSAValue, extent: Mixed) -> SSAValue:
        """The index counted from the end."""
        last = self.builder.sub(self.builder.cast(self.builder.value(extent), dtype_of(index.type)), 1)
        return self.builder.sub(last, index)

    def _raw(self, env: Environment) -> SSAValue:
        """An int32 of unknown range."""
        if env.numbers and flag(self.choices):
            total = self.builder.cast(pick(self.choices, env.numbers).value, _INT32)
            factor = self.choices.integer(1, 5)
            return self.builder.add(self.builder.mul(total, factor), self.choices.integer(0, 7))
        return self.value(env, _INT32, 1)

    def indices(self, env: Environment, slot: Slot, lanes: int = 1) -> list[SSAValue]:
        """Indices of an element; for several lanes, a ramp in the last dimension, whose extent must suffice, and random
        vectors in some others.
        """
        indices: list[SSAValue] = []
        for d, extent in enumerate(slot.shape):
            fixed = slot.fixed_index(d)
            if lanes != 1 and d == len(slot.shape) - 1:
                assert isinstance(extent, int)
                indices.append(self._ramp(env, extent, lanes))
            elif lanes != 1 and fixed is None and isinstance(extent, int) and flag(self.choices, 4):
                numbers = self.value(env, _INT32.with_lanes(lanes), 1)
                indices.append(self.builder.binary("floormod", numbers, extent))
            else:
                indices.append(self.index(env, extent) if fixed is None else fixed)
        return indices

    def has_room(self, slot: Slot, lanes: int) -> bool:
        """Whether a ramp fits into the last dimension of a buffer."""
        last = len(slot.shape) - 1
        extent = slot.shape[last] if slot.shape else 0
        return isinstance(extent, int) and extent >= lanes and slot.fixed_index(last) is None

    def _ramp(self, env: Environment, extent: int, lanes: int) -> SSAValue:
        strides = [s for s in (1, 2, 3) if (lanes - 1) * s < extent]
        stride = pick(self.choices, strides)
        base = self.index(env, extent - (lanes - 1) * stride)
        if flag(self.choices, 4):  # from the end to the start
            base = self.builder.add(base, (lanes - 1) * stride)
            stride = -stride
        return self.builder.ramp(base, self.builder.const(stride, dtype_of(base.type)), lanes)

    def lane(self, vector: SSAValue, lane: int) -> SSAValue:
        """A lane of a vector."""
        return self.builder.insert(ShuffleOp([vector], [lane])).result
