"""Saving and loading of native code, and the check that this machine can run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...core.errors import LoadError, UnsupportedError
from ..runtime.archive import Archive, reading, write_archive
from ..runtime.code import NativeCode
from ..runtime.program import Program
from ..runtime.signature import (
    BufferParameter,
    Failure,
    FunctionSignature,
    HandleParameter,
    PackedSignature,
    Parameter,
    ScalarParameter,
)
from .compile import link_code
from .engine import Processor, host_triple

IMAGE = "code.o"
KIND = "library"


def save_library(library: Program, path: Path) -> None:
    """Implements `Program.export`."""
    code = code_of(library)
    write_archive(path, KIND, {"code": describe_code(code)}, {IMAGE: [code.image]})


def load_library(path: Path, symbols: Mapping[str, int] | None = None) -> Program:
    """Implements `Program.load`."""
    with reading(path):
        code = read_code(Archive(path, KIND))
    return link_code(code, symbols=symbols)


def code_of(library: Program) -> NativeCode:
    """The native code of a library. Raises UnsupportedError if the library has none."""
    if library.code is None:
        raise UnsupportedError("a library of Python's functions cannot be saved, expected one of native code")
    return library.code


# As JSON

_PARAMETERS = {"scalar": ScalarParameter, "handle": HandleParameter, "buffer": BufferParameter}
_KINDS = {cls: kind for kind, cls in _PARAMETERS.items()}


def describe_code(code: NativeCode) -> dict[str, Any]:
    """All fields of native code except its image, as JSON values."""
    return {
        "triple": code.triple,
        "cpu": code.cpu,
        "features": code.features,
        "functions": [_describe_signature(function) for function in code.functions],
        "failures": [asdict(failure) for failure in code.failures],
        "packed": [_describe_signature(function) for function in code.packed],
        "externals": list(code.externals),
    }


def _describe_signature(signature: FunctionSignature | PackedSignature) -> dict[str, Any]:
    parameters = [{"kind": _KINDS[type(each)], **asdict(each)} for each in signature.parameters]
    return {**asdict(signature), "parameters": parameters}


def read_code(archive: Archive) -> NativeCode:
    """The native code of an archive. Raises LoadError if this machine cannot run it."""
    fields = archive.content["code"]
    code = NativeCode(
        archive.read(IMAGE),
        fields["triple"],
        fields["cpu"],
        fields["features"],
        tuple(FunctionSignature(**_read_signature(each)) for each in fields["functions"]),
        tuple(Failure(**each) for each in fields["failures"]),
        tuple(PackedSignature(**_read_signature(each)) for each in fields["packed"]),
        tuple(fields["externals"]),
    )
    check_host(code, archive.path)
    return code


def _read_signature(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "parameters": tuple(_read_parameter(**each) for each in fields["parameters"])}


def _read_parameter(kind: str, **fields: Any) -> Parameter:
    values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in fields.items()}
    return _PARAMETERS[kind](**values)


# Processors

_V2 = "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
_LEVELS = {
    "generic": "",
    "x86-64": "",
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""The features of the processors with these names, as defined by the psABI of x86-64."""


def check_host(code: NativeCode, path: Path) -> None:
    """Raises LoadError unless this machine has all features that native code was compiled for."""
    if code.triple != host_triple():
        raise LoadError(f"{path}: made for {code.triple}, this machine is {host_triple()}")
    host = Processor.host()
    needed, has = _enabled(code.features), _enabled(host.features)
    if code.cpu in _LEVELS:
        needed |= set(_LEVELS[code.cpu].split())
    elif code.cpu != host.cpu and not _names(code.features) >= _names(host.features):
        raise LoadError(f"{path}: made for {code.cpu}, whose features it does not say, this machine is {host.cpu}")
    missing = sorted(needed - has)
    if missing:
        raise LoadError(
            f"{path}: made for {code.cpu} with {', '.join(missing)}, which this machine ({host.cpu}) does not have"
        )


def _enabled(features: str) -> set[str]:
    """The enabled features; the last occurrence of each feature counts."""
    signs = {name[1:]: name[0] for name in features.split(",") if name}
    return {name for name, sign in signs.items() if sign == "+"}


def _names(features: str) -> set[str]:
    return {name[1:] for name in features.split(",") if name}
