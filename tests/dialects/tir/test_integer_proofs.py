"""Proofs by z3 of constant folding of integers, and of the canonicalization of casts of integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
import z3
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass

from stepwell.core.comparisons import UNSIGNED_PREDICATES
from stepwell.core.dtypes import DType, dtype_of, int_range, mlir_type, wrap_int
from stepwell.dialects.tir import (
    COMPARISONS,
    DIVISIONS,
    INT_BINARY,
    SHIFTS,
    CastOp,
    EvaluateOp,
    TirBuilder,
    comparison,
    constant_value,
)
from stepwell.dialects.tir.fold import fold
from stepwell.tools.testing.proofs import Terms, prove

TYPES = (DType("bool", 1), *(DType(kind, bits) for kind in ("int", "uint") for bits in (8, 16, 32, 64)))


def _numbers(dtype: DType) -> list[int]:
    """The ends of a type, and small numbers."""
    low, high = int_range(dtype)
    return sorted({wrap_int(number, dtype) for number in (low, -7, 0, 1, 3, high)})


def _prove_folds(ops: Sequence[Operation]) -> list[Operation]:
    """Proves that the folded constants are the results of the operations; returns the operations that stay."""
    terms = Terms()
    claims: list[z3.BoolRef] = []
    for op in ops:
        value = fold(op)
        if value is not None:
            number = constant_value(value)
            assert isinstance(number, int)
            claims.append(terms.value(op.results[0]) == number)
    prove(z3.And(claims), terms.assumptions)
    return [op for op in ops if fold(op) is None]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_operators_on_constants_fold_to_their_results(dtype: DType) -> None:
    b = TirBuilder(Block())
    names = ("and", "or", "xor") if dtype.is_bool else INT_BINARY
    ops: list[Operation] = []
    excluded: list[Operation] = []
    for name, x, y in product(names, _numbers(dtype), _numbers(dtype)):
        operator = INT_BINARY[name][dtype.kind == "uint"]
        op = b.insert(operator(b.const(x, dtype), b.const(y, dtype)))  # pyright: ignore[reportCallIssue]
        ops.append(op)
        if (y == 0 and isinstance(op, DIVISIONS)) or (isinstance(op, SHIFTS) and not 0 <= y < dtype.bits):
            excluded.append(op)
    assert _prove_folds(ops) == excluded


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_comparisons_of_constants_fold_to_their_results(dtype: DType) -> None:
    b = TirBuilder(Block())
    pairs = [(b.const(x, dtype), b.const(y, dtype)) for x, y in product(_numbers(dtype), repeat=2)]
    assert _prove_folds([b.insert(comparison(name, *pair)) for name, pair in product(COMPARISONS, pairs)]) == []
    if dtype.kind == "int":  # negative numbers as bits stay
        bits = [b.insert(arith.CmpiOp(*pair, name)) for name, pair in product(UNSIGNED_PREDICATES, pairs)]
        assert len(_prove_folds(bits)) < len(bits)


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_casts_of_constants_fold_to_their_results(source: DType) -> None:
    b = TirBuilder(Block())
    constants = [b.const(x, source) for x in _numbers(source)]
    assert _prove_folds([b.insert(CastOp(x, mlir_type(to))) for x, to in product(constants, TYPES)]) == []


@pytest.mark.parametrize("outer", TYPES, ids=str)
@pytest.mark.parametrize("inner", TYPES, ids=str)
def test_a_pair_of_casts_is_erased_exactly_if_it_is_lossless(inner: DType, outer: DType) -> None:
    block = Block(arg_types=[mlir_type(inner)])
    b = TirBuilder(block)
    wide = b.insert(CastOp(block.args[0], mlir_type(outer))).result
    use = b.insert(EvaluateOp(b.insert(CastOp(wide, mlir_type(inner))).result))
    terms = Terms()
    before = terms.value(use.value)
    CanonicalizePass().apply(Context(), ModuleOp(Region(block)))
    after = terms.value(use.value)
    prove(before == after, terms.assumptions)
    low, high = int_range(dtype_of(use.value.type))
    lossless = all(_there_and_back(x, inner, outer) == x for x in (low, high, high // 2 + 1))
    assert isinstance(use.value, SSAValue)
    assert (use.value is block.args[0]) == lossless


def _there_and_back(number: int, inner: DType, outer: DType) -> int:
    """A number of type `inner` after casts to `outer` and back."""
    there = int(number != 0) if outer.is_bool else wrap_int(number, outer)
    return int(there != 0) if inner.is_bool else wrap_int(there, inner)
