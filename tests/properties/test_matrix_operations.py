"""Products of matrices by the matrix operations of warps have the results of numpy, and print as they are parsed."""

import numpy as np
from hypothesis import given

from stepwell import parse_mlir, parse_tvmscript
from stepwell.backends.oracle import compile_oracle
from stepwell.tools.testing.matrix_programs import MatrixProgram, matrix_programs


@given(matrix_programs())
def test_products_have_the_results_of_numpy(program: MatrixProgram) -> None:
    mod = parse_tvmscript(program.text())
    assert parse_tvmscript(mod.script()).script() == mod.script()
    assert str(parse_mlir(str(mod))) == str(mod)
    a, b, c = program.arguments(seed=1)
    expected = program.results(a, b, c)
    compile_oracle(mod)["main"](a, b, c)
    np.testing.assert_array_equal(c, expected)
