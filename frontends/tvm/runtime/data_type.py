"""`tvm.DataType`: data types by name."""

from __future__ import annotations

import re
from enum import IntEnum
from itertools import takewhile
from typing import Self

from ....expressions.errors import TeError
from ....expressions.expr import as_dtype


class DataTypeCode(IntEnum):
    """The kinds of data types, with DLPack's numbers."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


_CODES = {
    "int": DataTypeCode.INT,
    "uint": DataTypeCode.UINT,
    "bool": DataTypeCode.UINT,
    "handle": DataTypeCode.HANDLE,
    "bfloat": DataTypeCode.BFLOAT,
}
"""The kind of a data type by the letters of its name; others are floats."""


_SMALL_FLOATS = {each.name.lower(): each for each in DataTypeCode if each.name.startswith("Float")}
_INTEGER = re.compile(r"u?int([0-9]+)")


def _is_known(name: str) -> bool:
    try:
        as_dtype(name)
    except TeError:
        return False
    return True


class DataType(str):
    """A data type: its name, which stands wherever the name of a type is expected, with its parts.

    bits: of a lane.  lanes: the number of lanes. Integers may have any number of bits up to 64, `int3`, as elements of
    words that a program packs; no tensor has such elements. TeError for an unknown name.
    """

    bits: int
    lanes: int

    def __new__(cls, type_str: str) -> Self:
        if type_str == "handle":
            self = super().__new__(cls, type_str)
            self.bits, self.lanes = 64, 1
            return self
        if (packed := _INTEGER.fullmatch(type_str)) and 0 < int(packed[1]) <= 64 and not _is_known(type_str):
            self = super().__new__(cls, type_str)
            self.bits, self.lanes = int(packed[1]), 1
            return self
        dtype = as_dtype(type_str)
        self = super().__new__(cls, dtype.name)
        self.bits, self.lanes = dtype.bits, dtype.lanes
        return self

    @property
    def itemsize(self) -> int:
        """The bytes of an element in memory."""
        return -(-self.bits // 8) * self.lanes

    @property
    def type_code(self) -> DataTypeCode:
        """The kind of the data type: of numbers, or of addresses (`handle`)."""
        small = _SMALL_FLOATS.get(self.partition("x")[0].replace("_", ""))
        if small is not None:
            return small
        letters = "".join(takewhile(str.isalpha, self))
        return _CODES.get(letters, DataTypeCode.FLOAT)
