"""Proofs by z3 that `tir-simplify` preserves the values of integer expressions and of conditions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import IntegerType, i8, i16, i32, i64
from xdsl.ir import SSAValue

from stepwell.dialects.tir import EvaluateOp, FuncOp, IfOp, TirBuilder
from stepwell.tools.testing.proofs import Terms, TypedBuilder, prove
from stepwell.transforms.tir.simplify import simplify

Expression = Callable[[TirBuilder, SSAValue, SSAValue, SSAValue], SSAValue]

EXPRESSIONS: dict[str, Expression] = {
    "digits": lambda b, i, j, n: b.binary("floordiv", b.add(b.mul(i, 4), j), 4),
    "remainder": lambda b, i, j, n: b.binary("floormod", b.add(b.mul(i, 4), j), 8),
    "wrapped sum": lambda b, i, j, n: b.sub(b.add(b.mul(n, 3), j), b.mul(n, 2)),
    "extremum": lambda b, i, j, n: b.binary("min", b.add(j, 4), b.binary("max", n, j)),
    "number": lambda b, i, j, n: b.sub(b.add(i, 1), i),
    "decided select": lambda b, i, j, n: b.select(b.binary("lt", i, n), j, n),
    "select": lambda b, i, j, n: b.select(b.binary("lt", j, n), b.add(j, 1), n),
    "lazy choice": lambda b, i, j, n: b.if_then_else(b.binary("ge", n, i), i.type, lambda: j, lambda: n),
    "true": lambda b, i, j, n: b.binary("ge", n, 1),
    "comparison": lambda b, i, j, n: b.binary("lt", b.binary("floordiv", b.add(n, j), 4), i),
    "and true": lambda b, i, j, n: b.binary("and", b.binary("gt", n, i), b.binary("eq", j, n)),
    "and false": lambda b, i, j, n: b.binary("and", b.binary("eq", j, n), b.binary("lt", n, i)),
    "or false": lambda b, i, j, n: b.binary("or", b.binary("eq", j, n), b.binary("lt", n, 0)),
    "or true": lambda b, i, j, n: b.binary("or", b.binary("eq", j, n), b.binary("ge", n, i)),
    "folded": lambda b, i, j, n: b.cast(b.cast(b.sub(b.add(j, 5), j), "uint8"), "int64"),
}


# For every number n that is greater than i, an outer loop over i from 0 to 8 and an inner loop over j from 0 to 4.
TYPES = (i8, i16, i32, i64)


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_simplification_preserves_the_value(type: IntegerType, name: str) -> None:
    func = FuncOp("f", [("n", type)])
    (n,) = func.body.block.args
    b = TypedBuilder(func.body.block, type)
    with b.loops(("i", "j"), (8, 4), type=type) as (i, j):
        guard = b.insert(IfOp(b.binary("gt", n, i)))
        use = TypedBuilder(guard.then.block, type)
        evaluate = use.insert(EvaluateOp(EXPRESSIONS[name](use, i, j, n)))
    terms = Terms()
    given, before = terms.condition(guard.condition), terms.value(evaluate.value)
    ops = len(list(func.walk()))
    simplify(func)
    assert len(list(func.walk())) < ops
    prove(terms.value(evaluate.value) == before, (*terms.assumptions, given))
