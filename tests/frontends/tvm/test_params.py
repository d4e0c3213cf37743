"""Parameters as bytes: `relay.save_param_dict`, `relay.load_param_dict`."""

from pathlib import Path

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.dtypes import numpy_dtype
from stepwell.core.errors import LoadError, OptionError
from stepwell.frontends.tvm import relay, runtime
from stepwell.frontends.tvm.contrib import graph_executor

# The bytes of apache-tvm 0.27 for {"a": float32 [[0, 1, 2], [3, 4, 5]], "flag": bool [True, False]}.
BYTES = bytes.fromhex(
    "b79c04054f8de5f700000000000000000200000000000000010000000000000061"
    "0400000000000000666c616702000000000000003fa1b496f0405edd0000000000000000"
    "0100000000000000020000000220010002000000000000000300000000000000"
    "1800000000000000000000000000803f0000004000004040000080400000a040"
    "3fa1b496f0405edd000000000000000001000000000000000100000006080100020000000000000002000000000000000100"
)


def test_the_bytes_of_tvm_are_read() -> None:
    params = relay.load_param_dict(BYTES)
    assert list(params) == ["a", "flag"]
    np.testing.assert_array_equal(params["a"].numpy(), np.arange(6, dtype="float32").reshape(2, 3))
    np.testing.assert_array_equal(params["flag"].numpy(), [True, False])
    only = {"a": params["a"]}
    saved = relay.save_param_dict(only)
    assert saved[41:] in BYTES.replace(b"flag", b"")  # the array, but for the names before it
    assert saved[:16] == BYTES[:16]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "bfloat16", "float64"])
def test_bytes_that_are_written_are_read(dtype: str, tmp_path: Path) -> None:
    kind = numpy_dtype(dtype)
    arrays = {"x": np.arange(6).reshape(2, 3).astype(kind), "scalar": np.ones((), kind)}
    path = str(tmp_path / "params")
    runtime.save_param_dict_to_file(arrays, path)
    loaded = runtime.load_param_dict_from_file(path)
    assert list(loaded) == list(arrays)
    for name, each in arrays.items():
        assert loaded[name].dtype == dtype
        np.testing.assert_array_equal(loaded[name].numpy(), each)


def test_a_graph_loads_its_parameters() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    weights = np.arange(12, dtype="float32").reshape(4, 3)
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    module = graph_executor.GraphModule(relay.build(mod, target="llvm")["default"](tvm.cpu()))
    module.load_params(relay.save_param_dict({"w": weights, "unknown": weights}))
    module.run(x=np.ones((2, 3), "float32"))
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.ones((2, 3)) @ weights.T)


def test_other_bytes_and_types_are_refused() -> None:
    for data in (b"", BYTES[:-1], b"x" * 40):
        with pytest.raises(LoadError, match="parameters: "):
            relay.load_param_dict(data)
    with pytest.raises(OptionError, match="parameter x of int4"):
        relay.save_param_dict({"x": np.zeros(2, numpy_dtype("int4"))})
