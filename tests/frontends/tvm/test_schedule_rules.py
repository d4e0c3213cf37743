"""Rules, postprocessors and mutators of searches: `tvm.meta_schedule.schedule_rule`, `postproc`, `mutator`."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import OptionError, ScheduleError, UnsupportedError
from stepwell.frontends.tvm import meta_schedule as ms
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.meta_schedule.testing import space_generation
from stepwell.frontends.tvm.script import tir as T

rule = ms.schedule_rule
RUNNER = ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(number=1, min_repeat_ms=0))
LLVM = tvm.target.Target("llvm -num-cores=2")
CUDA = tvm.target.Target("cuda-emulated")


def product(n: int = 32, *, relu: bool = False, rows: int | None = None) -> tvm.IRModule:
    rows = rows or n
    a, b = te.placeholder((rows, n), name="A"), te.placeholder((n, rows), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((rows, rows), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((rows, rows), lambda i, j: tvm.tir.max(c[i, j] - 8.0, 0.0), name="D")
    return tvm.IRModule({"main": te.create_prim_func([a, b, d if relu else c])})


def check_product(mod: Any, target: Any, n: int = 32, *, relu: bool = False, rows: int | None = None) -> None:
    rows = rows or n
    generator = np.random.default_rng(0)
    x, y = generator.random((rows, n), np.float32), generator.random((n, rows), np.float32)
    dev = tvm.device("cuda-emulated") if target is CUDA else tvm.cpu()
    arrays = [tvm.nd.array(each, dev) for each in (x, y, np.zeros((rows, rows), "float32"))]
    tvm.build(mod, target)(*arrays)
    expected = np.maximum(x @ y - 8, 0) if relu else x @ y
    np.testing.assert_allclose(arrays[2].numpy(), expected, rtol=1e-4, atol=1e-5)


def designs(mod: Any, rules: Any, target: Any = LLVM, seed: int = 1) -> list[Any]:
    space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=[], mutator_probs={})
    return ms.TuneContext(mod, target=target, space_generator=space, rand_state=seed).generate_design_space()


def kinds(sch: Any) -> list[str]:
    return [inst.kind.name for inst in sch.trace.insts]


# Rules


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("target", [LLVM, CUDA], ids=["llvm", "cuda"])
def test_rules_of_tvm_draw_schedules_with_the_same_results(target: Any, relu: bool) -> None:
    kind = "llvm" if target is LLVM else "cuda"
    space = ms.space_generator.PostOrderApply(sch_rules=kind)
    mod = product(relu=relu)
    database = ms.tune_tir(mod, target, None, 2, space=space, runner=RUNNER, seed=4)
    assert len(database) == 2
    for record in database.get_all_tuning_records():
        sch = record.schedule()
        assert "SamplePerfectTile" in kinds(sch)
        check_product(sch.mod, target, relu=relu)


def test_a_product_is_tiled_with_and_without_a_copy_of_its_results() -> None:
    reuse = rule.ReuseType(req="may", levels=[1, 2], scope="global")
    tiling = rule.MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=reuse)
    schedules = designs(product(), [tiling])
    assert [kinds(sch).count("CacheWrite") for sch in schedules] == [1, 1, 0]
    for sch in schedules:
        assert all(prod(decision) == 32 for decision in sch.trace.decisions.values())
        check_product(sch.mod, LLVM)
    assert tiling.reuse_write is not None
    assert tiling.reuse_write.as_dict() == {"req": "may", "levels": [1, 2], "scope": "global"}


def test_a_tiled_product_is_the_program_of_tvm() -> None:
    @T.prim_func
    def expected(a: T.handle, b: T.handle, c: T.handle) -> None:  # pyright: ignore[reportInvalidTypeForm]
        A = T.match_buffer(a, (64, 64), "float32")
        B = T.match_buffer(b, (64, 64), "float32")
        C = T.match_buffer(c, (64, 64), "float32")
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        copy = T.alloc_buffer([64, 64], dtype="float32", scope="local")
        left = T.alloc_buffer([64, 64], dtype="float32", scope="shared")
        right = T.alloc_buffer([64, 64], dtype="float32", scope="shared")
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for vx in T.thread_binding(2, thread="vthread.x"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    for k_0 in T.serial(8):
                        for ax in T.serial(256):
                            with T.block("A_shared"):
                                v0 = T.axis.spatial(64, bx // 2 * 32 + ax // 8)
                                v1 = T.axis.spatial(64, k_0 * 8 + ax % 8)
                                T.reads(A[v0, v1])
                                T.writes(left[v0, v1])
                                T.block_attr({"meta_schedule.cooperative_fetch": 4})
                                left[v0, v1] = A[v0, v1]
                        for ax in T.serial(256):
                            with T.block("B_shared"):
                                v0 = T.axis.spatial(64, k_0 * 8 + ax // 32)
                                v1 = T.axis.spatial(64, bx % 2 * 32 + ax % 32)
                                T.reads(B[v0, v1])
                                T.writes(right[v0, v1])
                                T.block_attr({"meta_schedule.cooperative_fetch": 1})
                                right[v0, v1] = B[v0, v1]
                        for k_1, i_3, j_3, k_2, i_4, j_4 in T.grid(4, 2, 4, 2, 4, 2):
                            with T.block("C"):
                                vi = T.axis.spatial(64, bx // 2 * 32 + vx * 16 + tx // 4 * 8 + i_3 * 4 + i_4)
                                vj = T.axis.spatial(64, bx % 2 * 32 + tx % 4 * 8 + j_3 * 2 + j_4)
                                vk = T.axis.reduce(64, k_0 * 8 + k_1 * 2 + k_2)
                                T.reads(left[vi, vk], right[vk, vj])
                                T.writes(copy[vi, vj])
                                T.block_attr(
                                    {
                                        "meta_schedule.thread_extent_high_inclusive": 1024,
                                        "meta_schedule.thread_extent_low_inclusive": 32,
                                        "meta_schedule.tiling_structure": "SSSRRSRS",
                                    }
                                )
                                with T.init():
                                    copy[vi, vj] = T.float32(0)
                                copy[vi, vj] = copy[vi, vj] + left[vi, vk] * right[vk, vj]
                    for ax0, ax1 in T.grid(8, 8):
                        with T.block("C_local"):
                            v0 = T.axis.spatial(64, bx // 2 * 32 + vx * 16 + tx // 4 * 8 + ax0)
                            v1 = T.axis.spatial(64, bx % 2 * 32 + tx % 4 * 8 + ax1)
                            T.reads(copy[v0, v1])
                            T.writes(C[v0, v1])
                            C[v0, v1] = copy[v0, v1]

    mod = product(64)
    found = space_generation.generate_design_space("cuda", mod, CUDA, rule.MultiLevelTiling)
    tile = "SamplePerfectTile"
    decisions = [
        (tile, [2, 2, 2, 2, 4]), (tile, [2, 1, 4, 4, 2]), (tile, [8, 4, 2]), ("SampleCategorical", 3),
        ("SampleCategorical", 0),
    ]  # fmt: skip
    space_generation.check_sketches(mod, found, [expected], [decisions])
    with pytest.raises(AssertionError, match="no schedule makes the program 0"):
        space_generation.check_sketches(mod, found, [product(64)], [decisions])


def test_blocks_that_read_each_element_once_are_not_tiled() -> None:
    a = te.placeholder((8, 8), name="A")
    mod = te.create_prim_func([a, te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")])
    (sch,) = designs(mod, [rule.MultiLevelTiling("SSRSRS")])
    assert "Split" not in kinds(sch)
    (sch,) = designs(mod, [rule.MultiLevelTiling("SSR", filter_fn=lambda sch, place: sch.get(place).name_hint == "B")])
    assert kinds(sch).count("Split") == 2


def test_a_block_whose_instances_depend_on_each_other_is_not_tiled() -> None:
    @T.prim_func
    def sums(a: T.handle, b: T.handle) -> None:  # pyright: ignore[reportInvalidTypeForm]
        A = T.match_buffer(a, (8, 8), "float32")
        B = T.match_buffer(b, (9, 8), "float32")
        for i, j, k in T.grid(8, 8, 8):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vj, vk], B[vi, vj])
                T.writes(B[vi + 1, vj])
                B[vi + 1, vj] = B[vi, vj] + A[vj, vk]

    (sch,) = designs(sums, [rule.MultiLevelTiling("RS", filter_fn=lambda _sch, _place: True)])
    assert "Split" not in kinds(sch)


def test_tiles_of_an_intrinsic_are_replaced_by_it() -> None:
    a = te.placeholder((8, 16), "uint8", name="A")
    b = te.placeholder((2, 4, 16, 4), "int8", name="B")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute(
        (8, 32),
        lambda i, j: te.sum(a[i, k].astype("int32") * b[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k),
        name="C",
    )
    (other,) = designs(te.create_prim_func([a, b, c]), [rule.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SSRSRS")])
    assert "Blockize" not in kinds(other)  # its second factor is no matrix

    w = te.placeholder((32, 16), "int8", name="W")
    c = te.compute((8, 32), lambda i, j: te.sum(a[i, k].astype("int32") * w[j, k].astype("int32"), axis=k), name="C")
    mod = te.create_prim_func([a, w, c])
    rules = [rule.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SSRSRS", max_innermost_factor=4)]
    postprocs = [ms.postproc.RewriteReductionBlock(), ms.postproc.RewriteTensorize(vectorize_init_loop=True)]
    space = ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=postprocs, mutator_probs={})
    sch = ms.TuneContext(mod, target=LLVM, space_generator=space, rand_state=3).candidates().draw()
    assert sch is not None
    assert kinds(sch).count("Tensorize") == 1
    x, y = np.random.default_rng(0).integers(0, 100, (40, 16))[:8].astype("uint8"), np.ones((32, 16), "int8")
    z = np.zeros((8, 32), "int32")
    tvm.build(sch.mod, "llvm")(x, y, z)
    np.testing.assert_array_equal(z, x.astype("int32") @ y.T)


def test_wide_vectors_are_the_innermost_tiles() -> None:
    (sch,) = designs(product(64), [rule.MultiLevelTilingWideVector("SRSRS", vector_length_in_bits=512)])
    assert "factors=[None, 16]" in str(sch.trace)
    check_product(sch.mod, LLVM, 64)
    (sch,) = designs(product(8), [rule.MultiLevelTilingWideVector("SRSRS", vector_length_in_bits=512)])
    assert "factors=[1, 1, 8]" in str(sch.trace)


def test_elementwise_blocks_are_inlined_as_far_as_the_rule_allows() -> None:
    def chain() -> Any:
        a = te.placeholder((8, 8), name="A")
        b = te.compute((8, 8), lambda i, j: te.exp(a[j, i]), name="B")
        c = te.compute((8, 8), lambda i, j: te.if_then_else(i > j, b[i, j], 0.0), name="C")
        k = te.reduce_axis((0, 8), name="k")
        return te.create_prim_func([a, te.compute((8,), lambda i: te.sum(c[i, k], axis=k), name="D")])

    def blocks(**options: Any) -> list[str]:
        every = {
            "into_producer": False, "into_consumer": True, "inline_const_tensor": True, "disallow_if_then_else": False,
            "require_injective": False, "require_ordered": False, **options,
        }  # fmt: skip
        (sch,) = designs(chain(), [rule.AutoInline(**every)])
        return [sch.get(block).name_hint for block in sch.get_child_blocks("root")]

    assert blocks() == ["D"]
    assert blocks(disallow_if_then_else=True) == ["C", "D"]
    assert blocks(require_ordered=True) == ["B", "D"]
    assert blocks(disallow_op=["tir.exp"]) == ["B", "D"]
    assert blocks(into_consumer=False) == ["B", "C", "D"]
    assert blocks(into_consumer=False, into_producer=True) == ["B", "D"]


def test_a_reduction_with_few_results_is_divided() -> None:
    mod = product(256, rows=2)
    schedules = designs(mod, [rule.AddRFactor(max_jobs_per_core=8, max_innermost_factor=32)])
    assert [kinds(sch).count("RFactor") for sch in schedules] == [0, 1, 1]
    (left,) = designs(product(16), [rule.AddRFactor(max_jobs_per_core=8)])
    assert "RFactor" not in kinds(left)
    for sch in designs(mod, [rule.AddRFactor(8, 32), rule.RandomComputeLocation()]):
        check_product(sch.mod, LLVM, 256, rows=2)


def test_threads_reduce_together() -> None:
    a = te.placeholder((4, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    total = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="total")
    mod = te.create_prim_func([a, te.compute((4, 64), lambda i, j: a[i, j] / total[i], name="share")])
    rules = [rule.CrossThreadReduction([8, 16]), rule.AutoBind()]
    schedules = designs(mod, rules, CUDA)
    assert [kinds(sch).count("SetScope") for sch in schedules] == [1, 0]
    x = np.random.default_rng(0).random((4, 64), np.float32)
    dev = tvm.device("cuda-emulated")
    for sch in schedules:
        source, result = tvm.nd.array(x, dev), tvm.nd.array(np.zeros_like(x), dev)
        tvm.build(sch.mod, CUDA)(source, result)
        np.testing.assert_allclose(result.numpy(), x / x.sum(axis=1, keepdims=True), rtol=1e-5)
    (sch,) = designs(mod, rules[:1], LLVM)
    assert not set(kinds(sch)) & {"Bind", "Split"}


def test_loops_are_bound_with_a_limit_of_blocks() -> None:
    a = te.placeholder((64, 64), name="A")
    mod = te.create_prim_func([a, te.compute((64, 64), lambda i, j: a[i, j] + 1.0, name="B")])
    (sch,) = designs(mod, [rule.AutoBind(max_threadblocks=2, max_threads_per_block=32)], CUDA)
    assert "factors=[None, 2, 32]" in str(sch.trace)
    b = te.compute((), lambda: a[0, 0] + 1.0, name="B")
    (sch,) = designs(te.create_prim_func([a, b]), [rule.AutoBind()], CUDA)
    assert kinds(sch).count("AddUnitLoop") == 1


def test_constants_are_inlined() -> None:
    two = te.compute((), lambda: tvm.tir.const(2.0, "float32"), name="two")
    a = te.placeholder((8,), name="A")
    mod = te.create_prim_func([a, te.compute((8,), lambda i: a[i] * two(), name="B")])
    (sch,) = designs(mod, [rule.InlineConstantScalars()])
    assert kinds(sch).count("ComputeInline") == 1


# Rules of users


@ms.derived_object
class RowsFirst(rule.PyScheduleRule):
    """Two schedules of a block with three loops."""

    seen: list[str] = []
    target: Any = None

    def _initialize_with_tune_context(self, context: ms.TuneContext) -> None:
        self.target = context.target

    def apply(self, sch: Any, block: Any) -> list[Any]:
        self.seen.append(sch.get(block).name_hint)
        if sch.get_sref(block).parent is None:
            return [sch]
        results: list[Any] = []
        for factor in (4, 8):
            other = sch.copy()
            i, _, k = other.get_loops(block)
            outer, inner = other.split(i, [None, factor])
            other.reorder(outer, k, inner)
            results.append(other)
        return results


def test_rules_of_users_make_the_design_space() -> None:
    RowsFirst.seen.clear()
    mine = RowsFirst()
    schedules = designs(product(), [mine])
    assert RowsFirst.seen == ["root", "C"]
    assert len(schedules) == 2
    space = ms.space_generator.PostOrderApply(
        f_block_filter=lambda block: block.name_hint == "C", sch_rules=[mine], postprocs=[], mutator_probs={}
    )
    database = ms.tune_tir(product(), LLVM, None, 8, space=space, runner=RUNNER)
    assert len(database) == 2
    assert RowsFirst.seen == ["root", "C", "C"]
    for record in database.get_all_tuning_records():
        check_product(record.schedule().mod, LLVM)
    assert mine.target == LLVM


def test_functions_return_the_parts_of_a_space_as_until_v09() -> None:
    database = ms.tune_tir(
        product(), LLVM, None, 8, config=ms.TuneConfig(max_trials_global=2), runner=RUNNER,
        sch_rules=lambda: [RowsFirst()], postprocs=lambda: [], mutator_probs=lambda: {}, blocks=["C"],
        space=ms.space_generator.PostOrderApply,
    )  # fmt: skip
    check_product(database.mod, LLVM)
    with pytest.raises(OptionError, match="sch_rules: expected the space 'post-order-apply'"):
        ms.tune_tir(product(), LLVM, None, 1, sch_rules=[RowsFirst()], space=lambda _sch: None)


def test_a_schedule_that_a_user_makes_illegal_is_left_out() -> None:
    class Wrong(rule.PyScheduleRule):
        def apply(self, sch: Any, block: Any) -> list[Any]:
            if sch.get(block).name_hint == "C":
                sch.parallel(sch.get_loops(block)[2])
            return [sch]

    space = ms.space_generator.PostOrderApply(sch_rules=[Wrong()], postprocs=[], mutator_probs={})
    with pytest.raises(ScheduleError, match="cannot run parallel"):
        ms.tune_tir(product(), LLVM, None, 1, space=space, runner=RUNNER)


def test_a_block_names_the_function_that_schedules_it(recwarn: pytest.WarningsRecorder) -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B", attrs={"schedule_rule": "by_four"})
    mod = te.create_prim_func([a, b])
    (sch,) = designs(mod, [rule.ApplyCustomRule()])
    assert "no function, expected one of meta_schedule.cpu.by_four" in str(recwarn.list[0].message)
    assert "Unannotate" in kinds(sch)

    @tvm.register_func("meta_schedule.cpu.by_four", override=True)
    def by_four(sch: Any, block: Any) -> list[Any]:
        sch.split(sch.get_loops(block)[0], [None, 4])
        return [sch]

    assert by_four is not None
    (sch,) = designs(mod, [rule.ApplyCustomRule(), rule.AutoBind()])
    assert kinds(sch).count("Split") == 1
    assert "Bind" not in kinds(sch)


def test_spaces_are_unions_and_classes_of_users() -> None:
    @ms.derived_object
    class Mine(ms.space_generator.PySpaceGenerator):
        def generate_design_space(self, mod: Any) -> list[Any]:
            return [tvm.tir.Schedule(mod), tvm.tir.Schedule(mod)]

    union = ms.space_generator.SpaceGeneratorUnion([Mine(), lambda sch: [sch], "post-order-apply"])
    schedules = ms.TuneContext(product(), target=LLVM, space_generator=union).generate_design_space()
    assert [len(sch.trace) for sch in schedules][:3] == [0, 0, 0]
    assert len(schedules[3].trace) > 0
    with pytest.raises(OptionError, match="the function returns 3"):
        ms.TuneContext(product(), target=LLVM, space_generator=lambda _sch: 3).generate_design_space()


def test_tasks_are_tuned_by_contexts() -> None:
    target = LLVM
    task = ms.ExtractedTask("product", product(), target, [product()], weight=3)
    space = ms.space_generator.PostOrderApply(sch_rules="llvm")
    tasks, weights = ms.relay_integration.extracted_tasks_to_tune_contexts([task], "", space=space, seed=1)
    assert weights == [3.0]
    database = ms.tune_tasks(
        tasks=tasks, task_weights=weights, max_trials_global=2, runner=RUNNER, database="memory", builder="local"
    )
    assert len(database) == 2
    with pytest.raises(OptionError, match="0 weights for 1 tasks"):
        ms.tune_tasks(tasks=tasks, task_weights=[])


# Postprocessors


def process(mod: Any, postproc: Any, target: Any, prepare: Any) -> Any:
    sch = tvm.tir.Schedule(mod)
    prepare(sch)
    postproc.initialize_with_tune_context(ms.TuneContext(mod, target=target))
    assert postproc.apply(sch)
    return sch


def test_limits_of_a_root_block_become_kinds_of_loops() -> None:
    def annotate(sch: Any) -> None:
        root = sch.get_block("root")
        for key, value in (("parallel", 16), ("vectorize", 8), ("unroll_implicit", 64)):
            sch.annotate(root, f"meta_schedule.{key}", value)

    a = te.placeholder((16, 8), name="A")
    mod = te.create_prim_func([a, te.compute((16, 8), lambda i, j: a[i, j] + 1.0, name="B")])
    sch = process(mod, ms.postproc.RewriteParallelVectorizeUnroll(), LLVM, annotate)
    assert "T.parallel(16)" in sch.mod.script()
    assert "T.vectorized(8)" in sch.mod.script()
    sch = process(product(), ms.postproc.RewriteParallelVectorizeUnroll(), LLVM, annotate)
    text = sch.mod.script()
    assert '"pragma_auto_unroll_max_step": 64, "pragma_unroll_explicit": 0' in text
    assert "meta_schedule" not in text
    check_product(sch.mod, LLVM)


def test_unbound_blocks_become_kernels() -> None:
    sch = process(product(relu=True), ms.postproc.RewriteUnboundBlock(4), CUDA, lambda _sch: None)
    assert sch.mod.script().count('thread="threadIdx.x"') == 2
    sch = process(sch.mod, ms.postproc.RewriteReductionBlock(), CUDA, lambda _sch: None)
    assert "C_init" in sch.mod.script()
    check_product(sch.mod, CUDA, relu=True)


def test_kernels_beyond_the_limits_of_a_gpu_are_rejected() -> None:
    def bind(threads: int) -> Any:
        sch = tvm.tir.Schedule(product(64))
        outer, inner = sch.split(sch.fuse(*sch.get_loops("C")[:2]), [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        return sch

    verify = ms.postproc.VerifyGPUCode()
    assert verify.apply(bind(1024))
    assert not verify.apply(bind(2048))
    few = bind(16)
    for key, value in (("low", 32), ("high", 1024)):
        few.annotate(few.get_block("C"), f"meta_schedule.thread_extent_{key}_inclusive", value)
    assert not verify.apply(few)
    # the number of threads is known before the postprocessors, unless none are bound yet
    assert [verify.may_accept(sch) for sch in (bind(2048), few)] == [True, False]
    few.unannotate(few.get_block("C"), "meta_schedule.thread_extent_low_inclusive")
    few.annotate(few.get_block("C"), "meta_schedule.thread_extent_low_inclusive", 16)
    assert verify.may_accept(few)


def test_the_threads_of_a_block_of_a_warp_are_counted() -> None:
    sch = tvm.tir.Schedule(product(64))
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    outer, inner = sch.split(j, [2, None])
    sch.bind(outer, "threadIdx.y")
    block = sch.blockize(inner)
    sch.annotate(block, "meta_schedule.thread_extent_low_inclusive", 64)
    sch.annotate(block, "meta_schedule.thread_extent_high_inclusive", 64)
    verify = ms.postproc.VerifyGPUCode()
    assert not verify.may_accept(sch)
    sch.annotate(block, "warp_execution", 1)
    assert verify.may_accept(sch)
    assert verify.apply(sch)


def test_loops_of_unknown_extents_are_rejected() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    mod = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")])
    check = ms.postproc.DisallowDynamicLoop()
    assert not check.apply(tvm.tir.Schedule(mod))
    assert check.apply(tvm.tir.Schedule(product()))
    space = ms.space_generator.PostOrderApply(sch_rules=[], postprocs=[check], mutator_probs={})
    with pytest.raises(ScheduleError, match="postprocessor DisallowDynamicLoop rejects the schedule"):
        ms.tune_tir(mod, LLVM, None, 1, space=space, runner=RUNNER)


def test_postprocessors_of_users_change_and_reject_schedules() -> None:
    @ms.derived_object
    class Odd(ms.postproc.PyPostproc):
        count = 0

        def apply(self, sch: Any) -> bool:
            Odd.count += 1
            sch.parallel(sch.get_loops("C")[0])
            return Odd.count % 2 == 1

    space = ms.space_generator.PostOrderApply(sch_rules=[RowsFirst()], postprocs=[Odd()], mutator_probs={})
    database = ms.tune_tir(product(), LLVM, None, 2, space=space, runner=RUNNER)
    assert len(database) == 1
    assert "T.parallel" in database.query_ir_module(product()).script()


# Mutators


def mutations(mod: Any, mutator: Any, target: Any, kind: str, count: int = 40) -> tuple[Any, list[Any]]:
    space = ms.space_generator.PostOrderApply(sch_rules=kind, mutator_probs={mutator: 1.0})
    context = ms.TuneContext(mod, target=target, space_generator=space, rand_state=7)
    sch = next(each for each in context.generate_design_space() if mutator.apply(each.trace) is not None)
    return sch, [mutator.apply(sch.trace) for _ in range(count)]


def decisions(trace: Any) -> Sequence[Any]:
    return list(trace.decisions.values())


@pytest.mark.parametrize(
    ("mutator", "target", "kind"),
    [
        (ms.mutator.MutateTileSize(), LLVM, "llvm"),
        (ms.mutator.MutateUnroll(), LLVM, "llvm"),
        (ms.mutator.MutateTileSize(), CUDA, "cuda"),
    ],
    ids=["tile", "unroll", "tile-cuda"],
)
def test_mutators_change_one_choice(mutator: Any, target: Any, kind: str) -> None:
    sch, traces = mutations(product(), mutator, target, kind, 12)
    for trace in traces:
        changed = [pair for pair in zip(decisions(sch.trace), decisions(trace), strict=True) if pair[0] != pair[1]]
        assert len(changed) == 1
        if isinstance(changed[0][0], list):
            assert prod(changed[0][0]) == prod(changed[0][1])
        other = tvm.tir.Schedule(product())
        with other.without_checks():
            other.replay(trace)
    assert len({str(trace) for trace in traces}) > 2


def test_mutators_change_parallel_iterations_threads_and_locations() -> None:
    _, traces = mutations(product(), ms.mutator.MutateParallel(4), LLVM, "llvm")
    assert {"ann_val=2)", "ann_val=4)", "ann_val=6)", "ann_val=8)"} == {
        line.partition('parallel", ')[2] for trace in traces for line in str(trace).splitlines() if "e.parallel" in line
    }
    a = te.placeholder((64, 64), name="A")
    mod = te.create_prim_func([a, te.compute((64, 64), lambda i, j: a[i, j] + 1.0, name="B")])
    sch, traces = mutations(mod, ms.mutator.MutateThreadBinding(), CUDA, "cuda")
    assert all(decisions(trace) != decisions(sch.trace) for trace in traces)
    assert ms.mutator.MutateUnroll().apply(sch.trace) is None

    b = te.compute((64, 64), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((64, 64), lambda i, j: b[i, j] * 2.0, name="C")
    mutator = ms.mutator.MutateComputeLocation()
    mod = te.create_prim_func([a, c])
    space = ms.space_generator.PostOrderApply(sch_rules=[rule.RandomComputeLocation()], mutator_probs={mutator: 1.0})
    context = ms.TuneContext(mod, target=LLVM, space_generator=space, rand_state=1)
    (sch,) = context.generate_design_space()
    trace = mutator.apply(sch.trace)
    assert trace is not None
    assert decisions(trace) != decisions(sch.trace)


def test_schedules_are_derived_from_the_fastest_ones() -> None:
    @ms.derived_object
    class Same(ms.mutator.PyMutator):
        calls = 0

        def apply(self, trace: Any) -> Any:
            Same.calls += 1
            return ms.mutator.MutateTileSize().apply(trace)

    space = ms.space_generator.PostOrderApply(sch_rules="llvm", mutator_probs={Same(): 1.0})
    ms.tune_tir(product(), LLVM, None, 8, space=space, runner=RUNNER, seed=2)
    assert Same.calls > 0
    Same.calls = 0
    ms.tune_tir(product(), LLVM, None, 4, space=space, runner=RUNNER, seed=2, strategy="replay-trace")
    assert Same.calls == 0
    for kind in ("evolutionary", "replay-trace", "replay-func", ms.search_strategy.ReplayTrace(max_fail_count=3)):
        assert isinstance(ms.SearchStrategy.create(kind), ms.SearchStrategy)
    with pytest.raises(OptionError, match="search strategy 'genetic', expected evolutionary"):
        ms.SearchStrategy.create("genetic")


def test_parts_of_spaces_have_kinds() -> None:
    for kind in ("llvm", "cuda", "hexagon", "c"):
        assert all(isinstance(each, ms.ScheduleRule) for each in ms.ScheduleRule.create(kind))
        assert all(isinstance(each, ms.Postproc) for each in ms.Postproc.create(kind))
        assert sum(ms.Mutator.create(kind).values()) == pytest.approx(1, abs=0.05)
    for part in (ms.ScheduleRule, ms.Postproc, ms.Mutator):
        with pytest.raises(OptionError, match="kind 'vhdl', expected llvm"):
            part.create("vhdl")
    with pytest.raises(OptionError, match="structure 'SXR', expected letters S and R"):
        rule.MultiLevelTiling("SXR")
    with pytest.raises(OptionError, match="req 'often', expected no, may, must"):
        rule.ReuseType("often", [1], "global")
    with pytest.raises(UnsupportedError, match="MultiLevelTilingTensorCore is absent"):
        rule.MultiLevelTilingTensorCore([])
    copy = ms.schedule_rule.AutoBind(max_threadblocks=3).clone()
    assert copy.max_threadblocks == 3
    for part in (ms.ScheduleRule(), ms.Postproc(), ms.Mutator()):
        apply: Any = part.apply
        with pytest.raises(NotImplementedError, match="has no method apply"):
            apply(*[None] * (2 if isinstance(part, ms.ScheduleRule) else 1))


def test_nodes_of_blocks_and_loops_tell_their_place() -> None:
    sch = tvm.tir.Schedule(product()["main"])
    block = sch.get_block("C", func_name="main")
    loops = sch.get_loops(block)
    node = sch.get(block)
    assert (node.name_hint, len(node.reads), [axis.iter_type for axis in node.iter_vars][2]) == ("C", 2, 2)
    assert [int(sch.get(loop).extent) for loop in loops] == [32, 32, 32]
    place = sch.get_sref(block)
    assert place.stmt == node
    assert place.parent is not None
    assert place.parent.stmt == sch.get(loops[2])
    assert sch.get_sref(node) == place
    root = sch.get_sref(sch.get_block("root"))
    body: Any = root.stmt
    assert (root.parent, body.name_hint) == (None, "root")


def test_constants_are_values_of_annotations() -> None:
    sch = tvm.tir.Schedule(product())
    block = sch.get_block("C")
    sch.annotate(
        block, "flags", [tvm.tir.IntImm("bool", 1), tvm.tir.IntImm("int32", 3), tvm.tir.FloatImm("float32", 0.5)]
    )
    sch.annotate(block_or_loop=block, ann_key="names", ann_val={"a": tvm.tir.StringImm("b")})
    (line,) = (line.strip() for line in sch.mod.script().splitlines() if "block_attr" in line)
    assert line == 'T.block_attr({"flags": [True, 3, 0.5], "names": {"a": "b"}})'


def test_the_symbol_of_a_function_that_is_its_name_is_no_difference() -> None:
    func = product()["main"]
    named = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    plain = tvm.IRModule({"main": func})
    assert tvm.ir.structural_equal(named, plain)
    assert not tvm.ir.structural_equal(tvm.IRModule({"main": func.without_attr("global_symbol")}), plain)
    assert not tvm.ir.structural_equal(tvm.IRModule({"main": func.with_attr("global_symbol", "other")}), plain)


def test_traces_replay_from_their_text() -> None:
    sch = tvm.tir.Schedule(product())
    sch.parallel(sch.get_loops("C")[0])
    again = tvm.tir.testing.verify_trace_roundtrip(sch, product())
    assert "T.parallel" in again.mod.script()
    func = tvm.tir.stmt_functor.renew_defs(product()["main"])
    tvm.tir.testing.assert_structural_equal_ignore_global_symbol(
        func.with_attr("global_symbol", "f"), product()["main"]
    )
    with pytest.raises(ValueError, match="structural equality"):
        tvm.tir.testing.assert_structural_equal_ignore_global_symbol(sch.mod, product())
