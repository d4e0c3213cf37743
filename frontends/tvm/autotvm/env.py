"""The state of the tuners: `tvm.autotvm.env`."""

from __future__ import annotations

from dataclasses import dataclass

from ..absent import report_absent

__getattr__ = report_absent("tvm.autotvm.env")


@dataclass
class AutotvmGlobalScope:
    """The state of the tuners. in_tuning: whether a tuner measures.  silent: whether a template without a record of
    its workload causes no warning."""

    in_tuning: bool = False
    silent: bool = False


GLOBAL_SCOPE = AutotvmGlobalScope()
"""The state of this process."""

__all__ = ["GLOBAL_SCOPE", "AutotvmGlobalScope"]
