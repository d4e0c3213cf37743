"""The inputs and outputs of an exported program."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.errors import ArgumentError
from ...core.identifiers import fresh_name
from ..models.errors import ModelUnsupportedError
from .library import torch


@dataclass(frozen=True)
class Input:
    """An input of a graph. node: its placeholder.  name: the name of the parameter or constant.  value: the tensor or
    number of a constant; None for a parameter."""

    node: Any
    name: str
    value: Any = None
    is_parameter: bool = False


@dataclass(frozen=True)
class Inputs:
    """The inputs of a graph; the inputs of the user come first, buffers that the model changes next."""

    items: Sequence[Input]

    def with_parameters(self, names: Container[str]) -> Inputs:
        """The inputs, of which those with some names are parameters too."""
        return Inputs([replace(each, is_parameter=each.is_parameter or each.name in names) for each in self.items])

    def with_names(self, names: Sequence[str]) -> Inputs:
        """The inputs, of which the parameters have names in order. Raises ArgumentError for other numbers of names than
        of parameters, and for equal names."""
        own = [each for each in self.items if each.is_parameter]
        if len(names) != len(own) or len(set(names)) < len(names):
            inputs = ", ".join(each.name for each in own)
            raise ArgumentError(f"input names {', '.join(names)}, expected {len(own)} distinct names for {inputs}")
        named = dict(zip((each.node for each in own), names, strict=True))
        return Inputs([replace(each, name=named.get(each.node, each.name)) for each in self.items])

    @property
    def environment(self) -> Any:
        """The `ShapeEnv` of the symbols; None for a graph without symbols."""
        for each in self.items:
            for extent in getattr(each.node.meta["val"], "shape", ()):
                if isinstance(extent, torch.SymInt):
                    return extent.node.shape_env
        return None


@dataclass(frozen=True)
class Output:
    """A result. value: a node, or a constant number."""

    name: str
    value: Any


def inputs_of(program: Any) -> Inputs:
    """The inputs of a program. Raises ModelUnsupportedError for inputs that are no tensors, numbers or None."""
    signature = program.graph_signature
    changed = {spec.target for spec in signature.output_specs if spec.kind.name == "BUFFER_MUTATION"}
    tensors = {**program.state_dict, **program.constants}
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    user: list[Input] = []
    buffers: list[Input] = []
    weights: list[Input] = []
    for node in program.graph.nodes:
        if node.op != "placeholder":
            continue
        spec = specs[node.name]
        if spec.kind.name == "USER_INPUT":
            user.append(_user_input(node))
        elif spec.target in changed:
            buffers.append(Input(node, spec.target, is_parameter=True))
        elif spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            weights.append(Input(node, spec.target, tensors[spec.target]))
        else:
            raise ModelUnsupportedError(f"input '{node.name}': a {spec.kind.name.lower()}, expected tensors")
    return Inputs([*user, *buffers, *weights])


def _user_input(node: Any) -> Input:
    value = node.meta["val"]
    if isinstance(value, torch.Tensor):
        return Input(node, node.name, is_parameter=True)
    if value is None or isinstance(value, bool | int | float | str | torch.SymInt):
        return Input(node, node.name, value)
    raise ModelUnsupportedError(f"input '{node.name}': a {type(value).__name__}, expected a tensor or a number")


def outputs_of(program: Any, returns_changes: bool = True) -> list[Output]:
    """The results of a program: its outputs by their paths (`logits`, `past.0`), then, if `returns_changes`, new values
    of buffers and of inputs that it changes, by the names of these. Outputs that are None are left out."""
    values = next(node for node in program.graph.nodes if node.op == "output").args[0]
    paths = iter(_paths(program.call_spec.out_spec))
    own: list[Output] = []
    changes: list[Output] = []
    names: set[str] = set()
    for spec, value in zip(program.graph_signature.output_specs, values, strict=True):
        if spec.kind.name == "USER_OUTPUT":
            name = fresh_name(next(paths), names)
            names.add(name)
            if value is not None:
                own.append(Output(name, value))
        elif spec.kind.name in ("BUFFER_MUTATION", "USER_INPUT_MUTATION"):
            changes.append(Output(spec.target, value))
        else:
            raise ModelUnsupportedError(f"an output of kind {spec.kind.name.lower()}, expected tensors")
    return [*own, *changes] if returns_changes else own


def _paths(spec: Any) -> list[str]:
    """The name of each output by its place in the structure that the model returns; `output` for a single tensor."""
    tree = torch.utils._pytree  # pyright: ignore[reportPrivateUsage]
    structure = tree.tree_unflatten(list(range(spec.num_leaves)), spec)
    keys, _ = tree.tree_flatten_with_path(structure)
    return [".".join(_key(each) for each in path) or "output" for path, _ in keys]


def _key(key: Any) -> str:
    for name in ("key", "name", "idx"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)
