"""The module `tvm.relay.backend.te_compiler`: the compiler of kernels, as programs reset it between builds."""

from __future__ import annotations

from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.backend.te_compiler")


class TECompiler:
    """The compiler of kernels. It keeps no kernel of an earlier build."""

    def clear(self) -> None:
        """Removes kernels of earlier builds, of which there are none."""


def get() -> TECompiler:
    """The compiler of kernels."""
    return TECompiler()


__all__ = ["TECompiler", "get"]
