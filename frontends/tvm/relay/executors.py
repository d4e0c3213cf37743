"""The executors and the runtimes that `relay.build` takes by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....core.errors import OptionError
from ....expressions.expr import IntImm, StringImm

INTEGER, TEXT = "IntImm", "runtime.String"
"""The types of options, by TVM's names."""


class _Choice:
    """A name with options. OptionError for an unknown name or option, and for an option of another type."""

    KNOWN: Mapping[str, Mapping[str, str]] = {}
    """The types of the options, by name and option."""

    def __init__(self, name: str, options: Mapping[str, Any] | None = None):
        known = self.list_registered_options(name)
        self.name = name
        self.options: dict[str, Any] = {}
        for key, value in (options or {}).items():
            if key not in known:
                raise OptionError(f'Attribute "{key}" is not available on this {type(self).__name__}')
            got = TEXT if isinstance(value, str | StringImm) else INTEGER
            if got != known[key]:
                raise OptionError(f'Attribute "{key}" should have type "{known[key]}" but instead found "{got}"')
            self.options[key] = value.value if isinstance(value, IntImm | StringImm) else value

    @classmethod
    def list_registered(cls) -> list[str]:
        """The names."""
        return list(cls.KNOWN)

    @classmethod
    def list_registered_options(cls, name: Any) -> dict[str, str]:
        """The types of the options of a name. OptionError for an unknown name."""
        if str(name) not in cls.KNOWN:
            expected = " or ".join(map(repr, cls.KNOWN))
            raise OptionError(f'{cls.__name__} "{name}" is not defined, expected {expected}')
        return dict(cls.KNOWN[str(name)])

    def __getitem__(self, option: str) -> Any:
        """The value of an option, None without one. OptionError for an unknown option."""
        if option not in self.KNOWN[self.name]:
            raise OptionError(f'Attribute "{option}" is not available on this {type(self).__name__}')
        return self.options.get(option)

    def __contains__(self, option: object) -> bool:
        return option in self.options

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (self.name, self.options) == (other.name, other.options)

    def __hash__(self) -> int:
        return hash(self.name)


class Executor(_Choice):
    """The executor of a graph: "graph" or "aot", which are equivalent here."""

    KNOWN = {
        "graph": {"link-params": INTEGER},
        "aot": {
            "link-params": INTEGER,
            "unpacked-api": INTEGER,
            "interface-api": TEXT,
            "workspace-byte-alignment": INTEGER,
            "constant-byte-alignment": INTEGER,
        },
    }


class Runtime(_Choice):
    """The runtime of a graph: "cpp". "crt", for microcontrollers, is that of the target `c` alone."""

    KNOWN = {"cpp": {"system-lib": INTEGER}, "crt": {"system-lib": INTEGER}}
