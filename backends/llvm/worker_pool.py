"""The native code that the programs of a process share, linked on first use: the worker pool (`worker_pool.ll`), the
polls of long loops, the calls of Python and of bound functions (`signals.ll`), and the stand-ins of tensors
(`tensors.ll`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import threading
import time
from pathlib import Path

import llvmlite

from ...core.cache import digest, user_cache
from ...core.once import once
from ...core.processors import MOST_THREADS, on_thread_count
from ..runtime.packed import CANCELLED, STATUSES, pending_errors
from ..runtime.python_calls import ALIGNED, CONTIGUOUS, WRITEABLE
from ..runtime.stand_ins import stand_in_symbols
from .engine import NativeModule, ObjectCode, Processor
from .linking import CALL_BOUND, CALL_PYTHON, POLL, RUN_PARALLEL, STAND_IN

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
    "PyObject_Vectorcall", "Py_DecRef", "Py_IncRef", "PyTuple_GetItem", "PyBytes_AsString", "PyEval_SaveThread",
    "PyEval_RestoreThread",
)  # fmt: skip
_POLL_INTERVAL = 200_000_000
"""The nanoseconds between two calls of Python by polls. If other threads of Python are busy, each of these calls may
wait for Python's lock for 5 ms."""


def shared_address(name: str) -> int:
    """The address of `RUN_PARALLEL`, `POLL`, `CALL_PYTHON`, `CALL_BOUND` or `STAND_IN` in this process. Raises
    LinkError if the process has no POSIX threads."""
    return _link().address(name)


@once
def _link() -> NativeModule:
    is_linux = sys.platform == "linux"
    python = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
    main_thread = ctypes.c_uint64(threading.main_thread().ident or 0)
    code = NativeModule(
        [_object_code(_text(is_linux))],
        [RUN_PARALLEL, POLL, CALL_PYTHON, CALL_BOUND, STAND_IN, _SET_THREADS, _RESET],
        (*_PTHREADS, *(_AFFINITY if is_linux else ())),
        {
            **python,
            **stand_in_symbols(),
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
    folder = Path(__file__).parent
    texts = [(folder / name).read_text() for name in ("worker_pool.ll", "signals.ll", "tensors.ll")]
    if is_linux:
        texts.append((folder / "worker_pool_linux.ll").read_text())
    else:
        texts.append("define internal void @stepwell.keep_workers_off_this_cpu() { ret void }\n")
    pause, declaration = _PAUSES.get(platform.machine(), ("", ""))
    texts.append(f"{declaration}\ndefine internal void @stepwell.pause() alwaysinline {{\n  {pause}\n  ret void\n}}\n")
    text = "\n".join(texts)
    for name, value in (
        ("most_workers", MOST_THREADS),
        ("chunks_per_thread", _CHUNKS_PER_THREAD),
        ("polls", _POLLS),
        ("block_signals", int(signal.SIG_BLOCK)),
        ("set_signals", int(signal.SIG_SETMASK)),
        ("cancelled", CANCELLED),
        ("statuses", STATUSES),
        ("poll_interval", _POLL_INTERVAL),
        ("monotonic_clock", time.CLOCK_MONOTONIC),
        ("aligned", ALIGNED),
        ("contiguous", CONTIGUOUS),
        ("writeable", WRITEABLE),
    ):
        text = text.replace(f"{{{name}}}", str(value))
    return text


def _object_code(text: str) -> bytes:
    """The object file of the code, which the cache of the user keeps."""
    store, processor = user_cache(), Processor.host()
    key = f"{digest(text, processor.cpu, processor.features, llvmlite.__version__)}.o"
    kept = None if store is None else store.read("runtime", key)
    if kept is not None:
        return kept
    (image,) = ObjectCode.of([text], processor).images
    if store is not None:
        store.keep("runtime", key, image)
    return image
