"""The order of executions: instances that run once in each iteration of outer loops."""

import pytest

from stepwell.analysis.dependence import value_flow
from stepwell.analysis.dependence.order import is_unique

REPEATED = """
for r in range(4):
    for i in range(8):
        for s in range({count}):
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                D[vi, 0] = A[vi, 0]
"""


@pytest.mark.parametrize(
    ("count", "expected"), [(1, [False, True, True, True]), (3, [False, False, False, True])], ids=["outer", "inner"]
)
def test_instances_are_unique_inside_of_the_loops_that_repeat_them(
    function, block, count: int, expected: list[bool]
) -> None:
    func = function(REPEATED.format(count=count))
    statement = value_flow(func).statements[block(func, "D")]
    assert [is_unique(statement, fixed) for fixed in range(4)] == expected
