"""The driver of GPUs on a machine without a GPU: a fake libcuda, with the real bindings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_the_driver_is_called_as_its_bindings_want_it(fake: Path) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(fake)}
    command = [sys.executable, "-W", "error", str(HERE / "program.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr


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
