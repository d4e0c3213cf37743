"""Blocks: iteration axes bound to loop values, regions read and written, the init of a reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryFreeEffect, NoTerminator, RecursiveMemoryEffect

from ...core.xdsl_compat import set_name_hint
from .base import (
    HasTirCanonicalizationPatterns,
    Mixed,
    TirOp,
    annotations_attr,
    join_mixed,
    known_values,
    parse_body,
    parse_discardable,
    parse_optional_dict,
    parse_range,
    print_body,
    print_discardable,
    print_optional_dict,
    print_quoted,
    print_range,
    print_typed,
    require,
    split_mixed,
    string_array,
    string_attr,
    verify_mixed,
)
from .buffers import mixed_region, verify_region
from .directives import Body, Box, Keyword

BLOCK_AXIS_KINDS = ("spatial", "reduce", "scan", "opaque")
"""The kinds of block axes: the dependences between their iterations."""


@dataclass(frozen=True)
class Axis:
    """An iteration axis of a block: its name, kind, domain `[low, low + extent)`, and binding value."""

    name: str
    kind: str
    low: Mixed
    extent: Mixed
    binding: SSAValue


@irdl_op_definition
class BlockOp(TirOp):
    """A named step of a computation, parametrised by its axes.

    The body refers to the axes (its block arguments) instead of loop variables: bindings, domains and the predicate are
    operands, computed before the block. The body starts with `tir.access` ops, followed by allocated and matched
    buffers, an optional `tir.init` and the statements.

    bindings: the value of each axis.  predicate: the block is skipped where it is false.  annotations: `T.block_attr`.

    Constraints
        (C1) one name, kind, domain and binding for each axis.
        (C2) an axis has the type of its binding, an integer; dynamic bounds of its domain have the same type.
        (C3) kinds are spatial, reduce, scan or opaque.
        (C4) at most one tir.init, directly in the body.

    Example
        tir.block "C" (spatial "vi" %vi : i32 in [0 +: 8] = %i, reduce "vk" %vk : i32 in [0 +: 4] = %k) where %p {
          tir.access reads %A[%vi, %vk] : memref<8x4xf32>
          tir.access writes %C[%vi] : memref<8xf32>
          tir.init {
            ...
          }
          ...
        }

    Source: `with T.block("C"):`, `T.sblock` (BlockRealize, Block)
    """

    name = "tir.block"

    block_name = prop_def(StringAttr)
    axis_names = prop_def(ArrayAttr[StringAttr])
    axis_kinds = prop_def(ArrayAttr[StringAttr])
    static_domains = prop_def(Attribute)  # min and extent of each axis in turn
    annotations = opt_prop_def(DictionaryAttr)
    bindings = var_operand_def(IntegerType)
    domains = var_operand_def(IntegerType)
    predicate = opt_operand_def(IntegerType(1))
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect(), HasTirCanonicalizationPatterns())

    def __init__(
        self,
        name: str,
        axes: Sequence[Axis] = (),
        *,
        predicate: SSAValue | None = None,
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
        body: Region | None = None,
    ):
        static, domains = split_mixed(n for a in axes for n in (a.low, a.extent))
        if body is None:
            body = Region(Block(arg_types=[a.binding.type for a in axes]))
        for axis, arg in zip(axes, body.block.args, strict=True):
            set_name_hint(arg, axis.name)
        super().__init__(
            operands=[[a.binding for a in axes], domains, predicate],
            properties={
                "block_name": StringAttr(name),
                "axis_names": string_array(a.name for a in axes),
                "axis_kinds": string_array(a.kind for a in axes),
                "static_domains": static,
                "annotations": annotations_attr(annotations),
            },
            regions=[body],
        )

    @property
    def axes(self) -> list[Axis]:
        bounds = self._bounds
        names, kinds = self.axis_names.data, self.axis_kinds.data
        return [
            Axis(name.data, kind.data, low, extent, binding)
            for name, kind, low, extent, binding in zip(
                names, kinds, bounds[::2], bounds[1::2], self.bindings, strict=True
            )
        ]

    def domain(self, index: int) -> tuple[Mixed, Mixed]:
        """The minimum and the extent of an axis."""
        bounds = self._bounds
        return bounds[2 * index], bounds[2 * index + 1]

    @property
    def _bounds(self) -> Sequence[Mixed]:
        return known_values(self.static_domains) or join_mixed(self.static_domains, self.domains)  # pyright: ignore[reportArgumentType]

    @property
    def variables(self) -> Sequence[BlockArgument]:
        """The block arguments of the body that denote the axes."""
        return self.body.block.args

    @property
    def accesses(self) -> list[AccessOp]:
        return [op for op in self.body.block.ops if isinstance(op, AccessOp)]

    @property
    def init(self) -> InitOp | None:
        return next((op for op in self.body.block.ops if isinstance(op, InitOp)), None)

    def verify_(self) -> None:
        rank = len(self.body.block.args)
        for what, count in (
            ("names", len(self.axis_names.data)),
            ("kinds", len(self.axis_kinds.data)),
            ("bindings", len(self.bindings)),
            ("domain bounds", len(self.static_domains) // 2),  # pyright: ignore[reportArgumentType]
        ):
            require(count == rank, lambda: f"(C1) {count} {what} for {rank} axes")
        verify_mixed("(C1) domains", self.static_domains, self.domains)  # pyright: ignore[reportArgumentType]
        for axis, variable in zip(self.axes, self.variables, strict=True):
            for value in (axis.binding, axis.low, axis.extent):
                require(
                    isinstance(value, int) or value.type == variable.type,
                    lambda: f"(C2) axis {axis.name} has type {variable.type}, expected that of its binding and domain",
                )
            require(axis.kind in BLOCK_AXIS_KINDS, lambda: f"(C3) kind {axis.kind!r} of axis {axis.name}")
        inits = sum(isinstance(op, InitOp) for op in self.body.block.ops)
        require(inits <= 1, lambda: f"(C4) {inits} tir.init ops")

    def print(self, printer: Printer) -> None:
        def print_axis(pair: tuple[Axis, BlockArgument]) -> None:
            axis, variable = pair
            printer.print_string(f"{axis.kind} ")
            printer.print_string_literal(axis.name)
            printer.print_string(" ")
            print_typed(printer, variable)
            printer.print_string(" in ")
            print_range(printer, axis.low, axis.extent)
            printer.print_string(" = ")
            printer.print_ssa_value(axis.binding)

        print_quoted(printer, self.block_name)
        printer.print_string(" (")
        printer.print_list(zip(self.axes, self.variables, strict=True), print_axis)
        printer.print_string(")")
        if self.predicate is not None:
            printer.print_string(" where ")
            printer.print_ssa_value(self.predicate)
        print_optional_dict(printer, "annotations", self.annotations)
        print_discardable(printer, self)
        print_body(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        variables: list[Parser.Argument] = []

        def parse_axis() -> Axis:
            kind, name = parser.parse_identifier(), parser.parse_str_literal()
            variable = parser.parse_argument()
            variables.append(variable)
            parser.parse_keyword("in")
            low, extent = parse_range(parser, variable.type)
            parser.parse_punctuation("=")
            binding = parser.resolve_operand(parser.parse_unresolved_operand(), variable.type)
            return Axis(name, kind, low, extent, binding)

        name = parser.parse_str_literal()
        axes = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_axis)
        predicate = None
        if parser.parse_optional_keyword("where"):
            predicate = parser.resolve_operand(parser.parse_unresolved_operand(), IntegerType(1))
        annotations = parse_optional_dict(parser, "annotations")
        attributes = parse_discardable(parser)
        body = parse_body(parser, variables)
        op = cls(name, axes, predicate=predicate, annotations=annotations, body=body)
        op.attributes = attributes
        return op


@irdl_op_definition
class InitOp(TirOp):
    """The initialization that a reduction block executes before the first reduction step.

    Constraints
        (C1) directly in the body of a tir.block.

    Example
        tir.init {
          tir.store %zero, %C[%vi] : memref<8xf32>
        }

    Source: `with T.init():` (Block.init)
    """

    name = "tir.init"

    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())
    custom_directives = (Body,)
    assembly_format = "attr-dict-with-keyword custom<Body>($body)"

    def __init__(self, body: Region | None = None):
        super().__init__(regions=[body or Region(Block())])

    def verify_(self) -> None:
        require(isinstance(self.parent_op(), BlockOp), "(C1) expected a tir.block around it")


@irdl_op_definition
class AccessOp(TirOp):
    """Declare that the enclosing block reads or writes a region (box) of a buffer.

    mins, static_extents: the minimum and the extent of the region per dimension (extent 1 if omitted in the text).

    Constraints
        (C1) one min and one extent for each dimension of the buffer.
        (C2) kind is reads or writes.

    Example
        tir.access reads %A[%vi, %vk +: 3] : memref<8x8xf32>

    Source: `T.reads`, `T.writes` (Block.reads, Block.writes)
    """

    name = "tir.access"

    kind = prop_def(StringAttr)
    static_mins = prop_def(Attribute)
    static_extents = prop_def(Attribute)
    buffer = operand_def(MemRefType)
    mins = var_operand_def(IntegerType)
    extents = var_operand_def(IntegerType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    # A free effect: dead-code elimination keeps the op (it deletes ops with read effects only), and CSE merges loads
    # across the op (it does not across a write effect).
    traits = traits_def(MemoryFreeEffect(), HasTirCanonicalizationPatterns())
    custom_directives = (Box, Keyword)
    assembly_format = (
        "custom<Keyword>($kind) $buffer `` "
        "custom<Box>($static_mins, $mins, type($mins), $static_extents, $extents, type($extents)) "
        "attr-dict-with-keyword `:` type($buffer)"
    )

    def __init__(self, kind: str, buffer: SSAValue, region: Sequence[tuple[Mixed, Mixed]]):
        static_mins, mins = split_mixed(m for m, _ in region)
        static_extents, extents = split_mixed(e for _, e in region)
        super().__init__(
            operands=[buffer, mins, extents],
            properties={"kind": string_attr(kind), "static_mins": static_mins, "static_extents": static_extents},
        )

    @property
    def is_write(self) -> bool:
        return self.kind.data == "writes"

    @property
    def region(self) -> list[tuple[Mixed, Mixed]]:
        """The (min, extent) per dimension."""
        return mixed_region(self)

    def verify_(self) -> None:
        verify_region(self, "(C1)")
        require(
            self.kind.data in ("reads", "writes"), lambda: f"(C2) kind {self.kind.data!r}, expected reads or writes"
        )
