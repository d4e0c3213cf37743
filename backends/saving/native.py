"""Native code as the content of an archive: object files, and all else as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..runtime.code import NativeCode
from ..runtime.signature import (
    BufferParameter,
    Failure,
    FunctionSignature,
    HandleParameter,
    PackedSignature,
    RuntimeParameter,
    ScalarParameter,
)
from .format import NATIVE_LIBRARY, Archive, Contents


def image_name(number: int) -> str:
    """The name of an object file in an archive: `code.o`, `code1.o`, ..."""
    return f"code{number or ''}.o"


def native_contents(code: NativeCode) -> Contents:
    """The contents of an archive of native code."""
    files = {image_name(n): [image] for n, image in enumerate(code.images)}
    return Contents(NATIVE_LIBRARY, {"code": _describe(code)}, files)


_PARAMETERS = {"scalar": ScalarParameter, "handle": HandleParameter, "buffer": BufferParameter}
_KINDS = {cls: kind for kind, cls in _PARAMETERS.items()}


def _describe(code: NativeCode) -> dict[str, Any]:
    """All fields of native code as JSON values; of its images the number."""
    return {
        "images": len(code.images),
        "triple": code.triple,
        "cpu": code.cpu,
        "features": code.features,
        "functions": [_describe_signature(function) for function in code.functions],
        "failures": {str(status): asdict(failure) for status, failure in code.failures.items()},
        "packed": {str(number): _describe_signature(function) for number, function in code.packed.items()},
        "externals": list(code.externals),
    }


def _describe_signature(signature: FunctionSignature | PackedSignature) -> dict[str, Any]:
    parameters = [{"kind": _KINDS[type(each)], **asdict(each)} for each in signature.parameters]
    return {**asdict(signature), "parameters": parameters}


def read_native(archive: Archive) -> NativeCode:
    """The native code of an archive with the contents of `native_contents`, perhaps among others. Raises the errors of
    `reading`.
    """
    fields = archive.content["code"]
    return NativeCode(
        tuple(archive.read(image_name(n)) for n in range(fields["images"])),
        fields["triple"],
        fields["cpu"],
        fields["features"],
        tuple(FunctionSignature(**_read_signature(each)) for each in fields["functions"]),
        {int(status): Failure(**each) for status, each in fields["failures"].items()},
        {int(number): PackedSignature(**_read_signature(each)) for number, each in fields["packed"].items()},
        tuple(fields["externals"]),
    )


def _read_signature(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "parameters": tuple(_read_parameter(**each) for each in fields["parameters"])}


def _read_parameter(kind: str, **fields: Any) -> RuntimeParameter:
    values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in fields.items()}
    return _PARAMETERS[kind](**values)
