"""annotate, unannotate, storage_align, set_scope."""

import numpy as np
import pytest

import stepwell
from stepwell.core.errors import ScheduleError
from stepwell.frontends.mlir import parse_mlir
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import apply_steps, check_computes_the_same, refusal_of

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
IJ = "i, j = sch.get_loops('B')\n"
MARK = " attributes {stepwell.scheduled}"
"""The mark of a function that a schedule has changed, in MLIR text; TVMScript does not state it."""


# annotate


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("1", "1"),
        ("-3", "-3"),
        ("True", "True"),
        ("1.5", "1.5"),
        ("'y'", '"y"'),
        ("[1, 2]", "[1, 2]"),
        ("(1, 'a')", '[1, "a"]'),
        ("[[1, 2], [3]]", "[[1, 2], [3]]"),
        ("[]", "[]"),
        ("{'a': 1, 'b': [1, 'c']}", '{"a": 1, "b": [1, "c"]}'),
        ("2**40", "T.int64(1099511627776)"),
    ],
)
def test_loops_are_annotated_with_what_a_program_can_say(value: str, printed: str) -> None:
    mod = apply_steps(CHAIN, IJ + f"sch.annotate(i, 'x', {value})")
    text = mod.script()
    assert f'for i in T.serial(6, annotations={{"x": {printed}}}):' in text or printed.startswith("T.int64")
    assert stepwell.parse_tvmscript(text).script() == text
    assert str(stepwell.parse_tvmscript(text)) == str(mod).replace(MARK, "")


def test_blocks_are_annotated() -> None:
    assert 'T.block_attr({"x": 1})' in apply_steps(CHAIN, "sch.annotate('B', 'x', 1)").script()
    assert 'T.block_attr({"a": 2, "x": 1})' in (
        apply_steps(CHAIN, "sch.annotate('B', 'a', 2)\nsch.annotate('B', 'x', 1)").script()
    )


def test_a_number_of_the_trace_is_an_annotation() -> None:
    steps = IJ + "v, _ = sch.sample_perfect_tile(i, n=2, decision=[2, 3])\nsch.annotate(i, 'x', v)"
    assert 'annotations={"x": 2}' in apply_steps(CHAIN, steps).script()
    sch = Schedule(stepwell.parse_tvmscript(CHAIN))
    exec(steps, {"sch": sch})
    assert "ann_val=v" in str(sch.trace)
    copy = Schedule(stepwell.parse_tvmscript(CHAIN))
    sch.trace.apply_to_schedule(copy, remove_postproc=False)
    assert str(copy.mod) == str(sch.mod)


def test_the_same_again_is_nothing_and_another_value_is_refused() -> None:
    once, twice = (apply_steps(CHAIN, IJ + "sch.annotate(i, 'x', 1)\n" * n) for n in (1, 2))
    assert str(once) == str(twice)
    error = refusal_of(CHAIN, IJ + "sch.annotate(i, 'x', 1)", "sch.annotate(i, 'x', 2)")
    assert "annotation 'x' is there already, with another value" in str(error)
    assert "'x'" in str(refusal_of(CHAIN, "sch.annotate('B', 'x', 1)", "sch.annotate('B', 'x', True)"))


def test_keys_of_today_are_those_of_before() -> None:
    assert '"tir.x": 1' in apply_steps(CHAIN, IJ + "sch.annotate(i, 'tirx.x', 1)").script()
    assert (
        "annotations"
        not in apply_steps(CHAIN, IJ + "sch.annotate(i, 'tirx.x', 1)\nsch.unannotate(i, 'tirx.x')").script()
    )


@pytest.mark.parametrize("value", ["None", "object()", "{1: 2}", "2**70", "[v]"])
def test_what_is_no_annotation_is_refused(value: str) -> None:
    steps = IJ + "v, _ = sch.sample_perfect_tile(i, n=2, decision=[2, 3])"
    assert refusal_of(CHAIN, steps, f"sch.annotate(i, 'x', {value})")


# The root block


ROOT = "sch.annotate('root', 'x', 1)\n"


def test_the_root_block_is_annotated_as_a_block_around_the_body() -> None:
    lines = apply_steps(CHAIN, ROOT).script().splitlines()
    start = next(n for n, line in enumerate(lines) if 'with T.block("root"):' in line)
    assert lines[start].strip() == 'with T.block("root"):'
    assert 'T.block_attr({"x": 1})' in "\n".join(lines[start : start + 4])


def test_handles_of_the_root_block_stay_when_it_becomes_a_block_and_when_not() -> None:
    sch = Schedule(stepwell.parse_tvmscript(CHAIN))
    before, root, block = str(sch.mod), sch.get_block("root"), sch.get_block("B")
    sch.annotate(root, "x", 1)
    again = sch.get_block("root")
    sch.annotate(again, "y", 2)
    sch.parallel(sch.get_loops(block)[0])
    assert [handle.name for handle in sch.get_child_blocks(root)] == ["B", "C"]
    sch.unannotate(root, "x")
    assert 'T.block_attr({"y": 2})' in sch.mod.script()
    sch.unannotate(again, "y")
    parallel = before.replace('tir.for serial "i" %i :', 'tir.for parallel "i" %i :', 1)
    assert str(sch.mod).replace(MARK, "") == parallel
    assert [handle.name for handle in sch.get_child_blocks(again)] == ["B", "C"]


def test_primitives_go_on_under_an_annotated_root() -> None:
    steps = ROOT + IJ + "sch.split(i, [None, 4])\nsch.reorder(*sch.get_loops('C')[::-1])"
    mod = apply_steps(CHAIN, steps)
    assert "T.grid(2, 4, 4)" in mod.script()


def test_symbols_and_parameters_stay_outside_of_the_root_block() -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n * 2), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi, vi]
"""
    assert apply_steps(text, ROOT + "sch.unannotate('root', 'x')").script() == stepwell.parse_tvmscript(text).script()
    apply_steps(text, ROOT)


# unannotate


def test_an_annotation_is_taken_back() -> None:
    steps = IJ + "sch.annotate(i, 'x', 1)\nsch.annotate('B', 'y', 1)\nsch.unannotate(i, 'x')\nsch.unannotate('B', 'y')"
    assert apply_steps(CHAIN, steps).script() == stepwell.parse_tvmscript(CHAIN).script()


@pytest.mark.parametrize("where", ["i", "'B'", "'root'"])
def test_an_annotation_that_is_not_there_is_refused(where: str) -> None:
    error = refusal_of(
        CHAIN, IJ + f"sch.annotate({where}, 'pragma_unroll', 1)", f"sch.unannotate({where}, 'pragma_unrol')"
    )
    assert error.reason == "no annotation 'pragma_unrol', did you mean 'pragma_unroll'? (has: pragma_unroll)"
    assert "no annotation 'x' (has: none)" in str(refusal_of(CHAIN, IJ, f"sch.unannotate({where}, 'x')"))


# storage_align


def alignment(steps: str) -> str:
    text = apply_steps(CHAIN, steps).script()
    line = next(line for line in text.splitlines() if "buffer_dim_align" in line)
    return line.strip().removeprefix('T.block_attr({"buffer_dim_align": ').removesuffix("})")


def test_alignment_is_an_annotation_of_the_block_that_writes() -> None:
    assert alignment("sch.storage_align('B', 0, axis=0, factor=16, offset=4)") == "[[0, 0, 16, 4]]"
    assert alignment("sch.storage_align('B', 0, axis=-1, factor=8, offset=0)") == "[[0, 1, 8, 0]]"


def test_a_later_alignment_replaces_that_of_the_same_axis() -> None:
    first = "sch.storage_align('B', 0, 1, 8, 4)\n"
    assert alignment(first + "sch.storage_align('B', 0, -1, 16, 2)") == "[[0, 1, 16, 2]]"
    assert alignment(first + "sch.storage_align('B', 0, 0, 16, 2)") == "[[0, 1, 8, 4], [0, 0, 16, 2]]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'C', 0, 0, 8, 0", "buffer C is a parameter, expected one that the program allocates"),
        ("'B', 1, 0, 8, 0", "buffer_index 1: expected a number below 1, that of a buffer which the block writes (B)"),
        ("'B', -1, 0, 8, 0", "buffer_index -1"),
        ("'B', 0, 2, 8, 0", "axis 2: expected a number from -2 to 1"),
        ("'B', 0, -3, 8, 0", "axis -3: expected a number from -2 to 1"),
        ("'B', 0, 0, 0, 0", "factor 0: expected a positive number"),
        ("'B', 0, 0, 2**31, 0", "2147483648 does not fit int32"),
        ("'root', 0, 0, 8, 0", "buffer_index 0: expected a number below 0"),
    ],
)
def test_what_cannot_be_aligned_is_refused(arguments: str, message: str) -> None:
    assert message in str(refusal_of(CHAIN, "", f"sch.storage_align({arguments})"))


def test_an_annotation_of_another_form_is_not_overwritten() -> None:
    steps = "sch.annotate('B', 'buffer_dim_align', {value})"
    for value in ("1", "[1]", "[[0, 0, 8]]"):
        message = str(refusal_of(CHAIN, steps.format(value=value), "sch.storage_align('B', 0, 0, 8, 0)"))
        assert "expected rows of four numbers" in message


# set_scope


@pytest.mark.parametrize(
    ("buffer", "scope", "name"),
    [("0", "shared", "B_shared"), ("'B'", "local", "B_local"), ("0", "wmma.matrix_a", "B_wmma_matrix_a")],
)
def test_a_buffer_moves_to_other_memory_and_is_renamed(buffer: str, scope: str, name: str) -> None:
    text = apply_steps(CHAIN, f"sch.set_scope('B', {buffer}, '{scope}')").script()
    assert f'{name} = T.alloc_buffer((6, 4), scope="{scope}")' in text
    assert f"C[vi, vj] = {name}[vi, vj] * T.float32(2.0)" in text


def test_memory_that_it_is_in_changes_nothing() -> None:
    assert apply_steps(CHAIN, "sch.set_scope('B', 0, 'global')").script() == stepwell.parse_tvmscript(CHAIN).script()


def test_views_move_along() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((6, 4), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            T.reads(A[vi, 0:4])
            T.writes(B[vi, 0:4])
            row = T.match_buffer(B[vi, 0:4], (4,), "float32"{scope})
            for j in range(4):
                row[j] = A[vi, j] + T.float32(1)
    D = T.decl_buffer((24,), "float32", data=B.data{scope})
    for i in range(24):
        C[i // 4, i % 4] = D[i]
"""
    mod = apply_steps(text.format(scope=""), "sch.set_scope('B', 0, 'shared')")
    expected = text.format(scope=', scope="shared"').replace(
        '(6, 4), "float32")\n    for', '(6, 4), "float32", scope="shared")\n    for'
    )
    assert mod.script().replace("B_shared", "B") == stepwell.parse_tvmscript(expected).script()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'C', 0, 'shared'", "buffer C is a parameter, expected one that the program allocates"),
        ("'B', 1, 'shared'", "buffer_index 1: expected a number below 1"),
        ("'B', 'A', 'shared'", "block B writes no buffer 'A' (B)"),
        ("'B', 0, 'shard'", "no memory 'shard', did you mean 'shared'?"),
        ("'B', 0, ''", "no memory ''"),
        ("'B', 0, 'shared.'", "no memory 'shared.'"),
    ],
)
def test_what_cannot_move_is_refused(arguments: str, message: str) -> None:
    assert message in str(refusal_of(CHAIN, "", f"sch.set_scope({arguments})"))


# unsafe_set_dtype


@pytest.mark.parametrize("buffer", ["0", "'B'"])
def test_values_are_stored_in_another_data_type(buffer: str) -> None:
    mod = apply_steps(CHAIN, f"sch.unsafe_set_dtype('B', {buffer}, 'float16')")
    assert 'B = T.alloc_buffer((6, 4), "float16")' in mod.script()
    assert 'C[vi, vj] = T.Cast("float32", B[vi, vj]) * T.float32(2.0)' in mod.script()
    a = np.linspace(0, 1, 24, dtype="float32").reshape(6, 4)
    c = np.empty_like(a)
    stepwell.build(mod)(a, c)
    np.testing.assert_array_equal(c, (a + 1).astype("float16").astype("float32") * 2)
    assert str(parse_mlir(str(mod))) == str(mod)


def test_views_change_their_data_type() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((6, 4), "float32")
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            T.reads(A[vi, 0:4])
            T.writes(B[vi, 0:4])
            row = T.match_buffer(B[vi, 0:4], (4,), "float32")
            row[0:4] = A[vi, 0:4]
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
"""
    mod = apply_steps(text, "sch.unsafe_set_dtype('B', 0, 'int8')")
    assert 'T.match_buffer(B[vi, 0:4], (4,), "int8")' in mod.script()
    a = np.linspace(-60, 60, 24, dtype="float32").reshape(6, 4)
    c = np.empty_like(a)
    stepwell.build(mod)(a, c)
    np.testing.assert_array_equal(c, a.astype("int8"))


def test_the_data_type_that_it_has_changes_nothing() -> None:
    text = apply_steps(CHAIN, "sch.unsafe_set_dtype('B', 0, 'float32')").script()
    assert text == stepwell.parse_tvmscript(CHAIN).script()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'C', 0, 'float16'", "buffer C is a parameter, expected one that the program allocates"),
        ("'B', 1, 'float16'", "buffer_index 1: expected a number below 1"),
        ("'B', -1, 'float16'", "buffer_index -1: expected a number below 1"),
        ("'B', 0, 'half'", "dtype: unknown dtype 'half'"),
        ("'B', 0, 'float16x4'", "dtype 'float16x4', expected a scalar data type"),
    ],
)
def test_what_cannot_change_its_data_type_is_refused(arguments: str, message: str) -> None:
    assert message in str(refusal_of(CHAIN, "", f"sch.unsafe_set_dtype({arguments})"))


def test_a_buffer_with_an_address_keeps_its_data_type() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = T.float32(1)
    D = T.decl_buffer((4,), "float32", data=B.data)
    for i in range(4):
        A[i] = D[i]
"""
    message = "buffer B is used otherwise than to load and store elements (tir.buffer_data), which is not supported"
    assert message in str(refusal_of(text, "", "sch.unsafe_set_dtype('B', 0, 'float16')"))


def test_text_with_annotations_and_scopes_is_read_back() -> None:
    sch = Schedule(stepwell.parse_tvmscript(CHAIN))
    sch.set_scope("B", 0, "shared.dyn")
    sch.storage_align("B", 0, 0, 32, 8)
    sch.annotate("C", "x", {"a": [1, 2.5, "s"]})
    assert str(parse_mlir(str(sch.mod))) == str(sch.mod)
    check_computes_the_same(stepwell.parse_tvmscript(CHAIN), sch.mod)
    copy = Schedule(stepwell.parse_tvmscript(CHAIN))
    exec(str(sch.trace), names := {"stepwell": stepwell, "s_tir": stepwell, "tvm": stepwell})
    names["apply_trace"](copy)
    assert str(copy.mod) == str(sch.mod)


def test_refusals_are_schedule_errors() -> None:
    sch = Schedule(stepwell.parse_tvmscript(CHAIN))
    with pytest.raises(ScheduleError, match="buffer C is a parameter"):
        sch.set_scope("C", 0, "shared")
