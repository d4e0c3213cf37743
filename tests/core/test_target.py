"""Targets in TVM's syntax."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import OptionError
from stepwell.core.target import Target

WORD = st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True)
TARGETS = st.one_of(
    st.builds(
        Target,
        kind=st.just("llvm"),
        mcpu=st.one_of(st.just(""), WORD),
        mattr=st.lists(st.tuples(st.sampled_from("+-"), WORD).map("".join), max_size=3).map(tuple),
        num_cores=st.integers(1, 64),
        contract=st.none() | st.booleans(),
        libs=st.sampled_from(((), ("cblas",))),
    ),
    st.builds(
        Target,
        kind=st.just("cuda"),
        arch=st.sampled_from(("", "sm_90")),
        contract=st.none() | st.booleans(),
        libs=st.sampled_from(((), ("cudnn",), ("cudnn", "cublas"), ("cublas", "cudnn"))),
    ),
)


@given(TARGETS)
def test_a_target_reads_what_it_prints(target: Target) -> None:
    assert Target.from_value(str(target)) == target
    assert Target.from_value({"kind": target.kind, **target.options}) == target
    assert Target.from_value(json.dumps({"kind": target.kind, **target.options})) == target
    assert Target.from_value(target) is target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llvm", Target()),
        (" llvm  -libs=cblas", Target(libs=("cblas",))),
        ("llvm --mcpu=skylake-avx512 -libs=cblas", Target(mcpu="skylake-avx512", libs=("cblas",))),
        ("llvm -mattr=+avx2,-fma -num-cores=4", Target(mattr=("+avx2", "-fma"), num_cores=4)),
        ("llvm -fast-math-contract=1", Target(contract=True)),
        ("cuda-emulated -fast-math-contract=0", Target("cuda-emulated", contract=False)),
        ("cuda-emulated -checks=0", Target("cuda-emulated", checks=False)),
        ("cuda -libs=cudnn,cublas", Target("cuda", libs=("cudnn", "cublas"))),
        ('{"kind": "cuda", "arch": "sm_90", "libs": ["cudnn"]}', Target("cuda", arch="sm_90", libs=("cudnn",))),
    ],
)
def test_targets_are_read_in_the_forms_that_tvm_has(text: str, expected: Target) -> None:
    assert Target.from_value(text) == expected


def test_options_are_printed_in_one_order() -> None:
    assert str(Target.from_value("llvm -libs=cblas -mcpu=znver4")) == "llvm -mcpu=znver4 -libs=cblas"


WRONG: dict[str, tuple[Any, str]] = {
    "another kind": ("lvm", "unknown kind 'lvm', did you mean 'llvm'? (there are cuda, cuda-emulated, llvm)"),
    "no kind": ("", "unknown kind '' (there are cuda, cuda-emulated, llvm)"),
    "another option": ("llvm -mcp=x", "unknown option of llvm 'mcp', did you mean 'mcpu'?"),
    "an option of another kind": ("llvm -arch=sm_90", "unknown option of llvm 'arch'"),
    "another library": (
        "llvm -libs=cbls",
        "unknown library 'cbls', did you mean 'cblas'? (there are cblas, cublas, cudnn",
    ),
    "a word": ("llvm libs=cblas", "target 'llvm libs=cblas': 'libs=cblas', expected -name=value"),
    "no value": ("llvm -libs=", "'-libs=', expected -name=value"),
    "an option twice": ("llvm -libs=cblas -libs=cblas", "libs is said twice"),
    "no name between commas": ("llvm -libs=cblas,,cblas", "libs 'cblas,,cblas', expected names"),
    "no count": ("llvm -num-cores=many", "num-cores 'many', expected a positive number"),
    "no cores": ("llvm -num-cores=0", "num-cores 0, expected a positive number"),
    "no name of a processor": ("llvm -mcpu=a;b", "'a;b' is no name of a processor or feature"),
    "broken JSON": ('{"kind": ', "is no JSON"),
    "a number": (3, "target 3, expected text, a dictionary or a Target"),
    "a dictionary without kind": ({"libs": ["cblas"]}, "unknown kind ''"),
    "a number for a name": ({"kind": "llvm", "mcpu": 3}, "mcpu 3, expected a name"),
    "a number for names": ({"kind": "llvm", "libs": 3}, "libs 3, expected names with commas between them"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_is_no_target_is_an_error_that_says_what_there_is(mistake: str) -> None:
    given_, message = WRONG[mistake]
    with pytest.raises(OptionError, match=re.escape(message)):
        Target.from_value(given_)


def test_a_field_of_another_kind_is_refused() -> None:
    with pytest.raises(OptionError, match="target cuda has no option 'mcpu'"):
        Target("cuda", mcpu="znver4")
    with pytest.raises(OptionError, match="unknown kind 'rocm'"):
        Target("rocm")
