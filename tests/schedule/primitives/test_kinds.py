"""parallel, vectorize, unroll, bind."""

import numpy as np
import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.schedule.primitives.kinds import BINDABLE_AXES
from stepwell.tools.testing.scheduling import apply_steps, body_text, refusal_of

MATMUL = """
@T.prim_func
def main(A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    for i, j, k in T.grid(6, 4, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
IJK = "i, j, k = sch.get_loops('C')\n"
WORD = {"parallel": "T.parallel", "vectorize": "T.vectorized", "unroll": "T.unroll"}


@pytest.mark.parametrize("kind", WORD)
@pytest.mark.parametrize("loop", "ij")
def test_independent_iterations_get_any_kind(kind: str, loop: str) -> None:
    extent = {"i": 6, "j": 4}[loop]
    assert f"for {loop} in {WORD[kind]}({extent}):" in apply_steps(MATMUL, IJK + f"sch.{kind}({loop})").script()


@pytest.mark.parametrize("axis", BINDABLE_AXES)
def test_independent_iterations_are_bound_to_any_axis(axis: str) -> None:
    text = apply_steps(MATMUL, IJK + f"sch.bind(i, {axis!r})").script()
    assert f'for i in T.thread_binding(6, thread="{axis}"):' in text


def test_unrolled_loops_may_carry_anything() -> None:
    assert "for k in T.unroll(5):" in apply_steps(MATMUL, IJK + "sch.unroll(k)").script()


@pytest.mark.parametrize(
    ("attempt", "how"),
    [
        ("sch.parallel(k)", "parallel"),
        ("sch.vectorize(k)", "as lanes of a vector"),
        ("sch.bind(k, 'blockIdx.x')", "as blockIdx.x"),
        ("sch.bind(k, 'vthread.x')", "as vthread.x"),
    ],
)
def test_iterations_that_reduce_together_do_not_run_at_once(attempt: str, how: str) -> None:
    error = refusal_of(MATMUL, IJK, attempt)
    assert error.reason.startswith(f"the iterations of loop k cannot run {how}: C[0, 0] is ")
    assert "in iteration k=0" in error.reason
    assert "in iteration k=1" in error.reason
    lines = error.program.splitlines()
    marked = [lines[n - 1].strip() for n, line in enumerate(lines) if line.strip().startswith("^")]
    assert marked == ["for k in range(5):", 'with T.block("C"):']


def test_the_threads_of_a_block_reduce_together() -> None:
    text = apply_steps(MATMUL, IJK + "sch.bind(k, 'threadIdx.x')").script()
    assert 'for k in T.thread_binding(5, thread="threadIdx.x"):' in text


STENCIL = """
@T.prim_func
def main(A: T.Buffer((9, 9), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = A[vi, vj] + T.float32(1)
"""


def test_only_the_loop_that_carries_a_dependence_is_refused() -> None:
    assert "T.parallel" in apply_steps(STENCIL, "i, j = sch.get_loops('C')\nsch.parallel(j)").script()
    error = refusal_of(STENCIL, "i, j = sch.get_loops('C')", "sch.parallel(i)")
    assert "A[1, 0] is written by block C at (vi=0, vj=0) in iteration i=0 and read by block C at (vi=1, vj=0)" in (
        error.reason
    )


TEMPORARY = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(6):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj] = A[vi, vj] + T.float32(1)
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[{}] * T.float32(2)
"""


def test_each_iteration_has_a_temporary_of_its_own() -> None:
    text = TEMPORARY.format("3 - vj")
    assert "T.parallel(6)" in apply_steps(text, "i, _ = sch.get_loops('C')\nsch.parallel(i)").script()


def test_a_temporary_that_hands_values_on_is_not_private() -> None:
    text = TEMPORARY.format("vj").replace(
        "for j in range(4):\n            with T.block", "for j in range(2):\n            with T.block", 1
    )
    text = text.replace("B[vj] = ", "B[vj * 2 + vi % 2] = ").replace("A[vi, vj] +", "A[vi, vj * 2] +")
    error = refusal_of(text, "i, _ = sch.get_loops('C')", "sch.parallel(i)")
    assert "cannot run parallel: B[" in error.reason


def test_a_later_kind_replaces_an_earlier_one_and_annotations_stay() -> None:
    steps = IJK + "sch.annotate(i, 'x', 1)\nsch.bind(i, 'blockIdx.x')\nsch.parallel(i)"
    assert 'for i in T.parallel(6, annotations={"x": 1}):' in apply_steps(MATMUL, steps).script()
    steps = IJK + "sch.parallel(i)\nsch.bind(i, 'blockIdx.x')\nsch.unroll(i)"
    assert "for i in T.unroll(6):" in apply_steps(MATMUL, steps).script()


def test_loops_of_symbolic_extent_get_kinds() -> None:
    text = """
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            A[vi] = A[vi] + T.float32(1)
"""
    assert "for i in T.vectorized(n):" in apply_steps(text, "i, = sch.get_loops('C')\nsch.vectorize(i)").script()


def test_parallel_loops_run_natively() -> None:
    apply_steps(MATMUL, IJK + "sch.parallel(i)\nsch.vectorize(j)", target="llvm")


def test_unchecked_schedules_do_not_look_at_dependences() -> None:
    sch = Schedule(stepwell.parse_tvmscript(MATMUL), enable_check=False)
    sch.parallel(sch.get_loops("C")[2])
    assert "for k in T.parallel(5):" in body_text(sch.mod)


# Thread axes


@pytest.mark.parametrize(("axis", "meant"), [("threadIdx.w", "threadIdx."), ("blockidx.x", "blockIdx.x"), ("foo", "")])
def test_axes_that_are_none_are_refused(axis: str, meant: str) -> None:
    reason = refusal_of(MATMUL, IJK, f"sch.bind(i, {axis!r})").reason
    assert reason.startswith(f"no thread axis {axis!r}")
    assert (f"did you mean '{meant}" in reason) == bool(meant)


def test_a_loop_inside_of_one_bound_to_the_same_axis_is_refused() -> None:
    error = refusal_of(MATMUL, IJK + "sch.bind(i, 'blockIdx.x')", "sch.bind(j, 'blockIdx.x')")
    assert "loop i is bound to blockIdx.x already" in error.reason
    assert "^ to be bound too" in error.program
    error = refusal_of(MATMUL, IJK + "sch.bind(j, 'threadIdx.x')", "sch.bind(i, 'threadIdx.x')")
    assert "loop j of the same kernel is bound to threadIdx.x already with extent 4" in error.reason


def test_virtual_threads_of_different_axes_nest() -> None:
    steps = IJK + "sch.bind(i, 'vthread.x')\nsch.bind(j, 'vthread.y')"
    assert 'thread="vthread.y"' in apply_steps(MATMUL, steps).script()
    assert "vthread.x already" in str(refusal_of(MATMUL, IJK + "sch.bind(i, 'vthread.x')", "sch.bind(j, 'vthread.x')"))


SIBLINGS = """
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((6, 4), "float32")
    for i in range(6):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(2):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)
"""
BOUND = "i, j = sch.get_loops('B')\n_, l = sch.get_loops('C')\nsch.bind(j, 'threadIdx.x')\n"


def test_extents_of_one_axis_in_a_kernel_agree() -> None:
    error = refusal_of(SIBLINGS, BOUND + "sch.bind(i, 'blockIdx.x')", "sch.bind(l, 'threadIdx.x')")
    assert "loop j of the same kernel is bound to threadIdx.x already with extent 4" in error.reason
    assert "^ extent 2" in error.program


def test_other_kernels_have_extents_of_their_own() -> None:
    before = stepwell.parse_tvmscript(SIBLINGS)
    sch = Schedule(before)
    exec(BOUND + "sch.bind(l, 'threadIdx.x')", {"sch": sch})
    a, b, c = np.ones((6, 4), "float32"), np.zeros((6, 4), "float32"), np.zeros((6, 4), "float32")
    stepwell.build(before, "python")(a, b)
    stepwell.build(sch.mod, "python")(a, c)
    assert np.array_equal(b, c)


def test_a_reduction_leaves_its_threads_for_a_serial_loop_alone() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((2, 8), "int32"), B: T.Buffer((2,), "int32")):
    for i, k in T.grid(2, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
"""
    steps = 'i, k = sch.get_loops("B")\nsch.bind(k, "threadIdx.x")\n'
    for attempt in ("sch.vectorize(k)", "sch.parallel(k)", 'sch.bind(k, "blockIdx.x")'):
        assert "the iterations of loop k cannot run" in str(refusal_of(text, steps, attempt))
    apply_steps(text, f"{steps}sch.unroll(k)")
    apply_steps(text, f'{steps}sch.bind(k, "threadIdx.y")')


def test_a_loop_stays_bound_if_its_iterations_exchange_values() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    S = T.alloc_buffer((8,), "int32", scope="shared")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("S"):
            v = T.axis.spatial(8, i)
            S[v] = A[v]
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = S[7 - v]
"""
    for attempt in ("sch.unroll(i)", "sch.vectorize(i)", 'sch.bind(i, "blockIdx.x")'):
        assert "S[7] is read by block B at (v=0)" in str(refusal_of(text, '(i,) = sch.get_loops("B")', attempt))


@pytest.mark.parametrize("target", ["python", "cuda-emulated"])
def test_threads_share_the_accumulator_of_a_result_that_nobody_reads(target: str) -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((3, 3), "int32"), where: T.Buffer((3,), "int32")):
    most = T.alloc_buffer((3,), "int32")
    for i, j in T.grid(3, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                where[vi] = -1
                most[vi] = -100000
            at: T.int32 = T.Select(most[vi] >= A[vi, vj] * 32 + vj, where[vi], vj)
            key: T.int32 = T.Select(most[vi] >= A[vi, vj] * 32 + vj, most[vi], A[vi, vj] * 32 + vj)
            where[vi] = at
            most[vi] = key
"""
    apply_steps(text, 'sch.bind(sch.get_loops("B")[1], "threadIdx.x")', target=target)
