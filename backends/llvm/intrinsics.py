"""Lowering of `llvm.call_intrinsic`: intrinsics of LLVM by name, whose overload follows from the types of the call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import llvmlite.binding as binding
from xdsl.dialects import llvm

from ...core.llvm_intrinsics import LLVM_INTRINSICS
from .function import LlvmFunctionEmitter, Lowerings, call_instruction, lowering_unsupported
from .types import register_type


def _call_intrinsic(f: LlvmFunctionEmitter, op: llvm.CallIntrinsicOp) -> None:
    if op.op_bundle_operands:
        raise lowering_unsupported(op, "operand bundles of an intrinsic")
    name = op.intrin.data
    missing = LLVM_INTRINSICS[name].features - f.module.instructions if name in LLVM_INTRINSICS else ()
    if missing:
        raise lowering_unsupported(op, f"{name} requires {', '.join(sorted(missing))}, which the processor lacks")
    result = "void" if op.ress is None else register_type(op.ress.type)
    kinds = [register_type(value.type) for value in op.args]
    name, error = _overload(op.intrin.data, result, tuple(kinds))
    if error:
        raise lowering_unsupported(op, f"{op.intrin.data} on ({', '.join(kinds)}) with the result {result}: {error}")
    callee = f.module.declare(name, result, kinds)
    text = call_instruction(callee, result, list(zip(kinds, f.operands(op.args), strict=True)))
    if op.ress is None:
        f.emit(text)
    else:
        f.define(op.ress, text)


@cache
def _overload(name: str, result: str, kinds: Sequence[str]) -> tuple[str, str]:
    """The full name of an intrinsic for its types, such as `llvm.sadd.sat.v8i8`, and the error of LLVM, or ""."""
    parameters = ", ".join(f"{kind} %{n}" for n, kind in enumerate(kinds))
    end = "ret void" if result == "void" else f"ret {result} %result"
    start = "" if result == "void" else "%result = "
    text = (
        f'declare {result} @"{name}"({", ".join(kinds)})\n'
        f"define {result} @caller({parameters}) {{\n"
        f'  {start}call {result} @"{name}"({parameters})\n  {end}\n}}\n'
    )
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        return name, str(error).strip().splitlines()[0]
    if "; Unknown intrinsic" in str(module):
        return name, "LLVM has no intrinsic of this name"
    return next(each.name for each in module.functions if each.is_declaration), ""


LOWERINGS: Lowerings = {llvm.CallIntrinsicOp: _call_intrinsic}
