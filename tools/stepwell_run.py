"""`stepwell-run`: the runner of xDSL, which interprets a program op by op, with the front ends and dialects of
Stepwell.

    stepwell-run program.py --args "dense<[1.0, 2.0]> : tensor<2xf32>, dense<0.0> : tensor<2xf32>" --verbose

The program may be at any landing: tensors, loops, and the plain MLIR that the upstream interpreter supports.
`--verbose` shows the results of the function and the final contents of its buffers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.tools.xdsl_run import xDSLRunMain
from xdsl.traits import CallableOpInterface

from ..backends.interpreter import array_of, register_implementations
from ..core import xdsl_compat as xdsl_compat  # arith on vectors, for upstream modules too
from ..core.errors import ArgumentError, OptionError
from .frontends import ReadsTvmscript
from .user_errors import report_user_errors


class StepwellRunMain(ReadsTvmscript, xDSLRunMain):
    """The runner of xDSL with the extensions of this module."""

    def register_implementations(self, interpreter: Interpreter) -> None:
        super().register_implementations(interpreter)
        register_implementations(interpreter)

    def run(self) -> None:
        """Calls the function. Raises the errors of the parser and of the interpreter."""
        stream, extension = self.get_input_stream()
        with stream:
            module = self.parse_chunk(stream, extension)
        assert isinstance(module, ModuleOp)
        module.verify()
        interpreter = Interpreter(module, index_bitwidth=self.args.index_bitwidth)
        self.register_implementations(interpreter)
        function = interpreter.get_op_for_symbol(self.args.symbol)
        arguments = self._arguments(interpreter, function)
        results = interpreter.call_op(function, arguments)
        if self.args.verbose:
            for n, argument in enumerate(map(array_of, arguments)):
                print(f"argument {n}: {argument.tolist() if hasattr(argument, 'tolist') else argument}")
            for result in results:
                print(f"result: {result}")

    def _arguments(self, interpreter: Interpreter, function: Operation) -> tuple[Any, ...]:
        trait = function.get_trait(CallableOpInterface)
        if trait is None:
            raise OptionError(f"@{self.args.symbol} is a {function.name}, which cannot be called")
        types = trait.get_argument_types(function)
        parser = Parser(self.ctx, self.args.args, "--args")
        attributes: Sequence[Attribute] | None = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_attribute, parser.parse_attribute
        )
        attributes = attributes or ()
        if len(attributes) != len(types):
            expected = ", ".join(map(str, types)) or "none"
            raise ArgumentError(
                f"@{self.args.symbol}: expected {len(types)} arguments ({expected}), got {len(attributes)}"
            )
        return tuple(_value(interpreter, *each) for each in zip(attributes, types, strict=True))


def _value(interpreter: Interpreter, attribute: Attribute, expected_type: Attribute) -> Any:
    """An argument in the representation of the interpreter. ArgumentError for an attribute of another kind than the
    type."""
    expected: tuple[type[Attribute], str] = (DenseIntOrFPElementsAttr, "dense<...> : tensor<...>")
    if isinstance(expected_type, IntegerType | IndexType):
        expected = IntegerAttr, f"an integer : {expected_type}"
    elif isinstance(expected_type, AnyFloat):
        expected = FloatAttr, f"a float : {expected_type}"
    if not isinstance(attribute, expected[0]):
        raise ArgumentError(f"--args: expected {expected[1]}, got {attribute}")
    return interpreter.value_for_attribute(attribute, expected_type)


def main(args: Sequence[str] | None = None) -> None:
    """Runs `stepwell-run` with `args`, by default the command line; exits with 1 on a user error."""
    sys.setrecursionlimit(20_000)  # xDSL parses nested regions by recursion
    with report_user_errors():
        tool = StepwellRunMain("Stepwell's runner: interprets a program op by op", args)
        tool.check_frontend()
        tool.run()
