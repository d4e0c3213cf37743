"""Programs in xDSL's interpreter: its arrays, its listeners, and foreign operations."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import i32
from xdsl.interpreter import Interpreter, InterpreterFunctions, OpCounter, PythonValues, impl, register_impls
from xdsl.interpreters import register_implementations as register_upstream
from xdsl.interpreters.shaped_array import ShapedArray
from xdsl.interpreters.utils.ptr import TypedPtr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import InterpretationError

from stepwell import parse_mlir, parse_tvmscript
from stepwell.backends.interpreter import interpret, register_implementations
from stepwell.core.errors import ArgumentError, ExecutionError, UnsupportedError
from stepwell.dialects import mlir_context
from stepwell.module import FunctionNotFoundError

COUNT = """
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = A[i] + i
"""


def made(text: str = COUNT) -> Interpreter:
    interpreter = Interpreter(parse_tvmscript(text).op)
    register_upstream(interpreter, mlir_context())
    register_implementations(interpreter)
    return interpreter


def test_arrays_of_xdsl_are_written_in_place() -> None:
    array = ShapedArray(TypedPtr[int].new([5, 6, 7, 8], xtype=i32), [4])
    assert made().call_op("main", (array,)) == ()
    assert array.data == [5, 7, 9, 11]


def test_a_function_is_called_again() -> None:
    interpreter, array = made(), np.zeros(4, "int32")
    interpreter.call_op("main", (array,))
    interpreter.call_op("main", (array,))
    assert array.tolist() == [0, 2, 4, 6]


def test_listeners_see_every_op() -> None:
    interpreter, counter = made(), OpCounter()
    interpreter.listeners = (counter,)
    interpreter.call_op("main", (np.zeros(4, "int32"),))
    assert counter.ops["tir.for"] == 1
    assert counter.ops["tir.store"] == 4


def test_arguments_are_checked() -> None:
    with pytest.raises(ArgumentError, match="main: argument A: expected elements of type int32"):
        made().call_op("main", (np.zeros(4, "float32"),))


@irdl_op_definition
class AnswerOp(IRDLOperation):
    name = "test.answer"
    result = result_def(i32)


@register_impls
class AnswerFunctions(InterpreterFunctions):
    @impl(AnswerOp)
    def run_answer(self, interpreter: Interpreter, op: AnswerOp, args: PythonValues) -> PythonValues:
        return (42,)


def with_answers(interpreter: Interpreter) -> Interpreter:
    """Inserts a foreign operation before each addition, as its second operand."""
    for op in list(interpreter.module.walk()):
        if isinstance(op, Operation) and op.name == "arith.addi":
            answer = AnswerOp(result_types=[i32])
            Rewriter.insert_op(answer, InsertPoint.before(op))
            op.operands[1] = answer.result
    return interpreter


def test_ops_of_others_run_among_ours() -> None:
    interpreter, array = with_answers(made()), np.arange(4, dtype="int32")
    interpreter.register_implementations(AnswerFunctions())
    interpreter.call_op("main", (array,))
    assert array.tolist() == [42, 43, 44, 45]


def test_an_op_that_nobody_runs_is_named() -> None:
    with pytest.raises(InterpretationError, match=r"Could not find interpretation function for op test\.answer"):
        with_answers(made()).call_op("main", (np.zeros(4, "int32"),))


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(FunctionNotFoundError, match=r"no function 'mian', did you mean 'main'\? \(has: main\)"):
        interpret(parse_tvmscript(COUNT), "mian", [])


def test_a_packed_function_that_fails_is_told() -> None:
    text = 'tir.func @main() {\n tir.call_packed "boom"() \n}'

    def boom(*args: Any) -> None:
        raise RuntimeError("no")

    with pytest.raises(ExecutionError, match="packed function 'boom' failed: RuntimeError: no"):
        interpret(parse_mlir(text), "main", [], packed={"boom": boom})


def test_a_symbol_that_nothing_says_is_refused() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>) {
      %n = tir.symbol "n" : i32
      tir.store %n, %A[%n] : memref<4xi32>
    }
    """
    with pytest.raises(UnsupportedError, match=r"tir.symbol: a symbol that is not the extent, stride or offset"):
        interpret(parse_mlir(text), "main", [np.zeros(4, "int32")])
    unused = text.replace("tir.store %n, %A[%n]", "%z = arith.constant 2 : i32\n tir.store %z, %A[%z]")
    array = np.zeros(4, "int32")
    interpret(parse_mlir(unused), "main", [array])
    assert array.tolist() == [0, 0, 2, 0]
