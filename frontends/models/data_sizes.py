"""Results that packed functions compute, as only data determines their sizes or the attributes of their operators.
Checks of the types of the results bind the sizes. A function with such results is a program of `relax`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Attribute, SSAValue

from ...operators import relax
from ...operators.relax.types import prim, tensor, tuple_type
from ...operators.relay import Size, tensor_type
from .building import Builder
from .errors import ModelUnsupportedError
from .limits import require_rank
from .objects import UNKNOWN, runtime_type
from .types import OptionalType, SequenceType, TensorType, ValueType
from .values import Item, ModelObject, ModelTensor, require_dtype

DATA_SIZES = "data_sizes"
"""The attribute of a function: its sizes that only data determines, each with the name of the node that determines it:
`nonzero_size: nonzero of mask`."""

Operand: TypeAlias = "Item | int | str | SSAValue"
"""An operand of a packed function."""


def call_host(
    builder: Builder, name: str, operands: Sequence[Operand], results: Sequence[tuple[str, Sequence[Size]]]
) -> list[ModelTensor]:
    """The results of the packed function `stepwell.<name>`, which is pure. results: the data type and the shape of
    each; sizes of `Builder.new_size` are known once the function has returned."""
    types = [TensorType(dtype, tuple(shape)) for dtype, shape in results]
    return [each for each in call_function(builder, name, operands, types) if isinstance(each, ModelTensor)]


def call_operator(
    builder: Builder,
    name: str,
    operands: Sequence[ModelTensor],
    computed: Mapping[str, ModelTensor],
    results: Sequence[tuple[str, Sequence[Size]]],
    **attributes: Any,
) -> list[ModelTensor]:
    """The results of an operator of graphs with attributes that the model computes. computed: these, by name.  results:
    as of `call_host`."""
    description = json.dumps({"name": name, "attributes": attributes, "computed": list(computed)})
    return call_host(builder, "operator", [description, *operands, *computed.values()], results)


def call_function(builder: Builder, name: str, operands: Sequence[Operand], types: Sequence[ValueType]) -> list[Item]:
    """The results of the packed function `stepwell.<name>`, which is pure: tensors, sequences and optional values.
    An unknown extent of a tensor becomes a new size."""
    builder.is_program = True
    values = [operand_value(builder, each) for each in operands]
    known = [name_sizes(builder, type, name) for type in types]
    exact, partial = [attribute_of(type) for type in known], [_partial_type(type) for type in known]
    is_one = len(types) == 1
    call = relax.CallPurePackedOp(f"stepwell.{name}", values, partial[0] if is_one else tuple_type(partial))
    whole = builder.relay.insert(call).output
    if not is_one or isinstance(known[0], TensorType):
        whole = builder.relay.insert(relax.MatchCastOp(whole, exact[0] if is_one else tuple_type(exact))).output
    count = len(types)
    fields = [whole] if is_one else [builder.relay.insert(relax.TupleGetOp(whole, n)).output for n in range(count)]
    return [item_of_value(builder, field, type) for field, type in zip(fields, known, strict=True)]


def call_object(
    builder: Builder, name: str, operands: Sequence[Operand], type: SequenceType | OptionalType
) -> ModelObject:
    """The sequence or the optional value that the packed function `stepwell.<name>` returns."""
    result = call_function(builder, name, operands, [type])[0]
    assert isinstance(result, ModelObject)
    return result


# Types and values


def name_sizes(builder: Builder, type: ValueType, what: str) -> ValueType:
    """A type of a tensor with new sizes for its unknown extents; other types unchanged. what: the operation that
    determines the sizes. Raises ModelUnsupportedError for a tensor of unknown rank."""
    if not isinstance(type, TensorType):
        return type
    if type.shape is None:
        raise ModelUnsupportedError("a tensor whose number of dimensions is known only when the model runs")
    require_dtype(type.dtype)
    require_rank(len(type.shape))
    return TensorType(type.dtype, tuple(builder.new_size(what) if each == UNKNOWN else each for each in type.shape))


def attribute_of(type: ValueType) -> Attribute:
    """The type of the SSA values of a type without unknown extents."""
    if not isinstance(type, TensorType):
        return relax.ObjectType()
    assert type.shape is not None
    return tensor_type(type.shape, type.dtype)


def _partial_type(type: ValueType) -> Attribute:
    if not isinstance(type, TensorType):
        return relax.ObjectType()
    assert type.shape is not None
    return tensor(None, type.dtype, len(type.shape))


def checked_item(builder: Builder, value: SSAValue, type: ValueType, what: str) -> Item:
    """An object of the program as a value of a type, which is checked. what: as of `name_sizes`."""
    known = name_sizes(builder, type, what)
    if isinstance(known, TensorType):
        value = builder.relay.insert(relax.MatchCastOp(value, attribute_of(known))).output
    return item_of_value(builder, value, known)


def item_of_value(builder: Builder, value: SSAValue, type: ValueType) -> Item:
    """The value of a type without unknown extents."""
    return builder.tensor_of_value(value) if isinstance(type, TensorType) else ModelObject(value, type)


def operand_value(builder: Builder, operand: Operand) -> SSAValue:
    """The SSA value of an operand."""
    match operand:
        case str():
            return builder.relay.insert(relax.StringOp(operand)).output
        case int():
            return builder.relay.insert(relax.PrimValueOp(prim(operand))).output
        case ModelTensor():
            return builder.value(operand)
        case SSAValue():
            return operand
        case _:
            return object_of(builder, operand).value


def object_of(builder: Builder, item: Item) -> ModelObject:
    """A list as a sequence that the program constructs, and an absent value as one; objects are themselves. Raises
    ModelUnsupportedError for a tensor."""
    match item:
        case ModelObject():
            return item
        case list():
            type = runtime_type(item)
            assert isinstance(type, SequenceType)
            return call_object(builder, "sequence_construct", item, type)
        case None:
            return call_object(builder, "optional_none", [], OptionalType(SequenceType(None)))
        case ModelTensor():
            raise ModelUnsupportedError(f"a tensor of {item.dtype} where a sequence is expected")
