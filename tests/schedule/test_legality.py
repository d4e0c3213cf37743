"""Legal transformations are allowed; illegal transformations are refused with the conflicting instances."""

import re

import pytest

import stepwell
from stepwell.schedule import Schedule
from stepwell.tools.testing.legality import CASES, LegalityCase
from stepwell.tools.testing.scheduling import check_computes_the_same

# An instance of a block, an iteration of a loop, or a restriction by the shape of the loop nest.
INSTANCE = re.compile(r"at \(\w+=-?\d+|when \w+ is -?\d+|iteration|depend on loop|must not be less than the extent")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_legal_is_allowed(case: LegalityCase) -> None:
    mod = stepwell.parse_tvmscript(case.legal)
    sch = Schedule(mod)
    exec(case.steps, {"sch": sch})
    check_computes_the_same(mod, sch.mod)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_its_illegal_neighbour_is_refused_with_what_conflicts(case: LegalityCase) -> None:
    sch = Schedule(stepwell.parse_tvmscript(case.illegal))
    *lead, last = (case.illegal_steps or case.steps).splitlines()
    scope: dict[str, object] = {"sch": sch}
    exec("\n".join(lead), scope)
    before = str(sch.mod)
    with pytest.raises(stepwell.ScheduleError) as caught:
        exec(last, scope)
    assert str(sch.mod) == before
    assert INSTANCE.search(caught.value.reason), caught.value.reason
    assert "^^^" in caught.value.program


def test_there_are_pairs_enough() -> None:
    assert len(CASES) >= 15
