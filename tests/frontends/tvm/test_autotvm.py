"""Templates whose configurations are measured: `tvm.autotvm`."""

import io
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import LoadError, OptionError, UnsupportedError
from stepwell.core.processes import can_fork
from stepwell.frontends.tvm import autotvm, relay, te
from stepwell.frontends.tvm.autotvm import MeasureErrorNo, MeasureInput, MeasureResult, record
from stepwell.frontends.tvm.autotvm.task.space import FallbackConfigEntity
from stepwell.frontends.tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from stepwell.frontends.tvm.autotvm.utils import format_si_prefix

LLVM = tvm.target.Target("llvm")
OPTION = autotvm.measure_option(
    autotvm.LocalBuilder(n_parallel=2), autotvm.LocalRunner(number=1, repeat=1, cooldown_interval=0)
)
needs_fork = pytest.mark.skipif(not can_fork(), reason="no child process measures")


@autotvm.template("tests/product")
def product(n: int, length: int, m: int, dtype: str) -> Any:
    a, b = te.placeholder((n, length), dtype, name="A"), te.placeholder((length, m), dtype, name="B")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    y, x = s[c].op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", cfg.axis(x), num_outputs=2)
    yo, yi = cfg["tile_y"].apply(s, c, y)
    xo, xi = cfg["tile_x"].apply(s, c, x)
    s[c].reorder(yo, xo, k, yi, xi)
    return s, [a, b, c]


def product_task(n: int = 16) -> Any:
    return autotvm.task.create("tests/product", args=(n, n, n, "float32"), target="llvm")


def check_multiplies(s: Any, args: Any, n: int = 16) -> None:
    x, y = np.random.default_rng(0).random((2, n, n), np.float32)
    z = np.zeros((n, n), "float32")
    tvm.build(s, args, "llvm")(x, y, z)
    np.testing.assert_allclose(z, x @ y, rtol=1e-4)


# Tuning


def test_a_template_is_tuned_and_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task, log = product_task(), tmp_path / "product.log"
    assert task.flop == 2 * 16**3
    assert task.workload == ("tests/product", 16, 16, 16, "float32")
    assert str(task.config_space).splitlines()[:2] == [
        "ConfigSpace (len=25, range_length=25, space_map=",
        "   0 tile_y: Split(policy=factors, product=16, num_outputs=2) len=5",
    ]
    tuner, monitor = GridSearchTuner(task, (3, 6)), autotvm.callback.Monitor()
    bar = autotvm.callback.progress_bar(4, prefix="[Task]")
    tuner.tune(4, OPTION, callbacks=[autotvm.callback.log_to_file(str(log)), monitor, bar])
    assert len(monitor.trial_scores()) == 4
    assert max(monitor.scores) == tuner.best_flops > 0
    assert "Progress: (4/4)" in capsys.readouterr().out
    records = list(record.load_from_file(log))
    assert [inp.config.index for inp, _ in records] == [3, 4, 5, 6]
    assert all(result.error_no == 0 for _, result in records)
    for inp, _ in records[2:]:
        check_multiplies(*task.instantiate(inp.config))
    with autotvm.apply_history_best(str(log)) as context, LLVM:
        assert str(context.query(LLVM, task.workload)) == str(tuner.best_config)
        check_multiplies(*product(16, 16, 16, "float32"))
    record.pick_best(log, tmp_path / "best.log")
    ((best, _),) = record.load_from_file(tmp_path / "best.log")
    assert best.config.index == tuner.best_config.index  # pyright: ignore[reportOptionalMemberAccess]


@given(
    st.sampled_from([1, 4, 7, 12]), st.sampled_from([1, 5, 8]), st.sampled_from(["factors", "power2", "verbose"]),
    st.integers(0, 10**9),
)  # fmt: skip
def test_every_configuration_computes_the_same(n: int, m: int, policy: str, index: int) -> None:
    def sums() -> Any:
        a = te.placeholder((n, m, 6), name="a")
        k = te.reduce_axis((0, 6), name="k")
        b = te.compute((n, m), lambda i, j: te.sum(a[i, j, k], k), name="b")
        s = te.create_schedule(b.op)
        cfg = autotvm.get_config()
        i, j = b.op.axis
        io, ii = cfg.define_split("i", i, policy=policy, num_outputs=2)
        ko, ki = cfg.define_split("k", k, num_outputs=2)
        column = cfg.axis(j)
        cfg.define_reorder("order", [io, ii, column, ko, ki], "all")
        cfg.define_annotate("unit", [column], "try_unroll_vec")
        loops = [*cfg["i"].apply(s, b, i), j, *cfg["k"].apply(s, b, k)]
        ordered = cfg["order"].apply(s, b, loops)
        if ordered[-1] is j:
            cfg["unit"].apply(s, b, [j])
        return s, [a, b]

    autotvm.task.register("tests/sums", sums, override=True)
    task = autotvm.task.create("tests/sums", (), "llvm")
    config = task.config_space.get(index % len(task.config_space))
    s, args = task.instantiate(record.ConfigEntity.from_json_dict(json.loads(json.dumps(config.to_json_dict()))))
    x, y = np.random.default_rng(0).random((n, m, 6), np.float32), np.zeros((n, m), "float32")
    tvm.build(s, args, "llvm")(x, y)
    np.testing.assert_allclose(y, x.sum(2), rtol=1e-5)


def faulty(kind: int) -> Any:
    a = te.placeholder((8, 8), name="a")
    k = te.reduce_axis((0, 8), name="k")
    b = te.compute((8,), lambda i: te.sum(a[i, k], k), name="b")
    s = te.create_schedule(b.op)
    cfg = autotvm.get_config()
    cfg.define_knob("fault", ["none", "race", "stated", "exception", "slow"][:kind])
    match cfg["fault"].val:
        case "race":
            s[b].parallel(k)
        case "stated":
            cfg.raise_error("too large")
        case "exception":
            raise ValueError("a fault of the template")
        case "slow":
            time.sleep(60)
        case _:
            pass
    return s, [a, b]


def test_configurations_with_errors_are_results(caplog: pytest.LogCaptureFixture) -> None:
    task = autotvm.task.create(faulty, (4,), "llvm")
    results: list[MeasureResult] = []
    tuner = GridSearchTuner(task)
    tuner.tune(4, OPTION, callbacks=[lambda _, __, found: results.extend(found)])
    kinds = [each.error_no for each in results]
    assert kinds == [MeasureErrorNo.NO_ERROR, *[MeasureErrorNo.INSTANTIATION_ERROR] * 3]
    messages = [str(each.costs[0]) for each in results[1:]]
    assert "ScheduleError: parallel: stage b" in messages[0]
    assert messages[1:] == ["InstantiationError: too large", "ValueError: a fault of the template"]
    assert tuner.best_config is not None
    assert tuner.best_config.index == 0
    log = io.StringIO()
    autotvm.callback.log_to_file(log)(tuner, [MeasureInput(LLVM, task, task.config_space.get(1))], results[1:2])
    ((_, result),) = record.load_from_buffer(io.StringIO(log.getvalue()))
    assert result.error_no == MeasureErrorNo.INSTANTIATION_ERROR
    assert list(result.costs) == [1e9]
    GridSearchTuner(task, (1, 2)).tune(2, OPTION)
    assert "No configuration of Task(func_name=faulty" in caplog.text
    other = autotvm.task.create("faulty", (4,), "hexagon")
    builder, runner = OPTION["builder"], OPTION["runner"]
    inp = MeasureInput(other.target, other, other.config_space.get(0))
    assert runner.run([inp], builder.build([inp]))[0].error_no == MeasureErrorNo.COMPILE_HOST


@needs_fork
def test_measurements_have_limits_of_time() -> None:
    task = autotvm.task.create(faulty, (5,), "llvm")
    inp = MeasureInput(LLVM, task, task.config_space.get(4))
    builder = autotvm.LocalBuilder(timeout=0.05)
    (result,) = OPTION["runner"].run([inp], builder.build([inp]))
    assert result.error_no == MeasureErrorNo.BUILD_TIMEOUT
    assert result.costs[0] == "no end after 0.05 s"
    large = autotvm.task.create("tests/product", (512, 65536, 512, "float32"), "llvm")
    runner = autotvm.LocalRunner(timeout=0.05, number=1, repeat=1, cooldown_interval=0)
    inp = MeasureInput(LLVM, large, large.config_space.get(0))
    (result,) = runner.run([inp], OPTION["builder"].build([inp]))
    assert result.error_no == MeasureErrorNo.RUN_TIMEOUT


class Formula(autotvm.measure.Runner):
    """A runner whose seconds are a formula of the tiles; configurations with the innermost tile 1 fail."""

    def run(self, measure_inputs: Sequence[Any], build_results: Sequence[Any]) -> list[MeasureResult]:
        return [self._result(inp.config) for inp in measure_inputs]

    def _result(self, config: Any) -> MeasureResult:
        y, x = config["tile_y"].size[1], config["tile_x"].size[1]
        if x == 1:
            return MeasureResult(("fault", RuntimeError("fault")), MeasureErrorNo.RUNTIME_DEVICE, 0, 0)
        return MeasureResult((1e-3 * (1 + abs(np.log2(y) - 3) + abs(np.log2(x) - 5)),), 0, 0, 0)


@pytest.mark.parametrize("kind", [RandomTuner, GridSearchTuner, GATuner, XGBTuner])
def test_tuners_find_the_fastest_configuration(kind: Any) -> None:
    task = product_task(64)
    tuner = kind(task, pop_size=8) if kind is GATuner else kind(task)
    option = autotvm.measure_option(autotvm.LocalBuilder(n_parallel=4), Formula())
    measured: list[int] = []
    tuner.tune(len(task.config_space), option, callbacks=[lambda _, inputs, __: measured.extend(
        each.config.index for each in inputs)])  # fmt: skip
    assert sorted(measured) == list(range(49))
    assert not tuner.has_next()
    best: Any = tuner.best_config
    assert (best["tile_y"].size[1], best["tile_x"].size[1]) == (8, 32)
    tuner.reset()
    assert tuner.best_config is None


def test_a_model_finds_the_fastest_configuration_early() -> None:
    space = product_task(2**11)  # 144 configurations
    tuner = XGBTuner(space, plan_size=8)
    option = autotvm.measure_option(autotvm.LocalBuilder(n_parallel=4), Formula())
    tuner.tune(72, option, early_stopping=60)
    assert tuner.best_config is not None
    assert tuner.best_config["tile_y"].size[1] in (4, 8, 16)
    assert tuner.best_config["tile_x"].size[1] in (16, 32, 64)


def test_a_model_learns_from_records() -> None:
    old = product_task(64)
    inputs = [MeasureInput(LLVM, old, old.config_space.get(n)) for n in range(49)]
    results = Formula().run(inputs, inputs)
    tuner = XGBTuner(product_task(128))
    tuner.load_history(list(zip(inputs, results, strict=True)))  # too few
    tuner.load_history(list(zip(inputs, results, strict=True)), min_seed_records=10)
    first = tuner.next_batch(4)
    assert sum(abs(np.log2(each["tile_x"].size[1]) - 5) <= 1 for each in first) >= 2
    with pytest.raises(NotImplementedError, match="expected XGBTuner"):
        autotvm.tuner.Tuner(old).load_history([])
    with pytest.raises(OptionError, match="feature_type 'none', expected itervar, knob, curve"):
        XGBTuner(old, feature_type="none")


# Spaces


def test_spaces_have_the_configurations_of_tvm() -> None:
    cfg = autotvm.ConfigSpace()
    for name, length, policy, count in (
        ("a", 256, "factors", 45), ("b", 224, "factors", 63), ("c", 224, "power2", 36), ("d", 224, "verbose", 84),
    ):  # fmt: skip
        cfg.define_split(name, cfg.axis(length), policy=policy, num_outputs=3)
        assert len(cfg.space_map[name]) == count
    y, x, k = (cfg.axis(8) for _ in range(3))
    cfg.define_split("e", y, num_outputs=2, filter=lambda entity: entity.size[-1] <= 4, max_factor=2)
    assert [entity.size for entity in cfg.space_map["e"].entities] == [[-1, 1], [-1, 2]]
    cfg.define_split("f", x, policy="candidate", num_outputs=2, candidate=[[2, 4], [4, 2]])
    assert cfg["f"].size == [2, 4]
    for policy, options, orders in (
        ("identity", {}, [[0, 1, 2]]),
        ("interval_all", {"interval": (1, 3)}, [[0, 1, 2], [0, 2, 1]]),
        ("candidate", {"candidate": [[k, y, x]]}, [[2, 0, 1]]),
        ("interleave_cuda", {"spatial": [[y, x]], "reduce": [[k]]}, [[0, 2, 1]]),
        ("interleave", {"spatial": [[y, x]], "reduce": [[k]]}, [[0, 1, 2]]),
    ):
        cfg.define_reorder("order", [y, x, k], policy, **options)
        assert [entity.perm for entity in cfg.space_map["order"].entities] == orders
    cfg.define_annotate("unit", [x, k], "try_unroll_vec")
    assert str(cfg.space_map["unit"]) == "Annotate(policy=try_unroll_vec) len=8"
    cfg.define_annotate("grid", [y, x, k], "bind_gpu")
    assert cfg["grid"].anns == ["fuse", "blockIdx.x", "threadIdx.x"]
    cfg.define_annotate("cache", [y, x, k], "locate_cache", num_anchor=2)
    assert len(cfg.space_map["cache"]) == 3
    for define, message in (
        (lambda: cfg.define_split("z", 8, policy="none", num_outputs=2), "policy 'none', expected factors"),
        (lambda: cfg.define_split("z", 8), "num_outputs 0, expected at least 1"),
        (lambda: cfg.define_split("z", 8, policy="candidate", num_outputs=2, candidate=[[8]]), "expected 2 sizes"),
        (lambda: cfg.define_split("z", 8, num_outputs=2, filter=lambda _: False), "expected at least one choice"),
        (lambda: cfg.define_reorder("z", [y], "none"), "policy 'none', expected identity"),
        (lambda: cfg.define_annotate("z", [y], "none_x"), "policy 'none_x', expected try_unroll_vec"),
        (lambda: cfg.define_annotate("z", [y], "bind_gpu"), "bind_gpu of 1 loops, expected at least 2"),
        (lambda: cfg.axis("x"), "axis 'x', expected a loop or a length"),
        (lambda: cfg["nothing"], r"no knob 'nothing' \(has: a, b"),
    ):
        with pytest.raises(OptionError, match=message):
            define()


def test_a_filter_of_former_programs_reads_the_first_size() -> None:
    cfg = autotvm.ConfigSpace()
    cfg.define_split(
        "tile", cfg.axis(64), num_outputs=3, filter=lambda entity: entity.size[0] * 2 >= entity.size[1] == 8
    )
    assert [entity.size for entity in cfg.space_map["tile"].entities] == [[8, 8, 1], [4, 8, 2]]


def test_a_filter_restricts_combinations() -> None:
    cfg = product_task(128).config_space
    assert cfg.knob2point([4, 1]) == 12
    assert cfg.point2knob(12) == [4, 1]
    cfg.multi_filter(lambda entity: 32 <= entity["tile_x"].size[1] * entity["tile_y"].size[1] < 1024)
    assert (len(cfg), cfg.range_length, cfg.subrange_length(0, 32)) == (34, 64, 17)
    assert (cfg.get_next_index(0), cfg.get_next_index(0, 2), cfg.get_next_index(0, -1)) == (5, 6, None)
    assert cfg.is_index_valid(cfg.random_walk(15))
    assert len(set(cfg.sample_ints(34))) == 34
    with pytest.raises(IndexError, match="multi-filter"):
        cfg.get(0)
    with pytest.raises(IndexError, match="size 64, got index 64"):
        cfg.get(64)
    with pytest.raises(OptionError, match="35 configurations of a space of 34"):
        cfg.sample_ints(35)
    task = product_task(128)
    task.config_space = cfg
    assert GridSearchTuner(task, (8, 15)).visited_max == 4


def test_a_configuration_is_numbers_and_json() -> None:
    cfg = autotvm.ConfigSpace()
    cfg.define_split("tile", cfg.axis(8), num_outputs=2)
    cfg.define_knob("value", [3, 5])
    cfg.define_annotate("unit", [cfg.axis(8)], "unroll")
    config = cfg.get(6)
    assert list(config.get_flatten_feature()[:3]) == [-1, 4, 5]
    assert config.get_other_option() == {"value": 5}
    assert config.to_json_dict()["entity"] == [["tile", "sp", [-1, 4]], ["value", "ot", 5], ["unit", "an", ["unroll"]]]
    assert repr(config) == "[('tile', [-1, 4]), ('value', 5), ('unit', ['unroll'])],None,6"
    assert str(autotvm.ConfigEntity.from_json_dict(config.to_json_dict())) == str(config)
    with pytest.raises(LoadError, match="expected index, code_hash and entity"):
        autotvm.ConfigEntity.from_json_dict({"index": 0})


# Contexts


def test_a_template_without_a_record_has_a_fallback(caplog: pytest.LogCaptureFixture) -> None:
    with LLVM:
        check_multiplies(*product(16, 16, 16, "float32"))
    assert "Cannot find config for target=llvm -keys=cpu, workload=('tests/product', 16" in caplog.text
    cfg = FallbackConfigEntity()
    cfg.define_split("tile", cfg.axis(49), num_outputs=3)
    cfg.fallback_split("tile", [-1, 8, 4])
    cfg.define_split("tile", cfg.axis(49), num_outputs=3)
    assert cfg["tile"].size == [7, 7, 1]
    with pytest.raises(RuntimeError, match=r"no split of 49 within \[-1, 1, 0\]"):
        cfg.fallback_split("tile", [-1, 1, 0])
    other = autotvm.ConfigSpace()
    other.define_split("tile", other.axis(98), policy="candidate", num_outputs=3, candidate=[[14, 7, 1]])
    cfg.fallback_with_reference_log([(MeasureInput(LLVM, product_task(), other.get(0)), None)])
    assert cfg["tile"].size == [7, 7, 1]


def test_contexts_select_configurations() -> None:
    task = product_task()
    inputs = [MeasureInput(LLVM, task, task.config_space.get(n)) for n in (2, 7)]
    records = [(inp, MeasureResult((seconds,), 0, 0, 0)) for inp, seconds in zip(inputs, (2.0, 1.0), strict=True)]
    best = autotvm.apply_history_best([iter(records[:1]), records[1:]])
    assert best.query(LLVM, task.workload).index == 7
    assert best.query(tvm.target.Target("cuda"), task.workload).is_fallback
    best.update(LLVM, task.workload, inputs[0].config)
    assert best.query(LLVM, task.workload).index == 2
    graph = autotvm.apply_graph_best(records)
    assert [graph.query(LLVM, task.workload).index for _ in range(3)] == [2, 7, 7]
    with autotvm.apply_fixed_config([task], "tests/product"), LLVM:
        assert autotvm.DispatchContext.current.query(LLVM, task.workload).cost == 1e-6
        check_multiplies(*product(16, 16, 16, "float32"))
    with best, pytest.raises(OptionError, match="no current target"):
        product(16, 16, 16, "float32")
    assert isinstance(autotvm.DispatchContext.current, autotvm.FallbackContext)
    with autotvm.tophub.context("llvm"):
        assert not autotvm.tophub.load_reference_log("llvm", "unknown", "product")


@autotvm.register_topi_compute("tests/scaled.cpu")
def scaled(cfg: Any, data: te.Tensor, factor: int, unused: Any) -> te.Tensor:
    cfg.define_knob("double", [1, 2])
    return te.compute(data.shape, lambda *i: data(*i) * factor, name="scaled")


@autotvm.register_topi_schedule("tests/scaled.cpu")
def schedule_scaled(cfg: Any, outs: Any) -> Any:
    s = te.create_schedule(outs[0].op)
    axis = outs[0].op.axis[0]
    cfg.define_split("tile", axis, num_outputs=2)
    cfg["tile"].apply(s, outs[0], axis)
    return s


def test_a_template_of_tensors_and_a_schedule() -> None:
    data = te.placeholder((8,), name="data")
    env = autotvm.task.TaskExtractEnv.get()
    env.reset()
    with env, LLVM:
        out = scaled(data, 3, None)  # pyright: ignore[reportCallIssue, reportArgumentType]
        s = schedule_scaled([out])  # pyright: ignore[reportCallIssue]
    ((name, args),) = env.get_tasks()
    assert (
        autotvm.task.get_workload([out]) == (name, *args) == ("tests/scaled.cpu", ("TENSOR", (8,), "float32"), 3, None)
    )
    x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tvm.build(s, [data, out], "llvm")(x, y)
    np.testing.assert_array_equal(y, x * 3)
    task = autotvm.task.create(name, args, "llvm")
    assert list(task.config_space) == ["double", "tile"]
    s, (out, data) = task.instantiate(task.config_space.get(6))
    tvm.build(s, [data, out], "llvm")(x, y)
    with LLVM, pytest.raises(OptionError, match="no tensor of register_topi_compute"):
        schedule_scaled([data])  # pyright: ignore[reportCallIssue]
    with pytest.raises(OptionError, match=r"expected the name of a task, as since v0\.7"):
        autotvm.register_topi_compute(len)  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match=r"task 'tests/scaled\.cpu' is registered already"):
        autotvm.register_topi_schedule("tests/scaled.cpu", len)


def test_templates_of_older_versions() -> None:
    @autotvm.template
    def copied(n: int) -> Any:
        a = te.placeholder((n,), name="a")
        b = te.compute((n,), lambda i: a[i], name="b")
        autotvm.get_config().add_flop(n)
        autotvm.get_config().define_knob("none", [0])
        return te.create_schedule(b.op), [a, b]

    task = autotvm.task.create(copied, (4,), "llvm", template_key="direct")
    assert task.flop == 4
    assert task.name.endswith("copied")
    with pytest.raises(OptionError, match="no template 'nothing' in this program"):
        autotvm.task.create("nothing", (), "llvm")
    with pytest.raises(OptionError, match="arguments n by name"):
        copied(n=4)
    with pytest.raises(RuntimeError, match=r"expected cfg.add_flop"):
        autotvm.task.compute_flop(te.create_schedule(te.compute((4,), lambda i: 1.0).op))


# Records


def test_records_are_those_of_tvm(caplog: pytest.LogCaptureFixture) -> None:
    config = {"index": 7, "code_hash": None, "entity": [["tile_y", "sp", [-1, 4]], ["tile_x", "sp", [-1, 2]]]}
    short = {"i": 7, "t": "direct", "c": None, "e": config["entity"]}
    target = "llvm -keys=cpu -link-params=0 -target=x86_64-linux-gnu"
    args, result = [16, 16, 16, "float32"], [[0.001, 0.003], 0, 1.5, 1600000000.5]
    lines = [
        json.dumps({"input": [target, "tests/product", args, {}], "config": config, "result": result,
                    "version": 0.2, "tvm_version": "0.8.0"}),
        json.dumps({"i": [target, "tests/product", args, {}, ["tests/product", *args], short], "r": result, "v": 0.1}),
        json.dumps({"input": [target, "conv2d_NCHWc.x86", [["TENSOR", [1, 3], "float32"]], {}], "config": config,
                    "result": result, "version": 0.2}),
    ]  # fmt: skip
    caplog.set_level(logging.DEBUG, "autotvm")
    records = list(record.load_from_buffer(["# a comment\n", "\n", *lines]))
    assert [inp.task.workload for inp, _ in records[:2]] == [product_task().workload] * 2
    assert records[2][0].task.workload == ("conv2d_NCHWc.x86", ("TENSOR", (1, 3), "float32"))
    assert records[0][0].config.cost == 0.002
    assert records[0][1] == MeasureResult((0.001, 0.003), 0, 1.5, 1600000000.5)
    assert json.loads(record.encode(*records[0]))["config"] == config
    with autotvm.apply_history_best(records), LLVM:
        s, args = product(16, 16, 16, "float32")
        assert len(s[args[2]].leaf_iter_vars) == 5
        check_multiplies(s, args)
    assert "No template here for conv2d_NCHWc.x86: default schedules" in caplog.text
    with pytest.raises(LoadError, match="expected a record of autotvm"):
        record.decode('{"input": []}')
    with pytest.raises(OptionError, match="protocol 'pickle', expected 'json'"):
        record.decode("", protocol="pickle")


def test_records_are_split_by_workload(tmp_path: Path) -> None:
    log = tmp_path / "all.log"
    for n in (8, 16):
        task = product_task(n)
        inputs = [MeasureInput(LLVM, task, task.config_space.get(0))] * 2
        autotvm.callback.log_to_file(log)(None, inputs, [MeasureResult((1.0,), 0, 0, 0)] * 2)
    record.split_workload(log)
    assert [len(path.read_text().splitlines()) for path in sorted(tmp_path.glob("*.wkl"))] == [1, 1]


# Graphs and other machines


def test_the_tasks_of_a_graph_are_its_kernels(tmp_path: Path) -> None:
    mod, params = relay.testing.mlp.get_workload(1, image_shape=(1, 4, 4), num_classes=4)
    tasks = autotvm.task.extract_from_program(mod["main"], params, "llvm", ops=[relay.op.get("nn.dense")])
    assert [task.name for task in tasks][-1] == "fused_nn_dense_nn_bias_add"
    assert not autotvm.task.extract_from_program(mod, params, "llvm", ops=[relay.op.get("nn.conv2d")])
    log = str(tmp_path / "graph.log")
    for task in tasks:
        assert len(task.config_space) == 1
        XGBTuner(task).tune(9, OPTION, callbacks=[autotvm.callback.log_to_file(log)])
    assert all(result.error_no == 0 for _, result in record.load_from_file(log))
    with autotvm.apply_history_best(log):
        assert relay.build(mod, "llvm", params=params).get_lib() is not None
    s, args = tasks[0].instantiate(tasks[0].config_space.get(0))
    assert tvm.build(s, args, "llvm").entry_name == "main"


def test_there_are_no_other_machines() -> None:
    runner = autotvm.RPCRunner("rasp4", "127.0.0.1", 9190, number=4)
    with pytest.raises(
        UnsupportedError, match=r"RPCRunner 'rasp4' at 127\.0\.0\.1:9190: programs run on this machine only"
    ):
        RandomTuner(product_task()).tune(1, autotvm.measure_option("local", runner))
    with pytest.raises(UnsupportedError, match="request_remote"):
        autotvm.measure.request_remote("rasp4", "127.0.0.1", 9190)
    with pytest.raises(OptionError, match="builder 'remote', expected 'local'"):
        autotvm.measure_option("remote", "local")
    with pytest.raises(UnsupportedError, match="build_func 'ndk', expected 'default'"):
        autotvm.LocalBuilder(build_func="ndk")
    with pytest.raises(OptionError, match="prefix 'q'"):
        format_si_prefix(1, "q")
    assert format_si_prefix(2e9, "G") == pytest.approx(2)


def test_the_fastest_records_of_a_graph_are_chosen(tmp_path: Path) -> None:
    x, v = relay.var("x", shape=(4, 8)), relay.var("v", shape=(8, 8))
    graph = relay.Function([x, v], relay.nn.dense(relay.nn.relu(relay.nn.dense(x, v)), v))
    tasks = autotvm.task.extract_from_program(graph, None, "llvm", ops=[relay.op.get("nn.dense")])
    log, chosen = tmp_path / "kernels.log", tmp_path / "graph.log"
    pairs = [
        (MeasureInput(task.target, task, task.config_space.get(0)), MeasureResult((cost,), error, 1.0, 0.0))
        for task in tasks
        for cost, error in ((3.0, 0), (2.0, 0), (1.0, MeasureErrorNo.RUNTIME_DEVICE))
    ]
    log.write_text("".join(f"{record.encode(*pair)}\n" for pair in pairs))
    kinds: list[Any] = [autotvm.graph_tuner.DPTuner, autotvm.graph_tuner.PBQPTuner]
    for kind in kinds:
        tuner = kind(graph, {"x": (4, 8)}, log, [relay.op.get("nn.dense")], "llvm", max_sch_num=5)
        tuner.benchmark_layout_transform(min_exec_num=1)
        with pytest.raises(OptionError, match="expected run"):
            tuner.write_opt_sch2record_file(chosen)
        tuner.run()
        tuner.write_opt_sch2record_file(chosen)
    assert [result.costs for _, result in record.load_from_file(chosen)] == [(2.0,)] * len(tasks)
    with autotvm.apply_graph_best(str(chosen)):
        assert relay.build(tvm.IRModule.from_expr(graph), "llvm").executable


def test_tasks_of_tvm_have_the_default_schedule(tmp_path: Path) -> None:
    x, w = te.placeholder((1, 4, 5, 5), name="x"), te.placeholder((2, 4, 3, 3), name="w")
    task = autotvm.task.create("conv2d_nchw.x86", args=(x, w, 1, 1, 1, "float32"), target="llvm")
    assert (len(task.config_space), task.workload[0]) == (1, "conv2d_nchw.x86")
    schedule, (out, *inputs) = task.instantiate(task.config_space.get(0))
    assert [int(each.shape[1]) for each in inputs] == [4, 4]
    arrays = [np.ones(shape, "float32") for shape in ((1, 4, 5, 5), (2, 4, 3, 3), (1, 2, 5, 5))]
    tvm.build(schedule, [*inputs, out], "llvm")(*arrays)
    assert arrays[2][0, 0, 1, 1] == 36
    pair = te.placeholder((2, 3)), te.placeholder((4, 3))
    dense = autotvm.task.create("dense_nopack.x86", args=(*pair, None, "float32"), target="llvm")
    log = str(tmp_path / "log")
    option = autotvm.measure_option("local", autotvm.LocalRunner(number=1, repeat=1))
    autotvm.tuner.RandomTuner(dense).tune(4, option, callbacks=[autotvm.callback.log_to_file(log)])
    assert len(list(autotvm.record.load_from_file(log))) == 1
