"""Faster functions of xDSL return what the originals return."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, scf, test
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, ModuleOp, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.core import xdsl_speed

ONE = IntegerAttr(1, i32)


@irdl_op_definition
class _WithDefaults(IRDLOperation):
    name = "test.with_defaults"
    first = operand_def()
    second = operand_def()
    kind = prop_def(Attribute, default_value=ONE)
    note = opt_prop_def(Attribute)
    result = result_def()


@irdl_op_definition
class _WithOption(IRDLOperation):
    name = "test.with_option"
    first = operand_def()
    rest = opt_operand_def()


def values(count: int) -> list[SSAValue]:
    return list(test.TestOp(result_types=[i32] * count).results)


def test_values_and_operations_are_compared_by_identity() -> None:
    a, b = (arith.ConstantOp(ONE) for _ in range(2))
    assert len({a, b, a.result, b.result, a}) == 4
    assert a != b
    assert a.result == a.result


@pytest.mark.parametrize(
    "cls", [Operation, IRDLOperation, arith.AddiOp, Attribute, IntegerType, SSAValue, Block, Region]
)
def test_instances_are_those_of_subclasses(cls: type) -> None:
    a, b = values(2)
    op = arith.AddiOp(a, b)
    nodes = [op, op.result, i32, i1, ONE, Block(), Region(), 1, None, cls]
    assert [isinstance(each, cls) for each in nodes] == [cls in type(each).__mro__ for each in nodes]
    assert issubclass(arith.AddiOp, cls) == (cls in arith.AddiOp.__mro__)


def test_an_abstract_class_has_no_instances() -> None:
    with pytest.raises(TypeError, match="abstract"):
        SSAValue(i32)  # pyright: ignore[reportAbstractUsage]


def test_operands_are_a_view() -> None:
    a, b, c = values(3)
    op = _WithDefaults(operands=[a, b], result_types=[i32])
    assert (op.first, op.second, op.operands[-1], list(op.operands)) == (a, b, b, [a, b])
    op.operands[1] = c
    assert op.second is c
    assert (b.first_use, [use.operation for use in c.uses]) == (None, [op])
    assert op.operands[:1] == (a,)
    assert SSAValues([a, b, c])[1:].types == (i32, i32)
    with pytest.raises(IndexError):
        op.operands[2]


def test_defaults_belong_to_an_operation() -> None:
    one, two = (_WithDefaults(operands=values(2), result_types=[i32], properties={"note": None}) for _ in range(2))
    one.properties["kind"] = i1
    assert (one.properties, two.properties) == ({"kind": i1}, {"kind": ONE})
    given_kind = _WithDefaults(operands=values(2), result_types=[i32], properties={"kind": i1})
    assert given_kind.properties == {"kind": i1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _WithDefaults(operands=values(1), result_types=[i32]), "Expected 2 operand, but got 1"),
        (lambda: _WithDefaults(operands=values(2), result_types=[]), "Expected 1 result, but got 0"),
        (lambda: _WithDefaults(operands=[None, *values(1)], result_types=[i32]), "Sequence to non-variadic .* 'first'"),
        (lambda: _WithDefaults(operands=values(2), result_types=[None]), "passed None to a non-optional .* 'result'"),
        (lambda: _WithDefaults(operands=values(2), result_types=[i32], regions=[Region()]), "Expected 0 region"),
    ],
)
def test_wrong_arguments_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_arguments_may_be_operations_and_options() -> None:
    a, b = arith.ConstantOp(ONE), arith.ConstantOp(ONE)
    assert list(_WithDefaults(operands=[a, b.result], result_types=[[i32]]).operands) == [a.result, b.result]
    assert _WithOption(operands=[a, None]).rest is None
    assert _WithOption(operands=[a, b]).rest is b.result
    with pytest.raises(VerifyException):
        arith.AddiOp(a, b, i1).verify()


@irdl_op_definition
class _WithLists(IRDLOperation):
    name = "test.with_lists"
    first = var_operand_def()
    second = operand_def()
    third = opt_operand_def()
    results_ = var_result_def()
    last = result_def()
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments())


A, B, C = values(3)


@pytest.mark.parametrize(
    ("operands", "results"),
    [
        ([[A, B], C, None], [[i32, i1], i32]),
        ([[], C, A], [[], i32]),
        ([(A,), C, [B]], [(i1,), i32]),
        ([A, C, []], [i1, [i32]]),
        ([[A, arith.ConstantOp(ONE)], C, []], [[], i32]),
    ],
)
def test_operations_with_lists_are_those_of_xdsl(operands: list[Any], results: list[Any]) -> None:
    fast, original = _WithLists.__new__(_WithLists), _WithLists.__new__(_WithLists)
    for op, init in ((fast, IRDLOperation.__init__), (original, xdsl_speed._init_irdl_operation)):
        given: dict[str, Any] = {
            "attributes": {"note": ONE, "other": None},
            "regions": [Region(Block([test.TestTermOp()]))],
        }
        init(op, operands=operands, result_types=results, **given)
    assert tuple(fast.operands) == tuple(original.operands)
    assert [each.type for each in fast.results] == [each.type for each in original.results]
    assert (fast.properties, fast.attributes) == (original.properties, original.attributes)
    assert (tuple(fast.first), fast.third) == (tuple(original.first), original.third)
    assert len(fast.regions) == 1
    fast.verify()


@pytest.mark.parametrize(
    ("operands", "results", "message"),
    [
        ([[A], [B, C], None], [[], i32], "Sequence to non-variadic .* 'second'"),
        ([[A], B, [B, C]], [[], i32], "optional .* 'third' expects a list of size at most 1"),
        ([[A], B], [[], i32], "Expected 3 operand, but got 2"),
        ([[A], B, None], [[], None], "None to a non-optional .* 'last'"),
    ],
)
def test_wrong_lists_are_refused(operands: list[Any], results: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _WithLists(operands=operands, result_types=results, regions=[Region()])


@st.composite
def _blocks(draw: st.DrawFn, depth: int = 2) -> Block:
    block = Block()
    for _ in range(draw(st.integers(0, 3))):
        condition = arith.ConstantOp(IntegerAttr(1, i1))
        block.add_op(condition)
        if depth and draw(st.booleans()):
            block.add_op(scf.IfOp(condition, [], [draw(_blocks(depth - 1))], [draw(_blocks(depth - 1))]))
    return block


@given(_blocks())
def test_walks_yield_operations_in_order(block: Block) -> None:
    module = ModuleOp(Region(block))
    found = [each for each in module.walk(region_first=True)]
    assert set(module.walk()) == set(found)
    assert list(module.walk()) == list(reversed(list(module.walk(reverse=True, region_first=True))))
    assert list(block.walk()) == list(module.walk())[1:]


def test_operations_of_a_block_may_be_detached_during_iteration() -> None:
    block = Block([arith.ConstantOp(ONE) for _ in range(4)])
    first, *others = block.ops
    for op in block.ops:
        if op is not first:
            op.detach()
    assert (list(block.ops), len(block.ops), [op.parent for op in others]) == ([first], 1, [None] * 3)
    assert list(reversed(block.ops)) == [first]


def test_an_operation_has_one_block_which_is_not_inside() -> None:
    inner, outer = Block(), Block()
    op = test.TestOp(regions=[Region(inner)])
    with pytest.raises(ValueError, match="contained in the operation"):
        inner.add_op(op)
    outer.add_op(op)
    with pytest.raises(ValueError, match="already attached"):
        Block().add_op(op)
    inner.add_op(constant := arith.ConstantOp(ONE))
    with pytest.raises(ValueError, match="already attached"):
        outer.add_op(constant)


def test_erasure_refuses_values_with_uses() -> None:
    a, b = arith.ConstantOp(ONE), arith.ConstantOp(ONE)
    users = [arith.AddiOp(a, b) for _ in range(3)]
    with pytest.raises(ValueError, match="still has uses"):
        a.erase()
    users[1].erase()
    assert [use.operation for use in b.result.uses] == [users[2], users[0]]
    for user in (users[0], users[2]):
        user.erase()
    assert (a.result.first_use, b.result.first_use) == (None, None)
    a.erase()


def test_a_copy_has_own_attributes_and_the_copies_of_operands() -> None:
    a, b, c = values(3)
    op = _WithDefaults(operands=[a, b], result_types=[i32], attributes={"x": ONE})
    op.result.name_hint = "sum_1_2"
    mapper: dict[SSAValue, SSAValue] = {a: c}
    copy = op.clone_without_regions(mapper)
    assert (list(copy.operands), mapper[op.result], copy.location) == ([c, b], copy.result, op.location)
    assert (op.result.name_hint, copy.result.name_hint) == ("sum_1", "sum")
    copy.properties["kind"] = i1
    copy.attributes.clear()
    assert (op.properties, op.attributes) == ({"kind": ONE}, {"x": ONE})
    assert op.clone_without_regions(clone_name_hints=False, clone_operands=False).result.name_hint is None
    assert list(op.clone().operands) == [a, b]


@given(_blocks())
def test_copies_are_equivalent(block: Block) -> None:
    module = ModuleOp(Region(block))
    copy = module.clone()
    assert copy.is_structurally_equivalent(module)
    assert set(copy.walk()).isdisjoint(module.walk())


@pytest.mark.parametrize("type", [i32, i64])
def test_equal_arrays_of_numbers_are_equal(type: IntegerType) -> None:
    assert DenseArrayBase.from_list(type, [1, -2]).get_values() == (1, -2)
    assert DenseArrayBase.from_list(type, [1]) == DenseArrayBase.from_list(type, (1,))
    assert DenseArrayBase.from_list(i64, [1]) != DenseArrayBase.from_list(i32, [1])
    with pytest.raises(ValueError, match="out of range"):
        DenseArrayBase.from_list(type, [2**64])


def test_copies_use_values_defined_later_and_after_branches() -> None:
    a, b = arith.ConstantOp(ONE), arith.ConstantOp(ONE)
    early = arith.AddiOp(a, b)
    first, second = Block([early, a]), Block([test.TestTermOp()], arg_types=[i32])
    first.add_op(test.TestTermOp([second.args[0]], successors=[second]))
    module = ModuleOp([b, test.TestOp(regions=[Region([first, second])])])
    mapper: dict[SSAValue, SSAValue] = {}
    assert str(module.clone(mapper)) == str(module)
    assert [use.operation for use in a.result.uses] == [early]
    assert mapper[early.result].owner.operands[0] is mapper[a.result]  # pyright: ignore[reportAttributeAccessIssue]


def test_operations_are_inserted_next_to_an_operation_of_the_block() -> None:
    a, b, c, d = (arith.ConstantOp(ONE) for _ in range(4))
    block = Block([b])
    block.insert_op_before(a, b)
    block.insert_op_after(d, b)
    block.insert_op_after(c, b)
    assert (list(block.ops), block.first_op, block.last_op) == ([a, b, c, d], a, d)
    assert list(reversed(block.ops)) == [d, c, b, a]
    for insert in (block.insert_op_before, block.insert_op_after):
        with pytest.raises(ValueError, match="operation not in"):
            insert(arith.ConstantOp(ONE), arith.ConstantOp(ONE))
        with pytest.raises(ValueError, match="already attached"):
            insert(a, b)


def test_ancestors_contain_operations() -> None:
    inner = arith.ConstantOp(ONE)
    block = Block([inner])
    outer = test.TestOp(regions=[Region(block)])
    module = ModuleOp([outer])
    assert [each.is_ancestor(inner) for each in (inner, block, outer, module)] == [True] * 4
    assert not inner.is_ancestor(outer)
    assert (inner.parent_op(), outer.parent_op(), module.parent_op()) == (outer, module, None)


@irdl_op_definition
class _WithTypes(IRDLOperation):
    name = "test.with_types"
    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType))
    first = operand_def(i32)
    second = operand_def(T)
    result = result_def(T)


@pytest.mark.parametrize(
    ("operands", "result", "message"),
    [
        ([i32, i32], i32, None),
        ([i32, i64], i64, None),
        ([i64, i64], i64, "operand 'first' at position 0 does not verify:\nExpected attribute i32 but got i64"),
        ([i32, f32], f32, "operand 'second' at position 1 does not verify:\nf32 should be of base attribute"),
        ([i32, i32], i64, "result 'result' at position 0 does not verify:\n.* from variable 'T'"),
        ([i32], i32, "Expected 2 operands, but got 1"),
        ([i32, i32, i32], i32, "Expected 2 operands, but got 3"),
    ],
)
def test_verification_finds_what_xdsl_finds(operands: list[Attribute], result: Attribute, message: str | None) -> None:
    op = _WithTypes(operands=values(2), result_types=[result])
    op.operands = list(test.TestOp(result_types=operands).results)
    if message is None:
        op.verify()
    else:
        with pytest.raises(VerifyException, match=message):
            op.verify()


def test_verification_counts_regions_and_successors() -> None:
    op = _WithTypes(operands=values(2), result_types=[i32])
    op.add_region(Region())
    with pytest.raises(VerifyException, match="Expected 0 regions, but got 1"):
        op.verify()
