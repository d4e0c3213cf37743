"""Programs in object files and libraries, and sessions that load them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import LinkError, LoadError, UnsupportedError
from stepwell.frontends.tvm import rpc, te
from stepwell.frontends.tvm.contrib import cc
from stepwell.frontends.tvm.driver.build_module import OperatorModule


def double() -> OperatorModule:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    return tvm.build(te.create_schedule(b.op), [a, b], "llvm", name="double")


def check_doubles(func: Any) -> None:
    a, b = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    func(a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.skipif(cc.get_cc() is None, reason="needs a C++ compiler")
def test_an_object_file_and_its_library_are_modules(tmp_path: Path) -> None:
    objects, library = str(tmp_path / "double.o"), str(tmp_path / "double.so")
    double().save(objects)
    check_doubles(tvm.runtime.load_module(objects))
    cc.create_shared(library, [objects])
    check_doubles(tvm.runtime.load_module(library))


def test_broken_libraries_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "double.o"
    double().save(path)
    image = path.read_bytes()
    for length in (5, 40, 64, len(image) - 64):
        path.write_bytes(image[:length])
        with pytest.raises(LoadError):
            tvm.runtime.load_module(path)


def test_a_session_of_this_machine_loads_uploaded_modules(tmp_path: Path) -> None:
    path = str(tmp_path / "lib.tar")
    double().export_library(path)
    remote = rpc.LocalSession()
    remote.upload(path)
    assert remote.listdir() == ["lib.tar"]
    check_doubles(remote.load_module("lib.tar"))
    assert remote.cpu() == tvm.cpu()
    assert remote.device("cpu") == tvm.cpu()
    assert bytes(remote.download("lib.tar")) == Path(path).read_bytes()
    remote.upload(b"text", "note")
    remote.remove("lib.tar")
    assert remote.listdir() == ["note"]
    with pytest.raises(ValueError, match="outside of the folder"):
        remote.download("../lib.tar")
    with pytest.raises(LinkError):
        remote.get_function("test.no such function")


def test_other_machines_are_no_sessions() -> None:
    with pytest.raises(UnsupportedError, match="programs run on this machine only"):
        rpc.connect("10.0.0.1", 9090)
