"""Kernels that call another function for their computation, so that their names and parameters stay."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import AddressOfOp, CallOp, FuncOp, MatchBufferOp, TirBuilder


def calling_region(
    func: FuncOp,
    callee: str,
    types: Sequence[Attribute],
    numbers: Sequence[int] = (),
    order: Sequence[int] | None = None,
    views: Sequence[Operation] = (),
) -> Region:
    """The body of a kernel that calls another function, with pointers to the first elements of its buffers, and with
    buffers of dynamic shape and numbers as they are.

    types: of the parameters of the kernel, buffers and numbers.  numbers: arguments of type int32 after the buffers.
    order: the number of the parameter that is each buffer of the function, by default all parameters in order.
    views: the operations that view handles among the parameters as buffers, with their symbols, to be copied.
    """
    body = Block(arg_types=types)
    builder = TirBuilder(InsertPoint.at_end(body), func.location)
    copies = dict[SSAValue, SSAValue](zip(func.body.block.args, body.args, strict=True) if views else ())
    viewed = dict[SSAValue, SSAValue]()
    for op in views:
        copy = builder.insert(op.clone(copies))
        if isinstance(copy, MatchBufferOp):
            viewed[copy.source] = copy.buffer
    arguments = list[SSAValue]()
    for name, argument, type in zip(func.param_names.data, body.args, types, strict=True):
        set_name_hint(argument, name.data)
        if argument in viewed or isinstance(type, IntegerType):
            arguments.append(viewed.get(argument, argument))
            continue
        assert isinstance(type, MemRefType)
        zeros = [builder.const(0, "int32")] * type.get_num_dims()
        arguments.append(builder.insert(AddressOfOp(argument, zeros)).pointer)
    if order is not None:
        arguments = [arguments[n] for n in order]
    arguments += [builder.const(number, "int32") for number in numbers]
    builder.insert(CallOp(callee, arguments))
    return Region(body)
