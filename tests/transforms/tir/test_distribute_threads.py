"""tir-distribute-threads: the memory of each thread."""

import numpy as np
import pytest

from stepwell import UnsupportedError, apply_passes, build
from stepwell.frontends.tvmscript import parse_tvmscript

ONE_TEMPORARY = """
@T.prim_func
def main(a: T.handle, C: T.Buffer((4,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.alloc_buffer(({size},))
    for i in T.thread_binding({size}, thread="threadIdx.x"):
        B[i] = A[i % n]
    for i in T.thread_binding(4, thread="threadIdx.x"):
        C[i] = T.Cast("float32", i)
"""


@pytest.mark.parametrize("size", ["n", "n * 4", "n + 1"])
@pytest.mark.parametrize("n", [1, 5])
def test_each_of_a_symbolic_number_of_threads_has_memory(size: str, n: int) -> None:
    c = np.zeros(4, "float32")
    build(parse_tvmscript(ONE_TEMPORARY.format(size=size)), target="python")(np.ones(n, "float32"), c)
    np.testing.assert_array_equal(c, np.arange(4))


def test_a_number_of_threads_that_depends_on_memory_is_refused() -> None:
    module = parse_tvmscript("""
@T.prim_func
def main(N: T.Buffer((1,), "int32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in T.thread_binding(N[0], thread="threadIdx.x"):
        B[i] = T.float32(1)
        C[i] = B[i]
""")
    with pytest.raises(UnsupportedError, match="buffer B has a copy for each thread, but the number of threads is not"):
        apply_passes(module, "tir-distribute-threads")
