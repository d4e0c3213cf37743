"""Versions of functions for arguments that do not overlap.

A function without `tir.noalias` may be called with buffers that overlap. Its version has `tir.noalias`, so schedules
and passes may change it; the function itself calls the version after a check of the arguments (`convert-tir-to-scf`),
and executes its own body otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, UnitAttr

from ...core.identifiers import fresh_name
from ...dialects.attributes import DISJOINT_VERSION, TIR_NOALIAS
from ...dialects.tir import FuncOp
from ...dialects.tir.annotations import annotation_value


def add_disjoint_versions(module: ModuleOp, functions: Iterable[FuncOp]) -> dict[str, str]:
    """Adds a version of each of some functions of a module. Returns the functions by the names of their versions."""
    versions: dict[str, str] = {}
    symbols = (op.properties.get("sym_name") for op in module.body.block.ops)
    taken = {each.data for each in symbols if isinstance(each, StringAttr)}
    for func in functions:
        version = func.clone()
        version.location = func.location
        version.sym_name = StringAttr(fresh_name(f"{func.sym_name.data}_disjoint", taken))
        version.private = UnitAttr()
        attributes = {} if func.func_attrs is None else dict(func.func_attrs.data)
        func.func_attrs = DictionaryAttr({**attributes, DISJOINT_VERSION: version.sym_name})
        attributes.pop("global_symbol", None)
        version.func_attrs = DictionaryAttr({**attributes, TIR_NOALIAS: annotation_value(True)})
        module.body.block.insert_op_before(version, func)
        versions[version.sym_name.data] = func.sym_name.data
    return versions


def remove_disjoint_versions(module: ModuleOp, names: Collection[str]) -> None:
    """Removes versions of functions."""
    for op in list(module.body.block.ops):
        if not isinstance(op, FuncOp):
            continue
        version = op.attr(DISJOINT_VERSION)
        if op.sym_name.data in names:
            module.body.block.erase_op(op)
        elif isinstance(version, StringAttr) and version.data in names:
            assert op.func_attrs is not None
            rest = {key: value for key, value in op.func_attrs.data.items() if key != DISJOINT_VERSION}
            op.func_attrs = DictionaryAttr(rest) if rest else None
