"""Writes a database of TVM, imported by the running Python, with the kernels and schedules below.

    python tests/peer/json_record.py tests/data/databases/tvm-0.27

The files `workload.json` and `tuning_record.json` are those of `JSONDatabase`, `expected.json` has the text of each
kernel and of its scheduled function as TVM prints them, and `expressions.json` expressions and their text. The versions
0.26 and 0.27 require apache-tvm-ffi 0.1.14.post1: with later versions `save_json` ends the process. Version 0.25
requires apache-tvm-ffi 0.1.12.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

tvm: Any = import_module("tvm")
te, tir = tvm.te, tvm.tirx
ms: Any = import_module("tvm.s_tir.meta_schedule")


def matmul() -> Any:
    a, b = te.placeholder((32, 24), name="A"), te.placeholder((24, 16), name="B")
    k = te.reduce_axis((0, 24), name="k")
    return [a, b, te.compute((32, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def softmax() -> Any:
    a = te.placeholder((8, 20), name="A")
    k, m = te.reduce_axis((0, 20), name="k"), te.reduce_axis((0, 20), name="m")
    top = te.compute((8,), lambda i: te.max(a[i, k], axis=k), name="T_softmax_maxelem")
    power = te.compute((8, 20), lambda i, j: te.exp(a[i, j] - top[i]), name="T_softmax_exp")
    total = te.compute((8,), lambda i: te.sum(power[i, m], axis=m), name="T_softmax_expsum")
    return [a, te.compute((8, 20), lambda i, j: power[i, j] / total[i], name="T_softmax_norm")]


def convolution() -> Any:
    a, w = te.placeholder((2, 4, 9, 9), name="A"), te.placeholder((6, 4, 3, 3), name="W")
    inside = lambda y, x: tir.all(y >= 1, y < 10, x >= 1, x < 10)  # noqa: E731
    pad = te.compute(
        (2, 4, 11, 11),
        lambda n, c, y, x: tir.if_then_else(inside(y, x), a[n, c, y - 1, x - 1], tir.const(0.0, "float32")),
        name="pad_temp",
    )
    c, dy, dx = (te.reduce_axis((0, extent), name=name) for extent, name in ((4, "rc"), (3, "ry"), (3, "rx")))
    conv = te.compute(
        (2, 6, 9, 9),
        lambda n, f, y, x: te.sum(pad[n, c, y + dy, x + dx] * w[f, c, dy, dx], axis=[c, dy, dx]),
        name="conv2d_nchw",
    )
    return [a, w, te.compute((2, 6, 9, 9), lambda *i: te.max(conv(*i), tir.const(0.0, "float32")), name="relu")]


def schedule_matmul(sch: Any) -> None:
    block = block_of(sch, "C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, n=2, decision=[8, 4]))
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16, decision=[2, 8]))
    k_0, k_1 = sch.split(k, [None, 4])
    sch.reorder(i_0, j_0, k_0, i_1, k_1, j_1)
    cached = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(cached, j_0)
    sch.parallel(sch.fuse(i_0, j_0))
    sch.vectorize(j_1)
    sch.annotate(block, "meta_schedule.auto_tensorize", "none")
    sch.decompose_reduction(block, k_0)


def schedule_softmax(sch: Any) -> None:
    norm, total = block_of(sch, "T_softmax_norm"), block_of(sch, "T_softmax_expsum")
    sch.compute_inline(block_of(sch, "T_softmax_exp"))
    where = sch.sample_compute_location(total, decision=-1)
    sch.compute_at(total, where)
    (i, *_) = sch.get_loops(norm)
    sch.annotate(i, "pragma_auto_unroll_max_step", sch.sample_categorical([0, 16], [0.5, 0.5], decision=1))
    sch.parallel(i)


def schedule_convolution(sch: Any) -> None:
    conv = block_of(sch, "conv2d_nchw")
    sch.compute_inline(block_of(sch, "pad_temp"))
    _, f, y, x, *_ = sch.get_loops(conv)
    f_0, f_1 = sch.split(f, [3, 2])
    sch.reorder(f_0, y, x, f_1)
    sch.transform_layout(conv, ("read", 1), lambda f, c, y, x: (f // 2, c, y, x, f % 2))
    (relu,) = sch.get_consumers(conv)
    sch.reverse_compute_at(relu, f_0)
    sch.enter_postproc()
    sch.unroll(f_1)


def block_of(sch: Any, name: str) -> Any:
    return sch.get_sblock(name, func_name="main")


CASES = {
    "matmul": (matmul, schedule_matmul),
    "softmax": (softmax, schedule_softmax),
    "convolution": (convolution, schedule_convolution),
}


def expressions() -> dict[str, Any]:
    x, y, f = tir.Var("x", "int32"), tir.Var("y", "int64"), tir.Var("f", "float32")
    return {
        "sum": x + 1,
        "bits": (x & 3) | (x ^ 5) << 2 >> 1,
        "quotients": tir.floordiv(y, 3) + tir.truncmod(y, 4) * tir.floormod(y, 5) - tir.truncdiv(y, 2),
        "functions": tir.exp(f)
        + tir.pow(f, tir.const(2.0, "float32"))
        + tir.abs(f)
        + tir.max(f, tir.const(0.5, "float32")),
        "choices": tir.Select(tir.all(x > 1, x < 5), x, tir.if_then_else(tir.Not(x == 3), x, 2)),
        "casts": tir.Cast("float64", x) + tir.const(1.5, "float64"),
        "vectors": tir.Ramp(x, 2, 4) * tir.Broadcast(x, 4),
        "shared": [x, x + 1, {"key": x}],
        "infinity": f < tir.const(float("inf"), "float32"),
        "map": tir.IndexMap.from_func(lambda i, j: [i // 4, j, i % 4]),
    }


def record(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "workload.json", folder / "tuning_record.json"]
    for path in paths:
        path.unlink(missing_ok=True)
    database = ms.database.JSONDatabase(*map(str, paths))
    expected: dict[str, dict[str, str]] = {}
    for name, (build, apply) in CASES.items():
        mod = tvm.IRModule({"main": te.create_prim_func(build())})
        workload = database.commit_workload(mod)
        for seconds, is_fast in ((0.5, False), (0.25, True), (1e10, True)):
            sch = tvm.s_tir.Schedule(mod)
            if is_fast:
                apply(sch)
            else:
                sch.parallel(sch.get_loops(sch.get_child_blocks(block_of(sch, "root"))[0])[0])
            arguments = ms.arg_info.ArgInfo.from_prim_func(mod["main"])
            target = tvm.target.Target({"kind": "llvm", "num-cores": 2, "mcpu": "generic"})
            database.commit_tuning_record(ms.database.TuningRecord(sch.trace, workload, [seconds], target, arguments))
            if is_fast:
                expected[name] = {"program": mod.script(), "scheduled": sch.mod.script()}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    saved = {name: [str(each), tvm.ir.save_json(each)] for name, each in expressions().items()}
    (folder / "expressions.json").write_text(json.dumps(saved, indent=1) + "\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
