"""Schedules that are drawn and measured: `tvm.meta_schedule`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import LoadError, OptionError, ScheduleError
from stepwell.frontends.tvm import meta_schedule as ms
from stepwell.frontends.tvm import relax, relay, te
from stepwell.frontends.tvm.relax.frontend import nn
from stepwell.frontends.tvm.script import tir as T


def product() -> tvm.IRModule:
    a, b = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return tvm.IRModule({"main": te.create_prim_func([a, b, c])})


def tiled(sch: tvm.tir.Schedule) -> tvm.tir.Schedule:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    outer, inner = sch.split(j, sch.sample_perfect_tile(j, n=2))
    sch.reorder(i, outer, k, inner)
    return sch


def check_multiplies(mod: Any) -> None:
    x, y = np.random.default_rng(0).random((2, 64, 64), np.float32)
    z = np.zeros((64, 64), "float32")
    tvm.build(mod, "llvm")(x, y, z)
    np.testing.assert_allclose(z, x @ y, rtol=1e-4)


RUNNER = ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(number=1, min_repeat_ms=0))


def test_schedules_of_a_function_are_drawn_and_measured(tmp_path: Path) -> None:
    space = ms.space_generator.ScheduleFn(tiled)
    with ms.Profiler() as profiler:
        database = ms.tune_tir(product(), "llvm", tmp_path, 4, space=space, runner=RUNNER, seed=1)
    assert 0 < len(database) <= 4
    assert profiler.get()["Total"] > 0
    records = database.get_top_k(ms.Workload(ms.database.normalized(product())), 9)
    assert [record.mean for record in records] == sorted(record.mean for record in records)
    sch = ms.tir_integration.compile_tir(database, product(), "llvm")
    assert sch is not None
    assert str(sch.trace) == str(records[0].trace)
    assert "sample_perfect_tile" in str(sch.trace)
    check_multiplies(sch.mod)
    again = ms.database.JSONDatabase(work_dir=tmp_path)
    assert len(again) == len(database)
    assert str(again.query(product(), "llvm").mod) == str(sch.mod)
    assert again.query(product(), "cuda") is None
    (tmp_path / "database_tuning_record.json").write_text("{}\n")
    with pytest.raises(LoadError, match="expected a record of a schedule"):
        ms.database.JSONDatabase(work_dir=tmp_path)


def test_without_a_function_the_default_schedule_is_kept() -> None:
    sch = ms.tune_tir(product(), "llvm", config=ms.TuneConfig(max_trials_global=2))
    assert len(sch.trace) > 2
    check_multiplies(sch.mod)
    a = te.placeholder((8,), name="A")
    again = ms.tune_te([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")], "llvm", config=ms.ReplayTraceConfig(1, 1))
    assert "T.block" in again.mod.script()
    for each in (ms.ReplayTraceConfig, ms.ReplayFuncConfig, ms.EvolutionarySearchConfig):
        config = each(num_trials_per_iter=1, num_trials_total=2)
        assert config.max_trials_global == 2
    database = ms.tune_tir(product()["main"], "cuda", None, 1)
    assert "threadIdx.x" in database.query_ir_module(product()).script()


def test_a_kernel_keeps_its_symbol() -> None:
    named = tvm.IRModule({"product": product()["main"]})
    database = ms.tune_tir(named, "llvm -num-cores 1", None, 1)
    for mod in (named, product()):
        sch = ms.compile_tir(database, mod, "llvm")
        assert sch is not None
        assert tvm.build(sch.mod, "llvm")["product"] is not None


def test_draws_that_are_illegal_are_left_out() -> None:
    def wrong(sch: tvm.tir.Schedule) -> None:
        sch.parallel(sch.get_loops("C")[2])

    with pytest.raises(ScheduleError, match="cannot run parallel"):
        ms.tune_tir(product(), "llvm", None, 2, space=wrong, runner=RUNNER)
    with pytest.raises(OptionError, match="space 3, expected 'post-order-apply'"):
        ms.tune_tir(product(), "llvm", None, 2, space=3)
    with pytest.raises(OptionError, match="programs run on this machine"):
        ms.tune_tir(product(), "llvm", None, 2, runner="rpc")


class Model(nn.Module):
    def __init__(self) -> None:
        self.fc = nn.Linear(64, 128)

    def forward(self, x: Any) -> Any:
        return nn.op.relu(self.fc(x))


def test_kernels_of_programs_are_tuned(tmp_path: Path) -> None:
    mod, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor((32, 64))}})
    tasks = ms.relax_integration.extract_tasks(mod, "llvm")
    assert tasks
    with tvm.target.Target("llvm"):
        tuned = tvm.transform.Sequential(
            [
                relax.get_pipeline("zero"),
                relax.transform.MetaScheduleTuneTIR(tmp_path, 2),
                relax.transform.MetaScheduleTuneIRMod({}, tmp_path / "all", 4, op_names=["nothing"]),
                relax.transform.MetaScheduleApplyDatabase(tmp_path),
            ]
        )(mod)
    kernels = [func for _, func in tuned.items() if isinstance(func, tvm.ir.PrimFunc)]
    assert all(func.attrs["tir.is_scheduled"] for func in kernels)
    assert not (tmp_path / "all" / "database_tuning_record.json").read_text()
    x, w, b = (np.random.default_rng(0).random(shape, np.float32) for shape in ((32, 64), (128, 64), (128,)))
    database = ms.tune_relax(mod, {}, "llvm", tmp_path / "more", 2)
    for built in (relax.build(tuned, "llvm", params={}), ms.compile_relax(database, mod, "llvm")):
        result = relax.VirtualMachine(built, tvm.cpu())["forward"](x, w, b)
        np.testing.assert_allclose(result.numpy(), x @ w.T + b, rtol=1e-4)
    tuned = relax.get_pipeline("static_shape_tuning", target="llvm", total_trials=2, work_dir=tmp_path / "last")(mod)
    result = relax.VirtualMachine(relax.build(tuned, "llvm"), tvm.cpu())["forward"](x, w, b)
    np.testing.assert_allclose(result.numpy(), x @ w.T + b, rtol=1e-4)
    with pytest.raises(OptionError, match="expected work_dir or `with database:`"):
        relax.transform.MetaScheduleApplyDatabase()(mod)


def test_kernels_of_graphs_are_tuned(tmp_path: Path) -> None:
    x = relay.var("x", shape=(4, 8))
    w = relay.var("w", shape=(6, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    values, weight = np.random.default_rng(0).random((2, 6, 8), np.float32)
    params = {"w": weight}
    (task,) = ms.extract_task_from_relay(mod, "llvm", params)
    assert (task.task_name, task.weight) == ("fused_nn_dense_nn_relu", 1)
    database = ms.relay_integration.tune_relay(mod, params, "llvm", tmp_path, 2, runner=RUNNER)
    record = database.query_tuning_record(ms.tune_context._normalize_mod(task.mod), tvm.target.Target("llvm"), "main")
    assert all(seconds > 0 for seconds in record.run_secs)
    config = ms.TuneConfig(max_trials_global=1)
    libs: list[Any] = [
        ms.relay_integration.compile_relay(database, mod, "llvm", params),
        ms.tune_relay(mod=mod, params=params, target="llvm", config=config, runner=RUNNER),
    ]
    for lib in libs:
        graph = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
        graph.run(x=values[:4])
        np.testing.assert_allclose(graph.get_output(0).numpy(), values[:4] @ weight.T, rtol=1e-5)
    machine = ms.compile_relay(database, mod, "llvm", params, backend="vm")
    result = tvm.runtime.vm.VirtualMachine(machine, tvm.cpu()).invoke("main", values[:4])
    np.testing.assert_allclose(result.numpy(), values[:4] @ weight.T, rtol=1e-5)
    assert not ms.is_meta_schedule_enabled()


def test_graphs_have_schedules_of_a_database() -> None:
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)) + relay.const(1.0)))

    def swapped(sch: tvm.tir.Schedule) -> tvm.tir.Schedule:
        *_, last = sch.get_child_blocks(sch.get_block("root"))
        sch.annotate(sch.get_loops(last)[0], "of_user", 1)
        sch.reorder(*reversed(sch.get_loops(last)))
        return sch

    database = ms.tune_relay(mod, {}, "llvm", None, 2, space=ms.space_generator.ScheduleFn(swapped), runner=RUNNER)
    assert len(database) == 1
    seen: list[str] = []

    class Observer(ms.database.PyDatabase):
        def query_ir_module(self, *args: Any, **named: Any) -> Any:
            found = database.query_ir_module(*args, **named)
            seen.append("" if found is None else found.script())
            return found

    observer = Observer()
    with observer, tvm.transform.PassContext(opt_level=3, config={"relay.backend.use_meta_schedule": True}):
        lib = relay.build(mod, "llvm")
    assert any("of_user" in text for text in seen)
    count = len(seen)
    with observer:
        relay.build(mod, "llvm")
    assert len(seen) == count
    data, weight = (np.random.default_rng(0).random(shape, np.float32) for shape in ((4, 8), (6, 8)))
    libs: list[Any] = [lib, ms.relay_integration.compile_relay(database, mod, "llvm", {})]
    for each in libs:
        graph = tvm.contrib.graph_executor.GraphModule(each["default"](tvm.cpu()))
        graph.run(x=data, w=weight)
        np.testing.assert_allclose(graph.get_output(0).numpy(), np.maximum(data @ weight.T, 0) + 1, rtol=1e-5)


def test_a_context_draws_schedules_of_its_kernel() -> None:
    context = ms.TuneContext(
        product(), target="llvm", space_generator=ms.space_generator.ScheduleFn(tiled), rand_state=3
    )
    (sch,) = context.generate_design_space()
    assert str(sch.trace) == str(context.clone().generate_design_space()[0].trace)
    assert not ms.TuneContext().generate_design_space()
    assert (ms.TuneContext(num_threads=3).num_threads, ms.TuneContext(rand_state=5).rand_state) == (3, 5)
    assert ms.TuneContext().num_threads > 0
    assert ms.TuneContext().rand_state > 0


def test_a_context_yields_candidates_that_are_built_and_run_apart() -> None:
    context = ms.TuneContext(product(), target="llvm", space_generator=tiled, rand_state=-1)
    with pytest.raises(OptionError, match="no search, expected pre_tuning before"):
        context.generate_measure_candidates()
    context.pre_tuning(max_trials=3, num_trials_per_iter=2, design_spaces=context.generate_design_space())
    first, second = context.generate_measure_candidates(), context.generate_measure_candidates()
    assert first is not None
    assert second is not None
    assert [len(first), len(second), context.generate_measure_candidates()] == [2, 1, None]
    assert [info.as_json() for info in first[0].args_info] == [["TENSOR", "float32", [64, 64]]] * 3
    builder, runner = ms.builder.Builder.create("local", max_workers=1), ms.runner.Runner.create(RUNNER)
    (built,) = builder.build([ms.builder.BuilderInput(first[0].sch.mod, context.target)])
    assert built.artifact_path is not None
    request = ms.runner.RunnerInput(built.artifact_path, context.target.kind.name, first[0].args_info)
    (future,) = runner.run([request])
    assert future.done()
    assert len(future.result().run_secs or ()) == 1
    (future,) = runner.run([ms.runner.RunnerInput("nowhere.so", "llvm", ())])
    assert "LoadError" in str(future.result().error_msg)
    context.post_tuning()


def test_extracted_tasks_are_tuned() -> None:
    target = tvm.target.Target("llvm")
    task = ms.ExtractedTask("product", product(), target, [product()])
    config = ms.TuneConfig(max_trials_global=2)
    database = ms.tune_extracted_tasks([task], config, runner=RUNNER, space=tiled, seed=1)
    assert 0 < len(database) <= 2


def test_traces_show_instructions_and_decisions() -> None:
    sch = tiled(tvm.tir.Schedule(product()))
    kinds = [inst.kind.name for inst in sch.trace.insts]
    assert kinds == ["GetBlock", "GetLoops", "SamplePerfectTile", "Split", "Reorder"]
    sample = sch.trace.insts[2]
    assert sample.attrs == [2, 16]
    assert np.prod(sch.trace.get_decision(sample)) == 64
    assert list(sch.trace.decisions) == [sample]
    assert (len(sample.inputs), len(sample.outputs)) == (1, 2)


def test_a_profiler_adds_up_named_seconds() -> None:
    with ms.Profiler() as profiler:
        for _ in range(2):
            with ms.Profiler.timeit("part"):
                pass
        assert ms.Profiler.current() is profiler
    with ms.Profiler.timeit("outside"):
        pass
    assert sorted(profiler.get()) == ["Total", "part"]
    assert ms.Profiler.current() is None


def test_descriptions_of_parameters_are_lists() -> None:
    info = ms.arg_info.TensorInfo.from_json(["TENSOR", "float32", [2, 3]])
    assert str(info) == 'TensorInfo("float32", [2, 3])'
    assert ms.arg_info.TensorInfo.from_json(info.as_json()) == info
    with pytest.raises(OptionError, match=r"expected \['TENSOR', dtype, shape\]"):
        ms.arg_info.TensorInfo.from_json(["SCALAR"])


# Models of speed


class FewestLoops(ms.cost_model.PyCostModel):
    """A model that prefers schedules whose inner loop is short."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.seen: list[float] = []

    def predict(self, context: ms.TuneContext, candidates: Any) -> Any:
        scores = [-float(inner(each.sch)) for each in candidates]
        self.scores += scores
        return np.array(scores)

    def update(self, context: ms.TuneContext, candidates: Any, results: Any) -> None:
        assert all(result.run_secs for result in results)
        self.seen += [-float(inner(each.sch)) for each in candidates]


def inner(sch: tvm.tir.Schedule) -> int:
    (decision,) = sch.trace.decisions.values()
    return int(decision[1])


def test_a_model_of_users_orders_the_schedules_that_are_measured() -> None:
    model = FewestLoops()
    space = ms.space_generator.ScheduleFn(tiled)
    database = ms.tune_tir(product(), "llvm", None, 2, space=space, cost_model=model, runner=RUNNER, seed=1)
    assert len(database) == 2
    assert len(model.scores) == 4
    assert model.seen == sorted(model.scores, reverse=True)[:2]
    assert str(model).startswith("meta_schedule.FewestLoops(0x")
    with pytest.raises(OptionError, match="cost model 'linear', expected a CostModel"):
        ms.tune_tir(product(), "llvm", None, 1, cost_model="linear")

    class Short(FewestLoops):
        def predict(self, context: ms.TuneContext, candidates: Any) -> Any:
            return np.zeros(1)

    with pytest.raises(OptionError, match=r"scores of shape \(1,\), expected \(4,\)"):
        ms.tune_tir(product(), "llvm", None, 2, space=space, cost_model=Short(), runner=RUNNER)


def test_a_random_model_can_be_saved(tmp_path: Path) -> None:
    candidates = [ms.MeasureCandidate(tvm.tir.Schedule(product()), [])] * 20
    model, context = ms.cost_model.RandomModel(seed=5), ms.TuneContext()
    first = model.predict(context, candidates)
    same: Any = ms.CostModel.create("random", seed=5, num_tuning_cores=1)
    assert (first == same.predict(context, candidates)).all()
    assert ((first >= 0) & (first <= model.max_range)).all()
    model.save(tmp_path / "state.npy")
    second = model.predict(context, candidates)
    model.update(context, [], [])
    model.load(tmp_path / "state.npy")
    assert (second == model.predict(context, candidates)).all()
    (tmp_path / "other.npy").write_text("no state")
    with pytest.raises(LoadError, match="expected a state of random numbers"):
        ms.cost_model.RandomModel(path=tmp_path / "other.npy")
    assert ms.cost_model.create("none") is None
    with pytest.raises(OptionError, match="cost model 'mlp', expected"):
        ms.cost_model.create("mlp")


# Databases of several


def test_a_function_is_a_database() -> None:
    names: list[str] = []

    def schedule(sch: tvm.tir.Schedule) -> bool:
        names.append(str(sch.mod.attrs["task_name"]))
        sch.parallel(sch.get_loops(sch.get_block("C"))[0])
        return True

    database = ms.database.Database.create(schedule)
    found = database.query(product(), "llvm", kind="ir_module")
    assert "T.parallel" in found.script()
    check_multiplies(found)
    record: Any = database.query_tuning_record(product(), "llvm", "product")
    assert record.run_secs == ()
    assert names == ["main", "product"]
    assert ms.database.ScheduleFnDatabase(lambda sch: False).query(product()) is None


def test_databases_can_be_united() -> None:
    slow, fast = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    workload = ms.Workload(ms.database.normalized(product()))
    for database, seconds in ((slow, 2.0), (fast, 1.0)):
        trace = tiled(tvm.tir.Schedule(product(), seed=int(seconds))).trace
        database.commit_tuning_record(ms.TuningRecord(trace, workload, [seconds]))
    for kind, expected in (("union", 1.0), ("ordered_union", 2.0)):
        union = ms.database.Database.create(kind, ms.database.MemoryDatabase(), slow, fast)
        record: Any = union.query_tuning_record(product())
        assert [each.value for each in record.run_secs] == [expected]
        assert record.as_json()["run_secs"] == [expected]
        assert len(record.as_measure_candidate().args_info) == 3
        assert union.has_schedules_of_users()
    assert ms.database.UnionDatabase().query(product()) is None


class _Parts:
    """A builder, a runner and a callback that record their arguments."""

    def __init__(self) -> None:
        parts = self
        self.built: list[Any] = []
        self.seen: list[tuple[int, int, str | None, float]] = []

        @ms.derived_object
        class Builder(ms.builder.PyBuilder):
            def build(self, build_inputs: Any) -> Any:
                parts.built += [each.mod for each in build_inputs]
                return ms.builder.LocalBuilder().build(build_inputs)

        @ms.derived_object
        class Future(ms.runner.PyRunnerFuture):
            def __init__(self, seconds: float):
                self.seconds = seconds

            def done(self) -> bool:
                return True

            def result(self) -> Any:
                return ms.runner.RunnerResult([tvm.tir.FloatImm("float32", self.seconds)], None)  # pyright: ignore[reportArgumentType]

        @ms.derived_object
        class Runner(ms.runner.PyRunner):
            def run(self, runner_inputs: Any) -> Any:
                return [Future(float(len(each.args_info))) for each in runner_inputs]

        @ms.derived_object
        class Callback(ms.measure_callback.PyMeasureCallback):
            def apply(self, task_scheduler: Any, task_id: int, candidates: Any, builds: Any, runs: Any) -> None:
                parts.seen += [
                    (task_id, len(candidates), built.error_msg, float(run.run_secs[0].value))
                    for built, run in zip(builds, runs, strict=True)
                ]

        self.builder, self.runner, self.callback = Builder(), Runner(), Callback()


def test_builders_runners_and_callbacks_of_users_measure() -> None:
    def schedule(sch: Any) -> None:
        (loop, *_) = sch.get_loops(sch.get_block("scale"))
        sch.split(loop, sch.sample_perfect_tile(loop, n=2))

    @T.prim_func
    def scale(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):  # pyright: ignore[reportInvalidTypeForm]
        for i in range(16):
            with T.block("scale"):
                v = T.axis.spatial(16, i)
                B[v] = A[v] * T.float32(2)

    parts = _Parts()
    database = ms.tune_tir(
        scale, "llvm", max_trials_global=2, builder=parts.builder, runner=parts.runner,
        measure_callbacks=[parts.callback, ms.measure_callback.AddToDatabase()], space=schedule, seed=1,
    )  # fmt: skip
    assert len(parts.built) == 2
    assert parts.seen == [(0, 1, None, 2.0)] * 2
    assert [record.run_secs for record in database.get_all_tuning_records()] == [(2.0,)] * 2
    memory = ms.database.MemoryDatabase()
    context = ms.TuneContext(tvm.IRModule({"main": scale}), target="llvm", space_generator=schedule, rand_state=2)
    ms.task_scheduler.RoundRobin().tune(
        [context], [1.0], max_trials_global=3, max_trials_per_task=3, runner=parts.runner, builder=parts.builder,
        measure_callbacks=parts.callback, database=memory,
    )  # fmt: skip
    assert len(memory) == 3


def test_a_builder_calls_functions_of_users() -> None:
    def fails(mod: Any, target: Any, params: Any) -> Any:
        raise ValueError("no build")

    tvm.register_func("test.builds_nothing", fails, override=True)
    (result,) = ms.builder.LocalBuilder(f_build="test.builds_nothing").build(
        [ms.builder.BuilderInput(tvm.IRModule({}), tvm.target.Target("llvm"))]
    )
    assert result.artifact_path is None
    assert result.error_msg == "LocalBuilder: An exception occurred\nValueError: no build"
    with pytest.raises(OptionError, match=r"no function 'test\.unknown' is registered"):
        ms.builder.LocalBuilder(f_export="test.unknown")
