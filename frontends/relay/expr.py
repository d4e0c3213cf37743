"""Expressions of graphs with Relay's names: immutable nodes, compared by identity.

Types appear only where the user annotates them; `graph.py` translates expressions into functions of the `relay`
dialect, where types are inferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.arrays import plain_array
from ...core.dtypes import numpy_dtype
from ...core.errors import OptionError
from ...expressions.expr import FloatImm, IntImm, StringImm
from ...expressions.tensor import location_of_user
from ...operators import Operator, operator_of
from ...operators.attributes import normalize_attributes
from .types import FuncType, IncompleteType, TensorType, TupleType, Type, UserType

Array: TypeAlias = npt.NDArray[Any]

VIRTUAL_DEVICE = "virtual_device"
"""The name of the annotation of parameters and functions that states a device."""


class Expr:
    """An expression of a graph. Python's operators on expressions build calls: `x + y` is `relay.add(x, y)`.

    known_type: the type, if the expression was read from a module.
    """

    known_type: Type | None = None
    span: object = None
    """The place in a source text, of which none is recorded."""

    @property
    def checked_type(self) -> Any:
        """The type. OptionError for an expression that was not read from a module, whose types are not inferred."""
        if self.known_type is None:
            raise OptionError(f"{self!r}: its type is not known before the expression is part of a module")
        return self.known_type

    def __add__(self, other: Any) -> Expr:
        return call("add", self, _number(other))

    def __radd__(self, other: Any) -> Expr:
        return call("add", _number(other), self)

    def __sub__(self, other: Any) -> Expr:
        return call("subtract", self, _number(other))

    def __rsub__(self, other: Any) -> Expr:
        return call("subtract", _number(other), self)

    def __mul__(self, other: Any) -> Expr:
        return call("multiply", self, _number(other))

    def __rmul__(self, other: Any) -> Expr:
        return call("multiply", _number(other), self)

    def __truediv__(self, other: Any) -> Expr:
        return call("divide", self, _number(other))

    def __rtruediv__(self, other: Any) -> Expr:
        return call("divide", _number(other), self)

    def __lt__(self, other: Any) -> Expr:
        return call("less", self, _number(other))

    def __gt__(self, other: Any) -> Expr:
        return call("greater", self, _number(other))

    def __le__(self, other: Any) -> Expr:
        return call("less_equal", self, _number(other))

    def __ge__(self, other: Any) -> Expr:
        return call("greater_equal", self, _number(other))

    def __neg__(self) -> Expr:
        return call("negative", self)

    def astype(self, dtype: str) -> Expr:
        """The elements converted to the data type `dtype`."""
        return call("cast", self, dtype=dtype)

    def __call__(self, *args: Expr) -> Expr:
        """A call of this expression. OptionError if its value cannot be a function."""
        raise OptionError(f"{type(self).__name__} is called, expected a function")

    @property
    def children(self) -> Sequence[Expr]:
        """The subexpressions, in the order of computation."""
        return ()

    def astext(self, show_meta_data: bool = True) -> str:
        """Relay's text. show_meta_data: whether constant arrays follow."""
        # lazy: the printer is written in terms of these classes
        from .text import print_expr

        return print_expr(self, show_meta_data)

    def __str__(self) -> str:
        return self.astext(show_meta_data=False)


class Callee(Expr):
    """An expression whose value may be a function."""

    def __call__(self, *args: Any) -> Call:
        return FunctionCall(self, args)


class Var(Callee):
    """A variable: a parameter of a function, or the name bound by a `Let`. type_annotation: None to infer the type.

    virtual_device: the device of a parameter, None without an annotation.
    """

    def __init__(self, name_hint: str, type_annotation: Any = None, virtual_device: object = None):
        self.name_hint = name_hint
        self.virtual_device = virtual_device
        self.type_annotation: Type | None = None if isinstance(type_annotation, IncompleteType) else type_annotation

    def __repr__(self) -> str:
        return f"%{self.name_hint}"


class ConstantArray(np.ndarray[Any, Any]):
    """The array of a constant, with the methods of TVM's arrays."""

    def numpy(self) -> Array:
        """The array."""
        return self.view(np.ndarray)

    asnumpy = numpy


class Constant(Expr):
    """A constant. array: its array. data: an array of numpy, or of `tvm.nd`, which is not copied."""

    def __init__(self, data: Any):
        self.array: Array = data.numpy() if hasattr(data, "numpy") else data

    @property
    def data(self) -> ConstantArray:
        """The array, with the methods of TVM's arrays."""
        return np.asarray(self.array).view(ConstantArray)

    def __repr__(self) -> str:
        return f"const({self.data if self.data.ndim == 0 else list(self.data.shape)}, {self.data.dtype})"


class Number(Expr):
    """A Python number as an operand, as in `x + 1`; its data type is the other operand's."""

    def __init__(self, value: float):
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)


class GlobalVar(Callee):
    """A reference to a function of the module by name. type_annot: its type, None if it is inferred."""

    def __init__(self, name_hint: str, type_annot: Any = None):
        self.name_hint = name_hint
        self.known_type = type_annot

    def __repr__(self) -> str:
        return f"@{self.name_hint}"


class SymbolVar(GlobalVar):
    """A reference to a function by its name in a module; such references of one name are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolVar) and self.name_hint == other.name_hint

    def __hash__(self) -> int:
        return hash(self.name_hint)


class CallAttributes(dict[str, Any]):
    """The attributes of a call that differ from their defaults, by name; `attrs.axis` is the value of any attribute."""

    def __init__(self, operator: Operator, values: Mapping[str, Any]):
        super().__init__(values)
        self._defaults = {attribute.name: attribute.default for attribute in operator.attributes}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._defaults:
            raise AttributeError(f"no attribute {name!r}")
        return self.get(name, self._defaults[name])


class Call(Expr):
    """A call of an operator on tensors, or, as a `FunctionCall`, of a function.

    op: the operator.  args: its operands.  attrs: its checked attributes.  type_args: the types of the operands, which
    no user reads.  location: the source location of the call in the user's program. TeError for unknown attributes.
    """

    op: Any
    args: tuple[Expr, ...]
    attrs: Mapping[str, Any]

    def __new__(cls, op: Operator | Expr, *_args: Any, **_named: Any) -> Call:  # noqa: PYI034
        return object.__new__(FunctionCall if isinstance(op, Expr) else cls)

    def __init__(
        self,
        op: Operator | Expr,
        args: Sequence[Any],
        attrs: Mapping[str, Any] | None = None,
        type_args: Sequence[Any] | None = None,
        span: object = None,
    ):
        self.op = op
        self.args = tuple(as_expr(arg) for arg in args)
        self.attrs = self._checked(attrs or {})
        self.type_args = tuple(type_args or ())
        self.location = location_of_user()

    def _checked(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Attributes in the form in which the call keeps them."""
        assert isinstance(self.op, Operator)
        return CallAttributes(self.op, normalize_attributes(self.op, attrs))

    def with_args(self, args: Sequence[Any], changes: Mapping[str, Any] | None = None) -> Call:
        """The call of the same operator or function with other operands, at the same place. changes: of attributes."""
        new = Call(self.op, args, {**self.attrs, **(changes or {})})
        new.location = self.location
        return new

    @property
    def children(self) -> Sequence[Expr]:
        return self.args

    def __repr__(self) -> str:
        arguments = [*map(_short, self.args), *(f"{name}={value}" for name, value in self.attrs.items())]
        return f"{self.op.name}({', '.join(arguments)})"


class FunctionCall(Call, Callee):
    """A call of a function of the module, or of a function expression."""

    def _checked(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        return dict(attrs)

    @property
    def children(self) -> Sequence[Expr]:
        return (self.op, *self.args)

    def __repr__(self) -> str:
        return f"{_short(self.op)}({', '.join(map(_short, self.args))})"


class Tuple(Expr):
    """A tuple of expressions."""

    def __init__(self, fields: Sequence[Expr]):
        self.fields = tuple(as_expr(each) for each in fields)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.fields)

    @property
    def checked_type(self) -> TupleType:
        """The type. OptionError as for other expressions."""
        return TupleType([each.checked_type for each in self.fields])

    @property
    def children(self) -> Sequence[Expr]:
        return self.fields

    def __repr__(self) -> str:
        return f"({', '.join(map(_short, self.fields))})"


class TupleGetItem(Callee):
    """A field of a tuple."""

    def __init__(self, tuple_value: Expr, index: int):
        self.tuple_value = tuple_value
        self.index = index

    @property
    def children(self) -> Sequence[Expr]:
        return (self.tuple_value,)

    def __repr__(self) -> str:
        return f"{_short(self.tuple_value)}.{self.index}"


class TupleWrapper(Expr):
    """The results of an operator with several: `split(...)[0]`, `a, b = split(...)`. size: the number of results."""

    def __init__(self, tuple_value: Expr, size: int):
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        """The tuple of all results, as one expression."""
        return self.tuple_value

    def __getitem__(self, index: int) -> Expr:
        if not -self.size <= index < self.size:
            raise IndexError(f"value {index} of {self.size}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Expr]:
        return (self[n] for n in range(self.size))

    @property
    def children(self) -> Sequence[Expr]:
        return (self.tuple_value,)

    def __repr__(self) -> str:
        return repr(self.tuple_value)


class Let(Callee):
    """A body in which a variable is bound to a value."""

    def __init__(self, variable: Var, value: Expr, body: Expr):
        self.var = variable
        self.value = as_expr(value)
        self.body = as_expr(body)

    @property
    def children(self) -> Sequence[Expr]:
        return (self.value, self.body)

    def __repr__(self) -> str:
        return f"let {self.var!r} = {_short(self.value)}; {_short(self.body)}"


class If(Callee):
    """A conditional expression; only the branch taken is computed. cond: a bool of rank 0."""

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr):
        self.cond = as_expr(cond)
        self.true_branch = as_expr(true_branch)
        self.false_branch = as_expr(false_branch)

    @property
    def children(self) -> Sequence[Expr]:
        return (self.cond, self.true_branch, self.false_branch)

    def __repr__(self) -> str:
        return f"if {_short(self.cond)} then {_short(self.true_branch)} else {_short(self.false_branch)}"


class RefCreate(Expr):
    """A new reference to a value."""

    def __init__(self, value: Any):
        self.value = as_expr(value)

    @property
    def children(self) -> Sequence[Expr]:
        return (self.value,)

    def __repr__(self) -> str:
        return "ref(...)"


class RefRead(Callee):
    """The value of a reference."""

    def __init__(self, ref: Any):
        self.ref = as_expr(ref)

    @property
    def children(self) -> Sequence[Expr]:
        return (self.ref,)

    def __repr__(self) -> str:
        return "ref_read(...)"


class RefWrite(Expr):
    """The empty tuple, after the value of a reference has been replaced."""

    def __init__(self, ref: Any, value: Any):
        self.ref = as_expr(ref)
        self.value = as_expr(value)

    @property
    def children(self) -> Sequence[Expr]:
        return (self.ref, self.value)

    def __repr__(self) -> str:
        return "ref_write(...)"


class Function(Callee):
    """A function. params: its parameters.  body: its result.  ret_type: the type of the result, None to infer the type.
    type_params: the variables of types in the annotations.  attrs: attributes by name.  span: ignored.

    OptionError for a parameter that is not a variable, or appears twice.
    """

    def __init__(
        self,
        params: Sequence[Var],
        body: Any,
        ret_type: Type | None = None,
        type_params: Sequence[Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        for n, param in enumerate(params):
            if not isinstance(param, Var):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise OptionError(f"parameter {n}: {param!r}, expected a variable")
        if len(set(params)) < len(params):
            raise OptionError(f"parameters {', '.join(map(repr, params))}, one of them twice")
        self.params = tuple(params)
        self.body = as_expr(body)
        self.result_annotation = ret_type
        self.type_params = tuple(type_params or ())
        self.attrs = {name: _plain(value) for name, value in (attrs or {}).items()}

    @property
    def virtual_device(self) -> Any:
        """The device of the result, an attribute of the function; None without an annotation."""
        return self.attrs.get(VIRTUAL_DEVICE)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Function:
        """A copy with an attribute set, or with all attributes of a dictionary."""
        named = {key: value} if isinstance(key, str) else key
        return self._with_attrs({**self.attrs, **named})

    def without_attr(self, key: str) -> Function:
        """A copy without an attribute."""
        return self._with_attrs({name: value for name, value in self.attrs.items() if name != key})

    def _with_attrs(self, attrs: Mapping[str, Any]) -> Function:
        return Function(self.params, self.body, self.result_annotation, self.type_params, attrs)

    @property
    def ret_type(self) -> Type | None:
        """The type of the result: the annotation, or that of the body of a function that was read from a module. None
        if it is not known."""
        if self.result_annotation is not None:
            return self.result_annotation
        fields = self.body.fields if isinstance(self.body, Tuple) else [self.body]
        types = [each.known_type for each in fields]
        if None in types:
            return None
        return TupleType(types) if isinstance(self.body, Tuple) else types[0]

    @property
    def checked_type(self) -> FuncType:
        """The type: that of the annotations, if they are complete. OptionError as for other expressions."""
        annotated = [each.type_annotation for each in self.params]
        if self.result_annotation is not None and None not in annotated:
            return FuncType(annotated, self.result_annotation, self.type_params)
        return FuncType([each.checked_type for each in self.params], self.body.checked_type, self.type_params)

    def __repr__(self) -> str:
        return f"fn ({', '.join(map(repr, self.params))})"


def var(
    name_hint: str, type_annotation: Type | Any = None, shape: Sequence[Any] | None = None, dtype: str = "float32"
) -> Var:
    """A variable, whose type is inferred if no annotation is given. type_annotation: a type, a shape, or the data type
    of a tensor of rank 0.

    OptionError if both a type and a shape are given.
    """
    if type_annotation is not None and shape is not None:
        raise OptionError(f"variable {name_hint}: a type and a shape, expected one of them")
    if isinstance(type_annotation, str):
        return Var(name_hint, TensorType((), type_annotation))
    is_type = isinstance(type_annotation, TensorType | TupleType | FuncType | UserType)
    if is_type or (type_annotation is None and shape is None):
        return Var(name_hint, type_annotation)
    return Var(name_hint, TensorType(type_annotation if shape is None else shape, dtype))


def const(value: Any, dtype: str | TensorType | None = None) -> Constant:
    """A constant from a number, nested lists of numbers, or an array. dtype: a data type, or that of a type; by default
    float32 for Python floats, int32 for Python integers, and the data type of an array.
    """
    dtype = dtype.dtype if isinstance(dtype, TensorType) else dtype
    source = value.numpy() if hasattr(value, "numpy") else value
    array = plain_array(source)
    if dtype is None and not hasattr(source, "dtype"):
        dtype = {"f": "float32", "i": "int32"}.get(array.dtype.kind)
    return Constant(array if dtype is None else array.astype(numpy_dtype(dtype)))


def as_expr(value: Any) -> Expr:
    """Converts a value to an expression: a list or tuple to a `Tuple`, a number or an array to a `Constant`.

    OptionError for any other value.
    """
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    if isinstance(value, Expr):
        return value
    if isinstance(value, list | tuple):
        return Tuple(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, bool | int | float | np.ndarray | np.generic):
        return const(value)
    raise OptionError(f"{value!r}, expected an expression")


def call(name: str, *args: Any, **attributes: object) -> Call:
    """A call of the operator `name`. TeError for unknown attributes."""
    operator = operator_of(name)
    return Call(operator, args, attributes)


def operator_name(expr: Any) -> str | None:
    """The name of the operator that an expression calls, None for other expressions."""
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Operator) else None


def flat_operands(args: Sequence[Expr]) -> list[Expr]:
    """The operands of a call: the fields in place of tuples."""
    return [leaf for arg in args for leaf in (arg.fields if isinstance(arg, Tuple) else (arg,))]


def _plain(value: Any) -> Any:
    """The value of an attribute, also of a constant of te."""
    return value.value if isinstance(value, IntImm | FloatImm | StringImm) else value


def _number(value: Any) -> Expr:
    """The other operand of a Python operator, converted to an expression."""
    return Number(value) if isinstance(value, bool | int | float) else as_expr(value)


def _short(expr: Expr) -> str:
    return repr(expr) if isinstance(expr, Var | Constant | Number | GlobalVar) else f"{type(expr).__name__}(...)"
