"""Graphs as functions: parameters, results, calls of other functions, branches and constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    ConstantLike,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ...core.dtypes import parse_dtype, wrap_int
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir.base import (
    CallableByBody,
    TirOp,
    annotations_attr,
    parse_body,
    parse_discardable,
    parse_optional_dict,
    parse_params,
    print_body,
    print_discardable,
    print_optional_dict,
    print_params,
    require,
    string_array,
)
from ...dialects.tir.directives import TypedValues, YieldingBody
from .attributes import as_python, parse_attribute_value, print_attribute_value
from .bounds import size_bounds, verify_bounds
from .effects import ComputesTensors
from .inference import free_sizes
from .types import dtype_of_tensor, names_of, normal_size, shape_of, verify_tensor

SIZE_LIMITS = "size_limits"
"""The name of the function attribute that lists lower and upper bounds of sizes as text: `n <= 64`, `n >= 1`."""

SIZE_PARAMETERS = "size_parameters"
"""The name of the function attribute that lists the sizes which the caller passes as numbers, after the tensors."""

RESULT_NAMES = "result_names"
"""The name of the function attribute that lists the names of the results."""


@dataclass(frozen=True)
class SizeLimit:
    """A lower or upper bound of a size. size: an expression of names.  sign: "<=" or ">="."""

    size: str
    sign: str
    number: int

    @staticmethod
    def of(text: str) -> SizeLimit:
        """The limit denoted by `text`. ValueError if the text denotes no limit."""
        match = re.fullmatch(r"(.+) (<=|>=) (-?\d+)", text)
        if match is None or not names_of(match[1]):
            raise ValueError(f"{text!r}, expected one such as 'n <= 64'")
        return SizeLimit(match[1], match[2], int(match[3]))

    def __str__(self) -> str:
        return f"{self.size} {self.sign} {self.number}"

    @property
    def requirement(self) -> str:
        """The condition on the size in words: `at most 64`, `at least 1`."""
        return f"at {'most' if self.sign == '<=' else 'least'} {self.number}"

    def admits(self, number: int) -> bool:
        """Whether `number` is within the limit."""
        return number <= self.number if self.sign == "<=" else number >= self.number


class RelayFuncCallable(CallableByBody):
    """Callable interface of `relay.func`: the results of a call are the returned tensors."""

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FuncOp)
        return tuple(op.result_types_)


@irdl_op_definition
class FuncOp(TirOp):
    """A function from tensors to tensors.

    param_names: the names in the source program.  primitive: present if the function is lowered to one kernel.
    compiler: the name of the library or code generator that compiles the function.  func_attrs: other attributes.

    Constraints
        (C1) one name for each parameter; a parameter is a tensor whose type names every dynamic size.
        (C2) the body ends in relay.return.
        (C3) size limits are strings such as "n <= 64" and "n >= 1", of sizes of the parameters.
        (C4) result names, if present, are distinct, one for each result.
        (C5) upper bounds of sizes, if present, are integers from 0 on, by name.

    Example
        relay.func @main("x" %x: tensor<8xf32>) {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.return %0 : tensor<8xf32>
        }

    Source: `relay.Function`
    """

    name = "relay.func"

    sym_name = prop_def(StringAttr)
    param_names = prop_def(ArrayAttr[StringAttr])
    primitive = opt_prop_def(UnitAttr)
    compiler = opt_prop_def(StringAttr)
    func_attrs = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), RelayFuncCallable())

    def __init__(
        self,
        name: str,
        params: Sequence[tuple[str, Attribute]],
        *,
        primitive: bool = False,
        compiler: str | None = None,
        attrs: DictionaryAttr | None = None,
        body: Region | None = None,
    ):
        if body is None:
            body = Region(Block(arg_types=[type for _, type in params]))
            for (param, _), argument in zip(params, body.block.args, strict=True):
                set_name_hint(argument, param)
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "param_names": string_array(param for param, _ in params),
                "primitive": UnitAttr() if primitive else None,
                "compiler": None if compiler is None else StringAttr(compiler),
                "func_attrs": annotations_attr(attrs),
            },
            regions=[body],
        )

    @property
    def params(self) -> list[tuple[str, BlockArgument]]:
        """The name and value of each parameter."""
        return [(name.data, value) for name, value in zip(self.param_names.data, self.body.block.args, strict=True)]

    @property
    def return_values(self) -> Sequence[SSAValue]:
        """The tensors that the function returns."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return last.values

    @property
    def result_types_(self) -> list[Attribute]:
        """The types of the returned tensors."""
        return [value.type for value in self.return_values]

    @property
    def results_(self) -> list[tuple[str, SSAValue]]:
        """The name and value of each returned tensor; the default names are `output0`, `output1`, ..."""
        names = self._texts(RESULT_NAMES) or [f"output{n}" for n in range(len(self.return_values))]
        return list(zip(names, self.return_values, strict=True))

    @property
    def size_limits(self) -> list[SizeLimit]:
        """The lower and upper bounds of sizes, those of `size_bounds` that the caller determines included."""
        known = {*self._names_of_parameters(), *self.size_parameters}
        declared = [SizeLimit(name, "<=", most) for name, most in self.size_bounds.items() if name in known]
        return [*(SizeLimit.of(text) for text in self._texts(SIZE_LIMITS)), *declared]

    @property
    def size_bounds(self) -> dict[str, int]:
        """The upper bounds of sizes by which memory is planned, by name."""
        return size_bounds(self.func_attrs)

    def _names_of_parameters(self) -> set[str]:
        sizes = [size for argument in self.body.block.args for size in shape_of(argument.type)]
        return {name for size in sizes if isinstance(size, str) for name in names_of(size)}

    @property
    def size_parameters(self) -> list[str]:
        """The names of the sizes that the caller passes as numbers."""
        return self._texts(SIZE_PARAMETERS)

    def _texts(self, name: str) -> list[str]:
        attribute = None if self.func_attrs is None else self.func_attrs.data.get(name)
        texts: Any = () if attribute is None else as_python(attribute)
        return [str(text) for text in (texts if isinstance(texts, tuple) else [texts])]

    def verify_(self) -> None:
        names, arguments = len(self.param_names.data), self.body.block.args
        require(names == len(arguments), f"(C1) {names} names for {len(arguments)} parameters")
        for name, argument in self.params:
            verify_tensor(argument.type, f"(C1) parameter {name}:")
        require(isinstance(self.body.block.last_op, ReturnOp), "(C2) the body does not end in relay.return")
        self._verify_limits()
        named = self._texts(RESULT_NAMES)
        count = len(self.return_values)
        require(len(named) in (0, count), f"(C4) {len(named)} result names for {count} results")
        require(len(set(named)) == len(named), f"(C4) results of one name: {', '.join(named)}")

    def _verify_limits(self) -> None:
        verify_bounds(self.func_attrs, "(C5)")
        try:
            limits = self.size_limits
        except ValueError as error:
            raise VerifyException(f"(C3) size limit {error}") from None
        known = {*self._names_of_parameters(), *self.size_parameters}
        for limit in limits:
            missing = [name for name in names_of(limit.size) if name not in known]
            require(not missing, f"(C3) size limit {limit}: no parameter has {', '.join(missing)}")

    def print(self, printer: Printer) -> None:
        if self.primitive is not None:
            printer.print_string(" primitive")
        if self.compiler is not None:
            printer.print_string(" compiler ")
            printer.print_string_literal(self.compiler.data)
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_params(printer, self.params)
        print_optional_dict(printer, "attrs", self.func_attrs)
        print_discardable(printer, self)
        print_body(printer, self.body, terminators=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        primitive = parser.parse_optional_keyword("primitive") is not None
        compiler = parser.parse_str_literal() if parser.parse_optional_keyword("compiler") else None
        name = parser.parse_symbol_name().data
        params = parse_params(parser)
        attrs = parse_optional_dict(parser, "attrs")
        attributes = parse_discardable(parser)
        body = parse_body(parser, [argument for _, argument in params])
        types = [(param, argument.type) for param, argument in params]
        op = cls(name, types, primitive=primitive, compiler=compiler, attrs=attrs, body=body)
        op.attributes = attributes
        return op


class _Values(TirOp):
    """Base class of the terminators of functions and branches, with the result values as operands."""

    values = var_operand_def(TensorType)

    traits = traits_def(IsTerminator(), Pure())
    custom_directives = (TypedValues,)
    assembly_format = "custom<TypedValues>($values, type($values)) attr-dict-with-keyword"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


@irdl_op_definition
class ReturnOp(_Values):
    """Returns tensors from a function. A tuple is returned as several tensors.

    Example
        relay.return %0 : tensor<8xf32>, %1 : tensor<8xi32>

    Source: the body of `relay.Function`
    """

    name = "relay.return"


@irdl_op_definition
class YieldOp(_Values):
    """Yields the tensors of a branch.

    Example
        relay.yield %0 : tensor<8xf32>

    Source: the branches of `relay.If`
    """

    name = "relay.yield"


class _CalleeFits(SymbolUserOpInterface):
    def verify(self, op: object) -> None:
        assert isinstance(op, CallOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        require(callee is not None, f"(C1) no function {op.callee.string_value()!r} in the module")
        if isinstance(callee, FuncOp):
            expected = [*callee.body.block.arg_types], callee.result_types_
            got = [arg.type for arg in op.args], [output.type for output in op.outputs]
            require(
                got == expected, f"(C2) @{callee.sym_name.data} called with {_text(got)}, expected {_text(expected)}"
            )
            require(op.sizes is None, f"(C3) sizes of @{callee.sym_name.data}, expected the default ones")


def _text(signature: tuple[Sequence[Attribute], Sequence[Attribute]]) -> str:
    return " -> ".join(f"({', '.join(map(str, types))})" for types in signature)


@irdl_op_definition
class CallOp(TirOp):
    """Calls a function of the module: a `relay.func`, or a function in destination-passing style.

    The latter receives the arguments, the results, and numbers: `sizes` if present, by default the sizes in the types
    of the call that no argument determines by itself.

    Constraints
        (C1) the module has a function of this name.
        (C2) a relay.func has parameters and results of these types.
        (C3) sizes are expressions of names in normal form, or numbers; a relay.func takes the default ones.

    Example
        %1 = relay.call @dense_relu(%x, %w) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
        %2 = relay.call @fill(%x) sizes ["n"] : (tensor<?xf32, #relay.sizes<"n">>) -> tensor<?xf32, #relay.sizes<"n">>

    Source: `f(x, w)` (Call of a GlobalVar or of a Function)
    """

    name = "relay.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    args = var_operand_def(TensorType)
    sizes = opt_prop_def(ArrayAttr[StringAttr])
    outputs = var_result_def(TensorType)

    traits = traits_def(_CalleeFits(), ComputesTensors())
    assembly_format = (
        "$callee `(` $args `)` (`sizes` $sizes^)? attr-dict-with-keyword `:` functional-type($args, $outputs)"
    )

    def __init__(
        self, callee: str, args: Sequence[SSAValue], types: Sequence[Attribute], sizes: Sequence[str] | None = None
    ):
        super().__init__(
            operands=[args],
            properties={"callee": SymbolRefAttr(callee), "sizes": None if sizes is None else string_array(sizes)},
            result_types=[types],
        )

    @property
    def size_texts(self) -> list[str]:
        """The numbers that follow the tensors, as sizes."""
        if self.sizes is not None:
            return [size.data for size in self.sizes.data]
        return free_sizes([arg.type for arg in self.args], [output.type for output in self.outputs])

    def verify_(self) -> None:
        for size in () if self.sizes is None else self.sizes.data:
            try:
                normal = str(normal_size(size.data))
            except ValueError as error:
                raise VerifyException(f"(C3) {error}") from None
            require(normal == size.data, f"(C3) size {size.data!r}, expected {normal!r}")


@irdl_op_definition
class IfOp(TirOp):
    """Computes the first graph if the condition holds, else the second graph.

    Constraints
        (C1) the condition is a bool without dimensions.
        (C2) each branch ends in a relay.yield of tensors of the types of the results.

    Example
        %1 = relay.if %c : tensor<i1> -> tensor<8xf32> {
          relay.yield %x : tensor<8xf32>
        } else {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relay.yield %0 : tensor<8xf32>
        }

    Source: `relay.If`
    """

    name = "relay.if"

    condition = operand_def(TensorType)
    then = region_def("single_block")
    orelse = region_def("single_block")
    outputs = var_result_def(TensorType)

    traits = traits_def(RecursiveMemoryEffect())
    custom_directives = (YieldingBody,)
    assembly_format = (
        "$condition `:` type($condition) `->` (type($outputs)^):(` `)? attr-dict-with-keyword "
        "custom<YieldingBody>($then) `else` custom<YieldingBody>($orelse)"
    )

    def __init__(self, condition: SSAValue, types: Sequence[Attribute], then: Region, orelse: Region):
        super().__init__(operands=[condition], regions=[then, orelse], result_types=[types])

    def verify_(self) -> None:
        type = self.condition.type
        require(type == TensorType(i1, []), f"(C1) condition of type {type}, expected tensor<i1>")
        types = [output.type for output in self.outputs]
        for branch in (self.then, self.orelse):
            last = branch.block.last_op
            got = [value.type for value in last.values] if isinstance(last, YieldOp) else None
            require(got == types, f"(C2) a branch yields {got}, expected {types}")


@irdl_op_definition
class ConstantOp(TirOp):
    """A constant: a tensor filled with a number, or an array, referred to by name, that belongs to the module.

    value: the number; an integer, or a float representable in the data type.  array_name: the name of the array.

    Constraints
        (C1) a value or a name, not both.
        (C2) the type is a tensor type of static sizes.

    Example
        %0 = relay.constant 1.0 : tensor<f32>
        %1 = relay.constant "conv1.weight" : tensor<64x3x7x7xf32>

    Source: `relay.const`
    """

    name = "relay.constant"

    value = opt_prop_def(IntegerAttr | FloatAttr)
    array_name = opt_prop_def(StringAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: bool | int | float | str, type: Attribute):
        """value: a number, or the name of an array."""
        named = isinstance(value, str)
        scalar = None if named else _number(value, type)
        super().__init__(
            properties={"value": scalar, "array_name": StringAttr(value) if named else None}, result_types=[type]
        )

    @property
    def number(self) -> bool | int | float | None:
        """The value of every element, or None for an array."""
        if self.value is None:
            return None
        number, dtype = self.value.value.data, parse_dtype(dtype_of_tensor(self.result))
        if isinstance(number, float):
            return number
        return bool(number) if dtype.is_bool else wrap_int(number, dtype)  # the attribute is a signed 64-bit integer

    def verify_(self) -> None:
        require((self.value is None) != (self.array_name is None), "(C1) expected a number or the name of an array")
        verify_tensor(self.result.type, "(C2)")
        sizes = shape_of(self.result)
        require(all(isinstance(size, int) for size in sizes), f"(C2) sizes {sizes}, expected known ones")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.array_name is not None:
            printer.print_string_literal(self.array_name.data)
        else:
            print_attribute_value(printer, self.number)
        print_discardable(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parse_attribute_value(parser)
        if not isinstance(value, int | float | str):
            parser.raise_error("expected a number or the name of an array")
        attributes = parse_discardable(parser)
        parser.parse_punctuation(":")
        op = cls(value, parser.parse_type())
        op.attributes = attributes
        return op


def _number(value: float, type: Attribute) -> Attribute:
    """The attribute of a number that is an element of a tensor of type `type`."""
    is_float = isinstance(type, TensorType) and parse_dtype(dtype_of_tensor(type)).is_float
    return FloatAttr(float(value), f64) if is_float else IntegerAttr(int(value), i64)
