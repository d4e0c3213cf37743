"""Dominance check, which xDSL's verifier lacks: every value is defined before its uses."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from .errors import VerifyError


def check_dominance(root: Operation) -> None:
    """Raise `VerifyError` unless the definition of every operand inside `root` precedes its use, in the same or an
    enclosing block. For structured IR, where each region is one block.

    Obsolete once https://github.com/xdslproject/xdsl/issues/1033 is resolved.
    """
    for region in root.regions:
        for block in region.blocks:
            _check_block(block, {})


def _check_block(block: Block, live: dict[SSAValue, None]) -> None:
    added: list[SSAValue] = list(block.args)
    live.update(dict.fromkeys(added))
    for op in block.ops:
        for i, operand in enumerate(op.operands):
            if operand not in live:
                raise VerifyError(f"operand {i} of {op.name} is used before it is defined, or outside of where it is")
        for region in op.regions:
            for inner in region.blocks:
                _check_block(inner, live)
        live.update(dict.fromkeys(op.results))
        added += op.results
    for value in added:
        del live[value]
