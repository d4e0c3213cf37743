"""TVM's Python API: arrays, modules, builds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, LinkError, LoadError, OptionError, ScheduleError, UnsupportedError, build
from stepwell.frontends.tvm import te
from stepwell.frontends.tvm.contrib.pickle_memoize import memoize
from stepwell.frontends.tvm.ir.module import IRModule, PrimFunc
from stepwell.frontends.tvm.relay.building import GraphExecutorFactoryModule
from stepwell.frontends.tvm.script import tir as T
from stepwell.operators.definition import UnknownOperatorError


def doubled() -> PrimFunc:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    return te.create_prim_func([A, te.compute((n,), lambda i: A[i] * 2.0, name="B")])


def test_functions_get_the_names_that_a_module_gives_them() -> None:
    func = doubled()
    mod = IRModule({"f": func, "g": func})
    assert list(mod) == ["f", "g"]
    assert list(func) == ["main"]


def test_a_function_prints_alone() -> None:
    assert doubled().script().startswith("# from tvm.script import tir as T\n\n@T.prim_func\ndef main(")


def test_a_built_module_takes_arrays_of_both_kinds() -> None:
    mod = tvm.build(doubled())
    a, b = np.arange(4, dtype="float32"), tvm.nd.empty((4,))
    mod(a, b)
    tvm.testing.assert_allclose(b, a * 2)
    mod["main"](tvm.nd.array(a + 1), b)
    tvm.testing.assert_allclose(b.asnumpy(), (a + 1) * 2)


def test_a_module_of_several_functions_is_called_by_name() -> None:
    mod = tvm.build(IRModule({"f": doubled(), "g": doubled()}))
    a, b = np.ones(2, "float32"), np.zeros(2, "float32")
    mod.get_function("g")(a, b)
    assert b.tolist() == [2, 2]
    assert mod.time_evaluator("g", number=1)(a, b).mean > 0
    with pytest.raises(ArgumentError, match="functions f, g, none of which is main"):
        mod(a, b)


def test_a_function_is_built_under_another_name() -> None:
    mod = tvm.build(doubled(), name="twice")
    assert "define" in mod.get_source()
    assert "twice" in mod.get_source("ll")
    with pytest.raises(OptionError, match="source format 'cl', expected one of ll, s, asm"):
        mod.get_source("cl")


def test_a_schedule_gives_a_module_in_tvms_shape() -> None:
    sch = tvm.tir.Schedule(IRModule({"main": doubled()}))
    sch.parallel(sch.get_loops("B")[0])
    assert isinstance(sch.mod, IRModule)
    assert "T.parallel" in sch.mod.script()


@pytest.mark.parametrize("kind", ["parallel", "bind"])
def test_a_program_with_an_illegal_schedule_can_be_read_but_not_compiled(kind: str) -> None:
    a = te.placeholder((64,), name="a")
    k = te.reduce_axis((0, 64), name="k")
    b = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="b")
    schedule = te.create_schedule(b.op)
    if kind == "parallel":
        schedule[b].parallel(k)
    else:
        schedule[b].bind(k, te.thread_axis("blockIdx.x"))
    with pytest.warns(
        UserWarning, match="lower: the program cannot be compiled: .*the iterations of loop k cannot run"
    ):
        lowered = tvm.lower(schedule, [a, b])
    assert "T.parallel(64)" in str(lowered) or 'T.thread_binding(64, thread="blockIdx.x")' in str(lowered)
    changed = tvm.tir.transform.Simplify()(lowered)
    for program in (lowered, changed):
        with pytest.raises(ScheduleError, match="the iterations of loop k cannot run"):
            tvm.build(program)
        with pytest.raises(ScheduleError, match="the iterations of loop k cannot run"):
            build(program)
    with pytest.raises(ScheduleError, match="the iterations of loop k cannot run"):
        tvm.build(schedule, [a, b])


def test_parameters_of_a_module_are_its_own_whatever_args_are() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    for mod in (tvm.lower(s, [A, B]), tvm.driver.build_module.form_irmodule(s, [A, B], "main", None)):
        b = np.zeros(4, "float32")
        tvm.build(mod, [A, B], target="llvm")(np.ones(4, "float32"), b)
        assert b.tolist() == [2] * 4


def test_the_function_of_a_schedule_has_loops_without_blocks() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: te.if_then_else(i > 1, A[i], 0.0), name="B")
    func = tvm.driver.build_module.schedule_to_module(te.create_schedule(B.op), [A, B])["main"]
    loop: Any = func.body
    assert isinstance(loop, tvm.tir.For)
    assert loop is func.body
    value: Any = loop.body.value  # pyright: ignore[reportAttributeAccessIssue]
    op: Any = value.op
    assert isinstance(value, tvm.tir.Call)
    assert op.name == "tir.if_then_else"
    assert [str(each) for each in value.args[::2]] == ["i > 1", "T.float32(0)"]


def test_the_function_of_an_illegal_schedule_can_be_read() -> None:
    A = te.placeholder((64,), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.reduce_axis[0], te.thread_axis("blockIdx.x"))
    with pytest.warns(UserWarning, match="the program cannot be compiled"):
        mod = tvm.driver.build_module.schedule_to_module(s, [A, B])
    assert 'T.thread_binding(64, thread="blockIdx.x")' in str(mod)
    with pytest.raises(ScheduleError, match="the iterations of loop k cannot run"):
        tvm.build(mod)


def test_a_function_is_found_by_its_symbol_too() -> None:
    mod = tvm.build(doubled().with_attr("global_symbol", "twice"))
    b = np.zeros(2, "float32")
    mod["twice"](np.ones(2, "float32"), b)
    assert b.tolist() == [2, 2]
    assert mod["main"] is mod.get_function("twice")
    assert mod.time_evaluator("twice")(np.ones(2, "float32"), b).mean > 0


def test_a_memoized_function_runs_once_for_equal_arguments() -> None:
    calls = []

    @memoize("the key")
    def double(x: int) -> int:
        calls.append(x)
        return 2 * x

    assert [double(1), double(1), double(2)] == [2, 2, 4]
    assert calls == [1, 2]


def test_operators_have_names() -> None:
    assert "nn.dense" in tvm.ir.Op.list_op_names()
    assert isinstance(tvm.ir.Op.get("nn.dense"), tvm.ir.Op)
    assert not isinstance("nn.dense", tvm.ir.Op)
    with pytest.raises(UnknownOperatorError, match=r"nn\.dens"):
        tvm.ir.Op.get("nn.dens")


def test_text_is_read() -> None:
    mod = tvm.script.from_source(IRModule({"main": doubled()}).script())
    assert isinstance(mod, IRModule)
    func = mod["main"]
    assert func.script().count("def main") == 1
    again = tvm.script.from_source(func.script())
    assert isinstance(again, tvm.tir.PrimFunc)
    tvm.ir.assert_structural_equal(again, func)


def test_functions_of_an_unchecked_module_may_have_variables_without_a_value() -> None:
    @tvm.script.ir_module(check_well_formed=False)
    class Unchecked:
        @T.prim_func
        def main(a: T.handle):  # pyright: ignore[reportInvalidTypeForm]
            x = T.int32()
            A = T.match_buffer(a, (x * 8,), "float32")
            A[0] = T.float32(1)

    program: Any = Unchecked
    assert program.__name__ == "Unchecked"
    assert program["main"].__name__ == "main"
    assert "T.match_buffer(a, (x * 8,))" in program.script()


def test_an_array_is_a_copy() -> None:
    source = np.zeros(3, "float32")
    a = tvm.nd.array(source)
    a[1] = 5
    assert source[1] == 0
    assert a.numpy().tolist() == [0, 5, 0]
    assert (a.shape, a.dtype, len(a), str(a.device), a.ctx) == ((3,), "float32", 3, "cpu(0)", tvm.cpu())
    assert str(a) == "[0. 5. 0.]"
    b = a.copyto(tvm.nd.empty((3,)))
    assert b.numpy().tolist() == [0, 5, 0]
    assert a.copyto(tvm.cpu(0))[1] == 5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tvm.device("sparc"), OptionError, "device 'sparc', expected cpu, cuda, cuda_emulated"),
        (lambda: tvm.nd.array(["x"]), ArgumentError, "dtype"),
        (lambda: tvm.nd.empty((2,), "float13"), ArgumentError, "unknown dtype 'float13'"),
        (lambda: tvm.nd.empty((2,)).copyfrom(np.zeros(3)), ArgumentError, r"shape \(3,\), expected \(2,\)"),
        (lambda: IRModule({"f": IRModule()}), OptionError, "a module of 0 functions, expected one"),
        (lambda: tvm.build(doubled(), "cuda -warp=32"), OptionError, "target cuda has no option 'warp'"),
        (lambda: tvm.build(doubled(), "rocm"), UnsupportedError, "no code generator for kind rocm"),
    ],
)
def test_a_mistake_is_an_error(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


def test_functions_of_python_are_given_arrays_of_tvm() -> None:
    @tvm.register_func("test.tvm.addone")
    def addone(x: Any, y: Any) -> None:
        assert isinstance(x, tvm.nd.NDArray)
        tvm.nd.array(x.asnumpy() + 1).copyto(y)

    A = te.placeholder((4,), name="A")
    B = te.extern(A.shape, [A], lambda ins, outs: tvm.tir.call_packed("test.tvm.addone", ins[0], outs[0]), name="B")
    a, b = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.empty((4,))
    tvm.build(te.create_schedule(B.op), [A, B])(a, b)
    assert b.numpy().tolist() == [1, 2, 3, 4]
    called = tvm.get_global_func("test.tvm.addone")
    assert called is not None
    called(a, b)
    with pytest.raises(ArgumentError, match="registered already"):
        tvm.register_func("test.tvm.addone", addone)
    tvm.register_func("test.tvm.addone", addone, override=True)


def test_a_function_of_python_is_registered_by_its_own_name() -> None:
    @tvm.register_func
    def test_tvm_own_name(x: Any) -> int:
        return int(x) + 1

    found = tvm.get_global_func("test_tvm_own_name")
    assert found is not None
    assert found(2) == 3
    fold: Any = tvm.get_global_func("relay._transform.FoldConstant")
    assert isinstance(fold, tvm.runtime.PackedFunc)
    made: Any = fold
    assert made().info.name == "FoldConstant"
    assert tvm.get_global_func("relay._transform.Nothing", allow_missing=True) is None
    assert tvm.get_global_func("test.tvm.nobody", allow_missing=True) is None
    with pytest.raises(LinkError, match=r"test\.tvm\.nobody"):
        tvm.get_global_func("test.tvm.nobody")
    with pytest.raises(ArgumentError, match="expected a callable, got int"):
        tvm.register_func("test.tvm.three", 3)


# Saved


def test_functions_are_exported_and_loaded(tmp_path: Path) -> None:
    tvm.build(doubled()).export_library(tmp_path / "lib.tar")
    loaded = tvm.runtime.load_module(tmp_path / "lib.tar")
    a, b = tvm.nd.array(np.arange(3, dtype="float32")), tvm.nd.array(np.zeros(3, "float32"))
    loaded(a, b)  # pyright: ignore[reportCallIssue]
    assert b.numpy().tolist() == [0, 2, 4]


def test_graphs_are_exported_and_loaded(tmp_path: Path) -> None:
    x = tvm.relay.var("x", shape=(2,), dtype="float32")
    built = tvm.relay.build(tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.exp(x))), target="llvm")
    built.export_library(tmp_path / "graph.tar", "cc")
    loaded = tvm.runtime.load_module(str(tmp_path / "graph.tar"))
    assert isinstance(loaded, GraphExecutorFactoryModule)
    module = tvm.contrib.graph_executor.GraphModule(loaded["default"](tvm.cpu()))
    module.run(x=np.zeros(2, "float32"))
    assert module.get_output(0).numpy().tolist() == [1, 1]
    assert loaded.get_graph_json() == built.get_graph_json()  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_no_program_is_not_loaded(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tar", tmp_path):
        with pytest.raises(LoadError):
            tvm.runtime.load_module(path)
    (tmp_path / "stepwell.json").write_text("[]")
    with pytest.raises(LoadError, match="is broken"):
        tvm.runtime.load_module(tmp_path)
