"""The division of a module on the landing of loops into parts that are lowered apart from each other.

The passes after this landing change each function by its own text, and by what a callee declares. So a part is a module
with some functions, and declarations of those that they call in other parts. Functions that call each other are in one
part, except for the kernels of graphs, which are not inlined. Similar kernels, which may be merged into one function,
are in one part, too. The division depends on the program alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ...analysis.similar_functions import families
from ...analysis.variants import variants
from ...core.walking import count_ops, find_ops
from ...dialects.attributes import DISJOINT_VERSION, ELSEWHERE, GRAPH_KERNEL, READ_ONLY, is_true
from ...dialects.tir import (
    AccessOp,
    AccessPtrOp,
    AddressOfOp,
    BufferDataOp,
    CallExternOp,
    CallOp,
    FuncOp,
    LoadOp,
    MatchBufferOp,
)
from ...module import Module
from ..tir.to_scf.module import parameter_types
from ..tir.to_scf.types import lower_type

PART_WEIGHT = 100
"""The weight of a part, at least, except for the last part: about 0.1 s of compilation."""
_SIMILAR_WEIGHT = 4
"""The divisor of the weight of a kernel that is merged into another one: its schedule is a quarter of the work."""
MOST_PARTS = 900
_KERNEL_WEIGHT = 4
"""The weight of an operation of a graph's kernel, whose schedule makes several of it; that of others is 1."""


@dataclass(frozen=True)
class Part:
    """A part of a program.

    number: in the order of the program.  weight: an estimate of the time of its compilation.  order: the names of the
    functions of the program, in order.  shared: the names of all functions that are called from other parts.
    """

    number: int
    module: Module
    weight: int
    order: tuple[str, ...]
    shared: frozenset[str] = frozenset()


def divide(mod: Module) -> list[Part]:
    """The parts of a module, whose functions move to them; the module itself if it is small or has other operations
    than functions on buffers.

    The names of functions and globals that passes add begin with the name of a function and a dot, and are unique in a
    part; a module with such names of its own is not divided. Raises UnsupportedError for a function with parameters of
    types that have no upstream equivalent.
    """
    ops = list(mod.op.body.block.ops)
    functions = {op.sym_name.data: op for op in ops if isinstance(op, FuncOp) and "." not in op.sym_name.data}
    order = tuple(mod.function_ops)
    whole = [Part(0, mod, sum(map(_weight, functions.values())), order)]
    if len(functions) < len(ops):
        return whole
    callees = {name: _callees(op, functions) for name, op in functions.items()}
    kernels = [name for name, op in functions.items() if _is_kernel(op) and not callees[name]]
    similar = [[op.sym_name.data for op in group] for group in _similar([functions[name] for name in kernels])]
    merged = {name for _, *others in similar for name in others}
    weights = {name: _weight(op) // (_SIMILAR_WEIGHT if name in merged else 1) for name, op in functions.items()}
    components = _components(callees, similar, set(kernels))
    groups = _groups([_Group(tuple(names), sum(weights[name] for name in names)) for names in components])
    if len(groups) < 2:
        return whole
    called = [dict.fromkeys(callee for name in group.names for callee in callees[name]) for group in groups]
    others = [[name for name in names if name not in group.names] for group, names in zip(groups, called, strict=True)]
    shared = frozenset(name for names in others for name in names)
    declarations = [[_declaration(functions[name]) for name in names] for names in others]
    return [
        Part(n, _module(mod.op, [*declared, *map(functions.__getitem__, group.names)]), group.weight, order, shared)
        for n, (group, declared) in enumerate(zip(groups, declarations, strict=True))
    ]


@dataclass(frozen=True)
class _Group:
    """Functions of one part, by name, with their weight."""

    names: tuple[str, ...]
    weight: int


def _weight(function: FuncOp) -> int:
    return count_ops(function) * (_KERNEL_WEIGHT if _is_kernel(function) else 1)


def _is_kernel(function: FuncOp) -> bool:
    """Whether a function is a public kernel of a graph."""
    return function.private is None and is_true(function.attr(GRAPH_KERNEL))


def _similar(kernels: Sequence[FuncOp]) -> Iterator[Sequence[FuncOp]]:
    """The groups of kernels that `tir-merge-kernels` may merge; a kernel may be in several."""
    yield from (each.functions for each in families(kernels))
    yield from ([each.function for each in group] for group in variants(kernels))


def _groups(components: Sequence[_Group]) -> list[_Group]:
    """Consecutive components in groups of at least a weight, except for the last, in order."""
    least = max(PART_WEIGHT, sum(each.weight for each in components) // MOST_PARTS)
    groups: list[_Group] = []
    for each in components:
        if groups and groups[-1].weight < least:
            last = groups.pop()
            groups.append(_Group((*last.names, *each.names), last.weight + each.weight))
        else:
            groups.append(each)
    return groups


def _callees(function: FuncOp, functions: Mapping[str, FuncOp]) -> list[str]:
    """The functions of the module that a function calls, or may call as a version of itself, once each."""
    calls = find_ops(function, CallOp, CallExternOp)
    names = [op.callee.data if isinstance(op, CallExternOp) else op.callee.string_value() for op in calls]
    if isinstance(version := function.attr(DISJOINT_VERSION), StringAttr):
        names.append(version.data)
    return list(dict.fromkeys(name for name in names if name in functions))


def _components(
    callees: Mapping[str, Sequence[str]], similar: Iterable[Sequence[str]], separable: Container[str]
) -> list[list[str]]:
    """The names of functions that call each other or are similar, in the order of the program. similar: groups of
    functions that `tir-merge-kernels` may merge.  separable: the functions whose callers may be elsewhere."""
    components = {name: [name] for name in callees}
    calls = [(name, callee) for name in callees for callee in callees[name] if callee not in separable]
    for one, other in (*calls, *((first, each) for first, *others in similar for each in others)):
        joined, added = components[one], components[other]
        if added is not joined:
            joined += added
            components.update(dict.fromkeys(added, joined))
    order = {name: n for n, name in enumerate(callees)}
    unique = {id(each): sorted(each, key=order.__getitem__) for each in components.values()}
    return list(unique.values())


# Modules


def _module(whole: ModuleOp, ops: Iterable[Operation]) -> Module:
    """The module of a part. Functions of `whole` move to it."""
    ops = list(ops)
    for op in ops:
        if op.parent is not None:
            op.detach()
    return Module(ModuleOp(ops, dict(whole.attributes)))


def _declaration(function: FuncOp) -> func.FuncOp:
    """The declaration of a function of another part."""
    outputs = [] if function.result_type is None else [lower_type(function.result_type)]
    attributes = [DictionaryAttr({READ_ONLY: UnitAttr()} if _is_read_only(each) else {}) for each in
                  function.body.block.args]  # fmt: skip
    types: tuple[Sequence[Attribute], Sequence[Attribute]] = parameter_types(function), outputs
    op = func.FuncOp(function.sym_name.data, types, Region(), visibility="private", arg_attrs=ArrayAttr(attributes))
    op.attributes[ELSEWHERE] = UnitAttr()
    return op


def _is_read_only(buffer: SSAValue) -> bool:
    """Whether all uses of a buffer, or of the buffer that matches a handle, are loads and pointers for reads."""

    def reads(user: Operation) -> bool:
        match user:
            case MatchBufferOp():
                return _is_read_only(user.buffer)
            case BufferDataOp() | AddressOfOp():
                return all(
                    isinstance(use.operation, AccessPtrOp) and use.operation.is_read for use in user.pointer.uses
                )
            case _:
                return isinstance(user, LoadOp | AccessOp)

    return all(reads(use.operation) for use in buffer.uses)
