"""docs/primitives.md is the output of its generator, and its examples preserve results."""

from pathlib import Path

import pytest

from stepwell.dialects import get_all_dialects
from stepwell.schedule import Schedule
from stepwell.tools.docs.docstrings import describe
from stepwell.tools.docs.primitives import ALL_EXAMPLES, before_and_after, primitives_page
from stepwell.tools.testing.scheduling import check_computes_the_same

PAGE = Path(__file__).parents[2] / "docs/primitives.md"


def test_the_page_is_what_the_docstrings_say_and_the_examples_do() -> None:
    assert PAGE.read_text() == primitives_page(), "python -m stepwell.tools.docs makes it anew"


@pytest.mark.parametrize("name", ALL_EXAMPLES)
def test_an_example_computes_the_same_after_its_steps(name: str) -> None:
    before, after = before_and_after(name)
    check_computes_the_same(before, after)


def test_every_op_of_the_dialect_has_an_example() -> None:
    names = {op.name.partition(".")[2] for op in get_all_dialects()["schedule"]().operations}
    assert names <= set(ALL_EXAMPLES)


def test_every_public_method_has_an_example() -> None:
    names = {name for name in dir(Schedule) if not name.startswith("_")}
    internal = {"func_working_on", "get_sblock", "mod", "record", "replay_instructions", "with_trace"}
    internal |= {"checks_dependences", "handle_of", "with_checks", "without_checks"}
    assert names - internal == set(ALL_EXAMPLES)


def test_a_docstring_is_taken_apart() -> None:
    def method(self: object, loop: "LoopRV", axis: "int", offset: "int" = 0) -> None:  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        """Do a thing
        to a loop.

            before -> after

        loop: any.  axis, offset: numbers;
        of something.
        Returns nothing. Legal if so. ScheduleError if not.
        """

    said = describe(method)
    assert said.signature == "method(loop, axis, offset=0)"
    assert said.summary == "Do a thing to a loop."
    assert [(a.name, a.type, a.default, a.meaning) for a in said.arguments] == [
        ("loop", "loop", "", "any"),
        ("axis", "int", "", "numbers; of something"),
        ("offset", "int", "0", "numbers; of something"),
    ]
    assert said.results == "Returns nothing."
    assert said.conditions == "Legal if so. ScheduleError if not."
