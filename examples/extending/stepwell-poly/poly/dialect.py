"""The `poly` dialect: polynomials of the elements of buffers."""

from collections.abc import Iterable
from typing import ClassVar, cast

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, FloatAttr, MemRefType
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, base, irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import get_element_type_or_self


@irdl_op_definition
class EvalOp(IRDLOperation):
    """target[i] = coefficients[0] + coefficients[1] * source[i] + coefficients[2] * source[i] ** 2 + ...

    Constraints
        (C1) at least one coefficient.
        (C2) coefficients have the type of the elements.

    Example
        poly.eval %X to %Y, [1.0 : f32, 0.5 : f32, 2.0 : f32] : memref<8xf32>
    """

    name = "poly.eval"

    T: ClassVar = VarConstraint("T", base(MemRefType))
    source = operand_def(T)
    target = operand_def(T)
    coefficients = prop_def(ArrayAttr[FloatAttr[AnyFloat]])

    assembly_format = "$source `to` $target `,` $coefficients attr-dict `:` type($source)"

    def __init__(self, source: SSAValue, target: SSAValue, coefficients: Iterable[float]):
        element = cast("AnyFloat", get_element_type_or_self(source.type))
        numbers = ArrayAttr(FloatAttr(number, element) for number in coefficients)
        super().__init__(operands=[source, target], properties={"coefficients": numbers})

    def verify_(self) -> None:
        if not self.coefficients.data:
            raise VerifyException("(C1) expected at least one coefficient")
        for coefficient in self.coefficients:
            if coefficient.type != (element := get_element_type_or_self(self.source.type)):
                raise VerifyException(f"(C2) expected coefficients of type {element}, got {coefficient}")


Poly = Dialect("poly", [EvalOp])
