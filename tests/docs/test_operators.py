"""docs/operators.md agrees with the definitions of the operators."""

from pathlib import Path

from stepwell.tools.docs import operators_page


def test_the_page_is_that_of_the_definitions() -> None:
    assert (Path(__file__).parents[2] / "docs" / "operators.md").read_text() == operators_page()
