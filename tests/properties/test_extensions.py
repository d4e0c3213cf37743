"""Random programs with operations of other packages."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends.build import build
from stepwell.frontends.mlir import parse_mlir
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import interpreter_results, oracle_results, results
from stepwell.tools.testing.meanings import installed_operations
from stepwell.tools.testing.packages import installed
from stepwell.tools.testing.strategies import programs

PACKAGE = Path(__file__).parents[2] / "examples/extending/stepwell-sat"


@pytest.fixture(scope="module", autouse=True)
def sat(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    groups = {"xdsl.universe": "sat:UNIVERSE", "stepwell.extensions": "sat.extension:EXTENSION"}
    with installed(tmp_path_factory.mktemp("site"), "sat", groups, PACKAGE):
        yield


def of_package() -> st.SearchStrategy[Any]:
    features = Features(dtypes=("int8", "int32", "bool", "int16", "float32"), operations=installed_operations())
    return programs(features)


@given(data=st.data())
def test_all_back_ends_compute_the_meaning(data: st.DataObject) -> None:

    module, arguments = data.draw(of_package())
    assert str(parse_mlir(str(module))) == str(module)
    expected = oracle_results(module, arguments)
    assert_same(results(build(module)["main"], arguments), expected)
    assert_same(interpreter_results(module, arguments), expected)
