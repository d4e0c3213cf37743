"""The suite of models of PyTorch, and the page that it writes."""

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stepwell.tools.torch_suite.models import Case  # noqa: E402
from stepwell.tools.torch_suite.report import OPERATOR_MARKS, model_lines, operator_lines, passes  # noqa: E402
from stepwell.tools.torch_suite.running import ROUNDING, ROUTES, measure, measure_all  # noqa: E402

PAGE = (Path(__file__).parents[3] / "docs/torch.md").read_text()


def case(layer: Any) -> Case:
    return Case("mine", "model", lambda: (layer.eval(), {"input": torch.randn(2, 3)}))


def test_a_model_passes_by_each_route() -> None:
    errors = measure_all(case(torch.nn.Linear(3, 4)))
    assert passes(errors)
    assert errors[ROUNDING] is None


def test_a_model_that_amplifies_rounding_is_compared_with_float64() -> None:
    class Amplified(torch.nn.Module):
        def forward(self, input: Any) -> Any:
            return torch.sin(torch.exp(input + 2.0) * 3e3)

    errors = measure_all(case(Amplified()))
    own = errors[ROUNDING]
    assert isinstance(own, float)
    assert own > 1e-5
    assert passes(errors) is all(error <= max(1e-4, 2 * own) for error in map(errors.get, ROUTES))  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("route", ROUTES)
def test_the_error_of_a_model_is_its_result(route: str) -> None:
    class Factor(torch.nn.Module):
        def forward(self, input: Any) -> Any:
            return torch.linalg.qr(input)[0]

    error = measure(case(Factor()), route)
    assert "Error" in str(error)
    assert not passes(dict.fromkeys(ROUTES, error))


def test_rows_show_small_and_great_errors() -> None:
    great = {"from_torch": 2e-6, "torch.compile": 0.25}
    rows = [{**great, ROUNDING: 0.01}, {**great, ROUNDING: 0.2}, {**dict.fromkeys(ROUTES, "no"), ROUNDING: None}]
    assert model_lines((case(None), row) for row in rows)[2:] == [
        "| mine | model | 2.0e-06 | **2.5e-01** | 1.0e-02 |",
        "| mine | model | 2.0e-06 | 2.5e-01 | 2.0e-01 |",
        "| mine | model | no | no |  |",
    ]
    assert [passes(row) for row in rows] == [False, True, False]
    assert not passes(dict.fromkeys(ROUTES, float("nan")))


def test_the_page_lists_the_operators() -> None:
    start, end = OPERATOR_MARKS
    table = PAGE.partition(start)[2].partition(end)[0]
    assert table.strip().splitlines() == operator_lines()


@pytest.mark.filterwarnings("ignore")
def test_the_programs_of_the_page_run() -> None:
    for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if "import" in text:
            space: dict[str, Any] = {}
            exec(text, space)
            assert space["result"].shape[1] in (8, 32)
