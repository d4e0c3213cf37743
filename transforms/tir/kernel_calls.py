"""Kernels that call another function for their computation, so that their names and parameters stay."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import AddressOfOp, CallOp, FuncOp, TirBuilder


def calling_region(
    func: FuncOp,
    callee: str,
    types: Sequence[Attribute],
    numbers: Sequence[int] = (),
    order: Sequence[int] | None = None,
) -> Region:
    """The body of a kernel that calls another function, with pointers to the first elements of its buffers.

    types: of the parameters of the kernel, all of them buffers.  numbers: arguments of type int32 after the buffers.
    order: the number of the parameter that is each buffer of the function, by default all parameters in order.
    """
    body = Block(arg_types=types)
    builder = TirBuilder(InsertPoint.at_end(body), func.location)
    arguments = list[SSAValue]()
    for name, argument, type in zip(func.param_names.data, body.args, types, strict=True):
        assert isinstance(type, MemRefType)
        set_name_hint(argument, name.data)
        zeros = [builder.const(0, "int32")] * type.get_num_dims()
        arguments.append(builder.insert(AddressOfOp(argument, zeros)).pointer)
    if order is not None:
        arguments = [arguments[n] for n in order]
    arguments += [builder.const(number, "int32") for number in numbers]
    builder.insert(CallOp(callee, arguments))
    return Region(body)
