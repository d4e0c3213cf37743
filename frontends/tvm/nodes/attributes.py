"""Attributes of IR as values of Python."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ....operators.relay.attributes import as_python


def python_value(attribute: Attribute) -> Any:
    """The value of an attribute; the attribute itself if it has no value of Python."""
    try:
        return as_python(attribute)
    except VerifyException:
        return attribute
