"""docs/errors.md is correct: every program and call on the page runs, and every message matches."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.tools.docs.pages import run_section

PAGE = Path(__file__).parents[2] / "docs/errors.md"
_CASE = re.compile(r"### (?P<title>.*?)\n\n```python\n(?P<code>.*?)```\n\n```text\n(?P<message>.*?)\n```", re.DOTALL)
_FUNCTION = re.compile(r"```python\n(@T\.prim_func\ndef scale.*?)```", re.DOTALL)
_SCHEDULED = re.compile(r"under a schedule `sch`:\n\n```python\n(.*?)```", re.DOTALL)


def cases(section: str) -> list[Any]:
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [pytest.param(m["code"], m["message"], id=m["title"]) for m in _CASE.finditer(text)]


def message_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("code", "message"), cases("Programs"))
def test_a_malformed_program_gets_the_message_on_the_page(code: str, message: str) -> None:
    with pytest.raises(stepwell.StepwellError) as error:
        stepwell.build(stepwell.parse_tvmscript(code, filename="program.py"))
    assert message_of(error.value) == message


@pytest.fixture(scope="module")
def scale() -> Any:
    (function,) = _FUNCTION.findall(PAGE.read_text())
    return stepwell.build(stepwell.parse_tvmscript(function))


@pytest.mark.parametrize(("code", "message"), cases("Calls"))
def test_a_wrong_call_gets_the_message_on_the_page(scale: Any, code: str, message: str) -> None:
    with pytest.raises(stepwell.StepwellError) as error:
        exec(code, {"np": np, "scale": scale})
    assert message_of(error.value) == message


@pytest.fixture(scope="module")
def gather() -> Any:
    (function,) = re.findall(r"```python\n(@T\.prim_func\ndef gather.*?)```", PAGE.read_text(), re.DOTALL)
    return stepwell.build(stepwell.parse_tvmscript(function, filename="program.py"), sanitize=True)


@pytest.mark.parametrize(("code", "message"), cases("Undefined behavior"))
def test_undefined_behavior_gets_the_message_on_the_page(gather: Any, code: str, message: str) -> None:
    with pytest.raises(stepwell.UndefinedBehaviorError) as error:
        exec(code, {"np": np, "gather": gather})
    assert message_of(error.value) == message


@pytest.mark.parametrize(("code", "message"), cases("Schedules"))
def test_a_wrong_step_gets_the_message_on_the_page(code: str, message: str) -> None:
    (function,) = _SCHEDULED.findall(PAGE.read_text())
    schedule = stepwell.Schedule(stepwell.parse_tvmscript(function))
    with pytest.raises(stepwell.StepwellError) as error:
        exec(code, {"stepwell": stepwell, "sch": schedule})
    assert message_of(error.value) == message


def test_commands_print_the_messages_on_the_page() -> None:
    page = PAGE.read_text()
    assert run_section(page, "Tools") == page, "python -m stepwell.tools.docs makes it anew"


def test_the_page_has_ten_programs_and_every_kind_of_wrong_argument() -> None:
    assert len(cases("Programs")) >= 10
    titles = " ".join(case.id for case in cases("Calls"))
    for kind in ("few", "dtype", "rank", "extent", "strides", "read-only", "overlap"):
        assert kind in titles
