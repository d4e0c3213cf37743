"""No name or text of a program becomes code of the oracle's Python."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepwell.backends.oracle import compile_oracle
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def helper(x: T.float32) -> T.float32:
        return x + T.float32(1)

    @T.prim_func
    def threads(A: T.Buffer((4,), "float32")):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("bound"):
                vt = T.axis.spatial(4, t)
                A[vt] = T.float32(1)

    @T.prim_func
    def main(a: T.handle, b: T.handle, size: T.int32):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.alloc_buffer((n,), "float32")
        E = T.decl_buffer((4,), "float32")
        F = T.allocate_const([1.0, 2.0], "float32", [2])
        G = T.Buffer((2,), data=F)
        assert size > 0, "message"
        T.call_packed("packed", size)
        E[0] = G[1]
        for i in T.parallel(n):
            with T.block("block"):
                vi = T.axis.spatial(n, i)
                T.where(i < size)
                C[vi] = A[vi] + E[0]
        for i0, i1 in T.grid(n, 1):
            with T.block("other"):
                vj = T.axis.spatial(n, i0 + i1)
                D = T.match_buffer(C[vj], ())
                y = T.exp(D[()])
                B[vj] = Module.helper(y)
        while E[0] < T.float32(0):
            E[0] = E[0] + T.float32(1)
"""

NAME = re.compile(r'"(?!threadIdx)([A-Za-z]\w*)"|@(\w+)')
"""A quoted name of the MLIR text, or the name of a function."""

HOSTILE = st.text(st.sampled_from("\n\r\f\v\0\t\x1a\x1c'\"\\#{}()%: ;"), min_size=1)


def mlir_with(suffix: str) -> str:
    """The MLIR text of `PROGRAM` with `suffix` appended to each name and string."""
    escaped = "".join(f"\\{ord(c):02X}" for c in suffix)
    return NAME.sub(
        lambda match: ("@" if match[2] else "") + f'"{match[1] or match[2]}{escaped}"', str(parse_tvmscript(PROGRAM))
    )


def shape(source: str) -> list[str]:
    """The types of the nodes of Python source, in order."""
    return [type(node).__name__ for node in ast.walk(ast.parse(source))]


@given(HOSTILE)
@example("\r        __import__('os').system('id')\r        #")
@example("\0")
def test_names_of_a_program_change_no_statement_of_its_python(suffix: str) -> None:
    harmless = re.sub(r"\W", "_", suffix, flags=re.ASCII)
    expected = compile_oracle(parse_mlir(mlir_with(harmless)), check=False).source("python")
    source = compile_oracle(parse_mlir(mlir_with(suffix)), check=False).source("python")
    assert shape(source) == shape(expected)
    assert len(re.split(r"[\r\n]", source)) == len(re.split(r"[\r\n]", expected))


@pytest.mark.parametrize("ending", ["\r", "\n", "\r\n", "\f", "\0"])
def test_the_name_of_a_block_runs_nothing(ending: str, tmp_path: Path) -> None:
    written = tmp_path / "written"
    name = f"x{ending}        open({str(written)!r}, 'w'){ending}        #"
    program = f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block({name!r}):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(1)
"""
    array = np.zeros(8, "float32")
    compile_oracle(parse_tvmscript(program))(array)
    assert array.tolist() == [1.0] * 8
    assert not written.exists()


def test_a_readable_name_stands_as_it_is_and_others_are_literals() -> None:
    source = compile_oracle(parse_mlir(mlir_with("\r"))).source("python")
    assert "# block 'block\\r': 'vi\\r' = " in source
    assert "# block block_: vi_ = " in compile_oracle(parse_mlir(mlir_with("_"))).source("python")
