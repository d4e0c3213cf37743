"""Equality of programs and expressions up to the names of variables: `tvm.ir.structural_equal`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, StringAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation

from ....core.errors import ArgumentError, StepwellError
from ....dialects.attributes import SCHEDULED
from ....dialects.tir import AccessOp, BlockOp, EvaluateOp, LoadOp, Mixed, TargetAttr
from ....dialects.tir.base import split_mixed
from ....dialects.tir.tree import erase_statement, has_effect, is_expression_op
from ....expressions.expr import Call, FloatImm, IntImm, PrimExpr, StringImm, Var, const
from ....expressions.tensor import ProducerLoad
from ....module import Module
from ....operators import Operator
from ...relay.expr import Expr, Function
from ...relay.functor import TypeAnnotator
from ...relay.inference import infer_types
from ...relay.text import canonical_form, print_type_data
from ...relay.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TensorType,
    TupleType,
    TypeRelation,
    TypeVar,
    UserType,
    type_parts,
)
from ..nd import NDArray
from ..nodes.attributes import attribute_of, python_value
from ..nodes.blocks import Block as TirBlock
from ..nodes.construction import free_parts
from ..nodes.expr import Buffer, BufferLoad, BufferRegion
from ..nodes.stmt import Stmt
from ..object_path import ObjectPath
from .env_func import EnvFunc
from .module import IRModule, PrimFunc

_NAMES = ("loop_var", "var_name", "block_name", "buffer_name", "tensor_name", "op_name", "axis_name", "array_name")
_LISTS_OF_NAMES = ("param_names", "axis_names")


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two modules, functions or expressions are equal up to the names of variables, loops, blocks and buffers.

    map_free_vars: whether a variable that an expression does not declare may correspond to another one; the parameters
    of functions always do. Names of functions, constants in memory and attributes are compared. ArgumentError for other
    objects.
    """
    return _first_difference(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raises ValueError with the first difference unless `structural_equal`."""
    difference = _first_difference(lhs, rhs, map_free_vars)
    if difference is not None:
        place = _place_of_mismatch(lhs, rhs, map_free_vars)
        raise ValueError(f"structural equality: {difference[0]}, expected {difference[1]}{place}")


def _place_of_mismatch(lhs: Any, rhs: Any, map_free_vars: bool) -> str:
    """The path of the first difference as a part of a message; empty for the nodes themselves, and for programs that
    have no nodes."""
    # lazy: only for nodes that differ
    from .mismatch import first_mismatch

    try:
        place, _ = first_mismatch(lhs, rhs, map_free_vars)
    except StepwellError:
        return ""
    return "" if len(place) == 1 else f", at {place}"


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> tuple[ObjectPath, ObjectPath] | None:
    """The paths, in each of two nodes, of the first parts in which they differ; None if `structural_equal`."""
    if structural_equal(lhs, rhs, map_free_vars):
        return None
    # lazy: only for nodes that differ
    from .mismatch import first_mismatch

    return first_mismatch(lhs, rhs, map_free_vars)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that is equal for structurally equal modules, functions and expressions."""
    digest = hashlib.sha256("\n".join(_form(node, map_free_vars)).encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def _first_difference(lhs: Any, rhs: Any, map_free_vars: bool) -> tuple[str, str] | None:
    a, b = _form(lhs, map_free_vars), _form(rhs, map_free_vars)
    if a == b:
        return None
    length = max(len(a), len(b))
    pairs = zip([*a, *["nothing"] * (length - len(a))], [*b, *["nothing"] * (length - len(b))], strict=True)
    return next((x.strip(), y.strip()) for x, y in pairs if x != y)


def _form(node: Any, map_free_vars: bool) -> list[str]:
    """The lines of a text that is equal for structurally equal nodes."""
    match node:
        case Expr():
            return canonical_form(_resolved(node), map_free_vars)
        case TensorType() | TupleType() | FuncType():
            return [type_form(node, {}, map_free_vars)]
        case _ if isinstance(node, UserType):
            return [type_form(node, {}, map_free_vars)]
        case Operator():
            return [node.name]
        case EnvFunc():
            return [f"function {node.name}"]
        case NDArray():
            return _form(node.numpy(), map_free_vars)
        case np.ndarray():
            return [f"{node.dtype} {node.shape} {node.tobytes().hex()}"]
        case _ if hasattr(type(node), "structural_form"):
            return node.structural_form(map_free_vars)
        case PrimFunc():
            return module_form(IRModule({"main": node.without_own_name()}))
        case Module():
            return module_form(node)
        case TirBlock(underneath=BlockOp() as op):
            return _text_without_names(op)
        case Stmt():
            return _statement_form(node, map_free_vars)
        case BufferRegion():
            bounds = [bound for each in node.region for bound in (each.min, each.extent)]
            return _form([BufferLoad(node.buffer, [0] * len(node.region)), *bounds], map_free_vars)
        case PrimExpr():
            return [_expression_form(node, {}, map_free_vars)]
        case bool() | int() | float():
            return _form(const(node), map_free_vars)
        case str() | None:
            return [repr(node)]
        case Mapping():
            return [line for key in sorted(map(str, node)) for line in [key, *_form(node[key], map_free_vars)]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case Sequence():
            return [line for item in node for line in _form(item, map_free_vars)]  # pyright: ignore[reportUnknownVariableType]
        case _:
            raise ArgumentError(
                f"structural equality of {type(node).__name__}, expected a module, function or expression"
            )


def _statement_form(node: Stmt, map_free_vars: bool) -> list[str]:
    """The form of a function of the statement, and the identities of the variables that must be the same. Buffers
    correspond to each other in the order of their use."""
    variables, buffers = free_parts(node)
    named = [] if map_free_vars else [f"{id(each)}" for each in variables]
    return [*named, *_form(PrimFunc([*buffers, *variables], node), map_free_vars)]


def type_form(type: Any, numbers: dict[Any, int], map_free_vars: bool) -> str:
    """A text that is equal for structurally equal types. numbers: those of the variables of types so far."""
    if isinstance(type, FuncType):
        for each in type.type_params:
            numbers.setdefault(each, len(numbers))
    if isinstance(type, TypeVar | GlobalTypeVar | IncompleteType):
        named = type.name_hint if isinstance(type, GlobalTypeVar) else id(type)
        number = numbers.setdefault(type, len(numbers)) if map_free_vars else numbers.get(type, named)
        return f"{type.__class__.__name__} {type.kind} {number}"
    parts = ", ".join(type_form(each, numbers, map_free_vars) for each in type_parts(type))
    own = (
        repr(type)
        if isinstance(type, TensorType)
        else repr((type.func, type.attrs))
        if isinstance(type, TypeRelation)
        else ""
    )
    return f"{type.__class__.__name__} {own}({parts})"


def _resolved(expr: Expr) -> Expr:
    """A function in which numbers beside tensors, variables and results have types; another expression, and a function
    whose types do not follow from its annotations, as it is."""
    if not isinstance(expr, Function):
        return expr
    try:
        typed = IRModule.from_expr(expr)
    except StepwellError:
        return expr
    return TypeAnnotator().visit(typed["main"]) if typed.has_operations else _annotated({"main": expr})["main"]


def _annotated(functions: Mapping[str, Function]) -> Mapping[str, Function]:
    """Functions of a program with the types of variables and results; as they are, if types do not follow from their
    annotations."""
    try:
        infer_types(functions)
    except StepwellError:
        return functions
    return {name: TypeAnnotator().visit(func) for name, func in functions.items()}


def module_form(mod: Module) -> list[str]:
    """The text of a copy without names, functions by name."""
    lines: list[str] = []
    if isinstance(mod, IRModule):
        for header in sorted(mod.type_definitions, key=str):
            lines += print_type_data(mod.type_definitions[header])
        if not mod.has_operations:
            functions = _annotated({name: func for name, func in mod.items() if isinstance(func, Function)})
            return lines + [line for name in sorted(mod) for line in (name, *canonical_form(functions[name], False))]
    for name in sorted(mod):
        lines += _text_without_names(Module.__getitem__(mod, name).op, name)
    return lines


def _text_without_names(root: Operation, function: str = "") -> list[str]:
    """The lines of the text of a copy of an operation without names, with declared regions in normal form. function:
    the name of a function, which its symbol repeats."""
    copy = root.clone()
    for op in copy.walk():
        op.attributes.pop(SCHEDULED, None)  # no part of the program: tells whether a schedule has changed it
        for key in _NAMES:
            if key in op.properties:
                op.properties[key] = StringAttr("")
        for key, value in op.properties.items():
            if isinstance(value, DictionaryAttr):
                op.properties[key] = _sorted_entries(value, function)
        for key in _LISTS_OF_NAMES:
            names = op.properties.get(key)
            if isinstance(names, ArrayAttr):
                op.properties[key] = ArrayAttr([StringAttr("")] * len(names))
        for value in (*op.results, *(arg for block in _blocks(op) for arg in block.args)):
            value.name_hint = None
        if isinstance(op, AccessOp):
            _fix_units(op)
    _erase_no_ops(copy)
    _sink_expressions(copy)
    _merge_expressions(copy)
    _order_expressions(copy)
    return str(copy).splitlines()


def _fix_units(access: AccessOp) -> None:
    """Replaces the axes of one value in a declared region by this value: the region has the same elements."""
    mins, extents = zip(*access.region, strict=True) if access.region else ((), ())
    plain = [_only_value(low) if extent == 1 else low for low, extent in zip(mins, extents, strict=True)]
    static, operands = split_mixed(plain)
    access.static_mins = static
    access.operands = [access.buffer, *operands, *access.extents]
    access.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, len(operands), len(access.extents)])


def _only_value(low: Mixed) -> Mixed:
    """The value of an axis of a block that has no other one; another number as it is."""
    block = low.owner.parent_op() if isinstance(low, BlockArgument) else None
    if not isinstance(low, BlockArgument) or not isinstance(block, BlockOp):
        return low
    axis = block.axes[low.index]
    return axis.low if axis.extent == 1 and isinstance(axis.low, int) else low


def _erase_no_ops(root: Operation) -> None:
    """Erases a number that is evaluated alone in a body: texts spell an empty body as `T.evaluate(0)`."""
    for block in [block for op in root.walk() for block in _blocks(op)]:
        match [op for op in block.ops if not is_expression_op(op)]:
            case [EvaluateOp() as op] if isinstance(op.value.owner, arith.ConstantOp):
                erase_statement(op)
            case _:
                pass


def _sink_expressions(root: Operation) -> None:
    """Computes arithmetic at the statements that use it: programs do not state whether loops inside repeat it."""
    for op in reversed(list(root.walk())):
        if not is_expression_op(op) or op.regions or isinstance(op, LoadOp) or has_effect(op) or not op.results:
            continue
        users = dict.fromkeys(use.operation for result in op.results for use in result.uses)
        if not users or all(user.parent is op.parent for user in users):
            continue
        for user in users:
            near = op.clone()
            assert user.parent is not None
            user.parent.insert_op_before(near, user)
            for old, new in zip(op.results, near.results, strict=True):
                old.replace_uses_with_if(new, lambda use, user=user: use.operation is user)
        op.detach()
        op.erase()


def _merge_expressions(root: Operation) -> None:
    """Computes equal subexpressions of a statement once: programs do not state whether expressions share them."""
    for block in [block for op in root.walk() for block in _blocks(op)]:
        known: dict[Any, Operation] = {}
        for op in list(block.ops):
            if not is_expression_op(op) or has_effect(op):
                known = {}
            elif not op.regions:
                properties = tuple(sorted((op.properties | op.attributes).items(), key=lambda item: item[0]))
                key = (op.name, tuple(op.operands), properties, tuple(result.type for result in op.results))
                first = known.setdefault(key, op)
                if first is not op:
                    for old, new in zip(op.results, first.results, strict=True):
                        old.replace_all_uses_with(new)
                    op.detach()
                    op.erase()


def _order_expressions(root: Operation) -> None:
    """Moves the operations of each expression into the order of its operands, which programs do not state."""
    for block in [block for op in root.walk() for block in _blocks(op)]:
        pending: dict[Operation, None] = {}
        for op in list(block.ops):
            if is_expression_op(op):
                pending[op] = None
                continue
            order = list(_operations_of(op, pending, {}))
            if len(order) == len(pending) and order != list(pending) and not any(map(has_effect, order)):
                for each in order:
                    each.detach()
                    block.insert_op_before(each, op)
            pending = {}


def _operations_of(op: Operation, among: Mapping[Operation, None], seen: dict[Operation, None]) -> Iterator[Operation]:
    """The operations among some that compute the operands of an operation, operands first."""
    inside = [inner for block in _blocks(op) for inner in block.walk()] if is_expression_op(op) else []
    for operand in (operand for user in (op, *inside) for operand in user.operands):
        source = operand.owner
        if isinstance(source, Operation) and source in among and source not in seen:
            seen[source] = None
            yield from _operations_of(source, among, seen)
            yield source


def _sorted_entries(entries: DictionaryAttr, function: str) -> DictionaryAttr:
    """The entries of a dictionary by name, without the symbol of a function that is its name."""
    named = {
        key: _as_created(value) if isinstance(value, TargetAttr) else value
        for key, value in sorted(entries.data.items())
    }
    if named.get("global_symbol") == StringAttr(function):
        del named["global_symbol"]
    return DictionaryAttr(named)


def _as_created(target: TargetAttr) -> Attribute:
    """A target with all of its options, in order; one of another version of TVM as it is."""
    value = python_value(target)
    return value if isinstance(value, Attribute) else attribute_of(value)


def _blocks(op: Any) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _expression_form(expr: PrimExpr, numbers: dict[PrimExpr, int], map_free_vars: bool) -> str:
    match expr:
        case Var():
            number = numbers.setdefault(expr, len(numbers)) if map_free_vars else id(expr)
            return f"{expr.dtype} %{number}"
        case IntImm() | FloatImm():
            return f"{expr.dtype} {expr.value!r}"
        case StringImm():
            return repr(expr.value)
        case _:
            children = ", ".join(_expression_form(child, numbers, map_free_vars) for child in expr.children)
            return f"{expr.dtype} {type(expr).__name__}{_detail(expr)}({children})"


def _detail(expr: PrimExpr) -> str:
    """The part of a node that is neither its type nor its children."""
    match expr:
        case Call():
            return f" {expr.op}"
        case ProducerLoad():
            return f" {id(expr.producer.op)}.{expr.producer.value_index}"
        case BufferLoad():
            return f" {id(expr.buffer.value if isinstance(expr.buffer, Buffer) else expr.buffer)}"
        case _:
            return ""
