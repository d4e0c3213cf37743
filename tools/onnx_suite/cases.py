"""The node tests of ONNX, unchanged, and with the inputs that determine shapes folded into the model.

The wheel of ONNX has no files of the tests; its generators build the models and the data deterministically.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests

KINDS = ("inference", "loss", "training", "random", "ml", "text")

_LOSSES = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}
_TEXT = {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"}

# The operands of each operator that determine shapes, axes, counts or scales: exporters write them as constants.
_SHAPE_LIKE: dict[str, set[int]] = {
    "AffineGrid": {1},
    "BlackmanWindow": {0},
    "CenterCropPad": {1},
    "Col2Im": {1, 2},
    "ConstantOfShape": {0},
    "CumProd": {1},
    "CumSum": {1},
    "DFT": {1, 2},
    "Dropout": {1, 2},
    "Expand": {1},
    "HammingWindow": {0},
    "HannWindow": {0},
    "Loop": {0, 1},
    "MaxUnpool": {2},
    "MelWeightMatrix": {0, 1, 2, 3, 4},
    "NonMaxSuppression": {2},
    "OneHot": {1},
    "Pad": {1, 3},
    "Range": {0, 1, 2},
    "Reshape": {1},
    "Resize": {1, 2, 3},
    "STFT": {1, 3},
    "SequenceInsert": {2},
    "Slice": {1, 2, 3, 4},
    "Split": {1},
    "SplitToSequence": {1},
    "Squeeze": {1},
    "Tile": {1},
    "TopK": {1},
    "Trilu": {1},
    "Unsqueeze": {1},
    "Upsample": {1},
    **{f"Reduce{of}": {1} for of in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum")},
    "ReduceSumSquare": {1},
}


@dataclass(frozen=True)
class OnnxCase:
    """A model, its inputs and its expected outputs: arrays, lists of arrays, and None.

    op: the tested operator.  kind: one of `KINDS`.  is_expanded: whether the model contains the definition of the
    operator by other operators.  shape_like: the inputs that `folded` makes part of the model.
    """

    name: str
    op: str
    kind: str
    is_expanded: bool
    model: ModelProto
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    shape_like: frozenset[str]


def load_cases() -> list[OnnxCase]:
    """All cases, in the order of ONNX. Takes several seconds."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests = {test.name: test for test in load_node_model_tests()}
    return list(_cases(tests))


def _cases(tests: Mapping[str, Any]) -> Iterator[OnnxCase]:
    for name, test in tests.items():
        base, expanded, _ = name.partition("_expanded")
        node = tests[base].model.graph.node[0]
        ((inputs, outputs),) = test.data_sets
        yield OnnxCase(
            name=name,
            op=f"{node.domain}.{node.op_type}" if node.domain else node.op_type,
            kind=_kind(base, tests[base].model),
            is_expanded=bool(expanded),
            model=test.model,
            inputs=[_value(item) for item in inputs],
            outputs=[_value(item) for item in outputs],
            shape_like=frozenset(_shape_like(tests[base].model)),
        )


def _kind(name: str, model: ModelProto) -> str:
    (node,) = model.graph.node
    if node.op_type in _LOSSES:
        return "loss"
    if "training" in node.domain or "training" in name:
        return "training"
    if node.op_type == "Bernoulli":
        return "random"
    if node.domain == "ai.onnx.ml":
        return "ml"
    types = [value.type.tensor_type.elem_type for value in model.graph.input]
    return "text" if node.op_type in _TEXT or TensorProto.STRING in types else "inference"


def _value(item: Any) -> Any:
    """An array, a list of arrays, or None."""
    if item is None:
        return None
    if isinstance(item, list | tuple):
        return [_value(element) for element in item]
    return numpy_helper.to_array(item) if isinstance(item, TensorProto) else np.asarray(item)


def _shape_like(model: ModelProto) -> Iterator[str]:
    (node,) = model.graph.node
    for index in _SHAPE_LIKE.get(node.op_type, ()):
        if index < len(node.input):
            yield node.input[index]


def fold_shapes(case: OnnxCase) -> OnnxCase:
    """The case with the inputs that determine shapes as initializers of the model; unchanged without such inputs."""
    values = dict(zip((value.name for value in case.model.graph.input), case.inputs, strict=True))
    constants = {name: value for name, value in values.items() if name in case.shape_like and value is not None}
    if not constants:
        return case
    model = ModelProto()
    model.CopyFrom(case.model)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    left = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(left)
    return replace(case, model=model, inputs=[values[value.name] for value in left])
