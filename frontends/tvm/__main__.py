"""Runs a program for TVM without any change: `python -m stepwell.frontends.tvm [--emulate-gpu] PROGRAM ARGUMENTS`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from .aliases import install
from .children import install_in_children
from .devices import emulate_gpu


def main() -> None:
    """Runs the program named by the first argument. `import tvm` and `import topi` import this package in it, and in
    the processes that it starts.

    `--emulate-gpu` before the program makes `cuda` the emulated GPU; `--emulate-gpu=checked` also reports undefined
    behaviour of kernels.
    """
    del sys.argv[0]
    setup = ""
    if sys.argv[:1] in (["--emulate-gpu"], ["--emulate-gpu=checked"]):
        checks = sys.argv[0].endswith("=checked")
        emulate_gpu(checks)
        setup = f"devices.emulate_gpu({checks})"
        del sys.argv[0]
    if not sys.argv:
        sys.exit("usage: python -m stepwell.frontends.tvm [--emulate-gpu[=checked]] PROGRAM ARGUMENTS")
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    install()
    install_in_children(setup)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
