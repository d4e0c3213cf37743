"""Graphs as C for microcontrollers: `tvm.micro`. Projects and sessions of boards are absent, a use is an error."""

from __future__ import annotations

import json
import os
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

from ...core.errors import UnsupportedError
from .absent import AbsentName
from .params import save_param_dict
from .relay.building import CGraphModule

VERSION = 7
"""The version of the layout of the archive."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return AbsentName(f"tvm.micro.{name}", "programs run on this machine, in this process: relay.build")


def export_model_library_format(mod: Any, file_name: str | os.PathLike[str]) -> str:
    """Writes a graph that was compiled for the target `c` to an archive in TVM's layout; returns its path.

    The archive has the source in C, `codegen/host/src/default_lib0.c`, whose functions are those of `mod.get_source()`,
    not those of TVM's runtime, the constants, `parameters/default.params`, the graph as JSON, and `metadata.json`.
    UnsupportedError for a graph of another target; OSError.
    """
    if not isinstance(mod, CGraphModule):
        raise UnsupportedError(
            f"export_model_library_format of {type(mod).__name__}, expected a graph of the target 'c'"
        )
    about = {
        "style": ["default"],
        "target": ["c"],
        "functions": {"main": {"workspace_size_bytes": mod.workspace_bytes}},
    }
    contents = {
        "metadata.json": json.dumps({"version": VERSION, "modules": {"default": about}}, indent=2).encode(),
        "codegen/host/src/default_lib0.c": mod.get_source().encode(),
        "executor-config/graph/default.graph": mod.get_graph_json().encode(),
        "parameters/default.params": bytes(save_param_dict(mod.get_params())),
    }
    with tarfile.open(file_name, "w") as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(data)
            archive.addfile(entry, BytesIO(data))
    return str(Path(file_name))


__all__ = ["export_model_library_format"]
