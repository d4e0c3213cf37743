"""Losses, optimizers and gradients of programs: `tvm.relax.training`, `tvm.relax.transform.Gradient`."""

# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError, OptionError, UnsupportedError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax import training
from stepwell.frontends.tvm.relax.training import AppendLoss, loss, optimizer
from stepwell.frontends.tvm.relax.transform import Gradient
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R

RNG = np.random.default_rng(0)


@tvm.script.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            n = R.nn.relu(y)
            R.output(y, n)
        return y, n


def machine(mod: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    return [RNG.standard_normal(shape).astype("float32") for shape in shapes]


def tensor(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return relax.TensorStructInfo(shape, dtype)


def log_softmax(x: Any) -> Any:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def test_a_loss_is_appended_and_differentiated() -> None:
    model = AppendLoss("main", loss.MSELoss()(tensor((2, 4)), tensor((2, 4))))(Model)
    params = model["main_loss"].params
    assert [each.name_hint for each in params] == ["x", "w", "b", "targets"]
    model = Gradient("main_loss", params[1:3])(model)
    x, w, b, targets = given = arrays((2, 3), (3, 4), (4,), (2, 4))
    (value, others), gradients = machine(model)["main_loss_adjoint"](*given)
    difference = x @ w + b - targets
    np.testing.assert_allclose(value.numpy(), (difference**2).mean(), rtol=1e-5)
    np.testing.assert_allclose(others.numpy(), np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-6)
    for gradient, expected in zip(gradients, (x.T @ difference / 4, difference.sum(0) / 4), strict=True):
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_gradients_of_a_target_among_results_for_all_parameters() -> None:
    model = AppendLoss("main", loss.L1Loss("sum")(tensor((2, 4)), tensor((2, 4))), new_func_name="all")(Model)
    x, w, _, targets = given = arrays((2, 3), (3, 4), (4,), (2, 4))
    given[3] = targets + 100
    _, gradients = machine(Gradient("all")(model))["all_adjoint"](*given)
    sign = -np.ones((2, 4), "float32")
    for gradient, expected in zip(gradients, (sign @ w.T, x.T @ sign, sign.sum(0), -sign), strict=True):
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_losses_of_classes() -> None:
    predictions, weights = arrays((3, 4), (4,))
    weights = np.abs(weights)
    logs = log_softmax(predictions)
    classes = np.array([1, 0, 3])
    shape, ones = tensor((3, 4)), np.eye(4, dtype="int64")[classes]
    at = logs[np.arange(3), classes]
    cases = [
        (loss.CrossEntropyLoss()(shape, tensor((3,), "int64")), (classes,), -at.mean()),
        (
            loss.CrossEntropyLoss("sum", ignore_index=0)(shape, tensor((3,), "int64"), tensor((4,))),
            (classes, weights),
            -(at * weights[classes])[[0, 2]].sum(),
        ),
        (loss.CategoricalCrossEntropyLoss()(shape, tensor((3, 4), "int64")), (ones,), -(logs * ones).mean()),
        (
            loss.CategoricalCrossEntropyLoss("none")(shape, tensor((3, 4), "int64"), tensor((4,))),
            (ones, weights),
            -logs * ones * weights,
        ),
        (
            loss.CategoricalCrossEntropyLoss("sum", ignore_index=3)(shape, tensor((3, 4), "int64")),
            (ones,),
            -at[:2].sum(),
        ),
    ]
    mod = tvm.IRModule({f"loss{n}": func for n, (func, _, _) in enumerate(cases)})
    run = machine(mod)
    for n, (_, others, expected) in enumerate(cases):
        np.testing.assert_allclose(run[f"loss{n}"](predictions, *others).numpy(), expected, rtol=1e-4)


def _stepped(kind: str, p: Any, g: Any, state: dict[str, Any]) -> Any:
    g = 0.1 * p + g
    if kind == "SGD":
        return p - 0.5 * g
    if kind == "Adam":
        state["t"] = state.get("t", 0) + 1
        m = state["m"] = 0.8 * state.get("m", 0) + 0.2 * g
        v = state["v"] = 0.9 * state.get("v", 0) + 0.1 * g * g
        t = state["t"]
        return p - 0.5 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.9**t)) + 1e-3)
    v = state["v"] = 0.9 * state.get("v", 0) + 0.7 * g
    return p - 0.5 * (g + 0.9 * v if kind == "nesterov" else v)


def test_optimizers() -> None:
    params = [relax.Var("w", tensor((3, 2))), relax.Var("b", tensor((2,)))]
    kinds = {
        "SGD": optimizer.SGD(0.5, 0.1),
        "MomentumSGD": optimizer.MomentumSGD(0.5, 0.9, 0.3, 0.1),
        "nesterov": optimizer.MomentumSGD(0.5, 0.9, 0.3, 0.1, True),
        "Adam": optimizer.Adam(0.5, (0.8, 0.9), 1e-3, 0.1),
    }
    run = machine(tvm.IRModule({kind: each.init(params).get_function() for kind, each in kinds.items()}))
    for kind, each in kinds.items():
        values, state = arrays((3, 2), (2,)), each.state
        expected, memory = list(values), [{}, {}]
        for step in range(3):
            gradients = arrays((3, 2), (2,))
            values, state = run[kind](values, gradients, state)
            expected = [_stepped(kind, *of) for of in zip(expected, gradients, memory, strict=True)]
            assert state[0].numpy() == step + 1
            for value, number in zip(values, expected, strict=True):
                np.testing.assert_allclose(value.numpy(), number, rtol=1e-4, atol=1e-5)


def test_impossible_gradients_losses_and_optimizers_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"Gradient: the target is tensor<2x4xf32>, expected a scalar of floats"):
        Gradient("main")(Model)
    with pytest.raises(ArgumentError, match=r"Gradient: 'other' is no function of relax, there is main"):
        Gradient("other")(Model)
    with pytest.raises(ArgumentError, match=r"Gradient: target_index 2, expected one of 2 results"):
        Gradient("main", target_index=2)(Model)
    model = AppendLoss("main", loss.MSELoss()(tensor((2, 4)), tensor((2, 4))))(Model)
    with pytest.raises(ArgumentError, match=r"Gradient: z is no parameter of main_loss, which has x, w, b, targets"):
        Gradient("main_loss", relax.Var("z", tensor((2, 4))))(model)
    with pytest.raises(ArgumentError, match=r"AppendLoss: main has 2 results, the loss 2 parameters, expected 3"):
        AppendLoss("main", loss.MSELoss()(tensor((2, 4)), tensor((2, 4))), 3)(Model)
    with pytest.raises(OptionError, match=r"reduction 'max', expected one of mean, sum, none"):
        loss.L1Loss("max")
    with pytest.raises(ArgumentError, match=r"targets of type .*, expected a tensor of integers"):
        loss.CategoricalCrossEntropyLoss()(tensor((2, 4)), tensor((2, 4)))
    with pytest.raises(ArgumentError, match=r"Adam: parameters n: .*, expected distinct tensors of one type of floats"):
        optimizer.Adam(0.1).init(relax.Var("n", tensor((2,), "int64")))
    with pytest.raises(ArgumentError, match=r"SGD: no parameters, expected init before get_function"):
        optimizer.SGD(0.1).get_function()
    assert training.AppendLoss is AppendLoss


def test_a_function_with_kernels_has_no_gradient() -> None:
    model = AppendLoss("main", loss.MSELoss()(tensor((2, 4)), tensor((2, 4))))(Model)
    legal = relax.transform.LegalizeOps()(model)
    with pytest.raises(UnsupportedError, match=r"Gradient: relax.call_tir has no gradient, expected operators"):
        Gradient("main_loss")(legal)


@tvm.script.ir_module
class Backbone:
    I.module_attrs({"param_num": 2, "state_num": 1})

    @R.function
    def backbone(
        x: R.Tensor((2, 3), "float32"),
        w: R.Tensor((3, 4), "float32"),
        b: R.Tensor((4,), "float32"),
        steps: R.Tensor((), "float32"),
    ):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            more = R.add(steps, R.const(1, "float32"))
            R.output(y, more)
        return y, more


def test_a_model_is_trained() -> None:
    setup = training.SetupTrainer(loss.MSELoss("sum"), optimizer.SGD(0.01), [tensor((2, 4)), tensor((2, 4))])
    mod = setup(Backbone)
    assert sorted(each for each in mod if "backbone" in each) == ["backbone", "backbone_loss", "backbone_loss_adjoint"]
    trainer = training.Trainer(mod, machine(mod), tvm.cpu())
    x, w, b, targets = arrays((2, 3), (3, 4), (4,), (2, 4))
    trainer.load_params({"w": w, "b": b})
    np.testing.assert_allclose(trainer.predict(x).numpy(), x @ w + b, rtol=1e-5)
    for step in range(2):
        difference = x @ w + b - targets
        assert trainer.export_states()["steps"].numpy() == step
        np.testing.assert_allclose(trainer.update([x], targets).numpy(), (difference**2).sum(), rtol=1e-4)
        w, b = w - 0.02 * x.T @ difference, b - 0.02 * difference.sum(0)
    for name, expected in (("w", w), ("b", b)):
        np.testing.assert_allclose(trainer.export_params()[name].numpy(), expected, rtol=1e-4, atol=1e-5)
    trainer.xaiver_uniform_init_params()
    assert abs(trainer.export_params()["w"].numpy()).max() <= np.sqrt(6 / 7)
    with pytest.raises(ArgumentError, match=r"parameters c, expected w, b"):
        trainer.load_params({"c": b})
    with pytest.raises(ArgumentError, match=r"2 inputs, expected 1"):
        trainer.predict(x, x)
    empty = training.Trainer(mod, None, tvm.cpu(), zero_init_param_state=False)
    with pytest.raises(ArgumentError, match=r"parameters w, b without values, expected load or init before"):
        empty.predict(x)


@tvm.script.ir_module
class Normalized:
    I.module_attrs({"param_num": 2, "state_num": 2})

    @R.function
    def backbone(
        x: R.Tensor((4, 3), "float32"),
        gamma: R.Tensor((3,), "float32"),
        beta: R.Tensor((3,), "float32"),
        mean: R.Tensor((3,), "float32"),
        variance: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            y = R.nn.batch_norm(x, gamma, beta, mean, variance, axis=1, momentum=0.2)
            out = y[0]
            new_mean = y[1]
            new_variance = y[2]
            R.output(out, new_mean, new_variance)
        return out, new_mean, new_variance


def _norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def test_a_batch_norm_takes_the_moments_of_the_batch_unless_it_is_decomposed_for_inference() -> None:
    x, gamma, beta, mean = arrays((4, 3), (3,), (3,), (3,))
    variance = np.array([1, 2, 3], "float32")
    moved = 0.8 * mean + 0.2 * x.mean(0), 0.8 * variance + 0.2 * x.var(0)
    trained = _norm(x, gamma, beta, x.mean(0), x.var(0)), *moved
    inferred = _norm(x, gamma, beta, mean, variance), mean, variance
    transform = relax.transform
    for mod, expected in (
        (Normalized, trained),
        (tvm.script.from_source(Normalized.script()), trained),
        (transform.DecomposeOpsForTraining("backbone")(Normalized), trained),
        (transform.DecomposeOpsForInference()(Normalized), inferred),
        (transform.DecomposeOpsForInference("another")(Normalized), trained),
    ):
        results = machine(mod)["backbone"](x, gamma, beta, mean, variance)
        for got, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_a_model_with_batch_norms_is_trained_by_the_moments_of_the_batch() -> None:
    setup = training.SetupTrainer(loss.MSELoss("sum"), optimizer.SGD(0.01), [tensor((4, 3)), tensor((4, 3))])
    mod = setup(Normalized)
    trainer = training.Trainer(mod, machine(mod), tvm.cpu())
    x, gamma, beta, mean, targets = arrays((4, 3), (3,), (3,), (3,), (4, 3))
    variance = np.array([1, 2, 3], "float32")
    trainer.load_params({"gamma": gamma, "beta": beta})
    trainer.load_states({"mean": mean, "variance": variance})
    inferred = _norm(x, gamma, beta, mean, variance)
    np.testing.assert_allclose(trainer.predict(x).numpy(), inferred, rtol=1e-4, atol=1e-5)
    difference = _norm(x, gamma, beta, x.mean(0), x.var(0)) - targets
    np.testing.assert_allclose(trainer.update([x], targets).numpy(), (difference**2).sum(), rtol=1e-4)
    unit = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
    expected = {"gamma": gamma - 0.02 * (difference * unit).sum(0), "beta": beta - 0.02 * difference.sum(0)}
    for name, wanted in expected.items():
        np.testing.assert_allclose(trainer.export_params()[name].numpy(), wanted, rtol=1e-3, atol=1e-5)
    states = trainer.export_states()
    np.testing.assert_allclose(states["mean"].numpy(), 0.8 * mean + 0.2 * x.mean(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states["variance"].numpy(), 0.8 * variance + 0.2 * x.var(0), rtol=1e-4, atol=1e-5)


def test_a_model_without_numbers_of_parameters_is_not_trained() -> None:
    setup = training.SetupTrainer(loss.MSELoss(), optimizer.SGD(0.01), [tensor((2, 4)), tensor((2, 4))])
    with pytest.raises(ArgumentError, match=r"functions main and attributes none, expected backbone, and the numbers"):
        setup(Model)


def test_modules_have_attributes() -> None:
    assert dict(Backbone.attrs) == {"param_num": 2, "state_num": 1}
    assert 'I.module_attrs({"param_num": 2, "state_num": 1})' in Backbone.script()
    assert dict(tvm.script.from_source(Backbone.script()).attrs) == dict(Backbone.attrs)
    changed = Backbone.with_attr("kind", "test").with_attrs({"first": [tvm.nd.array(np.arange(2))]})
    changed = changed.without_attr("param_num")
    assert set(changed.attrs) == {"state_num", "kind", "first"}
    assert changed.attrs["first"][0].numpy().tolist() == [0, 1]
    assert changed.get_attr("param_num") is None
    assert Backbone.get_attr("param_num") == 2


@R.function
def alone(x: R.Tensor((2,), "int32")):
    return relax.op.multiply(x.astype("float32"), R.const(2, "float32"))


def test_a_function_outside_of_a_class_is_a_function() -> None:
    mod = tvm.IRModule.from_expr(alone)
    assert [each.name_hint for each in alone.params] == ["x"]
    assert mod["alone"] == mod[mod.get_global_vars()[0]] == alone
    assert len({mod["alone"], alone}) == 1
    assert alone != alone.with_attr("kind", 1)
    run = tvm.runtime.relax_vm.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["alone"]
    assert run(np.array([1, 3], "int32")).numpy().tolist() == [2, 6]
