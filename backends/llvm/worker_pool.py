"""The native code of the worker pool (`worker_pool.ll`), of the polls of long loops and of calls of Python
(`signals.ll`), which the programs of a process share, linked on first use.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import threading
import time

from ...core.once import once
from ...core.processors import MOST_THREADS, on_thread_count
from ..runtime.packed import CANCELLED, STATUSES, pending_errors
from .engine import NativeModule
from .linking import CALL_PYTHON, POLL, RUN_PARALLEL
from .shared_code import python_symbols, read_texts, shared_object

_SET_THREADS, _RESET = "stepwell.set_threads", "stepwell.reset"
_CHUNKS_PER_THREAD = 8
"""The number of chunks of a loop for each thread: iterations may take different times, and a thread may start late."""
_POLLS = 2000
"""The number of times that a thread without work looks for work before it sleeps or yields, some 50 us."""
_PAUSES = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
}
"""The instruction of a thread that polls, and its declaration, by the name of the processor."""
_PTHREADS = (
    "pthread_create", "pthread_detach", "pthread_sigmask", "pthread_mutex_init", "pthread_mutex_lock",
    "pthread_mutex_unlock", "pthread_cond_init", "pthread_cond_wait", "pthread_cond_broadcast", "pthread_self",
    "sched_yield", "clock_gettime",
)  # fmt: skip
_AFFINITY = ("sched_getcpu", "sched_getaffinity", "pthread_setaffinity_np")
"""Functions of Linux."""
_PYTHON = (
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch", "PyErr_NormalizeException",
    "PyErr_Clear", "PyException_SetTraceback", "PyDict_SetItem", "PyLong_FromLongLong", "PyLong_FromVoidPtr",
    "PyObject_Vectorcall", "Py_DecRef",
)  # fmt: skip
_POLL_INTERVAL = 200_000_000
"""The nanoseconds between two calls of Python by polls. If other threads of Python are busy, each of these calls may
wait for Python's lock for 5 ms."""


def shared_address(name: str) -> int:
    """The address of `RUN_PARALLEL`, `POLL` or `CALL_PYTHON` in this process. Raises LinkError if the process has no
    POSIX threads."""
    return _link().address(name)


@once
def _link() -> NativeModule:
    is_linux = sys.platform == "linux"
    main_thread = ctypes.c_uint64(threading.main_thread().ident or 0)
    code = NativeModule(
        [shared_object(_text(is_linux))],
        [RUN_PARALLEL, POLL, CALL_PYTHON, _SET_THREADS, _RESET],
        (*_PTHREADS, *(_AFFINITY if is_linux else ())),
        {
            **python_symbols(_PYTHON),
            "stepwell.pending": id(pending_errors),
            "stepwell.none": id(None),
            "stepwell.main_thread": ctypes.addressof(main_thread),
        },
    )
    # Workers are inside the code until the process ends.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    reset = ctypes.CFUNCTYPE(None)(code.address(_RESET))
    reset()

    def prepare_child() -> None:
        main_thread.value = threading.get_ident()
        reset()

    os.register_at_fork(after_in_child=prepare_child)
    on_thread_count(ctypes.CFUNCTYPE(None, ctypes.c_int32)(code.address(_SET_THREADS)))
    return code


def _text(is_linux: bool) -> str:
    pause, declaration = _PAUSES.get(platform.machine(), ("", ""))
    values = {
        "most_workers": MOST_THREADS,
        "chunks_per_thread": _CHUNKS_PER_THREAD,
        "polls": _POLLS,
        "block_signals": int(signal.SIG_BLOCK),
        "set_signals": int(signal.SIG_SETMASK),
        "cancelled": CANCELLED,
        "statuses": STATUSES,
        "poll_interval": _POLL_INTERVAL,
        "monotonic_clock": time.CLOCK_MONOTONIC,
    }
    names = ["worker_pool.ll", "signals.ll", *(["worker_pool_linux.ll"] if is_linux else [])]
    texts = [read_texts(names, values)]
    if not is_linux:
        texts.append("define internal void @stepwell.keep_workers_off_this_cpu() { ret void }\n")
    texts.append(f"{declaration}\ndefine internal void @stepwell.pause() alwaysinline {{\n  {pause}\n  ret void\n}}\n")
    return "\n".join(texts)
