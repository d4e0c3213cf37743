"""Workloads to test tuners with, the matrices of Winograd's algorithm, and archives of files."""

import copy
import json
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import LoadError, OptionError
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import auto_scheduler, autotvm, te, topi
from stepwell.frontends.tvm.auto_scheduler import workload_registry
from stepwell.frontends.tvm.contrib import tar, utils
from stepwell.frontends.tvm.relay.interpreter import ConstructorValue
from stepwell.frontends.tvm.testing import auto_scheduler as workloads
from stepwell.frontends.tvm.testing.autotvm import DummyRunner, get_sample_records, get_sample_task
from stepwell.frontends.tvm.topi.winograd_util import winograd_transform_matrices


def values_of(tensor: Any) -> Any:
    out = np.zeros([int(size) for size in tensor.shape], tensor.dtype)
    tvm.build(te.create_schedule(tensor.op), [tensor], "llvm")(out)
    return out


@pytest.mark.parametrize(("tile", "taps"), [(2, 3), (4, 3), (3, 5)])
def test_the_matrices_of_winograd_compute_convolutions(tile: int, taps: int) -> None:
    a, b, g = map(values_of, winograd_transform_matrices(tile, taps, "float64"))
    rng = np.random.default_rng(0)
    image, window = rng.random(tile + taps - 1), rng.random(taps)
    result = a.T @ ((g @ window) * (b.T @ image))
    np.testing.assert_allclose(result, np.correlate(image, window, "valid"), rtol=1e-6)
    assert b[0, 0] > 0


def test_the_matrices_of_winograd_have_limits() -> None:
    with pytest.raises(TeError, match="kernel_size 9, expected 3 to 7"):
        winograd_transform_matrices(4, 9, "float32")


def test_a_winograd_workload_is_a_convolution() -> None:
    tensors = workloads.conv2d_winograd_nhwc_auto_scheduler_test(1, 6, 6, 2, 3, padding=1)
    assert [tuple(map(int, each.shape)) for each in tensors] == [(1, 6, 6, 2), (6, 6, 2, 3), (1, 6, 6, 3)]
    rng = np.random.default_rng(0)
    image, window, out = rng.random((1, 6, 6, 2)), rng.random((3, 3, 2, 3)), np.zeros((1, 6, 6, 3), "float32")
    g = values_of(winograd_transform_matrices(4, 3, "float32")[2])
    weight = np.einsum("ay,bx,yxio->abio", g, g, window)
    func = te.create_prim_func(tensors)
    tvm.build(func, target="llvm")(image.astype("float32"), weight.astype("float32"), out)
    padded = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)])
    parts = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    np.testing.assert_allclose(out, np.einsum("nhwiyx,yxio->nhwo", parts, window), rtol=1e-3)


def test_the_workloads_have_stages() -> None:
    counts = {
        workloads.matmul_auto_scheduler_test: ((4, 5, 6), 3),
        workloads.double_matmul_auto_scheduler_test: ((4,), 5),
        workloads.parallel_matmul_auto_scheduler_test: ((4,), 5),
        workloads.conv2d_nchw_bn_relu_auto_scheduler_test: ((1, 8, 8, 2, 3, 3, 1, 1), 11),
        workloads.softmax_nm_auto_scheduler_test: ((3, 4), 5),
        workloads.zero_rank_reduce_auto_scheduler_test: ((4,), 2),
    }
    for workload, (args, count) in counts.items():
        assert len(auto_scheduler.ComputeDAG(workload(*args)).get_init_state().stages) == count, workload
    _, state = workloads.get_tiled_matmul()
    assert [each.name for each in state[2].iters] == "i.0 j.0 i.1 j.1 i.2 j.2 i.3 j.3 k".split()
    with pytest.raises(OptionError, match="tensor B has several axes r1"):
        auto_scheduler.ComputeDAG(workloads.invalid_compute_definition())


def test_operations_on_indices_and_conditions_do_not_count() -> None:
    a, b, c = workloads.matmul_auto_scheduler_test(8, 8, 8)
    padded = topi.nn.pad(c, [1, 1])
    stated = te.compute((8, 8), lambda i, j: padded[i, j], name="F", attrs={"FLOP": 1234})
    relu = te.compute((8, 8), lambda i, j: te.if_then_else(a[i, j] > 0, a[i, j], 0.0))
    assert auto_scheduler.ComputeDAG([a, b, padded]).flop_ct == 2 * 8**3
    assert auto_scheduler.ComputeDAG([a, b, stated]).flop_ct == 2 * 8**3 + 1234
    assert auto_scheduler.ComputeDAG([a, relu]).flop_ct == 8**2


def test_the_loops_of_a_stage_are_as_they_were_read() -> None:
    dag = auto_scheduler.ComputeDAG(workloads.matmul_auto_scheduler_test(8, 8, 8))
    state = dag.get_init_state()
    before = state[2].iters
    outer, inner = state.split(2, before[0], [2])
    state.reorder(2, [outer, before[1], inner, before[2]])
    assert [each.name for each in state[2].iters] == ["i.0", "j", "i.1", "k"]


def test_records_have_hosts_and_inputs() -> None:
    target = tvm.target.Target("cuda", "llvm -mtriple=aarch64-linux-gnu")
    name, arrays = "matmul_auto_scheduler_test", {"x": np.zeros(3)}
    task = auto_scheduler.SearchTask(name, (8, 8, 8), target=target, task_inputs=arrays, task_inputs_overwrite=True)
    inp = auto_scheduler.MeasureInput(task, task.compute_dag.init_state)
    result = auto_scheduler.MeasureResult([0.5], 0, "", 0.2, 1)
    text = auto_scheduler.measure_record.dump_record_to_string(inp, result)
    read, end = auto_scheduler.measure_record.load_record_from_string(text)
    assert (end, read.task.task_input_names) == (result, ["x"])
    assert str(read.task.target.host) == "llvm -keys=cpu -mtriple=aarch64-linux-gnu"
    again = auto_scheduler._ffi_api.DeserializeSearchTask(auto_scheduler._ffi_api.SerializeSearchTask(task))
    assert again == read.task
    rebuilt = auto_scheduler.measure.recover_measure_input(read, rebuild_state=True)
    assert str(rebuilt.state) == str(inp.state)
    assert auto_scheduler.search_task.get_task_input_buffer(task.workload_key, "x") is arrays["x"]
    with pytest.raises(OptionError, match="no array of input 'y', there is x"):
        auto_scheduler.SearchTask(name, (8, 8, 8), target=target, task_inputs=["y"])


def test_workloads_are_sent_to_other_processes() -> None:
    entry = workload_registry.serialize_workload_registry_entry(json.dumps(["matmul_auto_scheduler_test", 8, 8, 8]))
    name, function = pickle.loads(pickle.dumps(entry))
    assert function is workloads.matmul_auto_scheduler_test
    del workload_registry.WORKLOAD_FUNC_REGISTRY[name]
    workload_registry.deserialize_workload_registry_entry((name, function))
    assert workload_registry.WORKLOAD_FUNC_REGISTRY[name] is function


def test_builders_and_runners_have_methods() -> None:
    task = auto_scheduler.SearchTask("matmul_auto_scheduler_test", (8, 8, 8), target="llvm")
    inputs = [auto_scheduler.MeasureInput(task, task.compute_dag.init_state)]
    built = auto_scheduler.LocalBuilder().build(inputs)
    (result,) = auto_scheduler.LocalRunner(number=1, repeat=1, min_repeat_ms=0).run(inputs, built)
    assert (built[0].error_no, result.error_no) == (0, 0)
    assert len(auto_scheduler.RandomModel().predict(task, [inputs[0].state] * 3)) == 3


def test_generations_are_visited_as_a_whole() -> None:
    task, _ = get_sample_task(16)
    assert len(task.config_space) == 25
    tuner = autotvm.tuner.GATuner(task, pop_size=10)
    assert tuner.pop_size == len(tuner.visited) == len(tuner.genes) == 10
    tuner.tune(25, autotvm.measure_option(autotvm.LocalBuilder(), DummyRunner()))
    assert tuner.visited == set(range(25))
    assert tuner.best_flops > 0


def test_sample_records_count_seconds() -> None:
    records = get_sample_records(3)
    assert [result.costs for _, result in records] == [(1,), (2,), (3,)]
    assert [inp.config.index for inp, _ in records] == [0, 1, 2]


def test_archives_of_files(tmp_path: Path) -> None:
    for name in ("a.o", "b.o"):
        (tmp_path / name).write_text(name)
    archive, temp = tmp_path / "all.tar", utils.tempdir()
    tar.tar(archive, [tmp_path / "a.o", tmp_path / "b.o"])
    with tarfile.open(archive) as found:
        assert found.getnames() == ["a.o", "b.o"]
    files = tar.normalize_file_list_by_unpacking_tars(temp, [str(archive), "c.o"])
    assert [Path(each).name for each in files] == ["a.o", "b.o", "c.o"]
    assert Path(files[0]).read_text() == "a.o"
    with pytest.raises(OptionError, match=r"several files a\.o"):
        tar.tar(archive, ["x/a.o", "y/a.o"])
    with pytest.raises(LoadError, match="archive"):
        tar.untar(tmp_path / "a.o", tmp_path)


def test_devices_are_found_by_the_names_of_targets() -> None:
    assert tvm.device("nvptx -mcpu=sm_20").kind == tvm.cuda().kind
    assert not tvm.testing.device_enabled("cpu")
    assert tvm.testing.device_enabled("llvm -num-cores=2")


def test_other_actions_than_printing_are_no_trace() -> None:
    x = te.placeholder((4,), name="X")
    with pytest.raises(TeError, match="trace by user\\.change: no function is called for each element"):
        te.compute(x.shape, lambda i: tvm.tir.trace([x[i]], "user.change"))
    with pytest.warns(UserWarning, match="values are not printed"):
        te.compute(x.shape, lambda i: tvm.tir.trace([x[i]]))


def test_containers_of_the_runtime() -> None:
    pair = tvm.runtime.ADT(3, [1, 2])
    assert (pair.tag, len(pair), pair[0:1][-1]) == (3, 2, 1)
    assert tvm.runtime.container.tuple_object([1]).tag == 0
    shape = tvm.runtime.ShapeTuple([2, 3])
    assert shape == [2, 3] == list(shape)
    assert shape == (2, 3)
    assert hash(shape) == hash((2, 3))
    assert pickle.loads(pickle.dumps(shape)) == shape


def test_times_with_empty_caches() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0)
    built = tvm.build(te.create_schedule(b.op), [a, b], "llvm")
    x, y = tvm.nd.array(np.zeros(4, "float32")), tvm.nd.empty((4,))
    flush = "cache_flush_cpu_non_first_arg"
    assert built.time_evaluator("main", tvm.cpu(), number=1, f_preproc=flush)(x, y).mean > 0
    with pytest.raises(OptionError, match="f_preproc 'user', expected cache_flush_cpu_non_first_arg or"):
        built.time_evaluator("main", tvm.cpu(), f_preproc="user")


def test_the_intrinsic_reinterpret_has_the_type_of_the_call() -> None:
    a = te.placeholder((4,), "int32", name="A")
    b = te.compute((4,), lambda i: tvm.tir.call_intrin("float32", "tir.reinterpret", a[i]))
    x, y = np.arange(4, dtype="int32") << 28, np.zeros(4, "float32")
    tvm.build(te.create_schedule(b.op), [a, b], "llvm")(x, y)
    np.testing.assert_array_equal(y, x.view("float32"))


def test_values_of_data_types_have_tags_and_fields() -> None:
    value = ConstructorValue(2, [1, 5])
    assert (value.tag, list(value.fields), value.constructor) == (2, [1, 5], None)


def test_targets_are_copied() -> None:
    target = tvm.target.Target("cuda -arch=sm_90", "llvm")
    found = copy.deepcopy(target)
    assert (str(found), str(found.host), found.arch) == (str(target), str(target.host), "sm_90")
