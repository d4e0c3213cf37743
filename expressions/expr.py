"""Scalar expressions in Python: immutable nodes with overloaded operators.

The data type of a node is computed on construction, so a type error is reported at the line that builds the node. Types
follow the rules of `core.dtypes`, as in TVM; integer constants are folded. `write.py` translates nodes to IR.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from ..core import dtypes
from ..core.dtypes import DType, parse_dtype
from ..core.errors import SizeError
from ..core.sizes import check_size
from ..dialects.tir.builder import BITWISE, binary_dtype, compute_integers, fold_integers
from .errors import TeError
from .intrinsic_names import IntrinsicName

Number: TypeAlias = bool | int | float
ExprLike: TypeAlias = "PrimExpr | Number | ExprConvertible"
"""A value accepted where an expression is expected."""

BOOL, INT32, INT64, FLOAT32 = DType("bool", 1), DType("int", 32), DType("int", 64), DType("float", 32)


class ExprConvertible:
    """An object that converts to an expression: an axis, a tensor without dimensions."""

    __slots__ = ()

    def asexpr(self) -> PrimExpr:
        """The object as an expression. TeError if the object cannot be converted."""
        raise NotImplementedError

    def operator(self, name: str, a: Any, b: Any) -> Any:
        """The result of `a name b`, one of which is `self`, if it is not a scalar expression (a tensor, say), else
        None."""
        return None


class Operators:
    """Mix-in with the overloaded operators of expressions, for expressions and objects that convert to expressions."""

    __slots__ = ()

    def __add__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("add", self, other)

    def __radd__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("add", other, self)

    def __sub__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("sub", self, other)

    def __rsub__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("sub", other, self)

    def __mul__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("mul", self, other)

    def __rmul__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("mul", other, self)

    def __truediv__(self, other: ExprLike) -> PrimExpr:
        return true_divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> PrimExpr:
        return true_divide(other, self)

    def __floordiv__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("floormod", self, other)

    def __rmod__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("floormod", other, self)

    def __neg__(self) -> PrimExpr:
        if isinstance(self, ExprConvertible) and (override := self.operator("mul", self, -1)) is not None:
            return override
        value = as_expr(self)
        if value.data_type.kind == "uint":
            raise TeError(f"-x of an unsigned {value.dtype}, expected a signed integer or a float")
        return binary_expr("mul", value, -1)

    def __lshift__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("shl", self, other)

    def __rlshift__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("shl", other, self)

    def __rshift__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("shr", self, other)

    def __rrshift__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("shr", other, self)

    def __and__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("and", self, other)

    def __rand__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("and", other, self)

    def __or__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("or", self, other)

    def __ror__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("or", other, self)

    def __xor__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("xor", self, other)

    def __rxor__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("xor", other, self)

    def __invert__(self) -> PrimExpr:
        value = as_expr(self)
        if value.data_type.is_bool:
            return Not(value)
        return binary_expr("xor", value, -1 if value.data_type.kind == "int" else dtypes.int_range(value.data_type)[1])

    def __lt__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("lt", self, other)

    def __le__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("le", self, other)

    def __gt__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("gt", self, other)

    def __ge__(self, other: ExprLike) -> PrimExpr:
        return binary_expr("ge", self, other)

    def equal(self, other: ExprLike) -> PrimExpr:
        """The comparison `self == other`, evaluated at run time."""
        return binary_expr("eq", self, other)

    def astype(self, dtype: str) -> PrimExpr:
        """The value converted to another data type."""
        return cast(dtype, self)

    def __bool__(self) -> bool:
        raise TeError(
            "an expression has no value before the program runs: use te.all, te.any, te.if_then_else in place of and, "
            "or, not, if, and of comparisons that are chained"
        )


class PrimExpr(Operators):
    """A scalar expression. Immutable, and hashed by identity.

    `a == b` and `a != b` are expressions too; their truth value in Python compares `a` and `b` by identity, so that
    expressions may be keys of dictionaries.
    """

    __slots__ = ("data_type",)

    data_type: DType
    span: ClassVar[None] = None
    """The place in a source text, which expressions lack: operations have locations."""

    @property
    def dtype(self) -> str:
        """The name of the data type."""
        return self.data_type.name

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        """The operands of the expression."""
        return ()

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        """A copy of the expression with other operands."""
        return type(self)(*children) if children else self

    def same_as(self, other: object) -> bool:
        """Whether `other` is this object."""
        return self is other

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, bool | int | float | PrimExpr | ExprConvertible):
            return NotImplemented
        return binary_expr("eq", self, other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, bool | int | float | PrimExpr | ExprConvertible):
            return NotImplemented
        return binary_expr("ne", self, other)

    __hash__ = object.__hash__

    def text(self) -> str:
        """The text of an expression whose class the renderer does not know."""
        return type(self).__name__

    def __repr__(self) -> str:
        # lazy: the renderer is written in terms of the classes of expressions
        from .render import render

        return render(self)


class Var(PrimExpr):
    """A variable: a size, or the value of an axis."""

    __slots__ = ("name",)

    def __init__(self, name: str = "tindex", dtype: str = "int32"):
        self.name = name
        self.data_type = parse_dtype(dtype)


class SizeVar(Var):
    """A non-negative variable."""

    __slots__ = ()


class IntImm(PrimExpr):
    """An integer or bool constant."""

    __slots__ = ("value",)

    def __init__(self, dtype: str, value: int):
        self.data_type = parse_dtype(dtype)
        if not dtypes.int_fits(int(value), self.data_type):
            raise TeError(f"{value} does not fit {dtype}")
        self.value = int(value)

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0


class ExtentImm(IntImm):
    """A constant extent of a tensor: sums, products and quotients with constant integers are exact, in an index type
    that holds them, and never wrap."""

    __slots__ = ()


class FloatImm(PrimExpr):
    """A float constant."""

    __slots__ = ("value",)

    def __init__(self, dtype: str, value: float):
        self.data_type = parse_dtype(dtype)
        self.value = float(value)


class StringImm(PrimExpr):
    """A string constant, as an argument of a call."""

    __slots__ = ("value",)

    def __init__(self, value: str):
        self.data_type = parse_dtype("int8")
        self.value = value


class Cast(PrimExpr):
    """The conversion of a value to another data type; a value of a program that is read converts itself."""

    __slots__ = ("value",)

    def __new__(cls, dtype: str, value: Any) -> Any:
        convert = getattr(type(value), "converted", None)
        return super().__new__(cls) if convert is None else convert(value, dtype)

    def __init__(self, dtype: str, value: ExprLike):
        self.data_type = parse_dtype(dtype)
        self.value = as_expr(value)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return (self.value,)

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return cast(self.dtype, children[0])


class BinaryOp(PrimExpr):
    """A binary operator on operands of the same type. operator: its name in `TirBuilder.binary`."""

    __slots__ = ("a", "b")

    operator: ClassVar[str]

    def __init__(self, a: ExprLike, b: ExprLike):
        self.a, self.b = promote_operands(a, b)
        try:
            self.data_type = binary_dtype(self.operator, self.a.data_type)
        except ValueError as error:
            raise TeError(str(error)) from None

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.a, self.b

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return binary_expr(self.operator, *children)


class Add(BinaryOp):
    """`a + b`."""

    __slots__ = ()
    operator = "add"


class Sub(BinaryOp):
    """`a - b`."""

    __slots__ = ()
    operator = "sub"


class Mul(BinaryOp):
    """`a * b`."""

    __slots__ = ()
    operator = "mul"


class Div(BinaryOp):
    """`a / b`; the quotient of integers is rounded towards zero."""

    __slots__ = ()

    @property
    def operator(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "div" if self.a.data_type.is_float else "truncdiv"


class Mod(BinaryOp):
    """The remainder of the division that rounds towards zero."""

    __slots__ = ()
    operator = "truncmod"


class FloorDiv(BinaryOp):
    """`a / b` rounded down."""

    __slots__ = ()
    operator = "floordiv"


class FloorMod(BinaryOp):
    """The remainder of the division that rounds down."""

    __slots__ = ()
    operator = "floormod"


class Min(BinaryOp):
    """The minimum of two numbers."""

    __slots__ = ()
    operator = "min"


class Max(BinaryOp):
    """The maximum of two numbers."""

    __slots__ = ()
    operator = "max"


class CmpOp(BinaryOp):
    """Base class of the comparison operators. A comparison of constants has a truth value in Python."""

    __slots__ = ()

    def __bool__(self) -> bool:
        if isinstance(self.a, IntImm | FloatImm) and isinstance(self.b, IntImm | FloatImm):
            return _ORDERS[self.operator](self.a.value, self.b.value)
        return super().__bool__()


class EQ(CmpOp):
    """`a == b`."""

    __slots__ = ()
    operator = "eq"

    def __bool__(self) -> bool:
        return _is_same(self.a, self.b)


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operators.lt, "le": operators.le, "gt": operators.gt, "ge": operators.ge
}  # fmt: skip


def _is_same(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether two expressions are one node, or constants of the same value."""
    return a is b or (isinstance(a, IntImm | FloatImm) and isinstance(b, IntImm | FloatImm) and a.value == b.value)


class NE(CmpOp):
    """`a != b`."""

    __slots__ = ()
    operator = "ne"

    def __bool__(self) -> bool:
        return not _is_same(self.a, self.b)


class LT(CmpOp):
    """`a < b`."""

    __slots__ = ()
    operator = "lt"


class LE(CmpOp):
    """`a <= b`."""

    __slots__ = ()
    operator = "le"


class GT(CmpOp):
    """`a > b`."""

    __slots__ = ()
    operator = "gt"


class GE(CmpOp):
    """`a >= b`."""

    __slots__ = ()
    operator = "ge"


class And(PrimExpr):
    """The conjunction of two conditions; `b` is computed only if `a` holds."""

    __slots__ = ("a", "b")

    def __init__(self, a: ExprLike, b: ExprLike):
        self.a, self.b = as_condition(a), as_condition(b)
        self.data_type = BOOL

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.a, self.b


class Or(And):
    """The disjunction of two conditions; `b` is computed only if `a` does not hold."""

    __slots__ = ()


class Not(PrimExpr):
    """The negation of a condition."""

    __slots__ = ("a",)

    def __init__(self, a: ExprLike):
        self.a = as_condition(a)
        self.data_type = BOOL

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return (self.a,)


class Select(PrimExpr):
    """`true_value` if the condition holds, else `false_value`; both values are computed."""

    __slots__ = ("condition", "false_value", "true_value")

    def __init__(self, condition: ExprLike, true_value: ExprLike, false_value: ExprLike):
        self.condition = as_condition(condition)
        self.true_value, self.false_value = promote_operands(true_value, false_value)
        self.data_type = self.true_value.data_type

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.condition, self.true_value, self.false_value


class Call(PrimExpr):
    """The call of a function on numbers. op: its name in `TirBuilder.binary`, `.unary` or `.intrinsic`, or that of an
    intrinsic of LLVM."""

    __slots__ = ("args", "op")

    def __init__(self, dtype: str, op: str, args: Sequence[ExprLike]):
        self.data_type = parse_dtype(dtype)
        self.op = IntrinsicName(op)
        self.args = tuple(as_expr(arg) for arg in args)

    @property
    def name(self) -> str:
        """The name of the function without the names of modules before it."""
        return str(self.op).rpartition(".")[2]

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.args

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return Call(self.dtype, self.op, children)


class IfThenElse(Call):
    """`true_value` if the condition holds, else `false_value`; only the selected value is computed."""

    __slots__ = ()

    def __init__(self, condition: ExprLike, true_value: ExprLike, false_value: ExprLike, op: str = "if_then_else"):
        a, b = promote_operands(true_value, false_value)
        super().__init__(a.dtype, op, (as_condition(condition), a, b))

    @property
    def condition(self) -> PrimExpr:
        """The condition."""
        return self.args[0]

    @property
    def true_value(self) -> PrimExpr:
        """The value if the condition holds."""
        return self.args[1]

    @property
    def false_value(self) -> PrimExpr:
        """The value if the condition does not hold."""
        return self.args[2]

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return IfThenElse(*children, op=self.op)


class PureExternCall(PrimExpr):
    """The call of a C function on numbers without side effects, a symbol of the process or a function of the target.

    name: its name.  args: numbers.
    """

    __slots__ = ("args", "name")

    def __init__(self, dtype: str, name: str, args: Sequence[PrimExpr]):
        self.data_type = parse_dtype(dtype)
        self.name = name
        self.args = tuple(args)

    @property
    def children(self) -> tuple[PrimExpr, ...]:
        return self.args

    def with_children(self, children: Sequence[PrimExpr]) -> PrimExpr:
        return PureExternCall(self.dtype, self.name, children)


OPERATORS: dict[str, type[BinaryOp]] = {
    **{kind.operator: kind for kind in (Add, Sub, Mul, Mod, FloorDiv, FloorMod, Min, Max, EQ, NE, LT, LE, GT, GE)},
    "div": Div,
    "truncdiv": Div,
}
"""The operators with a node class of their own, by their names in `TirBuilder.binary`; others are `Call` nodes."""


# Construction of expressions


def const(value: Number | IntImm | FloatImm, dtype: str | None = None) -> PrimExpr:
    """A constant; its default type is bool, int32 (int64 if the value does not fit) or float32, for a scalar of numpy
    and a constant its own."""
    if isinstance(value, IntImm | FloatImm):
        return const(value.value, value.dtype if dtype is None else dtype)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a scalar of numpy
        return const(value.item(), str(value.dtype) if dtype is None else dtype)  # pyright: ignore
    if not isinstance(value, bool | int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TeError(f"const of {value!r}, expected a number")
    return _const(value, dtypes.literal_dtype(value) if dtype is None else as_dtype(dtype))


def _const(value: Number, dtype: DType) -> PrimExpr:
    if dtype.is_float:
        return FloatImm(dtype.name, float(value))
    if isinstance(value, float):
        if not value.is_integer():
            raise TeError(f"{value} is not of type {dtype}")
        value = int(value)
    return IntImm(dtype.name, bool(value) if dtype.is_bool else value)


def as_dtype(name: str) -> DType:
    """The data type called `name`. TeError for an unknown name."""
    try:
        return parse_dtype(name)
    except ValueError as error:
        raise TeError(str(error)) from None


def as_expr(value: Any, other: DType | None = None, *, bitwise: bool = False) -> PrimExpr:
    """A value as an expression; the type of a Python number depends on `other`, the type of the other operand."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, bool | int | float):
        dtype = dtypes.literal_dtype(value, other, bitwise=bitwise)
        if isinstance(value, int) and not dtype.is_float and not dtypes.int_fits(int(value), dtype):
            return cast(dtype.name, const(value))  # -1 as an operand with an unsigned number wraps
        return _const(value, dtype)
    if isinstance(value, ExprConvertible):
        return value.asexpr()
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a scalar of numpy
        return const(value)
    raise TeError(f"{value!r} of type {type(value).__name__}, expected an expression or a number")


def as_condition(value: Any) -> PrimExpr:
    """A value converted to bool, with the same number of lanes."""
    expr = as_expr(value)
    return cast(BOOL.with_lanes(expr.data_type.lanes).name, expr)


def as_operand_dtype(value: Any) -> DType:
    """The data type of a value without regard to other operands."""
    return as_expr(value).data_type


def promote_operands(a: Any, b: Any, *, bitwise: bool = False) -> tuple[PrimExpr, PrimExpr]:
    """The two operands as expressions of their common type. TeError if they have no common type."""
    a, b = (value.asexpr() if isinstance(value, ExprConvertible) else value for value in (a, b))
    left, right = (value.data_type if isinstance(value, PrimExpr) else None for value in (a, b))
    if left is None and right is None:
        left = as_expr(a).data_type
    lhs, rhs = as_expr(a, right, bitwise=bitwise), as_expr(b, left, bitwise=bitwise)
    try:
        common = dtypes.promote(lhs.data_type, rhs.data_type)
    except ValueError as error:
        raise TeError(str(error)) from None
    return cast(common.name, lhs), cast(common.name, rhs)


def cast(dtype: str, value: Any) -> PrimExpr:
    """A value converted to a data type; an integer constant is folded."""
    wanted, expr = as_dtype(dtype), as_expr(value)
    if expr.data_type == wanted:
        return expr
    if isinstance(expr, IntImm) and dtypes.preserves_int(wanted, expr.value):
        is_extent = isinstance(expr, ExtentImm) and wanted in (INT32, INT64)
        return ExtentImm(dtype, expr.value) if is_extent else _const(expr.value, wanted)
    return Cast(dtype, expr)


def as_extent(value: int, dtype: DType = INT32) -> ExtentImm:
    """A constant extent: of type `dtype` if it fits, else int64. SizeError for an integer that int64 does not hold."""
    checked = check_size(value)
    return ExtentImm((dtype if dtypes.int_fits(checked, dtype) else INT64).name, checked)


def binary_expr(name: str, a: Any, b: Any) -> Any:
    """The result of a binary operator of `TirBuilder.binary`. TeError if the operator does not support the types."""
    for value in (a, b):
        override = value.operator(name, a, b) if isinstance(value, ExprConvertible) else None
        if override is not None:
            return override
    if isinstance(a, ExtentImm) or isinstance(b, ExtentImm):
        exact = _fold_extents(name, a, b)
        if exact is not None:
            return exact
    kind = OPERATORS.get(name)
    if kind is None:
        lhs, rhs = promote_operands(a, b, bitwise=name in BITWISE)
        try:
            result = binary_dtype(name, lhs.data_type)
        except ValueError as error:
            raise TeError(str(error)) from None
        folded = _fold(name, lhs, rhs)
        return Call(result.name, name, (lhs, rhs)) if folded is None else folded
    op = kind(a, b)
    folded = None if isinstance(op, CmpOp) else _fold(op.operator, op.a, op.b)
    return op if folded is None else folded


def _fold(name: str, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """The folded result of an operator on integers, a constant or one of the operands, or None."""
    if a.data_type.is_float or a.data_type.is_bool:
        return None
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        number = fold_integers(name, a.value, b.value, a.data_type)
        return None if number is None else IntImm(a.dtype, number)
    if isinstance(b, IntImm) and _NEUTRAL.get(name) == b.value:
        return a
    return b if isinstance(a, IntImm) and name in ("add", "mul") and _NEUTRAL[name] == a.value else None


def _fold_extents(name: str, a: Any, b: Any) -> ExtentImm | None:
    """The exact result of an operator on constant extents and integers, or None. TeError for a result that int64 does
    not hold."""
    left, right = _index_value(a), _index_value(b)
    if left is None or right is None:
        return None
    dtype = INT64 if any(isinstance(value, IntImm) and value.data_type == INT64 for value in (a, b)) else INT32
    result = compute_integers(name, left, right, INT64)
    try:
        return None if result is None else as_extent(result, dtype)
    except SizeError as error:
        raise TeError(str(error)) from None


def _index_value(value: Any) -> int | None:
    """The value of an integer or of a constant of an index type, or None."""
    if isinstance(value, IntImm):
        return value.value if value.data_type in (INT32, INT64) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "truncdiv": 1}
"""The right identity element of each operator."""


def true_divide(a: Any, b: Any) -> Any:
    """The quotient `a / b`. TeError for two integers, whose division needs an explicit rounding direction."""
    for value in (a, b):
        override = value.operator("div", a, b) if isinstance(value, ExprConvertible) else None
        if override is not None:
            return override
    if not any(as_operand_dtype(value).is_float for value in (a, b)):
        raise TeError("a / b of integers: say a // b (rounds down) or te.truncdiv(a, b), or convert one to a float")
    return binary_expr("div", a, b)
