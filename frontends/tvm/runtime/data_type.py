"""`tvm.DataType`: data types by name."""

from __future__ import annotations

from enum import IntEnum
from itertools import takewhile
from typing import Self

from ....expressions.expr import as_dtype


class DataTypeCode(IntEnum):
    """The kinds of data types, with DLPack's numbers."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


_CODES = {
    "int": DataTypeCode.INT,
    "uint": DataTypeCode.UINT,
    "bool": DataTypeCode.UINT,
    "handle": DataTypeCode.HANDLE,
    "bfloat": DataTypeCode.BFLOAT,
}
"""The kind of a data type by the letters of its name; others are floats."""


class DataType(str):
    """A data type: its name, which stands wherever the name of a type is expected, with its parts.

    bits: of a lane.  lanes: the number of lanes. TeError for an unknown name.
    """

    bits: int
    lanes: int

    def __new__(cls, type_str: str) -> Self:
        if type_str == "handle":
            self = super().__new__(cls, type_str)
            self.bits, self.lanes = 64, 1
            return self
        dtype = as_dtype(type_str)
        self = super().__new__(cls, dtype.name)
        self.bits, self.lanes = dtype.bits, dtype.lanes
        return self

    @property
    def itemsize(self) -> int:
        """The bytes of an element in memory."""
        return 8 if self == "handle" else as_dtype(self).bytes * self.lanes

    @property
    def type_code(self) -> DataTypeCode:
        """The kind of the data type: of numbers, or of addresses (`handle`)."""
        letters = "".join(takewhile(str.isalpha, self))
        return _CODES.get(letters, DataTypeCode.FLOAT)
