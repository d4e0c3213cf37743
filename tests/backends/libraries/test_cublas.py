"""Matrix products by a fake cuBLAS: the selected operators, and the arguments of the calls.

Its matrices lie in host memory, as those of the emulated GPU, which runs all other kernels.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import DeviceError, GraphExecutor, Module, OptionError, PluginError, build, build_graph
from stepwell.backends.graph import Executable
from stepwell.backends.interpreter import interpret
from stepwell.backends.libraries import cublas, nvidia
from stepwell.frontends import relay
from stepwell.transforms.pipelines import Options, run_pipeline
from stepwell.transforms.pipelines.landings import CALLS
from stepwell.transforms.relay.partition import RelayPartitionPass

EXTENTS = st.sampled_from((0, 1, 2, 3, 7))

Built = Callable[[Module], Executable]
Ran = Callable[..., np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def stand_in(compiled_stand_in: Callable[[str], ctypes.CDLL]) -> ctypes.CDLL:
    """The library of fake_cublas.c."""
    return compiled_stand_in("cublas")


@pytest.fixture(scope="module", autouse=True)
def library(stand_in: ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    made = cublas.Cublas(stand_in)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cublas, "_cublas", lambda: made)
        yield stand_in


@pytest.fixture(scope="session")
def built(emulated: Callable[[Module, str], Executable]) -> Built:
    """Builds a graph for the emulated GPU, with cuBLAS for the supported operators."""
    return lambda mod: emulated(
        run_pipeline(mod, [RelayPartitionPass(("cublas",)), *CALLS.passes(Options())]), "cublas"
    )


def asked(library: ctypes.CDLL) -> list[int]:
    """The arguments of the last product: flags, sizes, leading dimensions and batch strides of a, b and c, batch
    count."""
    return list((ctypes.c_int64 * 16).in_dll(library, "asked"))[:12]


def module(*params: Any, body: Any) -> Module:
    return relay.module(relay.Function(list(params), body))


@given(
    st.sampled_from(["nn.dense", "nn.matmul", "nn.batch_matmul"]),
    st.tuples(EXTENTS, EXTENTS, EXTENTS),
    st.tuples(st.sampled_from((1, 2, 3)), st.booleans(), st.booleans()),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_products_are_those_of_numpy(
    library: ctypes.CDLL,
    built: Built,
    ran: Ran,
    name: str,
    sizes: tuple[int, int, int],
    batches: tuple[int, bool, bool],
    transposed: tuple[bool, bool],
    dtype: str,
    is_known: bool,
    seed: int,
) -> None:
    m, n, k = sizes
    batch, a_alone, b_alone = batches
    left, right = ((k, m) if transposed[0] else (m, k)), ((n, k) if transposed[1] else (k, n))
    flags = {"transpose_a": transposed[0], "transpose_b": transposed[1]}
    if name == "nn.dense":
        left, right, flags = (batch, m, k), (n, k), {}
    elif name == "nn.batch_matmul":
        left, right = (1 if a_alone else batch, *left), (1 if b_alone else batch, *right)
    random = np.random.default_rng(seed)
    a, b = (random.integers(-3, 4, shape).astype(dtype) for shape in (left, right))
    names = {size: f"s{size}" for size in sizes}
    shapes = [[size if is_known or (n == 0 and len(each) == 3) else names[size] for n, size in enumerate(each)]
              for each in (left, right)]  # fmt: skip
    x, y = relay.var("x", shape=shapes[0], dtype=dtype), relay.var("y", shape=shapes[1], dtype=dtype)
    operator = getattr(relay.nn, name.removeprefix("nn."))
    mod = module(x, y, body=operator(x, y, **flags))
    before = ctypes.c_int.in_dll(library, "calls").value
    got = ran(built(mod), x=a, y=b)
    np.testing.assert_array_equal(got, interpret(mod, "main", [a, b]), strict=True)
    assert ctypes.c_int.in_dll(library, "calls").value == before + (got.size > 0)


def test_a_product_is_asked_for_by_columns(library: ctypes.CDLL, built: Built, ran: Ran) -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(5, 3))
    x_, w_ = np.ones((2, 3), "float32"), np.ones((5, 3), "float32")
    ran(built(module(x, w, body=relay.nn.dense(x, w))), x=x_, w=w_)
    assert asked(library) == [1, 0, 5, 2, 3, 3, 0, 3, 0, 5, 10, 1]
    a, b = relay.var("a", shape=(4, 3, 2)), relay.var("b", shape=(1, 3, 5))
    product = relay.nn.batch_matmul(a, b, transpose_a=True, transpose_b=False)
    ran(built(module(a, b, body=product)), a=np.ones((4, 3, 2), "float32"), b=np.ones((1, 3, 5), "float32"))
    assert asked(library) == [0, 1, 5, 2, 3, 5, 0, 2, 6, 5, 10, 4]


def layers() -> Module:
    """Products between generated kernels, with symbolic sizes."""
    random = np.random.default_rng(0)
    x = relay.var("x", shape=("n", 4))
    w, b = (relay.const(random.uniform(-1, 1, shape).astype("float32")) for shape in ((6, 4), (6,)))
    hidden = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(relay.exp(x), w), b))
    return module(x, body=relay.nn.softmax(relay.nn.matmul(hidden, hidden, transpose_b=True)))


@pytest.fixture(scope="module")
def executable(built: Built) -> Executable:
    return built(layers())


def test_kernels_and_the_library_take_turns(library: ctypes.CDLL, executable: Executable) -> None:
    mod = layers()
    assert [step.kernel for step in executable.calls] == [
        "fused_exp", "cublas_nn_dense", "fused_nn_bias_add_nn_relu", "cublas_nn_matmul", "fused_nn_softmax",
    ]  # fmt: skip
    executor = GraphExecutor(executable)
    for rows in (3, 1, 8):
        x = np.random.default_rng(rows).uniform(-1, 1, (rows, 4)).astype("float32")
        executor.run(x=x)
        np.testing.assert_allclose(executor.get_output(0).numpy(), interpret(mod, "main", [x]), rtol=1e-5)
    assert len(executor.profile(1)) == 5
    with executor.device.stream() as stream:
        executor.run()
        assert library.current_stream() == stream.handle


def test_what_the_library_refuses_is_an_error(library: ctypes.CDLL, executable: Executable) -> None:
    executor = GraphExecutor(executable)
    x = np.ones((2, 4), "float32")
    status = ctypes.c_int.in_dll(library, "broken")
    status.value = 7
    try:
        message = "cublasGemmStridedBatchedEx of 2 x 4 by 4 x 6, 1 times failed: CUBLAS_STATUS_INVALID_VALUE"
        with pytest.raises(DeviceError, match=message) as caught:
            executor.run(x=x)
        assert caught.value.status == "CUBLAS_STATUS_INVALID_VALUE"
    finally:
        status.value = 0
    executor.run(x=x)


def test_a_library_that_is_not_there_is_an_error_of_the_call(
    executable: Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        return nvidia.load_shared_library(
            "cublas", [nvidia.LibraryLocation("stepwell_no_package", "libcublas.so.none")], "nvidia-cublas"
        )

    monkeypatch.setattr(cublas, "_cublas", missing)
    executor = GraphExecutor(executable)
    with pytest.raises(PluginError, match=r"library cublas is not there: pip install nvidia-cublas .*cublas\.so\.none"):
        executor.run(x=np.ones((2, 4), "float32"))


def test_the_files_of_a_wheel_are_found(stand_in: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "stepwell_wheel" / "lib"
    folder.mkdir(parents=True)
    for name in ("libone.so.7", "libtwo.so.7"):
        shutil.copy(stand_in._name, folder / name)
    monkeypatch.syspath_prepend(tmp_path)
    there = nvidia.LibraryLocation("stepwell_wheel", "libone.so.7", ("libtwo.so.7",))
    found = nvidia.load_shared_library(
        "one", [nvidia.LibraryLocation("stepwell_no_package", "libone.so.8"), there], "one"
    )
    assert found._name == str(folder / "libone.so.7")
    alone = nvidia.LibraryLocation("stepwell_wheel", "libone.so.7", ("libthree.so.7",))
    with pytest.raises(PluginError, match=r"library one is not there: pip install one \(.*libthree.so.7"):
        nvidia.load_shared_library("one", [alone], "one")


def test_what_is_no_product_of_its_types_stays() -> None:
    for dtype, is_taken in (("float16", True), ("bfloat16", True), ("int32", False)):
        a, b = (relay.var(name, shape=(2, 2), dtype=dtype) for name in "ab")
        mod = module(a, b, body=relay.nn.matmul(a, b))
        partitioned = str(run_pipeline(mod, [RelayPartitionPass(("cublas",))]))
        assert ('compiler "cublas"' in partitioned) == is_taken


@pytest.mark.parametrize("target", ["llvm", "cuda-emulated"])
@pytest.mark.parametrize("make", [build, build_graph])
def test_it_is_for_gpus_alone(make: Callable[..., Any], target: str) -> None:
    partitioned = run_pipeline(layers(), [RelayPartitionPass(("cublas",))])
    with pytest.raises(OptionError, match=f"library cublas is for cuda, not for {target}"):
        make(partitioned, target=target)


def test_a_graph_that_calls_it_is_built_as_a_program() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    partitioned = run_pipeline(layers(), [RelayPartitionPass(("cublas",))])
    assert "cublas_nn_dense" in build(partitioned, target="cuda -arch=sm_80").functions


def test_graphs_for_it_are_built_and_saved_without_it(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    executable = build_graph(layers(), target="cuda -arch=sm_80 -libs=cublas")
    executable.save(tmp_path / "out")
    assert Executable.load(tmp_path / "out").steps == executable.steps


ON_A_GPU = """
import numpy as np
from stepwell import GraphExecutor, build_graph, relay

x, w = relay.var("x", shape=(3, 8)), relay.const(np.arange(32, dtype="float32").reshape(4, 8))
mod = relay.module(relay.Function([x], relay.nn.dense(x, w)))
executor = GraphExecutor(build_graph(mod, target="cuda -libs=cublas"))
executor.run(x=np.ones((3, 8), "float32"))
print(executor.device, executor.get_output(0).numpy()[2].tolist())
"""


def test_it_is_loaded_and_called_beside_the_driver(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings")
    if any("libcublas." in file.name for package in PACKAGES for file in nvidia_files(package)):
        pytest.skip("cuBLAS is installed")
    here = Path(__file__).parents[1]
    for source, files in (("cuda/driver/fake_driver.c", ["libcuda.so.1"]), ("libraries/fake_cublas.c", LIBRARIES)):
        for file in files:
            target = [f"-Wl,-soname,{file}", "-o", str(tmp_path / file)]
            subprocess.run(["gcc", "-shared", "-fPIC", str(here / source), *target, "-ldl"], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", ON_A_GPU]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "cuda(0) [28.0, 92.0, 156.0, 220.0]\n", done.stderr


LIBRARIES = ["libcublas.so.13", "libcublasLt.so.13"]
PACKAGES = ["nvidia.cu13", "nvidia.cublas"]


def nvidia_files(package: str) -> list[Path]:
    return [file for folder in nvidia._folders(package) for file in folder.iterdir()]
