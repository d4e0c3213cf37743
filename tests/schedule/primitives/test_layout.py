"""transform_layout: resulting programs and refusals."""

import numpy as np
import pytest

from stepwell import build
from stepwell.core.errors import ScheduleError
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule, Trace
from stepwell.schedule.trace import replay_script
from stepwell.tools.testing.scheduling import (
    apply_steps,
    body_text,
    check_computes_the_same,
    check_well_formed,
    refusal_of,
)

STAGES = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), D: T.Buffer((6, 6), "float32")):
    B = T.alloc_buffer((8, 6))
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + B[vi + 2, vj]
"""
REDUCTION = """
@T.prim_func
def main(A: T.Buffer((4, 6, 5), "float32"), D: T.Buffer((4, 6), "float32")):
    for i, j, k in T.grid(4, 6, 5):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vj, vk]
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8))
    C = T.match_buffer(c, (n, 8))
    for i, j in T.grid(n, T.int64(8)):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
"""
SYMBOLIC_STAGES = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    C = T.match_buffer(c, (n,))
    B = T.alloc_buffer((n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = B[vi] + T.float32(1)
"""


def layout(index_map: str, *, block: str = "B", buffer: str = "('write', 0)", more: str = "") -> str:
    return f"sch.transform_layout('{block}', {buffer}, {index_map}{more})"


def test_every_access_goes_where_the_map_says() -> None:
    text = body_text(apply_steps(STAGES, layout("lambda i, j: (i // 4, j, i % 4)")))
    assert text.startswith("B = T.alloc_buffer((2, 6, 4))\n")
    assert "B[vi // 4, vj, vi % 4] = A[vi, vj] * T.float32(2.0)" in text
    assert "D[vi, vj] = B[vi // 4, vj, vi % 4] + B[(vi + 2) // 4, vj, (vi + 2) % 4]" in text
    assert "T.writes(B[vi // 4, vj, vi % 4])" in text


def test_indices_are_simplified() -> None:
    text = body_text(apply_steps(STAGES, layout("lambda i, j: i * 6 + j") + "\n" + layout("lambda i: (i // 6, i % 6)")))
    assert "B[vi, vj] = A[vi, vj] * T.float32(2.0)" in text
    assert "B = T.alloc_buffer((8, 6))" in text


@pytest.mark.parametrize("block", ["B", "D"])
def test_a_buffer_is_given_by_any_block_and_by_name(block: str) -> None:
    text = body_text(apply_steps(STAGES, layout("lambda i, j: (j, i)", block=block, buffer="'B'")))
    assert "B = T.alloc_buffer((6, 8))" in text


def test_a_parameter_changes_its_shape() -> None:
    mod = apply_steps(STAGES, layout("lambda i, j: (j, i)", block="D"))
    assert 'A: T.Buffer((8, 6), "float32"), D: T.Buffer((6, 6), "float32")' in mod.script()
    mod = apply_steps(STAGES, layout("lambda i, j: (i, j // 3, j % 3)", buffer="('read', 0)"))
    assert 'A: T.Buffer((8, 2, 3), "float32")' in mod.script()


def test_a_parameter_of_symbolic_shape_changes_it() -> None:
    text = apply_steps(SYMBOLIC, layout("lambda i, j: (j // 4, i, j % 4)", block="C")).script()
    assert "C = T.match_buffer(c, (2, n, 4))" in text
    text = apply_steps(SYMBOLIC, layout("lambda i, j: (i // 4, j, i % 4)", block="C", more=", pad_value=0")).script()
    assert "C = T.match_buffer(c, ((n + T.int64(3)) // T.int64(4), 8, 4))" in text


def test_a_symbolic_shape_that_changes_again_leaves_nothing_behind() -> None:
    sch = apply_steps(SYMBOLIC_STAGES, f"{layout('lambda i: [i + 1]')}\n{layout('lambda i: [i]')}")
    assert body_text(sch).count("n + ") == 1


@pytest.mark.parametrize("index_map", ["lambda i, j: (i, j + 1)", "lambda i, j: (i, j * 2)", "lambda i, j: (i + j, j)"])
def test_elements_may_be_anywhere_as_long_as_they_stay_apart(index_map: str) -> None:
    apply_steps(STAGES, layout(index_map))


def test_blocks_in_blocks_say_what_they_touch_in_the_new_layout() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            for i1, j in T.grid(2, 8):
                with T.block("C"):
                    vi = T.axis.spatial(8, vo * 2 + i1)
                    vj = T.axis.spatial(8, j)
                    C[vi, vj] = A[vi, vj] * T.float32(2)
"""
    after = body_text(apply_steps(text, layout("lambda i, j: (j, i)", block="C")))
    assert "T.writes(C[0:8, vo * 2:vo * 2 + 2])" in after


def test_without_a_value_padding_is_left_alone() -> None:
    text = body_text(apply_steps(STAGES, layout("lambda i, j: (i, j // 4, j % 4)")))
    assert "B = T.alloc_buffer((8, 2, 4))" in text
    assert text.count("T.block(") == 2


def test_the_writer_of_a_buffer_writes_its_padding_too() -> None:
    text = body_text(apply_steps(STAGES, layout("lambda i, j: (i, j // 4, j % 4)", more=", pad_value=1")))
    assert (
        "for i, axis1, axis2 in T.grid(8, 2, 4):\n"
        '    with T.block("B"):\n'
        '        v_i, v_axis1, v_axis2 = T.axis.remap("SSS", [i, axis1, axis2])\n'
    ) in text
    assert (
        "B[v_i, v_axis1, v_axis2] = T.if_then_else(v_axis1 == 1 and 2 <= v_axis2, T.float32(1.0), "
        "A[v_i, v_axis1 * 4 + v_axis2] * T.float32(2.0))"
    ) in text


def test_a_reduction_starts_and_updates_its_padding_with_the_value() -> None:
    text = body_text(apply_steps(REDUCTION, layout("lambda i, j: (i, j // 4, j % 4)", block="D", more=", pad_value=3")))
    assert text.count("T.if_then_else(v_axis1 == 1 and 2 <= v_axis2, T.float32(3.0), ") == 2
    assert "for i, axis1, axis2, k in T.grid(4, 2, 4, 5):" in text


@pytest.mark.parametrize(
    ("steps", "loops"),
    [
        ("sch.split(sch.get_loops('B')[0], [2, 4])", "for i, axis1, axis2"),
        ("sch.parallel(sch.get_loops('B')[0])", "for i, axis1, axis2"),
        ("sch.reorder(*sch.get_loops('B')[::-1])", "for i, axis1, axis2"),
    ],
)
def test_where_the_writer_goes_in_another_order_a_block_writes_the_padding(steps: str, loops: str) -> None:
    mod = apply_steps(STAGES, steps + "\n" + layout("lambda i, j: (i, j // 4, j % 4)", more=", pad_value=1"))
    text = body_text(mod).replace("i0", "i")
    assert 'with T.block("buffer_B_padding"):' in text
    assert "T.where(axis1 == 1 and 2 <= axis2)" in text
    assert loops in text
    assert text.index("buffer_B_padding") < text.index('T.block("D")')


def test_blocks_that_share_a_loop_with_the_writer_stay() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32"), E: T.Buffer((8, 6), "float32")):
    for i in range(8):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(6):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = A[vi, vj] * T.float32(3)
"""
    after = body_text(apply_steps(text, layout("lambda i, j: (i, j // 4, j % 4)", more=", pad_value=1")))
    assert 'T.block("E")' in after
    assert 'T.block("buffer_B_padding")' in after


def test_two_dimensions_are_padded_at_once() -> None:
    mod = apply_steps(STAGES, layout("lambda i, j: (i // 3, j // 4, i % 3, j % 4)", more=", pad_value=1"))
    assert "v_axis0 == 2 and v_axis2 == 2 or v_axis1 == 1 and 2 <= v_axis3" in body_text(mod)


def test_a_fused_dimension_is_padded_at_its_end() -> None:
    mod = apply_steps(STAGES, layout("lambda i, j: ((i * 6 + j) // 5, (i * 6 + j) % 5)", more=", pad_value=1"))
    assert "T.if_then_else(48 <= v_axis0 * 5 + v_axis1, T.float32(1.0), " in body_text(mod)


def test_padding_of_what_is_only_read_is_whoever_calls() -> None:
    mod = apply_steps(STAGES, layout("lambda i, j: (i, j // 4, j % 4)", buffer="'A'", more=", pad_value=1"))
    assert 'A: T.Buffer((8, 2, 4), "float32")' in mod.script()
    assert body_text(mod).count("T.block(") == 2


def test_a_remainder_of_a_short_dimension_has_room_for_all_numbers() -> None:
    text = STAGES.replace("(8, 6)", "(3, 6)").replace("(6, 6)", "(1, 6)").replace("B[vi + 2, vj]", "B[vi, vj]")
    mod = apply_steps(text, layout("lambda i, j: (i // 4, j, i % 4)", more=", pad_value=0"))
    assert "B = T.alloc_buffer((1, 6, 4))" in body_text(mod)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int64"])
def test_padding_has_the_type_of_the_buffer(dtype: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((7,), "{dtype}"), D: T.Buffer((7,), "{dtype}")):
    for i in range(7):
        with T.block("D"):
            vi = T.axis.spatial(7, i)
            D[vi] = A[vi] + A[vi]
"""
    mod = apply_steps(text, layout("lambda i: (i // 4, i % 4)", block="D", more=", pad_value=3"))
    assert "v_axis0 == 1 and v_axis1 == 3" in body_text(mod)


def test_different_elements_stay_different() -> None:
    message = str(refusal_of(STAGES, "", layout("lambda i, j: (i, j % 4)")))
    assert "the index map puts different indices in the same place: (i0=0, i1=4) and (i0=0, i1=0)" in message


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (layout("lambda i, j: (i, j - 1)"), "starts at -1, expected indices that are not negative"),
        (layout("lambda i: i"), "an index map of 1 index, expected one of 2 indices"),
        (layout("lambda i, j: (j, i)", buffer="('write', 3)"), "there is no number 3"),
        (
            layout("lambda i, j: (j, i // 2, i % 2)", more=", axis_separators=[4]"),
            "axis_separators [4], expected positions from 0 to 3, none less than the one before it",
        ),
        (layout("lambda i, j: (j, i)", more=", pad_value=lambda i: i"), "pad_value is a function of 1 index, expected"),
        (layout("lambda i, j: (i + j, j)", more=", pad_value=1"), "the index map cannot be turned around"),
        (layout("lambda i, j: (j, i)", block="root"), "expected a block, got the body of the function"),
    ],
)
def test_what_makes_no_layout_is_refused(attempt: str, message: str) -> None:
    assert message in str(refusal_of(STAGES, "", attempt))


def test_integers_are_not_padded_with_fractions() -> None:
    text = STAGES.replace("float32", "int32").replace("T.alloc_buffer((8, 6))", 'T.alloc_buffer((8, 6), "int32")')
    attempt = layout("lambda i, j: (i, j // 4, j % 4)", more=", pad_value=0.5")
    assert "pad_value 0.5 is not of type int32" in str(refusal_of(text, "", attempt))


def test_a_shape_whose_last_index_may_fit_no_type_is_refused() -> None:
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int64):
    A = T.match_buffer(a, (n * T.int64(4),), "float32")
    B = T.match_buffer(b, (n * T.int64(4),), "float32")
    for i in range(n * T.int64(4)):
        with T.block("C"):
            v = T.axis.spatial(n * T.int64(4), i)
            B[v] = A[v]
"""
    message = str(refusal_of(text, "", layout("lambda i: (i // 2, i % 2)", block="C")))
    assert "do not fit 64 bits" in message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("B[vi, 0:6] = A[vi, 0:6]", "buffer B is accessed by vectors of elements"),
        ("T.evaluate(T.address_of(B[vi, 0]))", "is used otherwise than to load and store elements"),
    ],
)
def test_buffers_are_used_element_by_element(body: str, message: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:6])
            T.writes(B[vi, 0:6])
            {body}
"""
    assert message in str(refusal_of(text, "", layout("lambda i, j: (j, i)")))


def test_a_size_stays_known() -> None:
    text = SYMBOLIC.replace("A = T.match_buffer(a, (n, 8))", "A = T.match_buffer(a, (64, 8))")
    message = str(refusal_of(text, "", layout("lambda i, j: (i // 4, j, i % 4)", block="C")))
    assert "size n is known from the shape of parameter C alone" in message


def test_the_trace_replays() -> None:
    schedule = Schedule(parse_tvmscript(STAGES))
    schedule.transform_layout("B", ("write", 0), lambda i, j: (i, j // 4, j % 4), pad_value=1.5)
    again = Schedule(parse_tvmscript(STAGES))
    replay_script(again, str(schedule.trace))
    assert again.mod.script() == schedule.mod.script()
    assert "index_map=lambda i0, i1: (i0, i1 // 4, i1 % 4,), pad_value=1.5" in str(schedule.trace)


def test_a_layout_of_unknown_sizes_is_laid_out_anew() -> None:
    """Extents of the first layout are factors of several extents of the second layout."""
    mod = parse_tvmscript("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 2), "int32")
    B = T.match_buffer(b, (n, 3), "int32")
    for i, j in T.grid(n, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vj < 2, A[vi, vj], 0)
""")
    sch = Schedule(mod)
    sch.transform_layout("B", ("write", 0), lambda i, j: i * 64 + j, pad_value=0)
    (loop,) = sch.get_loops("B")
    outer = sch.blockize(loop)
    sch.transform_layout(outer, ("write", 0), lambda i: (i // 2, i % 2), pad_value=0)
    check_well_formed(sch.mod)


def test_an_index_map_takes_typed_numbers_of_a_trace() -> None:
    def steps(*numbers: str) -> str:
        a, b = numbers
        return f'sch.transform_layout("B", ("write", 0), lambda i: (i // {a}, i % {b}))'

    text = """
@T.prim_func
def main(A: T.Buffer((16,), "int32"), D: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            B[v] = A[v]
    for i in range(16):
        with T.block("D"):
            v = T.axis.spatial(16, i)
            D[v] = B[v]
"""
    assert str(apply_steps(text, steps("T.int64(4)", "T.int64(4)"))) == str(apply_steps(text, steps("4", "4")))


@pytest.mark.parametrize("block", ["B", "D"])
def test_the_padding_is_a_function_of_the_new_indices(block: str) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32"), D: T.Buffer((14,), "float32")):
    for i in range(14):
        with T.block("B"):
            v = T.axis.spatial(14, i)
            B[v] = A[v] * 2
    for i in range(14):
        with T.block("D"):
            v = T.axis.spatial(14, 13 - i)
            D[v] = T.Cast("float32", A[v])
"""
    steps = f'sch.transform_layout("{block}", ("write", 0), lambda i: (i // 4, i % 4), lambda i, j: (i + j * 2,))'
    after = apply_steps(text, steps)
    check_computes_the_same(parse_tvmscript(text), after, target="llvm", trace=_trace(text, steps))


@pytest.mark.parametrize(("offset", "factor"), [(1, 8), (3, 4), (13, 5)])
def test_the_padding_is_at_both_ends(offset: int, factor: int) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            A[v] = v
"""
    after = apply_steps(
        text, layout(f"lambda i: ((i + {offset}) // {factor}, (i + {offset}) % {factor})", more=", pad_value=-1")
    )
    expected = np.full(-(-(16 + offset) // factor) * factor, -1, "int32")
    expected[offset : offset + 16] = np.arange(16)
    array = np.zeros((expected.size // factor, factor), "int32")
    build(after)(array)
    np.testing.assert_array_equal(array.ravel(), expected)


def test_the_padding_before_the_elements_is_compared_by_digits() -> None:
    attempt = layout("lambda i, j: (i, (j + 1) // 4, (j + 1) % 4)", more=", pad_value=0")
    assert "v_axis1 == 0 and v_axis2 < 1 or v_axis1 == 1 and v_axis2 == 3" in body_text(apply_steps(STAGES, attempt))


def test_the_padding_of_a_buffer_that_is_written_outside_of_blocks() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((14, 8), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = 0
        for k in range(8):
            with T.block("sum"):
                T.reads(B[i], A[i, k])
                T.writes(B[i])
                B[i] = B[i] + A[i, k]
"""
    after = apply_steps(text, layout("lambda i: (i // 4, i % 4)", block="sum", more=", pad_value=-1"))
    a, b = np.arange(14 * 8, dtype="int32").reshape(14, 8), np.zeros((4, 4), "int32")
    build(after)(a, b)
    np.testing.assert_array_equal(b.ravel(), [*a.sum(1), -1, -1])


def _trace(text: str, steps: str) -> Trace:
    schedule = Schedule(parse_tvmscript(text))
    exec(steps, {"sch": schedule})
    again = Schedule(parse_tvmscript(text))
    replay_script(again, schedule.trace.as_python())
    assert str(again.mod) == str(schedule.mod)
    return schedule.trace


def test_shifts_and_lowest_bits_are_quotients_and_remainders() -> None:
    def layout(change: object) -> str:
        sch = Schedule(parse_tvmscript(STAGES))
        sch.transform_layout("B", ("write", 0), change)  # pyright: ignore[reportArgumentType]
        return body_text(sch.mod)

    assert layout(lambda i, j: (i >> 2, i & 3, j << 1)) == layout(lambda i, j: (i // 4, i % 4, j * 2))
    assert layout(lambda i, j: (3 & i, i >> 2, j)) == layout(lambda i, j: (i % 4, i // 4, j))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i, j: (i & 5, i >> 2, j), "5 beside &, expected a number of lowest bits"),
        (lambda i, j: (i >> -1, j), "-1 beside >>, expected an integer that is not negative"),
        (lambda i, j: (i << j, j), "beside <<, expected an integer that is not negative"),
        (lambda i, j: (i, j ^ i), "expected sums, and //, %, \\*, <<, >> and & by numbers"),
    ],
)
def test_other_operations_on_bits_are_no_index_arithmetic(change: object, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        Schedule(parse_tvmscript(STAGES)).transform_layout("B", ("write", 0), change)  # pyright: ignore[reportArgumentType]
