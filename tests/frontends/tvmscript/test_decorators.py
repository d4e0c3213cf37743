"""Python functions and classes as programs, with the names of their enclosing scopes."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false, reportGeneralTypeIssues=false
# pyright: reportRedeclaration=false

import linecache
import sys
import types

import numpy as np
import pytest

import stepwell
from stepwell import Module
from stepwell.core.errors import ParseError, UnsupportedError
from stepwell.frontends import te
from stepwell.frontends.tvmscript.decorators import I, T

N = 16
SCALES = {"half": 0.5}


def scaled(x, factor):
    return x * factor + 1


def body(module: Module) -> list[str]:
    return [line.strip() for line in module.script().splitlines()]


def test_a_function_is_a_module_of_one_function() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), b: T.handle):
        B = T.match_buffer(b, (8,))
        for i in range(8):
            B[i] = A[i] + 1.0

    assert list(main) == ["main"]
    assert "B[i] = A[i] + T.float32(1.0)" in body(main)


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_unchecked_functions_may_have_variables_without_a_value(target: str) -> None:
    @T.prim_func(check_well_formed=False)
    def main(A: T.Buffer((8,), "int32")):
        x = T.int32()
        for i in range(8):
            A[i] = x

    assert "A[i] = x" in body(main)
    with pytest.raises(UnsupportedError, match="symbol x is not the extent"):
        stepwell.build(main, target=target)


def test_classes_of_one_name_are_modules_of_their_own() -> None:
    @I.ir_module
    class Kernels:
        @T.prim_func
        def one(A: T.Buffer((8,), "float32")):
            A[0] = T.float32(1)

    first = Kernels

    @I.ir_module
    class Kernels:
        @T.prim_func
        def two(A: T.Buffer((8,), "float32")):
            A[0] = T.float32(2)

    last = Kernels

    @I.ir_module
    class Kernels:
        @T.prim_func
        def three(A: T.Buffer((8,), "float32")):
            A[0] = T.float32(3)

    assert [list(each) for each in (first, last, Kernels)] == [["one"], ["two"], ["three"]]


def test_a_class_is_a_module_of_its_functions() -> None:
    @I.ir_module
    class Kernels:
        K = 4

        @T.prim_func
        def main(A: T.Buffer((N,), "float32")):
            Kernels.helper(A.data)

        @T.prim_func(private=True)
        def helper(A: T.Buffer((N,), "float32")):
            A[0] = T.float32(K)  # noqa: F821  the class's own constant

    assert list(Kernels) == ["main", "helper"]
    assert "cls.helper(A.data)" in body(Kernels)
    assert "A[0] = T.float32(4.0)" in body(Kernels)


def test_free_variables_globals_and_functions_are_evaluated() -> None:
    def make(n: int, dtype: str) -> Module:
        offsets = [1, 2]

        @T.prim_func
        def f(A: T.Buffer((n, N), dtype), B: T.Buffer((n,), dtype)):
            for i in range(n):
                B[i] = scaled(A[i, offsets[1]], 3) + scaled(1, 1) + len(offsets)

        return f

    assert "B[i] = A[i, 2] * 3 + 1 + 2 + 2" in body(make(4, "int32"))
    assert 'def f(A: T.Buffer((8, 16), "int8"), B: T.Buffer((8,), "int8")):' in body(make(8, "int8"))


def test_numpy_types_and_numbers_are_values() -> None:
    dtype, count, factor = np.float32, np.int64(4), np.float32(0.5)

    @T.prim_func
    def f(A: T.Buffer((count,), dtype)):
        A[0] = A[1] * factor

    assert 'def f(A: T.Buffer((4,), "float32")):' in body(f)
    assert "A[0] = A[1] * T.float32(0.5)" in body(f)


def test_literals_of_tensor_expressions_are_numbers() -> None:
    count, zero, half = te.const(4, "int32"), te.const(0, "int8"), te.const(0.5, "float16")

    @T.prim_func
    def f(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "float16")):
        for i in range(count):  # pyright: ignore[reportArgumentType]
            A[i] = zero
            B[i] = B[i] * half

    assert body(f)[-3:] == ["for i in range(4):", "A[i] = T.int8(0)", "B[i] = B[i] * T.float16(0.5)"]


def test_conditions_known_while_reading_choose() -> None:
    use_bias = True

    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        if use_bias:
            A[0] = SCALES["half"] if N > 8 else 0.0
        else:
            A[1] = 1.0

    assert "A[0] = T.float32(0.5)" in body(f)
    assert "A[1] = T.float32(1.0)" not in body(f)


def test_macros_stand_for_their_bodies() -> None:
    step = 3

    @T.macro
    def store(A, i, value):
        A[i + step] = value

    @T.macro(hygienic=False)
    def touch(A):
        A[j] = 0.0  # noqa: F821  the caller's loop variable

    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        for j in range(8):
            store(A, j, 2.0)
            touch(A)

    assert {"A[j + 3] = T.float32(2.0)", "A[j] = T.float32(0.0)"} <= set(body(f))


def test_old_annotations_are_evaluated_by_python_without_harm() -> None:
    @T.prim_func
    def f(x: T.Buffer[(2, 3), "float32"], p: T.Ptr[T.float32], n: T.int32) -> None:  # noqa: F821
        x[0, 1] = T.Cast("float32", n)

    assert 'def f(x: T.Buffer((2, 3), "float32"), p: T.handle("float32"), n: T.int32):' in body(f)


def test_an_error_points_to_the_line_of_the_file() -> None:
    with pytest.raises(ParseError) as caught:

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            for i in range(8):
                A[i] = AA[i]  # noqa: F821

    lines = str(caught.value).splitlines()
    where, _, message = lines[0].partition(": error: ")
    file, line, column = where.rsplit(":", 2)
    assert file == __file__
    with open(__file__) as source:
        assert source.read().splitlines()[int(line) - 1] == lines[1][4:]
    assert (column, message) == ("24", "undefined name 'AA', did you mean 'A'?")


def test_a_function_without_source_is_refused() -> None:
    namespace = {"T": T}
    exec("def f(A: T.handle):\n    pass", namespace)
    with pytest.raises(ParseError, match="cannot read the source of f"):
        T.prim_func(namespace["f"])


def test_a_class_of_a_notebook_has_a_source() -> None:
    cell = """
@I.ir_module
class Doubled:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] * 2.0
"""
    name = "<ipython-input-1-0123456789ab>"
    notebook = types.ModuleType("__notebook__")  # as `__main__` of a notebook, without a file
    vars(notebook).update(I=I, T=T)
    lines = [*map(str, cell.splitlines(keepends=True))]
    linecache.cache[name] = (len(cell), None, lines, name)
    sys.modules["__notebook__"] = notebook
    try:
        exec(compile(cell, name, "exec"), vars(notebook))
    finally:
        del sys.modules["__notebook__"], linecache.cache[name]
    module = vars(notebook)["Doubled"]
    assert "A[i] = A[i] * T.float32(2.0)" in module.script()


def test_a_failing_function_of_the_caller_is_a_diagnostic() -> None:
    def broken(x):
        raise RuntimeError("no")

    with pytest.raises(ParseError, match="broken failed: RuntimeError: no"):

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            A[0] = broken(A[1])


def test_an_expression_has_no_truth_value_for_the_caller() -> None:
    def choose(x):
        return 1 if x > 0 else 2

    with pytest.raises(ParseError, match="an expression has no truth value while the program is read"):

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            A[0] = choose(A[1])


def test_words_exist_or_python_says_so() -> None:
    assert repr(T.float32) == "T.float32"
    assert repr(T.axis.spatial(8, 1)) == "T.axis.spatial"
    assert "prim_func" in dir(T)
    with pytest.raises(AttributeError, match=r"T has no 'prim_fun', did you mean 'prim_func'?"):
        T.prim_fun
    with pytest.raises(TypeError, match="has a meaning in TVMScript only"):
        list(T.grid(2))


def test_functions_of_a_class_without_a_decorator_are_parsed_at_once() -> None:
    class Programs:
        size = 4

        @T.prim_func
        def double(A: T.Buffer((size,), "int32")):
            for i in range(4):
                A[i] = A[i] * 2

    array = np.arange(4, dtype=np.int32)
    stepwell.build(Programs.double)(array)
    assert array.tolist() == [0, 2, 4, 6]
