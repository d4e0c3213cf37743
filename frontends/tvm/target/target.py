"""`Target`: TVM's targets over `stepwell.Target`."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from ....core import target as core
from ....core.diagnostics import did_you_mean
from ....core.errors import OptionError, UnsupportedError
from ..devices import EMULATED, emulated_target, is_gpu_emulated
from .tags import TAGS

_KEYS = {
    "llvm": ("cpu",),
    "c": ("cpu",),
    "cuda": ("cuda", "gpu"),
    "cuda-emulated": ("cuda", "gpu"),
    "nvptx": ("cuda", "gpu"),
    "rocm": ("rocm", "gpu"),
    "opencl": ("opencl", "gpu"),
    "metal": ("metal", "gpu"),
    "vulkan": ("vulkan", "gpu"),
    "webgpu": ("webgpu", "gpu"),
    "opengl": ("opengl",),
    "sdaccel": ("sdaccel", "hls"),
    "aocl": ("aocl", "hls"),
    "aocl_sw_emu": ("aocl", "hls"),
    "hexagon": ("hexagon", "cpu"),
    "ext_dev": ("ext_dev",),
    "hybrid": ("hybrid",),
    "stackvm": ("cpu",),
}
"""The kinds of TVM's targets, each with its default keys."""
_COMPILED = {
    "llvm": ("mcpu", "mattr", "num-cores", "fast-math-contract", "libs", "debug"),
    "cuda": ("arch", "max_num_threads", "fast-math-contract", "libs"),
    "cuda-emulated": ("checks", "fast-math-contract"),
    "c": ("mcpu", "mattr"),
}
"""The kinds that Stepwell compiles for, each with the options that change its code."""
_DESCRIPTIVE = (
    "device", "model", "tag", "mtriple", "mabi", "mfloat-abi", "runtime", "system-lib", "link-params", "executor",
    "interface-api", "unpacked-api", "opt-level", "fast-math", "fast-math-nnan", "fast-math-ninf", "fast-math-nsz",
    "fast-math-arcp", "fast-math-reassoc", "max_threads_per_block", "max_shared_memory_per_block",
    "shared_memory_per_block", "thread_warp_size", "registers_per_block", "l2_cache_size_bytes", "supports_float16",
    "max_function_args", "texture_spatial_limit", "image_base_address_alignment", "vector-width", "jit", "cl-opt",
    "from_device",
)  # fmt: skip
"""Options that describe a target, or select what Stepwell decides by itself; they are kept as attributes."""


@dataclass(frozen=True)
class TargetKind:
    """The kind of a target: its name."""

    name: str

    @property
    def default_keys(self) -> list[str]:
        """The keys of a target of the kind without options."""
        return list(_KEYS[self.name])

    def __str__(self) -> str:
        return self.name


class Target:
    """A target of a compilation: `Target("llvm -mcpu=skylake-avx512")`, a dictionary with the key `kind`, JSON, or a
    tag (`Target("nvidia/nvidia-a100")`). `with target:` makes a target the current one.

    kind: the kind, with a name.  keys: names of the families of operators that suit the target.  attrs: the options by
    name.  host: the target of the host's code, or None. Options are attributes too: `target.mcpu`. Targets of kinds
    that Stepwell does not compile for can be created and compared, not built for. OptionError for an unknown kind or
    option.
    """

    _entered: list[Target] = []

    def __init__(self, target: TargetLike, host: TargetLike | None = None):
        config = dict(_config(target))
        inner = config.pop("host", None)
        self.kind = TargetKind(str(config.pop("kind", "")))
        if self.kind.name not in _KEYS:
            kinds = ", ".join(_KEYS)
            raise OptionError(
                f"unknown kind {self.kind.name!r}{did_you_mean(self.kind.name, _KEYS)} (there are {kinds})"
            )
        self.tag = str(config.pop("tag", ""))
        keys = config.pop("keys", None)
        device = config.get("device")
        words = keys.split(",") if isinstance(keys, str) else list(keys or ())
        own = [word for word in (*words, *([device] if device else [])) if word]
        self.keys = list(dict.fromkeys([*own, *_KEYS[self.kind.name]]))
        self.attrs: dict[str, Any] = config
        self.host = Target(host) if host is not None else Target(inner) if inner is not None else None
        self._check_options()

    def _check_options(self) -> None:
        if self.kind.name not in _COMPILED:
            return
        known = (*_COMPILED[self.kind.name], *_DESCRIPTIVE)
        for name in self.attrs:
            if name not in known:
                raise OptionError(f"target {self.kind.name} has no option {name!r}{did_you_mean(name, known)}")
        if self.is_local:
            self.compiled

    @property
    def is_local(self) -> bool:
        """Whether this machine can compile for the target."""
        triple = str(self.attrs.get("mtriple", ""))
        if self._is_emulated:
            return True
        return self.kind.name in _COMPILED and (not triple or triple.partition("-")[0] in _machines())

    @property
    def _is_emulated(self) -> bool:
        """Whether the target is a GPU without a code generator that the emulated GPU stands for."""
        return is_gpu_emulated() and self.kind.name in EMULATED

    @property
    def compiled(self) -> core.Target:
        """The target as Stepwell compiles for it. UnsupportedError for a kind or a machine without a code generator."""
        if not self.is_local:
            triple = self.attrs.get("mtriple")
            what = f"machine {triple}" if self.kind.name in _COMPILED else f"kind {self.kind.name}"
            raise UnsupportedError(f"target {self}: no code generator for {what}, expected {', '.join(_COMPILED)} here")
        if self._is_emulated:
            return emulated_target({})
        if self.kind.name == "c":  # the options are those of the user's compiler
            return core.Target.from_value("llvm")
        if self.kind.name == "cuda" and is_gpu_emulated():
            return emulated_target(self._options("cuda-emulated"))
        return core.Target.from_value({"kind": self.kind.name, **self._options(self.kind.name)})

    def _options(self, kind: str) -> dict[str, Any]:
        """The options of the target that change the code for a kind."""
        return {name: value for name, value in self.attrs.items() if name in _COMPILED[kind]}

    # Attributes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of copies, which ask before there are options
            raise AttributeError(name)
        attrs = self.__dict__.get("attrs", {})
        if name in attrs:
            return attrs[name]
        dashed = name.replace("_", "-")
        if dashed in attrs:
            return attrs[dashed]
        if name in _ATTRIBUTES:
            return _ATTRIBUTES[name](self)
        raise AttributeError(f"target {self} has no option {name!r}")

    @property
    def libs(self) -> list[str]:
        """The names of the libraries that compute operators."""
        libs = self.attrs.get("libs", ())
        return libs.split(",") if isinstance(libs, str) else list(libs)

    @property
    def device_name(self) -> str:
        """The option `device`, the family of operators."""
        return str(self.attrs.get("device", ""))

    @property
    def target_name(self) -> str:
        """The name of the kind, as TVM called it until v0.6."""
        return self.kind.name

    def get_kind_attr(self, name: str) -> Any:
        """An attribute of the kind: `is_external_codegen`, False. AttributeError for another name."""
        if name != "is_external_codegen":
            raise AttributeError(f"kind {self.kind} has no attribute {name!r}")
        return False

    def get_target_device_type(self) -> int:
        """DLPack's number of the kind of device."""
        return {"cpu": 1, "cuda": 2}.get(self.keys[-2] if "gpu" in self.keys else "cpu", 1)

    def export(self) -> dict[str, Any]:
        """The target as a dictionary from which it can be created."""
        host = {} if self.host is None else {"host": self.host.export()}
        return {"kind": self.kind.name, "tag": self.tag, "keys": list(self.keys), **self.attrs, **host}

    def with_host(self, host: TargetLike) -> Target:
        """The same target with another host."""
        return Target(self.export(), host)

    def without_host(self) -> Target:
        """The same target without a host."""
        return Target({key: value for key, value in self.export().items() if key != "host"})

    def __str__(self) -> str:
        options = [f"-{name}={_text(value)}" for name, value in sorted(self.attrs.items())]
        return " ".join([self.kind.name, f"-keys={','.join(self.keys)}", *options])

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other) and self.host == other.host

    def __hash__(self) -> int:
        return hash(str(self))

    # The current target

    def __enter__(self) -> Self:
        Target._entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        Target._entered.pop()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost entered target. None if no target is entered; OptionError without `allow_none`."""
        if not Target._entered and not allow_none:
            raise OptionError("no current target, expected `with Target(...):` around the call")
        return Target._entered[-1] if Target._entered else None

    @staticmethod
    def from_device(device: Any) -> Target:
        """The target of a device, or of a device by name."""
        name = str(getattr(device, "kind", device)).partition(":")[0].partition("(")[0].replace("_", "-")
        emulated = "cuda" if is_gpu_emulated() else "cuda-emulated"
        return Target({"cpu": "llvm", "gpu": "cuda", "cuda-emulated": emulated}.get(name, name))

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of the kinds."""
        return list(_KEYS)

    @staticmethod
    def canon_target(target: TargetLike | None) -> Target | None:
        """A target in any accepted form as a `Target`."""
        return None if target is None else Target(target)

    @staticmethod
    def check_and_update_host_consist(
        target: TargetLike | None, host: TargetLike | None = None
    ) -> tuple[Target | None, Target | None]:
        """A target with a host, and the host."""
        if target is None:
            return None, None if host is None else Target(host)
        full = Target(target, host)
        return full, full.host

    canon_target_and_host = check_and_update_host_consist


TargetLike: TypeAlias = "str | Mapping[str, Any] | Target | core.Target"

_ATTRIBUTES = {
    "max_num_threads": lambda target: target.attrs.get("max_threads_per_block", 1024 if "gpu" in target.keys else 1),
    "max_threads_per_block": lambda target: target.attrs.get("max_num_threads", 1024),
    "max_shared_memory_per_block": lambda target: 49152,
    "thread_warp_size": lambda target: 32 if "cuda" in target.keys else 1,
    "model": lambda target: "unknown",
    "mcpu": lambda target: "",
    "mattr": lambda target: [],
    "arch": lambda target: "",
    "mtriple": lambda target: "",
    "num_cores": lambda target: 1,
    "supports_int8": lambda target: True,
}
"""The values of options that are not given."""


def __getattr__(name: str) -> Any:
    """The functions that create targets, which TVM has in this module."""
    # lazy: they return targets
    from . import creation

    if name.startswith("_") or not hasattr(creation, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(creation, name)


def target_of(target: Any = None, host: TargetLike | None = None) -> Target:
    """The target of a compilation: as given (also as a dictionary with one entry keyed by a device), else the current
    target, else this machine. OptionError for several targets."""
    if target is None:
        target = Target.current() or "llvm"
    if isinstance(target, Mapping) and "kind" not in target:
        if len(target) != 1:
            raise OptionError(f"{len(target)} targets, expected one: programs for several devices are not supported")
        (target,) = target.values()
    if isinstance(target, list | tuple) and len(target) == 1:
        (target,) = target
    return target if isinstance(target, Target) and host is None else Target(target, host)  # pyright: ignore[reportArgumentType]


def _config(target: Any) -> Mapping[str, Any]:
    """The options of a target in any form, with its kind."""
    if isinstance(target, Target):
        return target.export()
    if isinstance(target, core.Target):
        return {"kind": target.kind, **target.options}
    if isinstance(target, Mapping):
        return _config_of_tag(target["tag"], target) if "kind" not in target and "tag" in target else target  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(target, str):
        raise OptionError(f"target {target!r}, expected text, a dictionary or a Target")
    if target.lstrip().startswith("{"):
        try:
            return json.loads(target)
        except json.JSONDecodeError as error:
            raise OptionError(f"target {target!r} is no JSON: {error}") from None
    return _config_of_tag(target, {}) if "/" in target.split(" ")[0] else _config_of_text(target)


def _config_of_tag(tag: str, others: Mapping[str, Any]) -> Mapping[str, Any]:
    if tag not in TAGS:
        raise OptionError(f"unknown tag {tag!r}{did_you_mean(tag, TAGS)}")
    return {**TAGS[tag], **others, "tag": tag}


def _config_of_text(text: str) -> Mapping[str, Any]:
    kind, *words = text.split() or [""]
    config: dict[str, Any] = {"kind": kind}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise OptionError(f"target {text!r}: {word!r}, expected -name=value")
        name = "mtriple" if name == "target" else name  # until v0.6
        if name in config:
            raise OptionError(f"target {text!r}: {name} is given twice")
        config[name] = value if equals else _bare_value(name, rest)
    return config


def _bare_value(name: str, rest: Any) -> str:
    """The value of `-name`: the next word for an option of another type than bool (`-target aarch64`), else 1."""
    return next(rest, "") if name in _VALUED else "1"


_VALUED = (
    "mtriple", "mcpu", "mattr", "model", "device", "arch", "libs", "num-cores", "opt-level", "vector-width",
    "max_num_threads", "max_threads_per_block", "max_shared_memory_per_block", "registers_per_block",
    "thread_warp_size",
)  # fmt: skip
"""The options whose value may be the next word."""


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _machines() -> tuple[str, ...]:
    """The names of this machine's architecture in triples."""
    machine = platform.machine().lower()
    same = {"x86_64": ("x86_64", "amd64"), "amd64": ("x86_64", "amd64"), "arm64": ("arm64", "aarch64")}
    return same.get(machine, ("aarch64", "arm64") if machine == "aarch64" else (machine,))
