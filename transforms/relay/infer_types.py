"""The pass `relay-infer-types`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from ...core.diagnostics import where
from ...core.errors import PassError
from ...expressions.errors import TeError
from ...operators.relay import CallOp, FuncOp, IfOp, OperatorOp, YieldOp


class RelayInferTypesPass(ModulePass):
    """Infers the types of all tensors anew from the types of the parameters.

    A pass, or a user, that changes the types of parameters (`refine_parameters`) leaves other types outdated. The pass
    updates only types that depend on a change.

    Before
        relay.func @main("x" %x: tensor<2x4xf32>) {
          %0 = relay.exp(%x) : (tensor<2x4xf32>) -> tensor<?x4xf32, #relay.sizes<"n">>
          relay.return %0 : tensor<?x4xf32, #relay.sizes<"n">>
        }

    After
        relay.func @main("x" %x: tensor<2x4xf32>) {
          %0 = relay.exp(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
          relay.return %0 : tensor<2x4xf32>
        }

    Must hold before: the arguments of each call have the types of the callee's parameters.

    Gone after: nothing.
    """

    name = "relay-infer-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        done = set[FuncOp]()
        for func in op.body.block.ops:
            if isinstance(func, FuncOp):
                _infer(func, done)


def refine_parameters(func: FuncOp, types: Mapping[str, Attribute]) -> None:
    """Changes the types of parameters, given by name, and infers the types of all tensors that depend on them.

    Raises PassError, with the source location, for operators that do not accept such tensors; the types are then partly
    changed.
    """
    changed = set[SSAValue]()
    for name, value in func.params:
        if name in types and value.type != types[name]:
            changed.add(Rewriter.replace_value_with_new_type(value, types[name]))
    _infer_block(func.body.block, changed, set())


def _infer(func: FuncOp, done: set[FuncOp]) -> None:
    """Infers the types in one function, after those of its callees."""
    if func not in done:
        done.add(func)
        _infer_block(func.body.block, None, done)


def _infer_block(block: Block, changed: set[SSAValue] | None, done: set[FuncOp]) -> None:
    """Infers the types in a block. changed: tensors with new types, which the function extends; None for all types."""
    for op in block.ops:
        inner = [operand for each in op.walk() for operand in each.operands]
        if changed is None or any(operand in changed for operand in inner):
            for region in op.regions:
                _infer_block(region.block, changed, done)
            _set_types(op, _types(op, done), changed)


def _types(op: Operation, done: set[FuncOp]) -> Iterable[Attribute]:
    """The types of the results of an op."""
    match op:
        case OperatorOp():
            try:
                return op.infer()
            except TeError as error:
                raise PassError(f"{where(op)}{error.what}") from error
        case IfOp():
            return _types_of_branches(op)
        case CallOp():
            return _types_of_call(op, done)
        case _:
            return [result.type for result in op.results]


def _types_of_branches(op: IfOp) -> Iterable[Attribute]:
    lasts = [region.block.last_op for region in (op.then, op.orelse)]
    first, second = ([value.type for value in last.values] for last in lasts if isinstance(last, YieldOp))
    if first != second:
        texts = [", ".join(map(str, types)) for types in (first, second)]
        raise PassError(f"{where(op)}relay.if: branches give {texts[0]} and {texts[1]}")
    return first


def _types_of_call(op: CallOp, done: set[FuncOp]) -> Iterable[Attribute]:
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, FuncOp):
        return [output.type for output in op.outputs]
    actual, expected = [arg.type for arg in op.args], [*callee.body.block.arg_types]
    if actual != expected:
        texts = [", ".join(map(str, types)) for types in (actual, expected)]
        raise PassError(f"{where(op)}@{callee.sym_name.data} called with {texts[0]}, expected {texts[1]}")
    _infer(callee, done)
    return callee.result_types_


def _set_types(op: Operation, types: Iterable[Attribute], changed: set[SSAValue] | None) -> None:
    for result, type in zip(list(op.results), list(types), strict=True):
        if result.type != type:
            new = Rewriter.replace_value_with_new_type(result, type)
            if changed is not None:
                changed.add(new)
