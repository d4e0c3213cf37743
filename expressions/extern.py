"""Tensors computed by statements on their buffers, such as calls of external functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.dtypes import DType, parse_dtype
from ..dialects.tir.buffers import check_separators
from .buffers import Argument, Buffer, BufferPointer, ExternCall
from .errors import TeError
from .expr import PrimExpr, StringImm, Var, as_expr
from .statements import STATEMENTS, Allocation, Statement, buffers_of, flatten_statements, walk
from .tensor import Operation, Tensor, is_same_extent, location_of_user, shape_as_extents, tensor_loads


@dataclass(frozen=True, eq=False)
class ExternOp(Operation):
    """Tensors written by statements on buffers, such as calls of external functions.

    shapes: of each tensor.  inputs: the tensors that the calls read.  buffers: the buffers of the inputs, then of the
    results, as used in the body.  body: the statements that write the results.  tag, attrs: the kind of operator and
    annotations for later passes.
    """

    shapes: tuple[tuple[PrimExpr, ...], ...]
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shape_of(self, index: int) -> tuple[PrimExpr, ...]:
        return self.shapes[index]

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def call_packed(name: str, *args: Any) -> ExternCall:
    """A call of the function registered with `stepwell.register_func` as `name`; the return value is discarded.

    args: numbers, and buffers that `te.extern` passes to `fcompute`, or their `access_ptr`; the function receives a
    buffer as an array over the same memory.
    """
    where = _describe_call("call_packed", name)
    args = tuple(arg.buffer if isinstance(arg, BufferPointer) and not arg.indices else arg for arg in args)
    for arg in args:
        if isinstance(arg, BufferPointer):
            raise TeError(f"{where}: an address in {arg.buffer.name}, expected the buffer")
    return ExternCall(name, tuple(_argument(arg, where) for arg in args))


_OTHER_RESULTS = {"": "", "void": "", "handle": "handle"}


def call_extern(dtype: str, name: str, *args: Any) -> ExternCall:
    """A call of the C function `name`, a symbol of the process or of a library that the process has loaded.

    dtype: the result type, "handle" for an address, "void" for no result; the result is discarded.  args: numbers, and
    `buffer.access_ptr("r")` or `buffer.data` for buffers that `te.extern` passes to `fcompute`. TeError for other
    arguments and for an unknown data type.
    """
    where = _describe_call("call_extern", name)
    try:
        result = _OTHER_RESULTS[dtype] if dtype in _OTHER_RESULTS else parse_dtype(dtype).name
    except ValueError as error:
        raise TeError(f"{where}: {error}") from None
    for arg in args:
        if isinstance(arg, Buffer):
            raise TeError(f'{where}: buffer {arg.name}, expected its address, {arg.name}.access_ptr("r")')
    return ExternCall(name, tuple(_argument(arg, where) for arg in args), result)


def call_builtin(name: str, *args: Any) -> ExternCall:
    """The call of a builtin of a target for its effect: `tvm_load_matrix_sync`, ... args: as of `call_extern`, and
    text."""
    where = _describe_call("call_intrin", name)
    values = tuple(StringImm(arg) if isinstance(arg, str) else _argument(arg, where) for arg in args)
    return ExternCall(name, values, "handle", True)


def _describe_call(what: str, name: Any) -> str:
    """The prefix of error messages about a call. TeError unless `name` is a non-empty string."""
    if not isinstance(name, str) or not name:
        raise TeError(f"{what} of {name!r}, expected the name of a function")
    return f"{what} {name}"


def _argument(value: Any, where: str) -> Argument:
    if isinstance(value, Tensor):
        raise TeError(f"{where}: tensor {value.name}, expected its buffer, one of ins and outs")
    if isinstance(value, Buffer | BufferPointer):
        return value
    expr = as_expr(value)
    if tensor_loads([expr]):
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
    axis_separators: Sequence[int] = (),
) -> Buffer:
    """A buffer for `in_buffers` and `out_buffers` of `te.extern`, and for `binds` of `te.decl_tensor_intrin`.

    shape, dtype, name: of the buffer, equal to those of the tensor.  strides: in elements, numbers or variables, which
    stand for the strides of the memory; row-major and compact by default.  elem_offset: the position of the first
    element after the address of the memory, 0 by default.  offset_factor: with a positive number the memory determines
    the offset.  scope: of the memory.  data: None.  data_alignment: ignored; the memory of every tensor has a larger
    alignment.  axis_separators: the positions that divide the dimensions into groups, one for each axis of physical
    memory; not for the buffers of `te.extern`. TeError for other values.
    """
    if data is not None:
        raise TeError(f"decl_buffer {name}: data {data!r}, expected None")
    extents = shape_as_extents(shape, name)
    steps = tuple(as_expr(stride) for stride in strides or ())
    if steps and len(steps) != len(extents):
        raise TeError(f"decl_buffer {name}: {len(steps)} strides for {len(extents)} dimensions")
    start = as_expr(0 if elem_offset is None else elem_offset)
    if elem_offset is None and offset_factor:
        start = Var("elem_offset", "int32")
    separators = tuple(int(each) for each in axis_separators)
    try:
        check_separators(separators, len(extents))
    except ValueError as error:
        raise TeError(f"decl_buffer {name}: axis_separators {list(separators)}, expected {error}") from None
    try:
        return Buffer(name, extents, parse_dtype(dtype), steps, start, scope or "global", separators)
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
    """A tensor written by statements, such as a call of an external function; a list of tensors if there are several
    shapes.

    shape: of the tensor, or a list of shapes.  inputs: the tensors that the statements read.  fcompute: takes the
    buffers of the inputs and of the results, returns a call (`te.call_packed`, `te.call_extern`), or a list of calls
    and other statements in order. They write all elements of the results.  name: of the block.  dtype: of the tensor,
    or of each tensor; by default the data type of the out_buffers, or the common data type of all inputs.  in_buffers,
    out_buffers: the buffers of the inputs and results to pass to `fcompute`, declared by `te.decl_buffer`.  tag: the
    kind of operator.  attrs: annotations of the block.

    TeError for invalid shapes and data types, and unless `fcompute` returns statements.
    """
    for value in inputs:
        if not isinstance(value, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TeError(f"extern {name}: input {value!r}, expected a tensor")
    dims = shape if isinstance(shape, list | tuple) else (shape,)  # pyright: ignore[reportUnknownVariableType]
    several = bool(dims) and all(isinstance(each, list | tuple) for each in dims)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    shapes = tuple(shape_as_extents(each, name) for each in (dims if several else (dims,)))  # pyright: ignore[reportUnknownVariableType]
    declared = None if out_buffers is None else _as_list(out_buffers)
    if dtype is None and declared is not None:
        dtype = [buffer.dtype for buffer in declared]
    kinds = _data_types(dtype, inputs, len(shapes), name)
    ins = [Buffer(tensor.name, tensor.shape, tensor.data_type) for tensor in inputs]
    names = [name] if len(shapes) == 1 else [f"{name}_v{n}" for n in range(len(shapes))]
    outs = [Buffer(*each) for each in zip(names, shapes, kinds, strict=True)]
    ins = _choose_buffers(f"extern {name}: in_buffers", ins, None if in_buffers is None else _as_list(in_buffers))
    outs = _choose_buffers(f"extern {name}: out_buffers", outs, declared)
    body = _statements(fcompute(list(ins), list(outs)), {*ins, *outs}, name)
    op = ExternOp(
        name, shapes[0], kinds, location_of_user(), shapes, tuple(inputs), (*ins, *outs), body, tag, dict(attrs or {})
    )
    return op.output(0) if len(shapes) == 1 else [op.output(n) for n in range(len(shapes))]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _choose_buffers(where: str, buffers: list[Buffer], declared: list[Any] | None) -> list[Buffer]:
    """The buffers declared by the caller, or the default `buffers` if `declared` is None. TeError unless the declared
    buffers match the default buffers in number, shape and data type."""
    if declared is None:
        return buffers
    if len(declared) != len(buffers):
        raise TeError(f"{where}: {len(declared)} buffers, expected {len(buffers)}")
    for n, (own, buffer) in enumerate(zip(buffers, declared, strict=True)):
        if not isinstance(buffer, Buffer):
            raise TeError(f"{where}: {buffer!r}, expected what te.decl_buffer gives")
        if buffer in declared[:n]:
            raise TeError(f"{where}: buffer {buffer.name} is given twice")
        if not buffer.is_compact and not _has_own_offset(buffer):
            raise TeError(f"{where}: buffer {buffer.name}, expected a row-major, compact and global buffer")
        if buffer.axis_separators:
            separators = list(buffer.axis_separators)
            raise TeError(f"{where}: buffer {buffer.name} with axis_separators {separators}, expected none")
        same = len(own.shape) == len(buffer.shape) and all(map(is_same_extent, own.shape, buffer.shape))
        if not same or own.data_type != buffer.data_type:
            expected, got = (f"{list(each.shape)} of {each.dtype}" for each in (own, buffer))
            raise TeError(f"{where}: buffer {buffer.name} is {got}, expected {expected}")
    return declared


def _has_own_offset(buffer: Buffer) -> bool:
    """Whether a buffer is compact and global but for an offset that the memory determines, which is 0 in a tensor."""
    return not buffer.strides and buffer.memory == "global" and isinstance(buffer.elem_offset, Var)


def _data_types(
    dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int, name: str
) -> tuple[DType, ...]:
    if dtype is None:
        kinds = list(dict.fromkeys(tensor.dtype for tensor in inputs))
        if len(kinds) != 1:
            raise TeError(f"extern {name}: inputs of {len(kinds)} data types, expected dtype to say that of the result")
        dtype = kinds[0]
    names = [dtype] * count if isinstance(dtype, str) else list(dtype)
    if len(names) != count:
        raise TeError(f"extern {name}: {len(names)} data types for {count} shapes")
    try:
        return tuple(parse_dtype(each) for each in names)
    except ValueError as error:
        raise TeError(f"extern {name}: {error}") from None


def _statements(result: Any, buffers: set[Buffer], name: str) -> tuple[Statement, ...]:
    body = flatten_statements(result)
    if not body:
        raise TeError(f"extern {name}: no call")
    for each in body:
        if not isinstance(each, STATEMENTS):
            raise TeError(
                f"extern {name}: fcompute gives {each!r}, expected te.call_packed(...), te.call_extern(...) or "
                "the statements of an ir_builder"
            )
    every = list(walk(body))
    known = buffers | {each.buffer for each in every if isinstance(each, Allocation)}
    for buffer in (buffer for each in every for buffer in buffers_of(each)):
        if buffer not in known:
            raise TeError(f"extern {name}: buffer {buffer.name} is of another operation")
    return tuple(body)
