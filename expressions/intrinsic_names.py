"""The names of functions on numbers, and the names that TVM has for them."""

from __future__ import annotations

PREFIX = "tir."
"""The prefix of TVM's names of intrinsics."""
TVM_NAMES = {
    "abs": "fabs", "power": "pow", "shl": "shift_left", "shr": "shift_right", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor",
}  # fmt: skip
"""The names of intrinsics that TVM calls otherwise, without its prefix."""
_OWN_NAMES = {name: own for own, name in TVM_NAMES.items() if name != "pow"}  # a name of its own


class IntrinsicName(str):
    """The name of a function on numbers, the `op` of a `Call`. name: TVM's, `tir.exp`."""

    __slots__ = ()

    @staticmethod
    def of(name: str) -> IntrinsicName:
        """The name of a function that has a name of TVM, `tir.fabs`; the prefix may be missing."""
        bare = name.removeprefix(PREFIX)
        return IntrinsicName(_OWN_NAMES.get(bare, bare))

    @property
    def intrinsic(self) -> str:
        """TVM's name without its prefix."""
        return TVM_NAMES.get(self, self)

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.intrinsic}"

    def same_as(self, other: object) -> bool:
        """Whether a function is the same."""
        return self == other


__all__ = ["PREFIX", "TVM_NAMES", "IntrinsicName"]
