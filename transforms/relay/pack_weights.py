"""The pass `relay-pack-weights`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, dtype_of_tensor, shape_of
from .graphs import graphs_of, replace

_remarks = PassRemarks("relay-pack-weights")

LANES = 16
"""The rows of a block: the floats of the widest vectors."""
LEAST_ROWS = 4
"""The least number of rows of data that share the vectors of weights."""
_DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class RelayPackWeightsPass(ModulePass):
    """Stores the constant weights of `nn.dense` in blocks of 16 rows, in the order in which a product reads them.

    Elements of a column of a block are adjacent, as a vector. A product then reads its weights once, in order, without
    a copy in each run. Weights are padded with zeros to whole blocks; `relay-fold-constants` computes the blocks. Of
    less than 4 rows of data, and of a dynamic number, the weights stay as they are: the products of a row are sums
    along the rows of the weights.

    Before
        %0 = relay.constant @w : tensor<64x32xf32>
        %1 = relay.nn.dense(%x, %0) : (tensor<128x32xf32>, tensor<64x32xf32>) -> tensor<128x64xf32>

    After
        %0 = relay.constant @w : tensor<64x32xf32>
        %1 = relay.reshape(%0) {newshape = [4, 16, 32]} : (tensor<64x32xf32>) -> tensor<4x16x32xf32>
        %2 = relay.transpose(%1) {axes = [0, 2, 1]} : (tensor<4x16x32xf32>) -> tensor<4x32x16xf32>
        %3 = relay.nn.contrib_dense_pack(%x, %2) {weight_layout = "NC16n", units = 64}
            : (tensor<128x32xf32>, tensor<4x32x16xf32>) -> tensor<128x64xf32>

    Must hold before: libraries have their operators (`relay-partition`).

    Gone after: nothing.
    """

    name = "relay-pack-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name == "nn.dense":
                    _pack(inner, RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location))


def _pack(op: OperatorOp, builder: RelayBuilder) -> None:
    reason = _lack(op)
    if reason:
        _remarks.missed(op, lambda: f"the weights stay as they are: {reason}")
        return
    data, weight = op.args
    units, inner = (size for size in shape_of(weight) if isinstance(size, int))
    blocks = -(-units // LANES)
    if units % LANES:
        weight = builder.operator("nn.pad", weight, pad_width=[[0, blocks * LANES - units], [0, 0]])
    weight = builder.operator("reshape", weight, newshape=[blocks, LANES, inner])
    weight = builder.operator("transpose", weight, axes=[0, 2, 1])
    _remarks.applied(op, lambda: f"the weights are stored in {blocks} blocks of {LANES} rows")
    packed = builder.operator("nn.contrib_dense_pack", data, weight, weight_layout=f"NC{LANES}n", units=units)
    replace(op, [packed])


def _lack(op: OperatorOp) -> str:
    """The reason why the weights of a product are not packed, "" if they are."""
    data, weight = op.args
    rows = shape_of(data)[:-1]
    if not isinstance(weight.owner, ConstantOp):
        return "they are no constants"
    types = {dtype_of_tensor(value) for value in (data, weight, op.outputs[0])}
    if len(types) != 1 or not types <= set(_DTYPES):
        return f"numbers of {', '.join(sorted(types))}, expected {' or '.join(_DTYPES)}"
    known = [n for n in rows if isinstance(n, int)]
    if len(known) < len(rows):
        return "a dynamic number of rows of data"
    if prod(known) < LEAST_ROWS:
        return f"{prod(known)} rows of data, expected {LEAST_ROWS} or more"
    units, inner = shape_of(weight)
    if not isinstance(units, int) or not isinstance(inner, int):
        return "a dynamic size of weights"
    return "" if units >= LANES else f"{units} rows of weights, expected {LANES} or more"
