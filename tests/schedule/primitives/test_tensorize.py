"""tensorize: statements matched with a description, replaced by an implementation."""

import numpy as np
import pytest

import stepwell
from stepwell import OptionError, ScheduleError
from stepwell.backends.validation.tensor_intrinsics import register_tensor_intrin
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import body_text, check_computes_the_same, refusal_of

MATMUL = """
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""
DESCRIPTION = """
@T.prim_func
def description(a: T.Buffer((4,), "float32"), b: T.Buffer((4, 4), "float32"), c: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(c[0:4], a[0:4], b[0:4, 0:4])
        T.writes(c[0:4])
        for i, k in T.grid(4, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                c[vi] = {value}
"""
IMPLEMENTATION = """
@T.prim_func
def implementation(a: T.Buffer((4,), "float32"), b_: T.handle, c: T.Buffer((4,), "float32")):
    stride, start = T.int32(), T.int32()
    b = T.match_buffer(b_, (4, 4), "float32", strides=[stride, 1], elem_offset=start)
    with T.block("root"):
        T.reads(c[0:4], a[0:4], b[0:4, 0:4])
        T.writes(c[0:4])
        for k in range(4):
            for i in range(4):
                c[i] = c[i] + a[k] * b[i, k]
"""
PRODUCT = "c[vi] + a[vk] * b[vi, vk]"
TILE = (
    'i, j, k = sch.get_loops("C")\nj0, j1 = sch.split(j, [None, 4])\nk0, k1 = sch.split(k, [None, 4])\n'
    "sch.reorder(i, j0, k0, j1, k1)\n"
)


def register(name: str, value: str, implementation: str = IMPLEMENTATION) -> None:
    description = parse_tvmscript(DESCRIPTION.format(value=value))
    register_tensor_intrin(name, description, parse_tvmscript(implementation), override=True)


@pytest.mark.parametrize("value", [PRODUCT, "b[vi, vk] * a[vk] + c[vi]"])
def test_a_loop_becomes_the_implementation_on_regions(value: str) -> None:
    register("gemv", value)
    sch = Schedule(parse_tvmscript(MATMUL))
    exec(TILE + 'sch.tensorize(j1, "gemv")', {"sch": sch})
    text = body_text(sch.mod)
    assert "T.match_buffer(B[vj_o * 4:vj_o * 4 + 4, vk_o * 4:vk_o * 4 + 4], (4, 4), strides=(stride, 1)" in text
    assert "c[i_1] = c[i_1] + a[k] * b[i_1, k]" in text
    assert "with T.init():" in text
    sch.mod.verify()
    check_computes_the_same(parse_tvmscript(MATMUL), sch.mod)
    replayed = Schedule(parse_tvmscript(MATMUL))
    sch.trace.apply_to_schedule(replayed)
    assert replayed.mod.script() == sch.mod.script()


def test_the_block_gets_the_annotations_of_the_implementation() -> None:
    marks = 'T.block_attr({"fast": 1, "slow": 2})\n        for k in'
    register("gemv_marked", PRODUCT, IMPLEMENTATION.replace("for k in", marks))
    sch = Schedule(parse_tvmscript(MATMUL))
    exec(TILE + 'sch.annotate("C", "slow", 3)\nsch.annotate("C", "kept", 4)\n', {"sch": sch})
    sch.tensorize(sch.get_loops("C")[3], "gemv_marked")
    text = body_text(sch.mod)
    assert '"fast": 1' in text
    check_computes_the_same(parse_tvmscript(MATMUL), sch.mod)
    sch = Schedule(parse_tvmscript(MATMUL))
    exec(TILE + 'o = sch.blockize(j1)\nsch.annotate(o, "slow", 3)\nsch.tensorize(o, "gemv_marked")', {"sch": sch})
    assert '{"fast": 1, "slow": 3}' in body_text(sch.mod)


def test_a_block_is_tensorized_and_its_init_moved_out() -> None:
    register("gemv", PRODUCT)
    sch = Schedule(parse_tvmscript(MATMUL))
    exec(
        TILE + 'block = sch.blockize(j1)\nsch.decompose_reduction(block, k0)\nsch.tensorize(block, "gemv")',
        {"sch": sch},
    )
    check_computes_the_same(parse_tvmscript(MATMUL), sch.mod)


def test_the_implementation_gets_strides_and_calls_functions() -> None:
    seen: list[tuple[int, ...]] = []

    def record(array: np.ndarray, stride: int) -> None:
        seen.append((*array.shape, stride))

    stepwell.register_func("test.tensorize.record", record, override=True)
    call = IMPLEMENTATION.replace(
        "        for k in range(4):\n",
        '        T.call_packed("test.tensorize.record", c, stride)\n        for k in range(4):\n',
    )
    register("gemv_called", "c[vi] + a[vk] * b[vi, vk]", call)
    sch = Schedule(parse_tvmscript(MATMUL))
    exec(TILE + 'sch.tensorize(j1, "gemv_called")', {"sch": sch})
    a, b, c = (np.ones(shape, "float32") for shape in ((8, 16), (8, 16), (8, 8)))
    stepwell.build(sch.mod)(a, b, c)
    assert (c == 16).all()
    assert set(seen) == {(4, 16)}


@pytest.mark.parametrize(
    ("value", "implemented", "steps", "message"),
    [
        ("c[vi] + a[vk] * b[vk, vi]", "c[i] + a[k] * b[k, i]", "", "another value is stored"),
        ("c[vi] - a[vk] * b[vi, vk]", "c[i] - a[k] * b[i, k]", "", "another value is stored"),
        (PRODUCT, "c[i] + a[k] * b[i, k]", "k0, k1 = sch.split(k1, [None, 2])\n", "expected the extent 4 from 0"),
        (PRODUCT, "c[i] + a[k] * b[i, k]", "sch.reorder(k1, j1)\nj1 = k1\n", "an axis is bound to another value|axes"),
    ],
)
def test_other_statements_are_refused(value: str, implemented: str, steps: str, message: str) -> None:
    register("gemv_other", value, IMPLEMENTATION.replace("c[i] + a[k] * b[i, k]", implemented))
    sch = Schedule(parse_tvmscript(MATMUL))
    exec(TILE + steps, scope := {"sch": sch})
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message):
        sch.tensorize(scope["j1"], "gemv_other")
    assert sch.mod.script() == before


def test_a_region_of_another_shape_is_refused() -> None:
    register("gemv", PRODUCT)
    reason = refusal_of(MATMUL, TILE.replace("(k, [None, 4])", "(k, [None, 8])"), 'sch.tensorize(j1, "gemv")')
    assert "expected the extent 4 from 0" in str(reason)


def test_memory_of_another_scope_is_refused() -> None:
    shared = IMPLEMENTATION.replace("elem_offset=start)", 'elem_offset=start, scope="shared")')
    register("gemv_shared", "c[vi] + a[vk] * b[vi, vk]", shared)
    reason = refusal_of(MATMUL, TILE, 'sch.tensorize(j1, "gemv_shared")')
    assert "buffer B is in memory 'global', the implementation expects 'shared' for b" in str(reason)


def test_names_and_parameters_are_checked() -> None:
    register("gemv", PRODUCT)
    with pytest.raises(OptionError, match="'gemv' is registered already"):
        register_tensor_intrin("gemv", parse_tvmscript(IMPLEMENTATION), parse_tvmscript(IMPLEMENTATION))
    with pytest.raises(OptionError, match=r"buffer a of the implementation is f32\[4\], expected f32\[8, 16\]"):
        register_tensor_intrin("wrong", parse_tvmscript(MATMUL), parse_tvmscript(IMPLEMENTATION))
    assert "no tensor intrinsic 'gemm'" in str(refusal_of(MATMUL, TILE, 'sch.tensorize(j1, "gemm")'))
    assert "not the root block" in str(refusal_of(MATMUL, "", 'sch.tensorize("root", "gemv")'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c[i] + a[i] * b[i, k]", r"has other results: c: \d of 4 elements differ(.|\n)*inputs: a: float32\[4\] \["),
        ("c[i] + a[k + 1] * b[i, k]", "the implementation is undefined"),
    ],
)
def test_an_implementation_with_other_results_is_not_registered(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        register("gemv_faulty", PRODUCT, IMPLEMENTATION.replace("c[i] + a[k] * b[i, k]", text))
    assert "no tensor intrinsic 'gemv_faulty'" in str(refusal_of(MATMUL, TILE, 'sch.tensorize(j1, "gemv_faulty")'))
