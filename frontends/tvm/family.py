"""Classes to which the instances of other classes belong, as TVM derives these from one base class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Family(type):
    """The class of classes to which the instances of other classes belong. members: returns these classes. A subclass
    of users has none: its instances are its own."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        members: Callable[[], tuple[Any, ...]] = tuple,  # noqa: ARG004
    ) -> Family:
        return super().__new__(cls, name, bases, namespace)

    def __init__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        members: Callable[[], tuple[Any, ...]] = tuple,
    ) -> None:
        super().__init__(name, bases, namespace)
        cls._members = members

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls._members())

    def __subclasscheck__(cls, subclass: type) -> bool:
        return super().__subclasscheck__(subclass) or issubclass(subclass, cls._members())
