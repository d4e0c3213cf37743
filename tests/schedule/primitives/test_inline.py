"""compute_inline: resulting programs, accepted blocks, and changes of values that it refuses."""

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing import scheduling
from stepwell.tools.testing.scheduling import NEST, TRANSPOSE, VECTORS, body_text, check_computes_the_same, program


def chain(
    producer: str, consumer: str, between: str = "", buffer: str = '(16,), "float32"', params: str = VECTORS
) -> str:
    return program(
        f"""
B = T.alloc_buffer({buffer})
for i in range(16):
    with T.block("B"):
        v = T.axis.spatial(16, i)
        {producer}
{between}
for i in range(16):
    with T.block("D"):
        v = T.axis.spatial(16, i)
        {consumer}
""",
        params,
    )


def inlined(text: str, block: str = "B") -> Schedule:
    """The schedule after the primitive, checked to preserve results."""
    mod = stepwell.parse_tvmscript(text)
    sch = Schedule(mod, debug_mask="all")
    sch.compute_inline(block)
    check_computes_the_same(mod, sch.mod)
    return sch


def refused(text: str, block: str = "B") -> str:
    """The reason for the refusal, which leaves the program unchanged."""
    return str(scheduling.refusal_of(text, "", f"sch.compute_inline({block!r})"))


def script(sch: Schedule) -> str:
    """The statements of a program."""
    return body_text(sch.mod) + "\n"


def test_a_block_is_computed_where_it_is_read() -> None:
    sch = inlined(chain("B[v] = A[v] * T.float32(2)", "D[v] = B[15 - v] + B[v]"))
    assert script(sch) == (
        """\
for i in range(16):
    with T.block("D"):
        v = T.axis.spatial(16, i)
        T.reads(A[T.min(15 - v, v):T.min(15 - v, v) + (T.max(15 - v, v) - T.min(15 - v, v) + 1)])
        T.writes(D[v])
        D[v] = A[15 - v] * T.float32(2.0) + A[v] * T.float32(2.0)
"""
    )


@pytest.mark.parametrize(
    ("shape", "store", "load", "index"),
    [
        ("(4, 4)", "B[v // 4, v % 4]", "B[v // 4, v % 4]", "A[v]"),
        ("(4, 4)", "B[v % 4, v // 4]", "B[v // 4, v % 4]", "A[v // 4 + v % 4 * 4]"),
        ("(20,)", "B[v + 4]", "B[v + 4]", "A[v]"),
        ("(16,)", "B[15 - v]", "B[v]", "A[15 - v]"),
        ("(31,)", "B[2 * v]", "B[2 * v]", "A[v]"),
        ("(1, 16, 3)", "B[0, v, 2]", "B[0, v, 2]", "A[v]"),
    ],
)
def test_an_index_is_read_backwards(shape: str, store: str, load: str, index: str) -> None:
    sch = inlined(chain(f"{store} = A[v] * T.float32(2)", f"D[v] = {load}", buffer=f'{shape}, "float32"'))
    assert f"D[v] = {index} * T.float32(2.0)\n" in script(sch)


def test_loops_that_only_had_the_block_go() -> None:
    sch = inlined(NEST)
    assert "for i, j in T.grid(4, 4):" in script(sch)
    assert "alloc_buffer" not in script(sch)


def test_a_block_may_store_to_several_buffers() -> None:
    text = chain("B[v] = A[v] * T.float32(2)\n        C[v] = A[v]", "D[v] = B[v] - C[15 - v]")
    sch = inlined(text.replace("    B = ", "    C = T.alloc_buffer((16,))\n    B = "))
    assert "D[v] = A[v] * T.float32(2.0) - A[15 - v]\n" in script(sch)


def test_names_are_looked_through() -> None:
    sch = inlined(chain("with T.LetStmt(A[v]) as x:\n            B[v] = x * x", "D[v] = B[v]"))
    assert "D[v] = A[v] * A[v]\n" in script(sch)


def test_a_value_is_computed_only_where_it_was_read() -> None:
    lazy = "T.if_then_else(1 <= v, A[v - 1], T.float32(0))"
    sch = inlined(chain(f"B[v] = {lazy}", "D[v] = T.if_then_else(v < 8, B[v + 8], B[v])"))
    assert (
        "D[v] = T.if_then_else(v < 8, T.if_then_else(1 <= v + 8, A[v + 7], T.float32(0.0)), "
        "T.if_then_else(1 <= v, A[v - 1], T.float32(0.0)))\n"
    ) in script(sch)


def test_what_a_block_leaves_out_may_be_inlined_where_it_is_not_read() -> None:
    guarded = "if v < 10:\n            B[v] = A[v]"
    sch = inlined(chain(guarded, "D[v] = T.if_then_else(v < 10, B[v], T.float32(0))"))
    assert "T.if_then_else(v < 10, A[v], T.float32(0.0))" in script(sch)
    assert "what was there before" in refused(chain(guarded, "D[v] = B[v]"))


def test_a_split_block_with_its_guard_is_inlined() -> None:
    mod = stepwell.parse_tvmscript(chain("B[v] = A[v]", "D[v] = B[v]"))
    sch = Schedule(mod)
    sch.split(sch.get_loops("B")[0], [None, 5])
    sch.compute_inline("B")
    check_computes_the_same(mod, sch.mod)
    assert "D[v] = A[v]\n" in script(sch)


def test_readers_are_an_init_a_predicate_an_index_and_a_block_inside() -> None:
    sch = inlined(
        program(
            """
B = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("B"):
        v = T.axis.spatial(16, i)
        B[v] = T.min(T.max(A[v], 1), 4)
for i in range(4):
    with T.block("outer"):
        vo = T.axis.spatial(4, i)
        for j, k in T.grid(4, 4):
            with T.block("D"):
                v = T.axis.spatial(4, j)
                vk = T.axis.reduce(4, k)
                T.where(B[j] > 1)
                with T.init():
                    D[vo * 4 + v] = B[v]
                D[vo * 4 + v] = D[vo * 4 + v] + A[B[vk]]
""",
            'A: T.Buffer((16,), "int32"), D: T.Buffer((16,), "int32")',
        )
    )
    text = script(sch)
    assert "B[" not in text
    assert "T.where(T.min(T.max(A[j], 1), 4) > 1)" in text
    assert "D[vo * 4 + v] = T.min(T.max(A[v], 1), 4)\n" in text
    assert "A[T.min(T.max(A[vk], 1), 4)]" in text


def test_the_bound_of_a_loop_may_read() -> None:
    sch = inlined(
        program(
            """
B = T.alloc_buffer((1,), "int32")
with T.block("B"):
    v = T.axis.spatial(1, 0)
    B[v] = T.min(T.max(A[v], 1), 4)
for i in range(B[0]):
    with T.block("D"):
        v = T.axis.spatial(4, i)
        D[v] = v
""",
            'A: T.Buffer((1,), "int32"), D: T.Buffer((4,), "int32")',
        )
    )
    assert "for i in range(T.min(T.max(A[0], 1), 4)):" in script(sch)


def test_loops_may_count_in_other_types() -> None:
    sch = inlined(
        program(
            """
B = T.alloc_buffer((2, 8), "float16")
for i in range(T.int64(16)):
    with T.block("B"):
        v = T.axis.spatial(T.int64(16), i)
        B[v // T.int64(8), v % T.int64(8)] = A[v] * T.float16(2)
for i, j in T.grid(2, 8):
    with T.block("D"):
        v, w = T.axis.remap("SS", [i, j])
        D[v * 8 + w] = B[v, w]
""",
            'A: T.Buffer((16,), "float16"), D: T.Buffer((16,), "float16")',
        )
    )
    assert 'A[T.Cast("int64", v) * T.int64(8) + T.Cast("int64", w)] * T.float16(2.0)' in script(sch)


def test_a_symbolic_extent_stays() -> None:
    sch = inlined(TRANSPOSE)
    assert "D[v, w] = A[w, v] * T.float32(2.0)\n" in script(sch)


def test_a_scalar_buffer_is_inlined() -> None:
    sch = inlined(
        program(
            """
B = T.alloc_buffer(())
with T.block("B"):
    B[()] = A[3] * T.float32(2)
for i in range(16):
    with T.block("D"):
        v = T.axis.spatial(16, i)
        D[v] = B[()]
"""
        )
    )
    assert "D[v] = A[3] * T.float32(2.0)\n" in script(sch)


def test_regions_of_blocks_around_a_reader_are_renewed() -> None:
    sch = inlined(
        program(
            """
B = T.alloc_buffer((16,))
for i in range(16):
    with T.block("B"):
        v = T.axis.spatial(16, i)
        B[v] = A[15 - v]
for i in range(4):
    with T.block("outer"):
        vo = T.axis.spatial(4, i)
        for j in range(4):
            with T.block("D"):
                v = T.axis.spatial(4, j)
                D[vo * 4 + v] = B[vo * 4 + v]
"""
        )
    )
    assert "T.reads(A[12 - vo * 4:12 - vo * 4 + 4])" in script(sch)


def test_the_block_is_gone_for_later_primitives() -> None:
    sch = Schedule(stepwell.parse_tvmscript(chain("B[v] = A[v]", "D[v] = B[v]")))
    block = sch.get_block("B")
    sch.compute_inline(block)
    with pytest.raises(stepwell.ScheduleError, match="block 'B' is no longer in the program"):
        sch.compute_inline(block)


# Refused


WRITE = """
for i in range({extent}):
    with T.block("W"):
        v = T.axis.spatial({extent}, i)
        A[v + {start}] = T.float32(0)
"""


def test_what_is_read_must_not_be_overwritten_in_between() -> None:
    text = refused(chain("B[v] = A[v]", "D[v] = B[v]", WRITE.format(extent=1, start=3)))
    assert "A[3] is read by block D at (v=3) after block W writes it at (v=0)" in text
    assert '"W"' in text


def test_other_elements_may_be_overwritten_in_between() -> None:
    params = VECTORS.replace("16", "17", 1)
    inlined(chain("B[v] = A[v]", "D[v] = B[v]", WRITE.format(extent=1, start=16), params=params))


def test_a_reader_must_not_overwrite_what_later_instances_need() -> None:
    assert "A[7] is read by block D at (v=8) after block D writes it at (v=7)" in refused(
        chain("B[v] = A[v]", "A[v] = B[15 - v]")
    )


def test_a_reader_before_the_writer_reads_nothing() -> None:
    text = program(
        """
B = T.alloc_buffer((16,))
for i in range(16):
    with T.block("D"):
        v = T.axis.spatial(16, i)
        D[v] = B[v]
for i in range(16):
    with T.block("B"):
        v = T.axis.spatial(16, i)
        B[v] = A[v]
"""
    )
    assert "with what was there before" in refused(text)


@pytest.mark.parametrize(
    ("producer", "reason"),
    [
        ("B[v] = A[v]\n        B[v] = A[15 - v]", "stores twice to buffer B, expected one store to each buffer"),
        ("B[v // 2] = A[v]", r"stores to B[v // 2], which does not tell its axes"),
        ("B[v] = A[i]", "uses i, which is none of its axes"),
        ("B[v] = T.float32(1)\n        for j in range(2):\n            B[v] = A[v]", "has a tir.for in it"),
        ("with T.init():\n            B[v] = T.float32(0)\n        B[v] = A[v]", "has an init"),
        ("B[v] = A[v]\n        C[v] = B[v]", "reads buffer B, which it writes"),
        ('B[v] = T.call_extern("float32", "f", A[v])', "makes calls"),
        ("T.evaluate(0)", "expected stores of single elements only"),
    ],
)
def test_blocks_that_are_more_than_a_store_are_refused(producer: str, reason: str) -> None:
    text = chain(producer, "D[v] = B[v]").replace("    B = ", "    C = T.alloc_buffer((16,))\n    B = ")
    assert reason in refused(text)


@pytest.mark.parametrize(
    ("consumer", "reason"),
    [
        ("D[v] = B[v]\n        B[v] = T.float32(0)", "buffer B is written in block D too"),
        ('T.evaluate(T.call_extern("int32", "f", B.data))', "buffer B is used in block D by tir.buffer_data"),
        (
            "M = T.match_buffer(B[v:v + 1], (1,), offset_factor=1)\n        D[v] = M[0]",
            "buffer B is used in block D by tir.match_region",
        ),
    ],
)
def test_other_uses_of_the_buffer_are_refused(consumer: str, reason: str) -> None:
    accesses = "T.reads(B[0:16])\n        T.writes(B[0:16], D[0:16])\n        "
    assert reason in refused(chain("B[v] = A[v]", accesses + consumer))


def test_an_output_is_needed_outside() -> None:
    text = refused(chain("B[v] = A[v]", "D[v] = B[v]"), "D")
    assert "buffer D, which block D writes, is not allocated in the function, so its values are needed outside" in text


def test_the_body_of_the_function_is_no_such_block() -> None:
    assert "block root is the body of the function" in refused(chain("B[v] = A[v]", "D[v] = B[v]"), "root")


POINTER = """
@T.prim_func
def main(table: T.Buffer((16,), "int8"), A: T.Buffer((8,), "int8"), D: T.Buffer((8,), "int8")):
    B = T.alloc_buffer((8,), "int8")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + T.int8(1)
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            T.reads(table[0:16], B[v])
            T.writes(D[v])
            T.evaluate(T.call_extern("int32", "touch", table.access_ptr("r")))
            D[v] = B[v] * T.int8(2)
"""


def test_a_reader_keeps_the_declared_accesses_of_its_pointers() -> None:
    schedule = Schedule(stepwell.parse_tvmscript(POINTER))
    schedule.compute_inline("B")
    assert "T.reads(A[v], table[0:16])" in schedule.mod.script()
    reason = "the block uses a pointer to buffer 'table', so what it reads and writes is not known"
    assert reason in str(
        scheduling.refusal_of(POINTER.replace("B[v] = A[v]", "B[v] = table[v]"), "", 'sch.compute_inline("B")')
    )


def test_a_block_that_nobody_reads_is_erased() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + 1
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = A[v] * 2
"""
    after = scheduling.apply_steps(text, 'sch.compute_inline("B")')
    assert [block.name for block in Schedule(after).get_child_blocks("root")] == ["D"]


STEPS = """
@T.prim_func
def main(A: T.Buffer((9, 4), "int32"), D: T.Buffer((9, 4), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for t in range(9):
        for i in range(4):
            with T.block("B"):
                vt, v = T.axis.remap("SS", [t, i])
                B[v] = A[vt, v] + vt
        for i in range(4):
            with T.block("D"):
                vs, v = T.axis.remap("SS", [t, i])
                D[vs, v] = B[3 - v] * 2
"""


def test_an_axis_bound_to_a_loop_around_the_reader_is_an_axis_of_the_reader() -> None:
    sch = inlined(STEPS)
    assert "D[vs, v] = (A[vs, 3 - v] + vs) * 2" in sch.mod.script()


def test_a_value_of_an_earlier_iteration_is_not_inlined() -> None:
    lines = STEPS.splitlines()
    later = "\n".join([*lines[:5], *lines[9:], *lines[5:9]])  # the block D before the block B
    assert "B[3] is read by block D" in refused(later)
    other = STEPS.replace(
        'vs, v = T.axis.remap("SS", [t, i])', "vs = T.axis.spatial(9, 8 - t)\n                v = T.axis.spatial(4, i)"
    )
    assert "does not tell its axes" in refused(other)
