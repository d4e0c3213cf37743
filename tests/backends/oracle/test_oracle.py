"""The oracle has the same interface as compiled code."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.build import build
from stepwell.backends.oracle import compile_oracle, run_oracle
from stepwell.core.dtypes import numpy_dtype
from stepwell.core.errors import ArgumentError, StepwellError, UndefinedBehaviorError, UnsupportedError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

MATMUL = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    for i, j, k in T.grid(8, 6, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

TWO = """
tir.func @first("A" %A: memref<2xi32>) {
}
tir.func @second("x" %x: f32) -> f32 {
  tir.return %x : f32
}
tir.func private @third() {
}
"""


def arrays() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((8, 4)).astype(np.float32), rng.standard_normal((4, 6)).astype(np.float32)
    return a, b, np.zeros((8, 6), np.float32)


def test_a_library_of_one_function_is_called() -> None:
    a, b, c = arrays()
    assert compile_oracle(parse_tvmscript(MATMUL))(a, b, c) is None
    expected = np.zeros_like(c)
    for k in range(4):
        expected += a[:, k : k + 1] * b[k : k + 1]
    assert (c == expected).all()  # bitwise equal: the same order, and each operation rounded


def test_a_function_may_be_kept_alone() -> None:
    function = compile_oracle(parse_mlir(TWO))["second"]
    assert function.name == "second"
    assert function(0.1) == float(np.float32(0.1))


def test_the_source_is_python_that_can_be_read() -> None:
    source = compile_oracle(parse_tvmscript(MATMUL)).source("python")
    assert "for i, j, k in product(range(8), range(6), range(4)):" in source
    assert "C[6 * i + j] = c + f32(a * b).value" in source
    assert "out_of_bounds" not in source  # loops over the extents need no checks


def test_public_functions_are_in_the_library() -> None:
    library = compile_oracle(parse_mlir(TWO))
    assert list(library.functions) == ["first", "second"]
    with pytest.raises(ArgumentError, match="name the function"):
        library(1)
    with pytest.raises(ArgumentError, match=r"no function called 'secnd', .* did you mean 'second'"):
        library["secnd"]
    assert run_oracle(parse_mlir(TWO), "third", []) is None


def test_an_unknown_entry_is_refused() -> None:
    with pytest.raises(StepwellError, match="no function 'frist', did you mean 'first'"):
        run_oracle(parse_mlir(TWO), "frist", [])


def test_a_function_alone_can_be_run() -> None:
    module = parse_tvmscript(MATMUL)
    a, b, c = arrays()
    run_oracle(module.functions["main"], "main", [a, b, c])  # pyright: ignore[reportArgumentType]
    d = np.zeros_like(c)
    run_oracle(module.op, "main", [a, b, d])
    assert (c == d).all()


def test_lower_landings_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"the oracle runs the tir landing, got func.func"):
        compile_oracle(parse_mlir("func.func @f() { func.return }"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, b, c: (a, b), "expected 3 arguments"),
        (lambda a, b, c: (a.astype(np.float64), b, c), "argument A: expected elements of type float32, got float64"),
        (lambda a, b, c: (a, b.T, c), r"argument B: expected shape \(4, 6\), got \(6, 4\)"),
        (lambda a, b, c: (np.asfortranarray(a), b, c), "argument A: expected a C-contiguous array"),
    ],
)
def test_arguments_are_checked_as_those_of_compiled_code(change: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        compile_oracle(parse_tvmscript(MATMUL))(*change(*arrays()))


def test_only_arrays_that_are_written_must_be_writeable() -> None:
    a, b, c = arrays()
    a.flags.writeable = False
    compile_oracle(parse_tvmscript(MATMUL))(a, b, c)
    c.flags.writeable = False
    with pytest.raises(ArgumentError, match="argument C: expected a writeable array"):
        compile_oracle(parse_tvmscript(MATMUL))(a, b, c)


def test_scalars_are_rounded_and_checked() -> None:
    text = 'tir.func @main("x" %x: i8) -> i8 {\n tir.return %x : i8\n}'
    assert compile_oracle(parse_mlir(text))(-128) == -128
    with pytest.raises(ArgumentError, match="expected int8"):
        compile_oracle(parse_mlir(text))(128)


def test_a_program_is_not_changed_and_its_text_does_not_depend_on_chance() -> None:
    module = parse_tvmscript(MATMUL)
    before = str(module)
    sources = {compile_oracle(module).source("python") for _ in range(3)}
    assert str(module) == before
    assert len(sources) == 1


def test_unchecked_programs_still_say_where_python_stopped() -> None:
    text = """
    tir.func @main("A" %A: memref<4xi32>, "i" %i: i32) {
      tir.store %i, %A[%i] : memref<4xi32>
    }
    """
    with pytest.raises(UndefinedBehaviorError, match=r":3:7: error: tir.store: index out of bounds"):
        run_oracle(parse_mlir(text), "main", [np.zeros(4, np.int32), 9], check=False)


def test_calls_do_not_see_each_other() -> None:
    text = """
    tir.func @main("n" %n: i32) -> i32 {
      %z = arith.constant 0 : i32
      %s = tir.alloc_buffer "S" : memref<1xi32>
      %c = arith.cmpi sgt, %n, %z : i32
      tir.if %c {
        tir.store %n, %s[%z] : memref<1xi32>
      }
      %x = tir.load %s[%z] : memref<1xi32>
      tir.return %x : i32
    }
    """
    library = compile_oracle(parse_mlir(text))
    assert library(3) == 3
    with pytest.raises(UndefinedBehaviorError, match="never written"):
        library(0)


@pytest.mark.parametrize("wide", ["float64", "float32"])
@pytest.mark.parametrize("narrow", ["float32", "float16", "bfloat16"])
def test_a_sum_is_rounded_before_a_wider_buffer_holds_it(narrow: str, wide: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((2,), "{narrow}"), B: T.Buffer((1,), "{wide}")):
    B[0] = T.Cast("{wide}", A[0] + A[1])
"""
    program = compile_oracle(parse_tvmscript(text))
    terms = np.array([1, 2.0**-20 if narrow == "float32" else 2.0**-5], numpy_dtype(narrow)) / 3
    result = np.zeros(1, wide)
    program(terms, result)
    assert result[0] == float(terms[0] + terms[1])


@pytest.mark.parametrize("uses", ["", "tir.evaluate %n : i32"])
def test_a_symbol_that_nothing_binds_may_have_no_uses(uses: str) -> None:
    module = parse_mlir(
        f"""
        tir.func @main("A" %A: memref<1xi32>) {{
          %n = tir.symbol "n" : i32
          {uses}
          %z = arith.constant 0 : i32
          tir.store %z, %A[%z] : memref<1xi32>
        }}
        """
    )
    array = np.ones(1, np.int32)
    if uses:
        with pytest.raises(UnsupportedError, match="symbol n is not the extent"):
            run_oracle(module, "main", [array])
    else:
        run_oracle(module, "main", [array])
        build(module)(other := np.ones(1, np.int32))
        assert array.tolist() == other.tolist() == [0]
