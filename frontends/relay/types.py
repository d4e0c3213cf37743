"""Types of expressions, such as `relay.TensorType`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from ...core.dtypes import parse_dtype
from ...core.errors import OptionError, UnsupportedError
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


@dataclass(frozen=True)
class TensorType:
    """The shape and the data type of a tensor. shape: numbers, names, expressions of variables, or `relay.Any()`."""

    shape: tuple[Size, ...] = ()
    dtype: str = "float32"

    def __init__(self, shape: Any = (), dtype: str = "float32"):
        """OptionError for an invalid size or data type."""
        sizes = shape if isinstance(shape, Sequence | Iterable) and not isinstance(shape, str) else (shape,)
        try:
            object.__setattr__(self, "shape", _shape(sizes))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            object.__setattr__(self, "dtype", parse_dtype(dtype).name)
        except ValueError as error:
            raise OptionError(f"type of a tensor: {error}") from None

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

    def __init__(self, fields: Sequence[Type]):
        object.__setattr__(self, "fields", tuple(fields))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.fields))})"


@dataclass(frozen=True)
class FuncType:
    """The type of a function. arg_types: those of the parameters.  ret_type: that of the result."""

    arg_types: tuple[Type, ...]
    ret_type: Type | None

    def __init__(self, arg_types: Sequence[Type], ret_type: Type | None, type_params: Sequence[Any] | None = None):
        """UnsupportedError for parameters of types."""
        if type_params:
            raise UnsupportedError("parameters of types are not supported yet: a function has one type")
        object.__setattr__(self, "arg_types", tuple(arg_types))
        object.__setattr__(self, "ret_type", ret_type)

    def __str__(self) -> str:
        return f"fn ({', '.join(map(str, self.arg_types))}) -> {self.ret_type}"


Type: TypeAlias = "TensorType | TupleType | FuncType"


def _shape(sizes: Iterable[Any]) -> tuple[Size, ...]:
    """The sizes of a shape; an `Any` that is repeated is another size."""
    shape: list[Size] = []
    for size in sizes:
        normal = _size(size)
        is_repeated = isinstance(size, Any_) and normal in shape
        shape.append(_size(Any_()) if is_repeated else normal)
    return tuple(shape)


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
