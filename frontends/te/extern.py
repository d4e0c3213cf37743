"""Tensors that calls of functions outside of the program compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...core.dtypes import DType, parse_dtype
from .errors import TeError
from .expr import PrimExpr, as_expr
from .tensor import Operation, Tensor, loads, location_of_user, shape_as_extents


@dataclass(frozen=True, eq=False)
class Buffer:
    """The memory of a tensor, as `te.extern` shows it."""

    name: str
    shape: tuple[PrimExpr, ...]
    data_type: DType

    @property
    def dtype(self) -> str:
        return self.data_type.name


Argument: TypeAlias = "Buffer | PrimExpr"


@dataclass(frozen=True, eq=False)
class CallPacked:
    """A call of a registered function. args: buffers and numbers."""

    name: str
    args: tuple[Argument, ...]


@dataclass(frozen=True, eq=False)
class ExternOp(Operation):
    """Tensors that calls write.

    shapes: of each tensor.  inputs: what the calls read.  buffers: the inputs and then the results, as the calls see
    them.  body: the calls, in order.  tag, attrs: what operator it is, for later.
    """

    shapes: tuple[tuple[PrimExpr, ...], ...]
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[CallPacked, ...]
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shape_of(self, index: int) -> tuple[PrimExpr, ...]:
        return self.shapes[index]

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def call_packed(name: str, *args: Any) -> CallPacked:
    """A call of the function that `stepwell.register_func` knows by a name; what it returns is dropped.

    args: buffers that `te.extern` gives, which arrive as arrays over the same memory, and numbers.
    """
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TeError(f"call_packed of {name!r}, expected the name of a function")
    return CallPacked(name, tuple(_argument(arg, name) for arg in args))


def _argument(value: Any, name: str) -> Argument:
    if isinstance(value, Tensor):
        raise TeError(f"call_packed {name}: tensor {value.name}, expected its buffer, one of ins and outs")
    if isinstance(value, Buffer):
        return value
    expr = as_expr(value)
    if loads([expr]):
        raise TeError(f"call_packed {name}: {expr!r} reads a tensor, expected a buffer or a number")
    return expr


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], Any],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: None = None,
    out_buffers: None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """A tensor that a call writes; a list of tensors if there are several shapes.

    shape: of the tensor, or a list of shapes.  inputs: what the call reads.  fcompute: takes the buffers of the inputs
    and those of the results, gives a call (`te.call_packed`), or several in order. The calls write all elements.
    name: of the block.  dtype: of the tensor, or one for each; if missing, that which all inputs have.  in_buffers,
    out_buffers: not supported, buffers are row-major and compact.  tag: what operator it is.  attrs: said about the
    block.

    TeError for shapes and data types that are none, and for what is no call.
    """
    if in_buffers is not None or out_buffers is not None:
        raise TeError(f"extern {name}: in_buffers and out_buffers are not supported, expected None")
    for value in inputs:
        if not isinstance(value, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"extern {name}: input {value!r}, expected a tensor")
    given = shape if isinstance(shape, list | tuple) else (shape,)  # pyright: ignore[reportUnknownVariableType]
    several = bool(given) and all(isinstance(each, list | tuple) for each in given)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    shapes = tuple(shape_as_extents(each, name) for each in (given if several else (given,)))  # pyright: ignore[reportUnknownVariableType]
    kinds = _data_types(dtype, inputs, len(shapes), name)
    ins = [Buffer(tensor.name, tensor.shape, tensor.data_type) for tensor in inputs]
    names = [name] if len(shapes) == 1 else [f"{name}_v{n}" for n in range(len(shapes))]
    outs = [Buffer(*each) for each in zip(names, shapes, kinds, strict=True)]
    body = _calls(fcompute(list(ins), list(outs)), {*ins, *outs}, name)
    op = ExternOp(
        name, shapes[0], kinds, location_of_user(), shapes, tuple(inputs), (*ins, *outs), body, tag, dict(attrs or {})
    )
    return op.output(0) if len(shapes) == 1 else [op.output(n) for n in range(len(shapes))]


def _data_types(
    dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int, name: str
) -> tuple[DType, ...]:
    if dtype is None:
        found = list(dict.fromkeys(tensor.dtype for tensor in inputs))
        if len(found) != 1:
            raise TeError(f"extern {name}: inputs of {len(found)} data types, expected dtype to say that of the result")
        dtype = found[0]
    names = [dtype] * count if isinstance(dtype, str) else list(dtype)
    if len(names) != count:
        raise TeError(f"extern {name}: {len(names)} data types for {count} shapes")
    try:
        return tuple(parse_dtype(each) for each in names)
    except ValueError as error:
        raise TeError(f"extern {name}: {error}") from None


def _calls(given: Any, buffers: set[Buffer], name: str) -> tuple[CallPacked, ...]:
    calls: list[Any] = list(given) if isinstance(given, list | tuple) else [given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not calls:
        raise TeError(f"extern {name}: no call")
    for call in calls:
        if not isinstance(call, CallPacked):
            raise TeError(f"extern {name}: fcompute gives {call!r}, expected te.call_packed(...)")
        for arg in call.args:
            if isinstance(arg, Buffer) and arg not in buffers:
                raise TeError(f"extern {name}: buffer {arg.name} is of another operation")
    return tuple(calls)
