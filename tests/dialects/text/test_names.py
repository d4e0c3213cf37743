"""Names: legal, unique in their scope, available again after it."""

import pytest

from stepwell.dialects.text.names import IdentifierScope, legal_name


@pytest.mark.parametrize(
    ("name", "legal"), [("i", "i"), ("a.b-c", "a_b_c"), ("1x", "v1x"), ("", "v"), ("é", "_"), ("%0", "_0")]
)
def test_a_name_becomes_an_identifier(name: str, legal: str):
    assert legal_name(name) == legal


@pytest.mark.parametrize("name", ["T", "I", "for", "lambda", "None", "range", "cls", "tvm"])
def test_a_name_that_means_something_else_gets_a_number(name: str):
    assert IdentifierScope().define(name) == f"{name}_1"


def test_a_name_in_use_gets_the_next_number():
    names = IdentifierScope()
    assert [names.define("i") for _ in range(3)] == ["i", "i_1", "i_2"]
    assert names.define("i_1") == "i_1_1"


def test_a_name_is_free_again_after_its_scope():
    names = IdentifierScope(("Module",))
    names.define("i")
    with names.scope():
        assert names.define("i") == "i_1"
        assert names.define("j") == "j"
    assert names.define("j") == "j"
    assert names.define("i") == "i_1"
    assert names.define("Module") == "Module_1"


def test_names_of_a_program_survive_unless_they_clash(body):
    loops = """
        tir.for serial "i" %i : i32 in [0 +: 2] {
          tir.for parallel "i" %j : i32 in [0 +: 2] {
            tir.store %i, %B[%j] : memref<8xi32>
          }
        }
        tir.for serial "A" %k : i32 in [0 +: 2] {
          tir.store %k, %B[%k] : memref<8xi32>
        }
        tir.for serial "i" %k : i32 in [0 +: 2] {
          tir.store %k, %B[%k] : memref<8xi32>
        }"""
    assert body(loops) == (
        "for i in range(2):\n    for i_1 in T.parallel(2):\n        B[i_1] = i\n"
        "for A_1 in range(2):\n    B[A_1] = A_1\nfor i in range(2):\n    B[i] = i"
    )
