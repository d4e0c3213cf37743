"""Results that packed functions compute, as only data determines their sizes or the attributes of their operators.
Checks of the types of the results bind the sizes. A function with such results is a program of `relax`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from ...operators import relax
from ...operators.relax.types import prim, tensor, tuple_type
from ...operators.relay import Size, tensor_type
from .building import Builder
from .limits import require_rank
from .values import ModelTensor, require_dtype

DATA_SIZES = "data_sizes"
"""The attribute of a function: its sizes that only data determines, each with the name of the node that determines it:
`nonzero_size: nonzero of mask`."""


def call_host(
    builder: Builder,
    name: str,
    operands: Sequence[ModelTensor | int | str],
    results: Sequence[tuple[str, Sequence[Size]]],
) -> list[ModelTensor]:
    """The results of the packed function `stepwell.<name>`, which is pure. results: the data type and the shape of
    each; sizes of `Builder.new_size` are known once the function has returned."""
    builder.is_program = True
    values = [_value(builder, each) for each in operands]
    for dtype, shape in results:
        require_dtype(dtype)
        require_rank(len(shape))
    types = [tensor_type(shape, dtype) for dtype, shape in results]
    partial = [tensor(None, dtype, len(shape)) for dtype, shape in results]
    whole, whole_partial = (types[0], partial[0]) if len(types) == 1 else (tuple_type(types), tuple_type(partial))
    call = builder.relay.insert(relax.CallPurePackedOp(f"stepwell.{name}", values, whole_partial))
    checked = builder.relay.insert(relax.MatchCastOp(call.output, whole)).output
    if len(types) == 1:
        return [builder.tensor_of_value(checked)]
    fields = [builder.relay.insert(relax.TupleGetOp(checked, n)).output for n in range(len(types))]
    return [builder.tensor_of_value(field) for field in fields]


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


def _value(builder: Builder, operand: ModelTensor | int | str) -> SSAValue:
    if isinstance(operand, str):
        return builder.relay.insert(relax.StringOp(operand)).output
    if isinstance(operand, int):
        return builder.relay.insert(relax.PrimValueOp(prim(operand))).output
    return builder.value(operand)
