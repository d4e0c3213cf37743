"""`tvm.DataType`: data types by name."""

from __future__ import annotations

from typing import Self

from ....expressions.expr import as_dtype


class DataType(str):
    """A data type: its name, which stands wherever the name of a type is expected, with its parts.

    bits: of a lane.  lanes: the number of lanes. TeError for an unknown name.
    """

    bits: int
    lanes: int

    def __new__(cls, type_str: str) -> Self:
        dtype = as_dtype(type_str)
        self = super().__new__(cls, dtype.name)
        self.bits, self.lanes = dtype.bits, dtype.lanes
        return self

    @property
    def itemsize(self) -> int:
        """The bytes of an element in memory."""
        return as_dtype(self).bytes * self.lanes
