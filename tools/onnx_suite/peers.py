"""What can run the models of the suite, by name. Each is imported when it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .running import Prepare, Run


def _reference() -> Prepare:
    """ONNX's own evaluator."""
    from onnx import ModelProto
    from onnx.reference import ReferenceEvaluator

    def prepare(data: bytes) -> Run:
        session: Any = ReferenceEvaluator(ModelProto.FromString(data))

        def run(inputs: Sequence[Any]) -> Sequence[Any]:
            return session.run(None, dict(zip(session.input_names, inputs, strict=True)))

        return run

    return prepare


PEERS: dict[str, Callable[[], Prepare]] = {"reference": _reference}
