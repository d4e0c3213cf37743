"""Functions that fetch weights before their first use and store results at once: passes of `tvm.relax.transform`."""

# pyright: reportInvalidTypeForm=false

import weakref
from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell import UnsupportedError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R
from stepwell.frontends.tvm.script import tir as T


@I.ir_module
class Weights:
    @R.function
    def main_transform_params(
        params: R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((3,), "float32"), R.Tensor((2,), "float32")),
    ):
        with R.dataflow():
            a = params[0]
            b = params[1]
            c = params[2]
            p = R.permute_dims(a)
            q = R.exp(b)
            r = (c, p, q, p)
            R.output(r)
        return r


ARRAYS = [np.arange(6, dtype="float32").reshape(2, 3), np.ones(3, "float32"), np.full(2, 5, "float32")]


def machine_of(mod: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


class Store:
    """Packed functions of weights and results, which record their calls."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.results: dict[int, Any] = {}
        self.alive: list[Any] = []

    def get(self, *args: Any) -> Any:
        """The weight of a position, after other arguments; by then no weight from before is alive."""
        *others, index = args
        assert [each() for each in self.alive] == [None] * len(self.alive)
        self.events.append(" ".join(["get", *map(str, [*others, int(index)])]))
        array = ARRAYS[int(index)].copy()
        self.alive.append(weakref.ref(array))
        return array

    def get_named(self, index: int, name: str) -> Any:
        """The weight of a position."""
        return self.get(name, index)

    def set(self, *args: Any) -> None:
        """Stores a result at a position, after other arguments."""
        *others, index, value = args
        self.events.append(" ".join(["set", *map(str, [*others, int(index)])]))
        self.results[int(index)] = np.array(value.numpy())

    def check(self) -> None:
        """Compares the results with those of `Weights`."""
        expected = machine_of(Weights)["main_transform_params"](ARRAYS)
        assert sorted(self.results) == list(range(len(expected)))
        for n, each in enumerate(expected):
            np.testing.assert_array_equal(self.results[n], each.numpy())


@pytest.fixture
def store() -> Store:
    store = Store()
    tvm.register_func("get_item", store.get, override=True)
    tvm.register_func("set_item", store.set, override=True)
    return store


def test_weights_are_fetched_before_their_use_and_results_stored_at_once(store: Store) -> None:
    mod = relax.transform.LazyTransformParams()(Weights)
    func = mod["main_transform_params"]
    assert func.params == []
    assert not func.is_pure
    assert machine_of(mod)["main_transform_params"]() == ()
    assert store.events == ["get 0", "set 1", "set 3", "get 1", "set 2", "get 2", "set 0"]
    store.check()
    assert Weights["main_transform_params"].is_pure


def test_functions_of_weights_return_their_results(store: Store) -> None:
    mod = relax.transform.LazyTransformParams(fset_item=None)(Weights)
    store.alive = Unchecked()
    for n, each in enumerate(machine_of(mod)["main_transform_params"]()):
        store.results[n] = each.numpy()
    assert store.events == ["get 0", "get 1", "get 2"]
    store.check()


class Unchecked(list[Any]):
    """A list that stays empty."""

    def append(self, value: Any) -> None:
        """Forgets a value."""


def test_parameters_of_the_packed_functions(store: Store) -> None:
    source, sink = (relax.Var(name, relax.ObjectStructInfo()) for name in ("source", "sink"))
    mod = relax.transform.LazyTransformParams("get_item", "set_item", [source], [source, sink])(Weights)
    assert [each.name_hint for each in mod["main_transform_params"].params] == ["source", "sink"]
    machine_of(mod)["main_transform_params"]("from", "to")
    assert store.events[:3] == ["get from 0", "set from to 1", "set from to 3"]
    store.check()


def test_weights_after_the_inputs_and_sizes_with_names(store: Store) -> None:
    @I.ir_module
    class Sized:
        @R.function
        def transform_params(
            rank: R.Prim(value="rank"), a: R.Tensor((2, "m * 1"), "float32"), b: R.Tensor(("m",), "float32"),
            s: R.Shape(["k"]), c: R.Tensor((2,), "float32"),
        ):  # fmt: skip
            R.func_attr({"num_input": 1})
            rank = T.int64()
            k = T.int64()
            m = T.int64()
            x = R.reshape(a, (m * 2,))
            y = R.full((rank, k), R.const(2, "float32"), "float32")
            return (x, y, b)

    mod = relax.transform.LazyTransformParams()(Sized)
    assert [each.name_hint for each in mod["transform_params"].params] == ["rank", "s"]
    store.alive = Unchecked()
    machine_of(mod)["transform_params"](2, (3,))
    x, y, b = (store.results[n] for n in range(3))
    np.testing.assert_array_equal(x, ARRAYS[0].reshape(-1))
    np.testing.assert_array_equal(y, np.full((2, 3), 2))
    np.testing.assert_array_equal(b, ARRAYS[1])
    assert store.events[0] == "get 0"
    assert "get 3" not in store.events


def test_functions_that_are_called_by_their_module_keep_their_parameters() -> None:
    @I.ir_module
    class Called:
        @R.function
        def transform_params(a: R.Tensor((2,), "float32")):
            return (a,)

        @R.function
        def main(a: R.Tensor((2,), "float32")):
            y = Called.transform_params(a)
            return y

    transforms = relax.transform
    for each in (transforms.LazyTransformParams, transforms.LazyGetInput, transforms.LazySetOutput):
        with pytest.raises(UnsupportedError, match="transform_params gets other parameters, but the module calls it"):
            each()(Called)


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((2,), "float32"), a: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        p = R.exp(b)
        q = R.matmul(a, p)
        r = R.add(x, q)
        return (x, p, r)


def test_a_function_as_a_parameter_fetches_weights() -> None:
    store = Store()
    store.alive = Unchecked()
    mod = relax.transform.LazyGetInput()(Plain)
    func = mod["main"]
    assert [each.name_hint for each in func.params] == ["x", "fget_param"]
    assert func.attrs["num_input"] == 2
    assert func.is_pure
    x = np.ones(2, "float32")
    got = machine_of(mod)["main"](x, store.get_named)
    for each, expected in zip(got, machine_of(Plain)["main"](x, *ARRAYS[:2]), strict=True):
        np.testing.assert_array_equal(each.numpy(), expected.numpy())
    assert sorted(store.events) == ["get a 0", "get b 1"]


def test_a_function_as_a_parameter_stores_results() -> None:
    store = Store()
    mod = relax.transform.LazySetOutput()(Plain)
    func = mod["main"]
    assert [each.name_hint for each in func.params] == ["x", "fset_output", "a", "b"]
    assert func.attrs["num_input"] == 2
    x = np.ones(2, "float32")
    assert machine_of(mod)["main"](x, store.set, *ARRAYS[:2]) == ()
    assert store.events == ["set 0", "set 1", "set 2"]
    for n, expected in enumerate(machine_of(Plain)["main"](x, *ARRAYS[:2])):
        np.testing.assert_array_equal(store.results[n], expected.numpy())


def test_functions_as_parameters_fetch_and_store(store: Store) -> None:
    lifted = relax.transform.LiftTransformParams()(Plain)
    whole = tvm.transform.Sequential([relax.transform.LazyGetInput(), relax.transform.LazySetOutput()])(Plain)
    assert [each.name_hint for each in whole["main"].params] == ["x", "fget_param", "fset_output"]
    x = np.ones(2, "float32")
    store.alive = Unchecked()
    machine_of(whole)["main"](x, store.get_named, store.set)
    for n, expected in enumerate(machine_of(Plain)["main"](x, *ARRAYS[:2])):
        np.testing.assert_array_equal(store.results[n], expected.numpy())
    lazy = relax.transform.LazyTransformParams()(lifted)
    store.results.clear()
    machine_of(lazy)["main_transform_params"]()
    weights = [store.results[n] for n in sorted(store.results)]
    for each, expected in zip(
        machine_of(lifted)["main"](x, *weights), machine_of(Plain)["main"](x, *ARRAYS[:2]), strict=True
    ):
        np.testing.assert_array_equal(each.numpy(), expected.numpy())
