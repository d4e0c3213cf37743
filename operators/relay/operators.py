"""The operations of the tensor operators, generated from the definitions of the operators."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from inspect import getdoc
from typing import Any, Self

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...dialects.extensions import load_registrations
from ...dialects.tir.base import TirOp, parse_discardable, print_discardable, require
from ...expressions.errors import TeError
from .. import OPERATORS, Operator, operator_of
from ..attributes import normalize_attributes
from .attributes import as_attribute, as_python, parse_attribute_value, print_attribute_value
from .effects import ComputesTensors
from .inference import result_types
from .types import verify_tensor


class OperatorOp(TirOp, ABC):
    """An operator on tensors, as defined in `operators/`.

    args: the operands.  The properties are the attributes with non-default values.

    Constraints
        (C1) operands and results are tensors whose types name every dynamic size.
        (C2) the number of operands and the attributes conform to the definition of the operator.
        (C3) the result types are the types inferred from operands and attributes.

    Example
        %1 = relay.nn.leaky_relu(%0) {alpha = 0.2} : (tensor<8xf32>) -> tensor<8xf32>

    Source: `relay.nn.leaky_relu(x, alpha=0.2)` (Call of an Op)
    """

    args = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)

    traits = traits_def(ComputesTensors())

    def __init__(
        self,
        args: Sequence[SSAValue],
        attributes: Mapping[str, object] | None = None,
        types: Sequence[Attribute] | None = None,
    ):
        """types: of the results; inferred if missing. TeError for operands and attributes that do not match."""
        checked = normalize_attributes(self.operator, attributes or {})
        super().__init__(
            operands=[args],
            properties={name: as_attribute(value) for name, value in checked.items()},
            result_types=[self._infer([arg.type for arg in args], checked) if types is None else types],
        )

    @property
    def operator(self) -> Operator:
        """The definition of the operator."""
        return operator_of(self.name.removeprefix("relay."))

    @property
    def explicit_attributes(self) -> dict[str, Any]:
        """The values of the attributes that differ from their defaults, by name."""
        return {
            each.name: as_python(self.properties[each.name])
            for each in self.operator.attributes
            if each.name in self.properties
        }

    def attribute_value(self, name: str) -> Any:
        """The value of an attribute, explicit or default."""
        default = next(attribute.default for attribute in self.operator.attributes if attribute.name == name)
        return as_python(self.properties[name]) if name in self.properties else default

    @property
    def attribute_values(self) -> dict[str, Any]:
        """The values of all attributes, explicit or default, by name."""
        return {each.name: self.attribute_value(each.name) for each in self.operator.attributes}

    def _infer(self, types: Sequence[Attribute], attributes: Mapping[str, Any]) -> Sequence[Attribute]:
        operator = self.operator
        count = len(operator.operands)
        if len(types) < count if operator.variadic else len(types) != count:
            least = "at least " if operator.variadic else ""
            raise TeError(f"{operator.name}: {len(types)} operands, expected {least}{count}")
        for type in types:
            if not isinstance(type, TensorType):
                raise TeError(f"{operator.name}: an operand of type {type}, expected a tensor of known shape")
        return result_types(operator.name, tuple(types), tuple(attributes.items()))

    def infer(self) -> Sequence[Attribute]:
        """The result types inferred from the operand types. TeError if the operand types do not match."""
        return self._infer([arg.type for arg in self.args], self.explicit_attributes)

    def verify_(self) -> None:
        for value in (*self.args, *self.outputs):
            verify_tensor(value.type, "(C1)")
        try:
            if (checked := normalize_attributes(self.operator, self.explicit_attributes)) != self.explicit_attributes:
                raise VerifyException(f"(C2) attributes {self.explicit_attributes}, expected {checked}")
            inferred = self.infer()
        except TeError as error:
            raise VerifyException(f"(C2) {error.what}") from error
        got = [output.type for output in self.outputs]
        expected = ", ".join(map(str, inferred))
        require(got == list(inferred), f"(C3) results {', '.join(map(str, got))}, expected {expected}")

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.args, printer.print_ssa_value)
        if self.explicit_attributes:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(self.explicit_attributes.items(), lambda item: _print_item(printer, *item))
        print_discardable(printer, self)
        print_signature(printer, self.args, self.outputs)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        args = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        items = parser.parse_optional_comma_separated_list(Parser.Delimiter.BRACES, lambda: _parse_item(parser))
        attributes, position = parse_discardable(parser), parser.pos
        operand_types, types = parse_signature(parser)
        op = cls.create(
            operands=parser.resolve_operands(args, operand_types, position),
            properties={name: as_attribute(value) for name, value in items or ()},
            result_types=types,
        )
        op.attributes = attributes
        return op


def _print_item(printer: Printer, name: str, value: Any) -> None:
    printer.print_string(f"{name} = ")
    print_attribute_value(printer, value)


def _parse_item(parser: Parser) -> tuple[str, Any]:
    name = parser.parse_identifier()
    parser.parse_punctuation("=")
    return name, parse_attribute_value(parser)


def print_signature(printer: Printer, operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    """Prints ` : (tensor<8xf32>) -> tensor<8xf32>`."""
    printer.print_string(" : ")
    printer.print_function_type([value.type for value in operands], [value.type for value in results])


def parse_signature(parser: Parser) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    """The types of operands and of results."""
    parser.parse_punctuation(":")
    type = parser.parse_function_type()
    return type.inputs.data, type.outputs.data


def _operation(operator: Operator) -> type[OperatorOp]:
    name = "".join(word[:1].upper() + word[1:] for word in operator.name.replace(".", "_").split("_"))
    fields = {attribute.name: opt_prop_def(Attribute) for attribute in operator.attributes}
    doc = getdoc(operator.formula)
    cls = type(
        f"{name}Op", (OperatorOp,), {"name": f"relay.{operator.name}", "__doc__": doc, "__module__": __name__, **fields}
    )
    return irdl_op_definition(cls)


load_registrations("operators")

OPERATIONS: dict[str, type[OperatorOp]] = {name: _operation(operator) for name, operator in OPERATORS.items()}
"""The operation of each operator, ours and those of other packages, by the name of the operator."""
