"""Convolutions by a fake cuDNN: the selected operators, and the arguments of the calls.

Its tensors lie in host memory, as those of the emulated GPU, which runs all other kernels.
"""

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import DeviceError, GraphExecutor, Module, PluginError, build_graph
from stepwell.backends.graph import Executable
from stepwell.backends.interpreter import interpret
from stepwell.backends.libraries import cudnn, nvidia
from stepwell.frontends import relay
from stepwell.transforms.pipelines import lower_graph

Built = Callable[[Module], Executable]
Ran = Callable[..., np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def stand_in(compiled_stand_in: Callable[[str], ctypes.CDLL]) -> ctypes.CDLL:
    """The library of fake_cudnn.c."""
    return compiled_stand_in("cudnn")


@pytest.fixture(scope="module", autouse=True)
def library(stand_in: ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    made = cudnn.Cudnn(stand_in)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cudnn, "_cudnn", lambda: made)
        yield stand_in


def counted(library: ctypes.CDLL) -> tuple[int, int]:
    """The numbers of executed convolutions: plain, and with a bias and a relu."""
    return ctypes.c_int.in_dll(library, "plain").value, ctypes.c_int.in_dll(library, "fused").value


def partitioned(mod: Module) -> Module:
    return lower_graph(mod, libraries=("cudnn",))


@pytest.fixture(scope="session")
def built(emulated: Callable[[Module, str], Executable]) -> Built:
    """Builds a graph for the emulated GPU, with cuDNN for the supported operators."""
    return lambda mod: emulated(partitioned(mod), "cudnn")


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(
    image=st.tuples(st.integers(0, 2), st.integers(1, 2), st.integers(5, 8), st.integers(5, 8)),
    window=st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    groups=st.sampled_from((1, 1, 2)),
    around=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    steps=PAIRS,
    far=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    bias=st.sampled_from((None, "nn.bias_add", "add", "add in front")),
    dtype=st.sampled_from(("float32", "float64")),
    is_known=st.booleans(),
)
@settings(max_examples=max(1, settings().max_examples // 2))
def test_convolutions_are_those_of_numpy(
    library: ctypes.CDLL, built: Built, ran: Ran, image: Any, window: Any, groups: int, around: Any, steps: Any,
    far: Any, bias: str | None, dtype: str, is_known: bool,
) -> None:  # fmt: skip
    n, channels, height, width = image
    each, r, s = window
    x_ = numbers(n, channels * groups, height, width, dtype=dtype)
    w_ = numbers(each * groups, channels, r, s, dtype=dtype, seed=1)
    b_ = numbers(each * groups, dtype=dtype, seed=2).reshape((-1,) if bias == "nn.bias_add" else (-1, 1, 1))
    shape = x_.shape if is_known else ("n", x_.shape[1], "h", "w")
    x = relay.var("x", shape=shape, dtype=dtype)
    w, b = (relay.var(name, shape=array.shape, dtype=dtype) for name, array in (("w", w_), ("b", b_)))
    body: Any = relay.nn.conv2d(x, w, padding=around, strides=steps, dilation=far, groups=groups)
    inputs = {"x": x_, "w": w_}
    if bias is not None:
        inputs["b"] = b_
        added = relay.nn.bias_add(body, b) if bias == "nn.bias_add" else body + b if bias == "add" else b + body
        body = relay.nn.relu(added)
    mod = relay.module(relay.Function([x, w, *([b] if bias else [])], body))
    plain, fused = counted(library)
    got = ran(built(mod), **inputs)
    np.testing.assert_array_equal(got, interpret(mod, "main", list(inputs.values())), strict=True)
    is_called = n > 0
    assert counted(library) == (plain + (is_called and bias is None), fused + (is_called and bias is not None))


def network(size: Any = 8) -> Module:
    """A convolution with a batch norm and a relu, a pool, and another convolution."""
    x = relay.var("x", shape=("n", 3, size, size))
    weights = [relay.const(numbers(*shape, seed=n)) for n, shape in enumerate(((4, 3, 3, 3), (2, 4, 3, 3)))]
    norm = [relay.const(np.linspace(0.5, 1.5, 4, dtype="float32")) for _ in range(4)]
    y = relay.nn.relu(relay.nn.batch_norm(relay.nn.conv2d(x, weights[0], padding=1), *norm)[0])
    y = relay.nn.conv2d(relay.nn.max_pool2d(y, pool_size=2, strides=2), weights[1])
    return relay.module(relay.Function([x], relay.nn.softmax(y, axis=1)))


@pytest.fixture(scope="module")
def executable(built: Built) -> Executable:
    return built(network())


def test_kernels_and_the_library_take_turns(library: ctypes.CDLL, executable: Executable) -> None:
    mod = network()
    assert [step.kernel for step in executable.calls] == [
        "cudnn_nn_conv2d_add_nn_relu", "fused_nn_max_pool2d", "cudnn_nn_conv2d", "fused_nn_softmax",
    ]  # fmt: skip
    executor = GraphExecutor(executable)
    planned = ctypes.c_int.in_dll(library, "planned")
    before = planned.value
    for rows in (1, 2, 1):
        x = np.random.default_rng(rows).uniform(-1, 1, (rows, 3, 8, 8)).astype("float32")
        executor.run(x=x)
        np.testing.assert_allclose(executor.get_output(0).numpy(), interpret(mod, "main", [x]), rtol=1e-4, atol=1e-6)
    assert planned.value == before + 4  # two convolutions of two sizes: plans are cached
    assert len(executor.profile(1)) == 4
    with executor.device.stream() as stream:
        executor.run()
        assert library.current_stream() == stream.handle


def test_what_the_library_refuses_is_an_error(library: ctypes.CDLL, executable: Executable) -> None:
    executor = GraphExecutor(executable)
    status = ctypes.c_int.in_dll(library, "broken")
    status.value = 2000
    try:
        message = (
            "cudnnConvolutionBiasActivationForward of a convolution of 1 x 3 x 8 x 8 by 4 x 3 x 3 x 3 failed: "
            "CUDNN_STATUS_BAD_PARAM"
        )
        with pytest.raises(DeviceError, match=message):
            executor.run(x=np.ones((1, 3, 8, 8), "float32"))
    finally:
        status.value = 0


def test_an_algorithm_that_rounds_to_tf32_is_not_taken(library: ctypes.CDLL) -> None:
    made = cudnn.Cudnn(library)
    described = [ctypes.c_void_p(1)] * 4
    found = {"GetConvolutionForwardAlgorithm_v7": [(2, 0, 1)]}

    def answer(name: str, *arguments: Any, about: Any = None) -> None:
        arguments[-2]._obj.value = 1
        arguments[-1][0].algorithm, arguments[-1][0].status, arguments[-1][0].math = found[name][0]

    made._try = answer  # pyright: ignore[reportAttributeAccessIssue]
    asked = cudnn.Convolution(0, 1, 1, 3, 8, 8, 4, 3, 3, 8, 8, (1, 1), (1, 1), (1, 1))
    with pytest.raises(DeviceError, match="no algorithm for the convolution of 1 x 3 x 8 x 8 by 4 x 3 x 3 x 3"):
        made._algorithm(ctypes.c_void_p(1), described, {0, 3}, asked)


def test_a_library_that_is_not_there_is_an_error_of_the_call(
    executable: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        return nvidia.load_shared_library(
            "cudnn", [nvidia.LibraryLocation("stepwell_no_package", "libcudnn.so.none")], "nvidia-cudnn-cu13"
        )

    monkeypatch.setattr(cudnn, "_cudnn", missing)
    with pytest.raises(PluginError, match="library cudnn is not there: pip install nvidia-cudnn-cu13"):
        GraphExecutor(executable).run(x=np.ones((1, 3, 8, 8), "float32"))


CONVOLVED = "relay.call @cudnn_nn_conv2d("


@pytest.mark.parametrize(
    ("said", "bias"),
    [
        ({"padding": (1, 0, 0, 0)}, None),
        ({"data_layout": "NHWC"}, None),
        ({"dtype": "bfloat16"}, None),
        ({"dtype": "int8"}, None),
        ({}, (1, 1, 8)),
        ({}, (4, 6, 6)),
    ],
)
def test_what_it_does_not_compute_stays(said: dict[str, Any], bias: tuple[int, ...] | None) -> None:
    options = dict(said)
    dtype = options.pop("dtype", "float32")
    x = relay.var("x", shape=(1, 8, 8, 8), dtype=dtype)
    w = relay.var("w", shape=(4, 8, 3, 3), dtype=dtype)
    body = relay.nn.conv2d(x, w, **options)
    text = str(partitioned(relay.module(relay.Function([x, w], body))))
    assert ("cudnn" in text) == (bias is not None)
    if bias is not None:
        b = relay.var("b", shape=bias if bias[-1] == 6 else (1, 1, 6), dtype=dtype)
        mod = relay.module(relay.Function([x, w, b], relay.nn.relu(body + b)))
        assert CONVOLVED in str(partitioned(mod))  # without bias and relu


def test_models_for_it_and_cublas_are_built_and_saved_without_them(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    executable = build_graph(network(), target="cuda -arch=sm_80 -libs=cudnn,cublas")
    executable.save(tmp_path / "out")
    assert Executable.load(tmp_path / "out").steps == executable.steps
