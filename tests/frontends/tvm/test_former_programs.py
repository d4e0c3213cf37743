"""Programs of several versions of TVM: former names of arguments and modules, words of `R` on expressions."""

# pyright: reportInvalidTypeForm=false, reportUndefinedVariable=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import OptionError, UnsupportedError
from stepwell.frontends.tvm import meta_schedule, relax, relay, te, topi
from stepwell.frontends.tvm.former_names import former_names
from stepwell.frontends.tvm.ir.module import IRModule
from stepwell.frontends.tvm.relay.frontend import shapes_of_inputs
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T


@former_names(data=("input", "src"), kernel="filter")
def pair(data: int, kernel: int = 0) -> tuple[int, int]:
    return data, kernel


def test_arguments_have_former_names() -> None:
    assert pair(1, 2) == pair(input=1, filter=2) == pair(1, filter=2) == pair(src=1, kernel=2)
    with pytest.raises(TypeError, match="multiple values for argument 'data'"):
        pair(data=1, input=2)
    x, w = te.placeholder((1, 2, 4, 4)), te.placeholder((3, 2, 3, 3))
    assert topi.nn.conv2d(input=x, filter=w, strides=1, padding=0, dilation=1).shape[1] == 3
    assert te.create_prim_func(ops=[x, topi.nn.relu(x)]).params


def test_modules_of_former_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert tvm._ffi.runtime_ctypes.Device is tvm._ffi.runtime_ctypes.TVMContext is type(tvm.cpu())
    assert tvm.tir.tensor_intrin.DP4A_INTRIN == "dp4a_s8s8s32"
    assert not hasattr(tvm.tir.tensor_intrin, "NO_INTRIN")
    x = relay.var("x", shape=(2,))
    relay.transform.PrintIR(True)(IRModule.from_expr(relay.Function([x], x + x)))
    assert "add(%x, %x)" in capsys.readouterr().out


def test_words_of_r_are_functions_on_expressions() -> None:
    a, b = (relax.Var(name, R.Tensor((2, 3), "float32")) for name in "ab")
    builder = relax.BlockBuilder()
    with builder.function("main", [a, b]):
        product = builder.emit(relax.op.matmul(a, R.permute_dims(b, [1, 0])))
        whole = builder.emit(R.nn.relu(R.concat([product, product], axis=0)))
        builder.emit_func_output(whole)
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
    x = np.arange(6, dtype="float32").reshape(2, 3) - 2
    np.testing.assert_allclose(machine["main"](x, x).numpy(), np.maximum(np.concatenate([x @ x.T, x @ x.T]), 0))


@I.ir_module
class OwnKernel:
    @T.prim_func
    def double(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "double"})
        n = T.int64()
        A = T.match_buffer(x, (n,))
        B = T.match_buffer(y, (n,))
        for i in range(n):
            with T.block("B"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * 2.0

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.call_dps_packed("double", (x,), R.Tensor((n,), "float32"))


def test_kernels_of_a_module_are_called_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    machine: Any = relax.VirtualMachine(relax.build(OwnKernel, "llvm"), tvm.cpu())
    assert machine["main"](np.array([1, 2], "float32")).numpy().tolist() == [2, 4]
    OwnKernel["main"].show(black_format=True)
    OwnKernel["double"].show("light", black_format=False)
    assert "def double" in capsys.readouterr().out


def test_shapes_of_other_names_are_ignored() -> None:
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor_value_info("x", 1, [2])
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [value], [value]))
    with pytest.warns(UserWarning, match="shapes of data are ignored: the inputs are x"):
        assert shapes_of_inputs(model, {"data": (1,), "x": (2,)}) == {"x": (2,)}


def test_a_pipeline_may_prepare_weights(tmp_path: Any) -> None:
    tuning = relax.get_pipeline("static_shape_tuning", total_trials=0, work_dir=str(tmp_path), cpu_weight_prepack=True)
    assert tuning.info.name == "static_shape_tuning"


def test_an_exported_library_replaces_a_file(tmp_path: Any) -> None:
    x = relay.var("x", shape=(2,))
    library = relay.build(relay.Function([x], x + x))
    for name in ("net.so", "net.tar"):
        (tmp_path / name).write_text("of another compiler")
        library.export_library(tmp_path / name)
        library.export_library(tmp_path / name)
        loaded: Any = tvm.runtime.load_module(tmp_path / name)
        assert loaded["default"](tvm.cpu()).get_num_inputs() == 1
    (tmp_path / "full.so").mkdir()
    (tmp_path / "full.so" / "notes").touch()
    with pytest.raises(OptionError, match="there is something else"):
        library.export_library(tmp_path / "full.so")


def test_operators_have_the_names_of_their_functions() -> None:
    x = relax.Var("x", relax.TensorType((2, 2), "float32"))
    relu: Any = tvm.get_global_func("relax.op.nn.relu")
    assert relu(x).op.name == "relax.nn.relu"
    assert tvm.get_global_func("topi.nn.relu") is topi.nn.relu
    assert tvm.get_global_func("relax.op.no_operator", True) is None
    assert x.ty is x.struct_info


def test_visitors_recurse_over_deep_graphs() -> None:
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(1000):
        body = relay.nn.relu(body)
    assert relay.ExprMutator().visit(relay.Function([x], body)).body is body


def test_a_search_has_the_names_of_v08() -> None:
    assert meta_schedule.ReplayTraceConfig(32, num_trials_total=8) == meta_schedule.TuneConfig(8, 32)
    database = meta_schedule.database.MemoryDatabase()
    with meta_schedule.ApplyHistoryBest(database):
        assert meta_schedule.Database.current() is database


@I.ir_module
class Network:
    @T.prim_func
    def twice(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
        for i, j in T.grid(2, 4):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * 2.0

    @R.function
    def main(
        x: R.Tensor((1, 3, 6, 4), "float32"), w: R.Tensor((2, 3, 3, 1), "float32"), v: R.Tensor((4, 4), "float32")
    ):
        cls = Network
        with R.dataflow():
            a = R.nn.conv2d(x, w, strides=(4, 1))
            b = R.matmul(R.reshape(a, (2, 4)), v)
            c = R.call_tir(cls.twice, (b,), relax.TensorStructInfo((2, 4), "float32"))
            R.output(c)
        return c


@pytest.mark.parametrize(
    ("change", "tolerance"),
    [
        (relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]}), 1e-5),
        (relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "default", "NCHW"]}), 1e-5),
        (relax.transform.ConvertLayout({}, lambda call: {"relax.nn.conv2d": ["NHWC", "OHWI"]}), 1e-5),
        (relax.transform.ToMixedPrecision(), 1e-2),
        (relax.transform.ToMixedPrecision("float16"), 2e-2),
    ],
)
def test_operators_in_other_layouts_and_types(change: Any, tolerance: float) -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype("float32") for shape in ((1, 3, 6, 4), (2, 3, 3, 1), (4, 4))]
    before, after = (
        relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*arrays).numpy()
        for mod in (Network, change(Network))
    )
    np.testing.assert_allclose(after, before, rtol=tolerance, atol=tolerance)
    assert str(change(Network)) != str(Network)


def test_wrong_layouts_are_errors() -> None:
    with pytest.raises(UnsupportedError, match=r"ConvertLayout: operator relax\.add"):
        relax.transform.ConvertLayout({"relax.add": ["NHWC"]})
    with pytest.raises(OptionError, match="expected those of images and weights"):
        relax.transform.ConvertLayout({"relax.nn.conv2d": []})
    with pytest.raises(UnsupportedError, match="layout NCHW4c for NCHW, expected the same dimensions"):
        relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c"]})(Network)


def test_a_product_of_tensors_of_other_ranks_has_a_type_of_its_own() -> None:
    a, b = relax.Var("a", R.Tensor((2, 3, 4), "float16")), relax.Var("b", R.Tensor((4, 5), "float16"))
    assert relax.op.matmul(a, b, out_dtype="float32").struct_info.dtype == "float32"


def test_expressions_and_bindings_have_texts(capsys: pytest.CaptureFixture[str]) -> None:
    x, y, z = (relax.Var(name, R.Tensor((2,), "float32")) for name in "xyz")
    cond = relax.Var("c", R.Tensor((), "bool"))
    call = relax.op.add(x, relax.const(1.0))
    call.show()
    relax.SeqExpr([relax.DataflowBlock([relax.VarBinding(y, call)])], y).show(black_format=False)
    branch = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, relax.op.exp(x))])], y)
    print(relax.VarBinding(z, relax.If(cond, branch, branch)).script())
    print(relax.Tuple([relax.TupleGetItem(x, 0)]).script(), relax.extern("f")(x, sinfo_args=[]).script())
    assert capsys.readouterr().out.splitlines() == [
        'R.add(x, R.const(1.0, "float32"))',
        "with R.dataflow():",
        '    y = R.add(x, R.const(1.0, "float32"))',
        "    R.output(y)",
        "y",
        "if c:",
        "    y = R.exp(x)",
        "    z = y",
        "else:",
        "    y = R.exp(x)",
        "    z = y",
        "(x[0],) R.ExternFunc('f')(x)",
    ]


def test_tags_of_other_gpus() -> None:
    assert tvm.target.Target("apple/m2-gpu").kind.name == "metal"


def test_functions_have_the_runtime_of_this_machine() -> None:
    a = te.placeholder((2,))
    s = te.create_schedule([topi.nn.relu(a).op])
    assert tvm.build(s, [a, s.outputs[0].output(0)], "llvm", runtime=relay.backend.Runtime("cpp"))
    with pytest.raises(UnsupportedError, match="build: runtime 'crt', expected None, 'cpp', or 'crt' for"):
        tvm.build(s, [a, s.outputs[0].output(0)], "llvm", runtime=relay.backend.Runtime("crt"))


def test_an_argument_outside_of_the_schedule_stays_as_it_is() -> None:
    a = te.placeholder((2,), name="A")
    before, after = (te.compute((2,), lambda i: a[i] + 1.0, name="C") for _ in range(2))
    with pytest.warns(UserWarning, match="argument C is no tensor of the schedule"):
        function = tvm.build(te.create_schedule(after.op), [a, before], "llvm")
    values = np.array([3, 4], "float32")
    function(np.zeros(2, "float32"), values)
    assert list(values) == [3, 4]


def test_ir_pass_simplifies_compares_and_visits() -> None:
    n = tvm.te.var("n")
    assert tvm.ir_pass.Equal(tvm.ir_pass.Simplify(n + n - n), n)
    assert not tvm.ir_pass.Equal(tvm.ir_pass.CanonicalSimplify(n * 2), n)
    assert str(tvm.ir_pass.Substitute(n + 1, {n: tvm.tir.IntImm("int32", 4)})) == "5"
    seen: list[object] = []
    tvm.ir_pass.PostOrderVisit(n + 1, seen.append)
    assert len(seen) == 3
    with pytest.raises(AttributeError, match=r"'StorageFlatten': tvm\.lower applies all passes"):
        _ = tvm.ir_pass.StorageFlatten
