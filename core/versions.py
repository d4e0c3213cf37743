"""The versions of the packages that determine results."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("stepwell", "xdsl", "llvmlite", "numpy")


def versions() -> str:
    """The versions of Stepwell and of the packages that determine its results, of Python and of the system."""
    return ", ".join(
        [*_package_versions(), f"Python {platform.python_version()}", f"{sys.platform} {platform.machine()}"]
    )


def _package_versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:  # a checkout that is not installed
            yield f"{name} (not installed)"
