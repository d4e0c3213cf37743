"""Signatures of kernels, and the check of a call against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...core.dtypes import dtype_of
from ...core.errors import StepwellError
from ...dialects import tir
from ...dialects.text import expression_text
from ...dialects.tir import DYNAMIC, HandleType, MatchBufferOp
from ...dialects.tir.base import require
from ..relay import FuncOp as GraphFuncOp
from ..relay import Size, dtype_of_tensor, free_sizes, normal_size, shape_of
from ..relay.types import names_of
from .types import known_dtype, known_rank, known_shape, replace_names


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel. shape: the sizes of a buffer, in names of the kernel, None for a size that is no
    expression of names; a number has no shape."""

    name: str
    dtype: str | None
    shape: tuple[Size | None, ...] | None


def signature_of(func: Operation) -> list[KernelParameter] | None:
    """The parameters of a kernel: of a `tir.func`, or of a primitive function of operators as lowered.
    None for a function that was lowered further."""
    match func:
        case tir.FuncOp():
            return [_parameter(name, value) for name, value in func.params]
        case GraphFuncOp():
            values = [*func.params, *func.results_]
            tensors = [KernelParameter(name, dtype_of_tensor(value), shape_of(value)) for name, value in values]
            numbers = free_sizes([value.type for _, value in func.params], func.result_types_)
            return [*tensors, *(KernelParameter(name, "int32", None) for name in numbers)]
        case _:
            return None


def _parameter(name: str, value: BlockArgument) -> KernelParameter:
    if isinstance(value.type, MemRefType):
        return KernelParameter(name, dtype_of(value.type.element_type).name, tuple(value.type.get_shape()))
    if not isinstance(value.type, HandleType):
        return KernelParameter(name, dtype_of(value.type).name, None)
    for use in value.uses:
        if isinstance(op := use.operation, MatchBufferOp):
            dims = iter(op.dims)
            shape = [_size(next(dims)) if size == DYNAMIC else size for size in op.type.get_shape()]
            return KernelParameter(op.buffer_name.data, dtype_of(op.type.element_type).name, tuple(shape))
    return KernelParameter(name, None, ())


def _size(value: SSAValue) -> Size | None:
    try:
        return normal_size(expression_text(value))
    except (ValueError, StepwellError):
        return None


def check_call(
    signature: Sequence[KernelParameter],
    arguments: Sequence[Attribute],
    results: Sequence[Attribute],
    numbers: int,
    tag: str,
) -> None:
    """Raise `VerifyException` unless a kernel accepts tensors of some types, followed by numbers."""
    types = [*arguments, *results]
    buffers = [each for each in signature if each.shape is not None]
    scalars = [each for each in signature if each.shape is None]
    count = f"{len(arguments)} arguments, {len(results)} results and {numbers} sizes"
    expected = f"{len(buffers)} buffers and {len(scalars)} numbers"
    require((len(types), numbers) == (len(buffers), len(scalars)), f"{tag} {count}, expected {expected}")
    require(list(signature) == [*buffers, *scalars], f"{tag} numbers among the buffers of the kernel, expected last")
    sizes: dict[str, tuple[Size, str]] = {}
    for parameter, type in zip(buffers, types, strict=True):
        _check_type(parameter, type, tag)
        _bind(parameter, type, sizes, tag)
    names = {name: size for name, (size, _) in sizes.items()}
    for parameter, type in zip(buffers, types, strict=True):
        _check_shape(parameter, type, names, tag)


def _check_type(parameter: KernelParameter, type: Attribute, tag: str) -> None:
    dtype, rank = known_dtype(type), known_rank(type)
    if parameter.dtype is None:
        return
    agree = dtype in (None, parameter.dtype)
    require(agree, f"{tag} {parameter.name}: a tensor of {dtype}, expected {parameter.dtype}")
    extent = len(parameter.shape or ())
    require(rank in (None, extent), f"{tag} {parameter.name}: a tensor of rank {rank}, expected {extent}")


def _bind(parameter: KernelParameter, type: Attribute, sizes: dict[str, tuple[Size, str]], tag: str) -> None:
    """Binds the names that are sizes by themselves."""
    for expected, size in zip(parameter.shape or (), known_shape(type) or (), strict=False):
        if isinstance(expected, str) and expected.isidentifier():
            other, place = sizes.setdefault(expected, (size, parameter.name))
            message = f"{tag} {expected} = {other} from argument {place}, {size} from argument {parameter.name}"
            require(other == size, message)


def _check_shape(parameter: KernelParameter, type: Attribute, names: dict[str, Size], tag: str) -> None:
    sizes = known_shape(type)
    if sizes is None or parameter.dtype is None:
        return
    for axis, (expected, size) in enumerate(zip(parameter.shape or (), sizes, strict=True)):
        wanted = None if expected is None else replace_names(expected, names)
        require(
            wanted in (None, size) or _is_open(expected, names),
            f"{tag} {parameter.name}: size {size} of dimension {axis}, expected {wanted}",
        )


def _is_open(size: Size | None, names: dict[str, Size]) -> bool:
    """Whether a size has a name that no argument determines."""
    return isinstance(size, str) and any(name not in names for name in names_of(size))
