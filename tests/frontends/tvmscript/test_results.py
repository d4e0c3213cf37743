"""Programs of the language: they print and parse again, and native code computes the results of the oracle."""

import textwrap
from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import UndefinedBehaviorError, UnsupportedError
from stepwell.frontends.tvmscript import parse_tvmscript

Arrays = list[np.ndarray[Any, Any]]


def run(text: str, *arrays: np.ndarray[Any, Any], prepend: str = "@T.prim_func\n") -> Arrays:
    """The arrays after a call of the program, which all back ends and all printed forms must compute alike."""
    module = parse_tvmscript(prepend + textwrap.dedent(text).strip("\n") + "\n")
    module.verify()
    name = next(iter(module))
    results: list[Arrays] = []
    for style in ("classic", "0.27"):
        printed = module.script(style)
        again = parse_tvmscript(printed)
        assert again.script(style) == printed
        results.append(_call(build(again, target="python"), arrays))
    results.append(_call(build(module, target="llvm"), arrays))
    results.append(_call(lambda *args: interpret(module, name, list(args)), arrays))
    for other in results[1:]:
        for have, want in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(have, want)
    return results[0]


def _call(function: Any, arrays: tuple[np.ndarray[Any, Any], ...]) -> Arrays:
    copies = [array.copy() for array in arrays]
    function(*copies)
    return copies


# ---- regions


def test_a_region_has_the_strides_of_its_buffer() -> None:
    text = """
    def f(A: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(2, 2):
            with T.block("o"):
                vi, vj = T.axis.remap("SS", [i, j])
                S = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), offset_factor=1)
                for k in range(4):
                    S[k, k] = S[k, k] + T.float32(1)
    """
    (result,) = run(text, np.zeros((8, 8), "float32"))
    np.testing.assert_array_equal(result, np.tile(np.eye(4, dtype="float32"), (2, 2)))


def test_a_region_has_the_symbolic_strides_of_its_buffer() -> None:
    text = """
    def f(a: T.handle):
        n = T.int32()
        m = T.int32()
        A = T.match_buffer(a, (4, n, m))
        for i in range(4):
            with T.block("o"):
                vi = T.axis.spatial(4, i)
                S = T.match_buffer(A[vi, 0:2, 0:3], (2, 3), offset_factor=1)
                for k in range(2):
                    S[k, k] = S[k, k] + T.float32(1)
    """
    (result,) = run(text, np.zeros((4, 3, 5), "float32"))
    expected = np.zeros((4, 3, 5), "float32")
    expected[:, [0, 1], [0, 1]] = 1
    np.testing.assert_array_equal(result, expected)


def test_a_region_of_one_element_has_no_strides() -> None:
    text = """
    def f(A: T.Buffer((4, 4), "float32")):
        for i in range(4):
            with T.block("o"):
                vi = T.axis.spatial(4, i)
                S = T.match_buffer(A[vi, vi], (), offset_factor=1)
                S[()] = S[()] + T.float32(1)
    """
    (result,) = run(text, np.zeros((4, 4), "float32"))
    np.testing.assert_array_equal(result, np.eye(4, dtype="float32"))


# ---- conditions and lets


def test_an_integer_condition_holds_unless_it_is_zero() -> None:
    text = """
    def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            if i:
                B[i] = 1
            else:
                B[i] = 2
        while A[0]:
            A[0] = A[0] - 1
            A[1] = A[1] + 1
        with T.If(A[2]):
            with T.Then():
                A[2] = 9
    """
    a, b = run(text, np.array([3, 0, 5, 0], "int32"), np.zeros(4, "int32"))
    np.testing.assert_array_equal(b, [2, 1, 1, 1])
    np.testing.assert_array_equal(a, [0, 3, 9, 0])


def test_a_variable_has_a_value_in_each_let() -> None:
    text = """
    def f(A: T.Buffer((6,), "int32")):
        y = T.int32()
        with T.LetStmt(1, var=y):
            A[0] = y
            with T.LetStmt(y + 4, var=y):
                A[1] = y
            A[2] = y
        for i in range(2):
            T.LetStmt(i + 10, var=y)
            A[3 + i] = y
        with T.let(y, 7):
            A[5] = y
    """
    (a,) = run(text, np.zeros(6, "int32"))
    np.testing.assert_array_equal(a, [1, 5, 1, 10, 11, 7])


ASSUME = """
    def f(A: T.Buffer((8,), "float32")):
        for i in range(8):
            T.evaluate(T.assume(i < 6 or A[i] == T.float32(0)))
            A[i] = A[i] + T.float32(1)
"""


def test_an_assumption_has_no_effect_if_it_holds() -> None:
    (a,) = run(ASSUME, np.zeros(8, "float32"))
    np.testing.assert_array_equal(a, np.ones(8, "float32"))


def test_the_oracle_and_the_interpreter_report_a_false_assumption() -> None:
    module = parse_tvmscript("@T.prim_func\n" + textwrap.dedent(ASSUME).strip())
    for call in (build(module, target="python"), lambda a: interpret(module, "f", [a])):
        with pytest.raises(UndefinedBehaviorError, match=r"the condition of T\.assume does not hold"):
            call(np.ones(8, "float32"))


def test_a_pointer_may_refer_to_another_type() -> None:
    text = """
    def f(A: T.Buffer((8,), "uint8"), B: T.Buffer((4,), "int32")):
        p: T.Ptr[T.int8] = T.address_of(A[4], dtype="handle")
        C = T.Buffer((4,), "int8", data=p)
        q: T.handle("float32") = B.data
        D = T.decl_buffer((4,), "float32", data=q)
        for i in range(4):
            C[i] = T.Cast("int8", i) - T.int8(2)
            D[i] = T.Cast("float32", A[i + 4])
    """
    a, b = run(text, np.zeros(8, "uint8"), np.zeros(4, "int32"))
    np.testing.assert_array_equal(a.view("int8"), [0, 0, 0, 0, -2, -1, 0, 1])
    np.testing.assert_array_equal(b.view("float32"), [254, 255, 0, 1])


# ---- loops


def test_a_starred_variable_is_a_tuple_of_indices() -> None:
    text = """
    def f(A: T.Buffer((4, 3), "int32"), B: T.Buffer((4, 3), "int32"), C: T.Buffer((3, 2), "int32")):
        for *sp, r in T.grid(4, 3):
            A[sp[0], r] = 1
        for sp in T.grid(4, 3):
            B[sp] = A[sp] + sp[1]
        for i, *sp in T.grid(2, 3, 2):
            C[sp] = i
    """
    a, b, c = run(text, *(np.zeros(shape, "int32") for shape in ((4, 3), (4, 3), (3, 2))))
    np.testing.assert_array_equal(a, np.ones((4, 3)))
    np.testing.assert_array_equal(b, np.tile([1, 2, 3], (4, 1)))
    np.testing.assert_array_equal(c, np.ones((3, 2)))


def test_a_range_has_annotations_and_a_matched_buffer_a_name() -> None:
    text = """
    def f(a: T.handle):
        A = T.match_buffer(a, (8,), name="X")
        for i in range(8, annotations={"pragma_x": 1}):
            A[i] = T.float32(i)
    """
    (a,) = run(text, np.zeros(8, "float32"))
    np.testing.assert_array_equal(a, np.arange(8))
    printed = parse_tvmscript("@T.prim_func\n" + textwrap.dedent(text).strip()).script()
    assert 'for i in T.serial(8, annotations={"pragma_x": 1}):' in printed


# ---- memory


def test_realize_provides_the_memory_of_a_buffer() -> None:
    text = """
    def f(A: T.Buffer((8,), "float32")):
        B = T.Buffer((8,), "float32")
        with T.realize(B[0:8], "local"):
            for i in range(8):
                B[i] = A[i] + T.float32(1)
            for i in range(8):
                A[i] = B[7 - i]
        for i in range(2):
            T.realize(B[0:8])
            B[i] = A[i]
            A[i] = B[i] * T.float32(2)
    """
    (a,) = run(text, np.arange(8, dtype="float32"))
    np.testing.assert_array_equal(a, [16, 14, 6, 5, 4, 3, 2, 1])


def test_a_buffer_without_memory_is_read_but_not_run() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        B = T.buffer_decl([4], "int8")
        C = T.Buffer([2], "int16", data=B.data)
        T.evaluate(T.call_extern("int32", "accelerate", B[0], C[1], A.data))
    """
    module = parse_tvmscript(textwrap.dedent(text))
    printed = module.script()
    assert 'B = T.Buffer((4,), "int8")' in printed
    assert parse_tvmscript(printed).script() == printed
    for target in ("llvm", "python"):
        with pytest.raises(UnsupportedError, match=r"tir\.free_pointer: nothing provides the memory of B"):
            build(module, target=target)


def test_an_undefined_value_may_be_stored() -> None:
    text = """
    def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.if_then_else(i < 2, i, T.undef())
            B[i] = T.undef(dtype="float32")
            B[i] = T.float32(1)
            if i >= 2:
                A[i] = 7
    """
    a, b = run(text, np.zeros(4, "int32"), np.zeros(4, "float32"))
    np.testing.assert_array_equal(a, [0, 1, 7, 7])
    np.testing.assert_array_equal(b, np.ones(4))


def test_the_reducer_of_an_attribute_is_read_but_not_run() -> None:
    text = """
    @T.prim_func
    def f(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        with T.attr(
            T.comm_reducer(lambda a, b: T.max(a, b * T.float32(2)), [T.float32(0)]),
            "reduce_scope",
            T.reinterpret("handle", T.uint64(0)),
        ):
            T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), B[0], tx)
    """
    module = parse_tvmscript(textwrap.dedent(text))
    printed = module.script()
    assert "T.comm_reducer(lambda x, y: T.max(x, y * T.float32(2.0)), [T.float32(0.0)])" in printed
    assert parse_tvmscript(printed).script() == printed
    for target in ("cuda-emulated", "python"):
        with pytest.raises(UnsupportedError, match=r"tir\.comm_reducer: only a block with T\.init states a reduction"):
            build(module, target=target)
