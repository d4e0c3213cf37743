"""Tensor types of graphs: dynamic sizes are names or expressions of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import DType, NumpyDType, dtype_of, mlir_type, parse_dtype
from ...core.errors import SizeError
from ...core.sizes import check_shape
from ...dialects.tir import DYNAMIC
from ...dialects.tir.base import string_array
from ...expressions.expr import SizeVar
from ...expressions.sizes import parse_size, size_text

Size: TypeAlias = int | str
"""A static size, or a symbolic size as an expression of names: `n`, `2 * n + 1`."""


@irdl_attr_definition
class SizesAttr(ParametrizedAttribute):
    """The dynamic sizes of a tensor type, in order. Sizes with the same text are equal.

    Constraints
        (C1) each size is an expression of names in normal form.

    Example
        tensor<?x4x?xf32, #relay.sizes<"n", "2 * n + 1">>

    Source: `relay.Any()`, `te.size_var` in shapes
    """

    name = "relay.sizes"

    sizes: ArrayAttr[StringAttr] = param_def()

    def verify(self) -> None:
        for size in self.sizes:
            try:
                normal = normal_size(size.data)
            except ValueError as error:
                raise VerifyException(f"(C1) {error}") from None
            if normal != size.data:
                raise VerifyException(f"(C1) size {size.data!r}, expected {str(normal)!r}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (string_array(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_str_literal)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.sizes.data, lambda size: printer.print_string_literal(size.data))


def normal_size(size: Size) -> Size:
    """The normal form of a size, as used in types. ValueError for invalid text."""
    if isinstance(size, int):
        return size
    names: dict[str, SizeVar] = {}
    return size_text(parse_size(size, lambda name: names.setdefault(name, SizeVar(name))))


def names_of(size: str) -> list[str]:
    """The names in a size, in order of appearance. ValueError for invalid text."""
    names: dict[str, SizeVar] = {}
    parse_size(size, lambda name: names.setdefault(name, SizeVar(name)))
    return list(names)


def tensor_type(shape: Sequence[Size], dtype: DType | str | NumpyDType) -> TensorType[Attribute]:
    """The tensor type of a shape and a data type. ValueError for an invalid size or data type, SizeError for a shape
    that no tensor has."""
    sizes = [normal_size(size) for size in shape]
    element = dtype if isinstance(dtype, DType) else parse_dtype(dtype)
    check_shape([size if isinstance(size, int) else None for size in sizes], element.bytes, f"tensor of {element.name}")
    names = [size for size in sizes if isinstance(size, str)]
    encoding = SizesAttr(string_array(names)) if names else NoneAttr()
    return TensorType(mlir_type(element), [size if isinstance(size, int) else DYNAMIC for size in sizes], encoding)


def shape_of(tensor: SSAValue | Attribute) -> tuple[Size, ...]:
    """The sizes of a tensor or tensor type."""
    type = cast("TensorType[Attribute]", tensor.type if isinstance(tensor, SSAValue) else tensor)
    named = iter(type.encoding.sizes.data if isinstance(type.encoding, SizesAttr) else ())
    return tuple(next(named).data if size == DYNAMIC else size for size in type.get_shape())


def dtype_of_tensor(tensor: SSAValue | Attribute) -> str:
    """The data type of the elements of a tensor or tensor type."""
    type = cast("TensorType[Any]", tensor.type if isinstance(tensor, SSAValue) else tensor)
    return dtype_of(type.element_type).name


def verify_tensor(type: Attribute, tag: str) -> None:
    """Raise `VerifyException` unless `type` is a tensor type that names every dynamic size."""
    if not isinstance(type, TensorType):
        raise VerifyException(f"{tag} type {type}, expected a tensor")
    shape = type.get_shape()
    try:
        check_shape([None if n == DYNAMIC else n for n in shape], dtype_of(type.element_type).bytes)
    except SizeError as error:
        raise VerifyException(f"{tag} {type}: {error}") from None
    holes = shape.count(DYNAMIC)
    named = len(type.encoding.sizes.data) if isinstance(type.encoding, SizesAttr) else 0
    if holes != named:
        raise VerifyException(f"{tag} {named} sizes for {holes} open extents of {type}")
