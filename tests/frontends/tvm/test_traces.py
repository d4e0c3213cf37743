"""Traces of schedules: instructions by hand, and JSON in TVM's form."""

import json
from typing import Any

import pytest

from stepwell.core.errors import OptionError, UnsupportedError
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.tir import BlockRV, Instruction, InstructionKind, LoopRV, Schedule, Trace
from stepwell.frontends.tvmscript import parse_tvmscript

CHAIN = """
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
"""


def instruction(kind: str, inputs: list[Any], attrs: list[Any], outputs: list[Any]) -> Instruction:
    return Instruction(kind=InstructionKind.get(kind), inputs=inputs, attrs=attrs, outputs=outputs)


def schedule() -> Schedule:
    return Schedule(parse_tvmscript(CHAIN), seed=3)


def test_a_trace_is_built_from_instructions() -> None:
    block, outer, inner, first, second = BlockRV(), LoopRV(), LoopRV(), LoopRV(), LoopRV()
    trace = Trace(
        insts=[
            instruction("GetBlock", [], ["C", "main"], [block]),
            instruction("GetLoops", [block], [], [outer, inner]),
            instruction("Split", [inner, None, 4], [True], [first, second]),
        ],
        decisions={},
    )
    trace.append(instruction("Vectorize", [second], [], []))
    assert str(trace).splitlines()[2:] == [
        '  b0 = sch.get_block(name="C", func_name="main")',
        "  l1, l2 = sch.get_loops(block=b0)",
        "  l3, l4 = sch.split(loop=l2, factors=[None, 4], preserve_unit_iters=True, disable_predication=False)",
        "  sch.vectorize(loop=l4)",
    ]
    sch = schedule()
    trace.apply_to_schedule(sch, remove_postproc=False, decision_provider=None)
    assert "T.vectorized(4)" in sch.mod.script()
    last = trace.insts[-1]
    assert str(last) == "sch.vectorize(loop=_)"
    popped = trace.pop()
    assert popped is not None
    assert popped.same_as(last)
    assert len(trace) == 3
    assert Trace([], {}).pop() is None


def test_an_instruction_states_its_parts() -> None:
    block, loops = BlockRV(), [LoopRV(), LoopRV()]
    inst = instruction("GetLoops", [block], [], loops)
    assert (inst.inputs, inst.attrs, inst.outputs) == ([block], [], loops)
    assert str(inst) == "_, _ = sch.get_loops(block=_)"
    assert inst.kind.same_as(InstructionKind.get("GetLoops"))
    assert inst.kind.is_pure
    assert not InstructionKind.get("EnterPostproc").is_pure


def test_a_trace_is_read_back_from_json() -> None:
    sch = schedule()
    i, j = sch.get_loops(sch.get_block("C"))
    tiles = sch.sample_perfect_tile(i, n=2, decision=[4, 4])
    outer, _ = sch.split(i, tiles)
    sch.compute_at("B", outer, preserve_unit_loops=True)
    sch.annotate(j, "mark", "")
    sch.annotate("C", "text", 'a"')
    number = sch.sample_categorical([16, 64], [0.5, 0.5], decision=1)
    sch.annotate("C", "number", number)
    copy = sch.cache_read("C", 0, "shared", [sch.get_block("C")])
    sch.reindex("C", ("write", 0))
    sch.storage_align(copy, 0, 0, 8, 1)
    sch.fuse(*sch.get_loops(copy)[-2:])
    form = json.loads(json.dumps(sch.trace.as_json()))
    again = schedule()
    Trace.apply_json_to_schedule(form, again)
    assert again.mod.script() == sch.mod.script()
    assert again.trace.as_json() == form
    assert ["Annotate", ["l2", '""'], ["mark"], []] in form[0]
    assert form[1] == [[2, [4, 4]], [9, 1]]
    tile, choice = sch.trace.decisions.values()
    assert ([each.value for each in tile], choice.value) == ([4, 4], 1)


def test_decisions_are_those_of_a_function() -> None:
    sch = schedule()
    i, _ = sch.get_loops("C")
    sch.split(i, sch.sample_perfect_tile(i, n=2, decision=[4, 4]))
    again = schedule()
    sch.trace.apply_to_schedule(
        again, decision_provider=lambda inst, inputs, attrs, decision: [8, 2] if decision else None
    )
    assert "T.grid(8, 2, 8)" in again.mod.script()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "expected a list of instructions and a list of decisions"),
        ([[["GetBlock", [], ["B"]]], []], r"expected \[kind, inputs, attributes, outputs\]"),
        ([[["ComputeInline", ["b0"], [], []]], []], "'b0', expected a result of an instruction before"),
        ([[["ComputeInline", [], [], []]], []], "0 inputs, expected block"),
        ([[["ComputeInline", [None], [1], []]], []], "1 inputs and 1 attributes, expected block"),
    ],
)
def test_other_json_is_an_error(form: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Trace.from_json(form)


def test_index_maps_have_no_json() -> None:
    with pytest.raises(UnsupportedError, match="'ReindexCacheRead', expected one of AddUnitLoop, Annotate"):
        InstructionKind.get("ReindexCacheRead")
    sch = schedule()
    sch.transform_layout("B", "B", lambda i, j: (j, i))
    with pytest.raises(UnsupportedError, match="TransformLayout"):
        sch.trace.as_json()


def test_tiles_of_another_extent_become_tiles_of_this_one() -> None:
    a = te.placeholder((12, 3), name="A")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1.0, name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    first, second = sch.get_loops("B")
    assert [sch.get(v) for v in sch.sample_perfect_tile(first, 3, decision=[8, 2, 3])] == [2, 2, 3]
    assert [sch.get(v) for v in sch.sample_perfect_tile(first, 2, decision=[3, 5])] == [1, 12]
    assert [sch.get(v) for v in sch.sample_perfect_tile(second, 2, decision=[7, 1])] == [3, 1]
    assert "decision=[2, 2, 3]" in str(sch.trace)
    assert "decision=[3, 1]" in str(sch.trace)


def test_the_value_of_an_annotation_is_an_input() -> None:
    sch = schedule()
    sch.annotate(sch.get_block("B"), "meta_schedule.parallel", 64)
    sch.annotate(sch.get_block("C"), "key", sch.sample_categorical([16, 32], [0.5, 0.5], decision=1))
    constant, number = (inst for inst in sch.trace.insts if inst.kind.name == "Annotate")
    assert int(constant.inputs[1]) == 64
    assert constant.attrs == ["meta_schedule.parallel"]
    assert len(number.inputs) == 2
    assert number.attrs == ["key"]
