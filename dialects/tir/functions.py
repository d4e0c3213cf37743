"""Functions, symbols for their dynamic sizes, and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, MemRefType, Signedness, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, MemoryAllocEffect, NoTerminator, SymbolOpInterface

from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from .base import (
    DYNAMIC,
    CallableByBody,
    TirOp,
    annotations_attr,
    parameters_in,
    parse_body,
    parse_discardable,
    parse_optional_dict,
    parse_params,
    print_body,
    print_discardable,
    print_optional_dict,
    print_params,
    print_quoted,
    require,
    string_array,
)


class TirFuncCallable(CallableByBody):
    """Callable interface of `tir.func`: the result of a call is the operand of `tir.return`."""

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FuncOp)
        return () if op.result_type is None else (op.result_type,)


@irdl_op_definition
class FuncOp(TirOp):
    """A function on buffers and scalars.

    A buffer parameter is a memref if its type describes the buffer completely, else a handle that a `tir.match_buffer`
    views as a buffer. param_names: the names in the source program.  func_attrs: `T.func_attr`, without the global
    symbol if it equals the name of the function.  private: present if the function has no global symbol.  result_type:
    the type of the operand of `tir.return`, if any.

    Constraints
        (C1) one name for each parameter.
        (C2) every tir.return in the body returns result_type.
        (C3) memref parameters have static shape and layout; a buffer of dynamic shape is a handle parameter.
        (C4) a #tir.parameter in func_attrs is a parameter of the function.

    Example
        tir.func @main("A" %A: memref<8xf32>, "n" %n: i32) attrs {tir.noalias = true} {
          ...
        }

    Source: `@T.prim_func` (PrimFunc)
    """

    name = "tir.func"

    sym_name = prop_def(StringAttr)
    param_names = prop_def(ArrayAttr[StringAttr])
    func_attrs = opt_prop_def(DictionaryAttr)
    private = opt_prop_def(UnitAttr)
    result_type = opt_prop_def(Attribute)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), TirFuncCallable(), NoTerminator())

    def __init__(
        self,
        name: str,
        params: Sequence[tuple[str, Attribute]],
        *,
        attrs: DictionaryAttr | Mapping[str, Attribute] | None = None,
        private: bool = False,
        result_type: Attribute | None = None,
        body: Region | None = None,
    ):
        if body is None:
            body = Region(Block(arg_types=[t for _, t in params]))
            for (param, _), arg in zip(params, body.block.args, strict=True):
                set_name_hint(arg, param)
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "param_names": string_array(n for n, _ in params),
                "func_attrs": annotations_attr(attrs if isinstance(attrs, DictionaryAttr) else dict(attrs or {})),
                "private": UnitAttr() if private else None,
                "result_type": result_type,
            },
            regions=[body],
        )

    @property
    def params(self) -> list[tuple[str, BlockArgument]]:
        """The (name, value) of each parameter."""
        return [(n.data, a) for n, a in zip(self.param_names.data, self.body.block.args, strict=True)]

    def attr(self, key: str) -> Attribute | None:
        """The function attribute with key `key`, or None."""
        return self.func_attrs.data.get(key) if self.func_attrs is not None else None

    def verify_(self) -> None:
        names, args = len(self.param_names.data), len(self.body.block.args)
        require(names == args, f"(C1) {names} names for {args} parameters")
        for name, argument in self.params:
            if isinstance(argument.type, MemRefType):
                strides = argument.type.get_strides()
                known = DYNAMIC not in argument.type.get_shape() and strides is not None and None not in strides
                known = known and len(strides or ()) == argument.type.get_num_dims()
                require(known, f"(C3) parameter {name} of type {argument.type}: use a handle and tir.match_buffer")
        for name in parameters_in(self.func_attrs):
            require(name in (known.data for known in self.param_names), f"(C4) the function has no parameter {name!r}")
        for op in self.body.walk():
            if isinstance(op, ReturnOp):
                got = None if op.value is None else op.value.type
                require(got == self.result_type, f"(C2) returns {got}, expected {self.result_type}")

    def print(self, printer: Printer) -> None:
        if self.private is not None:
            printer.print_string(" private")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_params(printer, self.params)
        if self.result_type is not None:
            printer.print_string(" -> ")
            printer.print_attribute(self.result_type)
        print_optional_dict(printer, "attrs", self.func_attrs)
        print_discardable(printer, self)
        print_body(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        private = parser.parse_optional_keyword("private") is not None
        name = parser.parse_symbol_name().data
        params = parse_params(parser)
        result_type = parser.parse_type() if parser.parse_optional_punctuation("->") else None
        attrs = parse_optional_dict(parser, "attrs")
        attributes = parse_discardable(parser)
        body = parse_body(parser, [a for _, a in params])
        op = cls(
            name, [(n, a.type) for n, a in params], attrs=attrs, private=private, result_type=result_type, body=body
        )
        op.attributes = attributes
        return op


@irdl_op_definition
class SymbolOp(TirOp):
    """A symbolic size, bound at the call of the function by the `tir.match_buffer` ops that have the symbol itself as
    an extent, stride or offset.

    Example
        %n = tir.symbol "n" : i32

    Source: `n = T.int32()`, `T.var("int32")` (v0.8-0.11), type parameters (v0.26)
    """

    name = "tir.symbol"

    var_name = prop_def(StringAttr)
    result = result_def(TypeAttribute)

    # An allocation and not Pure: CSE must not merge two symbols.
    traits = traits_def(MemoryAllocEffect())

    def __init__(self, name: str, type: Attribute):
        super().__init__(properties={"var_name": StringAttr(name)}, result_types=[type])
        set_name_hint(self.result, name)

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.var_name)
        print_discardable(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        attributes = parse_discardable(parser)
        parser.parse_punctuation(":")
        op = cls(name, parser.parse_type())
        op.attributes = attributes
        return op


@irdl_op_definition
class ReturnOp(TirOp):
    """Return from the function, with its result if any. Statements that follow are not executed.

    Example
        tir.return %x : i32

    Source: `return x`, `T.ret(x)`
    """

    name = "tir.return"

    value = opt_operand_def()

    assembly_format = "($value^ `:` type($value))? attr-dict"

    def __init__(self, value: SSAValue | None = None):
        super().__init__(operands=[value])


def integer_sizes(func: FuncOp) -> list[tuple[str, SSAValue]]:
    """The (name, value) of each symbolic size and each signed integer parameter of a function."""
    sizes: list[tuple[str, SSAValue]] = [(o.var_name.data, o.result) for o in find_ops(func, SymbolOp)]
    return [(name, value) for name, value in (*sizes, *func.params) if _is_signed_integer(value.type)]


def _is_signed_integer(type: Attribute) -> bool:
    return isinstance(type, IntegerType) and type.signedness.data is not Signedness.UNSIGNED and type.width.data > 1
