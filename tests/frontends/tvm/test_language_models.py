"""Names of programs that export models of language: types since v0.26, frequencies of embeddings, phases of passes."""

import math
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError, LinkError, OptionError, PluginError, UnsupportedError
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import relax, te, tir, tvm_ffi
from stepwell.frontends.tvm.contrib import ndk, xcode
from stepwell.frontends.tvm.meta_schedule.utils import remove_build_dir
from stepwell.frontends.tvm.relax import dpl
from stepwell.frontends.tvm.relax.backend import cpu_generic, cuda, gpu_generic
from stepwell.frontends.tvm.relax.frontend import nn
from stepwell.frontends.tvm.relax.frontend.nn.llm import position_embedding
from stepwell.frontends.tvm.runtime import DataType, DataTypeCode, Object
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R

VECTOR = relax.TensorType((4,), "float32")


@tvm.register_func("test_language_models.scale", override=True)
def scale(x: Any, how: str, factor: int, out: Any) -> None:
    out.copyfrom(x.numpy() * (factor if how == "float32" else 0))


def test_types_have_the_names_since_v0_26() -> None:
    x, builder = relax.Var("x", VECTOR), relax.BlockBuilder()
    with builder.function("main", [x]):
        args = [x, relax.DataTypeImm("float32"), relax.prim_value(3)]
        named: dict[str, Any] = {"out_ty": VECTOR}
        call = relax.call_dps_packed("test_language_models.scale", args, **named)
        assert call.ty_args == [VECTOR]
        builder.emit_func_output(builder.emit(call))
    mod = builder.get()
    assert str(mod["main"].ret_ty) == str(mod["main"].ret_struct_info) == str(VECTOR)
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    np.testing.assert_array_equal(machine["main"](np.ones(4, "float32")).numpy(), np.full(4, 3))
    assert relax.prim_value(x) is x
    with pytest.raises(ArgumentError, match="call_pure_packed: ty_args and sinfo_args, expected one of both"):
        relax.call_pure_packed("f", **{"ty_args": VECTOR, "sinfo_args": VECTOR})


def test_texts_are_arguments_of_functions_in_destination_passing_style() -> None:
    @I.ir_module
    class Scaled:
        @R.function
        def main(x: R.Tensor((4,), "float32")):  # pyright: ignore
            y = R.call_dps_packed(
                "test_language_models.scale", (x, "float32", R.prim_value(2)), out_sinfo=R.Tensor((4,), "float32")
            )
            return y

    machine = relax.VirtualMachine(relax.build(Scaled, "llvm"), tvm.cpu())
    np.testing.assert_array_equal(machine["main"](np.ones(4, "float32")).numpy(), np.full(4, 2))


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.layer.weight.attrs["shards"] = 2

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.layer(x)


def test_an_exported_function_counts_its_inputs() -> None:
    model = Linear()
    mod, params = model.export_tvm({"forward": {"x": nn.spec.Tensor((2, 4), "float32")}})
    assert mod["forward"].attrs["num_input"] == 1
    assert [param.attrs for _, param in params] == [{"shards": 2}, {}]
    assert isinstance(3, nn.op.IntExpr)
    assert isinstance(te.var("n"), nn.IntExpr)


@pytest.mark.parametrize("phases", [cuda, cpu_generic, gpu_generic])
def test_the_phases_of_a_build_are_passes(phases: Any) -> None:
    mod, params = Linear().export_tvm({"forward": {"x": nn.spec.Tensor((2, 4), "float32")}})
    mod = phases.get_default_pipeline(None)(mod)
    x, *weights = (np.random.default_rng(1).random(shape, "float32") for shape in ((2, 4), (3, 4), (3,)))
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    np.testing.assert_allclose(machine["forward"](x, *weights).numpy(), x @ weights[0].T + weights[1], 1e-5)
    assert len(params) == 2


def test_operators_of_libraries_are_functions() -> None:
    mod, _ = Linear().export_tvm({"forward": {"x": nn.spec.Tensor((2, 4), "float32")}})
    partitioned = cuda.cublas.partition_for_cublas(mod)
    assert "cublas.matmul_transposed_bias" in partitioned.script()
    assert cuda.cudnn.partition_for_cudnn(mod).script() == mod.script()


def test_a_pattern_matches_names_of_functions() -> None:
    assert dpl.GlobalVarPattern("f").match(relax.GlobalVar("f"))
    assert not dpl.GlobalVarPattern("f").match(relax.GlobalVar("g"))


# Frequencies

SIZE, THETA, POSITIONS = 8, 10000.0, 5


def waves(function: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of a function of frequencies, for all positions and dimensions."""

    def table(which: int) -> Any:
        def element(s: Any, d: Any) -> Any:
            *results, values = function(s, d, SIZE, THETA, "float32", **options)
            return reduce(lambda expr, item: tir.Let(item[0], item[1], expr), values.items(), results[which])

        return te.compute((POSITIONS, SIZE), element)

    tables = [table(0), table(1)]
    outputs = [np.zeros((POSITIONS, SIZE), "float32") for _ in tables]
    tvm.build(te.create_prim_func(tables), target="llvm")(*outputs)
    return outputs[0], outputs[1]


def check(inverse: np.ndarray, got: tuple[np.ndarray, np.ndarray], factor: float = 1.0) -> None:
    angles = np.arange(POSITIONS)[:, None] * inverse
    for each, expected in zip(got, (np.cos(angles), np.sin(angles)), strict=True):
        np.testing.assert_allclose(each, factor * expected, atol=1e-5)


HALVES = THETA ** -(np.arange(SIZE) * 2 % SIZE / SIZE)
PAIRS = THETA ** -(np.arange(SIZE) // 2 * 2 / SIZE)
SMOOTH = {
    "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
}  # fmt: skip


def smoothed(inverse: np.ndarray) -> np.ndarray:
    smooth = np.clip((64 / (2 * math.pi) * inverse - 1) / 3, 0, 1)
    return (1 - smooth) * inverse / 8 + smooth * inverse


def test_frequencies_of_halves_and_pairs() -> None:
    check(HALVES, waves(position_embedding.switch_rope_freq_func({})))
    check(PAIRS, waves(position_embedding.switch_rope_freq_func({"rope_type": "gptj"})))


@pytest.mark.parametrize(("kind", "inverse"), [("llama3", HALVES), ("llama4", PAIRS)])
def test_frequencies_of_long_waves_are_divided(kind: str, inverse: np.ndarray) -> None:
    function = position_embedding.switch_rope_freq_func({"rope_type": kind, **SMOOTH})
    check(smoothed(inverse), waves(function))


def test_long_waves_are_divided_without_a_transition() -> None:
    options = {**SMOOTH, "low_freq_factor": 4.0}
    expected = np.where(2 * math.pi / PAIRS > 64 / 4, PAIRS / 8, PAIRS)
    check(expected, waves(position_embedding.switch_rope_freq_func({"rope_type": "llama4", **options})))


def test_frequencies_for_more_positions() -> None:
    sizes = {"max_position_embeddings": 128, "original_max_position_embeddings": 64}
    function = position_embedding.switch_rope_freq_func({"rope_type": "longrope", **sizes})
    check(HALVES, waves(function), math.sqrt(1 + math.log(2) / math.log(64)))


def test_frequencies_of_yarn() -> None:
    options = {"factor": 4.0, "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 4096}
    inverse_log = 1 / (2 * math.log(THETA))
    function = position_embedding.switch_rope_freq_func(
        {"rope_type": "yarn", "inv_theta_log_scale": inverse_log, **options}
    )
    low, high = (SIZE * math.log(4096 / (turns * 2 * math.pi)) * inverse_log for turns in (32, 1))
    kept = 1 - np.clip((np.arange(SIZE) - max(low, 0)) / (min(high, SIZE - 1) - max(low, 0)), 0, 1)
    check(HALVES / 4 * (1 - kept) + HALVES * kept, waves(function))


@pytest.mark.parametrize(
    ("scaling", "message"),
    [
        ({"rope_type": "other"}, "'other', expected one of gptj"),
        ({"rope_type": "llama3"}, "llama3: no factor, low_freq"),
    ],
)
def test_other_frequencies_are_errors(scaling: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        position_embedding.switch_rope_freq_func(scaling)


# Names


def test_integers_of_words_have_any_number_of_bits() -> None:
    assert (DataType("int3").bits, DataType("int3").type_code) == (3, DataTypeCode.INT)
    assert (DataType("uint12").itemsize, DataType("float32x4").itemsize) == (2, 16)
    assert DataType("float8_e4m3fn").type_code == DataTypeCode.Float8E4M3FN
    for name in ("int0", "int65", "float7"):
        with pytest.raises(TeError, match="unknown dtype"):
            DataType(name)


def test_classes_for_objects_of_other_languages_have_no_objects() -> None:
    @tvm_ffi.register_object("test_language_models.Data")
    class Data(Object):
        def __init__(self, text: str | None = None):
            if text is not None:
                self.__init_handle_by_constructor__(len, text)

    assert isinstance(Data(), Object)
    assert tvm._ffi.register_object(Data) is Data
    with pytest.raises(UnsupportedError, match="object of Data: there are no objects of C"):
        Data("text")


def test_a_name_of_a_device_has_an_index() -> None:
    assert str(tvm.device("cpu:0")) == str(tvm.cpu())
    assert tvm.device("cuda:1").device_id == 1
    with pytest.raises(OptionError, match="device 'cuda:x' with index 0, expected one index"):
        tvm.device("cuda:x")


def test_tools_of_other_systems_are_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TVM_NDK_CC", raising=False)
    with pytest.raises(PluginError, match=r"\$TVM_NDK_CC is not set"):
        ndk.create_shared("out.so", ["a.o"])
    tool = tmp_path / "cc"
    tool.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[2], 'w').write(' '.join(sys.argv[3:]))\n")
    tool.chmod(0o755)
    monkeypatch.setenv("TVM_NDK_CC", str(tool))
    ndk.create_shared(tmp_path / "out.so", "a.o")
    assert (tmp_path / "out.so").read_text() == "a.o -shared -fPIC -lm"
    tool.write_text(f"#!{sys.executable}\nraise SystemExit(3)\n")
    with pytest.raises(LinkError, match="status 3"):
        ndk.create_shared(tmp_path / "out.so", "a.o")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PluginError, match="no Xcode, the program xcrun is missing"):
        xcode.create_dylib("out.dylib", ["a.o"], "arm64")


def test_a_folder_of_a_build_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "lib.tar").touch()
    remove_build_dir(str(folder / "lib.tar"))
    assert not folder.exists()


def test_values_of_padding_are_operands_in_texts() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.pad(%x, 2f, pad_width=[[0, 1], [1, 0]]) }"
    mod = tvm.relay.fromtext('#[version = "0.0.5"]\n' + text)
    result = tvm.relay.create_executor(mod=mod).evaluate()(np.ones((2, 3), "float32"))
    np.testing.assert_array_equal(result.numpy(), np.pad(np.ones((2, 3)), ((0, 1), (1, 0)), constant_values=2))
