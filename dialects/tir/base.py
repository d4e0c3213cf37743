"""The base op, the handle type, and elements of custom syntax shared by several `tir` ops.

Constants are not SSA values: bounds, extents, shapes and domains are mixed static/dynamic lists as in MLIR, an
`array<i64>` with `DYNAMIC` in place of each operand. In text, an index operand without a type is an `i32`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FileLineColLoc,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, param_def
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import CallableOpInterface, HasCanonicalizationPatternsTrait
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import vector_type
from ...core.errors import VerifyError

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import RewritePattern

DYNAMIC = DYNAMIC_INDEX
"""The placeholder of a dynamic value in a static list, whose value is an operand."""

Mixed: TypeAlias = int | SSAValue
"""A static number, or an SSA value."""

OperandT = TypeVar("OperandT")

TypedOperand: TypeAlias = tuple[UnresolvedOperand, Attribute]
"""A parsed operand, not yet resolved to a value, and its type."""


@irdl_attr_definition
class HandleType(ParametrizedAttribute, TypeAttribute):
    """An untyped or typed pointer: `!tir.handle`, `!tir.handle<f32>`, `!tir.handle<f32, "shared">`.

    element: the pointee type, or none.  scope: the memory scope ("global" by default).
    """

    name = "tir.handle"

    element: Attribute = param_def()
    scope: StringAttr = param_def()

    def __init__(self, element: Attribute | None = None, scope: str = "global"):
        super().__init__(NoneAttr() if element is None else element, StringAttr(scope))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        if parser.parse_optional_punctuation("<") is None:
            return NoneAttr(), StringAttr("global")
        element = parser.parse_type()
        scope = parser.parse_str_literal() if parser.parse_optional_punctuation(",") else "global"
        parser.parse_punctuation(">")
        return element, StringAttr(scope)

    def print_parameters(self, printer: Printer) -> None:
        if isinstance(self.element, NoneAttr):
            return
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            if self.scope.data != "global":
                printer.print_string(", ")
                printer.print_string_literal(self.scope.data)


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """A compilation target as an attribute value: `#tir.target<{kind = "llvm"}>` or `#tir.target<"cuda">`."""

    name = "tir.target"

    config: Attribute = param_def()


@irdl_attr_definition
class ParameterAttr(ParametrizedAttribute):
    """A parameter of a function as an attribute value of the function: `#tir.parameter<"a">`."""

    name = "tir.parameter"

    parameter: StringAttr = param_def()

    def __init__(self, parameter: str):
        super().__init__(StringAttr(parameter))


def parameters_in(attr: Attribute | None) -> Iterator[str]:
    """The names of the parameters in an attribute value, in lists and dictionaries too."""
    match attr:
        case ParameterAttr(parameter=name):
            yield name.data
        case ArrayAttr(data=items):
            for item in items:
                yield from parameters_in(item)
        case DictionaryAttr(data=entries):
            for value in entries.values():
                yield from parameters_in(value)
        case _:
            pass


def rename_parameters(attr: Attribute, names: Mapping[str, str]) -> Attribute:
    """An attribute value with other names of parameters, in lists and dictionaries too."""
    match attr:
        case ParameterAttr(parameter=name):
            return ParameterAttr(names.get(name.data, name.data))
        case ArrayAttr(data=items):
            return ArrayAttr([rename_parameters(item, names) for item in items])
        case DictionaryAttr(data=entries):
            return DictionaryAttr({key: rename_parameters(value, names) for key, value in entries.items()})
        case _:
            return attr


class HasTirCanonicalizationPatterns(HasCanonicalizationPatternsTrait):
    """Trait of ops with patterns for `canonicalize`, in `dialects.tir.canonicalization`."""

    def get_patterns(self, op: type[Operation]) -> tuple[RewritePattern, ...]:
        # lazy: the patterns are written in terms of the operations
        from .canonicalization import PATTERNS

        return PATTERNS[op]

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        # lazy: the patterns are written in terms of the operations
        from .canonicalization import PATTERNS

        return tuple(pattern for patterns in PATTERNS.values() for pattern in patterns)


class CallableByBody(CallableOpInterface):
    """Callable interface of functions whose arguments are the block arguments of the body. Subclasses define
    results."""

    @classmethod
    def get_callable_region(cls, op: Operation) -> Region:
        return op.regions[0]

    @classmethod
    def get_argument_types(cls, op: Operation) -> tuple[Attribute, ...]:
        return tuple(op.regions[0].block.arg_types)


class TirOp(IRDLOperation, ABC):
    """Base class of the `tir` ops: errors include the source location of the op if it has one."""

    def emit_error(self, message: str, underlying_error: Exception) -> NoReturn:
        if not isinstance(underlying_error, VerifyException):  # an interpreter error has its own location and class
            raise underlying_error
        match self.location:
            case FileLineColLoc(filename=file, line=line, column=column):
                where = f"{file.data}:{line.data}:{column.data}: error: "
                raise VerifyError(f"{where}{self.name}: {underlying_error}") from underlying_error
            case _:
                super().emit_error(message, underlying_error)


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of `value` as a memref type, which the constraints of the ops guarantee."""
    return cast("MemRefType[Attribute]", value.type)


def scope_of(type: MemRefType[Attribute]) -> str:
    """The memory scope of a buffer type, "global" without a memory space."""
    return type.memory_space.data if isinstance(type.memory_space, StringAttr) else "global"


def memory_space(scope: str) -> Attribute:
    """The memory space attribute of a scope, `NoneAttr` for "global"."""
    return NoneAttr() if scope == "global" else StringAttr(scope)


# Mixed static/dynamic lists


def split_mixed(values: Iterable[int | OperandT]) -> tuple[DenseArrayBase[IntegerType], list[OperandT]]:
    """The static list (DYNAMIC for each operand) and the operands of mixed `values`."""
    values = list(values)
    static = [v if isinstance(v, int) else DYNAMIC for v in values]
    return DenseArrayBase.from_list(i64, static), [v for v in values if not isinstance(v, int)]


def static_values(static: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The numbers of the `array<i64>` of a mixed list, with DYNAMIC in place of each operand."""
    return _unpack(static.data.data)


@lru_cache(maxsize=4096)
def _unpack(data: bytes) -> tuple[int, ...]:
    return DenseArrayBase(i64, BytesAttr(data)).get_values()


def known_values(static: DenseArrayBase[IntegerType]) -> tuple[int, ...] | None:
    """The numbers of a static list without operands; None for another one."""
    values = static_values(static)
    return None if DYNAMIC in values else values


def join_mixed(static: DenseArrayBase[IntegerType], operands: Sequence[SSAValue]) -> list[Mixed]:
    """The mixed list of a static list and its operands: the inverse of `split_mixed`."""
    if not operands:
        return list(static_values(static))
    rest = iter(operands)
    return [next(rest) if v == DYNAMIC else v for v in static_values(static)]


def verify_mixed(what: str, static: DenseArrayBase[IntegerType], operands: Sequence[SSAValue]) -> None:
    """Raise `VerifyException` unless the number of operands equals the number of DYNAMIC entries."""
    holes = static_values(static).count(DYNAMIC)
    if holes != len(operands):
        raise VerifyException(f"{what}: {holes} dynamic entries, {len(operands)} operands")


def print_index(printer: Printer, value: Mixed) -> None:
    """Print an index: `128`, `%n`, or `%n : i64` if its type is not i32."""
    if isinstance(value, int):
        printer.print_string(str(value))
        return
    printer.print_ssa_value(value)
    if value.type != i32:
        printer.print_string(" : ")
        printer.print_attribute(value.type)


def print_indices(printer: Printer, values: Iterable[Mixed]) -> None:
    printer.print_string("[")
    printer.print_list(values, lambda v: print_index(printer, v))
    printer.print_string("]")


def print_bound(printer: Printer, bound: Mixed) -> None:
    """Print a bound without its type, the type of the bounded variable."""
    if isinstance(bound, int):
        printer.print_string(str(bound))
    else:
        printer.print_ssa_value(bound)


def print_range(printer: Printer, low: Mixed, extent: Mixed) -> None:
    """Print a range by minimum and extent: `[0 +: %n]`."""
    printer.print_string("[")
    print_bound(printer, low)
    printer.print_string(" +: ")
    print_bound(printer, extent)
    printer.print_string("]")


def parse_range(parser: Parser, type: Attribute) -> tuple[Mixed, Mixed]:
    parser.parse_punctuation("[")
    low = parse_index(parser, type)
    parser.parse_punctuation("+")
    parser.parse_punctuation(":")
    extent = parse_index(parser, type)
    parser.parse_punctuation("]")
    return low, extent


def parse_typed_operand(parser: Parser, default: Attribute = i32) -> TypedOperand:
    operand = parser.parse_unresolved_operand()
    return operand, parser.parse_type() if parser.parse_optional_punctuation(":") else default


def parse_mixed_operand(parser: Parser, default: Attribute = i32) -> int | TypedOperand:
    number = parser.parse_optional_integer(allow_boolean=False)
    return parse_typed_operand(parser, default) if number is None else number


def parse_index(parser: Parser, default: Attribute = i32) -> Mixed:
    index = parse_mixed_operand(parser, default)
    return index if isinstance(index, int) else parser.resolve_operand(*index)


def parse_indices(parser: Parser) -> list[Mixed]:
    return parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, lambda: parse_index(parser))


def parse_values(parser: Parser) -> list[SSAValue]:
    return parser.parse_comma_separated_list(
        Parser.Delimiter.SQUARE, lambda: parser.resolve_operand(*parse_typed_operand(parser))
    )


def print_typed(printer: Printer, value: SSAValue) -> None:
    """Print a value with its type: `%x : f32`."""
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def parse_typed(parser: Parser) -> SSAValue:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return parser.resolve_operand(operand, parser.parse_type())


def print_params(printer: Printer, params: Sequence[tuple[str, BlockArgument]]) -> None:
    """Print named parameters: `("A" %A: memref<8xf32>, "n" %n: i32)`."""

    def print_param(param: tuple[str, BlockArgument]) -> None:
        printer.print_string_literal(param[0])
        printer.print_string(" ")
        printer.print_block_argument(param[1])

    with printer.in_parens():
        printer.print_list(params, print_param)


def parse_params(parser: Parser) -> list[tuple[str, Parser.Argument]]:
    return parser.parse_comma_separated_list(
        Parser.Delimiter.PAREN, lambda: (parser.parse_str_literal(), parser.parse_argument())
    )


# Other elements of syntax


def print_quoted(printer: Printer, text: StringAttr) -> None:
    printer.print_string(" ")
    printer.print_string_literal(text.data)


def print_optional_dict(printer: Printer, keyword: str, value: DictionaryAttr | None) -> None:
    """Print ` keyword {a = 1}` unless `value` is None or empty."""
    if value is not None and value.data:
        printer.print_string(f" {keyword} ")
        printer.print_attribute(value)


def parse_optional_dict(parser: Parser, keyword: str) -> DictionaryAttr | None:
    if parser.parse_optional_keyword(keyword) is None:
        return None
    return DictionaryAttr(parser.parse_optional_dictionary_attr_dict())


def verify_memory(memory: StringAttr | None, tag: str) -> None:
    """Raise `VerifyException` unless `memory` is stack, heap or None (undecided)."""
    if memory is not None:
        require(memory.data in ("stack", "heap"), f"{tag} memory {memory.data!r}, expected stack or heap")


def print_body(printer: Printer, region: Region, *, terminators: bool = False) -> None:
    printer.print_string(" ")
    printer.print_region(
        region, print_entry_block_args=False, print_empty_block=False, print_block_terminators=terminators
    )


def parse_body(parser: Parser, arguments: Sequence[Parser.Argument] = ()) -> Region:
    region = parser.parse_region(list(arguments))
    if not region.blocks:
        region.add_block(Block(arg_types=[a.type for a in arguments]))
    return region


def print_discardable(printer: Printer, op: Operation) -> None:
    printer.print_op_attributes(op.attributes, print_keyword=True)


def parse_discardable(parser: Parser) -> dict[str, Attribute]:
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return {} if attributes is None else dict(attributes.data)


def annotations_attr(annotations: DictionaryAttr | dict[str, Attribute] | None) -> DictionaryAttr | None:
    """The `annotations` property: None for an empty dictionary."""
    if annotations is None or isinstance(annotations, DictionaryAttr):
        return annotations
    return DictionaryAttr(annotations) if annotations else None


def string_array(values: Iterable[str]) -> ArrayAttr[StringAttr]:
    return _string_array(tuple(values))


@lru_cache(maxsize=1024)
def _string_array(values: tuple[str, ...]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(v) for v in values])


@lru_cache(maxsize=1024)
def string_attr(value: str) -> StringAttr:
    """The attribute of a text, one for all operations: the name of a loop for instance."""
    return StringAttr(value)


def indexed_type(buffer: Attribute, indices: Sequence[Attribute]) -> Attribute:
    """The type of an access to a buffer of type `buffer` at indices of types `indices`: the element type, or a vector
    of elements if an index is a vector."""
    if not isinstance(buffer, MemRefType):
        raise VerifyException(f"expected a buffer, got {buffer}")
    vector = next((index for index in indices if isinstance(index, VectorType)), None)
    return buffer.element_type if vector is None else vector_type(buffer.element_type, *vector.get_shape())


def require(condition: bool, message: str | Callable[[], str]) -> None:
    """Raise a `VerifyException` with `message` unless `condition` holds.

    message: the text, or a function that returns it, for a text with types, which take time to print.
    """
    if not condition:
        raise VerifyException(message if isinstance(message, str) else message())
