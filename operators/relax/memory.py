"""Tensors that a program allocates itself: for calls that overwrite them, and as shapes."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def

from ...dialects.tir.base import TirOp
from ..relay.effects import ComputesTensors
from .calls import verify_outputs


@irdl_op_definition
class AllocTensorOp(TirOp):
    """A new tensor with undefined elements, which a call in place overwrites, or of which only the shape is read.

    Constraints
        (C1) the result is a tensor of known shape and data type.

    Example
        %0 = relax.alloc_tensor : tensor<8xf32>
        %1 = relax.call_tir_inplace @double(%x, %0) inplace [1] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>

    Source: `R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), 0)`
    """

    name = "relax.alloc_tensor"

    output = result_def(TensorType)

    traits = traits_def(ComputesTensors())
    assembly_format = "attr-dict-with-keyword `:` type($output)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        verify_outputs(self.output.type, "(C1)")
