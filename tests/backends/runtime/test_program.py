"""Libraries and compiled functions."""

import numpy as np
import pytest

from stepwell.core.errors import ArgumentError

TWO = """
func.func @one() -> i32 { %r = arith.constant 1 : i32
  func.return %r : i32 }
func.func @two(%x: f32 {stepwell.name = "x"}, %a: memref<2xf32> {stepwell.name = "A"}) -> f32 { func.return %x : f32 }
"""


def test_functions_are_called_by_name(compile_text) -> None:
    lib = compile_text(TWO)
    assert list(lib.functions) == ["one", "two"]
    assert lib["one"]() == 1
    assert lib["two"](2.5, np.zeros(2, np.float32)) == 2.5
    assert "one" in lib
    assert "three" not in lib
    assert lib["two"].name == "two"
    assert repr(lib["two"]) == "<compiled function two(x, A)>"
    assert repr(lib) == "<library of one, two>"


def test_an_unknown_function_is_an_error_with_the_near_name(compile_text) -> None:
    with pytest.raises(ArgumentError, match="no function called 'tow', there is one, two, did you mean 'two'"):
        compile_text(TWO)["tow"]


def test_a_library_is_called_only_if_it_has_one_function(compile_text) -> None:
    assert compile_text("func.func @f() -> i1 { %r = arith.constant true\n func.return %r : i1 }")() is True
    with pytest.raises(ArgumentError, match="expected a library of one function, got one, two"):
        compile_text(TWO)()
    with pytest.raises(ArgumentError, match="expected a library of one function, got none"):
        compile_text("module {}")()


@pytest.mark.parametrize(
    ("kind", "dtype", "value", "expected"),
    [("i8", "int8", -1, -1), ("i8", "uint8", 255, 255), ("i64", "uint64", 2**64 - 1, 2**64 - 1),
     ("f16", "float16", 1.5, 1.5), ("bf16", "bfloat16", 1.5, 1.5), ("i1", "bool", 1, True), ("index", "int64", -7, -7)],
)  # fmt: skip
def test_results_are_python_numbers(compile_text, kind: str, dtype: str, value, expected) -> None:
    lib = compile_text(f"""func.func @main(%x: {kind} {{stepwell.dtype = "{dtype}"}})
      -> ({kind} {{stepwell.dtype = "{dtype}"}}) {{ func.return %x : {kind} }}""")
    assert lib(value) == expected
    assert type(lib(value)) is type(expected)
