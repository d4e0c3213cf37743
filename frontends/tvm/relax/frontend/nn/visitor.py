"""Modules of layers with some of their parts replaced."""

from __future__ import annotations

from typing import Any

from .core import Module, ModuleDict, ModuleList, Parameter


class Mutator:
    """Replaces the parts of modules by the results of its methods, which a subclass overrides; names are those of
    `named_parameters`."""

    def visit_module(self, name: str, node: Module) -> Any:
        """The new value for a module."""
        return self.visit(name, node)

    def visit_param(self, name: str, node: Parameter) -> Any:
        """The new value for a parameter."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: Any) -> Any:
        """The new value for an effect."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: ModuleList) -> Any:
        """The new value for a list of modules."""
        return self.visit(name, node)

    def visit_moduledict(self, name: str, node: ModuleDict) -> Any:
        """The new value for modules by name."""
        return self.visit(name, node)

    def visit(self, name: str, node: Any) -> Any:
        """The node, with its parts replaced."""
        match node:
            case ModuleList():
                for n, value in enumerate(node):
                    node[n] = self._replaced(f"{name}.{n}", value)
            case ModuleDict():
                for key, value in [*node.items()]:
                    node[key] = self._replaced(f"{name}.{key}", value)
            case _:
                for key, value in [*vars(node).items()]:
                    new = self._replaced(f"{name}.{key}" if name else key, value)
                    if new is not value:
                        setattr(node, key, new)
        return node

    def _replaced(self, name: str, value: Any) -> Any:
        match value:
            case ModuleList():
                return self.visit_modulelist(name, value)
            case ModuleDict():
                return self.visit_moduledict(name, value)
            case Module():
                return self.visit_module(name, value)
            case Parameter():
                return self.visit_param(name, value)
            case _:
                return value


__all__ = ["Mutator"]
