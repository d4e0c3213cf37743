"""The supported part of `tvm.contrib`."""

from ..absent import report_absent
from . import (
    cblas,
    cc,
    clang,
    debugger,
    dlpack,
    download,
    graph_executor,
    graph_runtime,
    ndk,
    nvcc,
    pickle_memoize,
    random,
    relay_viz,
    sparse,
    tar,
    tedd,
    util,
    utils,
    xcode,
)

__getattr__ = report_absent("tvm.contrib")

__all__ = [
    "cblas",
    "cc",
    "clang",
    "debugger",
    "dlpack",
    "download",
    "graph_executor",
    "graph_runtime",
    "ndk",
    "nvcc",
    "pickle_memoize",
    "random",
    "relay_viz",
    "sparse",
    "tar",
    "tedd",
    "util",
    "utils",
    "xcode",
]
