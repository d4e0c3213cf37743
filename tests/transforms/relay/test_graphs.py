"""Rewrites of graphs that passes share."""

from stepwell import parse_mlir
from stepwell.core.walking import find_ops
from stepwell.operators.relay import OperatorOp
from stepwell.transforms.relay.graphs import erase_unused


def test_an_operator_that_computes_both_operands_is_erased_once() -> None:
    module = parse_mlir("""\
relay.func @main("x" %x: tensor<8xf32>) {
  %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.add(%0, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  relay.return %x : tensor<8xf32>
}
""")
    *_, last = find_ops(module.op, OperatorOp)
    erase_unused(last.outputs[0])
    assert not list(find_ops(module.op, OperatorOp))
