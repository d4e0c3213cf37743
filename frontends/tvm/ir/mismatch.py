"""The paths of the first parts in which two programs differ: `tvm.ir.base.get_first_structural_mismatch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ....expressions.buffers import Buffer
from ....expressions.expr import Call, FloatImm, IntImm, PrimExpr, StringImm, Var
from ...relay.expr import GlobalVar
from ..nodes.blocks import Block, BlockRealize
from ..nodes.expr import BufferLoad
from ..nodes.stmt import Allocate, BufferStore, For, LetStmt, OtherStmt, Stmt, While
from ..object_path import ObjectPath
from .module import IRModule, PrimFunc

Paths: TypeAlias = tuple[ObjectPath, ObjectPath]
_ATTRIBUTES: Mapping[type, tuple[str, ...]] = {
    For: ("loop_var", "min", "extent", "kind", "body", "thread_tag", "annotations"),
    BufferStore: ("buffer", "value", "indices"),
    LetStmt: ("value", "var", "body"),
    Allocate: ("dtype", "extents", "scope", "body"),
    While: ("condition", "body"),
    Block: ("iter_vars", "reads", "writes", "name_hint", "body", "init", "annotations"),
    BlockRealize: ("iter_values", "predicate", "block"),
    BufferLoad: ("buffer", "indices"),
    IntImm: ("dtype", "value"),
    FloatImm: ("dtype", "value"),
    StringImm: ("value",),
    Call: ("dtype", "op", "args"),
    PrimFunc: ("params", "buffer_map", "attrs", "body"),
}
"""The attributes of nodes, in the order of the comparison; those of other nodes are their operands."""
_OPERANDS = ("a", "b", "condition", "true_value", "false_value", "value", "base", "stride", "lanes", "args")
_NAMES = frozenset(("name_hint",))


def first_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Paths:
    """The paths of the first parts in which two nodes differ that are not structurally equal. The nodes themselves, if
    the difference is in no attribute of theirs."""
    root = ObjectPath.root()
    return _Comparison(map_free_vars).nodes(lhs, rhs, root) or (root, root)


class _Comparison:
    """The comparison of two nodes. are_free: whether a variable may correspond to any other one."""

    def __init__(self, are_free: bool):
        self.are_free = are_free
        self.known: dict[int, Any] = {}

    def nodes(self, lhs: Any, rhs: Any, path: ObjectPath) -> Paths | None:
        """The paths of the first difference of two nodes, sequences, dictionaries or values; None if they agree."""
        match lhs, rhs:
            case (IRModule(), IRModule()):
                return self.modules(lhs, rhs, path)
            case (Var(), Var()) if type(lhs) is type(rhs):
                return self.variables(lhs, rhs, path)
            case (Buffer(), Buffer()):
                return self.buffers(lhs, rhs, path)
            case (str() | int() | float() | None, _):
                return None if lhs == rhs else (path, path)
            case (Mapping(), Mapping()):
                return self.entries(lhs, rhs, path)  # pyright: ignore[reportUnknownArgumentType]
            case (Sequence(), Sequence()):
                return self.elements(lhs, rhs, path)  # pyright: ignore[reportUnknownArgumentType]
            case (Stmt() | PrimExpr() | PrimFunc(), _) if type(lhs) is type(rhs):
                return self.attributes(lhs, rhs, path)  # pyright: ignore[reportUnknownArgumentType]
            case _ if type(lhs) is type(rhs) and not isinstance(lhs, Stmt | PrimExpr):
                return None  # parts that the comparison of programs alone regards
            case _:
                return path, path

    def attributes(self, lhs: Any, rhs: Any, path: ObjectPath) -> Paths | None:
        for name in _attributes_of(lhs):
            found = self.nodes(getattr(lhs, name, None), getattr(rhs, name, None), path.attr(name))
            if found is not None and name not in _NAMES:
                return found
        return None

    def modules(self, lhs: IRModule, rhs: IRModule, path: ObjectPath) -> Paths | None:
        functions = path.attr("functions")
        for name in lhs:
            place = functions.map_value(GlobalVar(name))
            if name not in rhs:
                return place, functions.missing_map_entry()
            found = self.nodes(lhs[name], rhs[name], place)
            if found is not None:
                return found
        extra = next((name for name in rhs if name not in lhs), None)
        return None if extra is None else (functions.missing_map_entry(), functions.map_value(GlobalVar(extra)))

    def elements(self, lhs: Sequence[Any], rhs: Sequence[Any], path: ObjectPath) -> Paths | None:
        for n, (a, b) in enumerate(zip(lhs, rhs, strict=False)):
            found = self.nodes(a, b, path.array_index(n))
            if found is not None:
                return found
        if len(lhs) == len(rhs):
            return None
        n = min(len(lhs), len(rhs))
        there, missing = path.array_index(n), path.missing_array_element(n)
        return (there, missing) if len(lhs) > n else (missing, there)

    def entries(self, lhs: Mapping[Any, Any], rhs: Mapping[Any, Any], path: ObjectPath) -> Paths | None:
        """The first difference of dictionaries, whose keys correspond to each other by their order or text."""
        partners = dict(zip(lhs, rhs, strict=False)) if any(not isinstance(key, str) for key in (*lhs, *rhs)) else {}
        for key, value in lhs.items():
            partner = partners.get(key, key)
            if partner not in rhs:
                return path.map_value(key), path.missing_map_entry()
            found = self.nodes(value, rhs[partner], path.map_value(key))
            if found is not None:
                return found
        extra = next((key for key in rhs if key not in [partners.get(each, each) for each in lhs]), None)
        return None if extra is None else (path.missing_map_entry(), path.map_value(extra))

    def variables(self, lhs: Var, rhs: Var, path: ObjectPath) -> Paths | None:
        if lhs.dtype != rhs.dtype:
            return path.attr("dtype"), path.attr("dtype")
        if lhs is rhs or self._is_declaration(path) or self.are_free:
            return None if self.known.setdefault(id(lhs), rhs) is rhs else (path, path)
        return None if self.known.get(id(lhs)) is rhs else (path, path)

    def _is_declaration(self, path: ObjectPath) -> bool:
        """Whether the variable of a path is declared there: a parameter, the variable of a loop, a let or an axis."""
        return any(str(step).endswith((".params", ".loop_var", ".var", ".iter_vars")) for step in path.steps[-3:])

    def buffers(self, lhs: Buffer, rhs: Buffer, path: ObjectPath) -> Paths | None:
        if id(lhs) in self.known:
            return None if self.known[id(lhs)] is rhs else (path, path)
        self.known[id(lhs)] = rhs
        for name in ("dtype", "shape", "axis_separators"):
            found = self.nodes(getattr(lhs, name), getattr(rhs, name), path.attr(name))
            if found is not None:
                return found
        return None


def _attributes_of(node: Any) -> Sequence[str]:
    """The attributes of a node that the comparison regards, in order."""
    for kind, names in _ATTRIBUTES.items():
        if isinstance(node, kind):
            return names
    if isinstance(node, Stmt):
        return ("op", "args", *node.FIELDS) if isinstance(node, OtherStmt) and not node.FIELDS else node.FIELDS
    return tuple(name for name in _OPERANDS if hasattr(node, name))
