"""The check that this machine can run native code."""

from dataclasses import replace
from pathlib import Path

import pytest

from stepwell import LoadError
from stepwell.backends.llvm.engine import Processor, host_triple
from stepwell.backends.llvm.host import check_host
from stepwell.backends.runtime.code import NativeCode


def test_code_for_less_than_this_processor_has_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    code = NativeCode((b"",), host_triple(), "x86-64", "", (), {}, {}, ())
    monkeypatch.setattr(Processor, "host", staticmethod(lambda: Processor("haswell", "+avx2,+fma,-avx512f")))
    doubled = "+avx512f,-fma,+avx2,-avx512f"
    for cpu, features in (("x86-64", ""), ("nehalem", "-avx2,-fma,-avx512f"), ("haswell", ""), ("x", doubled)):
        check_host(replace(code, cpu=cpu, features=features), Path("out"))
    with pytest.raises(LoadError, match="made for x86-64-v3 with avx, bmi"):
        check_host(replace(code, cpu="x86-64-v3", features=""), Path("out"))
