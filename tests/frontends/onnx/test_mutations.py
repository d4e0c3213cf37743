"""Random changes of the attributes, shapes and constants of valid models: the import gives a module or an error of the
house, in little time and memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("onnx")

from stepwell import from_onnx
from stepwell.frontends.onnx import OnnxError
from stepwell.tools.testing.onnx_mutations import MODELS, change, check_import, valid_model


@pytest.mark.parametrize("name", MODELS)
def test_the_unchanged_models_are_imported(name: str) -> None:
    from_onnx(valid_model(name))


@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_a_changed_model_is_imported_or_is_an_error_of_the_house(name: str, data: st.DataObject) -> None:
    proto = valid_model(name)
    change(data.draw, proto)
    check_import(proto)


def test_a_tensor_scatters_into_a_tensor_of_its_rank() -> None:
    proto = valid_model("TensorScatter")
    proto.graph.input[0].type.tensor_type.shape.dim.add(dim_value=1)
    with pytest.raises(OnnxError, match="TensorScatter of 4 dimensions into 5, expected as many"):
        from_onnx(proto)


@pytest.mark.parametrize("name", ["Scan", "Gather", "Concat", "Split"])
def test_a_scalar_has_no_axis(name: str) -> None:
    proto = valid_model(name)
    proto.graph.input[0].type.tensor_type.shape.ClearField("dim")
    with pytest.raises(OnnxError, match="of 0 dimensions"):
        from_onnx(proto)
