"""Runs a program for TVM without any change: `python -m stepwell.frontends.tvm PROGRAM ARGUMENTS`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from .aliases import install


def main() -> None:
    """Runs the program named by the first argument, in which `import tvm` and `import topi` import this package."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m stepwell.frontends.tvm PROGRAM ARGUMENTS")
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    install()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
