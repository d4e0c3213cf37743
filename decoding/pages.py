"""Pages that sequences share, counted by the sequences that refer to them."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import OutOfMemoryError


class PagePool:
    """The numbers of pages, each free or with one or more owners. A page is free once its last owner releases it."""

    def __init__(self, count: int):
        self.owners = [0] * count
        self._free = list(reversed(range(count)))

    @property
    def free(self) -> Sequence[int]:
        """The pages without owners."""
        return self._free

    def require(self, count: int) -> None:
        """Raises OutOfMemoryError unless `count` pages are free."""
        if count > len(self._free):
            raise OutOfMemoryError(
                f"key-value cache: {count} pages needed, {len(self._free)} of {len(self.owners)} are free"
            )

    def take(self) -> int:
        """A free page, which has one owner from now on. Raises OutOfMemoryError if no page is free."""
        self.require(1)
        page = self._free.pop()
        self.owners[page] = 1
        return page

    def share(self, page: int) -> None:
        """Adds an owner to a page that has one."""
        assert self.owners[page] > 0
        self.owners[page] += 1

    def release(self, page: int) -> None:
        """Removes an owner of a page."""
        assert self.owners[page] > 0
        self.owners[page] -= 1
        if self.owners[page] == 0:
            self._free.append(page)
