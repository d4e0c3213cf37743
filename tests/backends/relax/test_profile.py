"""Profiles of calls: the steps in order, the shapes of their results, the result of the call."""

import json

import numpy as np
import pytest

from stepwell import ArgumentError, VirtualMachine, build_relax, parse_tvmscript, register_func

TEXT = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    y = R.exp(x)
    z = R.call_dps_packed("profile.copy", (y,), out_sinfo=R.Tensor((n,), "float32"))
    if c:
        w = R.add(z, z)
    else:
        w = z
    return (w, R.shape([n]))
"""


@pytest.fixture(scope="module")
def vm() -> VirtualMachine:
    register_func("profile.copy", lambda x, out: np.copyto(out, x), override=True)
    return VirtualMachine(build_relax(parse_tvmscript(TEXT)))


@pytest.mark.parametrize("size", [1, 5])
def test_each_call_has_the_times_and_shapes_of_its_steps(vm: VirtualMachine, size: int) -> None:
    x = np.arange(size, dtype="float32")
    profile = vm.profile("main", x, np.array(True))
    calls = [(step.name, step.shapes) for step in profile.steps if step.shapes]
    assert calls[0] == ("main_graph", (f"float32[{size}]",))
    assert ("profile.copy", (f"float32[{size}]",)) in calls
    assert ("relax.if", (f"float32[{size}]",)) in calls
    assert all(step.seconds >= 0 for step in profile.steps)
    assert profile.seconds >= sum(step.seconds for step in profile.steps)
    w, shape = profile.result
    np.testing.assert_allclose(w.numpy(), 2 * np.exp(x), rtol=1e-5)
    assert shape == (size,)


def test_a_profile_is_a_table_and_json(vm: VirtualMachine) -> None:
    profile = vm.profile("main", np.zeros(3, "float32"), np.array(False))
    lines = str(profile).splitlines()
    assert lines[0].split() == ["step", "us", "share", "results"]
    assert len(lines) == len(profile.steps) + 2
    data = json.loads(profile.json())
    assert [step["name"] for step in data["steps"]] == [step.name for step in profile.steps]


def test_a_profiled_call_checks_its_arguments(vm: VirtualMachine) -> None:
    with pytest.raises(ArgumentError, match=r"main: argument 0 \(x\): float64 of shape \(3,\), expected float32"):
        vm.profile("main", np.zeros(3), np.array(True))
    with pytest.raises(ArgumentError, match="no function 'mian', did you mean 'main'"):
        vm.profile("mian")
