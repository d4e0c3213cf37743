"""The importer of the ONNX operator `Swish` of the domain `com.example.gates`."""

from stepwell.frontends.models.values import ModelTensor
from stepwell.frontends.onnx.call import Call
from stepwell.frontends.onnx.registry import importer


@importer("Swish", domain="com.example.gates")
def swish(call: Call) -> ModelTensor:
    return call.op("gates.swish", call.tensor(), beta=call.floating("beta", 1.0))
