"""Tensors that calls of functions outside of the program compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..core.dtypes import DType, parse_dtype
from .errors import TeError
from .expr import PrimExpr, Var, as_expr
from .tensor import Operation, Tensor, is_same_extent, loads, location_of_user, shape_as_extents


@dataclass(frozen=True, eq=False)
class Buffer:
    """The memory of a tensor, as `te.extern` shows it: row-major and compact."""

    name: str
    shape: tuple[PrimExpr, ...]
    data_type: DType

    @property
    def dtype(self) -> str:
        return self.data_type.name

    @property
    def data(self) -> BufferPointer:
        """Where its elements begin, for `te.call_extern`."""
        return BufferPointer(self)

    def access_ptr(self, access_mask: str | int, offset: int = 0) -> BufferPointer:
        """Where its elements begin, for `te.call_extern`.

        access_mask: what the call does there, "r", "w" or "rw", 1, 2 or 3: what is read and written follows from which
        tensor it is.  offset: 0. TeError for others.
        """
        if access_mask not in ("r", "w", "rw", "wr", 1, 2, 3):
            raise TeError(f"access_ptr of {self.name}: access_mask {access_mask!r}, expected 'r', 'w' or 'rw'")
        if offset != 0:
            raise TeError(f"access_ptr of {self.name}: offset {offset!r}, expected 0")
        return BufferPointer(self)

    def address_of(self, *indices: Any) -> BufferPointer:
        """Where an element is, for `te.call_extern`. TeError unless there is one index for each dimension."""
        if len(indices) != len(self.shape):
            raise TeError(f"address_of {self.name}: {len(indices)} indices for {len(self.shape)} dimensions")
        return BufferPointer(self, tuple(as_expr(index) for index in indices))


@dataclass(frozen=True, eq=False)
class BufferPointer:
    """The address of an element of a buffer, by default the first one."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...] = ()


Argument: TypeAlias = "Buffer | BufferPointer | PrimExpr"


@dataclass(frozen=True, eq=False)
class ExternCall:
    """A call of a function outside of the program. args: buffers, addresses and numbers. dtype: of the result of a C
    function, "" for none; None for a registered function of Python."""

    name: str
    args: tuple[Argument, ...]
    dtype: str | None = None

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers that it is given."""
        given = [arg.buffer if isinstance(arg, BufferPointer) else arg for arg in self.args]
        return [arg for arg in given if isinstance(arg, Buffer)]


@dataclass(frozen=True, eq=False)
class ExternLoop:
    """A call for each value of a variable from 0 on."""

    variable: Var
    extent: PrimExpr
    call: ExternCall


@dataclass(frozen=True, eq=False)
class ExternOp(Operation):
    """Tensors that calls write.

    shapes: of each tensor.  inputs: what the calls read.  buffers: the inputs and then the results, as the calls see
    them.  body: the calls, in order.  tag, attrs: what operator it is, for later.
    """

    shapes: tuple[tuple[PrimExpr, ...], ...]
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[ExternCall | ExternLoop, ...]
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shape_of(self, index: int) -> tuple[PrimExpr, ...]:
        return self.shapes[index]

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def call_packed(name: str, *args: Any) -> ExternCall:
    """A call of the function that `stepwell.register_func` knows by a name; what it returns is dropped.

    args: buffers that `te.extern` gives, which arrive as arrays over the same memory, and numbers.
    """
    where = _call("call_packed", name)
    for arg in args:
        if isinstance(arg, BufferPointer):
            raise TeError(f"{where}: an address in {arg.buffer.name}, expected the buffer")
    return ExternCall(name, tuple(_argument(arg, where) for arg in args))


def for_each(extent: Any, call: Callable[[Var], ExternCall], name: str = "i") -> ExternLoop:
    """A call for each number from 0 to an extent, which it is made of. name: of that number."""
    last = as_expr(extent)
    variable = Var(name, last.dtype)
    return ExternLoop(variable, last, call(variable))


_NO_NUMBERS = {"": "", "void": "", "handle": "handle"}


def call_extern(dtype: str, name: str, *args: Any) -> ExternCall:
    """A call of the C function of a name, which the process or a library that it has loaded provides.

    dtype: what it returns, which is dropped; "handle" for an address, "void" for nothing.  args:
    `buffer.access_ptr("r")` or `buffer.data` for buffers that `te.extern` gives, and numbers. TeError for others, and
    for what is no data type.
    """
    where = _call("call_extern", name)
    try:
        result = _NO_NUMBERS[dtype] if dtype in _NO_NUMBERS else parse_dtype(dtype).name
    except ValueError as error:
        raise TeError(f"{where}: {error}") from None
    for arg in args:
        if isinstance(arg, Buffer):
            raise TeError(f'{where}: buffer {arg.name}, expected its address, {arg.name}.access_ptr("r")')
    return ExternCall(name, tuple(_argument(arg, where) for arg in args), result)


def _call(what: str, name: Any) -> str:
    """What errors about a call begin with."""
    if not isinstance(name, str) or not name:
        raise TeError(f"{what} of {name!r}, expected the name of a function")
    return f"{what} {name}"


def _argument(value: Any, where: str) -> Argument:
    if isinstance(value, Tensor):
        raise TeError(f"{where}: tensor {value.name}, expected its buffer, one of ins and outs")
    if isinstance(value, Buffer | BufferPointer):
        return value
    expr = as_expr(value)
    if loads([expr]):
        raise TeError(f"{where}: {expr!r} reads a tensor, expected a buffer or a number")
    return expr


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    name: str = "buffer",
    data: None = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
) -> Buffer:
    """A buffer for `in_buffers` and `out_buffers` of `te.extern`.

    shape, dtype, name: of the buffer, as the tensor has them.  data, strides, elem_offset, scope: nothing but what
    they are by default, since the memory of a tensor is row-major, compact and global.  data_alignment, offset_factor:
    more than that is promised by every tensor's memory. TeError for others.
    """
    for what, given, usual in (
        ("data", data, (None,)),
        ("strides", strides or None, (None,)),
        ("elem_offset", elem_offset, (None, 0)),
        ("scope", scope, ("", "global")),
    ):
        if not any(given is value or (isinstance(given, int | str) and given == value) for value in usual):
            raise TeError(f"decl_buffer {name}: {what} {given!r}, expected a row-major, compact and global buffer")
    try:
        return Buffer(name, shape_as_extents(shape, name), parse_dtype(dtype))
    except ValueError as error:
        raise TeError(f"decl_buffer {name}: {error}") from None


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], Any],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """A tensor that a call writes; a list of tensors if there are several shapes.

    shape: of the tensor, or a list of shapes.  inputs: what the call reads.  fcompute: takes the buffers of the inputs
    and those of the results, gives a call (`te.call_packed`, `te.call_extern`), or several in order. The calls write
    all elements.  name: of the block.  dtype: of the tensor, or one for each; if missing, that of the out_buffers, or
    that which all inputs have.  in_buffers, out_buffers: what stands for the inputs and the results in `fcompute`, as
    `te.decl_buffer` gives them.  tag: what operator it is.  attrs: said about the block.

    TeError for shapes and data types that are none, and for what is no call.
    """
    for value in inputs:
        if not isinstance(value, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"extern {name}: input {value!r}, expected a tensor")
    given = shape if isinstance(shape, list | tuple) else (shape,)  # pyright: ignore[reportUnknownVariableType]
    several = bool(given) and all(isinstance(each, list | tuple) for each in given)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    shapes = tuple(shape_as_extents(each, name) for each in (given if several else (given,)))  # pyright: ignore[reportUnknownVariableType]
    declared = None if out_buffers is None else _declared(out_buffers)
    if dtype is None and declared is not None:
        dtype = [buffer.dtype for buffer in declared]
    kinds = _data_types(dtype, inputs, len(shapes), name)
    ins = [Buffer(tensor.name, tensor.shape, tensor.data_type) for tensor in inputs]
    names = [name] if len(shapes) == 1 else [f"{name}_v{n}" for n in range(len(shapes))]
    outs = [Buffer(*each) for each in zip(names, shapes, kinds, strict=True)]
    ins = _as_declared(f"extern {name}: in_buffers", ins, None if in_buffers is None else _declared(in_buffers))
    outs = _as_declared(f"extern {name}: out_buffers", outs, declared)
    body = _calls(fcompute(list(ins), list(outs)), {*ins, *outs}, name)
    op = ExternOp(
        name, shapes[0], kinds, location_of_user(), shapes, tuple(inputs), (*ins, *outs), body, tag, dict(attrs or {})
    )
    return op.output(0) if len(shapes) == 1 else [op.output(n) for n in range(len(shapes))]


def _declared(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _as_declared(where: str, buffers: list[Buffer], declared: list[Any] | None) -> list[Buffer]:
    """The buffers that the caller declared in place of those that tensors have. TeError if they are others."""
    if declared is None:
        return buffers
    if len(declared) != len(buffers):
        raise TeError(f"{where}: {len(declared)} buffers, expected {len(buffers)}")
    for n, (own, buffer) in enumerate(zip(buffers, declared, strict=True)):
        if not isinstance(buffer, Buffer):
            raise TeError(f"{where}: {buffer!r}, expected what te.decl_buffer gives")
        if buffer in declared[:n]:
            raise TeError(f"{where}: buffer {buffer.name} is given twice")
        same = len(own.shape) == len(buffer.shape) and all(map(is_same_extent, own.shape, buffer.shape))
        if not same or own.data_type != buffer.data_type:
            expected, got = (f"{list(each.shape)} of {each.dtype}" for each in (own, buffer))
            raise TeError(f"{where}: buffer {buffer.name} is {got}, expected {expected}")
    return declared


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


def _calls(given: Any, buffers: set[Buffer], name: str) -> tuple[ExternCall | ExternLoop, ...]:
    calls: list[Any] = list(given) if isinstance(given, list | tuple) else [given]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if not calls:
        raise TeError(f"extern {name}: no call")
    for each in calls:
        call = each.call if isinstance(each, ExternLoop) else each
        if not isinstance(call, ExternCall):
            raise TeError(
                f"extern {name}: fcompute gives {call!r}, expected te.call_packed(...) or te.call_extern(...)"
            )
        for buffer in call.buffers:
            if buffer not in buffers:
                raise TeError(f"extern {name}: buffer {buffer.name} is of another operation")
    return tuple(calls)
