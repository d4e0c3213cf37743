"""Functions of `relax` programs, calls of them, and terminators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
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
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    Pure,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

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
from ..relay import SIZE_LIMITS, Size, SizeLimit
from ..relay.attributes import as_python
from ..relay.bounds import size_bounds, verify_bounds
from .types import CallableType, accepts, names_bound_by, names_in, sizes_in, substitute, verify_type


class RelaxFuncCallable(CallableByBody):
    """Callable interface of `relax.func`: a call has one result, a tuple if the function returns several values."""

    @classmethod
    def get_result_types(cls, op: Operation) -> tuple[Attribute, ...]:
        assert isinstance(op, FuncOp)
        return (op.result_type,)


@irdl_op_definition
class FuncOp(TirOp):
    """A function of a program: operators, calls of kernels, of other functions and of packed functions.

    param_names: the names in the source program.  private: present if the function has no global symbol.  impure:
    present if a call may have side effects.  result_type: the type of the returned value.  func_attrs: other
    attributes.

    Constraints
        (C1) one name for each parameter; parameters and result have types of values.
        (C2) the body ends in relax.return of a value of the result type.
        (C3) each name of a size is determined by a parameter or a preceding relax.match_cast, which have it as a size.
        (C4) only an impure function contains operations with side effects, and one with the attribute
        `relax.force_pure`.
        (C5) upper bounds of sizes, if present, are integers from 0 on, by name.
        (C6) the tensors of an operation are on one device: that of a parameter, of relax.to_vdevice or of a hint.

    Example
        relax.func @main("x" %x: tensor<8xf32>) -> tensor<8xf32> {
          %0 = relay.exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
          relax.return %0 : tensor<8xf32>
        }

    Source: `@R.function` (relax.Function)
    """

    name = "relax.func"

    sym_name = prop_def(StringAttr)
    param_names = prop_def(ArrayAttr[StringAttr])
    result_type = prop_def(Attribute)
    private = opt_prop_def(UnitAttr)
    impure = opt_prop_def(UnitAttr)
    func_attrs = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), RelaxFuncCallable())

    def __init__(
        self,
        name: str,
        params: Sequence[tuple[str, Attribute]],
        result_type: Attribute,
        *,
        private: bool = False,
        impure: bool = False,
        attrs: DictionaryAttr | dict[str, Attribute] | None = None,
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
                "result_type": result_type,
                "private": UnitAttr() if private else None,
                "impure": UnitAttr() if impure else None,
                "func_attrs": annotations_attr(attrs),
            },
            regions=[body],
        )

    @property
    def params(self) -> list[tuple[str, BlockArgument]]:
        """The name and value of each parameter."""
        return [(name.data, value) for name, value in zip(self.param_names.data, self.body.block.args, strict=True)]

    @property
    def size_limits(self) -> list[SizeLimit]:
        """The lower and upper bounds of sizes, as of `relay.func`, those of `size_bounds` included."""
        attribute = None if self.func_attrs is None else self.func_attrs.data.get(SIZE_LIMITS)
        stated = [] if attribute is None else [SizeLimit.of(str(text)) for text in as_python(attribute)]
        return [*stated, *(SizeLimit(name, "<=", most) for name, most in self.size_bounds.items())]

    @property
    def size_bounds(self) -> dict[str, int]:
        """The upper bounds of sizes by which memory is planned, by name."""
        return size_bounds(self.func_attrs)

    @property
    def return_value(self) -> SSAValue:
        """The value that the function returns."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return last.value

    def verify_(self) -> None:
        names, arguments = len(self.param_names.data), len(self.body.block.args)
        require(names == arguments, f"(C1) {names} names for {arguments} parameters")
        for name, argument in self.params:
            verify_type(argument.type, f"(C1) parameter {name}:")
        verify_type(self.result_type, "(C1) result:")
        last = self.body.block.last_op
        require(isinstance(last, ReturnOp), "(C2) the body does not end in relax.return")
        assert isinstance(last, ReturnOp)
        require(
            accepts(self.result_type, last.value.type),
            f"(C2) returns {last.value.type}, expected {self.result_type}",
        )
        self._verify_sizes()
        verify_bounds(self.func_attrs, "(C5)")
        self._verify_devices()
        if self.impure is None and not self._is_forced_pure:
            effect = next(impure_ops(self.body), None)
            require(effect is None, f"(C4) {effect and describe(effect)} in a pure function")

    @property
    def _is_forced_pure(self) -> bool:
        """Whether the attributes state that no effect of the function is visible to its callers."""
        flag = None if self.func_attrs is None else self.func_attrs.data.get("relax.force_pure")
        return flag is not None and not (isinstance(flag, IntegerAttr) and flag.value.data == 0)

    def _verify_devices(self) -> None:
        # lazy: moves between devices are operations in functions
        from .devices import Devices

        try:
            Devices.of_function(self)
        except VerifyException as error:
            raise VerifyException(f"(C6) {error}") from None

    def _verify_sizes(self) -> None:
        known = {name for argument in self.body.block.args for name in names_bound_by(argument.type)}
        for name, argument in self.params:
            _require_sizes(argument.type, known, f"parameter {name}")
        _require_sizes_of_block(self.body.block, known)
        _require_sizes(self.result_type, known, "the result", exact=False)

    def print(self, printer: Printer) -> None:
        for word in ("private", "impure"):
            if word in self.properties:
                printer.print_string(f" {word}")
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_params(printer, self.params)
        printer.print_string(" -> ")
        printer.print_attribute(self.result_type)
        print_optional_dict(printer, "attrs", self.func_attrs)
        print_discardable(printer, self)
        print_body(printer, self.body, terminators=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        private = parser.parse_optional_keyword("private") is not None
        impure = parser.parse_optional_keyword("impure") is not None
        name = parser.parse_symbol_name().data
        params = parse_params(parser)
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        attrs = parse_optional_dict(parser, "attrs")
        attributes = parse_discardable(parser)
        body = parse_body(parser, [argument for _, argument in params])
        types = [(param, argument.type) for param, argument in params]
        op = cls(name, types, result_type, private=private, impure=impure, attrs=attrs, body=body)
        op.attributes = attributes
        return op


def _require_sizes_of_block(block: Block, known: set[str]) -> None:
    # lazy: casts are operations in functions, and functions contain casts
    from .values import MatchCastOp

    for op in block.ops:
        if isinstance(op, MatchCastOp):
            known.update(names_bound_by(op.output.type))
        for region in op.regions:
            is_branch = len(op.regions) > 1
            _require_sizes_of_block(region.block, set(known) if is_branch else known)
        for result in op.results:
            _require_sizes(result.type, known, op.name)


def _require_sizes(type: Attribute, known: set[str], what: str, exact: bool = True) -> None:
    missing = [name for name in names_in(type) if name not in known]
    hint = ", expected a parameter or a relax.match_cast with this size" if exact else ", which nothing determines"
    require(not missing, f"(C3) {what}: unknown size {', '.join(missing)}{hint}")


class _Terminator(TirOp):
    """Base class of the terminators of functions and branches, with one value as operand."""

    value = operand_def(Attribute)

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$value attr-dict-with-keyword `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class ReturnOp(_Terminator):
    """Returns a value from a function.

    Example
        relax.return %0 : tensor<8xf32>

    Source: `return x`
    """

    name = "relax.return"


@irdl_op_definition
class YieldOp(_Terminator):
    """Yields the value of a branch.

    Example
        relax.yield %0 : tensor<8xf32>

    Source: the last binding of a branch
    """

    name = "relax.yield"


class _CalleeFits(SymbolUserOpInterface):
    def verify(self, op: object) -> None:
        assert isinstance(op, CallOp)
        callee = op.function
        require(callee is not None, f"(C1) no function {op.callee.string_value()!r} of relax in the module")
        assert callee is not None
        expected = [*callee.body.block.arg_types]
        require(
            len(op.args) == len(expected),
            f"(C2) @{callee.sym_name.data} called with {len(op.args)} arguments, expected {len(expected)}",
        )
        sizes = sizes_of_call([arg.type for arg in op.args], expected)
        for (name, parameter), arg in zip(callee.params, op.args, strict=True):
            type = substitute(parameter.type, sizes)
            require(accepts(type, arg.type), f"(C2) argument {name} of type {arg.type}, expected {type}")
        result = substitute(callee.result_type, sizes)
        require(op.output.type == result, f"(C2) result of type {op.output.type}, expected {result}")


def sizes_of_call(arguments: Sequence[Attribute], parameters: Sequence[Attribute]) -> dict[str, Size]:
    """The sizes of the caller that the size names of a function stand for in a call, by name."""
    sizes: dict[str, Size] = {}
    for argument, parameter in zip(arguments, parameters, strict=True):
        for size, expected in zip(sizes_in(argument), sizes_in(parameter), strict=False):
            if isinstance(expected, str) and expected.isidentifier():
                sizes.setdefault(expected, size)
    return sizes


class _EffectsOfCallee(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        assert isinstance(op, CallOp)
        callee = op.function
        return set() if callee is not None and callee.impure is None else None


@irdl_op_definition
class CallOp(TirOp):
    """Calls a function of the module.

    Constraints
        (C1) the module has a relax.func of this name.
        (C2) the arguments have the types of its parameters, and the result its result type, for the sizes that the
        arguments determine.

    Example
        %1 = relax.call @block(%x, %w) : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>

    Source: `cls.block(x, w)` (Call of a GlobalVar)
    """

    name = "relax.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    args = var_operand_def(Attribute)
    output = result_def(Attribute)

    traits = traits_def(_CalleeFits(), _EffectsOfCallee())
    assembly_format = "$callee `(` $args `)` attr-dict-with-keyword `:` functional-type($args, $output)"

    def __init__(self, callee: str, args: Sequence[SSAValue], type: Attribute):
        super().__init__(operands=[args], properties={"callee": SymbolRefAttr(callee)}, result_types=[type])

    @property
    def function(self) -> FuncOp | None:
        """The function that is called, None if the module has no such function of `relax`."""
        callee = SymbolTable.lookup_symbol(self, self.callee)
        return callee if isinstance(callee, FuncOp) else None


class _RefersToFunction(SymbolUserOpInterface):
    def verify(self, op: object) -> None:
        assert isinstance(op, FuncRefOp)
        callee = op.function
        require(callee is not None, f"(C1) no function {op.callee.string_value()!r} of relax in the module")
        assert callee is not None
        expected = reference_type(callee)
        require(op.output.type == expected, f"(C2) result of type {op.output.type}, expected {expected}")


def reference_type(func: FuncOp) -> CallableType:
    """The type of a function as a value."""
    return CallableType(NoneAttr(), NoneAttr(), NoneAttr() if func.impure is None else UnitAttr())


@irdl_op_definition
class FuncRefOp(TirOp):
    """A function of the module as a value, an argument of packed functions.

    Constraints
        (C1) the module has a relax.func of this name.
        (C2) the type states whether a call of the function may have side effects.

    Example
        %0 = relax.func_ref @body : !relax.callable<>

    Source: `cls.body` (GlobalVar)
    """

    name = "relax.func_ref"

    callee = prop_def(FlatSymbolRefAttrConstr)
    output = result_def(CallableType)

    traits = traits_def(_RefersToFunction(), Pure())
    assembly_format = "$callee attr-dict-with-keyword `:` type($output)"

    def __init__(self, callee: str, type: CallableType | None = None):
        """type: by default that of a function without side effects."""
        type = type or CallableType(NoneAttr(), NoneAttr(), NoneAttr())
        super().__init__(properties={"callee": SymbolRefAttr(callee)}, result_types=[type])

    @property
    def function(self) -> FuncOp | None:
        """The function, None if the module has no such function of `relax`."""
        callee = SymbolTable.lookup_symbol(self, self.callee)
        return callee if isinstance(callee, FuncOp) else None


# Effects


def impure_ops(region: Region) -> Iterator[Operation]:
    """The operations in a region whose execution may have side effects."""
    # lazy: calls are operations in functions, and functions contain calls
    from .calls import CallPackedOp

    for op in region.walk():
        if isinstance(op, CallPackedOp):
            yield op
        elif isinstance(op, CallOp) and (callee := op.function) is not None and callee.impure is not None:
            yield op


def describe(op: Operation) -> str:
    """A call as text for errors: `relax.call_packed "vm.f"`."""
    name = op.properties.get("func_name") or op.properties.get("callee")
    return f"{op.name} {name}"
