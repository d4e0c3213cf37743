"""Nodes and edges in the language of Graphviz."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def node(name: str, label: str, **attributes: str) -> str:
    """The line of a node."""
    options = "".join(f", {key}={quoted(value)}" for key, value in attributes.items())
    return f"{quoted(name)} [label={quoted(label)}{options}]"


def edge(source: str, target: str) -> str:
    """The line of an edge."""
    return f"{quoted(source)} -> {quoted(target)}"
