"""The registry of importers, the functions that import operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from onnx import defs

from ...dialects.extensions import load_registrations
from .graph import OnnxNode

if TYPE_CHECKING:
    from ..models.values import Item
    from .call import Call

Importer: TypeAlias = "Callable[[Call], Item | Results]"
F = TypeVar("F", bound=Callable[..., Any])


class Results(list["Item"]):
    """The results of an operator with several results; unused results at the end may be omitted."""


IMPORTERS: dict[tuple[str, str], Importer] = {}
"""The importer of each operator, by domain and name."""


def importer(*names: str, domain: str = "") -> Callable[[F], F]:
    """Registers the decorated function as the importer of operators."""

    def register(function: F) -> F:
        for name in names:
            if (domain, name) in IMPORTERS:
                raise ValueError(f"importer of {name} is defined twice")
            IMPORTERS[domain, name] = function
        return function

    return register


def importer_of(node: OnnxNode) -> Importer | None:
    """The importer of the operator of a node, which may be an importer of another package, or None."""
    name = node.domain, node.op_type
    if name not in IMPORTERS:
        load_registrations("importers")
    return IMPORTERS.get(name)


def has_definition(node: OnnxNode) -> bool:
    """Whether ONNX defines the operator of a node in terms of other operators, at least for some types."""
    if not defs.has(node.op_type, node.version, node.domain):
        return False
    schema: Any = defs.get_schema(node.op_type, node.version, node.domain)
    return bool(schema.has_function or schema.has_context_dependent_function)


def unsupported_operators(nodes: Sequence[OnnxNode]) -> list[str]:
    """The names of operators in nodes and their subgraphs that have neither an importer nor a definition."""
    names: dict[str, None] = {}
    for node in nodes:
        for graph in node.subgraphs:
            names |= dict.fromkeys(unsupported_operators(graph.nodes))
        if importer_of(node) is None and not has_definition(node):
            names[f"{node.domain}.{node.op_type}" if node.domain else node.op_type] = None
    return sorted(names)
