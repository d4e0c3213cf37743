"""Round trips of statements and expressions: the canonical programs of tests/data/printed."""

from pathlib import Path

import pytest

from stepwell.core.errors import UnsupportedError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

PROGRAMS = {path.stem: path for path in sorted((Path(__file__).parents[2] / "data" / "printed").glob("*.py"))}

NOT_TODAY = {
    "conditional_memory": "TVMScript of TVM 0.27 has no allocation under a condition",
    "constants": "TVMScript of TVM 0.27 has no constant arrays (tir.allocate_const)",
    "early_return": "TVMScript of TVM 0.27 cannot leave a function early without a result",
    "predicates": "TVMScript of TVM 0.27 has no predicates on vector accesses (tir.load)",
}


def read(name: str):
    module = parse_tvmscript(PROGRAMS[name].read_text(), filename=f"{name}.py")
    module.verify()
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read_prints_as_it_was_written(name: str):
    assert read(name).script() + "\n" == PROGRAMS[name].read_text()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NOT_TODAY])
def test_the_spelling_of_today_reads_back_as_the_same_program(name: str):
    module = read(name)
    text = module.script("0.27")
    again = parse_tvmscript(text)
    assert again.script("0.27") == text
    assert again.script() == module.script()


@pytest.mark.parametrize("name", NOT_TODAY)
def test_what_tvm_0_27_lacks_is_refused_in_its_style(name: str):
    with pytest.raises(UnsupportedError) as error:
        read(name).script("0.27")
    assert str(error.value) == NOT_TODAY[name]


def test_a_remap_names_each_loop_once():
    text = """
@T.prim_func
def main(A: T.Buffer((4, 4, 4), "int32")):
    for i, j in T.grid(4, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.spatial(4, i)
            A[vi, vj, vk] = 1
"""
    script = parse_tvmscript(text).script()
    assert 'vi, vj = T.axis.remap("SS", [i, j])' in script
    assert "vk = T.axis.spatial(4, i)" in script
    assert parse_tvmscript(script).script() == script


def test_axes_over_loops_of_the_same_computed_extents_share_a_remap():
    text = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), n: T.int32):
    for i, j in T.grid(n * 2, n * 2):
        with T.block("A"):
            vi = T.axis.spatial(n * 2, i)
            vj = T.axis.spatial(n * 2, j)
            A[vi, vj] = T.float32(1)
"""
    script = parse_tvmscript(text).script()
    assert 'vi, vj = T.axis.remap("SS", [i, j])' in script
    assert parse_tvmscript(script).script() == script


def test_a_symbol_without_uses_is_not_printed():
    """Passes remove the last use of a symbol; the parser creates none without a use."""
    text = """
tir.func @main("A" %A: memref<4xi32>) {
  %n = tir.symbol "n" : i32
  %zero = arith.constant 0 : i32
  tir.store %zero, %A[%zero] : memref<4xi32>
}
"""
    script = parse_mlir(text).script()
    assert "T.int32()" not in script
    assert parse_tvmscript(script).script() == script
