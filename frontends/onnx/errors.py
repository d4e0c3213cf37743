"""Errors in ONNX models, under the names of this front end."""

from __future__ import annotations

from ..models.errors import ModelError, ModelUnsupportedError

OnnxError = ModelError
"""The error for an invalid model."""
OnnxUnsupportedError = ModelUnsupportedError
"""The error for a valid model that uses a feature unsupported by Stepwell."""


def require_utf8(name: str) -> str:
    """Returns `name`. Raises OnnxError for bytes, which protobuf returns for a name that is not UTF-8."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OnnxError(f"expected a name in UTF-8, got {name!r}")
    return name
