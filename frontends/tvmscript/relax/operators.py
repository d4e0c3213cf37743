"""Words of `R` for operators: `R.add(x, y)`, `R.nn.softmax(x, axis=1)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.ir import SSAValue

from ....core.diagnostics import Span
from ....core.errors import SizeError
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr
from ....operators.definition import UnknownOperatorError
from ....operators.relax import PrimType, ShapeType, TupleOp
from ....operators.relax.spelling import all_words
from ....operators.relax.types import is_tensor, known_shape, number_of
from ....operators.relax.words import build_word, whole_value
from ..values import Metadata, RelaxValue, Value, Word, python_number
from ..vocabulary import RELAX_WORDS, Reader, is_dtype, path_of, word
from .context import RelaxContext


def call_operator(
    context: RelaxContext, name: str, span: Span, args: Sequence[Value], keywords: Mapping[str, Value]
) -> Value:
    """The result of the operators that a word denotes; a tuple for several results."""
    values = [_argument(context, name, arg, span) for arg in args]
    named = {key: _argument(context, name, value, span) for key, value in keywords.items()}
    try:
        results = build_word(context.at(span), name, values, named)
    except (TeError, UnknownOperatorError) as error:
        what = error.what if isinstance(error, TeError) else str(error)
        raise span.error(what if what.startswith(name) else f"{name}: {what}") from None
    except SizeError as error:
        raise span.error(str(error)) from None
    return RelaxValue(whole_value(context.at(span), name, results))


def _argument(context: RelaxContext, name: str, value: Value, span: Span) -> object:
    """An argument of an operator: a tensor, a tuple of them, a shape or the value of an attribute."""
    match value:
        case RelaxValue() if isinstance(value.value.type, ShapeType):
            sizes = known_shape(value.value.type)
            return value.value if sizes is None else tuple(sizes)
        case RelaxValue() if isinstance(value.value.owner, TupleOp):
            return [_tensor(context, name, each, span) for each in value.value.owner.values]
        case RelaxValue() if isinstance(value.value.type, PrimType) and number_of(value.value.type) is not None:
            return number_of(value.value.type)
        case RelaxValue():
            return _tensor(context, name, value.value, span)
        case PrimExpr():
            return context.size(value, span)
        case tuple() | list():
            return [_argument(context, name, item, span) for item in cast("Sequence[Value]", value)]
        case Metadata():
            raise span.error("expected the type of the constant, name: R.Tensor(...) = metadata[...]")
        case Word() if is_dtype(path_of(value)):
            return path_of(value)
        case _:
            return python_number(value)


def _tensor(context: RelaxContext, name: str, value: SSAValue, span: Span) -> SSAValue:
    if not is_tensor(value.type):
        what = "a tensor of known rank and data type, as R.match_cast gives"
        raise span.error(f"R.{name}: expected {what}, got a value of type {value.type}")
    return value


def _reader(name: str) -> Reader:
    def read(context: RelaxContext, span: Span, *args: Value, **keywords: Value) -> Value:
        return call_operator(context, name, span, args, keywords)

    return read


for _name in all_words():
    word(_name, words=RELAX_WORDS)(_reader(_name))
