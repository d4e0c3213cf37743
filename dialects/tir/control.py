"""Statements with nested statements: loops, branches, attributes, thread launches; and assert, evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import AnyFloat, DictionaryAttr, IntegerType, StringAttr
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
from xdsl.traits import IsTerminator, NoTerminator, Pure, RecursiveMemoryEffect

from ...core.assertions import DEFAULT_KIND, PLACEHOLDER, message_parts
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
    parse_index,
    parse_optional_dict,
    parse_range,
    print_body,
    print_bound,
    print_discardable,
    print_index,
    print_optional_dict,
    print_quoted,
    print_range,
    print_typed,
    require,
    split_mixed,
    string_attr,
    verify_mixed,
)
from .directives import Body, YieldingBody

FOR_KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")
"""The kinds of loops: how the iterations are executed."""
CONCURRENT_KINDS = ("parallel", "vectorized", "thread_binding")
"""The kinds of loops whose iterations run in any order and overlap in time."""


@irdl_op_definition
class YieldOp(TirOp):
    """Yield the value of a region to the enclosing op.

    Example
        tir.yield %x : f32
    """

    name = "tir.yield"

    value = operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class ForOp(TirOp):
    """Run the body for the loop variable `min, min + step, ...` below `min + extent`.

    kind: `serial`, in order; `parallel`, in any order and concurrently; `vectorized`, as lanes of one vector;
    `unrolled`, as one copy of the body per iteration; `thread_binding`, as one thread of a GPU grid per iteration,
    along the grid axis `thread`.

    Constraints
        (C1) min, extent and step have the loop variable's type, an integer.
        (C2) kind is one of the five loop kinds.
        (C3) thread is present exactly if kind is thread_binding.
        (C4) a constant step is positive.
        (C5) one operand for each dynamic bound.

    Example
        tir.for serial "i" %i : i32 in [0 +: 8] {
          ...
        }

    Source: `for i in T.serial(8)`, `range`, `T.grid`, `T.thread_binding`, ... (For)
    """

    name = "tir.for"

    loop_var = prop_def(StringAttr)
    kind = prop_def(StringAttr)
    static_bounds = prop_def(Attribute)  # min, extent, step
    thread = opt_prop_def(StringAttr)
    annotations = opt_prop_def(DictionaryAttr)
    bounds = var_operand_def(IntegerType)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect(), HasTirCanonicalizationPatterns())

    def __init__(
        self,
        name: str,
        low: Mixed,
        extent: Mixed,
        type: Attribute,
        *,
        kind: str = "serial",
        step: Mixed = 1,
        thread: str | None = None,
        annotations: DictionaryAttr | dict[str, Attribute] | None = None,
        body: Region | None = None,
    ):
        static, operands = split_mixed([low, extent, step])
        if body is None:
            body = Region(Block(arg_types=[type]))
        set_name_hint(body.block.args[0], name)
        super().__init__(
            operands=[operands],
            properties={
                "loop_var": string_attr(name),
                "kind": string_attr(kind),
                "static_bounds": static,
                "thread": None if thread is None else string_attr(thread),
                "annotations": annotations_attr(annotations),
            },
            regions=[body],
        )

    @property
    def mixed_bounds(self) -> tuple[Mixed, Mixed, Mixed]:
        """The (min, extent, step) of the loop."""
        low, extent, step = known_values(self.static_bounds) or join_mixed(self.static_bounds, self.bounds)  # pyright: ignore[reportArgumentType]
        return low, extent, step

    @property
    def variable(self) -> BlockArgument:
        return self.body.block.args[0]

    def without_statements(self, low: Mixed, extent: Mixed, step: Mixed = 1, *, kind: str | None = None) -> ForOp:
        """A loop over other iterations, without statements, that binds no thread. kind: that of the loop by
        default."""
        name, type = self.loop_var.data, self.variable.type
        kind = self.kind.data if kind is None else kind
        copy = ForOp(name, low, extent, type, kind=kind, step=step, annotations=self.annotations)
        copy.attributes = dict(self.attributes)
        return copy

    def verify_(self) -> None:
        verify_mixed("(C5) bounds", self.static_bounds, self.bounds)  # pyright: ignore[reportArgumentType]
        require(len(self.static_bounds) == 3, "(C5) expected min, extent, step")  # pyright: ignore[reportArgumentType]
        args = self.body.block.args
        require(len(args) == 1 and isinstance(args[0].type, IntegerType), "(C1) expected one integer loop variable")
        for bound in self.bounds:
            require(
                bound.type == args[0].type, lambda: f"(C1) bound of type {bound.type}, variable of type {args[0].type}"
            )
        require(
            self.kind.data in FOR_KINDS, lambda: f"(C2) kind {self.kind.data!r}, expected one of {', '.join(FOR_KINDS)}"
        )
        is_thread = self.kind.data == "thread_binding"
        require(is_thread == (self.thread is not None), lambda: f"(C3) kind {self.kind.data} with thread {self.thread}")
        step = self.mixed_bounds[2]
        require(not isinstance(step, int) or step > 0, lambda: f"(C4) step {step}, expected a positive one")

    def print(self, printer: Printer) -> None:
        low, extent, step = self.mixed_bounds
        printer.print_string(f" {self.kind.data}")
        print_quoted(printer, self.loop_var)
        printer.print_string(" ")
        print_typed(printer, self.variable)
        printer.print_string(" in ")
        print_range(printer, low, extent)
        if step != 1:
            printer.print_string(" step ")
            print_bound(printer, step)
        if self.thread is not None:
            printer.print_string(" thread")
            print_quoted(printer, self.thread)
        print_optional_dict(printer, "annotations", self.annotations)
        print_discardable(printer, self)
        print_body(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = parser.parse_identifier()
        name = parser.parse_str_literal()
        variable = parser.parse_argument()
        parser.parse_keyword("in")
        low, extent = parse_range(parser, variable.type)
        step = parse_index(parser, variable.type) if parser.parse_optional_keyword("step") else 1
        thread = parser.parse_str_literal() if parser.parse_optional_keyword("thread") else None
        annotations = parse_optional_dict(parser, "annotations")
        attributes = parse_discardable(parser)
        body = parse_body(parser, [variable])
        op = cls(
            name,
            low,
            extent,
            variable.type,
            kind=kind,
            step=step,
            thread=thread,
            annotations=annotations,
            body=body,
        )
        op.attributes = attributes
        return op


def _verify_yield(region: Region, type: Attribute, tag: str) -> None:
    last = region.block.last_op
    require(isinstance(last, YieldOp), lambda: f"{tag} expected a tir.yield at the end")
    assert isinstance(last, YieldOp)
    require(last.value.type == type, lambda: f"{tag} yields {last.value.type}, expected {type}")


@irdl_op_definition
class WhileOp(TirOp):
    """Run the body while the condition holds; the condition is computed before each iteration.

    Constraints
        (C1) the condition region yields a bool.

    Example
        tir.while {
          %c = arith.cmpi slt, %x, %y : i32
          tir.yield %c : i1
        } do {
          ...
        }

    Source: `while c:`, `T.While`
    """

    name = "tir.while"

    condition = region_def("single_block")
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect(), HasTirCanonicalizationPatterns())
    custom_directives = (Body, YieldingBody)
    assembly_format = "attr-dict-with-keyword custom<YieldingBody>($condition) `do` custom<Body>($body)"

    def __init__(self, condition: Region, body: Region):
        super().__init__(regions=[condition, body])

    def verify_(self) -> None:
        _verify_yield(self.condition, IntegerType(1), "(C1)")


@irdl_op_definition
class IfOp(TirOp):
    """Run the first region if the condition holds, else the second region.

    Example
        tir.if %c {
          ...
        } else {
          ...
        }

    Source: `if c: ... else: ...` (IfThenElse)
    """

    name = "tir.if"

    condition = operand_def(IntegerType(1))
    then = region_def("single_block")
    orelse = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect(), HasTirCanonicalizationPatterns())
    custom_directives = (Body,)
    assembly_format = "$condition attr-dict-with-keyword custom<Body>($then) (`else` custom<Body>($orelse)^)?"

    def __init__(self, condition: SSAValue, then: Region | None = None, orelse: Region | None = None):
        super().__init__(operands=[condition], regions=[then or Region(Block()), orelse or Region(Block())])


@irdl_op_definition
class AttrOp(TirOp):
    """Set the attribute `key` of `node` to `value` for the nested statements.

    node, value: SSA values, or attributes (`node_attr`, `value_attr`).

    Constraints
        (C1) exactly one of node and node_attr, and one of value and value_attr.

    Example
        tir.attr "pragma_auto_unroll_max_step" of 0 : i32 is 16 : i32 {
          ...
        }

    Source: `T.attr(node, key, value)` (AttrStmt)
    """

    name = "tir.attr"

    key = prop_def(StringAttr)
    node_attr = opt_prop_def(Attribute)
    value_attr = opt_prop_def(Attribute)
    node = opt_operand_def()
    value = opt_operand_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())
    custom_directives = (Body,)
    assembly_format = (
        "$key `of` ($node^ `:` type($node)):($node_attr)? `is` ($value^ `:` type($value)):($value_attr)? "
        "attr-dict-with-keyword custom<Body>($body)"
    )

    def __init__(self, key: str, node: SSAValue | Attribute, value: SSAValue | Attribute, body: Region | None = None):
        super().__init__(
            operands=[node if isinstance(node, SSAValue) else None, value if isinstance(value, SSAValue) else None],
            properties={
                "key": StringAttr(key),
                "node_attr": node if isinstance(node, Attribute) else None,
                "value_attr": value if isinstance(value, Attribute) else None,
            },
            regions=[body or Region(Block())],
        )

    def verify_(self) -> None:
        require((self.node is None) != (self.node_attr is None), "(C1) expected one node")
        require((self.value is None) != (self.value_attr is None), "(C1) expected one value")


@irdl_op_definition
class LaunchThreadOp(TirOp):
    """Run the body once for each thread of a GPU grid axis: `variable` is the thread's index in `[0, extent)`.

    Constraints
        (C1) one operand if the extent is dynamic.
        (C2) one integer variable.

    Example
        tir.launch_thread "tx" %tx : i32 in 32 thread "threadIdx.x" {
          ...
        }

    Source: `T.launch_thread`, `T.env_thread` (AttrStmt thread_extent)
    """

    name = "tir.launch_thread"

    var_name = prop_def(StringAttr)
    thread = prop_def(StringAttr)
    static_extent = prop_def(Attribute)
    extent = var_operand_def(IntegerType)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect(), HasTirCanonicalizationPatterns())

    def __init__(self, name: str, thread: str, extent: Mixed, type: Attribute, body: Region | None = None):
        static, operands = split_mixed([extent])
        if body is None:
            body = Region(Block(arg_types=[type]))
        set_name_hint(body.block.args[0], name)
        super().__init__(
            operands=[operands],
            properties={"var_name": StringAttr(name), "thread": StringAttr(thread), "static_extent": static},
            regions=[body],
        )

    @property
    def mixed_extent(self) -> Mixed:
        return join_mixed(self.static_extent, self.extent)[0]  # pyright: ignore[reportArgumentType]

    @property
    def variable(self) -> BlockArgument:
        return self.body.block.args[0]

    def verify_(self) -> None:
        verify_mixed("(C1) extent", self.static_extent, self.extent)  # pyright: ignore[reportArgumentType]
        args = self.body.block.args
        require(len(args) == 1 and isinstance(args[0].type, IntegerType), "(C2) expected one integer variable")

    def print(self, printer: Printer) -> None:
        print_quoted(printer, self.var_name)
        printer.print_string(" ")
        print_typed(printer, self.variable)
        printer.print_string(" in ")
        print_index(printer, self.mixed_extent)
        printer.print_string(" thread")
        print_quoted(printer, self.thread)
        print_discardable(printer, self)
        print_body(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_str_literal()
        variable = parser.parse_argument()
        parser.parse_keyword("in")
        extent = parse_index(parser)
        parser.parse_keyword("thread")
        thread = parser.parse_str_literal()
        attributes = parse_discardable(parser)
        op = cls(name, thread, extent, variable.type, parse_body(parser, [variable]))
        op.attributes = attributes
        return op


@irdl_op_definition
class AssertOp(TirOp):
    """Fail with a message unless the condition holds.

    kind: the name of the Python exception class in TVM's message, "RuntimeError" if missing; "UndefinedBehaviorError"
    for a check of `tir-sanitize`.  values: numbers that replace the `{}` of the message, in order. Without values the
    message is the text as it is.

    Constraints
        (C1) one value for each `{}` of the message, if there are values.
        (C2) a value is a scalar.

    Example
        tir.assert %c, "n must be even"
        tir.assert %d, "n is {}, expected an even number" values %n : i32

    Source: `assert c, "message"` (AssertStmt), `assert c, ("RuntimeError", ["n is ", n])`
    """

    name = "tir.assert"

    message = prop_def(StringAttr)
    kind = opt_prop_def(StringAttr)
    condition = operand_def(IntegerType(1))
    values = var_operand_def()

    traits = traits_def(HasTirCanonicalizationPatterns())
    assembly_format = "$condition `,` $message (`kind` $kind^)? (`values` $values^ `:` type($values))? attr-dict"

    def __init__(self, condition: SSAValue, message: str, kind: str | None = None, values: Sequence[SSAValue] = ()):
        super().__init__(
            operands=[condition, values],
            properties={"message": StringAttr(message), "kind": None if kind is None else StringAttr(kind)},
        )

    @property
    def kind_name(self) -> str:
        """The name of the exception class, "RuntimeError" by default."""
        return DEFAULT_KIND if self.kind is None else self.kind.data

    @property
    def parts(self) -> list[str | SSAValue]:
        """The message as texts and values, in order; beside values no text is empty."""
        parts = message_parts(self.message.data, self.values)
        return [part for part in parts if part != "" or len(parts) == 1]

    def verify_(self) -> None:
        _verify_message(self.message, self.values)


def _verify_message(message: StringAttr, values: Sequence[SSAValue]) -> None:
    holes, count = message.data.count(PLACEHOLDER), len(values)
    require(not count or count == holes, lambda: f"(C1) {count} values for {holes} placeholders")
    for value in values:
        require(isinstance(value.type, IntegerType | AnyFloat), lambda: f"(C2) value of type {value.type}")


@irdl_op_definition
class PrintOp(TirOp):
    """Print a line to the standard output.

    values: numbers that replace the `{}` of the message, in order. Without values the message is the text as it is.

    Constraints
        (C1) one value for each `{}` of the message, if there are values.
        (C2) a value is a scalar.

    Example
        tir.print "A[{}] = {}" values %i, %x : i32, f32

    Source: `T.print("A[{}] = {}", i, A[i])`, `T.print("x =", x)`, `T.print(A)`
    """

    name = "tir.print"

    message = prop_def(StringAttr)
    values = var_operand_def()

    assembly_format = "$message (`values` $values^ `:` type($values))? attr-dict"

    def __init__(self, message: str, values: Sequence[SSAValue] = ()):
        super().__init__(operands=[values], properties={"message": StringAttr(message)})

    def verify_(self) -> None:
        _verify_message(self.message, self.values)


@irdl_op_definition
class EvaluateOp(TirOp):
    """Compute a value for its side effects, and discard the value.

    Example
        tir.evaluate %x : i32

    Source: `T.evaluate(e)`, a bare call (Evaluate)
    """

    name = "tir.evaluate"

    value = operand_def()

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])
