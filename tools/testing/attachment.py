"""The uses of values after a pass: a detached op that is not erased keeps its operands in use."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...module import Module


def assert_uses_are_attached(module: Module) -> None:
    """Raises AssertionError if an op outside of the module uses a value of the module."""
    values: list[SSAValue] = []
    for op in module.op.walk():
        values += op.results
        values += [argument for region in op.regions for block in region.blocks for argument in block.args]
    for value in values:
        for use in value.uses:
            op = use.operation
            assert module.op.is_ancestor(op), f"{op.name}, which is in no module, uses a result of {value.owner}"
