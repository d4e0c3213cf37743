"""The check that this machine can run native code."""

import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stepwell import LoadError, UnsupportedError, build, parse_tvmscript
from stepwell.backends.llvm.engine import Processor, host_triple
from stepwell.backends.llvm.host import check_host
from stepwell.backends.runtime import Program
from stepwell.backends.runtime.code import NativeCode
from stepwell.core.cpu_features import FEATURES_OF_NAMES


def test_code_for_less_than_this_processor_has_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    code = NativeCode((b"",), host_triple(), "x86-64", "", (), {}, {}, ())
    monkeypatch.setattr(Processor, "host", staticmethod(lambda: Processor("haswell", "+avx2,+fma,-avx512f")))
    doubled = "+avx512f,-fma,+avx2,-avx512f"
    for cpu, features in (("x86-64", ""), ("nehalem", "-avx2,-fma,-avx512f"), ("haswell", ""), ("x", doubled)):
        check_host(replace(code, cpu=cpu, features=features), Path("out"))
    with pytest.raises(LoadError, match="made for x86-64-v3 with avx, bmi"):
        check_host(replace(code, cpu="x86-64-v3", features=""), Path("out"))


def test_processors_have_features_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    code = NativeCode((b"",), host_triple(), "broadwell", "", (), {}, {}, ())
    has = "+adx,+avx,+avx2,+bmi,+bmi2,+crc32,+cx16,+f16c,+fma,+lzcnt,+movbe,+pclmul,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2"
    monkeypatch.setattr(Processor, "host", staticmethod(lambda: Processor("znver9", f"{has},+ssse3,+xsave,-pku")))
    for cpu, features in (("broadwell", ""), ("core-avx2", ""), ("nehalem", "+avx"), ("skylake", "-aes")):
        check_host(replace(code, cpu=cpu, features=features), Path("out"))
    for cpu, missing in (("skylake", "aes"), ("znver2", "aes, sha, sse4a"), ("skylake-avx512", "aes, avx512bw")):
        with pytest.raises(LoadError, match=f"made for {cpu} with {missing}"):
            check_host(replace(code, cpu=cpu, features=""), Path("out"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names features of such processors")
def test_programs_for_other_processors_are_saved_and_not_called(tmp_path: Path) -> None:
    known = frozenset[str]().union(*FEATURES_OF_NAMES.values())
    feature = min(known - Processor.host().instructions)  # no processor has sse4a and avx512fp16
    mod = parse_tvmscript(
        "@T.prim_func\ndef main(A: T.Buffer((4,), 'float32')):\n    for i in range(4):\n        A[i] = 1"
    )
    program = build(mod, f"llvm -mattr=+{feature}")
    array = np.zeros(4, "float32")
    for call in (program, program["main"], program["main"].bind, program["main"].time_evaluator()):
        with pytest.raises(
            UnsupportedError, match=rf"function main: made for .* with {feature}, which this machine \("
        ):
            call(array)
    assert not array.any()
    assert "main" in program.source("asm")
    program.export(tmp_path / "main")
    with pytest.raises(LoadError, match=f"with {feature}, which"):
        Program.load(tmp_path / "main")
