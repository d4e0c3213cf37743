"""Calls and builds without memory or space on the disk: errors or warnings, and a process that goes on."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

COMMON = '''
import os, resource, sys, warnings
from pathlib import Path
import numpy as np
import stepwell

def program(text):
    return stepwell.build(stepwell.parse_tvmscript(text, filename="large.py"))

def limit_memory(more):
    """Limits the address space to some bytes more than the process uses."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))

SCALE = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.parallel(64):
        B[i] = A[i] * T.float32({factor})
"""
'''


def test_a_call_without_memory_is_an_error_that_names_the_buffer(execute: Callable[..., list[str]]) -> None:
    lines = execute("""
        large = program('''
        @T.prim_func
        def main(A: T.Buffer((4,), "int8"), n: T.int64):
            big = T.alloc_buffer((T.int64(1 << 30),), "int8")
            for i in range(n):
                big[i] = T.int8(5)
            A[0] = big[n - T.int64(1)]
        ''')["main"]
        small = program(SCALE.format(factor=3))["main"]
        a, x = np.zeros(4, "int8"), np.arange(64, dtype="float32")
        limit_memory(1 << 28)
        for _ in range(3):
            try:
                large(a, 100)
            except MemoryError as error:
                print(type(error) is stepwell.OutOfMemoryError, str(error).partition(" (called")[0])
            y = np.zeros(64, "float32")
            small(x, y)
            print((y == 3 * x).all())
        limit_memory(1 << 32)
        large(a, 100)
        print(a[0])
    """)
    message = "main: out of memory for workspace of 1073741824 bytes at large.py:3:5"
    assert lines == [f"True {message}", "True"] * 3 + ["5"]


def test_a_parallel_loop_runs_without_memory_for_workers(execute: Callable[..., list[str]]) -> None:
    lines = execute("""
        main = program(SCALE.format(factor=3))["main"]
        x, y = np.arange(64, dtype="float32"), np.zeros(64, "float32")
        stepwell.set_num_threads(64)
        limit_memory(1 << 25)
        main(x, y)
        print((y == 3 * x).all())
    """)
    assert lines == ["True"]


def test_a_full_disk_is_a_warning_of_the_build(execute: Callable[..., list[str]], tmp_path: Path) -> None:
    """A file that may not grow stands for a full disk: the same call of the system fails."""
    lines = execute(
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        x = np.arange(64, dtype="float32")
        for factor in (2, 3):
            y = np.zeros(64, "float32")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                program(SCALE.format(factor=factor))["main"](x, y)
            print((y == factor * x).all(), sorted({str(each.message).split()[2] for each in caught}))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print([str(path) for path in Path(sys.argv[1]).rglob("*") if not path.is_dir() or path.name[0] == "."])
        program(SCALE.format(factor=4))["main"](x, y)
        print(len(list(Path(sys.argv[1], "program").iterdir())))
        """,
        str(tmp_path),
        STEPWELL_CACHE=str(tmp_path),
    )
    assert lines == ["True ['program', 'runtime']", "True ['program']", "[]", "1"]


def test_a_folder_that_cannot_be_made_is_a_warning_of_the_build(
    execute: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    lines = execute(
        """
        x, y = np.arange(64, dtype="float32"), np.zeros(64, "float32")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program(SCALE.format(factor=2))["main"](x, y)
        print((y == 2 * x).all(), len(caught) > 0)
        """,
        STEPWELL_CACHE=str(tmp_path / "file" / "cache"),
    )
    assert lines == ["True True"]


def test_an_export_to_a_full_disk_leaves_the_old_program(execute: Callable[..., list[str]], tmp_path: Path) -> None:
    lines = execute(
        """
        from stepwell.backends.runtime import Program
        path = Path(sys.argv[1], "program.tar")
        program(SCALE.format(factor=2)).export(path)
        new = program(SCALE.format(factor=3))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        try:
            new.export(path)
        except OSError as error:
            print(os.strerror(error.errno))
        print([each.name for each in path.parent.iterdir()])
        x, y = np.arange(64, dtype="float32"), np.zeros(64, "float32")
        Program.load(path)(x, y)
        print((y == 2 * x).all())
        """,
        str(tmp_path),
    )
    assert lines == ["File too large", "['program.tar']", "True"]
