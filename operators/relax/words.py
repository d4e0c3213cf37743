"""Words of `R` on operands of which only a part is known: operators that are compiled when their operands arrive."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, NoneAttr, StringAttr, TensorType, TupleType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from ...core.errors import SizeError
from ...core.identifiers import fresh_name
from ...dialects.tir.base import TirOp, require, string_array
from ...expressions.errors import TeError
from ..definition import UnknownOperatorError
from ..relay import ConstantOp, RelayBuilder, Size, dtype_of_tensor, tensor_type
from ..relay.attributes import as_attribute, as_python
from ..relay.effects import ComputesTensors
from .functions import FuncOp, ReturnOp
from .packed_words import known_tensor
from .spelling import COMPOSITES, build_known_word, spelling_of_word
from .types import (
    ObjectType,
    PartialTensorType,
    ShapeType,
    accepts,
    is_tensor,
    known_dtype,
    known_rank,
    known_shape,
    names_in,
    shape,
    tensor,
    tuple_type,
    verify_type,
)
from .values import ShapeOp, TupleOp

Values: TypeAlias = Sequence[SSAValue]
Arguments: TypeAlias = "dict[str, Any]"
"""The arguments of a word by parameter: values of tensors and shapes, lists of these, and values of attributes."""

MEMBER = "*"
"""The last character of the parameter of an operand that is a member of a tuple."""


@irdl_op_definition
class ApplyOp(TirOp):
    """The result of a word of `R` on operands of which the rank, the sizes or the data type is unknown. The operator is
    compiled when the operands arrive, for their shapes and data types.

    word: the name of the operator in `R`.  parameters: the parameter of each operand, `tensors*` for a member of a
    tuple. A shape is an operand too.  arguments: the other arguments, by parameter.

    Constraints
        (C1) one parameter for each operand; operands are tensors and shapes.
        (C2) the result has the type, or a more general one, that the known parts of the operands determine.

    Example
        %1 = relax.apply "nn.softmax"(%0) ["data"] {axis = -1 : i64} : (!relax.tensor<>) -> !relax.tensor<>

    Source: `R.nn.softmax(x, axis=-1)` of `x: R.Tensor()`
    """

    name = "relax.apply"

    word = prop_def(StringAttr)
    args = var_operand_def(Attribute)
    parameters = prop_def(ArrayAttr[StringAttr])
    arguments = opt_prop_def(DictionaryAttr)
    output = result_def(Attribute)

    traits = traits_def(ComputesTensors())
    assembly_format = (
        "$word `(` $args `)` $parameters ($arguments^)? attr-dict-with-keyword `:` functional-type($args, $output)"
    )

    def __init__(
        self,
        word: str,
        args: Sequence[SSAValue],
        parameters: Sequence[str],
        attributes: Mapping[str, Any],
    ):
        """attributes: values of Python. TeError for operands and attributes that do not match."""
        given = {name: as_attribute(value) for name, value in attributes.items()}
        template = _template(word, args, parameters, DictionaryAttr(given))
        super().__init__(
            operands=[args],
            properties={
                "word": StringAttr(word),
                "parameters": string_array(parameters),
                "arguments": DictionaryAttr(given) if given else None,
            },
            result_types=[infer(template, tuple(arg.type for arg in args))],
        )

    @property
    def attribute_values(self) -> dict[str, Any]:
        """The values of the attributes by parameter."""
        given = {} if self.arguments is None else self.arguments.data
        return {name: as_python(each) for name, each in given.items()}

    @property
    def template(self) -> Template:
        """The call without its operands."""
        parameters = [each.data for each in self.parameters.data]
        return _template(self.word.data, self.args, parameters, self.arguments or DictionaryAttr({}))

    def infer(self) -> Attribute:
        """The type of the result as far as the operands determine it. TeError if no operands of their types fit."""
        return infer(self.template, tuple(arg.type for arg in self.args))

    def verify_(self) -> None:
        require(len(self.parameters.data) == len(self.args), f"(C1) {len(self.parameters.data)} parameters")
        for arg in self.args:
            fits = is_tensor(arg.type) or isinstance(arg.type, ShapeType)
            require(fits, f"(C1) operand of type {arg.type}, expected a tensor or a shape")
        verify_type(self.output.type, "(C2)")
        try:
            inferred = self.infer()
        except (TeError, UnknownOperatorError) as error:
            raise VerifyException(f"(C2) {error}") from None
        require(accepts(self.output.type, inferred), f"(C2) result of type {self.output.type}, expected {inferred}")


@dataclass(frozen=True)
class Template:
    """A word with its attributes. parameters: those of the operands.  constants: the numbers of operands that are
    constants without dimensions, else None."""

    word: str
    parameters: tuple[str, ...]
    attributes: DictionaryAttr
    constants: tuple[float | None, ...]

    def function(self, types: Sequence[Attribute], name: str = "main") -> tuple[FuncOp, dict[str, Any]]:
        """The function that computes the word on operands of known types, and its constants.

        types: of tensors whose sizes are known, and of shapes of numbers. Raises the errors of the operators.
        """
        params = [(f"operand_{n}", type) for n, type in enumerate(types)]
        block, constants = Block(arg_types=types), dict[str, Any]()
        result = self.build(RelayBuilder(block, constants), list(block.args))
        builder = RelayBuilder(block, constants)
        value = whole_value(builder, self.word, result)
        builder.insert(ReturnOp(value))
        return FuncOp(name, params, value.type, body=Region(block)), constants

    def build(self, builder: RelayBuilder, values: Sequence[SSAValue]) -> Values:
        """The results of the operators of the word on values of known types. Raises the errors of the operators."""
        arguments: Arguments = {name: as_python(value) for name, value in self.attributes.data.items()}
        for parameter, value, number in zip(self.parameters, values, self.constants, strict=True):
            item: Any = value
            if isinstance(value.type, ShapeType):
                item = tuple(known_shape(value.type) or ())
            elif number is not None and isinstance(value.type, TensorType):
                item = builder.number(number, dtype_of_tensor(value))
            if parameter.endswith(MEMBER):
                arguments.setdefault(parameter.removesuffix(MEMBER), []).append(item)
            else:
                arguments[parameter] = item
        return build_known_word(builder, self.word, (), arguments)


def _template(word: str, args: Sequence[SSAValue], parameters: Sequence[str], attributes: DictionaryAttr) -> Template:
    constants = tuple(arg.owner.number if isinstance(arg.owner, ConstantOp) else None for arg in args)
    return Template(word, tuple(parameters), attributes, constants)


def build_word(builder: RelayBuilder, name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Values:
    """The results of `R.name(*args, **keywords)`, inserted by a builder.

    Operands of unknown sizes are cast to sizes with names, where all operators of the word are known then. Else the
    operator is compiled when its operands arrive.

    Raises TeError for an unknown word, and for arguments that do not match it.
    """
    values = list(_values_in([*args, *keywords.values()]))
    if all(isinstance(value.type, TensorType) for value in values):
        try:
            return build_known_word(builder, name, args, keywords)
        except TeError:
            if not any(names_in(value.type) for value in values):
                raise
            last = builder.point.block.last_op
            try:
                return _apply(builder, name, args, keywords)
            except TeError:
                assert builder.point.block.last_op is last
            raise
    if all(known_rank(value.type) is not None and known_dtype(value.type) is not None for value in values):
        if _is_known_with_names(name, args, keywords):
            casts = lambda value: known_tensor(builder, value) or value  # noqa: E731
            given = {key: _replaced(value, casts) for key, value in keywords.items()}
            return build_known_word(builder, name, _replaced(args, casts), given)
    return _apply(builder, name, args, keywords)


def _values_in(items: Sequence[Any]) -> Iterator[SSAValue]:
    for item in items:
        if isinstance(item, SSAValue):
            yield item
        elif isinstance(item, list | tuple):
            yield from _values_in(item)  # pyright: ignore[reportUnknownArgumentType]


def _replaced(item: Any, function: Callable[[SSAValue], Any]) -> Any:
    """An argument with its values replaced."""
    if isinstance(item, SSAValue):
        return function(item)
    return [_replaced(each, function) for each in item] if isinstance(item, list | tuple) else item  # pyright: ignore[reportUnknownVariableType]


def _is_known_with_names(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether the operators of a word are known for operands whose unknown sizes are names."""
    if name == "squeeze" and (len(args) < 2 or args[1] is None) and keywords.get("axis") is None:
        return False
    builder, taken, casts = RelayBuilder(Block()), set[str](), dict[SSAValue, SSAValue]()
    for value in _values_in([*args, *keywords.values()]):
        taken.update(names_in(value.type))

    def cast_of(value: SSAValue) -> SSAValue:
        if isinstance(value.type, TensorType):
            return value
        rank, dtype = known_rank(value.type), known_dtype(value.type)
        assert rank is not None
        assert dtype is not None
        if value not in casts:
            type = tensor([fresh_name("extent", taken) for _ in range(rank)], dtype)
            casts[value] = Block(arg_types=[type]).args[0]
        return casts[value]

    try:
        given = {key: _replaced(value, cast_of) for key, value in keywords.items()}
        build_known_word(builder, name, _replaced(args, cast_of), given)
    except TeError:
        return False
    return True


def _apply(builder: RelayBuilder, name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Values:
    """The result of a word whose operators are known when its operands arrive."""
    operands: list[SSAValue] = []
    parameters: list[str] = []
    attributes: dict[str, Any] = {}
    names = parameters_of(name)
    if len(args) > len(names):
        raise TeError(f"{name}: {len(args)} arguments, expected at most {len(names)}")
    shapes: list[ShapeOp] = []
    for parameter, value in {**dict(zip(names, args, strict=False)), **keywords}.items():
        items: list[Any] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
        if items and all(isinstance(item, SSAValue) for item in items):
            is_list = isinstance(value, list | tuple)
            operands += items
            parameters += [parameter + MEMBER * is_list] * len(items)
        elif isinstance(value, list | tuple) and any(isinstance(item, str) for item in items):
            if any(isinstance(item, int) and item < 0 for item in items):
                raise TeError(
                    f"{name}: {parameter} {items} of an operand of unknown shape, expected no negative number"
                )
            shapes.append(ShapeOp(shape(items)))
            operands.append(shapes[-1].output)
            parameters.append(parameter)
        else:
            attributes[parameter] = value
    for operand in operands:
        if not is_tensor(operand.type) and not isinstance(operand.type, ShapeType):
            raise TeError(f"{name}: a value of type {operand.type}, expected a tensor")
    op = ApplyOp(name, operands, parameters, attributes)
    for each in shapes:
        builder.insert(each)
    return [builder.insert(op).output]


def parameters_of(word: str) -> list[str]:
    """The names of the parameters of a word, in order."""
    if word in COMPOSITES:
        return list(inspect.signature(COMPOSITES[word]).parameters)[1:]
    return list(spelling_of_word(word).parameters)


TUPLES = ("split",)
"""The words whose result is a tuple, also of one tensor."""


def whole_value(builder: RelayBuilder, word: str, results: Values) -> SSAValue:
    """The value of a word: its result, or the tuple of several."""
    is_tuple = len(results) != 1 or (word in TUPLES and is_tensor(results[0].type))
    return builder.insert(TupleOp(results)).output if is_tuple else results[0]


# Inference


RANKS = range(6)
"""The ranks that stand for an unknown rank."""
_DTYPES = ("float32", "float16", "int32", "bool", "int64")
"""The data types that stand for an unknown data type."""
_OTHERS = {"float32": "float16", "float16": "float32", "int32": "int64", "int64": "int32"}
"""For a data type another one of its kind."""


@dataclass(frozen=True)
class _Completion:
    """Values in place of the unknown parts of operands: their ranks and data types, and the way to choose sizes."""

    ranks: tuple[int | None, ...]
    dtypes: tuple[str | None, ...]


@lru_cache(4096)
def infer(template: Template, types: tuple[Attribute, ...]) -> Attribute:
    """The type of the result of a word: the parts on which all operands of the given types agree.

    TeError if no operands of these types fit.
    """
    result = _Inference(template, types).type()
    if template.word == "squeeze" and as_python(template.attributes.data.get("axis", NoneAttr())) is None:
        return tensor(None, known_dtype(result))  # extents of 1 are known at run time
    sizes = _stated_shape(template, types)
    return result if sizes is None or not is_tensor(result) else tensor(sizes, known_dtype(result))


_SHAPES = {
    "broadcast_to": "shape",
    "collapse_sum_like": "collapse_target",
    "collapse_sum_to": "shape",
    "reshape": "shape",
}
"""The words whose result has the shape that an argument states, each with its parameter."""


def _stated_shape(template: Template, types: Sequence[Attribute]) -> Sequence[Size] | None:
    """The shape of the result that a word states, None if it states none."""
    if template.word not in _SHAPES:
        return None
    shapes = dict(zip(template.parameters, types, strict=True))
    parameter = _SHAPES[template.word]
    attribute = template.attributes.data.get(parameter)
    sizes = known_shape(shapes[parameter]) if parameter in shapes else None
    sizes = as_python(attribute) if attribute is not None else sizes
    return None if sizes is None or not isinstance(sizes, tuple) or {-1, 0} & set(sizes) else sizes


class _Inference:
    """The inference of one call. error: that of the first completion."""

    def __init__(self, template: Template, types: Sequence[Attribute]):
        self.template, self.types = template, types
        self.error: TeError | None = None
        self.sizes = [size for type in types for size in known_shape(type) or ()]
        self.results: dict[_Completion, Attribute | None] = {}

    def type(self) -> Attribute:
        """The type of the result."""
        first = next(filter(self.result, self._completions()), None)
        if first is None:
            assert self.error is not None
            raise self.error
        result = self.result(first)
        assert result is not None
        for ranks in self._rank_choices():
            other = self.result(_Completion(ranks, first.dtypes))
            result = result if other is None else join(result, other)
        for dtypes in self._dtype_variations(first.dtypes):
            other = self.result(_Completion(first.ranks, dtypes))
            result = result if other is None else join(result, other)
        return result

    def result(self, completion: _Completion) -> Attribute | None:
        """The type of the result for ranks and data types, None if no sizes fit."""
        if completion not in self.results:
            self.results[completion] = self._result(completion)
        return self.results[completion]

    def _completions(self) -> Iterator[_Completion]:
        for dtypes in self._dtype_choices():
            for ranks in self._rank_choices():
                yield _Completion(ranks, dtypes)

    def _rank_choices(self) -> Iterator[tuple[int | None, ...]]:
        known = [known_rank(type) for type in self.types]
        unknown = [n for n, rank in enumerate(known) if rank is None]
        equal = [[rank] * len(unknown) for rank in RANKS]
        several = product(RANKS, repeat=len(unknown)) if len(unknown) <= 3 else []
        for choice in dict.fromkeys(map(tuple, chain(equal, several))):
            ranks = dict(zip(unknown, choice, strict=True))
            yield tuple(ranks.get(n, rank) for n, rank in enumerate(known))

    def _dtype_choices(self) -> Iterator[tuple[str | None, ...]]:
        known = [known_dtype(type) for type in self.types]
        unknown = [n for n, type in enumerate(self.types) if is_tensor(type) and known[n] is None]
        stated = list(dict.fromkeys(each for each in known if each is not None))
        candidates = list(dict.fromkeys([*stated, *_DTYPES]))
        equal = [[dtype] * len(unknown) for dtype in candidates]
        several = product(candidates, repeat=len(unknown)) if len(unknown) <= 2 else []
        for choice in dict.fromkeys(map(tuple, chain(equal, several))):
            dtypes = dict(zip(unknown, choice, strict=True))
            yield tuple(dtypes.get(n, dtype) for n, dtype in enumerate(known))

    def _dtype_variations(self, first: tuple[str | None, ...]) -> Iterator[tuple[str | None, ...]]:
        """Other data types of the unknown ones, also together with the known ones that are equal to them: an operator
        on equal data types states no data type of its result."""
        known = [known_dtype(type) for type in self.types]
        if all(a == b for a, b in zip(known, first, strict=True)):
            return
        yield from self._dtype_choices()
        if not _has_equal_dtypes(self.template.word):
            return
        unknown = {each for each, stated in zip(first, known, strict=True) if stated is None}
        for dtype in unknown & _OTHERS.keys():
            yield tuple(_OTHERS[str(dtype)] if each == dtype else each for each in first)

    def _result(self, completion: _Completion) -> Attribute | None:
        exact, sizes = True, _Names({name for type in self.types for name in names_in(type)})
        for fill in self._fills(sizes):
            types = [
                self._completed(type, rank, dtype, fill)
                for type, rank, dtype in zip(self.types, completion.ranks, completion.dtypes, strict=True)
            ]
            try:
                func, _ = self.template.function(types)
            except (TeError, SizeError, ValueError, IndexError) as error:
                self.error = self.error or (error if isinstance(error, TeError) else TeError(str(error)))
                exact = False
                continue
            new = set(names_in(func.result_type)) - sizes.stated
            return without_sizes(func.result_type, new if exact else None)
        return None

    def _fills(self, names: _Names) -> Iterator[_Fill]:
        """The ways to choose unknown sizes: new names, then numbers in place of all unknown sizes and names."""
        yield names.fill
        numbers = [size for size in self.sizes if isinstance(size, int)]
        for number in dict.fromkeys([1, 2, *numbers, 4, 8]):
            yield lambda _, number=number: number
        stated = [as_python(each) for each in self.template.attributes.data.values()]
        shapes = [known_shape(type) for type in self.types] + [each for each in stated if isinstance(each, tuple)]
        for sizes in filter(None, shapes):
            if all(isinstance(size, int) and size > 0 for size in sizes):
                yield lambda place, sizes=sizes: sizes[place] if -len(sizes) <= place < 0 else 1

    @staticmethod
    def _completed(type: Attribute, rank: int | None, dtype: str | None, fill: _Fill) -> Attribute:
        """A type whose unknown parts are replaced."""
        known = known_shape(type)
        if known is None:
            assert rank is not None
            sizes: list[Size] = [fill(place - rank) for place in range(rank)]
        else:
            sizes = [
                size if isinstance(size, int) or isinstance(new := fill(place - len(known)), str) else new
                for place, size in enumerate(known)
            ]
        if isinstance(type, ShapeType):
            return shape(sizes)
        assert dtype is not None
        return tensor_type(sizes, dtype)


def _has_equal_dtypes(word: str) -> bool:
    """Whether the operands of a word have one data type."""
    if word in COMPOSITES or word == "where":
        return word in ("matmul", "where")
    spelling = spelling_of_word(word)
    return spelling.is_variadic or spelling.operands == ("x1", "x2")


_Fill: TypeAlias = Callable[[int], Size]
"""The size in place of an unknown one at an axis, which is counted from the end: -1 is the last one."""


class _Names:
    """Names that stand for unknown sizes. stated: those of sizes that are known."""

    def __init__(self, stated: set[str]):
        self.stated, self._taken = stated, set(stated)

    def fill(self, _: int) -> Size:
        """A new name."""
        return fresh_name("extent", self._taken)


def without_sizes(type: Attribute, names: set[str] | None) -> Attribute:
    """A type without the shapes that contain names; without any shapes for None."""
    if names is not None and names.isdisjoint(names_in(type)):
        return type
    match type:
        case _ if known_shape(type) == ():
            return type
        case TupleType():
            return tuple_type([without_sizes(each, names) for each in type.types.data])
        case ShapeType():
            return shape(None, known_rank(type))
        case _ if is_tensor(type):
            return tensor(None, known_dtype(type), known_rank(type))
        case _:
            return type


def join(first: Attribute, second: Attribute) -> Attribute:
    """The type of the values of both types: what is equal in both is known."""
    if first == second:
        return first
    match first, second:
        case (TensorType() | PartialTensorType(), TensorType() | PartialTensorType()):
            dtype = known_dtype(first) if known_dtype(first) == known_dtype(second) else None
            return tensor(*_common_shape(first, second, dtype))
        case ShapeType(), ShapeType():
            sizes, _, rank = _common_shape(first, second, None)
            return shape(sizes, rank)
        case TupleType(), TupleType() if len(first.types.data) == len(second.types.data):
            return tuple_type(list(map(join, first.types.data, second.types.data)))
        case _:
            return ObjectType()


def _common_shape(
    first: Attribute, second: Attribute, dtype: str | None
) -> tuple[Sequence[Size] | None, str | None, int | None]:
    sizes = known_shape(first) if known_shape(first) == known_shape(second) else None
    rank = known_rank(first) if known_rank(first) == known_rank(second) else None
    return sizes, dtype, rank
