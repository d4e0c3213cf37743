"""The pass `relax-lift-parameters`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from ...analysis.names import symbols_of
from ...core.diagnostics import where
from ...core.errors import UnsupportedError
from ...core.identifiers import fresh_name
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir.base import string_array
from ...operators.relax import CallOp, CallTirOp, FuncOp, FuncRefOp, ReturnOp, TupleGetOp, TupleOp
from ...operators.relax.types import names_in, tuple_type
from ...operators.relay import ConstantOp, OperatorOp
from ..relay.graphs import erase
from .functions import insert_before, relax_functions

AnyOp = TypeVar("AnyOp", bound=Operation)

NUM_INPUT = "num_input"
"""The name of the function attribute with the number of inputs among the parameters, as in TVM; the others are
weights."""
SUFFIX = "_transform_params"


class RelaxLiftParametersPass(ModulePass):
    """Moves operations that depend on weights alone to a function that a caller needs to call once.

    A function with the attribute `num_input` has inputs and then weights. The function `NAME_transform_params` receives
    the weights as a tuple, and returns those that the first function still needs and the results of the moved
    operations: operators and calls of kernels on tensors of static shape, whose results are not overwritten. These are
    the weights of the first function then. Functions that the module itself calls, and weights with symbolic sizes, are
    an error and stay, respectively.

    Before
        relax.func @main("x" %x: tensor<8xf32>, "w" %w: tensor<8xf32>) -> tensor<8xf32> attrs {num_input = 1 : i64} {
          %0 = relay.exp(%w) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = relay.add(%x, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
          relax.return %1 : tensor<8xf32>
        }

    After
        relax.func @main_transform_params("params" %params: tuple<tensor<8xf32>>) -> tuple<tensor<8xf32>> {
          %0 = relax.tuple_get %params[0] : tuple<tensor<8xf32>> -> tensor<8xf32>
          %1 = relay.exp(%0) : (tensor<8xf32>) -> tensor<8xf32>
          %2 = relax.tuple(%1) : (tensor<8xf32>) -> tuple<tensor<8xf32>>
          relax.return %2 : tuple<tensor<8xf32>>
        }
        relax.func @main("x" %x: tensor<8xf32>, "w" %w: tensor<8xf32>) -> tensor<8xf32> attrs {num_input = 1 : i64} {
          %0 = relay.add(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
          relax.return %0 : tensor<8xf32>
        }

    Must hold before: no dataflow regions (`relax-inline-dataflow`).

    Gone after: nothing.
    """

    name = "relax-lift-parameters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = symbols_of(op)
        called = {call.callee.string_value() for call in find_ops(op, CallOp)}
        called |= {reference.callee.string_value() for reference in find_ops(op, FuncRefOp)}
        for func in relax_functions(op):
            count = None if func.func_attrs is None else func.func_attrs.data.get(NUM_INPUT)
            if not isinstance(count, IntegerAttr):
                continue
            name, inputs = func.sym_name.data, count.value.data
            if name in called:
                raise UnsupportedError(f"{where(func)}function {name} has weights, but the module calls it")
            if not 0 <= inputs <= len(func.params):
                raise UnsupportedError(
                    f"{where(func)}function {name}: {inputs} inputs of {len(func.params)} parameters"
                )
            _Lifting(func, func.body.block.args[inputs:]).lift(fresh_name(f"{name}{SUFFIX}", names))


@dataclass
class _Lifting:
    """The division of a function. weights: parameters that are no inputs."""

    func: FuncOp
    weights: Sequence[BlockArgument]

    def lift(self, name: str) -> None:
        """Inserts the function of the moved operations, and replaces the weights by its results."""
        moved = self._moved()
        inside = set(moved)
        values = [*self.weights, *(result for op in moved for result in op.results)]
        needed = [value for value in values if names_in(value.type) or _is_used_outside(value, inside)]
        insert_before(self.func, self._transformation(name, moved, needed))
        self._replace(needed, moved)

    def _moved(self) -> list[Operation]:
        """The operations that depend on weights of static shape alone, and at least on one."""
        known: set[SSAValue] = {weight for weight in self.weights if not names_in(weight.type)}
        moved: list[Operation] = []
        for op in self.func.body.block.ops:
            others = [value for value in op.operands if not isinstance(value.owner, ConstantOp)]
            is_kind = isinstance(op, OperatorOp | CallTirOp | TupleOp | TupleGetOp)
            is_static = not any(names_in(result.type) for result in op.results)
            if is_kind and is_static and is_side_effect_free(op) and others and all(value in known for value in others):
                known.update(op.results)
                moved.append(op)
        return moved

    def _transformation(self, name: str, moved: Sequence[Operation], needed: Sequence[SSAValue]) -> FuncOp:
        params = ("params", tuple_type([weight.type for weight in self.weights]))
        func = FuncOp(name, [params], tuple_type([value.type for value in needed]))
        func.location = self.func.location
        block = func.body.block
        values: dict[SSAValue, SSAValue] = {}
        for n, weight in enumerate(self.weights):
            values[weight] = _add(block, TupleGetOp(block.args[0], n)).output
        for op in moved:
            for operand in op.operands:
                if isinstance(operand.owner, ConstantOp) and operand not in values:
                    values[operand] = _add(block, operand.owner.clone()).result
            copy = _add(block, op.clone(values))
            copy.location = op.location
        whole = _add(block, TupleOp([values[value] for value in needed]))
        block.add_op(ReturnOp(whole.output))
        return func

    def _replace(self, needed: Sequence[SSAValue], moved: Sequence[Operation]) -> None:
        """Makes the values the weights of the function."""
        block = self.func.body.block
        before = [name for name, _ in self.func.params]
        names = before[: len(before) - len(self.weights)]
        taken = set(names)
        hints = [before[v.index] if isinstance(v, BlockArgument) else v.name_hint or "lifted" for v in needed]
        for value, hint in zip(needed, hints, strict=True):
            argument = block.insert_arg(value.type, len(block.args))
            value.replace_uses_with_if(argument, lambda use: use.operation not in moved)
            names.append(fresh_name(hint, taken))
            set_name_hint(argument, names[-1])
        for op in reversed(moved):
            erase(op)
        for weight in self.weights:
            block.erase_arg(weight)
        self.func.param_names = string_array(names)


def _is_used_outside(value: SSAValue, inside: set[Operation]) -> bool:
    return any(use.operation not in inside for use in value.uses)


def _add(block: Block, op: AnyOp) -> AnyOp:
    block.add_op(op)
    return op
