import onnx
from onnx import TensorProto, helper

node = helper.make_node("Swish", ["x"], ["y"], domain="com.example.gates", beta=2.0)
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "y"))
opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.example.gates", 1)]
onnx.save(
    helper.make_model(helper.make_graph([node], "gate", [x], [y]), opset_imports=opsets, ir_version=10), "gate.onnx"
)
