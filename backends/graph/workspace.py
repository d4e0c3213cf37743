"""The memory that the tensors of graphs share during a run."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...core.dtypes import numpy_dtype
from ...core.errors import ExecutionError
from ...core.sizes import byte_count
from ..devices.device import Device, cpu
from ..devices.nd import DeviceArray, HostArray, NDArray
from .executable import allocate_array

if TYPE_CHECKING:
    from .executor import GraphExecutor


def part_of(memory: NDArray, offset: int, shape: tuple[int, ...], dtype: str) -> NDArray:
    """The tensor at an offset, in bytes, in an array of bytes."""
    kind = numpy_dtype(dtype)
    layout = memory.layout[offset : offset + byte_count(shape, kind.itemsize)].view(kind).reshape(shape)
    if isinstance(memory, DeviceArray):
        return DeviceArray(memory.device, layout, memory, memory.context)
    return HostArray(layout)


class Workspace:
    """The memory of intermediate results, which executors on one device may share: `GraphExecutor(..., workspace=w)`.

    It is as large as the largest graph of its executors needs. A run waits for the run of an executor with the same
    workspace in another thread. On a GPU, this orders the launches alone: runs on several streams must not overlap.
    """

    def __init__(self, device: Device | None = None) -> None:
        """device: by default the CPU."""
        self.device = device or cpu()
        self.lock = threading.RLock()
        """Is held during a run."""
        self.is_running = False
        """Whether a graph runs, in the thread that holds the lock."""
        self._memory: NDArray | None = None
        self._executors: weakref.WeakSet[GraphExecutor] = weakref.WeakSet()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return 0 if self._memory is None else self._memory.shape[0]

    def part(self, offset: int, shape: tuple[int, ...], dtype: str) -> NDArray:
        """The tensor at an offset in bytes. An executor that joins may replace the memory by more."""
        assert self._memory is not None
        return part_of(self._memory, offset, shape, dtype)

    @contextmanager
    def running(self) -> Generator[None]:
        """The run of a graph, which waits for runs in other threads. Raises ExecutionError inside of another run."""
        with self.lock:
            if self.is_running:
                raise self.error()
            self.is_running = True
            try:
                yield
            finally:
                self.is_running = False

    def error(self) -> ExecutionError:
        """The error of a run inside of another run."""
        return ExecutionError("run of a graph inside of a run with the same workspace, expected another executor")

    def join(self, executor: GraphExecutor, size: int) -> None:
        """Adds an executor, whose graph needs a number of bytes. Waits for the end of a run. Raises DeviceError and
        MemoryError if there is not enough memory; the workspace stays as it is then.
        """
        with self.lock:
            if self._memory is None or size > self.size:
                self._memory = allocate_array([size], "uint8", self.device, "workspace")
                for each in self._executors:
                    each.forget_workspace()
            self._executors.add(executor)
