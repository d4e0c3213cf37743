"""Searches for operations visit those of all regions in the order of the text."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Operation, Region

from stepwell.core.walking import count_ops, find_ops


def _op(*regions: Region) -> test.TestOp:
    return test.TestOp(result_types=[i32], regions=list(regions))


def _nested() -> test.TestOp:
    """An operation with three regions: of two blocks, of none, and of one block with an operation with a region."""
    inner = _op(Region(Block([_op(), _op()])))
    return _op(Region([Block([_op()]), Block([_op(), _op()])]), Region(), Region(Block([_op(), inner, _op()])))


def _in_order(op: Operation) -> list[Operation]:
    inside = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    return [op, *(each for inner in inside for each in _in_order(inner))]


def test_operations_are_found_in_the_order_of_the_text() -> None:
    module = ModuleOp([_op(), _nested(), _op()])
    assert list(find_ops(module, Operation)) == list(module.walk()) == _in_order(module)
    assert list(find_ops(module, test.TestOp)) == _in_order(module)[1:]
    assert list(find_ops(module, ModuleOp)) == [module]
    assert list(find_ops(module, ModuleOp, test.TestPureOp)) == [module]


def test_a_search_begins_at_a_block_or_a_region() -> None:
    op = _nested()
    inside = _in_order(op)[1:]
    first, _, last = op.regions
    assert list(find_ops(first, Operation)) == list(first.walk()) == inside[:3]
    assert list(find_ops(first.blocks[0], Operation)) == inside[:1]  # without the next block
    assert list(find_ops(last, Operation)) == list(last.blocks[0].walk()) == inside[3:]


def test_a_search_may_erase_what_it_finds() -> None:
    module = ModuleOp([_op(), _op(), _op()])
    for op in find_ops(module, test.TestOp):
        op.detach()
        op.erase()
    assert list(module.walk()) == [module]


@pytest.mark.parametrize("op", [_op(), _nested(), ModuleOp([_nested(), _op(Region(Block())), _nested()])])
def test_operations_are_counted(op: Operation) -> None:
    assert count_ops(op) == len(_in_order(op))
    for region in op.regions:
        assert count_ops(region) == len(list(region.walk()))
        for block in region.blocks:
            assert count_ops(block) == len(list(block.walk()))
