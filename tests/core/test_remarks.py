"""The collection of remarks, their text and JSON, and builds that report them."""

import json
from pathlib import Path

import pytest

from stepwell import build, build_graph, parse_tvmscript, relay
from stepwell.core.diagnostics import Location
from stepwell.core.errors import StepwellError
from stepwell.core.remarks import PassRemarks, Place, Remark, collect_remarks, report_remarks

CORPUS = Path(__file__).parents[1] / "data/corpus/tvmscript"

HERE = Place(Location("matmul.py", 12, 9), "main")
MISSED = Remark("missed", "tir-unroll-loops", "loop k stays a loop", HERE)

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.vectorized(8):
        B[i] = A[i] + 1.0
"""
VECTORS = "p.py:3:5: tir-vectorize-loops: applied: loop i becomes vectors of 8 lanes"


def test_a_remark_is_a_line_that_starts_with_its_place() -> None:
    assert str(MISSED) == "matmul.py:12:9: tir-unroll-loops: missed: loop k stays a loop"


def test_a_remark_without_a_location_names_its_function() -> None:
    assert str(Remark("applied", "llvm", "done", Place(None, "main"))) == "@main: llvm: applied: done"
    assert str(Remark("applied", "llvm", "done")) == "llvm: applied: done"


def test_a_remark_is_a_json_object() -> None:
    assert json.loads(MISSED.to_json()) == {
        "kind": "missed",
        "pass": "tir-unroll-loops",
        "message": "loop k stays a loop",
        "function": "main",
        "file": "matmul.py",
        "line": 12,
        "column": 9,
    }
    assert json.loads(Remark("applied", "llvm", "done").to_json())["file"] is None


def test_no_message_is_built_if_nobody_collects() -> None:
    def fail() -> str:
        raise AssertionError

    remarks = PassRemarks("a-pass")
    assert not remarks.are_collected
    remarks.applied(HERE, fail)
    remarks.missed(HERE, fail)


def test_equal_remarks_are_collected_once_and_in_order() -> None:
    remarks = PassRemarks("a-pass")
    with collect_remarks() as collection:
        assert remarks.are_collected
        for text in "bab":
            remarks.applied(HERE, lambda: text)
        remarks.missed(HERE, lambda: "b")
    assert [(remark.kind, remark.message) for remark in collection] == [
        ("applied", "b"),
        ("applied", "a"),
        ("missed", "b"),
    ]


def test_the_innermost_collection_receives_a_remark() -> None:
    remarks = PassRemarks("a-pass")
    with collect_remarks() as outer:
        with collect_remarks() as inner:
            remarks.applied(HERE, lambda: "inside")
        remarks.applied(HERE, lambda: "outside")
    assert [remark.message for remark in inner] == ["inside"]
    assert [remark.message for remark in outer] == ["outside"]


def test_no_receiver_leaves_the_collection_around() -> None:
    with collect_remarks() as collection, report_remarks(None):
        PassRemarks("a-pass").applied(HERE, lambda: "inside")
    assert len(collection) == 1


def test_an_error_of_a_receiver_is_not_an_error_of_a_pass() -> None:
    def refuse(remark: Remark) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build(parse_tvmscript(PROGRAM), remarks=refuse)


def test_a_receiver_may_build_programs() -> None:
    received: list[str] = []

    def build_again(remark: Remark) -> None:
        build(parse_tvmscript(PROGRAM), remarks=lambda inner: received.append(inner.message))

    with collect_remarks() as around:
        build(parse_tvmscript(PROGRAM), remarks=build_again)
    assert received == ["loop i becomes vectors of 8 lanes"]
    assert not around


def test_remarks_before_an_error_are_reported() -> None:
    received: list[Remark] = []

    def fail() -> None:
        with report_remarks(received.append):
            PassRemarks("a-pass").applied(HERE, lambda: "before")
            raise StepwellError("after")

    with pytest.raises(StepwellError):
        fail()
    assert [remark.message for remark in received] == ["before"]


def test_build_calls_a_function_with_each_remark() -> None:
    received: list[Remark] = []
    build(parse_tvmscript(PROGRAM, filename="p.py"), remarks=received.append)
    assert [str(remark) for remark in received] == [VECTORS]


def test_build_for_a_gpu_reports_its_rules() -> None:
    received: list[Remark] = []
    program = PROGRAM.replace("T.vectorized", "T.serial")
    build(parse_tvmscript(program, filename="p.py"), target="cuda-emulated", remarks=received.append)
    assert {remark.pass_name for remark in received} == {"tir-schedule-gpu"}
    assert {remark.place.function for remark in received} == {"main"}


def test_graphs_report_the_schedules_of_their_kernels() -> None:
    received: list[Remark] = []
    data, weight = relay.var("data", shape=(16, 32)), relay.var("weight", shape=(16, 32))
    net = relay.nn.relu(relay.nn.dense(data, weight, units=16))
    small = relay.nn.relu(relay.var("small", shape=(3,)))
    for graph in (net, small):
        build_graph(relay.module(relay.Function(relay.free_vars(graph), graph)), remarks=received.append)
    scheduled = [(remark.kind, remark.message) for remark in received if remark.pass_name == "tir-schedule-cpu"]
    rules = [message.partition(" lanes")[0].rpartition(" ")[0] for kind, message in scheduled if kind == "applied"]
    tile = "block T_matmul_NT: by the rule contraction: sums in registers, vectors of"
    assert tile in rules
    few = "block T_relu: not by the rule elementwise: no axis of 4 or more elements is contiguous in the store"
    assert ("missed", few) in scheduled


@pytest.mark.parametrize("name", ["matmul", "conv2d_nhwc", "log_softmax", "reduce_sum_1", "sched_blur_compute_at"])
def test_remarks_do_not_change_the_code(name: str) -> None:
    module = parse_tvmscript((CORPUS / f"{name}.classic.py").read_text())
    received: list[Remark] = []
    assert build(module, remarks=received.append).source("llvm-optimized") == build(module).source("llvm-optimized")
