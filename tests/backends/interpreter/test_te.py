"""Functions on tensors in the interpreter, without lowering, compared with numpy."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.interpreter import interpret
from stepwell.core.errors import ArgumentError, UndefinedBehaviorError
from stepwell.frontends import te
from stepwell.frontends.mlir import parse_mlir
from stepwell.tools.testing.te import CASES, TensorCase

RUNNING = [case for case in CASES if case.runs and not case.tvm_refuses]


@pytest.mark.parametrize("case", RUNNING, ids=lambda case: case.name)
def test_tensors_are_what_numpy_computes(case: TensorCase) -> None:
    inputs = case.inputs(te)
    expected = case.reference_outputs(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    mod = te.create_te_func(case.build(te), case.index_dtype)
    interpret(mod, "main", case.arguments(inputs, outputs))
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


def test_a_step_that_does_not_count_reads_nothing() -> None:
    n = te.var("n")
    A = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 100), "k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k, where=k < n), name="B")
    mod, out = te.create_te_func([n, A, B]), np.zeros(1, "float32")
    interpret(mod, "main", [8, np.ones(8, "float32"), out])
    assert out[0] == 8
    with pytest.raises(UndefinedBehaviorError, match=r"te.read: A\[8\] is out of bounds"):
        interpret(mod, "main", [9, np.ones(8, "float32"), out])


def test_an_element_that_nothing_computes_is_found() -> None:
    text = """
    te.func @main {
      %A = te.placeholder "A" [4] : tensor<4xf32>
      %I = te.compute "I" (spatial "t" %t : i32 in [0 +: 1], spatial "i" %i : i32 in [0 +: 4]) : tensor<1x4xf32> {
        %0 = te.read %A[%i] : tensor<4xf32>
        te.yield %0 : f32
      }
      %S = te.scan "S" time "t" init %I : tensor<1x4xf32> (%t : i32, %s : tensor<3x4xf32>) {
        %U = te.compute "U" (spatial "i" %i : i32 in [0 +: 4]) : tensor<4xf32> {
          %0 = te.read %s[%t, %i] : tensor<3x4xf32>
          te.yield %0 : f32
        }
        te.yield %U : tensor<4xf32>
      }
      te.params %A : tensor<4xf32>
    }
    """
    with pytest.raises(UndefinedBehaviorError, match=r"te.read: S\[1, 0\] is read, but was never written"):
        interpret(parse_mlir(text), "main", [np.ones(4, "float32")])


def test_sizes_agree() -> None:
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    mod = te.create_te_func([A, B, te.compute((n,), lambda i: A[i] + B[i], name="C")])
    arguments: list[Any] = [np.ones(3, "float32"), np.ones(4, "float32"), np.ones(3, "float32")]
    with pytest.raises(ArgumentError, match=r"B: shape\[0\] is 4, expected 3"):
        interpret(mod, "main", arguments)


def test_nothing_is_computed_of_no_elements_though_there_be_many() -> None:
    A = te.placeholder((0, 2**40), "float32", name="A")
    mod = te.create_te_func([A, te.compute((2**40, 0), lambda i, j: A[j, i], name="B")])
    interpret(mod, "main", [np.zeros((0, 2**40), "float32"), np.zeros((2**40, 0), "float32")])
