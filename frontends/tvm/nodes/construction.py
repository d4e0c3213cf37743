"""Functions built of parameters and a node: `PrimFunc(params, body)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from ....core.dtypes import mlir_type
from ....core.walking import find_ops
from ....dialects.text.functions import print_function
from ....dialects.tir import (
    BlockOp,
    FuncOp,
    HandleType,
    MatchBufferOp,
    ReturnOp,
    SymbolOp,
    TirBuilder,
    buffer_type,
    memory_space,
    row_major_strides,
)
from ....dialects.tir.annotations import annotation_key
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.buffers import BufferPointer
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, Var
from ....expressions.statements import BufferElement
from ....expressions.write_expressions import ExpressionEmitter
from . import blocks
from . import stmt as nodes
from .attributes import attribute_of
from .expr import (
    Buffer,
    BufferLoad,
    BufferOperand,
    ExternCallExpr,
    PointedBuffer,
    PointerVar,
    StatementBuffer,
    pointer_of,
)
from .functor import pre_order_visit
from .writing import write_statements

Parameter: TypeAlias = DeclaredBuffer | Var | BufferPointer | StatementBuffer


def variables_of(
    params: Sequence[Parameter], buffers: Mapping[Any, DeclaredBuffer]
) -> tuple[tuple[Var, ...], dict[Var, DeclaredBuffer]]:
    """The parameters of a function as variables, and the buffers of those that denote one.

    params: buffers, addresses of buffers, and variables.  buffers: those of parameters that are variables. TeError for
    another parameter.
    """
    variables: list[Var] = []
    known = dict(buffers)
    for param in map(_parameter, params):
        variable, buffer = _variable_of(param), _buffer_of(param, buffers)
        variables.append(variable)
        if buffer is not None:
            known[variable] = buffer
    return tuple(variables), known


def construct_function(
    params: Sequence[Var], body: nodes.Stmt, buffers: Mapping[Var, DeclaredBuffer], attrs: Mapping[str, Any]
) -> FuncOp:
    """A function of parameters with a body.

    params: variables.  buffers: those that parameters denote.  attrs: the attributes. TeError for a variable or buffer
    of the body that nothing declares.
    """
    declared = [buffers.get(param) for param in params]
    symbol = attrs.get("global_symbol", "main")
    types = [_type_of(param, buffer) for param, buffer in zip(params, declared, strict=True)]
    names = [_name_of(*each) for each in zip(params, declared, types, strict=True)]
    stated = {key: value for key, value in attrs.items() if key != "global_symbol"}
    attributes = {annotation_key(key): attribute_of(value) for key, value in stated.items()}
    func = FuncOp(str(symbol), list(zip(names, types, strict=True)), attrs=attributes)
    builder = TirBuilder(func.body.block)
    emitter = ExpressionEmitter(builder, {}, {})
    memory: dict[DeclaredBuffer, SSAValue] = {}
    arguments = list(zip(params, declared, func.body.block.args, strict=True))
    for param, buffer, argument in arguments:
        if buffer is None:
            emitter.known[param] = argument
    for buffer in filter(None, declared):
        for var in _variables((*buffer.shape, *buffer.strides, buffer.elem_offset)):
            if var not in emitter.known:
                emitter.known[var] = builder.insert(SymbolOp(var.name, mlir_type(var.data_type))).result
    for _, buffer, argument in arguments:
        if buffer is not None:
            memory[buffer] = _view(emitter, buffer, argument) if isinstance(argument.type, HandleType) else argument
    values = {buffer.value: value for buffer, value in memory.items() if isinstance(buffer, Buffer)}
    write_statements(func, values, emitter.known, memory, body.block if _is_root(body) else body)
    results = [op.value.type for op in find_ops(func, ReturnOp) if op.value is not None]
    if results:
        func.result_type = results[0]
    ModuleOp([func]).verify()
    func.detach()
    return func


def _parameter(param: Any) -> Any:
    """A parameter; of the elements that a builder of statements reads and writes, their address or buffer."""
    if not isinstance(param, StatementBuffer):
        return param
    return param.buffer.pointer if isinstance(param.buffer, PointedBuffer) else param.buffer


def _buffer_of(param: Any, buffers: Mapping[Any, DeclaredBuffer]) -> DeclaredBuffer | None:
    """The buffer of a parameter, None for a number or an address."""
    match param:
        case DeclaredBuffer():
            return param
        case BufferPointer():
            return param.buffer
        case _:
            return buffers.get(param)


def _variable_of(param: Any) -> Var:
    """The variable of a parameter."""
    match param:
        case DeclaredBuffer():
            return PointerVar(param.name)
        case BufferPointer():
            return pointer_of(param)
        case Var():
            return param
        case _:
            raise TeError(f"parameter {param!r}, expected a buffer or a variable")


def _type_of(param: Var, buffer: DeclaredBuffer | None) -> Attribute:
    if buffer is None:
        if not isinstance(param, PointerVar):
            return mlir_type(param.data_type)
        return HandleType(None if param.element is None else mlir_type(param.element), param.scope or "global")
    static = [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
    starts = isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0
    if len(static) == len(buffer.shape) and not buffer.strides and starts and not buffer.axis_separators:
        return buffer_type(mlir_type(buffer.data_type), static, space=memory_space(buffer.memory))
    return HandleType()


def _name_of(param: Var, buffer: DeclaredBuffer | None, type: Attribute) -> str:
    """The name of a parameter: of its buffer where it is that, else its own, which differs from the buffer's."""
    if buffer is None:
        return param.name
    if isinstance(type, HandleType):
        return f"var_{buffer.name}" if param.name == buffer.name else param.name
    return buffer.name


def _is_root(body: nodes.Stmt) -> TypeGuard[blocks.BlockRealize]:
    """Whether the statements of a function are a root block that says no more than the function."""
    if not isinstance(body, blocks.BlockRealize) or not isinstance(body.op, BlockOp):
        return False
    block, runs = body.block, body.predicate
    states = block.iter_vars or block.reads or block.writes or block.annotations or block.init or block.match_buffers
    return block.name_hint == "root" and not states and isinstance(runs, IntImm) and runs.value == 1


def _view(emitter: ExpressionEmitter, buffer: DeclaredBuffer, pointer: SSAValue) -> SSAValue:
    """The buffer of a parameter."""
    shape = [emitter.number(extent) for extent in buffer.shape]
    strides = [emitter.number(stride) for stride in buffer.strides]
    offset = emitter.number(buffer.elem_offset)
    if offset != 0 and not strides:
        strides = list(row_major_strides(shape))
    space, kind = memory_space(buffer.memory), mlir_type(buffer.data_type)
    view = MatchBufferOp(
        buffer.name,
        pointer,
        kind,
        shape,
        strides=strides or None,
        offset=offset,
        space=space,
        axis_separators=buffer.axis_separators,
    )
    return emitter.builder.insert(view).buffer


def _variables(exprs: Iterable[PrimExpr]) -> Iterator[Var]:
    for expr in exprs:
        if isinstance(expr, Var):
            yield expr
        yield from _variables(expr.children)


# Text


def script_of(node: nodes.Stmt) -> str:
    """The text of a statement as TVMScript. The variables and buffers that it does not declare have no declaration in
    the text; the name of its class where it has parts of another function."""
    variables, buffers = free_parts(node)
    try:
        params, declared = variables_of([*buffers, *variables], {})
        func = construct_function(params, node, declared, {})
    except TeError:
        return repr(node)
    lines = print_function(func).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("def "))
    inside = [line[4:] for line in lines[first + 1 :]]
    return "\n".join(line for line in inside if not _DECLARATION.fullmatch(line))


_DECLARATION = re.compile(r"\w+ = T\.(match_buffer\(.*|u?int\d+\(\))")
"""The line of a buffer of a parameter, or of a symbolic size."""


def free_parts(root: nodes.Stmt) -> tuple[list[Var], list[DeclaredBuffer]]:
    """The variables and the buffers that a statement uses and does not declare, without the sizes of these buffers."""
    used: dict[Any, None] = {}
    declared: set[Any] = set()

    def visit(node: Any) -> bool:
        match node:
            case Var():
                used[node] = None
            case BufferLoad() | BufferElement() | nodes.BufferStore():
                used[node.buffer] = None
            case nodes.For():
                declared.add(node.loop_var)
            case nodes.LetStmt():
                declared.add(node.var)
            case nodes.Allocate():
                declared.update((node.buffer, node.buffer_var))
            case nodes.AllocateConst():
                declared.add(node.buffer_var)
            case nodes.DeclBuffer() | blocks.MatchedBuffer():
                declared.add(node.buffer)
            case BufferOperand():
                used[node.buffer] = None
            case nodes.OtherStmt():
                declared.update(var for group in node.variables for var in group)
            case ExternCallExpr():
                used.update(dict.fromkeys(node.call.buffers))
            case blocks.Block():
                used.update((region.buffer, None) for region in (*node.reads, *node.writes))
            case _:
                pass
        return True

    pre_order_visit(root, visit)
    for each in list(used):
        if isinstance(each, PointedBuffer):
            used[each.pointer] = None
            del used[each]
    free = [each for each in used if each not in declared]
    buffers = [each for each in free if isinstance(each, DeclaredBuffer)]
    sizes = set(_variables(size for buffer in buffers for size in buffer.shape))
    return [each for each in free if isinstance(each, Var) and each not in sizes], buffers


__all__ = ["Parameter", "construct_function", "free_parts", "script_of", "variables_of"]
