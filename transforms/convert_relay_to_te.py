"""`convert-relay-to-te`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ..core.errors import UnsupportedError
from ..dialects import te
from ..dialects.relay import ConstantOp, FuncOp, OperatorOp, Sizes, dtype_of_tensor, free_sizes, shape_of
from ..dialects.tir.annotations import annotation_value
from ..expressions.expr import Var, const
from ..expressions.tensor import Tensor, compute, elementwise
from ..expressions.write import FunctionWriter
from .lowering.types import where
from .te_inline import inline_tensors


class ConvertRelayToTePass(ModulePass):
    """Make a `te.func` of each primitive function: the formulas of its operators, one after the other, written into
    each other where nothing is computed twice for it (`te-inline{recompute=false}`).

    Its parameters are those of the function, and the results behind them; in front of them, numbers, the sizes that no
    parameter says by itself. Functions that call primitive ones stay.

    Before
        relay.func primitive @fused_exp("p0" %p0: tensor<8xf32>) {
          %0 = relay.exp(%p0) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    After
        te.func @fused_exp attrs {tir.noalias = true} {
          %p0 = te.placeholder "p0" [8] : tensor<8xf32>
          %T_exp = te.compute "T_exp" (spatial "i0" %i0 : i32 in [0 +: 8]) tag "elemwise" : tensor<8xf32> {
            %0 = te.read %p0[%i0] : tensor<8xf32>
            %1 = math.exp %0 : f32
            te.yield %1 : f32
          }
          te.params %p0 : tensor<8xf32>, %T_exp : tensor<8xf32>
        }

    Must hold before: operators stand in primitive functions (`relay-fuse-operators`).

    Gone after: operators, primitive functions.
    """

    name = "convert-relay-to-te"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _check(op)
        for func in [f for f in op.body.block.ops if isinstance(f, FuncOp) and f.primitive is not None]:
            if func.compiler is None:
                written = _written(func)
                written.location = func.location
                block = func.parent
                assert block is not None
                block.insert_op_before(written, func)
                func.detach()
                func.erase()


def _check(module: ModuleOp) -> None:
    """UnsupportedError for operators outside of primitive functions, all of them at once."""
    found: dict[str, OperatorOp] = {}
    for func in module.body.block.ops:
        if isinstance(func, FuncOp) and func.primitive is None and func.compiler is None:
            for op in func.walk():
                if isinstance(op, OperatorOp):
                    found.setdefault(op.name, op)
    if found:
        first = next(iter(found.values()))
        raise UnsupportedError(f"{where(first)}{', '.join(found)} outside of primitive functions: relay-fuse-operators")


def _written(func: FuncOp) -> te.FuncOp:
    """A primitive function as tensor expressions."""
    sizes, values = Sizes(), dict[SSAValue, Tensor]()
    for name, value in func.params:
        values[value] = sizes.placeholder(value.type, name)
    inputs = list(values.values())
    for op in func.body.block.ops:
        if isinstance(op, OperatorOp):
            made = op.operator.tensors([values[arg] for arg in op.args], op.values)
            values |= dict(zip(op.outputs, made, strict=True))
        elif isinstance(op, ConstantOp):
            values[op.result] = _number(op)
    free = free_sizes([value.type for _, value in func.params], func.result_types_)
    numbers: list[Var] = [sizes.variable(name) for name in free]
    outputs = _distinct([values[value] for value in func.returned], inputs)
    attributes = {"tir.noalias": annotation_value(True)}
    written = FunctionWriter(func.sym_name.data, [*numbers, *inputs, *outputs], attributes).write()
    inline_tensors(written, recompute=False)
    return written


def _number(op: ConstantOp) -> Tensor:
    number, dtype = op.number, dtype_of_tensor(op.result)
    assert number is not None  # arrays are parameters of primitive functions
    return compute([int(size) for size in shape_of(op.result)], lambda *_: const(number, dtype), "constant")


def _distinct(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Results, each a tensor of its own: a copy of what is a parameter or another result."""
    found: list[Tensor] = []
    for output in outputs:
        taken = output in inputs or output in found
        found.append(elementwise(lambda x: x, [output], "T_copy") if taken else output)
    return found
