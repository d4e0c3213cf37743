"""The module `tvm.relay.adt`: data types of users."""

from ...relay import adt
from ...relay.adt import *  # noqa: F403
from ...relay.types import TypeData
from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.adt")

__all__ = ["TypeData"]
__all__ += adt.__all__
