"""Databases of schedules that TVM wrote, read by `ms.database.JSONDatabase`. The files are those of
tests/peer/json_record.py."""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import LoadError, OptionError
from stepwell.frontends.tvm import meta_schedule as ms
from stepwell.frontends.tvm.script import from_source
from stepwell.frontends.tvm.tir import Trace
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.tvm_graphs import as_json, as_old_json, graph_of

DATA = Path(__file__).parents[2] / "data" / "databases"
VERSIONS = ("0.25", "0.26", "0.27")
NAMES = ("matmul", "softmax", "convolution")


def expected(version: str, name: str) -> dict[str, str]:
    return json.loads((DATA / f"tvm-{version}" / "expected.json").read_text())[name]


def kernel(version: str = "0.27", name: str = "matmul") -> tvm.IRModule:
    return tvm.IRModule(from_source(expected(version, name)["program"]).op)


def copy(folder: Path, version: str = "0.27") -> tuple[Path, Path]:
    """The two files of a database, in a folder with the names of TVM."""
    for name in ("workload", "tuning_record"):
        shutil.copy(DATA / f"tvm-{version}" / f"{name}.json", folder / f"database_{name}.json")
    return folder / "database_workload.json", folder / "database_tuning_record.json"


def check_multiplies(mod: Any) -> None:
    x, y = np.random.default_rng(0).random((32, 24), np.float32), np.random.default_rng(1).random((24, 16), np.float32)
    z = np.zeros((32, 16), "float32")
    tvm.build(mod, "llvm")(x, y, z)
    np.testing.assert_allclose(z, x @ y, rtol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_fastest_schedule_is_the_one_of_tvm(version: str, name: str) -> None:
    folder = DATA / f"tvm-{version}"
    database = ms.database.JSONDatabase(str(folder / "workload.json"), str(folder / "tuning_record.json"))
    mod = kernel(version, name)
    record = database.query_tuning_record(mod, "llvm")
    assert record is not None
    assert record.target is not None
    assert (record.mean, record.target.kind.name, record.target.attrs["num-cores"]) == (0.25, "llvm", 2)
    assert record.args_info == ms.arg_info.args_info_of(mod)
    sch = database.query_schedule(mod, "llvm")
    assert sch is not None
    tvm.ir.assert_structural_equal(sch.mod, tvm.IRModule(from_source(expected(version, name)["scheduled"]).op))
    assert database.query_schedule(mod, "cuda") is None
    assert database.has_workload(mod)
    assert len(database) == 9


def test_records_are_ordered_by_their_seconds_and_failures_are_left_out(tmp_path: Path) -> None:
    copy(tmp_path)
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    workload = database.commit_workload(kernel())
    assert [record.mean for record in database.get_top_k(workload, 9)] == [0.25, 0.5]
    (fastest,) = database.get_top_k(workload, 1)
    assert str(fastest.trace).count("sample_perfect_tile") == 2
    check_multiplies(fastest.as_measure_candidate().sch.mod)


def test_a_kernel_is_compiled_with_its_schedule(tmp_path: Path) -> None:
    copy(tmp_path)
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    sch = ms.tir_integration.compile_tir(database, kernel(), "llvm")
    assert sch is not None
    check_multiplies(sch.mod)
    with database, tvm.target.Target("llvm"):
        applied = tvm.relax.transform.MetaScheduleApplyDatabase()(kernel())
    assert "T.vectorized" in applied.script()
    check_multiplies(applied)


def test_the_files_of_tvm_stay_and_new_records_are_beside_them(tmp_path: Path) -> None:
    paths = copy(tmp_path)
    before = [path.read_bytes() for path in paths]
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    record = database.query_tuning_record(kernel(), "llvm")
    assert record is not None
    database.commit_tuning_record(ms.database.TuningRecord(record.trace, record.workload, [0.125], record.target))
    assert [path.read_bytes() for path in paths] == before
    again = ms.database.JSONDatabase(work_dir=tmp_path)
    assert len(again) == 10
    faster = again.query_tuning_record(kernel(), "llvm")
    assert faster is not None
    assert faster.mean == 0.125
    assert faster.schedule().mod.script() == record.schedule().mod.script()
    check_multiplies(faster.schedule().mod)


def test_files_of_an_empty_database_are_created(tmp_path: Path) -> None:
    database = ms.database.JSONDatabase(work_dir=tmp_path / "new")
    for path in (database.path_tuning_record, database.path_workload):
        assert Path(path).read_text() == ""
    with pytest.raises(LoadError, match="there is nothing"):
        ms.database.JSONDatabase(work_dir=tmp_path / "other", allow_missing=False)


def test_a_record_is_read_from_its_json(tmp_path: Path) -> None:
    copy(tmp_path)
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    stored = database.query_tuning_record(kernel(), "llvm")
    assert stored is not None
    info = ms.arg_info.ArgInfo.from_prim_func(kernel()["main"])
    record = ms.database.TuningRecord(stored.trace, stored.workload, [1.5, 2.5], stored.target, info)
    values = json.loads(json.dumps(record.as_json()))
    trace: Any = stored.trace
    of_tvm = [trace.as_json(), [1.5, 2.5], {"kind": "llvm"}, [each.as_json() for each in info]]
    for each in (values, of_tvm):
        again = ms.database.TuningRecord.from_json(each, record.workload)
        assert str(again.trace) == str(record.trace)
        assert again.run_secs == record.run_secs
        assert again.args_info == info
        assert again.target is not None
        assert str(again.target.kind) == "llvm"
        assert again.schedule().mod.script() == record.schedule().mod.script()
    with pytest.raises(LoadError, match="expected the values of a record"):
        ms.database.TuningRecord.from_json([1, 2], record.workload)


SQUARES = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * A[v]
"""


@pytest.mark.parametrize("form", [as_old_json, as_json])
@pytest.mark.parametrize("has_length", [True, False])
def test_a_database_of_v0_16_is_read(tmp_path: Path, form: Any, has_length: bool) -> None:
    mod = parse_tvmscript(SQUARES)
    text = form(graph_of(mod)).encode()
    data = base64.b64encode((len(text).to_bytes(8, "little") if has_length else b"") + text).decode()
    trace = [
        [
            ["GetBlock", [], ["B", "main"], ["b0"]],
            ["GetLoops", ["b0"], [], ["l1"]],
            ["Split", ["l1", "None", 4], [1], ["l2", "l3"]],
            ["CacheRead", ["b0"], [0, "global"], ["b4"]],
            ["Vectorize", ["l3"], [], []],
        ],
        [],
    ]
    target = {"kind": "llvm", "keys": ["cpu"], "host": {"kind": "llvm"}, "tag": "", "mystery": 1}
    record = [0, [trace, [1e-6, 2e-6], target, [["TENSOR", "float32", [8]], ["TENSOR", "float32", [8]]]]]
    (tmp_path / "database_workload.json").write_text(f"{json.dumps(['1', data])}\n")
    (tmp_path / "database_tuning_record.json").write_text(f"{json.dumps(record)}\n")
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    found = database.query_schedule(mod, "llvm")
    assert found is not None
    assert "T.vectorized(4)" in found.mod.script()
    assert "A_global" in found.mod.script()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", r"database_tuning_record.json:1: '\{\}', expected a record of a schedule"),
        ("[0, [[[], []], [1], null]]", "expected a record of a schedule"),
        ("[9, [[[], []], [1], null, null]]", "kernel 9, expected one of 3"),
        ("[true, [[[], []], [1], null, null]]", "expected a record of a schedule"),
        ('[0, [[[], []], ["fast"], null, null]]', "could not convert string to float"),
        ("[0, [[[], []], 3, null, null]]", "expected a record of a schedule"),
        ('[0, [[[], []], [1], {"tag": ""}, null]]', "expected a record of a schedule"),
        ('[0, [[[], []], [1], {"kind": "quantum"}, null]]', "unknown kind 'quantum'"),
        ('[0, [[[], []], [1], null, [["TENSOR", 3]]]]', "expected .'TENSOR', dtype, shape."),
        ("[0, [", "expected a record of a schedule"),
    ],
)
def test_other_records_are_errors(tmp_path: Path, line: str, message: str) -> None:
    _, records = copy(tmp_path)
    records.write_text(line)
    with pytest.raises(LoadError, match=message):
        ms.database.JSONDatabase(work_dir=tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", r"database_workload.json:1: .*'\{\}', expected a hash and a module"),
        ('["1", "?"]', "expected base64"),
        ('["1", "e30="]', "expected an object with a list of nodes"),
        (json.dumps(["1", base64.b64encode(tvm.ir.save_json([1]).encode()).decode()]), "list, expected a module"),
    ],
)
def test_other_kernels_are_errors(tmp_path: Path, line: str, message: str) -> None:
    kernels, _ = copy(tmp_path)
    kernels.write_text(line)
    with pytest.raises(LoadError, match=message):
        ms.database.JSONDatabase(work_dir=tmp_path)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (
            ["ReindexCacheRead", ["b0"], [], []],
            "database_tuning_record.json:1: .*instruction of kind 'ReindexCacheRead'",
        ),
        (["Parallel", ["l7"], [], []], "'l7', expected a result of an instruction before"),
        (["TransformBlockLayout", ["b0"], ["{}"], []], "expected an object with a list of nodes"),
        (["TransformBlockLayout", ["b0"], [tvm.ir.save_json([1])], []], "list, expected an index map"),
    ],
)
def test_an_instruction_that_is_absent_is_an_error_on_use(tmp_path: Path, instruction: Any, message: str) -> None:
    _, records = copy(tmp_path)
    trace = [[["GetSBlock", [], ["C", "main"], ["b0"]], instruction], []]
    records.write_text(json.dumps([0, [trace, [1.0], None, None]]))
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    assert len(database) == 1
    with pytest.raises(LoadError, match=message):
        database.query_schedule(kernel())


def index_map(function: Any, rank: int) -> str:
    """A map of indices as TVM saves it."""
    names = [f"i{n}" for n in range(rank)]
    variables = [tvm.tir.Var(name, "int32") for name in names]
    data = json.loads(tvm.ir.save_json([variables, list(function(*variables))]))
    items = data["nodes"][data["root"]]["data"]
    attrs = {"initial_indices": str(items[0]), "final_indices": str(items[1]), "inverse_index_map": "0", "span": "0"}
    data["nodes"].append({"type_key": "tir.IndexMap", "attrs": attrs})
    return json.dumps(data | {"root": len(data["nodes"]) - 1})


@pytest.mark.parametrize(
    ("inputs", "attrs"),
    [
        (["b0"], [0, 1, "MAP"]),  # v0.9
        (["b0"], [0, 1, "MAP", None]),
        (["b0", "MAP"], [0, 1, None, False]),  # since v0.11
        (["b0", "MAP"], [0, 1, "ZERO", True]),
    ],
)
def test_layouts_of_traces_are_read(inputs: list[Any], attrs: list[Any]) -> None:
    texts = {"MAP": index_map(lambda i: (i // 4, i % 4), 1), "ZERO": index_map(lambda i, j: [tvm.tir.const(0.0)], 2)}
    inputs, attrs = ([texts.get(each, each) for each in values] for values in (inputs, attrs))
    trace = Trace.from_json([[["GetBlock", [], ["B", "main"], ["b0"]], ["TransformLayout", inputs, attrs, []]], []])
    sch = tvm.tir.Schedule(parse_tvmscript(SQUARES))
    trace.apply_to_schedule(sch)
    assert 'B: T.Buffer((2, 4), "float32")' in sch.mod.script()


def test_layouts_of_traces_depend_on_sampled_numbers() -> None:
    data = json.loads(index_map(lambda i: (i // tvm.tir.Var("v2", "int32"), i % 4), 1))
    instructions = [
        ["GetBlock", [], ["B", "main"], ["b0"]],
        ["SampleCategorical", [], [[4, 8], [0.5, 0.5]], ["v2"]],
        ["TransformLayout", ["b0", json.dumps(data)], [0, 1, None, False], []],
    ]
    sch = tvm.tir.Schedule(parse_tvmscript(SQUARES))
    Trace.from_json([instructions, [[1, 0]]]).apply_to_schedule(sch)
    assert 'B: T.Buffer((2, 4), "float32")' in sch.mod.script()
    instructions[1][3] = ["v3"]
    with pytest.raises(OptionError, match="'v2', expected an index"):
        Trace.from_json([instructions, []])
