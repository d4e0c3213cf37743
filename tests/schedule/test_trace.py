"""Traces: as IR, as Python, simplified, replayed."""

import pytest

import stepwell
from stepwell.dialects.schedule import TraceOp
from stepwell.schedule import Schedule, Trace

MATMUL = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tiled() -> tuple[stepwell.Module, Schedule]:
    mod = stepwell.parse_tvmscript(MATMUL)
    sch = Schedule(mod, seed=1)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, 2))
    j_0, j_1 = sch.split(j, [None, 4])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.annotate(i_0, "pragma_auto_unroll_max_step", 16)
    sch.annotate(block, "note", {"a": [1, "b"], "c": 0.5})
    return mod, sch


def test_a_trace_prints_as_python() -> None:
    mod = stepwell.parse_tvmscript(MATMUL)
    sch = Schedule(mod)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    _, i_1 = sch.split(i, [None, 8])
    sch.reorder(j, i_1)
    sch.unroll(sch.add_unit_loop(block))
    assert str(sch.trace).splitlines() == [
        "def apply_trace(sch: stepwell.Schedule) -> None:",
        '  b0 = sch.get_block(name="C", func_name="main")',
        "  l1, l2, l3 = sch.get_loops(block=b0)",
        "  l4, l5 = sch.split(loop=l1, factors=[None, 8], preserve_unit_iters=True, disable_predication=False)",
        "  sch.reorder(l2, l5)",
        "  l6 = sch.add_unit_loop(block_or_loop=b0)",
        "  sch.unroll(loop=l6)",
    ]
    assert k is not None


def test_python_in_the_spelling_of_tvm_0_27_says_sblock() -> None:
    sch = Schedule(stepwell.parse_tvmscript(MATMUL))
    sch.get_block("C")
    assert 'b0 = sch.get_sblock(name="C", func_name="main")' in sch.trace.as_python("0.27")


def test_a_trace_in_another_style_is_refused() -> None:
    with pytest.raises(stepwell.OptionError, match="style 'new'"):
        tiled()[1].trace.as_python("new")


def test_python_replays_to_the_identical_program() -> None:
    mod, sch = tiled()
    again = Schedule(mod)
    again.replay(str(sch.trace))
    assert str(again.mod) == str(sch.mod)
    assert str(again.trace) == str(sch.trace)


def test_python_runs_as_it_is_printed() -> None:
    mod, sch = tiled()
    scope: dict[str, object] = {"stepwell": stepwell}
    exec(str(sch.trace), scope)
    again = Schedule(mod)
    scope["apply_trace"](again)  # pyright: ignore[reportCallIssue]
    assert str(again.mod) == str(sch.mod)


def test_ir_replays_to_the_identical_program_beside_it_in_one_file() -> None:
    mod, sch = tiled()
    both = stepwell.Module(mod.op.clone())
    both.op.body.block.add_op(sch.trace.op.clone())
    text = str(both)
    assert str(stepwell.parse_mlir(text)) == text
    assert str(stepwell.apply_passes(stepwell.parse_mlir(text), "apply-schedule")) == str(sch.mod)


def test_a_trace_applies_to_another_schedule() -> None:
    mod, sch = tiled()
    again = Schedule(mod)
    sch.trace.apply_to_schedule(again)
    assert str(again.mod) == str(sch.mod)


def test_what_nobody_uses_is_dropped() -> None:
    mod, sch = tiled()
    sch.get_loops("C")
    sch.sample_categorical([1, 2], [0.5, 0.5])
    simple = sch.trace.simplified()
    names = [op.name for op in simple.instructions]
    assert names.count("schedule.get_loops") == 1
    assert "schedule.sample_categorical" not in names
    again = Schedule(mod)
    again.replay(simple)
    assert str(again.mod) == str(sch.mod)


def test_dead_code_elimination_drops_what_nobody_uses() -> None:
    mod, sch = tiled()
    sch.get_loops("C")
    both = stepwell.Module(mod.op.clone())
    both.op.body.block.add_op(sch.trace.op.clone())
    left = next(op for op in stepwell.apply_passes(both, "dce").op.walk() if isinstance(op, TraceOp))
    assert str(left) == str(sch.trace.simplified().op)


def test_two_queries_of_one_block_are_not_one() -> None:
    mod, sch = tiled()
    sch.unroll(sch.get_loops("C")[-1])
    both = stepwell.Module(mod.op.clone())
    both.op.body.block.add_op(sch.trace.op.clone())
    assert str(stepwell.apply_passes(both, "cse,apply-schedule")) == str(sch.mod)


def test_what_follows_the_search_can_be_left_out() -> None:
    mod, sch = tiled()
    before = str(sch.mod)
    sch.enter_postproc()
    sch.unroll(sch.get_loops("C")[-1])
    again = Schedule(mod)
    sch.trace.apply_to_schedule(again, remove_postproc=True)
    assert str(again.mod) == before


def test_a_step_that_fails_keeps_the_steps_before_it() -> None:
    mod, _ = tiled()
    sch = Schedule(mod)
    with pytest.raises(stepwell.ScheduleError, match="get_block: no block 'D'"):
        sch.replay('b0 = sch.get_block(name="C")\nb1 = sch.get_block(name="D")')
    assert len(sch.trace) == 1


def test_a_query_that_gives_another_number_of_results_is_refused() -> None:
    other = Schedule(stepwell.parse_tvmscript(MATMUL))
    other.fuse(*other.get_loops("C")[:2])
    fused = Schedule(other.mod)
    trace = tiled()[1].trace
    with pytest.raises(stepwell.ScheduleError, match="get_loops gives 2 results here, expected 3"):
        fused.replay(trace)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b0 = sch.get_block(", "<trace>:1:"),
        ("import os\nos.system('true')", "<trace>:2:1: error: expected a call of a primitive on sch"),
        ("b0 = sch.get_block(name=open('x'))", "is no value of a trace"),
        ("b0 = sch._apply(1)", "expected a call of a primitive on sch"),
        ("b0 = sch.get_blok(name='C')", "a schedule has no primitive 'get_blok'"),
        ("b0 = sch.get_block(nam='C')", "<trace>:1:6: error: "),
        ("b0 = sch.get_block(name='C')\nl1, l2 = sch.get_loops(b0)", "<trace>:2:1: error: 3 results for 2 names"),
        ("for i in x: pass", "<trace>:1:1: error: expected a call"),
        (
            "f = sch.transform_layout('C', ('write', 0), lambda i, j: (i, __import__('os')))",
            "is not arithmetic on indices",
        ),
    ],
)
def test_text_that_is_no_trace_is_a_parse_error_with_a_position(text: str, message: str) -> None:
    with pytest.raises(stepwell.ParseError) as caught:
        Schedule(stepwell.parse_tvmscript(MATMUL)).replay(text)
    assert message in str(caught.value)


def test_an_empty_trace_does_nothing() -> None:
    mod, _ = tiled()
    sch = Schedule(mod)
    sch.replay(str(Trace()))
    assert str(sch.mod) == str(Schedule(mod).mod)


def test_a_choice_may_have_another_decision() -> None:
    mod, _ = tiled()
    sch = Schedule(mod, seed=1)
    (loop, *_) = sch.get_loops("C")
    sch.split(loop, sch.sample_perfect_tile(loop, 2, -1))
    sch.enter_postproc()
    sch.parallel(sch.get_loops("C")[0])
    (choice,) = sch.trace.decisions
    extent = choice.decision[0] * choice.decision[1]
    other = sch.trace.with_decision(choice, (1, extent), remove_postproc=True)
    assert [each.decision for each in other.decisions] == [[1, extent]]
    assert len(other) == len(sch.trace) - 4
    again = Schedule(mod)
    again.replay(other)
    assert list(again.trace.decisions.values()) == [[1, extent]]
    assert not sch.trace.without_decisions().decisions
    again = Schedule(mod, seed=3)
    again.replay(sch.trace.without_decisions())
    assert len(again.trace.decisions) == 1
    assert str(Trace(sch.trace.insts, sch.trace.decisions)) == str(sch.trace)
    assert len(Trace(insts=sch.trace.insts[:1])) == 1
    with pytest.raises(stepwell.OptionError, match="expected a random choice of this trace"):
        sch.trace.with_decision(sch.trace.insts[0], 1)


def test_results_of_instructions_have_handles() -> None:
    _, sch = tiled()
    (loop, *_) = sch.get_loops("C")
    assert sch.handle_of(sch.trace.insts[-1].outputs[0]) is loop
    with pytest.raises(stepwell.ScheduleError, match="expected a result of an instruction"):
        sch.handle_of(Schedule(tiled()[0]).trace.op.body.block.insert_arg(stepwell.dialects.schedule.LoopType(), 0))


def test_a_copy_made_without_checks_is_checked_again() -> None:
    _, sch = tiled()
    with sch.without_checks():
        copy = sch.copy()
    assert not copy.checks_dependences
    assert copy.with_checks().checks_dependences
