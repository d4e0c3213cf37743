"""Compilation of CUDA C++, and of the runtime that its kernels call, by g++."""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....core.errors import PluginError, StepwellError
from ....core.once import once

HERE = Path(__file__).parent
RUNTIME_FILES = ("runtime.cpp", "fibres.h", "memory.h", "shadow.h")
RUNTIME_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-shared", "-fno-exceptions")
SOURCE_NAME = "kernels.cu"

# Hooks before accesses, and g++'s own checks. Behaviour that C++ leaves undefined but CUDA defines (overflow, other
# types for the same memory) is defined; products and sums are not contracted.
SANITIZERS = "thread,bounds,alignment,integer-divide-by-zero,shift-exponent,unreachable"
# Only a cast pointer can pass the end of a local array with an index in its bounds. The check takes as long to compile
# as all other code.
CAST_FLAGS = ("-fsanitize=object-size",)
_POINTER_CAST = re.compile(r"\*\s*[>)]")

# Every load is emitted: values just stored by the same thread are not forwarded from registers, and loads are not
# hoisted out of loops.
NO_FORWARDING = (
    "-fno-tree-dominator-opts",
    "-fno-tree-dse",
    "-fno-tree-fre",
    "-fno-tree-loop-im",
    "-fno-tree-sra",
)
KERNEL_FLAGS = (
    "-std=c++20",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-gnu-unique",  # else template variables are shared between all libraries of a process
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-Wframe-larger-than=131072",  # half of a fibre's stack
    "-Werror=frame-larger-than=131072",
)
CHECK_FLAGS = (
    "-O1",
    *NO_FORWARDING,
    "-g1",
    f"-fsanitize={SANITIZERS}",
    "-fno-hoist-adjacent-loads",
    "-fno-tree-cselim",
)
# Results are the same bits: neither flag permits another order or another rounding of operations.
FAST_FLAGS = ("-O2", "-march=native", "-fvect-cost-model=dynamic", "-fno-math-errno", "-fno-trapping-math")
# -nostdlib: else g++ links its own sanitizer library. -Bsymbolic: else a kernel may resolve to a symbol
# of another library.
LINK_FLAGS = ("-shared", "-nostdlib", "-Wl,-z,defs", "-Wl,-Bsymbolic")

STATIC_SHARED_LIMIT = 48 * 1024


class InvalidCudaError(StepwellError):
    """CUDA C++ that does not compile."""


def compiler() -> str | None:
    """The path of g++, None if it is not installed."""
    return shutil.which("g++")


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise PluginError(f"{name} is not installed, which the emulation of CUDA needs: install g++ and binutils")
    return path


def _run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)


# The runtime


@once
def runtime_library() -> Path:
    """The shared library that kernels are linked with, compiled once for each compiler and version of its source.

    It is stored in the user's cache, or in a temporary folder of this process if the cache is not writable.
    """
    gxx = _tool("g++")
    texts = [(HERE / name).read_bytes() for name in RUNTIME_FILES]
    version = _run([gxx, "--version"]).stdout
    settings = [version, platform.machine(), *RUNTIME_FLAGS]
    key = hashlib.sha256(b"\0".join([*texts, *(each.encode() for each in settings)])).hexdigest()[:20]
    folder = _cache_folder()
    library = folder / f"cuda-emulation-{key}.so"
    if not library.is_file():
        # Other processes may do the same: each writes its own file, and renames it atomically.
        unfinished = folder / f"{library.name}.{os.getpid()}"
        completed = _run([gxx, *RUNTIME_FLAGS, HERE / "runtime.cpp", "-o", unfinished])
        if completed.returncode != 0:
            raise PluginError(
                f"g++ cannot compile the runtime of the emulation, expected version 11 or later: {completed.stderr}"
            )
        unfinished.replace(library)
    return library


def _cache_folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stepwell"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        folder = tempfile.mkdtemp(prefix="stepwell-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


# Kernels

_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"
_DYNAMIC_SHARED = re.compile(
    rf"\bextern\s+__shared__([^;{{}}()]*(?:{_PARENTHESES}[^;{{}}()]*)*?\b)(\w+)(\s*\[\s*\])(\s*;)"
)
_CONSTANT = re.compile(r"\b__constant__\s[^;={\[]*?(\w+)\s*[;={\[]")


def compile_kernels(source: str, kernels: Sequence[str], library: Path, checks: bool) -> None:
    """Compiles kernels of a text to a shared library, with checks of each access or optimized. Raises InvalidCudaError
    with g++'s messages if they do not compile.
    """
    file = library.with_name(SOURCE_NAME)
    ends = "".join(f"STEPWELL_KERNEL({name}, ({_launch_bound(source, name)}))\n" for name in kernels)
    file.write_text(f'#line 1 "{SOURCE_NAME}"\n{_with_dynamic_shared(source)}\n#line 1 "kernels"\n{ends}')
    parse = ("-I", HERE, "-include", HERE / "emulation.h", "-x", "c++", file, "-x", "none")
    flags = [*KERNEL_FLAGS, *(CHECK_FLAGS if checks else FAST_FLAGS)]
    if checks and _POINTER_CAST.search(source):
        flags += CAST_FLAGS
    completed = _run(
        [_tool("g++"), *flags, *parse, *LINK_FLAGS, runtime_library(), "-lm", "-lgcc", "-lc", "-o", library]
    )
    if completed.returncode != 0:
        raise InvalidCudaError(f"g++ does not compile the kernels {', '.join(kernels)}:\n{completed.stderr.strip()}")


def _with_dynamic_shared(source: str) -> str:
    """Unifies all `extern __shared__` arrays: each gets the name of the runtime's array. Line numbers are preserved."""
    return _DYNAMIC_SHARED.sub(r'extern\1\2\3 __asm__("stepwell_dynamic_shared")\4', source)


def dynamic_shared_name(source: str) -> str:
    """The name of dynamic shared memory in errors: its name in the text, if unique."""
    names = {match[2] for match in _DYNAMIC_SHARED.finditer(source)}
    return names.pop() if len(names) == 1 else "dynamic shared memory"


def constant_names(source: str) -> set[str]:
    """The names of `__constant__` variables."""
    return set(_CONSTANT.findall(source))


def _launch_bound(source: str, kernel: str) -> str:
    """The argument of `__launch_bounds__` of a kernel, as text; by default the maximum."""
    for match in re.finditer(r"\b__launch_bounds__\s*\(", source):
        arguments, rest = _split_parentheses(source[match.end() :])
        if arguments and re.match(rf"\s*(?:\w+\s+)*{kernel}\s*\(", rest):
            return arguments[0]
    return "1024"


def parameter_names(source: str, kernel: str) -> list[str]:
    """The names of a kernel's parameters, [] if they cannot be parsed."""
    match = re.search(rf"\b{kernel}\s*\(", source)
    if match is None:
        return []
    words = [re.findall(r"\w+", text) for text in _split_parentheses(source[match.end() :])[0]]
    return [each[-1] for each in words] if all(words) else []


def _split_parentheses(text: str) -> tuple[list[str], str]:
    """The texts between commas up to the closing parenthesis of the text's level, and the text after it."""
    parts, depth, begin = list[str](), 0, 0
    for position, letter in enumerate(text):
        if letter in ",)" and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
            if letter == ")":
                return parts if any(part.strip() for part in parts) else [], text[begin:]
        depth += (letter in "([{") - (letter in ")]}")
    return [], ""


# Compiled code


@dataclass(frozen=True)
class LibraryVariable:
    """A variable of a compiled library. address: relative to the library's base.  section: "" if it has none."""

    name: str
    address: int
    size: int
    section: str


def library_variables(library: Path) -> list[LibraryVariable]:
    """The variables of a library, including static variables of functions."""
    return list(_symbols(_run([_tool("nm"), "-C", "-f", "sysv", "--defined-only", library]).stdout))


def _symbols(table: str) -> Iterator[LibraryVariable]:
    for line in table.splitlines():
        # A name may contain the separator, so the columns are split from the right.
        columns = [each.strip() for each in line.rsplit("|", 6)]
        if len(columns) == 7 and columns[3] in ("OBJECT", "NOTYPE"):
            name, address, _, _, size, _, section = columns
            yield LibraryVariable(name, int(address, 16), int(size, 16) if size else 0, section)


def source_line(library: Path, address: int) -> int | None:
    """The source line of an address: the innermost inlined position in the kernels' text, not in a header."""
    output = _run([_tool("addr2line"), "-i", "-e", library, hex(address)]).stdout
    match = re.search(rf"^(?:.*/)?{re.escape(SOURCE_NAME)}:(\d+)", output, re.M)
    return int(match[1]) if match else None
