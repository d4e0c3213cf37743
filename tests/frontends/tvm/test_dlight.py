"""`tvm.dlight`: rules that schedule the kernels of a module."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError
from stepwell.frontends.tvm import dlight as dl
from stepwell.frontends.tvm import relax, s_tir, te, tir
from stepwell.frontends.tvm.ir.module import IRModule
from stepwell.frontends.tvm.relax.frontend import nn
from stepwell.frontends.tvm.target import Target
from stepwell.script import tir as T

CUDA = Target("cuda")


class Model(nn.Module):
    def __init__(self) -> None:
        self.fc1 = nn.Linear(64, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, x: Any) -> Any:
        return self.norm(nn.relu(self.fc1(x)))


@pytest.fixture(scope="module")
def kernels() -> IRModule:
    mod, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor((32, 64), "float32")}})
    return relax.get_pipeline("zero")(mod)  # pyright: ignore[reportReturnType]


def scheduled(mod: IRModule) -> list[str]:
    return [
        name for name, func in mod.items() if isinstance(func, tir.PrimFunc) and func.attrs.get("tir.is_scheduled") == 1
    ]


def test_each_rule_claims_the_functions_of_its_kind(kernels: IRModule) -> None:
    rules = {"Matmul": dl.gpu.Matmul(), "GeneralReduction": dl.gpu.GeneralReduction(), "Transpose": dl.gpu.Transpose()}
    with CUDA:
        claimed = {name: scheduled(dl.ApplyDefaultSchedule(rule)(kernels)) for name, rule in rules.items()}
        everything = dl.ApplyDefaultSchedule(*rules.values(), dl.gpu.Fallback())(kernels)
    assert len(claimed["Matmul"]) == len(claimed["GeneralReduction"]) == 1
    assert "matmul" in claimed["Matmul"][0]
    assert "layer_norm" in claimed["GeneralReduction"][0]
    assert scheduled(everything) == [name for name, func in kernels.items() if isinstance(func, tir.PrimFunc)]
    assert "threadIdx.x" in everything.script()
    assert scheduled(kernels) == []


def test_a_rule_returns_a_schedule(kernels: IRModule) -> None:
    functions = [func for func in kernels.functions if isinstance(kernels[func], tir.PrimFunc)]
    found = [dl.gpu.Matmul().apply(kernels[name], CUDA, False) for name in functions]
    (sch,) = [each for each in found if each is not None]
    assert isinstance(sch, tir.Schedule)
    assert "threadIdx.x" in sch.mod.script()


def test_the_first_rule_wins_and_scheduled_functions_stay(kernels: IRModule) -> None:
    calls: list[str] = []

    @dl.ScheduleRule.from_callable("count")
    def count(func: Any, target: Any, tunable: bool) -> None:
        calls.append(target.kind.name)

    with CUDA:
        mod = dl.ApplyDefaultSchedule(count, dl.gpu.Fallback(), count)(kernels)
        assert len(calls) == len(scheduled(mod))
        dl.ApplyDefaultSchedule(count)(mod)
        assert len(calls) == len(scheduled(mod))
    with Target("llvm"):
        assert scheduled(dl.ApplyDefaultSchedule(dl.gpu.Fallback())(kernels)) == []
    with pytest.raises(OptionError, match="no current target"):
        dl.ApplyDefaultSchedule(dl.gpu.Fallback())(kernels)


def _functions(rows: int = 6, columns: int = 8) -> IRModule:
    a = te.placeholder((rows, columns), name="a")
    k = te.reduce_axis((0, rows), name="k")
    column = te.compute((columns,), lambda j: te.sum(a[k, j], axis=k), name="column")
    scale = te.compute((rows, columns), lambda i, j: a[i, j] * 2.0, name="scale")
    return IRModule({"column": te.create_prim_func([a, column]), "scale": te.create_prim_func([a, scale])})


def test_rules_of_users() -> None:
    seen: list[str] = []

    @dl.ScheduleRule.from_callable("tile")
    def tile(func: Any, target: Any, tunable: bool) -> Any:
        sch = s_tir.Schedule(func)
        (info,) = dl.normalize_prim_func(sch) or []
        seen.append(f"{info.name} {info.dom_kind()} {info.dom()} {info.is_reduction()} {info.is_elementwise(sch)}")
        if not info.is_injective():
            return None
        bx, tx = sch.split(sch.fuse(*sch.get_loops(info.block_rv)), factors=[None, 4])
        sch.bind(bx, "blockIdx.x")
        sch.bind(tx, "threadIdx.x")
        return sch

    with CUDA:
        mod = dl.ApplyDefaultSchedule(tile, dl.gpu.Fallback())(_functions())
    assert seen == ["column SR [8, 6] True False", "scale SS [6, 8] False True"]
    built = tvm.build(IRModule({"main": mod["scale"]}), target="cuda-emulated")
    device = tvm.device("cuda-emulated")
    x = np.arange(48, dtype="float32").reshape(6, 8)
    out = tvm.nd.empty((6, 8), "float32", device)
    built(tvm.nd.array(x, device), out)
    np.testing.assert_array_equal(out.numpy(), 2 * x)


def test_loops_of_spatial_axes_are_outside_after_normalization() -> None:
    a = te.placeholder((6, 8), name="a")
    k = te.reduce_axis((0, 6), name="k")
    func = te.create_prim_func([a, te.compute((8,), lambda j: te.sum(a[k, j], axis=k), name="column")])
    sch = s_tir.Schedule(func)
    j, reduction = sch.get_loops("column")
    sch.reorder(reduction, j)
    (info,) = dl.normalize_prim_func(sch) or []
    assert [sch.get(loop).loop_var.name for loop in sch.get_loops(info.block_rv)] == ["j", "k"]  # pyright: ignore[reportAttributeAccessIssue]


def test_inlining_and_facts_of_targets() -> None:
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    k = te.reduce_axis((0, 8), name="k")
    total = te.compute((1,), lambda i: te.sum(b[k], axis=k), name="total")
    sch = s_tir.Schedule(te.create_prim_func([a, total]))
    infos = dl.normalize_prim_func(sch)
    assert infos is not None
    assert [each.name for each in dl.try_inline_contiguous_spatial(sch, infos)] == ["total"]
    assert dl.base.get_max_threads_per_block(CUDA) == 1024
    loops = [sch.get(loop) for loop in sch.get_loops("total")]
    assert dl.base.suggest_threads_per_block(CUDA, loops) == [1, 8]


def test_rules_for_processors() -> None:
    with Target("llvm"):
        mod = dl.ApplyDefaultSchedule(dl.cpu.GEMV(), dl.cpu.Reduction())(_functions(64, 128))
    assert scheduled(mod) == ["column"]


def test_a_matrix_of_computed_elements_times_a_vector() -> None:
    @T.prim_func
    def decoded(
        W: T.Buffer((256, 64), "uint32"), S: T.Buffer((256, 16), "float16"), V: T.Buffer((512,), "float16"),
        C: T.Buffer((256,), "float16"),
    ):  # fmt: skip
        A = T.alloc_buffer((256, 512), "float16")
        for i, j in T.grid(256, 512):
            with T.block("decode"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.Cast("float16", W[vi, vj // 8] >> T.Cast("uint32", vj % 8 * 4) & 15) * S[vi, vj // 32]
        for i, k in T.grid(256, 512):
            with T.block("gemv"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float16(0)
                C[vi] = C[vi] + V[vk] * A[vi, vk]

    func = tvm.IRModule({"main": decoded})["main"]
    assert dl.gpu.GEMV().apply(func, CUDA, False) is not None
    assert dl.gpu.LowBatchGEMV(4).apply(func, CUDA, False) is not None
    a = te.placeholder((64, 128), name="a")
    k = te.reduce_axis((0, 128), name="k")
    total = te.create_prim_func([a, te.compute((64,), lambda i: te.sum(a[i, k], axis=k))])
    assert dl.gpu.GEMV().apply(total, CUDA, False) is None
