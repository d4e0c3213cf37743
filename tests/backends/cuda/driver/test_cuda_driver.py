"""The driver of GPUs on a machine without a GPU: a fake libcuda, with the real bindings."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stepwell

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the fake libcuda of fake_driver.c."""
    pytest.importorskip("cuda.bindings")
    pytest.importorskip("nvidia.cu13")
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("fake")
    command = ["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-misleading-indentation", "-Werror"]
    target = ["-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so.1")]
    subprocess.run([*command, str(HERE / "fake_driver.c"), *target, "-ldl"], check=True)
    return folder


def _run(program: str, *options: str, **environment: str) -> None:
    command = [sys.executable, *options, str(HERE / program)]
    if "LD_PRELOAD" in environment:
        command.append("fake")
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


def test_the_driver_is_called_as_its_bindings_want_it(fake: Path) -> None:
    _run("program.py", "-W", "error", LD_LIBRARY_PATH=str(fake))


def test_contexts_and_streams_of_others_are_used_as_they_are(fake: Path) -> None:
    _run("contexts.py", "-W", "error", LD_LIBRARY_PATH=str(fake), FAKE_DEVICES="2")


def test_programs_run_beside_pycuda(fake: Path) -> None:
    """With the real PyCUDA, which links libcuda and cuRAND."""
    if importlib.util.find_spec("pycuda") is None:
        pytest.skip("no pycuda")
    folders = [str(fake), *(f"{path}/lib" for path in importlib.import_module("nvidia.cu13").__path__)]
    _run("pycuda_program.py", LD_PRELOAD=str(fake / "libcuda.so.1"), LD_LIBRARY_PATH=":".join(folders))


@pytest.mark.gpu
def test_programs_run_beside_pycuda_on_a_gpu() -> None:
    pytest.importorskip("cuda.bindings")
    if not stepwell.cuda(0).exist:
        pytest.skip("no GPU")
    if importlib.util.find_spec("pycuda") is None:
        pytest.skip("no pycuda")
    _run("pycuda_program.py")


def test_without_a_driver_a_program_is_built_and_not_launched() -> None:
    pytest.importorskip("cuda.bindings")
    text = (
        "import stepwell\n"
        "from stepwell import nd\n"
        "device = stepwell.cuda()\n"
        "print(device, device.exist)\n"
        "nd.empty((8,), 'float32', device)\n"
    )
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "cuda(0) False\n"
    assert "DeviceError: there is no GPU that CUDA can use" in done.stderr
