"""Random programs, lowered as for native code and emitted as single-threaded CUDA C++, compared with the oracle."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings

from stepwell.backends.oracle import run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.core.dtypes import numpy_dtype
from stepwell.core.errors import UnsupportedError
from stepwell.module import Module
from stepwell.tools.testing.comparison import same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.programs import copy_arguments
from stepwell.tools.testing.strategies import UNSHRUNK, programs
from stepwell.transforms.pipelines import lower

OPTIONS = settings(
    UNSHRUNK, suppress_health_check=(*UNSHRUNK.suppress_health_check, HealthCheck.function_scoped_fixture)
)


def check(on_host, module: Module, lowered: Module, arguments: dict[str, Any]) -> None:
    expected, got = copy_arguments(arguments), copy_arguments(arguments)
    result = run_oracle(module, "main", expected)
    try:
        kernel = on_host(lowered.op)["main"]
    except UnsupportedError as error:
        # Allocations whose size depends on arguments, and floats of less than 16 bits.
        assume("static shape" not in str(error) and "has no CUDA equivalent" not in str(error))
        raise
    if result is not None:
        dtype = numpy_dtype(kernel.kernel.parameters[-1].dtype or "")
        got.append(np.zeros(1, dtype))
        expected.append(np.array([result]).astype(dtype))
    kernel(*got)
    assert not kernel.trapped
    for name, a, b in zip([*arguments, "the result"], got, expected, strict=False):
        assert same(a, b), f"{name}\n{kernel.source}"


@OPTIONS
@given(program=programs(Features()))
def test_kernels_compute_exactly_what_the_oracle_computes(on_host, program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    check(on_host, module, lower(module), arguments)


@OPTIONS
@given(program=programs(Features(size=12)))
def test_kernels_with_vectors_compute_exactly_what_the_oracle_computes(
    on_host, program: tuple[Module, dict[str, Any]]
) -> None:
    module, arguments = program
    vectors = apply_passes(module, "tir-resolve-blocks,tir-vectorize-loops")
    check(on_host, module, lower(vectors), arguments)
