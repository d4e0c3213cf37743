"""A schedule as a whole: copies, handles, functions, unimplemented primitives."""

import pytest

import stepwell
from stepwell.dialects.tir import ForOp
from stepwell.schedule import Schedule
from stepwell.schedule.handles import LoopRV
from stepwell.schedule.session import UNSUPPORTED_PRIMITIVES

TWO = """
@I.ir_module
class Module:
    @T.prim_func
    def one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + T.float32(1)

    @T.prim_func
    def two(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for j in range(16):
            with T.block("B"):
                vj = T.axis.spatial(16, j)
                B[vj] = A[vj] * T.float32(2)
"""


def schedule() -> Schedule:
    return Schedule(stepwell.parse_tvmscript(TWO))


def test_the_module_stays_as_it_is() -> None:
    mod = stepwell.parse_tvmscript(TWO)
    before = str(mod)
    sch = Schedule(mod)
    sch.split(sch.get_loops(sch.get_block("B", "one"))[0], [4, 4])
    assert str(mod) == before
    assert str(sch.mod) != before


def test_blocks_are_looked_for_in_the_function_worked_on() -> None:
    sch = schedule()
    sch.work_on("two")
    assert sch.func_working_on == "two"
    loop = sch.get(sch.get_loops("B")[0])
    assert isinstance(loop, ForOp)
    assert loop.loop_var.data == "j"
    assert 'func_name="two"' in str(sch.trace)


def test_a_function_has_to_be_named_where_there_are_several() -> None:
    with pytest.raises(stepwell.ScheduleError, match="func_name: expected one of one, two"):
        schedule().get_block("B")
    with pytest.raises(stepwell.ScheduleError, match="no function 'tow', did you mean 'two'"):
        schedule().work_on("tow")


def test_a_copy_goes_its_own_way_and_knows_the_handles() -> None:
    sch = schedule()
    sch.work_on("one")
    loop = sch.get_loops("B")[0]
    copy = sch.copy()
    copy.split(loop, [4, 4])
    assert len(copy.get_loops("B")) == 2
    assert len(sch.get_loops("B")) == 1
    sch.unroll(loop)
    assert "unroll" in sch.mod.script()
    assert "unroll" not in copy.mod.script()


def test_a_refusal_in_a_copy_leaves_both_as_they_are() -> None:
    sch = schedule()
    sch.work_on("one")
    loop = sch.get_loops("B")[0]
    outer, inner = sch.split(loop, [4, 4])
    copy = sch.copy()
    before = str(copy.mod)
    with pytest.raises(stepwell.ScheduleError):
        copy.fuse(inner, outer)
    assert str(copy.mod) == str(sch.mod) == before
    copy.fuse(outer, inner)
    assert len(copy.get_loops("B")) == 1


def test_a_copy_draws_what_the_original_would_have_drawn() -> None:
    sch = Schedule(stepwell.parse_tvmscript(TWO), seed=5)
    copy = sch.copy()
    assert sch.fork_seed() == copy.fork_seed()
    sch.seed(9)
    copy.seed(9)
    assert sch.fork_seed() == copy.fork_seed()


def test_a_handle_of_what_has_gone_is_refused() -> None:
    sch = schedule()
    sch.work_on("one")
    loop = sch.get_loops("B")[0]
    sch.split(loop, [4, 4])
    with pytest.raises(stepwell.ScheduleError, match="split: loop 'i' is no longer in the program"):
        sch.split(loop, [4, 4])


def test_a_handle_of_another_schedule_is_refused() -> None:
    a, b = schedule(), schedule()
    a.work_on("one")
    loop = a.get_loops("B")[0]
    with pytest.raises(stepwell.ScheduleError, match="handle of another schedule"):
        b.unroll(loop)


def split_twice(sch: stepwell.Schedule, loop: LoopRV) -> None:
    """Splits a loop, and the same loop again, which fails, and undoes both."""
    with sch.attempt():
        sch.split(loop, [None, 2])
        sch.split(loop, [None, 2])


def test_a_rollback_marks_only_the_functions_that_are_scheduled() -> None:
    sch = schedule()
    loop = sch.split(sch.get_loops(sch.get_block("B", "one"))[0], [None, 2])[0]
    sch.get_loops(sch.get_block("B", "two"))
    before = str(sch.mod)
    with pytest.raises(stepwell.ScheduleError):
        split_twice(sch, loop)
    assert str(sch.mod) == before


def test_a_forgotten_handle_is_not_known() -> None:
    sch = schedule()
    block = sch.get_block("B", "one")
    sch.remove_rv(block)
    with pytest.raises(stepwell.ScheduleError, match="another schedule"):
        sch.get_loops(block)


def test_the_program_and_the_trace_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    sch = schedule()
    sch.get_block("B", "two")
    sch.show()
    shown = capsys.readouterr().out
    assert "def two(" in shown
    assert 'b0 = sch.get_block(name="B", func_name="two")' in shown


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_PRIMITIVES))
def test_what_is_not_there_yet_says_so(name: str) -> None:
    with pytest.raises(stepwell.UnsupportedError, match=f"schedule primitive {name} is not supported( yet|: )"):
        getattr(schedule(), name)


def test_what_no_schedule_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no primitive 'tile': split both loops and reorder the new ones"):
        schedule().tile  # pyright: ignore[reportUnusedExpression]


def test_errors_show_as_much_as_was_asked_for() -> None:
    mod = stepwell.parse_tvmscript(TWO)
    shown: dict[str, str] = {}
    for level in ("detail", "fast", "none"):
        sch = Schedule(mod, error_render_level=level)
        loop = sch.get_loops(sch.get_block("B", "one"))[0]
        with pytest.raises(stepwell.ScheduleError) as caught:
            sch.split(loop, [2, 2])
        shown[level] = str(caught.value)
    assert "^^^" in shown["detail"]
    assert shown["fast"] == shown["detail"].split("\n")[0]
    assert shown["none"] == "split: refused"


def test_another_level_of_errors_is_refused() -> None:
    with pytest.raises(stepwell.OptionError, match="error_render_level 'all'"):
        Schedule(stepwell.parse_tvmscript(TWO), error_render_level="all")
