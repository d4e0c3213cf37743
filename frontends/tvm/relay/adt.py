"""The module `tvm.relay.adt`: data types of users, which graphs name but do not compute."""

from ...relay.types import TypeData
from ..absent import report_absent

__getattr__ = report_absent("tvm.relay.adt")

__all__ = ["TypeData"]
