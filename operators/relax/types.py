"""Types of values of `relax` programs: tensors, shapes, numbers, tuples, functions and objects.

A tensor whose shape and data type are known has the type of `relay`, `tensor<?x4xf32, #relay.sizes<"n">>`, so that the
operators of `relay` apply to it. A tuple is `tuple<...>` of MLIR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    Float64Type,
    FloatAttr,
    IntAttr,
    NoneAttr,
    StringAttr,
    TensorType,
    TupleType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import dtype_of, mlir_type, parse_dtype
from ...dialects.tir.base import require
from ...expressions.expr import PrimExpr, SizeVar, as_extent
from ...expressions.sizes import parse_size, size_text
from ..relay import Size, dtype_of_tensor, normal_size, shape_of, tensor_type
from ..relay.attributes import parse_attribute_value, print_attribute_value
from ..relay.types import names_of, verify_tensor

NARROW_DTYPES = {"float64": "float32", "int64": "int32"}
"""The data types of constants without a stated one, for those of numpy's numbers."""

SizeAttr: TypeAlias = IntAttr | StringAttr
"""A static size, or the text of a symbolic size in normal form."""


def size_attr(size: Size) -> SizeAttr:
    """The attribute of a size. ValueError for text that denotes no size."""
    normal = normal_size(size)
    return IntAttr(normal) if isinstance(normal, int) else StringAttr(normal)


def sizes_attr(shape: Sequence[Size]) -> ArrayAttr[SizeAttr]:
    """The attribute of a shape. ValueError as of `size_attr`."""
    return ArrayAttr([size_attr(size) for size in shape])


def _sizes_of(shape: ArrayAttr[SizeAttr]) -> tuple[Size, ...]:
    return tuple(size.data for size in shape.data)


def _verify_sizes(shape: ArrayAttr[SizeAttr] | NoneAttr, tag: str) -> None:
    for size in () if isinstance(shape, NoneAttr) else shape.data:
        try:
            normal = normal_size(size.data)
        except ValueError as error:
            raise VerifyException(f"{tag} {error}") from None
        require(normal == size.data, f"{tag} size {size.data!r}, expected {str(normal)!r}")
        require(not isinstance(normal, int) or normal >= 0, f"{tag} size {normal}, expected at least 0")


def _print_sizes(printer: Printer, shape: ArrayAttr[SizeAttr]) -> None:
    with printer.in_square_brackets():
        printer.print_list(_sizes_of(shape), lambda size: print_attribute_value(printer, size))


def _parse_size(parser: AttrParser) -> SizeAttr:
    number = parser.parse_optional_integer(allow_boolean=False)
    return StringAttr(parser.parse_str_literal()) if number is None else IntAttr(number)


def _parse_sizes(parser: AttrParser) -> ArrayAttr[SizeAttr]:
    return ArrayAttr(parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: _parse_size(parser)))


# Types


@irdl_attr_definition
class PartialTensorType(ParametrizedAttribute, TypeAttribute):
    """A tensor whose shape or data type is unknown; a tensor with both is a `tensor`.

    shape: the sizes, or none.  rank: the number of dimensions if only this is known.  dtype: the type of the elements,
    or none.

    Constraints
        (C1) sizes are numbers, and expressions of names in normal form.
        (C2) the shape or the data type is unknown; the rank of a known shape is not repeated.

    Example
        !relax.tensor<rank = 2, dtype = f32>

    Source: `R.Tensor(ndim=2, dtype="float32")`, `R.Tensor(("n", 4))`
    """

    name = "relax.tensor"

    shape: ArrayAttr[SizeAttr] | NoneAttr = param_def()
    rank: IntAttr | NoneAttr = param_def()
    dtype: Attribute = param_def()

    def verify(self) -> None:
        _verify_sizes(self.shape, "(C1)")
        has_shape = not isinstance(self.shape, NoneAttr)
        require(not has_shape or isinstance(self.dtype, NoneAttr), "(C2) shape and data type, expected a tensor type")
        require(not has_shape or isinstance(self.rank, NoneAttr), "(C2) shape and rank, expected one of them")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        shape: Attribute = NoneAttr()
        rank: Attribute = NoneAttr()
        dtype: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("shape"):
                parser.parse_punctuation("=")
                shape = _parse_sizes(parser)
            elif parser.parse_optional_keyword("rank"):
                parser.parse_punctuation("=")
                rank = IntAttr(parser.parse_integer(allow_negative=False))
                parser.parse_optional_punctuation(",")
            if parser.parse_optional_keyword("dtype"):
                parser.parse_punctuation("=")
                dtype = parser.parse_type()
        return shape, rank, dtype

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if not isinstance(self.shape, NoneAttr):
                printer.print_string("shape = ")
                _print_sizes(printer, self.shape)
            if not isinstance(self.rank, NoneAttr):
                printer.print_string(f"rank = {self.rank.data}")
            if not isinstance(self.dtype, NoneAttr):
                printer.print_string("dtype = " if isinstance(self.rank, NoneAttr) else ", dtype = ")
                printer.print_attribute(self.dtype)


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """A shape: a tuple of sizes.

    sizes: the sizes, or none.  rank: the number of sizes if only this is known.

    Constraints
        (C1) sizes are numbers, and expressions of names in normal form.
        (C2) the rank of known sizes is not repeated.

    Example
        !relax.shape<["n", 4]>

    Source: `R.Shape(["n", 4])`, `R.Shape(ndim=2)`
    """

    name = "relax.shape"

    sizes: ArrayAttr[SizeAttr] | NoneAttr = param_def()
    rank: IntAttr | NoneAttr = param_def()

    def verify(self) -> None:
        _verify_sizes(self.sizes, "(C1)")
        known = not isinstance(self.sizes, NoneAttr)
        require(not known or isinstance(self.rank, NoneAttr), "(C2) sizes and rank, expected one of them")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("rank"):
                parser.parse_punctuation("=")
                return NoneAttr(), IntAttr(parser.parse_integer(allow_negative=False))
            if parser.parse_optional_keyword("unknown"):
                return NoneAttr(), NoneAttr()
            return _parse_sizes(parser), NoneAttr()

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if not isinstance(self.sizes, NoneAttr):
                _print_sizes(printer, self.sizes)
            else:
                printer.print_string("unknown" if isinstance(self.rank, NoneAttr) else f"rank = {self.rank.data}")


@irdl_attr_definition
class PrimType(ParametrizedAttribute, TypeAttribute):
    """A number.

    dtype: its type.  value: the number, or the size that it is equal to, or none.

    Constraints
        (C1) the value of an integer is a size, an expression of names in normal form or a number; that of a float is a
        float.

    Example
        !relax.prim<i64, "n">

    Source: `R.Prim("int64")`, `R.Prim(value="n")`
    """

    name = "relax.prim"

    dtype: Attribute = param_def()
    value: StringAttr | IntAttr | FloatAttr[Float64Type] | NoneAttr = param_def()

    def verify(self) -> None:
        is_float = dtype_of(self.dtype).is_float
        match self.value:
            case StringAttr():
                require(not is_float, f"(C1) size {self.value.data!r} of a float")
                _verify_sizes(ArrayAttr([self.value]), "(C1)")
            case IntAttr():
                require(not is_float, f"(C1) integer {self.value.data} of a float")
            case FloatAttr():
                require(is_float, f"(C1) float {self.value.value.data} of an integer")
            case _:
                pass

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dtype = parser.parse_type()
            if not parser.parse_optional_punctuation(","):
                return dtype, NoneAttr()
            match value := parse_attribute_value(parser):
                case str():
                    return dtype, StringAttr(value)
                case float():
                    return dtype, FloatAttr(value, 64)
                case int():
                    return dtype, IntAttr(int(value))
                case _:
                    parser.raise_error("expected a size or a number")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.dtype)
            value = number_of(self)
            if value is not None:
                printer.print_string(", ")
                print_attribute_value(printer, value)


@irdl_attr_definition
class CallableType(ParametrizedAttribute, TypeAttribute):
    """A function.

    inputs, result: their types, or none.  impure: present if a call may have side effects.

    Constraints
        (C1) the result type of known parameters is known.

    Example
        !relax.callable<(tensor<4xf32>) -> tensor<4xf32>>

    Source: `R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32"))`
    """

    name = "relax.callable"

    inputs: ArrayAttr[Attribute] | NoneAttr = param_def()
    result: Attribute = param_def()
    impure: UnitAttr | NoneAttr = param_def()

    def verify(self) -> None:
        known = isinstance(self.inputs, NoneAttr) or not isinstance(self.result, NoneAttr)
        require(known, "(C1) parameters without a result type")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        inputs: Attribute = NoneAttr()
        result: Attribute = NoneAttr()
        with parser.in_angle_brackets():
            impure = UnitAttr() if parser.parse_optional_keyword("impure") else NoneAttr()
            types = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
            if types is not None:
                parser.parse_punctuation("->")
                inputs, result = ArrayAttr(types), parser.parse_type()
        return inputs, result, impure

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if isinstance(self.impure, UnitAttr):
                printer.print_string("impure")
            if not isinstance(self.inputs, NoneAttr):
                if isinstance(self.impure, UnitAttr):
                    printer.print_string(" ")
                with printer.in_parens():
                    printer.print_list(self.inputs.data, printer.print_attribute)
                printer.print_string(" -> ")
                printer.print_attribute(self.result)


@irdl_attr_definition
class ObjectType(ParametrizedAttribute, TypeAttribute):
    """Any value.

    Example
        !relax.object

    Source: `R.Object`
    """

    name = "relax.object"


TYPES = (TensorType, PartialTensorType, ShapeType, PrimType, TupleType, CallableType, ObjectType)
"""The classes of types of values."""


def verify_type(type: Attribute, tag: str) -> None:
    """Raise `VerifyException` unless `type` is a type of values, and names every dynamic size."""
    match type:
        case TensorType():
            verify_tensor(type, tag)
        case TupleType():
            for each in type.types.data:
                verify_type(each, tag)
        case _:
            if not isinstance(type, TYPES):
                raise VerifyException(f"{tag} type {type}, expected one of values of relax")


# Construction


def tensor(shape: Sequence[Size] | None, dtype: str | None, rank: int | None = None) -> Attribute:
    """The type of a tensor of which some facts are known. ValueError and SizeError as of `tensor_type`.

    rank: the number of dimensions; ignored if the shape is known.
    """
    if shape is not None and dtype is not None:
        return tensor_type(shape, dtype)
    return PartialTensorType(
        NoneAttr() if shape is None else sizes_attr(shape),
        NoneAttr() if rank is None or shape is not None else IntAttr(rank),
        NoneAttr() if dtype is None else mlir_type(parse_dtype(dtype)),
    )


def shape(sizes: Sequence[Size] | None, rank: int | None = None) -> ShapeType:
    """The type of a shape. ValueError for text that denotes no size."""
    if sizes is not None:
        return ShapeType(sizes_attr(sizes), NoneAttr())
    return ShapeType(NoneAttr(), NoneAttr() if rank is None else IntAttr(rank))


def prim(value: Size | float | None, dtype: str | None = None) -> PrimType:
    """The type of a number. dtype: by default int64, float32 for a float. ValueError for text that denotes no size."""
    if isinstance(value, float):
        return PrimType(mlir_type(parse_dtype(dtype or "float32")), FloatAttr(value, 64))
    element = i64 if dtype is None else mlir_type(parse_dtype(dtype))
    return PrimType(element, NoneAttr() if value is None else size_attr(value))


def tuple_type(types: Sequence[Attribute]) -> TupleType:
    """The type of a tuple of values of some types."""
    return TupleType(tuple(cast(TypeAttribute, type) for type in types))  # xDSL regards one made of a list as different


# Queries


def known_shape(type: Attribute) -> tuple[Size, ...] | None:
    """The sizes of a tensor or shape type, None if they are unknown."""
    match type:
        case TensorType():
            return shape_of(type)
        case PartialTensorType(shape=ArrayAttr() as sizes) | ShapeType(sizes=ArrayAttr() as sizes):
            return _sizes_of(sizes)
        case _:
            return None


def known_rank(type: Attribute) -> int | None:
    """The number of sizes of a tensor or shape type, None if it is unknown."""
    sizes = known_shape(type)
    if sizes is not None:
        return len(sizes)
    match type:
        case PartialTensorType(rank=IntAttr() as rank) | ShapeType(rank=IntAttr() as rank):
            return rank.data
        case _:
            return None


def known_dtype(type: Attribute) -> str | None:
    """The data type of the elements of a tensor type, None if it is unknown."""
    match type:
        case TensorType():
            return dtype_of_tensor(type)
        case PartialTensorType():
            return None if isinstance(type.dtype, NoneAttr) else dtype_of(type.dtype).name
        case _:
            return None


def is_tensor(type: Attribute) -> bool:
    """Whether a type is one of tensors, of which everything or a part is known."""
    return isinstance(type, TensorType | PartialTensorType)


def sizes_in(type: Attribute) -> Iterator[Size]:
    """The sizes in a type, those of a tuple included; a callable has sizes of its own."""
    match type:
        case TupleType():
            for each in type.types.data:
                yield from sizes_in(each)
        case PrimType(value=StringAttr() as size):
            yield size.data
        case _:
            yield from known_shape(type) or ()


def names_in(type: Attribute) -> list[str]:
    """The names in the sizes of a type, in order of appearance."""
    sizes = [size for size in sizes_in(type) if isinstance(size, str)]
    return list(dict.fromkeys(name for size in sizes for name in names_of(size)))


def names_bound_by(type: Attribute) -> list[str]:
    """The names that a value of a type determines: sizes that are names by themselves."""
    return [size for size in dict.fromkeys(sizes_in(type)) if isinstance(size, str) and size.isidentifier()]


# Relations


def substitute(type: Attribute, sizes: Mapping[str, Size]) -> Attribute:
    """A type with names of sizes replaced. sizes: the replacement of each name; others stay."""
    match type:
        case TensorType():
            return tensor_type([replace_names(size, sizes) for size in shape_of(type)], dtype_of_tensor(type))
        case PartialTensorType(shape=ArrayAttr()):
            return tensor([replace_names(size, sizes) for size in known_shape(type) or ()], None)
        case ShapeType(sizes=ArrayAttr()):
            return shape([replace_names(size, sizes) for size in known_shape(type) or ()])
        case PrimType(value=StringAttr() as size):
            return PrimType(type.dtype, size_attr(replace_names(size.data, sizes)))
        case TupleType():
            return tuple_type([substitute(each, sizes) for each in type.types.data])
        case _:
            return type


def replace_names(size: Size, sizes: Mapping[str, Size]) -> Size:
    """A size with names replaced, in normal form."""
    if isinstance(size, int):
        return size
    variables: dict[str, SizeVar] = {}

    def variable(name: str) -> SizeVar:
        return variables.setdefault(name, SizeVar(name))

    def expression(name: str) -> PrimExpr:
        replacement = sizes.get(name, name)
        return as_extent(replacement) if isinstance(replacement, int) else parse_size(replacement, variable)

    return size_text(parse_size(size, expression))  # pyright: ignore[reportArgumentType]


def accepts(expected: Attribute, actual: Attribute) -> bool:
    """Whether every value of the type `actual` is a value of the type `expected`."""
    if expected == actual or isinstance(expected, ObjectType):
        return True
    match expected, actual:
        case (PartialTensorType(), TensorType() | PartialTensorType()) | (ShapeType(), ShapeType()):
            return (
                _agree(known_shape(expected), known_shape(actual))
                and _agree(known_rank(expected), known_rank(actual))
                and _agree(known_dtype(expected), known_dtype(actual))
            )
        case PrimType(), PrimType():
            return expected.dtype == actual.dtype and isinstance(expected.value, NoneAttr)
        case TupleType(), TupleType():
            fields = expected.types.data, actual.types.data
            return len(fields[0]) == len(fields[1]) and all(map(accepts, *fields))
        case CallableType(), CallableType():
            return isinstance(expected.inputs, NoneAttr)
        case _:
            return False


def _agree(expected: object, actual: object) -> bool:
    return expected is None or expected == actual


def may_match(expected: Attribute, actual: Attribute) -> bool:
    """Whether some value of the type `actual` may be a value of the type `expected`, as a check at run time decides."""
    if isinstance(actual, ObjectType) or isinstance(expected, ObjectType):
        return True
    match expected, actual:
        case (TensorType() | PartialTensorType(), TensorType() | PartialTensorType()) | (ShapeType(), ShapeType()):
            if not _may_agree(known_rank(expected), known_rank(actual)):
                return False
            sizes = zip(known_shape(expected) or (), known_shape(actual) or (), strict=False)
            static = all(a == b for a, b in sizes if isinstance(a, int) and isinstance(b, int))
            return static and _may_agree(known_dtype(expected), known_dtype(actual))
        case PrimType(), PrimType():
            return expected.dtype == actual.dtype
        case TupleType(), TupleType():
            fields = expected.types.data, actual.types.data
            return len(fields[0]) == len(fields[1]) and all(map(may_match, *fields))
        case CallableType(), CallableType():
            return True
        case _:
            return False


def _may_agree(expected: object, actual: object) -> bool:
    return expected is None or actual is None or expected == actual


def number_of(type: PrimType) -> Size | float | None:
    """The value that the type of a number states, None if it states none."""
    match type.value:
        case StringAttr() | IntAttr():
            return type.value.data
        case FloatAttr():
            return type.value.value.data
        case _:
            return None
