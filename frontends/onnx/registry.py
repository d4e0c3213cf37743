"""Which function imports which operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from onnx import defs

from .graph import OnnxNode

if TYPE_CHECKING:
    from .call import Call
    from .values import Item

Importer: TypeAlias = "Callable[[Call], Item | Results]"
F = TypeVar("F", bound=Callable[..., Any])


class Results(list["Item"]):
    """Several results of an operator; those that are left out at the end were not asked for."""


IMPORTERS: dict[tuple[str, str], Importer] = {}
"""The function of each operator, by its domain and name."""


def importer(*names: str, domain: str = "") -> Callable[[F], F]:
    """Decorates the function that imports operators."""

    def register(function: F) -> F:
        for name in names:
            if (domain, name) in IMPORTERS:
                raise ValueError(f"importer of {name} is defined twice")
            IMPORTERS[domain, name] = function
        return function

    return register


def has_definition(node: OnnxNode) -> bool:
    """Whether ONNX says what other operators an operator is made of, at least for some types."""
    if not defs.has(node.op_type, node.version, node.domain):
        return False
    schema: Any = defs.get_schema(node.op_type, node.version, node.domain)
    return bool(schema.has_function or schema.has_context_dependent_function)


def unsupported(nodes: Sequence[OnnxNode]) -> list[str]:
    """The operators, in nodes and in graphs inside of them, that nothing imports."""
    found: dict[str, None] = {}
    for node in nodes:
        for graph in node.subgraphs:
            found |= dict.fromkeys(unsupported(graph.nodes))
        if (node.domain, node.op_type) not in IMPORTERS and not has_definition(node):
            found[f"{node.domain}.{node.op_type}" if node.domain else node.op_type] = None
    return sorted(found)
