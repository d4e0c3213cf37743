"""The pass `relay-widen-operands`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.dtypes import parse_dtype
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...operators.relay import OperatorOp, RelayBuilder, dtype_of_tensor, shape_of
from .graphs import graphs_of, replace

_remarks = PassRemarks("relay-widen-operands")

LEAST_USES = 4
"""The least number of rows that use each weight: fewer read weights of twice the size for as many products."""
NARROW, WIDE = ("float16", "bfloat16"), "float32"
"""The data types of operands whose sums in the same type are widened, and the data type of these sums then."""
_MATRICES = ("nn.dense", "nn.matmul", "nn.batch_matmul")
_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose")
_SUM = "sum"


@dataclass(frozen=True)
class RelayWidenOperandsPass(ModulePass):
    """Converts the operands of products of floats whose sums are wider floats, once for all products of an element.

    Such are the products of mixed precision, of float16 or bfloat16 with sums of float32. A product of converted
    operands has the same results, and is computed as any product of wide floats: with packed weights, in tiles, by
    Winograd's algorithm. `relay-fold-constants` converts constant weights.

    Products of float16 and bfloat16 with sums of the same type, and sums of such elements, get sums of float32, which
    are rounded once: processors round each sum of bfloat16 by several instructions. The results are more accurate.

    The operands of products of fewer than 4 rows stay as they are: such products take the time in which memory sends
    their weights.

    Before
        %0 = relay.nn.dense(%x, %w) {out_dtype = "float32"}
            : (tensor<8x32xbf16>, tensor<64x32xbf16>) -> tensor<8x64xf32>

    After
        %0 = relay.cast(%x) {dtype = "float32"} : (tensor<8x32xbf16>) -> tensor<8x32xf32>
        %1 = relay.cast(%w) {dtype = "float32"} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
        %2 = relay.nn.dense(%0, %1) {out_dtype = "float32"} : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<8x64xf32>

    Must hold before: nothing; primitive functions stay as they are.

    Gone after: nothing.
    """

    name = "relay-widen-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for product in list(find_ops(func, OperatorOp)):
                if product.operator.name in (*_MATRICES, *_CONVOLUTIONS, _SUM):
                    _widen(product)


def _widen(op: OperatorOp) -> None:
    """Converts the operands of a product or sum of narrow floats, or widens its sums, or both."""
    dtypes = {dtype_of_tensor(arg) for arg in op.args}
    narrow, result = min(dtypes), dtype_of_tensor(op.outputs[0])
    sums = WIDE if result == narrow and result in NARROW else result
    before, after = parse_dtype(narrow), parse_dtype(sums)
    if len(dtypes) != 1 or not before.is_float or not after.is_float or before.bits >= after.bits:
        return
    builder = RelayBuilder(InsertPoint.before(op), location=op.location)
    operands, changes = list(op.args), [f"its sums are of {sums}"] if sums != result else []
    rows = _known_rows(op)
    if rows is not None and rows < LEAST_USES:
        _remarks.missed(op, lambda: f"{rows} rows use each weight, expected {LEAST_USES} or more")
    else:
        operands = [builder.operator("cast", arg, dtype=sums) for arg in operands]
        changes.append(f"its operands are converted to {sums}")
    if changes:
        _remarks.applied(op, lambda: ", ".join(changes))
        attributes = op.attribute_values if op.operator.name == _SUM else {**op.attribute_values, "out_dtype": sums}
        product = builder.operator(op.operator.name, *operands, **attributes)
        replace(op, [product if sums == result else builder.operator("cast", product, dtype=result)])


def _known_rows(op: OperatorOp) -> int | None:
    """The number of rows that use each weight of a product of matrices; None for a dynamic number and for other
    operators."""
    if op.operator.name not in _MATRICES:
        return None
    rows = shape_of(op.outputs[0])[1 if op.operator.name == "nn.batch_matmul" else 0 : -1]
    known = [n for n in rows if isinstance(n, int)]
    return prod(known) if len(known) == len(rows) else None
