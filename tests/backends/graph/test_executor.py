"""The executor of compiled graphs: inputs and outputs, changing sizes, memory, timing of kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DictionaryAttr, UnitAttr

from stepwell.backends.graph import Executable, GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import ArgumentError, ExecutionError, OptionError
from stepwell.core.walking import find_ops
from stepwell.dialects.tir import BlockOp
from stepwell.frontends import relay
from stepwell.frontends.relay.graph import module_of
from stepwell.module import FunctionNotFoundError, Module
from stepwell.schedule import Schedule

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.uniform(-1, 1, (5, 4)).astype("float32")


def module(body: Any) -> Module:
    return relay.module(relay.Function(relay.free_vars(body), body))


def perceptron(rows: Any = 3, weight: Any = None) -> Module:
    """A dense layer and a softmax, on rows of four elements."""
    data = relay.var("data", shape=(rows, 4))
    return module(relay.nn.softmax(relay.nn.dense(data, relay.const(WEIGHT) if weight is None else weight)))


def executor(mod: Module, **options: Any) -> GraphExecutor:
    return GraphExecutor(build_graph(mod, **options))


def rows(count: int) -> np.ndarray:
    return RANDOM.uniform(-1, 1, (count, 4)).astype("float32")


def outputs(graph: GraphExecutor) -> list[np.ndarray]:
    return [graph.get_output(n).copy() for n in range(graph.num_outputs)]


# Sizes that change


def test_the_batch_changes_its_size_between_runs() -> None:
    mod = perceptron("batch")
    graph = executor(mod)
    for count in (3, 1, 8, 0, 3):
        data = rows(count)
        graph.run(data=data)
        assert graph.get_output(0).shape == (count, 5)
        np.testing.assert_allclose(graph.get_output(0), interpret(mod, "main", [data]), 1e-5)


def test_sizes_of_results_are_computed_of_those_of_inputs() -> None:
    x, y = relay.var("x", shape=("n", 2)), relay.var("y", shape=("n", 2))
    graph = executor(module(relay.concatenate([x, y], 0)))
    graph.run(x=np.zeros((3, 2), "float32"), y=np.ones((3, 2), "float32"))
    assert graph.get_output(0).shape == (6, 2)
    with pytest.raises(ArgumentError, match=r"y: shape \(4, 2\), expected float32\[n, 2\] where n = 3"):
        graph.run(y=np.ones((4, 2), "float32"))


def test_each_kernel_is_told_the_sizes_it_needs() -> None:
    graph = executor(perceptron("batch"), opt_level=0)
    graph.run(data=rows(6))
    assert graph.executable.steps is not None
    assert [time.shape for time in graph.profile(2)] == [(6, 5), (6, 5)]


# Inputs and outputs


def test_several_results_are_read_by_number() -> None:
    x = relay.var("x", shape=(4,))
    parts = relay.split(x, 2)
    graph = executor(module(relay.Tuple([parts[1], parts[0], x, relay.sum(x)])))
    graph.run(x=np.array([1, 2, 3, 4], "float32"))
    assert graph.num_outputs == 4
    assert [out.tolist() for out in outputs(graph)] == [[3, 4], [1, 2], [1, 2, 3, 4], 10]
    into = np.empty((2,), "float32")
    assert graph.get_output(0, into) is into
    assert into.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (lambda: relay.const(2.0) * relay.const(3.0), 6),
        (lambda: relay.ones((2, 3), "float32"), np.ones((2, 3))),
        (lambda: relay.const(WEIGHT), WEIGHT),
        (lambda: relay.Tuple([relay.const(1), relay.const(1)]).fields[0], 1),
    ],
)
@pytest.mark.parametrize("opt_level", [0, 2])
def test_a_graph_of_constants_gives_them(body: Callable[[], Any], value: Any, opt_level: int) -> None:
    graph = executor(relay.module(relay.Function([], body())), opt_level=opt_level)
    graph.run()
    np.testing.assert_array_equal(graph.get_output(0), value)
    graph.profile(1)


def test_the_same_value_is_given_twice() -> None:
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    graph = executor(module(relay.Tuple([y, y, relay.const(1.0), x])))
    graph.run(x=np.zeros(2, "float32"))
    assert [out.tolist() for out in outputs(graph)] == [[1, 1], [1, 1], 1, [0, 0]]


def test_no_result_lies_where_an_input_or_another_result_does() -> None:
    x = relay.var("x", shape=(2,))
    graph = executor(module(relay.Tuple([x, x + 1])))
    graph.run(x=np.zeros(2, "float32"))
    first, second = graph.get_output(0), graph.get_output(1)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, graph.get_input("x"))


def test_an_input_is_copied_and_kept() -> None:
    graph = executor(perceptron())
    data = rows(3)
    graph.set_input("data", data)
    kept = data.copy()
    data[:] = 0
    np.testing.assert_array_equal(graph.get_input(0), kept)


def test_inputs_are_what_numpy_takes_for_arrays() -> None:
    x = relay.var("x", shape=(2,), dtype="float64")
    graph = executor(module(x + relay.var("y", shape=(), dtype="int64").astype("float64")))
    graph.run(x=[0.5, 1.5], y=2)
    assert graph.get_output(0).tolist() == [2.5, 3.5]


def test_inputs_are_called_anything() -> None:
    key, value = relay.var("key", shape=(2,)), relay.var("value", shape=(2,))
    graph = executor(module(key - value))
    graph.run(key=np.ones(2, "float32"), value=np.ones(2, "float32"))
    assert graph.get_output(0).tolist() == [0, 0]


def test_inputs_with_strides_are_taken() -> None:
    graph = executor(perceptron())
    data = rows(6)
    graph.run(data=data[::2])
    first = graph.get_output(0).copy()
    graph.run(data=np.ascontiguousarray(data[::2]))
    np.testing.assert_array_equal(first, graph.get_output(0))


def test_a_constant_is_replaced_for_one_executor() -> None:
    executable = build_graph(perceptron(weight=relay.const(WEIGHT)))
    one, other = GraphExecutor(executable), GraphExecutor(executable)
    (name,) = executable.constants
    data = rows(3)
    one.set_input(name, np.zeros_like(WEIGHT))
    one.run(data=data)
    other.run(data=data)
    np.testing.assert_allclose(one.get_output(0), np.full((3, 5), 0.2), 1e-6)
    np.testing.assert_allclose(other.get_output(0), interpret(perceptron(), "main", [data]), 1e-5)
    np.testing.assert_array_equal(other.get_input(name), WEIGHT)
    one.set_input(name, WEIGHT)
    one.run()
    np.testing.assert_array_equal(one.get_output(0), other.get_output(0))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda g: g.run(), ArgumentError, "inputs data have not been set"),
        (lambda g: g.set_input("dat", 1), ArgumentError, "no input 'dat', did you mean 'data'.*there is data"),
        (lambda g: g.set_input(-1, 1), ArgumentError, "no input -1, there is data"),
        (
            lambda g: g.set_input("data", np.zeros(4, "float32")),
            ArgumentError,
            r"of shape \(4,\), expected float32.3, 4.",
        ),
        (lambda g: g.set_input("data", np.zeros((3, 4), "int32")), ArgumentError, "data: int32 of shape"),
        (lambda g: g.set_input("data", np.zeros((3, 5), "float32")), ArgumentError, r"data: shape \(3, 5\), expected"),
        (lambda g: g.set_input("constant", WEIGHT.T), ArgumentError, r"constant: float32 of shape \(4, 5\), expected"),
        (lambda g: g.get_input("data"), ArgumentError, "input data has not been set"),
        (lambda g: g.get_output(0), ExecutionError, "nothing has been run"),
        (lambda g: g.get_output(2), ArgumentError, "no output 2, there is output0"),
        (lambda g: g.profile(), ArgumentError, "inputs data have not been set"),
    ],
)
def test_a_wrong_input_or_number_is_an_error(
    use: Callable[[GraphExecutor], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        use(executor(perceptron()))


def test_an_array_for_a_result_has_its_shape() -> None:
    graph = executor(perceptron())
    graph.run(data=rows(3))
    with pytest.raises(ArgumentError, match=r"output 0: .*\(5, 3\).*expected .*\(3, 5\)"):
        graph.get_output(0, np.empty((5, 3), "float32"))


# Memory


def chain(length: int) -> Executable:
    body: Any = relay.var("x", shape=(64, 64))
    for _ in range(length):
        body = relay.nn.softmax(body)
    return build_graph(module(body))


def test_tensors_that_are_not_alive_at_once_share_memory() -> None:
    tensor = 64 * 64 * 4
    executable = chain(6)
    assert executable.unshared == 5 * tensor
    assert executable.workspace == 2 * tensor
    graph = GraphExecutor(executable)
    data = RANDOM.uniform(0, 1, (64, 64)).astype("float32")
    graph.run(x=data)
    wanted: Any = data
    for _ in range(6):
        wanted = np.exp(wanted - wanted.max(1, keepdims=True))
        wanted /= wanted.sum(1, keepdims=True)
    np.testing.assert_allclose(graph.get_output(0), wanted, 1e-5)


def test_one_kernel_needs_no_workspace() -> None:
    assert chain(1).workspace == 0


# Kernel by kernel


def test_kernels_are_timed_one_by_one() -> None:
    graph = executor(perceptron(), opt_level=0)
    graph.set_input("data", rows(3))
    times = graph.profile(number=3)
    assert [time.kernel for time in times] == ["fused_nn_dense", "fused_nn_softmax"]
    assert all(time.seconds > 0 for time in times)
    assert [time.shape for time in times] == [(3, 5), (3, 5)]


def test_kernel_by_kernel_computes_what_the_entry_computes() -> None:
    graph = executor(perceptron(), opt_level=0)
    graph.run(data=rows(3))
    calls = list(graph._calls())
    assert len(calls) == 2
    before = graph.get_output(0).copy()
    for _, call, _ in calls:
        call()
    np.testing.assert_array_equal(graph.get_output(0), before)


@pytest.mark.parametrize("flag", [False, True])
def test_kernels_of_branches_that_are_taken_are_timed(flag: bool) -> None:
    condition, x = relay.var("flag", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    inner = relay.If(relay.sum(x) > relay.const(0.0), relay.exp(x), relay.negative(x))
    graph = executor(module(relay.nn.relu(relay.If(condition, inner, x))))
    graph.set_input(flag=np.asarray(flag), x=np.ones(2, "float32"))
    inside = ["fused_sum", "fused_greater", "fused_exp"] if flag else ["fused_copy"]
    assert [time.kernel for time in graph.profile(2)] == [*inside, "fused_nn_relu"]
    np.testing.assert_allclose(graph.get_output(0), np.exp(np.ones(2)) if flag else np.ones(2), rtol=1e-6)


# Building


def test_functions_are_built_by_name_with_those_they_call() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    twice = relay.Function([x], x * 2)
    mod = module_of({"twice": twice, "other": relay.Function([y], relay.GlobalVar("twice")(relay.exp(y)))})
    graph = executor(mod, entry="other")
    graph.run(y=np.zeros(2, "float32"))
    assert graph.get_output(0).tolist() == [2, 2]
    with pytest.raises(FunctionNotFoundError, match="no function 'main'"):
        build_graph(mod)
    with pytest.raises(FunctionNotFoundError, match="no function 'othr', did you mean 'other'"):
        build_graph(mod, entry="othr")


def test_a_function_of_another_landing_is_no_graph() -> None:
    from stepwell.frontends import te

    A = te.placeholder((2,), name="A")
    with pytest.raises(OptionError, match=r"function 'main' is tir.func, expected relay.func"):
        build_graph(te.create_prim_func([A, te.compute((2,), lambda i: A[i] + 1, name="B")]))


def test_the_module_that_is_built_stays_as_it_is() -> None:
    mod = perceptron()
    before = str(mod)
    build_graph(mod)
    assert str(mod) == before
    assert list(mod.constants) == ["constant"]


# Schedules of users


def test_kernels_may_have_schedules_of_users() -> None:
    scripts: list[str] = []

    def schedule(mod: Module) -> Module:
        sch = Schedule(mod)
        (kernel,) = (name for name in mod.function_ops if name != "main")
        sch.work_on(kernel)
        block = sch.get_block(next(find_ops(mod.function_ops[kernel], BlockOp)).block_name.data)
        sch.annotate(sch.get_loops(block)[0], "mine", 1)
        func = sch.mod.function_ops[kernel]
        func.func_attrs = DictionaryAttr({**func.func_attrs.data, "tir.is_scheduled": UnitAttr()})
        return sch.mod

    def after(name: str, mod: Module) -> None:
        scripts.append(str(mod))

    data = rows(3)
    weight = relay.var("weight", shape=(5, 4))
    net = module(relay.nn.dense(relay.var("data", shape=(3, 4)), weight))
    graph = executor(net, schedule_kernels=schedule, after=after)
    graph.run(data=data, weight=WEIGHT)
    np.testing.assert_allclose(graph.get_output(0), data @ WEIGHT.T, rtol=1e-5)
    assert any("mine" in text for text in scripts)
    assert not any("vectorized" in text for text in scripts)
