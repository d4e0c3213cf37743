"""The `relax` dialect: builders, relations of types, and constraints that text cannot break."""

import pytest
from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr, StringAttr, TensorType, f32, i64
from xdsl.utils.exceptions import VerifyException

from stepwell.operators.relax import CallableType, ObjectType, PartialTensorType, PrimType, ShapeType, TupleGetOp
from stepwell.operators.relax.types import (
    accepts,
    may_match,
    names_bound_by,
    names_in,
    number_of,
    prim,
    replace_names,
    shape,
    substitute,
    tensor,
    tuple_type,
)
from stepwell.operators.relay import tensor_type

N4 = tensor_type(["n", 4], "float32")


def test_a_tensor_of_known_shape_and_data_type_has_the_type_of_relay() -> None:
    assert tensor(["n", 4], "float32") == N4
    assert tensor([2, 3], "int8") == tensor_type([2, 3], "int8")


def test_a_partial_tensor_type_has_no_data_type_beside_a_shape() -> None:
    with pytest.raises(VerifyException, match=r"\(C2\) shape and data type"):
        PartialTensorType(ArrayAttr([IntAttr(4)]), NoneAttr(), f32)
    with pytest.raises(VerifyException, match=r"\(C2\) shape and rank"):
        PartialTensorType(ArrayAttr([IntAttr(4)]), IntAttr(1), NoneAttr())


def test_a_shape_type_has_no_rank_beside_sizes() -> None:
    with pytest.raises(VerifyException, match=r"\(C2\) sizes and rank"):
        ShapeType(ArrayAttr([IntAttr(4)]), IntAttr(1))
    with pytest.raises(VerifyException, match=r"\(C1\) size -1, expected at least 0"):
        ShapeType(ArrayAttr([IntAttr(-1)]), NoneAttr())


def test_a_number_has_a_value_of_its_type() -> None:
    with pytest.raises(VerifyException, match=r"\(C1\) integer 4 of a float"):
        PrimType(f32, IntAttr(4))
    with pytest.raises(VerifyException, match=r"\(C1\) float 0.5 of an integer"):
        PrimType(i64, prim(0.5).value)
    assert [number_of(prim(value)) for value in (4, "n + 1", 0.5, None)] == [4, "n + 1", 0.5, None]


def test_a_callable_type_has_a_result_beside_parameters() -> None:
    with pytest.raises(VerifyException, match=r"\(C1\) parameters without a result type"):
        CallableType(ArrayAttr([f32]), NoneAttr(), NoneAttr())


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (ObjectType(), N4),
        (tensor(None, None), N4),
        (tensor(None, None, 2), N4),
        (tensor(None, "float32"), N4),
        (tensor(None, "float32", 2), N4),
        (tensor(["n", 4], None), N4),
        (tensor(None, None, 2), tensor(None, "float32", 2)),
        (shape(None), shape(["n"])),
        (shape(None, 1), shape(["n"])),
        (prim(None), prim("n")),
        (tuple_type([ObjectType()]), tuple_type([N4])),
        (CallableType(NoneAttr(), NoneAttr(), NoneAttr()), CallableType(ArrayAttr([N4]), N4, NoneAttr())),
    ],
)
def test_a_type_accepts_more_specific_types(expected: TensorType, actual: TensorType) -> None:
    assert accepts(expected, actual)
    assert not accepts(actual, expected)
    assert may_match(actual, expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (N4, tensor_type(["n", 5], "float32")),
        (N4, tensor_type(["n", 4], "float64")),
        (N4, tensor(None, None, 3)),
        (N4, tensor(None, "int32")),
        (shape([1, 2]), shape(None, 3)),
        (shape(["n"]), N4),
        (prim(None, "int64"), prim(None, "int32")),
        (tuple_type([N4]), tuple_type([N4, N4])),
        (tuple_type([N4]), tuple_type([prim("n")])),
    ],
)
def test_values_of_different_types_never_match(one: TensorType, other: TensorType) -> None:
    assert not accepts(one, other)
    assert not may_match(one, other)
    assert not may_match(other, one)


def test_equal_sizes_in_different_spellings_are_one_type() -> None:
    assert tensor(["n + n", "2 * m - m"], "float32") == tensor(["2 * n", "m"], "float32")
    assert tensor(["n"], "float32") != tensor(["m"], "float32")


def test_sizes_of_a_type() -> None:
    type = tuple_type([N4, shape(["2 * n", "m"]), prim("k // 2"), tensor(["j"], None)])
    assert names_in(type) == ["n", "m", "k", "j"]
    assert names_bound_by(type) == ["n", "m", "j"]


def test_names_of_sizes_are_replaced_at_once() -> None:
    assert replace_names("2 * n + m", {"n": "m", "m": "n"}) == "2 * m + n"
    assert replace_names("2 * n + m", {"n": 3, "m": 4}) == 10
    assert replace_names("n * m", {"n": "m"}) == "m * m"
    type = tuple_type([N4, shape(["n"]), prim("n + 1"), tensor(["n"], None), ObjectType()])
    expected = tuple_type([tensor([7, 4], "float32"), shape([7]), prim(8), tensor([7], None), ObjectType()])
    assert substitute(type, {"n": 7}) == expected


def test_a_field_that_a_tuple_lacks_is_an_error() -> None:
    from xdsl.ir import Block

    block = Block(arg_types=[tuple_type([N4])])
    assert TupleGetOp(block.args[0], 0).output.type == N4
    with pytest.raises(IndexError):
        TupleGetOp(block.args[0], 1)


def test_sizes_of_a_shape_are_text_in_normal_form() -> None:
    with pytest.raises(VerifyException, match=r"\(C1\) size 'n \+ n', expected '2 \* n'"):
        ShapeType(ArrayAttr([StringAttr("n + n")]), NoneAttr())
