"""Calls of kernels and of packed functions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, StringAttr, SymbolRefAttr, TupleType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ...dialects.tir.base import TirOp, require, string_array
from ..relay import normal_size
from ..relay.effects import ComputesTensors
from .kernels import check_call, signature_of
from .types import CallableType, is_tensor, known_shape, verify_type


class _KernelFits(SymbolUserOpInterface):
    def verify(self, op: object) -> None:
        assert isinstance(op, CallTirOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        require(callee is not None, f"(C2) no function {op.callee.string_value()!r} in the module")
        assert callee is not None
        signature = signature_of(callee)
        if signature is not None:
            types = [arg.type for arg in op.args]
            check_call(signature, types, op.output_types, len(op.size_texts), "(C3)")


@irdl_op_definition
class CallTirOp(TirOp):
    """Computes new tensors by a kernel in destination-passing style: the caller allocates the results.

    The kernel receives the arguments, the results, and the numbers `sizes`, in this order.

    Constraints
        (C1) arguments are tensors; the result is a tensor or a tuple of tensors, of known shape and data type.
        (C2) the module has a function of this name.
        (C3) the function has parameters of the types of the arguments and of the results, for one value of each of its
        symbolic sizes, and an integer parameter for each of `sizes`.

    Example
        %1 = relax.call_tir @dense(%x, %w) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
        %2 = relax.call_tir @fill(%x) sizes ["n"] : (tensor<4xf32>) -> tensor<?xf32, #relay.sizes<"n">>

    Source: `R.call_tir(cls.dense, (x, w), out_sinfo=R.Tensor((1, 4), "float32"), tir_vars=R.shape([n]))`
    """

    name = "relax.call_tir"

    callee = prop_def(FlatSymbolRefAttrConstr)
    args = var_operand_def(Attribute)
    sizes = opt_prop_def(ArrayAttr[StringAttr])
    output = result_def(Attribute)

    traits = traits_def(_KernelFits(), ComputesTensors())
    assembly_format = (
        "$callee `(` $args `)` (`sizes` $sizes^)? attr-dict-with-keyword `:` functional-type($args, $output)"
    )

    def __init__(self, callee: str, args: Sequence[SSAValue], type: Attribute, sizes: Sequence[str] = ()):
        super().__init__(
            operands=[args],
            properties={"callee": SymbolRefAttr(callee), "sizes": string_array(sizes) if sizes else None},
            result_types=[type],
        )

    @property
    def output_types(self) -> list[Attribute]:
        """The types of the tensors that the kernel computes."""
        return result_types(self.output.type)

    @property
    def size_texts(self) -> list[str]:
        """The numbers that follow the tensors, as sizes."""
        return [] if self.sizes is None else [size.data for size in self.sizes.data]

    def verify_(self) -> None:
        for arg in self.args:
            require(is_tensor(arg.type), f"(C1) argument of type {arg.type}, expected a tensor")
        verify_outputs(self.output.type, "(C1)")
        for size in self.size_texts:
            try:
                normal = normal_size(size)
            except ValueError as error:
                raise VerifyException(f"(C3) {error}") from None
            require(str(normal) == size, f"(C3) size {size!r}, expected {str(normal)!r}")


def result_types(type: Attribute) -> list[Attribute]:
    """The types of the tensors that a call in destination-passing style computes: one, or the fields of a tuple."""
    return list(type.types.data) if isinstance(type, TupleType) else [type]


def verify_outputs(type: Attribute, tag: str) -> None:
    """Raise `VerifyException` unless the caller can allocate values of a type: tensors of known shape and data type."""
    verify_type(type, tag)
    for each in result_types(type):
        require(
            is_tensor(each) and known_shape(each) is not None and each.name == "tensor",
            f"{tag} result of type {each}, expected a tensor of known shape and data type",
        )


class _PackedCall(TirOp):
    """Base class of calls of packed functions, which are registered by name (`register_func`)."""

    func_name = prop_def(StringAttr)
    args = var_operand_def(Attribute)
    output = result_def(Attribute)

    assembly_format = "$func_name `(` $args `)` attr-dict-with-keyword `:` functional-type($args, $output)"

    def __init__(self, func_name: str, args: Sequence[SSAValue], type: Attribute):
        super().__init__(operands=[args], properties={"func_name": StringAttr(func_name)}, result_types=[type])


@irdl_op_definition
class CallDpsPackedOp(_PackedCall):
    """Computes new tensors by a packed function in destination-passing style: it receives the arguments and the
    results, and has no other side effects.

    Constraints
        (C1) the result is a tensor or a tuple of tensors, of known shape and data type.

    Example
        %1 = relax.call_dps_packed "env.linear"(%x, %w) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>

    Source: `R.call_dps_packed("env.linear", (x, w), out_sinfo=R.Tensor((1, 4), "float32"))`
    """

    name = "relax.call_dps_packed"

    traits = traits_def(ComputesTensors())

    def verify_(self) -> None:
        verify_outputs(self.output.type, "(C1)")


@irdl_op_definition
class CallPackedOp(_PackedCall):
    """Calls a packed function, which may have side effects. Its result is checked against the type of the result.

    Constraints
        (C1) the result has a type of values.

    Example
        %1 = relax.call_packed "vm.print"(%x) : (tensor<1x8xf32>) -> !relax.object

    Source: `R.call_packed("vm.print", x, sinfo_args=R.Object)`
    """

    name = "relax.call_packed"

    def verify_(self) -> None:
        verify_type(self.output.type, "(C1)")


@irdl_op_definition
class CallPurePackedOp(_PackedCall):
    """Calls a packed function that has no side effects. Its result is checked against the type of the result.

    Constraints
        (C1) the result has a type of values.
        (C2) no argument is a function with side effects.

    Example
        %1 = relax.call_pure_packed "env.norm"(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>

    Source: `R.call_pure_packed("env.norm", x, sinfo_args=R.Tensor((1, 8), "float32"))`
    """

    name = "relax.call_pure_packed"

    traits = traits_def(ComputesTensors())

    def verify_(self) -> None:
        verify_type(self.output.type, "(C1)")
        for arg in self.args:
            is_impure = isinstance(arg.type, CallableType) and isinstance(arg.type.impure, UnitAttr)
            require(not is_impure, "(C2) an argument is a function with side effects")
