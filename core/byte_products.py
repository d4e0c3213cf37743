"""Sums of products of bytes, four of which an instruction adds to each lane of a vector."""

GROUP = 4
"""The bytes whose products an instruction adds to one sum."""
SUMS = (4, 8, 16)
"""The numbers of sums of an instruction, by the width of its vectors."""


def bytes_of_windows(sums: int, step: int, far: int) -> int:
    """The bytes from the first to the last of four taps of each of some windows along a row.

    sums: the number of windows.  step, far: their stride and their dilation.
    """
    return (sums - 1) * step + (GROUP - 1) * far + 1
