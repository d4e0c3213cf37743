"""Dominance check, which xDSL's verifier lacks: every value is defined before its uses."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue


def undominated_use(root: Operation) -> tuple[Operation, str] | None:
    """The first operation inside `root` with an operand whose definition does not precede it, in the same or an
    enclosing block, and the description of the operand; None without one. For structured IR, where each region is one
    block.

    Obsolete once https://github.com/xdslproject/xdsl/issues/1033 is resolved.
    """
    blocks = (block for region in root.regions for block in region.blocks)
    return next((use for block in blocks for use in _undominated_uses(block, {})), None)


def _undominated_uses(block: Block, live: dict[SSAValue, None]) -> Iterator[tuple[Operation, str]]:
    added: list[SSAValue] = list(block.args)
    live.update(dict.fromkeys(added))
    for op in block.ops:
        for i, operand in enumerate(op.operands):
            if operand not in live:
                yield op, f"operand {i} of {op.name} is used before it is defined, or outside of where it is"
        for region in op.regions:
            for inner in region.blocks:
                yield from _undominated_uses(inner, live)
        live.update(dict.fromkeys(op.results))
        added += op.results
    for value in added:
        del live[value]
