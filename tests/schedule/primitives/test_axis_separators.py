"""set_axis_separator, and the separators of transform_layout."""

import pytest

import stepwell
from stepwell.core.errors import ScheduleError
from stepwell.frontends.mlir import parse_mlir
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, refusal_of

CHAIN = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((6, 4), "float32")
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
"""
VIEWED = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((6, 4), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            row = T.match_buffer(B[vi, 0:4], (4,), "float32")
            for j in range(4):
                with T.block("element"):
                    vj = T.axis.spatial(4, j)
                    cell = T.match_buffer(row[vj], (), "float32")
                    cell[()] = A[vi, vj]
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
"""
MARK = " attributes {stepwell.scheduled}"
"""The mark of a function that a schedule has changed, in MLIR text; TVMScript does not state it."""


def declarations(mod: stepwell.Module) -> list[str]:
    """The lines of a program that declare separators, without indentation. The program is read back from its texts."""
    text = mod.script()
    assert str(parse_mlir(str(mod))) == str(mod)
    assert stepwell.parse_tvmscript(text).script() == text
    return [line.strip() for line in text.splitlines() if "axis_separators" in line]


@pytest.mark.parametrize("buffer", ["('write', 0)", "'B'"])
def test_the_dimensions_of_an_allocated_buffer_are_divided(buffer: str) -> None:
    mod = apply_steps(CHAIN, f"sch.set_axis_separator('B', {buffer}, [1])")
    assert declarations(mod) == ["B = T.alloc_buffer((6, 4), axis_separators=[1])"]
    again = stepwell.parse_tvmscript(mod.script())
    assert str(again) == str(mod).replace(MARK, "")


@pytest.mark.parametrize("buffer", ["('read', 0)", "0", "'A'"])
def test_the_dimensions_of_a_parameter_are_divided(buffer: str) -> None:
    mod = apply_steps(CHAIN, f"sch.set_axis_separator('B', {buffer}, (0, 2))")
    assert declarations(mod) == ["A = T.match_buffer(var_A, (6, 4), axis_separators=[0, 2])"]


def test_other_separators_replace_them() -> None:
    steps = "sch.set_axis_separator('B', {0}, [1])\nsch.set_axis_separator('B', {0}, {1})"
    mod = apply_steps(CHAIN, steps.format("'B'", "[2]"))
    assert declarations(mod) == ["B = T.alloc_buffer((6, 4), axis_separators=[2])"]
    for buffer in ("'A'", "'B'"):
        assert declarations(apply_steps(CHAIN, steps.format(buffer, "None"))) == []
    assert apply_steps(CHAIN, "sch.set_axis_separator('B', 'A', [])").script() == (
        stepwell.parse_tvmscript(CHAIN).script()
    )


def test_views_of_regions_get_the_separators() -> None:
    step = "sch.set_axis_separator('B', 'B', [0, 1, 2])"
    assert declarations(apply_steps(VIEWED, step)) == [
        "B = T.alloc_buffer((6, 4), axis_separators=[0, 1, 2])",
        "row = T.match_buffer(B[vi, 0:4], (4,), axis_separators=[0, 1, 2])",
        "cell = T.match_buffer(row[vj], (), axis_separators=[0, 0, 1])",
    ]
    assert len(declarations(apply_steps(VIEWED, f"{step}\nsch.set_axis_separator('B', 'B', [])"))) == 0
    message = "buffer row is a view of another, expected a parameter or one that the program allocates"
    assert message in str(refusal_of(VIEWED, "", "sch.set_axis_separator('element', 'row', [1])"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'B', 'B', [3]", "axis_separators [3], expected positions from 0 to 2, none less than the one before it"),
        ("'B', 'B', [2, 1]", "axis_separators [2, 1], expected positions from 0 to 2"),
        ("'B', 'A', [-1]", "axis_separators [-1], expected positions from 0 to 2"),
        ("'B', ('write', 1), [1]", "there is no number 1"),
        ("'B', ('read', -1), [1]", "there is no number -1"),
        ("'B', 'D', [1]", "D"),
        ("'root', 'B', [1]", "expected a block, got the body of the function"),
    ],
)
def test_what_divides_no_buffer_is_refused(arguments: str, message: str) -> None:
    assert message in str(refusal_of(CHAIN, "", f"sch.set_axis_separator({arguments})"))


def test_a_parameter_that_a_function_passes_is_refused() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 4), "float32")):
        Module.inner(A)

    @T.prim_func(private=True)
    def inner(X: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("X"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = T.float32(1)
"""
    error = refusal_of(text, "sch.work_on('inner')", "sch.set_axis_separator('X', 'X', [1])")
    assert "buffer X is a parameter of function 'inner', which another function calls" in str(error)


# transform_layout


def layout(index_map: str, more: str = "", buffer: str = "'B'") -> str:
    return f"sch.transform_layout('B', {buffer}, {index_map}{more})"


@pytest.mark.parametrize("more", ["", ", axis_separators=None"])
def test_a_layout_states_separators(more: str) -> None:
    mod = apply_steps(CHAIN, layout("lambda i, j: (j // 2, 'axis_separator', i, j % 2)", more))
    assert declarations(mod) == ["B = T.alloc_buffer((2, 6, 2), axis_separators=[1])"]
    mod = apply_steps(CHAIN, layout("lambda i, j: (i, j // 2, j % 2)", ", axis_separators=[1, 2]"))
    assert declarations(mod) == ["B = T.alloc_buffer((6, 2, 2), axis_separators=[1, 2])"]


def test_a_layout_keeps_separators_of_as_many_dimensions() -> None:
    first = "sch.set_axis_separator('B', 'B', [1])\n"
    mod = apply_steps(CHAIN, first + layout("lambda i, j: (j, i)"))
    assert declarations(mod) == ["B = T.alloc_buffer((4, 6), axis_separators=[1])"]
    assert declarations(apply_steps(CHAIN, first + layout("lambda i, j: (j, i)", ", axis_separators=[]"))) == []
    assert declarations(apply_steps(CHAIN, first + layout("lambda i, j: (i * 4 + j,)"))) == []


def test_the_identity_states_separators_of_buffers_with_any_use() -> None:
    text = CHAIN.replace(
        "            B[vi, vj] = A", "            V = T.match_buffer(B[vi, vj], ())\n            V[()] = A"
    )
    mod = apply_steps(text, layout("lambda i, j: (i, 'axis_separator', j)"))
    assert declarations(mod) == [
        "B = T.alloc_buffer((6, 4), axis_separators=[1])",
        "V = T.match_buffer(B[vi, vj], (), axis_separators=[1])",
    ]


def test_the_buffer_of_a_layout_may_change_its_place_in_the_block() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads({0}[vi, vj], {1}[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = A[vi, vj] - B[vi, vj]
"""
    step = "sch.transform_layout('C', ('read', {}), lambda i, j: (j, 'axis_separator', i))"
    for names in ("AB", "BA"):
        for place, name in enumerate(names):
            mod = apply_steps(text.format(*names), step.format(place))
            assert declarations(mod) == [f"{name} = T.match_buffer(var_{name}, (4, 6), axis_separators=[1])"]


def test_refused_separators_take_the_layout_back() -> None:
    sch = Schedule(stepwell.parse_tvmscript(VIEWED))
    block = sch.get_block("element")
    with pytest.raises(ScheduleError, match="buffer row is a view of another"):
        sch.transform_layout(block, "row", lambda i: (i, "axis_separator"))
    assert [op.name for op in sch.trace.instructions] == ["schedule.get_block"]
    sch.set_axis_separator(block, "A", [1])
    assert len(declarations(sch.mod)) == 1


def test_a_layout_with_impossible_separators_changes_nothing() -> None:
    error = refusal_of(CHAIN, "", layout("lambda i, j: (j, i)", ", axis_separators=[3]"))
    assert "axis_separators [3], expected positions from 0 to 2" in str(error)


def test_copies_of_a_buffer_keep_its_separators() -> None:
    mod = apply_steps(CHAIN, "sch.set_axis_separator('B', 'B', [1])\nsch.cache_read('C', 0, 'local')")
    assert declarations(mod) == [
        "B = T.alloc_buffer((6, 4), axis_separators=[1])",
        'B_local = T.alloc_buffer((6, 4), scope="local", axis_separators=[1])',
    ]


# Traces


def test_the_trace_is_replayed() -> None:
    sch = Schedule(stepwell.parse_tvmscript(CHAIN))
    block = sch.get_block("B")
    sch.transform_layout(block, "B", lambda i, j: (i, j // 2, "axis_separator", j % 2))
    sch.set_axis_separator(block, ("read", 0), [1])
    lines = str(sch.trace).splitlines()
    assert [line.strip() for line in lines if "set_axis" in line] == [
        'sch.set_axis_separator(block=b0, buffer=("write", 0), axis_separators=[2])',
        'sch.set_axis_separator(block=b0, buffer=("read", 0), axis_separators=[1])',
    ]
    again = Schedule(stepwell.parse_tvmscript(CHAIN))
    again.replay(str(sch.trace))
    assert str(again.mod) == str(sch.mod)
    assert str(parse_mlir(str(sch.with_trace()))) == str(sch.with_trace())
