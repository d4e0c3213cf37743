"""Models of files as graphs: `tvm.driver.tvmc.frontends`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .....core.errors import ArgumentError, OptionError
from ....mlir import parse_mlir
from ...absent import report_absent
from ...relay.frontend import from_onnx, from_pytorch
from ...relay.parser import parse
from .model import TVMCModel

__getattr__ = report_absent("tvm.driver.tvmc.frontends")

Shapes = Mapping[str, Sequence[Any]]


def load_model(
    path: str | os.PathLike[str],
    model_format: str | None = None,
    shape_dict: Shapes | None = None,
    **kwargs: Any,
) -> TVMCModel:
    """The graph of a model in a file.

    model_format: "onnx", "pytorch" (a file of `torch.jit.save`, which needs the extra `torch` and `shape_dict`),
    "relay" (its text), or "mlir"; by default that of the file's suffix.  shape_dict: shapes of inputs by name.
    kwargs: of `relay.frontend.from_onnx` or `from_pytorch`.  OptionError for another format, OSError.
    """
    file = Path(path)
    name = model_format or _format_of(file)
    if name not in _READERS:
        raise OptionError(f"{file}: format {name!r}, expected {', '.join(get_frontend_names())}")
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    return _READERS[name](file, shape_dict, **kwargs)


def get_frontend_names() -> list[str]:
    """The formats that `load_model` reads."""
    return list(_READERS)


def _format_of(file: Path) -> str:
    if file.suffix not in _SUFFIXES:
        raise OptionError(f"{file}: suffix {file.suffix!r}, expected {', '.join(_SUFFIXES)}, or a model_format")
    return _SUFFIXES[file.suffix]


def _read_onnx(file: Path, shapes: Shapes | None, **options: Any) -> TVMCModel:
    return TVMCModel(*from_onnx(str(file), shapes, **options))


def _read_pytorch(file: Path, shapes: Shapes | None, **options: Any) -> TVMCModel:
    if not shapes:
        raise ArgumentError(f"{file}: a model of PyTorch, expected a shape_dict with the shapes of its inputs")
    torch: Any = import_module("torch")
    return TVMCModel(*from_pytorch(torch.jit.load(str(file)).eval(), list(shapes.items()), **options))


def _read_relay(file: Path, shapes: Shapes | None, **options: Any) -> TVMCModel:
    _refuse_shapes(file, shapes)
    return TVMCModel(parse(file.read_text(), **options))


def _read_mlir(file: Path, shapes: Shapes | None) -> TVMCModel:
    _refuse_shapes(file, shapes)
    return TVMCModel(parse_mlir(file.read_text(), str(file)))


def _refuse_shapes(file: Path, shapes: Shapes | None) -> None:
    if shapes:
        raise ArgumentError(f"{file}: a shape_dict, expected none: the text has the shapes of inputs")


_READERS: dict[str, Callable[..., TVMCModel]] = {
    "onnx": _read_onnx,
    "pytorch": _read_pytorch,
    "relay": _read_relay,
    "mlir": _read_mlir,
}
_SUFFIXES = {".onnx": "onnx", ".pt": "pytorch", ".pth": "pytorch", ".relay": "relay", ".mlir": "mlir"}
