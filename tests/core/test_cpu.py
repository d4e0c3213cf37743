"""Descriptions of processors."""

from pathlib import Path

import pytest

from stepwell.core import cpu
from stepwell.core.cpu import CPU_MODELS, CpuModel, cpu_of, host_cpu
from stepwell.core.errors import OptionError
from stepwell.core.target import Target


@pytest.mark.parametrize("name", [*CPU_MODELS, "host"])
def test_the_text_of_a_processor_denotes_it(name: str) -> None:
    model = CpuModel.from_text(name)
    assert CpuModel.from_text(str(model)) == model


def test_facts_follow_a_name() -> None:
    model = CpuModel.from_text("avx2,l2_bytes=1048576,fma=0")
    assert (model.vector_bytes, model.l2_bytes, model.fma) == (32, 1 << 20, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("avx3", "unknown processor 'avx3', did you mean"),
        ("avx2,l4_bytes=1", "fact 'l4_bytes=1' of a processor, expected a number of vector_bytes"),
        ("avx2,cores=two", "fact 'cores=two' of a processor"),
        ("avx2,cores=0", "cores 0 of a processor, expected a positive number"),
        ("avx2,vector_bytes=48", "vector_bytes 48 of a processor, expected a power of two"),
    ],
)
def test_an_unknown_processor_is_an_error(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message.replace("(", r"\(")):
        CpuModel.from_text(text)


def test_lanes_are_elements_of_a_register() -> None:
    assert [CPU_MODELS[name].lanes(4) for name in ("sse", "avx2", "avx512", "neon")] == [4, 8, 16, 4]
    assert CPU_MODELS["neon"].lanes(32) == 1


def test_features_of_a_target_determine_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    models = {
        "avx512": cpu._with_features({"avx", "avx512f", "fma"}),
        "avx2": cpu._with_features({"avx", "avx2", "fma"}),
        "avx": cpu._with_features({"avx"}),
        "sse": cpu._with_features({"sse4.2"}),
    }
    for name, model in models.items():
        expected = CPU_MODELS[name]
        assert (model.vector_bytes, model.vector_registers) == (expected.vector_bytes, expected.vector_registers)
        assert model.fma == expected.fma
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert cpu._with_features({"neon"}) == CPU_MODELS["neon"]


@pytest.mark.skipif(not host_cpu().streaming, reason="needs x86-64")
def test_a_named_processor_has_the_registers_that_llvm_uses() -> None:
    sizes = {name: cpu_of(Target(mcpu=name)).vector_bytes for name in ("x86-64", "haswell", "skylake-avx512")}
    assert sizes == {"x86-64": 16, "haswell": 32, "skylake-avx512": 64}
    assert [cpu_of(Target(mcpu=name)).fma for name in ("x86-64", "haswell")] == [False, True]
    assert not cpu_of(Target(mattr=("-avx", "-avx2", "-avx512f", "-fma"))).fma


@pytest.mark.skipif(not host_cpu().streaming, reason="needs x86-64")
def test_vectors_of_512_bits_in_halves_are_updated_one_by_one() -> None:
    named = {name: cpu_of(Target(mcpu=name)).updates_per_cycle for name in ("znver3", "znver4", "sapphirerapids")}
    assert named == {"znver3": 2, "znver4": 1, "sapphirerapids": 2}


@pytest.mark.skipif(not host_cpu().streaming, reason="needs x86-64")
def test_masks_are_those_of_stated_features() -> None:
    assert cpu_of(Target(mcpu="x86-64", mattr=("+avx512bw", "+avx512vl"))).masks
    assert not cpu_of(Target(mcpu="x86-64", mattr=("+avx512bw", "-avx512vl"))).masks
    assert not cpu_of(Target(mcpu="x86-64", mattr=("+avx2",))).masks
    assert cpu_of(Target(mcpu="skylake-avx512")).masks
    assert not cpu_of(Target(mcpu="skylake-avx512", mattr=("-avx512vl",))).masks
    named = {name: cpu_of(Target(mcpu=name)).byte_products for name in ("skylake-avx512", "cascadelake", "znver4")}
    assert named == {"skylake-avx512": False, "cascadelake": True, "znver4": True}


def test_caches_are_those_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = {"1": ("Data", "48K"), "11": ("Instruction", "32K"), "2": ("Unified", "2M"), "3": ("Unified", "broken")}
    for level, (kind, size) in caches.items():
        folder = tmp_path / f"index{level}"
        folder.mkdir()
        for name, text in (("level", level[:1]), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(cpu, "_CACHES", tmp_path)
    assert cpu._cache_sizes() == {"l1_bytes": 48 * 1024, "l2_bytes": 2 * 1024**2}


def test_a_processor_that_llvm_does_not_know_is_reported_and_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    assert not cpu_of(Target(mcpu="no-such-processor")).fma
    assert "'no-such-processor' is not a recognized processor" in capfd.readouterr().err
