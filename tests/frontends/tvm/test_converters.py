"""Models of TensorFlow, Keras and TFLite by way of ONNX."""

import sys
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, OptionError, UnsupportedError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.contrib import graph_executor

X = np.random.default_rng(0).standard_normal((1, 8, 8, 3)).astype("float32")


@pytest.mark.parametrize("name", ["from_keras", "from_tensorflow", "from_tflite"])
def test_the_error_without_the_packages_names_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("tensorflow", "tf2onnx", "tf2onnx.convert"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnsupportedError, match=rf"{name}: .*; expected the packages tensorflow and tf2onnx"):
        getattr(relay.frontend, name)(b"")


def test_unsupported_options_are_errors() -> None:
    with pytest.raises(OptionError, match="layout 'CHWN', expected 'NCHW' or 'NHWC'"):
        relay.frontend.from_keras(None, layout="CHWN")
    with pytest.raises(UnsupportedError, match="layout 'NCHW', expected 'NHWC'"):
        relay.frontend.from_tensorflow(None, layout="NCHW")
    with pytest.raises(UnsupportedError, match="from_tflite: op_converter is not supported"):
        relay.frontend.from_tflite(b"", op_converter=print)


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    """TensorFlow, if its packages are installed."""
    pytest.importorskip("tf2onnx")
    return pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def model(tensorflow: Any) -> Any:
    """A network of Keras with an input `image` and random weights."""
    layers = tensorflow.keras.layers
    image = tensorflow.keras.Input((8, 8, 3), name="image")
    hidden = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same", activation="relu")(image))
    classes = layers.Dense(5, activation="softmax")(layers.Flatten()(layers.MaxPooling2D()(hidden)))
    return tensorflow.keras.Model(image, classes)


def run(imported: Any, **inputs: Any) -> Any:
    """The first result of an imported model."""
    mod, params = imported
    executor = graph_executor.GraphModule(relay.build(mod, "llvm", params=params)["default"](tvm.cpu()))
    executor.run(**inputs)
    return executor.get_output(0).numpy()


def test_a_model_of_keras_in_both_layouts(model: Any) -> None:
    expected = model(X).numpy()
    nchw = relay.frontend.from_keras(model, {"image": (1, 3, 8, 8)})
    nhwc = relay.frontend.from_keras(model, {"image": (1, 8, 8, 3)}, layout="NHWC")
    np.testing.assert_allclose(run(nchw, image=X.transpose(0, 3, 1, 2)), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(nhwc, image=X), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ArgumentError, match="shape of 'picture', expected an input of the model: image"):
        relay.frontend.from_keras(model, {"picture": (1, 3, 8, 8)})


def test_images_are_results_in_the_layout_of_the_module(tensorflow: Any) -> None:
    keras = tensorflow.keras
    model = keras.Sequential([keras.Input((8, 8, 3), name="image"), keras.layers.Conv2D(4, 3)])
    got = run(relay.frontend.from_keras(model, {"image": (1, 3, 8, 8)}), image=X.transpose(0, 3, 1, 2))
    np.testing.assert_allclose(got, model(X).numpy().transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5)


def test_a_frozen_graph_of_tensorflow(tensorflow: Any, model: Any) -> None:
    freezing = pytest.importorskip("tensorflow.python.framework.convert_to_constants")
    spec = tensorflow.TensorSpec((1, 8, 8, 3), tensorflow.float32, name="image")
    function = tensorflow.function(lambda image: model(image)).get_concrete_function(spec)
    graph = freezing.convert_variables_to_constants_v2(function).graph.as_graph_def()
    got = run(relay.frontend.from_tensorflow(graph, shape={"image": (1, 8, 8, 3)}), image=X)
    np.testing.assert_allclose(got, model(X).numpy(), rtol=1e-5, atol=1e-6)


def test_a_model_of_tflite(tensorflow: Any, model: Any) -> None:
    data = tensorflow.lite.TFLiteConverter.from_keras_model(model).convert()
    mod, params = relay.frontend.from_tflite(data)
    (name,) = [param.name_hint for param in mod["main"].params]
    np.testing.assert_allclose(run((mod, params), **{name: X}), model(X).numpy(), rtol=1e-4, atol=1e-5)
