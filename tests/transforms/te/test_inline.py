"""te-inline preserves the results of tensor expressions."""

from functools import partial

import numpy as np
import pytest

from stepwell import apply_passes, build
from stepwell.dialects.te import ComputeOp
from stepwell.expressions.expr import PrimExpr
from stepwell.frontends import te
from stepwell.tools.testing.te import CASES, TensorCase
from stepwell.transforms.pipelines import run_pipeline
from stepwell.transforms.te.inline import TeInlinePass
from stepwell.transforms.te.to_tir import ConvertTeToTirPass

RUNNING = [case for case in CASES if case.runs and not case.tvm_refuses]


MULTIPLE = [
    case for case in RUNNING if sum(isinstance(op, ComputeOp) for op in te.create_te_func(case.build(te)).op.walk()) > 1
]


@pytest.mark.parametrize("case", MULTIPLE, ids=lambda case: case.name)
def test_what_is_computed_stays(case: TensorCase) -> None:
    mod = run_pipeline(te.create_te_func(case.build(te), case.index_dtype), [TeInlinePass()])
    mod.verify()
    inputs = case.inputs(te)
    expected = case.reference_outputs(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    build(run_pipeline(mod, [ConvertTeToTirPass()]))["main"](*case.arguments(inputs, outputs))
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


def test_what_only_its_elements_are_used_of_is_gone() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    mod = run_pipeline(te.create_te_func([a, te.compute((4,), lambda i: b[i] * b[i + 4], name="C")]), [TeInlinePass()])
    assert [op.op_name.data for op in mod.op.walk() if isinstance(op, ComputeOp)] == ["C"]


def test_a_parameter_stays() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i] * 2.0, name="C")
    mod = run_pipeline(te.create_te_func([a, b, c]), [TeInlinePass()])
    assert [op.op_name.data for op in mod.op.walk() if isinstance(op, ComputeOp)] == ["B", "C"]


def test_a_long_chain_of_squares_is_written_once_for_each() -> None:
    A = te.placeholder((4,), name="A")
    made = A
    for n in range(60):  # 2 ** 60 factors if each expression was duplicated into each reader
        made = te.compute((4,), partial(_square, made), name=f"B{n}")
    mod = apply_passes(te.create_te_func([A, made]), "te-inline")
    assert str(mod).count("arith.mulf") == 60


def _square(x: te.Tensor, i: te.Var) -> PrimExpr:
    return x[i] * x[i]
