"""Statistics of passes: the numbers of their decisions."""

import pytest

from stepwell import apply_passes, build, parse_tvmscript
from stepwell.core.remarks import PassRemarks, Place, Remark, collect_remarks
from stepwell.transforms.statistics import PassCounts, PassStatistics, report_statistics

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), n: T.int32):
    for i in T.unroll(2):
        for j in T.unroll(4):
            A[i, j] = 1.0
    for k in T.unroll(n):
        A[k, 0] = 2.0
"""
PASSES = "tir-unroll-loops,tir-vectorize-loops"
COUNTS = PassCounts("tir-unroll-loops", 2, 1)


def test_applied_and_missed_transformations_are_counted() -> None:
    received: list[PassStatistics] = []
    apply_passes(parse_tvmscript(PROGRAM), PASSES, statistics=received.append)
    assert received == [PassStatistics((COUNTS,))]


def test_equal_decisions_are_counted_each() -> None:
    remarks = PassRemarks("a-pass")
    with collect_remarks() as collection:
        for _ in range(3):
            remarks.applied(Place(), lambda: "loop i is unrolled")
    assert len(collection) == 1
    assert PassStatistics.of(collection).passes == (PassCounts("a-pass", 3, 0),)


def test_statistics_are_a_table_with_the_total() -> None:
    counts = PassStatistics((COUNTS, PassCounts("llvm", 10, 0)))
    assert str(counts).splitlines() == [
        "pass              applied  missed",
        "tir-unroll-loops        2       1",
        "llvm                   10       0",
        "total                  12       1",
    ]


def test_a_build_has_statistics_beside_its_remarks() -> None:
    received: list[PassStatistics] = []
    remarks: list[Remark] = []
    build(parse_tvmscript(PROGRAM), remarks=remarks.append, statistics=received.append)
    (statistics,) = received
    assert COUNTS in statistics.passes
    assert {each.pass_name for each in statistics.passes} == {remark.pass_name for remark in remarks}


def test_decisions_of_the_validator_are_not_counted() -> None:
    received: list[PassStatistics] = []
    program = parse_tvmscript(PROGRAM)
    apply_passes(program, f"{PASSES},convert-tir-to-scf", statistics=received.append, validate=True)
    assert received == [PassStatistics((COUNTS,))]


def test_the_collection_around_receives_the_remarks_of_a_failing_body() -> None:
    def fail() -> None:
        with report_statistics(print):
            PassRemarks("a-pass").missed(Place(), lambda: "before the error")
            raise ZeroDivisionError

    with collect_remarks() as around, pytest.raises(ZeroDivisionError):
        fail()
    assert [remark.message for remark in around] == ["before the error"]
