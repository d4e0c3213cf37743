"""The suite of models of PyTorch, and the page that it writes."""

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stepwell.tools.torch_suite.models import Case  # noqa: E402
from stepwell.tools.torch_suite.report import OPERATOR_MARKS, model_lines, operator_lines, passes  # noqa: E402
from stepwell.tools.torch_suite.running import ROUTES, measure  # noqa: E402

PAGE = (Path(__file__).parents[3] / "docs/torch.md").read_text()


def case(layer: Any) -> Case:
    return Case("mine", "model", lambda: (layer.eval(), {"input": torch.randn(2, 3)}))


@pytest.mark.parametrize("route", ROUTES)
def test_a_model_passes_by_each_route(route: str) -> None:
    error = measure(case(torch.nn.Linear(3, 4)), route)
    assert passes(error)


@pytest.mark.parametrize("route", ROUTES)
def test_the_error_of_a_model_is_its_result(route: str) -> None:
    class Factor(torch.nn.Module):
        def forward(self, input: Any) -> Any:
            return torch.linalg.qr(input)[0]

    error = measure(case(Factor()), route)
    assert "Error" in str(error)
    assert not passes(error)


def test_rows_show_small_and_great_errors() -> None:
    rows = [(case(None), {"from_torch": 2e-6, "torch.compile": 0.25}), (case(None), dict.fromkeys(ROUTES, "no"))]
    assert model_lines(rows)[2:] == ["| mine | model | 2.0e-06 | **2.5e-01** |", "| mine | model | no | no |"]
    assert not passes(float("nan"))


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
