"""Expressions read from functions of the `relay` dialect: the inverse of `graph.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...core.errors import UnsupportedError
from ...operators.relay import CallOp, ConstantOp, FuncOp, IfOp, OperatorOp, dtype_of_tensor, shape_of
from ...operators.relay.attributes import as_python
from ...operators.relay.constants import Array, constant_array
from .expr import Call, Constant, Expr, Function, FunctionCall, GlobalVar, If, Tuple, TupleGetItem, Var
from .types import TensorType, TupleType, Type


def read_function(func: FuncOp, constants: Mapping[str, Array]) -> Function:
    """The expression of a function; each value is one node. constants: the arrays of the module.

    UnsupportedError for a constant whose array is missing.
    """
    values: dict[SSAValue, Expr] = {}
    params: list[Var] = []
    for name, argument in func.params:
        params.append(Var(name, type_of(argument)))
        values[argument] = _typed(params[-1], params[-1].type_annotation)
    body = _read_block(func.body.block, values, constants)
    attrs = {} if func.func_attrs is None else {key: as_python(each) for key, each in func.func_attrs.data.items()}
    return Function(params, body, attrs=attrs)


def type_of(value: SSAValue) -> TensorType:
    """The type of a tensor."""
    return TensorType(shape_of(value), dtype_of_tensor(value))


def _read_block(block: Block, values: dict[SSAValue, Expr], constants: Mapping[str, Array]) -> Expr:
    """The result of a block; `values` gets the expressions of its ops."""
    *ops, last = block.ops
    for op in ops:
        values.update(zip(op.results, _read_op(op, values, constants), strict=True))
    results = [values[value] for value in last.operands]
    return results[0] if len(results) == 1 else Tuple(results)


def _read_op(op: Operation, values: dict[SSAValue, Expr], constants: Mapping[str, Array]) -> Iterator[Expr]:
    """The expressions of the results of an op."""
    operands = [values[value] for value in op.operands]
    match op:
        case ConstantOp():
            array = constant_array(op, constants)
            if array is None:
                raise UnsupportedError(f"constant {op.array_name}: the module has no array of this name")
            node: Expr = Constant(array)
        case OperatorOp():
            node = Call(op.operator, operands, op.explicit_attributes)
            node.location = op.location
        case CallOp():
            node = FunctionCall(GlobalVar(op.callee.string_value()), operands)
        case IfOp():
            branches = [_read_block(region.block, dict(values), constants) for region in (op.then, op.orelse)]
            node = If(operands[0], *branches)
        case _:
            raise UnsupportedError(f"{op.name} is no expression of a graph")
    return _results(node, op.results)


def _results(node: Expr, results: Sequence[SSAValue]) -> Iterator[Expr]:
    types: list[Type] = [type_of(result) for result in results]
    if len(types) == 1:
        yield _typed(node, types[0])
        return
    _typed(node, TupleType(types))
    for n, type in enumerate(types):
        yield _typed(TupleGetItem(node, n), type)


def _typed(node: Expr, type: Type | None) -> Expr:
    node.known_type = type
    return node
