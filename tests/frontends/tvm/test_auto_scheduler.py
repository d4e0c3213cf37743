"""Workloads that are measured with their default schedules: `tvm.auto_scheduler`."""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import LoadError, OptionError, UnsupportedError
from stepwell.frontends.tvm import auto_scheduler, relay, te
from stepwell.frontends.tvm.auto_scheduler import utils
from stepwell.frontends.tvm.auto_scheduler.measure import MeasureErrorNo, inputs_of

RUNNER = auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0)


@auto_scheduler.register_workload
def product_add(n: int, dtype: str) -> Any:
    a, b, c = (te.placeholder((n, n), dtype, name=name) for name in "ABC")
    k = te.reduce_axis((0, n), name="k")
    product = te.compute(
        (n, n), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="product", attrs={"layout_free_placeholders": [b]}
    )
    return [a, b, c, te.compute((n, n), lambda i, j: product[i, j] + c[i, j], name="out")]


def task_of(n: int = 8) -> Any:
    return auto_scheduler.SearchTask(func=product_add, args=(n, "float32"), target="llvm")


def test_a_workload_is_measured_and_applied(tmp_path: Path) -> None:
    task, log = task_of(32), tmp_path / "product.json"
    assert task.workload_key == '["product_add", 32, "float32"]'
    assert str(task.compute_dag) == (
        "A = PLACEHOLDER [32, 32]\nB = PLACEHOLDER [32, 32]\n"
        "product(i, j) += A[i, k] * B[k, j]\nC = PLACEHOLDER [32, 32]\n"
        "out(i, j) = product[i, j] + C[i, j]\n"
    )
    assert task.compute_dag.flop_ct == 2 * 32**3 + 32**2
    options = auto_scheduler.TuningOptions(
        num_measure_trials=9, runner=RUNNER, measure_callbacks=[auto_scheduler.RecordToFile(log)]
    )
    with pytest.raises(OSError, match=r"product\.json"):
        task.apply_best(log)
    task.tune(options)
    ((inp, result),) = auto_scheduler.load_records(log)
    assert (inp.task.workload_key, inp.task.target, result.error_no) == (task.workload_key, task.target, 0)
    rebuilt = auto_scheduler.measure.recover_measure_input(inp, rebuild_state=True)
    _, tensors = rebuilt.task.compute_dag.apply_steps_from_state(rebuilt.state)
    assert [each.name for each in tensors] == ["A", "B", "C", "out"]
    sch, args = task.apply_best(str(log))
    assert "T.vectorized" in str(sch)
    assert "main" in str(tvm.lower(sch, args, simple_mode=False))
    x, y, z = np.random.default_rng(0).random((3, 32, 32), np.float32)
    out = np.zeros((32, 32), "float32")
    tvm.build(sch, args, task.target)(x, y, z, out)
    np.testing.assert_allclose(out, x @ y + z, rtol=1e-4)
    assert "sch.get_block" in task.print_best(log)
    policy = auto_scheduler.SketchPolicy(
        task, auto_scheduler.XGBModel(), init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(log)]
    )
    task.tune(options, search_policy=policy)
    assert len(auto_scheduler.load_records(log)) == 1
    with pytest.raises(UnsupportedError, match="a model that has learned nothing, expected RandomModel"):
        auto_scheduler.XGBModel().predict(task, [inp.state])
    for use, message in (
        (lambda: task.print_best(log, "none"), "print_mode 'none', expected 'schedule' or 'cuda'"),
        (lambda: task_of(4).apply_best(log), r'no valid schedule for \["product_add", 4'),
        (lambda: auto_scheduler.SearchTask(target="llvm"), "expected a function with arguments, or the key"),
        (lambda: auto_scheduler.SearchTask(func=len, args=(), target="llvm"), "len is no workload"),
        (lambda: auto_scheduler.SearchTask(workload_key='["none"]', target="llvm"), "no function 'none' is registered"),
        (lambda: auto_scheduler.register_workload("product_add", len), "'product_add' is registered already"),
        (lambda: auto_scheduler.TuningOptions(runner="remote"), "runner 'remote', expected 'local' or a LocalRunner"),
        (lambda: auto_scheduler.ComputeDAG(3), "ComputeDAG of 3, expected tensors"),
    ):
        with pytest.raises(OptionError, match=message):
            use()


def test_schedules_are_built_and_run_one_by_one(tmp_path: Path) -> None:
    task, log = task_of(), tmp_path / "product.json"
    task.tune(auto_scheduler.TuningOptions(1, runner=RUNNER, measure_callbacks=[auto_scheduler.RecordToFile(log)]))
    ((inp, _),) = auto_scheduler.load_records(log)
    measure = auto_scheduler.measure
    inputs = [auto_scheduler.MeasureInput(task, inp.state)]
    built = measure.local_builder_build(inputs, 10, 2, "default", 0)
    results = measure.local_run(inputs, built, 10, 1, 2, 0, 0, False, 0, 0)
    assert (built[0].error_no, results[0].error_no, len(results[0].costs)) == (0, 0, 2)
    auto_scheduler._ffi_api.SaveRecords(str(log), inputs, results)
    assert len(list(auto_scheduler.load_records(log))) == 2
    failed = measure.local_run(inputs, [measure.BuildResult("", (), MeasureErrorNo.COMPILE_HOST, "no", 0.5)])
    assert (failed[0].error_no, failed[0].error_msg, failed[0].costs) == (MeasureErrorNo.COMPILE_HOST, "no", ())


def test_the_names_of_v07() -> None:
    task = auto_scheduler.create_task(product_add, (4, "float32"), "llvm")
    sch, args = auto_scheduler.auto_schedule(task)
    assert len(args) == 4
    assert str(tvm.lower(sch, args, simple_mode=True))


def test_records_are_those_of_tvm(tmp_path: Path) -> None:
    log, best = tmp_path / "tvm.json", tmp_path / "best.json"
    key, target = '["product_add", 8, "float32"]', "llvm -keys=cpu -link-params=0"
    lines = [
        {"i": [[key, target, [8, 64, 64, 0, 0, 0, 0, 0], "", 2, []], [[], [["SP", 2, 0, 8, [4], 1]]]],
         "r": [[seconds], error, 0.5, 1600000000], "v": "v0.6"}
        for seconds, error in ((0.002, 0), (0.001, 0), (1e10, 4))
    ]  # fmt: skip
    log.write_text("# a comment\n" + "".join(f"{json.dumps(line)}\n" for line in lines))
    inp, result = auto_scheduler.load_best_record(log, key, "llvm")
    assert inp is not None
    assert result is not None
    assert result.costs == (0.001,)
    assert auto_scheduler.load_best(log, target="cuda") == (None, None)
    auto_scheduler.measure_record.distill_record_file(log, best)
    assert json.loads(best.read_text())["i"][1] == lines[1]["i"][1]
    with auto_scheduler.ApplyHistoryBest([str(log), tmp_path / "missing.json"]) as context:
        assert context.query(tvm.target.Target("llvm"), key) == inp.state
    inputs, results = auto_scheduler.RecordReader(log).read_lines(max_lines=1, skip_lines=2)
    assert (len(inputs), results[0].error_no) == (1, MeasureErrorNo.RUNTIME_DEVICE)
    with pytest.raises(LoadError, match="expected a record of auto_scheduler"):
        auto_scheduler.measure_record.load_record_from_string("{}")


STEPS = [
    ["CHW", 2, "local"],
    ["SP", 2, 0, 8, [4, 1, 2], 1],
    ["SP", 2, 4, 8, [2], 1],
    ["SP", 2, 6, 8, [4], 1],
    ["RE", 2, [0, 4, 1, 6, 2, 7, 3, 5]],
    ["FSP", 5, 0, 1, 2],
    ["FFSP", 5, 3, [2, 2], 0, 1],
    ["CI", 3],
    ["CA", 2, 5, 3],
    ["FU", 5, [0, 1]],
    ["AN", 5, 0, 3],
    ["AN", 5, 3, 2],
    ["AN", 2, 7, 1],
    ["PR", 2, 0, "auto_unroll_max_step$16"],
    ["PR", 2, 99, "auto_unroll_max_step$16"],
]
"""Steps of a schedule of `product_add`: the stages are A, B, product, C, out, after the first A, B, product.local,
product, C, out."""


def check_steps(steps: Any) -> str:
    """Checks the results of a schedule by steps. Returns its calls."""
    task = task_of()
    state = auto_scheduler.compute_dag.State(tuple(steps))
    sch, args = task.compute_dag.apply_steps_from_state(state)
    x, y, z = np.random.default_rng(0).random((3, 8, 8), np.float32)
    out = np.zeros((8, 8), "float32")
    tvm.build(sch, args, "llvm")(x, y, z, out)
    np.testing.assert_allclose(out, x @ y + z, rtol=1e-4)
    return task.compute_dag.print_python_code_from_state(state)


def test_the_schedules_of_tvm_are_applied() -> None:
    lines = check_steps(STEPS).splitlines()
    assert lines[:2] == ['product.local = s.cache_write(product, "local")', "s[product.local].split(i.c, factor=2)"]
    assert "s[out].split(i.outer, factor=4)" in lines
    assert "s[out].split(j, factor=4)" in lines
    assert "s[product.local].compute_at(s[out], j.outer)" in lines
    assert "s[out].parallel(i.outer.outer.i.outer.inner.fused)" in lines
    assert lines[-1] == "s[product.local].pragma(i.c.outer.outer.outer, 'unroll_explicit', True)"
    lines = check_steps([["SP", 2, 2, 8, [2], 1], ["RF", 2, 3, 2], ["CHR", 0, "global", [2]]]).splitlines()
    assert lines[1:] == [
        "product.rf = s.rfactor(product, k.inner, 2)",
        'A.global = s.cache_read(A, "global", [product.rf])',
    ]
    check_steps([["SA", 2, 0, 4, 0], ["SP", 2, 0, 8, [2, 2], 0], ["CR", 2]])
    for steps, message in (
        ([["XX", 0]], "step 'XX' of a schedule, expected AN, CA"),
        ([["AN", 4, 0, 11]], "annotation 11 of a loop of out, expected 0 to 10"),
        ([["SP", 4, 0, 8, [None], 1]], r"split of a loop of out by \[None\], expected numbers"),
    ):
        with pytest.raises(OptionError, match=message):
            check_steps(steps)


def test_the_tasks_of_a_graph_are_its_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mod, params = relay.testing.mlp.get_workload(1, image_shape=(1, 4, 4), num_classes=4)
    tasks, weights = auto_scheduler.extract_tasks(mod["main"], params, "llvm")
    assert [task.desc for task in tasks][-1] == "fused_nn_dense_nn_bias_add"
    assert weights == [1, 1, 1]
    more, _ = auto_scheduler.extract_tasks(mod, params, "llvm", include_simple_tasks=True)
    assert len(more) > len(tasks)
    log = tmp_path / "graph.json"
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2, runner=RUNNER, measure_callbacks=[auto_scheduler.RecordToFile(log)]
    )
    scheduler = auto_scheduler.TaskScheduler(tasks, weights)
    scheduler.tune(options)
    assert len(auto_scheduler.load_records(log)) == 2
    assert np.isfinite(scheduler.best_costs).tolist() == [True, True, False]
    assert "Task 0: " in capsys.readouterr().out
    assert "T.prim_func" in str(tasks[0].compute_dag)
    assert tvm.build(*tasks[0].apply_best(log), "llvm").entry_name == "main"
    with tvm.transform.PassContext(config={"relay.backend.use_auto_scheduler": True}):
        assert auto_scheduler.is_auto_scheduler_enabled()
    assert not auto_scheduler.is_auto_scheduler_enabled()


def test_inputs_have_arrays() -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((4,), name="b")

    @auto_scheduler.register_task_input_check_func
    def name_inputs(args: Any) -> Any:
        return {b: "index"} if b in args else {}

    array = np.arange(4)
    assert inputs_of([a, b], {"index": array, "x": array}) == [None, array]
    assert inputs_of([a, b], {}) is None
    with pytest.raises(OptionError, match="is registered already"):
        auto_scheduler.register_task_input_check_func(name_inputs)


def test_there_are_no_other_machines_and_rules() -> None:
    with pytest.raises(UnsupportedError, match="RPCRunner 'rasp' at host:9190: programs run on this machine only"):
        task_of().tune(
            auto_scheduler.TuningOptions(1, runner=auto_scheduler.RPCRunner("rasp", "host", 9190), builder="local")
        )
    assert auto_scheduler.LocalRPCMeasureContext(min_repeat_ms=3).runner.min_repeat_ms == 3
    with pytest.warns(UserWarning, match=r"sketch rule mine is not applied: the schedule is the default schedule"):
        auto_scheduler.SketchPolicy(
            task_of(), init_search_callbacks=[auto_scheduler.PreloadCustomSketchRule(len, len, "mine")]
        )
    with pytest.raises(UnsupportedError, match="build_func 'ndk', expected 'default'"):
        auto_scheduler.LocalBuilder(build_func="ndk")


def test_helpers_of_search_tasks() -> None:
    assert utils.decode_workload_key(json.dumps(["f", 8, [2, ["x"]]])) == ("f", (8, 2, "x"))
    assert utils.decode_workload_key("plain") == ("plain", None)
    assert utils.decode_workload_key("[]") == ("[]", None)
    pairs = [(("f", (8, 6)), 1.0), (("f", (4, 3)), 4.0), (("f", (3, 6)), np.inf), (("g", (8, 6)), np.inf)]
    for pair, expected in pairs:
        assert utils.calc_workload_dis_factor(("f", (8, 6)), pair) == expected
    assert utils.calc_workload_dis_factor(("f", ("a", 0)), ("f", ("a", 0))) == 1
    assert utils.to_str_round([1, 0.12345678, "x", (np.float32(2),)], 3) == "[1, 0.123, x, [2.000]]"
    assert utils.to_str_round({"a": 1.5}) == "{'a': '1.500000'}"
    assert utils.list_to_tuple([1, [2, [3]]]) == (1, (2, (3,)))
    assert utils.array_mean([1, 2]) == 1.5
    assert utils.get_func_name(product_add) == "product_add"
    utils.run_cmd("exit 0")
    with pytest.raises(SystemExit):
        utils.run_cmd("exit 3")
    with pytest.raises(ValueError, match="a value of type object, expected numbers"):
        utils.to_str_round(object())
    with pytest.raises(UnsupportedError, match="programs run on this machine only"):
        utils.request_remote("pi", "localhost", 9190)


def test_calls_have_a_time_limit() -> None:
    assert utils.call_func_with_timeout(30, divmod, (7, 2)) == (3, 1)
    assert isinstance(utils.call_func_with_timeout(30, divmod, (7, 0)), ZeroDivisionError)
    assert isinstance(utils.call_func_with_timeout(0.05, time.sleep, (5,)), TimeoutError)
    assert isinstance(utils.call_func_with_timeout(30, os._exit, (1,)), RuntimeError)
