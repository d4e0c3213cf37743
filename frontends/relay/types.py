"""Types of expressions, such as `relay.TensorType`."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from typing import Any, TypeAlias

from ...core.dtypes import parse_dtype
from ...core.errors import OptionError
from ...core.sizes import Extents
from ...expressions.expr import PrimExpr, as_expr
from ...expressions.sizes import size_text
from ...operators.relay import Size, normal_size

_numbers = count()


class Any_:
    """A size unknown until run time: `relay.Any()`. Each instance is a distinct size; so are its repetitions in one
    shape."""

    def __init__(self) -> None:
        self.name = f"any{next(_numbers)}"

    def __repr__(self) -> str:
        return "?"


def is_unknown(size: Size) -> bool:
    """Whether a size is unknown until run time, as that of an `Any` is."""
    return isinstance(size, str) and re.fullmatch(r"any\d+", size) is not None


@dataclass(frozen=True, eq=False)
class TensorType:
    """The shape and the data type of a tensor, equal to others up to the names of unknown sizes.

    shape: numbers, names, expressions of variables, or `relay.Any()`.
    """

    shape: Extents[Size]
    dtype: str

    def __init__(self, shape: Any = (), dtype: str = "float32"):
        """OptionError for an invalid size or data type."""
        sizes = shape if isinstance(shape, Sequence | Iterable) and not isinstance(shape, str) else (shape,)
        try:
            object.__setattr__(self, "shape", _shape(sizes))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            object.__setattr__(self, "dtype", parse_dtype(dtype).name)
        except ValueError as error:
            raise OptionError(f"type of a tensor: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return tuple("?" if is_unknown(size) else size for size in self.shape), self.dtype

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as integers. OptionError if any size is unknown."""
        if not all(isinstance(size, int) for size in self.shape):
            raise OptionError(f"shape {self.shape}, expected known sizes")
        return tuple(int(size) for size in self.shape)

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype
        return f"Tensor[({', '.join(map(str, self.shape))}{',' if len(self.shape) == 1 else ''}), {self.dtype}]"


@dataclass(frozen=True)
class TupleType:
    """The type of a tuple."""

    fields: tuple[Type, ...] = field(default_factory=tuple)

    def __init__(self, fields: Sequence[Any]):
        object.__setattr__(self, "fields", tuple(fields))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.fields))})"


@dataclass(frozen=True, eq=False)
class FuncType:
    """The type of a function, equal to others up to the names of its variables.

    arg_types: those of the parameters.  ret_type: that of the result.  type_params: the variables of types in it.
    type_constraints: relations of types.
    """

    arg_types: tuple[Type, ...]
    ret_type: Type | None
    type_params: tuple[Any, ...] = ()
    type_constraints: tuple[Any, ...] = ()

    def __init__(
        self,
        arg_types: Sequence[Any],
        ret_type: Any,
        type_params: Sequence[Any] | None = None,
        type_constraints: Sequence[Any] | None = None,
    ):
        object.__setattr__(self, "arg_types", tuple(arg_types))
        object.__setattr__(self, "ret_type", ret_type)
        object.__setattr__(self, "type_params", tuple(type_params or ()))
        object.__setattr__(self, "type_constraints", tuple(type_constraints or ()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FuncType) or len(self.type_params) != len(other.type_params):
            return False
        renamed = [
            substitute(each, dict(zip(other.type_params, self.type_params, strict=True)))
            for each in (*other.arg_types, other.ret_type, *other.type_constraints)
        ]
        return renamed == [*self.arg_types, self.ret_type, *self.type_constraints]

    def __hash__(self) -> int:
        return hash((len(self.arg_types), len(self.type_params)))

    def __str__(self) -> str:
        variables = f"<{', '.join(map(str, self.type_params))}>" if self.type_params else ""
        return f"fn{variables} ({', '.join(map(str, self.arg_types))}) -> {self.ret_type}"


# Types of users. Graphs with them are read, drawn and rewritten; they have no operations.


class TypeKind(IntEnum):
    """The kinds of types, with TVM's numbers."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Shape = 3
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


@dataclass(frozen=True, eq=False)
class TypeVar:
    """A variable of types, compared by identity. kind: that of the types for which it stands."""

    name_hint: str
    kind: TypeKind = TypeKind.Type

    @property
    def name(self) -> str:
        return self.name_hint

    def __str__(self) -> str:
        return self.name_hint


@dataclass(frozen=True, eq=False)
class GlobalTypeVar:
    """The name of a data type of users in a module, compared by identity."""

    name_hint: str
    kind: TypeKind = TypeKind.AdtHandle

    @property
    def name(self) -> str:
        return self.name_hint

    def __call__(self, *args: Any) -> TypeCall:
        return TypeCall(self, args)

    def __str__(self) -> str:
        return self.name_hint


@dataclass(frozen=True)
class TypeCall:
    """A data type of users with arguments. func: its name."""

    func: Any
    args: tuple[Any, ...]

    def __init__(self, func: Any, args: Sequence[Any]):
        object.__setattr__(self, "func", func)
        object.__setattr__(self, "args", tuple(args))

    def __str__(self) -> str:
        return f"{self.func}[{', '.join(map(str, self.args))}]" if self.args else str(self.func)


@dataclass(frozen=True)
class RefType:
    """The type of a reference to a value."""

    value: Any

    def __str__(self) -> str:
        return f"ref({self.value})"


@dataclass(frozen=True, eq=False)
class IncompleteType:
    """A type that inference determines, compared by identity."""

    kind: TypeKind = TypeKind.Type


@dataclass(frozen=True)
class TypeRelation:
    """A relation of types. func: its name.  args: the types.  num_inputs: the number of types that are given.  attrs:
    attributes of the call."""

    func: Any
    args: tuple[Any, ...]
    num_inputs: int
    attrs: Any = None

    def __init__(self, func: Any, args: Sequence[Any], num_inputs: int, attrs: Any = None):
        for name, value in (("func", func), ("args", tuple(args)), ("num_inputs", num_inputs), ("attrs", attrs)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class TypeData:
    """A data type of users. header: its name.  type_vars: its variables.  constructors: functions that make values.

    The constructors get their tags: consecutive numbers, above a number of the name.
    """

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Any, ...]

    def __init__(self, header: GlobalTypeVar, type_vars: Sequence[TypeVar], constructors: Sequence[Any]):
        object.__setattr__(self, "header", header)
        object.__setattr__(self, "type_vars", tuple(type_vars))
        object.__setattr__(self, "constructors", tuple(constructors))
        base = (zlib.crc32(header.name_hint.encode()) % 255 + 1) << 24
        for n, each in enumerate(self.constructors):
            each.tag = base | n
            each.type_vars = self.type_vars


Type: TypeAlias = "TensorType | TupleType | FuncType"

UserType: TypeAlias = TypeVar | GlobalTypeVar | TypeCall | RefType | IncompleteType | TypeRelation | TypeData


def type_parts(type: Any) -> list[Any]:
    """The types of which a type consists, the variables of a function first. OptionError for another value."""
    match type:
        case TensorType() | TypeVar() | GlobalTypeVar() | IncompleteType():
            return []
        case TupleType():
            return [*type.fields]
        case FuncType():
            result = [] if type.ret_type is None else [type.ret_type]
            return [*type.type_params, *type.type_constraints, *type.arg_types, *result]
        case TypeCall():
            return [type.func, *type.args]
        case RefType():
            return [type.value]
        case TypeRelation():
            return [*type.args]
        case TypeData():
            return [type.header, *type.type_vars, *type.constructors]
        case _:
            raise OptionError(f"{type!r}, expected a type")


def is_dynamic(tensor_type: Any) -> bool:
    """Whether a size of a tensor in a type is not a number. OptionError for another value."""
    sizes = tensor_type.shape if isinstance(tensor_type, TensorType) else ()
    return any(not isinstance(size, int) for size in sizes) or any(map(is_dynamic, type_parts(tensor_type)))


def substitute(type: Any, values: Mapping[Any, Any]) -> Any:
    """A type with types in place of variables."""
    match type:
        case TypeVar() | IncompleteType():
            return values.get(type, type)
        case TupleType():
            return TupleType([substitute(each, values) for each in type.fields])
        case FuncType():
            parts = [substitute(each, values) for each in (type.ret_type, *type.arg_types)]
            constraints = [substitute(each, values) for each in type.type_constraints]
            variables = [values.get(each, each) for each in type.type_params]
            return FuncType(parts[1:], parts[0], variables, constraints)
        case TypeCall():
            return TypeCall(type.func, [substitute(each, values) for each in type.args])
        case RefType():
            return RefType(substitute(type.value, values))
        case TypeRelation():
            args = [substitute(each, values) for each in type.args]
            return TypeRelation(type.func, args, type.num_inputs, type.attrs)
        case _:
            return type


def type_variables(type: Any, only_bound: bool | None = None) -> list[TypeVar]:
    """The variables of types in a type, in the order of their first use. only_bound: True for the parameters of
    functions alone, False for all others, None for both."""
    used: dict[TypeVar, None] = {}
    bound: set[TypeVar] = set()
    todo = [type]
    while todo:
        top = todo.pop()
        if isinstance(top, TypeVar):
            used[top] = None
        bound |= set(top.type_params) if isinstance(top, FuncType) else set()
        todo += reversed(type_parts(top))
    return [each for each in used if only_bound is None or (each in bound) == only_bound]


def _shape(sizes: Iterable[Any]) -> Extents[Size]:
    """The sizes of a shape; an `Any` that is repeated is another size."""
    shape: list[Size] = []
    for size in sizes:
        normal = _size(size)
        is_repeated = isinstance(size, Any_) and normal in shape
        shape.append(_size(Any_()) if is_repeated else normal)
    return Extents(shape)


def _size(size: Any) -> Size:
    if isinstance(size, Any_):
        return size.name
    if isinstance(size, str):
        return normal_size(size)
    if isinstance(size, PrimExpr):
        return size_text(as_expr(size))
    if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0:
        raise ValueError(f"size {size!r}, expected a number from 0 on, a name or an expression")
    return int(size)
