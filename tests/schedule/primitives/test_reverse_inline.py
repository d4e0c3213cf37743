"""reverse_compute_inline: resulting programs, predicates of the producer, and changes of values that it refuses."""

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing import scheduling
from stepwell.tools.testing.scheduling import NEST, TRANSPOSE, VECTORS, body_text, check_computes_the_same, program


def block(name: str, body: str, loop: str = "range(16)", axis: str = "T.axis.spatial(16, i)") -> str:
    return f"for i in {loop}:\n    with T.block({name!r}):\n        v = {axis}\n        {body}\n"


PRODUCER = block("B", "B[v] = A[v] * T.float32(2)")


def chain(consumer: str, between: str = "", producer: str = PRODUCER, params: str = VECTORS) -> str:
    return program(f"B = T.alloc_buffer((16,))\n{producer}{between}{consumer}", params)


def inlined(text: str, name: str = "D") -> str:
    """The statements after the primitive, checked to preserve results."""
    mod = stepwell.parse_tvmscript(text)
    sch = Schedule(mod, debug_mask="all")
    sch.reverse_compute_inline(name)
    check_computes_the_same(mod, sch.mod)
    return body_text(sch.mod) + "\n"


def refused(text: str, name: str = "D") -> str:
    """The reason for the refusal, which leaves the program unchanged."""
    return str(scheduling.refusal_of(text, "", f"sch.reverse_compute_inline({name!r})"))


def test_the_producer_does_the_work() -> None:
    assert inlined(chain(block("D", "D[v] = B[15 - v] + B[15 - v]"))) == (
        """\
for i in range(16):
    with T.block("B"):
        v = T.axis.spatial(16, i)
        T.reads(A[v])
        T.writes(D[15 - v])
        D[15 - v] = A[v] * T.float32(2.0) + A[v] * T.float32(2.0)
"""
    )


def test_the_consumer_may_read_and_write_other_buffers() -> None:
    params = VECTORS + ', X: T.Buffer((16, 2), "float32"), E: T.Buffer((16,), "float32")'
    text = inlined(chain(block("D", "D[v] = B[v] + X[v, 0]\n        E[v] = X[v, 1]"), params=params))
    assert "D[v] = A[v] * T.float32(2.0) + X[v, 0]\n" in text
    assert "E[v] = X[v, 1]\n" in text
    assert "T.reads(A[v], X[v, 0:2])" in text


def test_axes_may_be_cut_and_joined() -> None:
    text = inlined(
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
    assert 'D[T.Cast("int32", v)] = A[v] * T.float16(2.0)\n' in text


def test_an_instance_that_nobody_asks_for_does_nothing() -> None:
    assert "T.where(i < 6)" in inlined(chain(block("D", "D[v] = B[v]", loop="range(6)")))
    guarded = block("D", "T.where(i < 10)\n        D[v] = B[v]")
    assert "T.where(i < 10)" in inlined(chain(guarded))
    strided = "for i, j in T.grid(2, 3):\n    with T.block('D'):\n        v = T.axis.spatial(16, i * 8 + j)\n"
    assert "T.where(i % 8 < 3)" in inlined(chain(strided + "        D[v] = B[v]\n"))
    evens = block("D", "D[v] = B[v * 2]", loop="range(8)", axis="T.axis.spatial(8, i)")
    assert "T.where(i // 2 * 2 == i)" in inlined(chain(evens))


def test_a_condition_guards_one_store_of_several() -> None:
    producer = block("B", "B[v] = A[v]\n        E[v] = A[v] + T.float32(1)")
    params = VECTORS + ', E: T.Buffer((16,), "float32")'
    text = inlined(chain(block("D", "D[v] = B[v]", loop="range(5)"), producer=producer, params=params))
    assert "        if v < 5:\n            D[v] = A[v]\n        E[v] = A[v] + T.float32(1.0)\n" in text


def test_branches_of_the_consumer_stay() -> None:
    body = "if v < 8:\n            D[v] = B[v]\n        else:\n            D[15 - v] = B[v] + T.float32(1)"
    text = inlined(chain(block("D", f"D[v] = T.float32(0)\n        {body}")))
    assert "        else:\n            D[15 - v] = A[v] * T.float32(2.0) + T.float32(1.0)\n" in text


def test_a_consumer_that_repeats_itself_is_done_once() -> None:
    repeated = (
        "for j, i in T.grid(3, 16):\n    with T.block('D'):\n        v = T.axis.spatial(16, i)\n        D[v] = B[v]\n"
    )
    assert "for i in range(16):\n" in inlined(chain(repeated))


def test_a_split_consumer_is_inlined() -> None:
    mod = stepwell.parse_tvmscript(chain(block("D", "D[v] = B[v]")))
    sch = Schedule(mod)
    sch.split(sch.get_loops("D")[0], [None, 5])
    sch.split(sch.get_loops("B")[0], [None, 3])
    sch.reverse_compute_inline("D")
    check_computes_the_same(mod, sch.mod)
    assert "T.where(i_0 * 3 + i_1 < 16)" in sch.mod.script()


def test_blocks_in_one_nest() -> None:
    text = inlined(NEST)
    assert "for i, j in T.grid(4, 4):" in text
    assert 'with T.block("B"):' in text


def test_symbolic_extents_stay() -> None:
    text = inlined(TRANSPOSE)
    assert "D[w, v] = A[v, w] * T.float32(2.0)\n" in text
    assert "T.where" not in text


def test_the_last_of_two_producers_takes_the_work() -> None:
    second = block("C", "C[v] = A[v] + T.float32(1)")
    text = inlined(chain(f"C = T.alloc_buffer((16,))\n{second}" + block("D", "D[v] = B[v] - C[v]")))
    assert "D[v] = B[v] - (A[v] + T.float32(1.0))\n" in text


def test_the_input_may_be_overwritten_at_the_same_place() -> None:
    assert "A[v] = A[v] * T.float32(2.0) + T.float32(1.0)\n" in inlined(chain(block("D", "A[v] = B[v] + T.float32(1)")))


# Producers with an init


def initialized(update: str, consumer: str = "D[v] = B[15 - v]", *, loop: str = "range(16)", where: str = "") -> str:
    """A producer with an init and no reduction axis, and its consumer."""
    producer = block("B", f"with T.init():\n            B[v] = T.float32(1)\n        {update}", loop=loop)
    return chain(block("D", where + consumer), producer=producer)


def test_a_copy_of_an_initialized_element_is_initialized_itself() -> None:
    assert inlined(initialized("B[v] = B[v] + A[v]")) == (
        """\
for i in range(16):
    with T.block("B"):
        v = T.axis.spatial(16, i)
        T.reads(A[v])
        T.writes(D[15 - v])
        with T.init():
            D[15 - v] = T.float32(1.0)
        D[15 - v] = D[15 - v] + A[v]
"""
    )


def test_updates_of_an_initialized_element_may_be_of_any_form() -> None:
    text = inlined(initialized("if v < 5:\n            B[v] = B[v] * B[v] + A[v]"))
    assert "        if v < 5:\n            D[15 - v] = D[15 - v] * D[15 - v] + A[v]\n" in text
    assert "    D[15 - v] = A[v]\n" in inlined(initialized("B[v] = A[v]"))
    text = inlined(initialized("x = B[v] + A[v]\n        B[v] = T.max(x, B[v])"))
    assert "x: T.float32 = D[15 - v] + A[v]\n" in text


def test_an_instance_whose_initialized_element_nobody_copies_does_nothing() -> None:
    text = inlined(initialized("B[v] = B[v] + A[v]", "D[v] = B[v]", where="T.where(i < 10)\n        "))
    assert "        T.where(i < 10)\n" in text
    assert "with T.init():" in text


def test_the_last_of_several_copies_to_one_element_remains() -> None:
    """In loops that are not concurrent."""
    assert "D[v // 2] = D[v // 2] + A[v]" in inlined(initialized("B[v] = B[v] + A[v]", "D[v // 2] = B[v]"))
    concurrent = initialized("B[v] = B[v] + A[v]", "D[v // 2] = B[v]", loop="T.parallel(16)")
    assert "parallel" in refused(concurrent)


def test_a_transposed_copy_with_a_symbolic_extent_takes_the_init() -> None:
    stored = "B[v, w] = A[v, w] * T.float32(2)"
    update = "with T.init():\n                B[v, w] = T.float32(0)\n            B[v, w] = B[v, w] + A[v, w]"
    assert stored in TRANSPOSE
    assert "D[w, v] = D[w, v] + A[v, w]\n" in inlined(TRANSPOSE.replace(stored, update))


@pytest.mark.parametrize(
    ("update", "consumer", "reason"),
    [
        ("B[v] = B[v] + A[v]", "D[v] = B[v] * T.float32(2)", "block B has an init, so only a copy of its elements"),
        ("B[v] = B[v] + A[v]", "D[v] = B[v]\n        A[v] = B[v]", "block B has an init, so only a copy"),
        ("B[v] = B[v] + B[15 - v]", "D[v] = B[v]", "block B accesses B[15 - v] besides B[v], which its init stores"),
        ("B[15 - v] = A[v]", "D[v] = B[v]", "block B accesses B[15 - v] besides B[v], which its init stores"),
        ("B[v] = B[v] + A[v]\n        D[v] = A[v]", "A[v] = B[v]", "block B accesses D[v] besides B[v]"),
        ("B[v] = B[v] + D[v]", "D[v] = B[v]", "D[0] is"),
        ("B[v] = B[v] + D[15 - v]", "D[v] = B[v]", "D[0] is"),
        ("for k in range(2):\n            B[v] = B[v] + A[v]", "D[v] = B[v]", "block B has a tir.for in it"),
    ],
)
def test_initialized_elements_that_are_not_copied_alone_are_refused(update: str, consumer: str, reason: str) -> None:
    assert reason in refused(initialized(update, consumer))


def test_an_init_under_a_condition_is_refused() -> None:
    text = initialized("B[v] = B[v] + A[v]").replace("B[v] = T.float32(1)", "if v < 3: B[v] = T.float32(1)")
    assert "the init of block B may store nothing, expected the store of one element" in refused(text)


# Refused


def test_the_input_must_not_be_overwritten_where_it_is_read_later() -> None:
    producer = block("B", "B[v] = A[15 - v]")
    text = refused(chain(block("D", "A[v] = B[v]"), producer=producer))
    assert "whether block B reads what it has written itself is not known" in text


def test_other_inputs_must_be_there_already() -> None:
    params = VECTORS + ', X: T.Buffer((16,), "float32")'
    between = block("W", "X[v] = T.float32(7)")
    text = refused(chain(block("D", "D[v] = B[v] + X[v]"), between, params=params))
    assert '"W"' in text


def test_elements_that_the_producer_leaves_out_are_missed() -> None:
    producer = block("B", "B[v] = A[v]", loop="range(12)")
    assert "with what was there before" in refused(chain(block("D", "D[v] = B[v]"), producer=producer))


def test_an_unfinished_sum_is_no_producer() -> None:
    text = refused(
        program(
            """
B = T.alloc_buffer((16,))
for i, k in T.grid(16, 4):
    with T.block("B"):
        v, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[v] = T.float32(0)
        B[v] = B[v] + A[vk]
for i in range(16):
    with T.block("D"):
        v = T.axis.spatial(16, i)
        D[v] = B[v]
"""
        )
    )
    assert (
        "block B, which writes buffer B, reduces: elements are complete only when its last instances have run" in text
    )


@pytest.mark.parametrize(
    ("consumer", "reason"),
    [
        ("D[v] = B[v] + B[0]", "reads several elements of buffer B, B[0], B[v], expected one"),
        ("D[v] = B[v // 2]", "reads B[v // 2], which does not tell its instances apart"),
        ("D[v] = A[v]", "reads buffer A, which is not allocated in the function"),
        ("D[v] = T.float32(1)", "block D reads no buffer"),
        ("D[v] = B[v] * A[i]", "block D uses i, which is none of its axes"),
        ("with T.init():\n            D[v] = T.float32(0)\n        D[v] = D[v] + B[v]", "block D has an init"),
        ("D[v] = B[v] + D[15 - v]", "block D reads buffer D, which it writes"),
    ],
)
def test_consumers_of_another_kind_are_refused(consumer: str, reason: str) -> None:
    assert reason in refused(chain(block("D", consumer)))


@pytest.mark.parametrize(
    ("producer", "reason"),
    [
        ("B[v] = A[v]\n        B[15 - v] = A[v]", "stores to it 2 times, expected once"),
        ("for k in range(2):\n            B[v] = A[v]", "has a tir.for in it"),
    ],
)
def test_producers_of_another_kind_are_refused(producer: str, reason: str) -> None:
    assert reason in refused(chain(block("D", "D[v] = B[v]"), producer=block("B", producer)))


def test_nobody_else_may_read() -> None:
    params = VECTORS + ', E: T.Buffer((16,), "float32")'
    text = refused(chain(block("D", "D[v] = B[v]") + block("E", "E[v] = B[v]"), params=params))
    assert "buffer B is read in block E too, expected it to be read only in block D" in text


def test_two_writers_are_refused() -> None:
    text = refused(chain(block("D", "D[v] = B[v]"), between=block("C", "B[v] = A[v]")))
    assert "buffer B is written in 2 places, expected one block" in text


def test_a_producer_after_its_consumer_is_refused() -> None:
    text = refused(program("B = T.alloc_buffer((16,))\n" + block("D", "D[v] = B[v]") + PRODUCER))
    assert "is not in front of block D in the same scope" in text


def test_a_branch_around_the_consumer_is_not_supported_yet() -> None:
    branch = "for i in range(16):\n    if i < 4:\n        with T.block('D'):\n            v = T.axis.spatial(16, i)\n"
    assert "not supported yet: block D is inside of a tir.if" in refused(chain(branch + "            D[v] = B[v]\n"))
