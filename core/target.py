"""Compilation targets in TVM's syntax: `llvm -mcpu=skylake-avx512 -libs=cblas`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .diagnostics import did_you_mean
from .errors import OptionError, UnsupportedError
from .plugins import library_names

_OPTIONS = {
    "llvm": {
        "mcpu": "mcpu",
        "mattr": "mattr",
        "num-cores": "num_cores",
        "fast-math-contract": "contract",
        "libs": "libs",
        "debug": "debug",
    },
    "cuda": {
        "arch": "arch",
        "max_num_threads": "max_num_threads",
        "fast-math-contract": "contract",
        "libs": "libs",
    },
    "cuda-emulated": {"checks": "checks", "fast-math-contract": "contract"},
}
"""The options of each target kind in printing order, each with the field of `Target` that holds its value."""
_WORD = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class Target:
    """The processor or GPU that programs are compiled for, and options of the compilation.

    kind: `llvm`, a processor, `cuda`, a GPU, or `cuda-emulated`.  mcpu, mattr: LLVM's names of the processor and of its
    features (`+avx2`); by default those of this machine.  num_cores: the number of cores that a library may use.  arch:
    the architecture of the GPU, `sm_90`.  max_num_threads: the maximum number of threads of a thread block.  contract:
    whether a multiplication and an addition may be contracted into one instruction with a single rounding
    (`-fast-math-contract=1`); None for those of the sums of default schedules.  libs: the libraries to offload
    operations to, by descending priority.  debug: 1 for native code with debug information, 2 for code that is not
    optimized besides.  checks: whether the emulation checks each access of a kernel (`-checks=0` for programs of
    billions of accesses).

    OptionError for an invalid value and for an option that the kind does not have.
    """

    kind: str = "llvm"
    mcpu: str = ""
    mattr: tuple[str, ...] = ()
    num_cores: int = 1
    arch: str = ""
    max_num_threads: int = 1024
    contract: bool | None = None
    libs: tuple[str, ...] = ()
    debug: int = 0
    checks: bool = True

    def __post_init__(self) -> None:
        _check_name("kind", self.kind, _OPTIONS)
        allowed = _OPTIONS[self.kind]
        options = [name for name in _KIND_SPECIFIC if getattr(self, name) != _DEFAULTS[name] and name not in allowed]
        if options:
            raise OptionError(
                f"target {self.kind} has no option {options[0]!r} (there are {', '.join(allowed) or 'none'})"
            )
        if self.num_cores < 1:
            raise OptionError(f"num-cores {self.num_cores}, expected a positive number")
        if self.debug not in (0, 1, 2):
            raise OptionError(f"debug {self.debug}, expected 0, 1 or 2")
        if not 1 <= self.max_num_threads <= 1024:
            raise OptionError(f"max_num_threads {self.max_num_threads}, expected 1 to 1024")
        for word in filter(None, (self.mcpu, self.arch, *self.mattr)):
            if not _WORD.fullmatch(word):
                raise OptionError(f"{word!r} is no name of a processor or feature")
        for library in self.libs:
            _check_name("library", library, library_names())

    @staticmethod
    def from_value(value: Target | str | Mapping[str, Any]) -> Target:
        """The target denoted by a `Target`, text, a dictionary (`{"kind": "llvm", "libs": ["cblas"]}`) or its JSON."""
        if isinstance(value, Target):
            return value
        if not isinstance(value, str):
            return _from_mapping(value)
        return _from_mapping(_read_json(value)) if value.lstrip().startswith("{") else _from_text(value)

    @property
    def options(self) -> dict[str, str | int | tuple[str, ...]]:
        """The options with non-default values, by TVM's names."""
        fields = _OPTIONS[self.kind].items()
        return {name: getattr(self, field) for name, field in fields if getattr(self, field) != _DEFAULTS[field]}

    def require_processor(self, feature: str) -> None:
        """Raises UnsupportedError for a feature of native code if the target is a GPU."""
        if self.kind != "llvm":
            raise UnsupportedError(f"target {self} does not support {feature}, expected llvm")

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"-{name}={_text(value)}" for name, value in self.options.items())])


_KIND_SPECIFIC = ("mcpu", "mattr", "arch", "max_num_threads", "libs", "debug", "checks")
_DEFAULTS = {name: field.default for name, field in Target.__dataclass_fields__.items()}


def _text(value: str | int | tuple[str, ...]) -> str:
    """The value of an option as text."""
    return ",".join(value) if isinstance(value, tuple) else str(int(value) if isinstance(value, bool) else value)


def _check_name(what: str, name: str, known: Iterable[str]) -> None:
    known = sorted(known)
    if name not in known:
        raise OptionError(
            f"unknown {what} {name!r}{did_you_mean(name, known)} (there are {', '.join(known) or 'none'})"
        )


def _from_text(text: str) -> Target:
    kind, *words = text.split() or [""]
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not equals or not value:
            raise OptionError(f"target {text!r}: {word!r}, expected -name=value")
        if name in options:
            raise OptionError(f"target {text!r}: {name} is said twice")
        options[name] = value
    return _from_mapping({"kind": kind, **options})


def _read_json(text: str) -> Mapping[str, Any]:
    try:
        config = json.loads(text)
    except json.JSONDecodeError as error:
        raise OptionError(f"target {text!r} is no JSON: {error}") from None
    return config


def _from_mapping(mapping: Mapping[str, Any]) -> Target:
    if not isinstance(mapping, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"target {mapping!r}, expected text, a dictionary or a Target")
    kind = mapping.get("kind", "")
    _check_name("kind", str(kind), _OPTIONS)
    fields = {name: value for name, value in mapping.items() if name != "kind"}
    for name in fields:
        _check_name(f"option of {kind}", str(name), _OPTIONS[kind])
    read: dict[str, Any] = {_OPTIONS[kind][name]: _READERS[name](name, value) for name, value in fields.items()}
    return Target(kind, **read)


def _words(name: str, value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word for word in words):
        raise OptionError(f"{name} {value!r}, expected names with commas between them")
    return tuple(words)


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise OptionError(f"{name} {value!r}, expected a name")
    return value


def _count(name: str, value: Any) -> int:
    if not isinstance(value, bool) and re.fullmatch(r"\d+", str(value)):
        return int(value)
    raise OptionError(f"{name} {value!r}, expected a positive number")


def _flag(name: str, value: Any) -> bool:
    if str(value) not in ("0", "1", "False", "True"):
        raise OptionError(f"{name} {value!r}, expected 0 or 1")
    return str(value) in ("1", "True")


_READERS = {
    "mcpu": _word,
    "mattr": _words,
    "num-cores": _count,
    "arch": _word,
    "max_num_threads": _count,
    "fast-math-contract": _flag,
    "libs": _words,
    "debug": _count,
    "checks": _flag,
}
