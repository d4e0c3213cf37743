"""Packages that are installed for a time, in this process, without pip."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...dialects.extensions import forget_extensions


@contextmanager
def installed(site: Path, name: str, entry_points: Mapping[str, str], *folders: Path) -> Generator[None]:
    """A context with the metadata of a package, which is written below `site`, and folders on `sys.path`.

    entry_points: the object of each group, `package.module:OBJECT`; the entry point has the name of the package.
    """
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = (f"[{group}]\n{name} = {value}\n" for group, value in entry_points.items())
    (metadata / "entry_points.txt").write_text("".join(lines))
    added = [str(site), *map(str, folders)]
    sys.path[:0] = added
    forget_extensions()
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)
        forget_extensions()
